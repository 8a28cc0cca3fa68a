"""A running process as the kernel shows it: its files in /proc/PID, read at once with the rights of this user."""

from __future__ import annotations

import errno
import os
import re
import sys

from msgspec import Struct

from gpudoctor.system.host import DoorError, printable
from gpudoctor.system.portable import user_name, user_number

FILES = ("status", "maps", "cmdline", "cgroup", "limits", "mountinfo", "mounts", "oom_score_adj", "uid_map")
NEEDED = ("status", "maps", "cmdline")
_LONGEST = 64_000_000
_MOST_DESCRIPTORS = 20_000


class Snapshot(Struct, frozen=True):
    """One process. `texts`: files of /proc/PID by name; `links`: exe, cwd and ns/mnt as text; `descriptors`: what is open, by number."""

    pid: int
    texts: dict[str, str]
    environment: dict[str, str]
    links: dict[str, str]
    descriptors: dict[str, str]
    root: int
    """A descriptor of the root folder of the process."""

    @property
    def words(self) -> list[str]:
        """Its command line."""
        return [word for word in self.texts.get("cmdline", "").split("\0") if word]

    @property
    def name(self) -> str:
        found = re.search(r"^Name:\s+(\S.*)$", self.texts["status"], re.MULTILINE)
        return found[1] if found else "?"


def take(text: str) -> Snapshot:
    """The process with the number in `text`. Raises DoorError where it is none or cannot be read."""
    if sys.platform != "linux":
        raise DoorError(
            f"--pid {text}: processes are read from /proc, which Linux alone has; without --pid, gpudoctor check looks at this machine"
        )
    if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) < 2**31):
        raise DoorError(f"--pid {text}: expected the number of a process; ps -eo pid,args lists them, and nvidia-smi those on a GPU")
    pid = int(text)
    try:
        folder = os.open(f"/proc/{pid}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        raise DoorError(f"--pid {pid}: there is no such process; ps -eo pid,args lists those that run") from None
    try:
        return _take(pid, folder)
    except OSError as error:
        raise _why(pid, error) from None
    finally:
        os.close(folder)


def _take(pid: int, folder: int) -> Snapshot:
    if sys.platform != "linux":
        raise NotImplementedError("only Linux has /proc")
    status = _read(folder, "status").decode("utf-8", "replace")
    state = re.search(r"^State:\s+(\S)", status, re.MULTILINE)
    if state and state[1] in "ZX":
        raise DoorError(
            f"--pid {pid}: it has ended, and only its parent has not taken note of it; start it again, and look at it while it runs"
        )
    if not _read(folder, "cmdline") and re.search(r"^VmSize:", status, re.MULTILINE) is None:
        raise DoorError(f"--pid {pid}: it is a thread of the kernel and no program; give the number of a program")
    links = {name: printable(os.readlink(name, dir_fd=folder)) for name in ("exe", "cwd", "ns/mnt")}
    texts: dict[str, str] = {"status": status}
    for name in FILES[1:]:
        try:
            texts[name] = _read(folder, name).decode("utf-8", "replace")
        except OSError:
            if name in NEEDED:
                raise
    if not texts["maps"]:
        raise ProcessLookupError(errno.ESRCH, "ended")  # the process has ended and its parent has not waited for it
    pairs = (item.partition("=") for item in _read(folder, "environ").decode("utf-8", "replace").split("\0") if "=" in item)
    environment = {name: value for name, _, value in pairs}
    descriptors = _descriptors(folder)
    root = os.open("root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)  # opened last, so that no failure leaves it open
    return Snapshot(pid, texts, environment, links, descriptors, root)


def _read(folder: int, name: str) -> bytes:
    if sys.platform != "linux":
        raise NotImplementedError("processes are read on Linux")
    with open(os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
        return file.read(_LONGEST)


def _descriptors(folder: int) -> dict[str, str]:
    if sys.platform != "linux":
        raise NotImplementedError("processes are read on Linux")
    found: dict[str, str] = {}
    listed = os.open("fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        for number in os.listdir(listed)[:_MOST_DESCRIPTORS]:
            try:
                found[number] = printable(os.readlink(number, dir_fd=listed))
            except OSError:
                continue  # the process has closed the file meanwhile
    finally:
        os.close(listed)
    return found


def _why(pid: int, error: OSError) -> DoorError:
    if error.errno in (errno.EACCES, errno.EPERM):
        try:
            owner = os.stat(f"/proc/{pid}").st_uid
        except OSError:
            return _ended(pid)
        whose = f"user {user_name(owner) or owner}"
        if owner == user_number():
            return DoorError(
                f"--pid {pid}: this process keeps its memory and environment from its own user too; sudo gpudoctor check --pid {pid}"
            )
        return DoorError(
            f"--pid {pid}: it belongs to {whose}, and only they and root may read what it has loaded; sudo gpudoctor check --pid {pid}"
        )
    if error.errno in (errno.ESRCH, errno.ENOENT):
        return _ended(pid)
    return DoorError(f"--pid {pid}: it cannot be read: {error.strerror or error}")


def _ended(pid: int) -> DoorError:
    return DoorError(f"--pid {pid}: it ended while it was read; start it again, and look at it while it runs")
