"""Where output goes: standard output, or a file, which is replaced as a whole."""

from __future__ import annotations

import errno
import os
import stat
import sys

import click

from gpudoctor.cli import BadInput
from gpudoctor.reporters.shared.layout import Terminal


def terminal(no_color: bool = False, *, to_file: bool = False) -> Terminal:
    """The properties of standard output; a file has 80 columns and no colour."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    unicode = to_file or encoding.startswith("utf")
    if to_file or not sys.stdout.isatty():
        return Terminal(width=80 if to_file else _asked_width(), colour=False, unicode=unicode)
    import shutil

    plain = no_color or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Terminal(width=shutil.get_terminal_size().columns, colour=not plain, unicode=unicode)


def _asked_width() -> int:
    """The width of output that is no terminal: COLUMNS, if the environment sets it to a number from 20 on, else 80."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isascii() and columns.isdigit() and 20 <= int(columns[:5]) <= 1000 else 80


def deliver(text: str, path: str | None) -> None:
    """Writes to `path`, or to standard output without one or with '-'."""
    if path in (None, "-"):
        click.echo(text, nl=False)
    else:
        assert path is not None
        write(text, path)


def ensure_writable(path: str | None) -> None:
    """Raises BadInput where `deliver` could not write to `path`; called before work that takes long."""
    if path in (None, "-"):
        return
    assert path is not None
    import tempfile  # late: most output goes to the screen

    try:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(os.path.realpath(path)), prefix=".gpudoctor-")
        os.close(handle)
        os.unlink(temporary)
    except OSError as error:
        raise BadInput(f"{path} cannot be written ({error.strerror}); give -o another file") from error


def write(text: str, path: str) -> None:
    """Replaces a regular file atomically: an interrupted run leaves the old content."""
    write_bytes(text.encode("utf-8", "replace"), path)


def write_bytes(content: bytes, path: str) -> None:
    """Writes bytes; a regular file has either the old content or the whole new one. Raises BadInput where it cannot be written."""
    import tempfile  # late: most output goes to the screen

    try:
        if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path):
            with open(path, "wb") as device:
                device.write(content)
            return
        target = os.path.realpath(path)
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".gpudoctor-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, _mode_for(target))
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise BadInput(f"{path} cannot be written ({error.strerror}); give -o another file") from error


def _mode_for(target: str) -> int:
    """The mode of the file that is replaced, else the one that the umask gives."""
    if os.path.exists(target):
        return stat.S_IMODE(os.stat(target).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
