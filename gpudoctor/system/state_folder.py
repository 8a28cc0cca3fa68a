"""The folder in which gpudoctor keeps its state: the journal of `setup`, the history of `check`."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from typing import TYPE_CHECKING

from gpudoctor.system.portable import is_root, user_number

if TYPE_CHECKING:  # at run time it is imported where it is needed, since most runs only ask whether a file exists
    from pathlib import Path

_OF_REPORTS = ("history", "measurements", "plans", "logs")
_tightened: set[Path] = set()


def switched_off() -> bool:
    """Whether the person wants no history: GPUDOCTOR_HISTORY=0."""
    return os.environ.get("GPUDOCTOR_HISTORY", "").strip().lower() in ("0", "no", "off", "false")


def state_path() -> str:
    """The path of the state folder: in XDG_STATE_HOME, else in ~/.local/state; for root in /var/lib, so that no home folder is changed."""
    chosen = os.environ.get("XDG_STATE_HOME")
    if chosen and os.path.isabs(chosen):
        return os.path.join(chosen, "gpudoctor")
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~"), "gpudoctor")
    if is_root():
        return "/var/lib/gpudoctor"
    return os.path.join(os.path.expanduser("~"), ".local", "state", "gpudoctor")


def state_folder() -> Path:
    """The path of state_path."""
    from pathlib import Path

    return Path(state_path())


def tighten(folder: Path) -> None:
    """Makes private what an older gpudoctor or another umask left open to others: folders 0700, files 0600, of this user only.

    It concerns the folder, its content, and the files of folders that hold reports, except files with a second hard link, which belong to a
    snapshot of an environment. Links are not followed. Nothing is raised: what cannot be changed is left as it is.
    """
    if sys.platform == "win32":
        return
    paths = [folder]
    with contextlib.suppress(OSError):
        paths += folder.iterdir()
    for name in _OF_REPORTS:
        with contextlib.suppress(OSError):
            paths += (folder / name).iterdir() if not (folder / name).is_symlink() else ()
    for path in paths:
        with contextlib.suppress(OSError):
            info = os.lstat(path)
            is_folder, is_file = stat.S_ISDIR(info.st_mode), stat.S_ISREG(info.st_mode) and info.st_nlink == 1
            if info.st_uid == user_number() and (is_folder or is_file) and stat.S_IMODE(info.st_mode) & 0o077:
                os.chmod(path, 0o700 if is_folder else 0o600)


def private_folder(folder: Path) -> None:
    """Makes a folder, or makes it private; its content is not examined. Raises OSError, also for a folder of another user."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if sys.platform != "win32":
        info = os.lstat(folder)
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != user_number():
            raise PermissionError(f"{folder} is not a folder of this user")
        if stat.S_IMODE(info.st_mode) != 0o700:
            os.chmod(folder, 0o700)


def write_private(path: Path, content: bytes) -> None:
    """Writes a file (0600) in a folder of this user alone (0700), atomically. Raises OSError, also for a folder of another user."""
    folder, state = path.parent, state_folder()
    private_folder(folder)
    if state not in _tightened and state in path.parents:
        _tightened.add(state)
        tighten(state)
    write_whole(path, content)


def write_whole(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Writes a file (0600) that appears whole, in a folder that is there. `durable`: waits for the disk, so that a loss of power leaves the
    old file or the new one. Raises OSError."""
    import tempfile  # imported here, since most runs only read

    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")  # the file is created with mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
