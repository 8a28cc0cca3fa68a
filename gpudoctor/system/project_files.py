"""Reads files of a project that a person names, and those beside them: up to a size, and never outside the project's folder."""

from __future__ import annotations

import os
import stat

from gpudoctor.system.host import CaptureError

LARGEST = 16 << 20
"""The most bytes of one file; lock files of large projects have 1 to 3 MB."""


def read_given(path: str) -> str:
    """The text of a file that was named on the command line. Raises CaptureError with one line."""
    try:
        # Opening a FIFO would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(descriptor, "rb") as file:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                kind = "a folder" if stat.S_ISDIR(mode) else "no regular file"
                raise CaptureError(f"{path}: {kind}; give a requirements, project, lock, environment or container file")
            content = file.read(LARGEST + 1)
    except IsADirectoryError:
        raise CaptureError(f"{path}: a folder; give a requirements, project, lock, environment or container file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no path"
        raise CaptureError(f"{path}: {reason}; give a readable file") from None
    if len(content) > LARGEST:
        raise CaptureError(f"{path}: larger than {LARGEST >> 20} MB; no file of dependencies is")
    try:
        return content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise CaptureError(f"{path}: no text in UTF-8 (byte {error.start}); save it as UTF-8") from None


def inside(path: str, root: str) -> str | None:
    """The path with its links followed, where that lies in `root`; None where it leads out of it or to nothing that can be read."""
    try:
        real, top = os.path.realpath(path), os.path.realpath(root)
        return real if os.path.commonpath([real, top]) == top else None
    except (OSError, ValueError):
        return None
