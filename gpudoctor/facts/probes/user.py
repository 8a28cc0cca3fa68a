"""The user who runs gpudoctor, and their groups."""

from __future__ import annotations

import re

from gpudoctor.facts.probes._probe import Collected, Probe, from_run
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host
from gpudoctor.system.trust import phrase

_ID = lazy(r"(\d+)(?:\(([^()]*)\))?")


def parse_id(text: str) -> tuple[int, str, list[str]] | None:
    """(uid, name, names of groups) in the output of `id`, with numbers for groups without a name; None for another output."""
    found = re.search(r"uid=(\d+)(?:\(([^)]*)\))?", text)
    if not found:
        return None
    names: list[str] = []
    for part in re.findall(r"(?:\bgid|groups)=(\S+)", text):
        for number, name in _ID.findall(part):
            if (name or number) not in names:
                names.append(name or number)
    return int(found[1]), found[2] or "", names


def parse_groups(text: str) -> dict[int, tuple[str, list[str]]]:
    """The groups in /etc/group: gid to (name, members)."""
    found: dict[int, tuple[str, list[str]]] = {}
    for line in text.splitlines():
        parts = line.split(":")
        if len(parts) >= 4 and parts[2].isdigit():
            found[int(parts[2])] = (parts[0], [name for name in parts[3].split(",") if name])
    return found


def parse_status(text: str) -> tuple[int, list[int]] | None:
    """(effective uid, group ids) in /proc/PID/status; None for another text."""
    uid = re.search(r"^Uid:\s+\d+\s+(\d+)", text, re.MULTILINE)
    gid = re.search(r"^Gid:\s+\d+\s+(\d+)", text, re.MULTILINE)
    groups = re.search(r"^Groups:\t?([\d \t]*)$", text, re.MULTILINE)
    if not uid:
        return None
    ids = [int(number) for number in (groups[1].split() if groups else [])]
    return int(uid[1]), sorted({*ids, *([int(gid[1])] if gid else [])})


def collect(host: Host, facts: Facts) -> Collected:
    if host.platform == "windows":
        return
    known_groups = parse_groups(host.read("/etc/group").text)
    said = host.run(["id"])
    user = parse_id(said.stdout)
    if user is None:
        status = parse_status(host.read("/proc/self/status").text)
        if status:
            user = (status[0], host.env("USER") or "", [known_groups.get(gid, (str(gid), []))[0] for gid in status[1]])
    if user is None:
        for name in ("user.uid", "user.groups", "user.is_root"):
            yield name, from_run(said, None)
    else:
        yield "user.uid", Known(user[0], "id")
        yield "user.groups", Known(user[2], "id")
        yield "user.is_root", Known(user[0] == 0, "id")
    name = (user[1] if user else "") or host.env("USER") or ""
    yield "user.name", Known(name, "id") if name else Unknown("not recorded")
    # Groups that /etc/group grants and this session lacks: they need a new login.
    granted = sorted(group for group, members in known_groups.values() if name and name in members)
    if user is not None and known_groups:
        yield "user.groups_pending", Known([group for group in granted if group not in user[2]], "/etc/group")
    if user is not None and user[0] == 0 and host.origin == "live":
        yield "user.path_not_used", _path_not_used(host)
    if known_groups:
        yield "system.groups", Known(sorted(group for group, _ in known_groups.values()), "/etc/group")


def _path_not_used(host: Host) -> Fact:
    """The folders of root's PATH in which others could put a program, so that nothing in them is started
    (system.local_host.find_program)."""
    folders = [folder for folder in dict.fromkeys((host.env("PATH") or "").split(":")) if folder.startswith("/")]
    found = [(folder, why) for folder in folders if (why := host.distrust(folder))]
    if not found:
        return Absent("PATH")
    said = "; ".join(f"{folder} is not used by root, {phrase(folder, why)}" for folder, why in found[:5])
    return Unknown(f"permission denied: {said}; to use it: run gpudoctor as yourself, without sudo")


PROBE = Probe(
    "user",
    (
        FactSpec("user.name", "text", "login name", privacy="identifying"),
        FactSpec("user.uid", "int", "number of the user"),
        FactSpec("user.groups", "list", "groups of this process"),
        FactSpec("user.groups_pending", "list", "groups that /etc/group grants and that this session lacks until the next login"),
        FactSpec("user.is_root", "bool", "whether this runs as root"),
        FactSpec("user.path_not_used", "text", "why root does not run programs of some folders of PATH", privacy="identifying"),
        FactSpec("system.groups", "list", "groups that exist"),
    ),
    collect,
)
