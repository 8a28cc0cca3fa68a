"""Whether a program may be run although nobody named it: by who owns it, who can change it, and where it came from.

Commands that only examine are started in folders of other people, sometimes as root. What they start by themselves must belong to this
user or the system, from the file up to the root folder, because whoever can write to one of these decides what is run. Nothing is run
here.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.portable import group, user_name, user_number

_MOST_HOPS = 40
_SITE = ("site-packages", "dist-packages")
_MOST_ENTRIES = 20_000
_WINDOWS_DRIVE = lazy(r"/mnt/[a-z]/windows(/|$)", re.IGNORECASE)
_LARGEST_INDEX = 64 << 20
_ACTIVATED = lazy(r"""^[ \t]{0,40}(?:export[ \t]{1,8}|set[ \t]{1,8}"?)?VIRTUAL_ENV=[ \t]{0,8}(["']?)([^"'\n]+)\1""", re.MULTILINE)

OWNER, COMMITTED, ELSEWHERE = "owner", "committed", "elsewhere"


def distrust(path: str) -> str:
    """'' where only this user and root can change what lies at the path, else 'owner N' for the part of the path that others can change.

    N is the number of names of the path that lead to that part, or 0 for what the path leads to; `phrase` puts it into words. In folders of
    Python packages the entries are examined too. What does not exist cannot be run and is trusted.
    """
    if sys.platform == "win32":
        return ""
    found = next(_strange(path), "")
    if found:
        parts = _prefixes(path)
        return f"{OWNER} {parts.index(found) if found in parts else 0}"
    if os.path.basename(path.rstrip("/")) in _SITE and next(_strange_entries(path), ""):
        return f"{OWNER} 0"
    return ""


def distrust_environment(folder: str) -> str:
    """As `distrust`, for an environment that was only found in this folder: it must also have been made here, and not have come with files
    of other people."""
    found = distrust(folder)
    if found:
        return found
    if any(distrust(os.path.join(folder, part)) for part in ("pyvenv.cfg", "bin", "bin/python", "bin/python3")):
        return f"{OWNER} 0"
    if _is_committed(folder):
        return COMMITTED
    return "" if _was_made_at(folder) else ELSEWHERE


def phrase(path: str, why: str) -> str:
    """Why the path is not trusted, as the end of a sentence that says that it was not run. `why`: the answer of `distrust`."""
    if why == COMMITTED:
        return f"since the git repository that it lies in brought {path} along"
    if why == ELSEWHERE:
        return f"since {path} was not made where it lies now"
    number = re.fullmatch(rf"{OWNER} (\d{{1,4}})", why)
    parts = _prefixes(path)
    part = parts[int(number[1])] if number and 0 < int(number[1]) < len(parts) else ""
    return f"since another user owns {part} or can change it" if part else f"since another user owns what {path} leads to or can change it"


def _prefixes(path: str) -> list[str]:
    """The folders above a path, from the root folder on, and the path itself."""
    names = [name for name in os.path.abspath(path).split("/") if name]
    return ["/", *("/" + "/".join(names[:end]) for end in range(1, len(names) + 1))]


def _strange(path: str) -> Iterator[str]:
    """Each part of the way to a path, with links followed one by one, that others own or can write to."""
    own = {0, user_number()}
    waiting = [part for part in os.path.abspath(path).split("/") if part][::-1]
    at, hops = "/", 0
    if _is_strange("/", own):
        yield "/"
    while waiting:
        part = waiting.pop()
        if part == "..":
            at = os.path.dirname(at)
            continue
        at = os.path.join(at, part)
        try:
            info = os.lstat(at)
        except OSError:
            return
        if _is_strange(at, own, info):
            yield at
        if stat.S_ISLNK(info.st_mode):
            hops += 1
            if hops > _MOST_HOPS:
                yield at
                return
            try:
                target = os.readlink(at)
            except OSError:
                return
            at = "/" if target.startswith("/") else os.path.dirname(at)
            waiting += [part for part in target.split("/") if part not in ("", ".")][::-1]


def _strange_entries(folder: str) -> Iterator[str]:
    own = {0, user_number()}
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number < _MOST_ENTRIES and _is_strange(entry.path, own, entry.stat(follow_symlinks=False)):
                    yield entry.path
    except OSError:
        return


def _is_strange(path: str, own: set[int | None], info: os.stat_result | None = None) -> bool:
    try:
        info = info or os.lstat(path)
    except OSError:
        return False
    if (path[:5].lower() == "/mnt/" and _WINDOWS_DRIVE.match(path + "/")) or (
        info.st_uid not in own and _is_unmapped_system(path, info.st_uid)
    ):
        return False
    if info.st_uid not in own:
        return True
    if stat.S_ISLNK(info.st_mode) or (stat.S_ISDIR(info.st_mode) and info.st_mode & stat.S_ISVTX):
        return False  # in a folder with the sticky bit, such as /tmp, only the owner replaces a file
    if info.st_mode & stat.S_IWOTH:
        return True
    return bool(info.st_mode & stat.S_IWGRP) and (_has_acl(path) or not _is_private_group(info.st_gid, info.st_uid))


def _is_private_group(gid: int, owner: int) -> bool:
    """Whether a group has no other user as member: root's, one with the name of the owner and no other member, and the system's `staff` and
    `admin` where they are empty."""
    if gid == 0:
        return True
    found, name = group(gid), user_name(owner)
    if found is None or not name:
        return False
    systems = {("darwin", 80), ("linux", 50)}
    return found[1] <= {name, "root"} and (found[0] == name or (sys.platform, gid) in systems)


def _has_acl(path: str) -> bool:
    """Whether a path has an ACL, with which the bits of the group are the most that anybody in the list may do (acl(5))."""
    if sys.platform != "linux":
        return False
    try:
        return "system.posix_acl_access" in os.listxattr(path)
    except OSError:
        return False


def _is_unmapped_system(path: str, uid: int) -> bool:
    """Whether this is a file of the system in a user namespace without root, where such files belong to 'nobody'."""
    if sys.platform != "linux" or not re.match(r"/$|/(usr|bin|lib|lib64|sbin)(/|$)", path):
        return False
    try:
        with open("/proc/self/uid_map", encoding="ascii") as file:
            whole = any(line.split()[:2] == ["0", "0"] for line in file)
        with open("/proc/sys/kernel/overflowuid", encoding="ascii") as file:
            return not whole and uid == int(file.read())
    except (OSError, ValueError):
        return False


def _is_committed(folder: str) -> bool:
    """Whether git tracks files of this folder, which somebody else may have written although they belong to this user."""
    top = os.path.realpath(folder)
    within = os.path.basename(top)
    top = os.path.dirname(top)
    for _ in range(40):
        index = _index_of(top)
        if index is not None:
            try:
                with open(index, "rb") as file:
                    content = file.read(_LARGEST_INDEX)
            except OSError:
                return True
            # Version 4 of the index stores only the end of a name that differs from the name before (gitformat-index(5)).
            shortened = content[4:8] == b"\x00\x00\x00\x04"
            return f"{within}/".encode() in content or (shortened and b"pyvenv.cfg\x00" in content)
        if top == os.path.dirname(top):
            return False
        within, top = f"{os.path.basename(top)}/{within}", os.path.dirname(top)
    return False


def _index_of(top: str) -> str | None:
    """The path of git's index of a working tree that begins here; None where none begins, or nothing was ever added."""
    git = os.path.join(top, ".git")
    if os.path.isfile(git):  # a working tree beside its repository, or a submodule
        try:
            with open(git, encoding="utf-8", errors="replace") as file:
                word, _, there = file.read(4096).partition(":")
        except OSError:
            return None
        git = os.path.join(top, there.strip()) if word == "gitdir" else git
    index = os.path.join(git, "index")
    return index if os.path.isfile(index) else None


def _was_made_at(folder: str) -> bool:
    """Whether an environment was made in this folder: all tools write its path into the script `activate`, and no stranger knows it
    beforehand."""
    for name in ("bin/activate", "Scripts/activate.bat", "Scripts/activate"):
        try:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                text = file.read(200_000)
        except OSError:
            continue
        said = {found[1].strip() for found in _ACTIVATED.findall(text)} - {""}
        if any(os.path.isabs(place) and os.path.realpath(place) == os.path.realpath(folder) for place in said):
            return True
    return False
