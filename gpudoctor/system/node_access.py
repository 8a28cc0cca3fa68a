"""Who may open a device node, by recorded modes, the output of `id` and the mark of ACLs in `ls -l`."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from msgspec import Struct

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Mode, Ran

_ENTRY = lazy(r"(\d+)(?:\(([^()]*)\))?")
_LS = lazy(r"^([bcdlps-][rwxsStT-]{9}[+.@]?)\s+\d+\s+(\S+)\s+(\S+)\s.*\s(\S+)$")


class Who(Struct, frozen=True):
    """A user with the numbers and names of the groups, by `id`."""

    uid: int
    name: str
    gids: frozenset[int]
    groups: frozenset[str]


def parse_id(text: str) -> Who | None:
    """The user in the output of `id`, 'uid=1000(user) gid=1000(user) groups=1000(user),44(video)'; None for another text."""
    found = re.search(r"\buid=(\d+)(?:\(([^)]*)\))?", text)
    if not found:
        return None
    gids, names = set(), set()
    for field in re.findall(r"\b(?:e?gid|groups)=(\S+)", text):
        for number, name in _ENTRY.findall(field):
            gids.add(int(number[:12]))
            names.add(name)
    return Who(int(found[1][:12]), found[2] or "", frozenset(gids), frozenset(names - {""}))


def listed_modes(commands: Iterable[Ran]) -> dict[str, Mode]:
    """The modes by path in the output of recorded commands `ls -l PATH`."""
    modes: dict[str, Mode] = {}
    for ran in commands:
        if len(ran.argv) < 3 or ran.argv[0] != "ls" or not ran.argv[1].startswith("-l"):
            continue
        for line in ran.stdout.splitlines()[:5000]:
            found = _LS.match(line.split(" -> ")[0]) if len(line) < 1000 else None
            if found:
                path = found[4] if found[4].startswith("/") else posixpath.join(ran.argv[-1], found[4])
                modes[posixpath.normpath(path)] = Mode(found[1], found[2], found[3])
    return modes


def acl_marked(mode: Mode) -> bool:
    return mode.mode.endswith("+")


def may_open_by_mode(mode: Mode, who: Who | None, acl: bool) -> bool | None:
    """Whether a user may read and write by the permission bits; None where that is unknown, also instead of False where an ACL may grant
    it."""
    if len(mode.mode) < 10:
        return None
    if who is not None and who.uid == 0:
        return True
    if who is None:
        return True if mode.mode[7:9] == "rw" and mode.mode[4:6] == "rw" and mode.mode[1:3] == "rw" else None
    if (mode.uid is not None and mode.uid == who.uid) or (mode.uid is None and mode.owner == who.name):
        bits = mode.mode[1:3]
    elif (mode.gid is not None and mode.gid in who.gids) or (mode.gid is None and mode.group in who.groups):
        bits = mode.mode[4:6]
    else:
        bits = mode.mode[7:9]
    return True if bits == "rw" else None if acl else False
