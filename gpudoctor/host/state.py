"""Where gpudoctor keeps what it must remember: the journal of `setup`, the history of `check`."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from pathlib import Path


def state_folder() -> Path:
    """The platform's place for state: XDG_STATE_HOME, else ~/.local/state; root has /var/lib, so that no home is touched."""
    chosen = os.environ.get("XDG_STATE_HOME")
    if chosen and os.path.isabs(chosen):
        return Path(chosen) / "gpudoctor"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~")) / "gpudoctor"
    if os.geteuid() == 0:
        return Path("/var/lib/gpudoctor")
    return Path(os.path.expanduser("~")) / ".local" / "state" / "gpudoctor"


def write_private(path: Path, content: bytes) -> None:
    """A file (0600) in a folder that is ours alone (0700): the old content or the new one. Raises OSError, also for another's folder."""
    folder = path.parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if sys.platform != "win32":
        info = os.lstat(folder)
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
            raise PermissionError(f"{folder} is not a folder of this user")
        if stat.S_IMODE(info.st_mode) != 0o700:
            os.chmod(folder, 0o700)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")  # made with mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
