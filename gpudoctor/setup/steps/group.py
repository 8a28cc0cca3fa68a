"""group: membership in the groups that may open the devices, which takes effect with the next login."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.facts.probes.user import parse_groups
from gpudoctor.model.plan import DONE, Command
from gpudoctor.setup.steps._step import Draft, Kind, Look, PlanError, Settings
from gpudoctor.system.host import Host
from gpudoctor.system.writable_host import ActFailed, WritableHost

_DATABASES = ("passwd", "group", "shadow", "gshadow", "subuid", "subgid")


class GroupMembership:
    name = "group"
    keys: Mapping[str, type | tuple[type, ...]] = {"groups": list}
    required: tuple[str, ...] = ("groups",)

    def plan(self, given: Settings, look: Look) -> Draft:
        facts = look.facts
        groups = [str(group) for group in given["groups"]]
        user = str(look.options.get("user") or facts.value("user.name") or "")
        settings: dict[str, Any] = {"user": user, "groups": groups}
        if user == "root":
            return Draft(settings={**settings, "groups": []}, state=DONE, note="root may open every device")
        if not user:
            raise PlanError("whose groups are meant is not known; run it as the user who will compute, or with sudo")
        listed = memberships(look.host)
        there = set(facts.value("system.groups") or listed)
        lacking = [group for group in groups if group in there and user not in listed.get(group, ())]
        if user == facts.value("user.name"):
            granted = {*(facts.value("user.groups") or ()), *(facts.value("user.groups_pending") or ())}
            lacking = [group for group in lacking if group not in granted]
        if not lacking:
            missing = [group for group in groups if group not in there]
            note = f"{user} is in {', '.join(group for group in groups if group in there)}" if len(missing) < len(groups) else ""
            return Draft(settings={**settings, "groups": []}, state=DONE, note=note or f"no group {' or '.join(missing)} exists here")
        settings["groups"] = lacking
        return Draft(
            settings=settings, changes=(f"adds {user} to {', '.join(lacking)}",), root=True, restart="login",
            acts=(Command(argv=("usermod", "-aG", ",".join(lacking), user), root=True),),
        )  # fmt: skip

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        listed = memberships(machine.look)
        return {"had": [group for group in settings["groups"] if settings["user"] in listed.get(group, ())]}

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        user, listed = settings["user"], memberships(machine.look)
        gone = [group for group in settings["groups"] if group not in listed]
        if gone:
            raise ActFailed(f"there is no group {', '.join(gone)} any more", "run gpudoctor setup again")
        lacking = [group for group in settings["groups"] if user not in listed[group]]
        if lacking:
            advice = f"where users come from a directory (LDAP, SSSD), ask its keeper to put {user} into {', '.join(lacking)}"
            machine.run(["usermod", "-aG", ",".join(lacking), user], root=True, finish=True, advice=advice)

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Runs usermod again. It writes one file after the other, so that /etc/group may be right although it was killed before the next
        one."""
        _drop_dead_locks(machine)
        _add(settings["user"], settings["groups"], machine)

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        return {}

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        listed = memberships(machine.look)
        lacking = [group for group in settings["groups"] if settings["user"] not in listed.get(group, ())]
        return f"{settings['user']} is not in {', '.join(lacking)}" if lacking else ""

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        user = settings["user"]
        if _drop_dead_locks(machine):
            # A tool was killed here. The files agree again only after a complete run.
            _add(user, settings["groups"], machine)
        shadowed = _shadowed_groups(user, machine)
        for group, members in memberships(machine.look).items():
            if group in settings["groups"] and group not in before["had"] and (user in members or group in shadowed):
                machine.run(["gpasswd", "-d", user, group], root=True, finish=True)
        return ()


def _add(user: str, groups: list[str], machine: WritableHost) -> None:
    there = [group for group in groups if group in memberships(machine.look)]
    if there:
        machine.run(["usermod", "-aG", ",".join(there), user], root=True, finish=True)


def _drop_dead_locks(machine: WritableHost) -> bool:
    """Removes locks that a killed usermod or gpasswd left behind; returns whether there were any.

    The tools take over the lock of a process that does not exist any more, but not that of a zombie (in a container whose first process
    reaps none), and gpasswd does not remove the locks that only usermod takes.
    """
    dropped = False
    for name in machine.look.listdir("/etc"):
        # A lock is a file named after the process that took it, linked to its final name.
        if found := re.fullmatch(rf"(?:{'|'.join(_DATABASES)})\.(lock|\d+)", name):
            path = f"/etc/{name}"
            pid = _as_root_sees(path, machine).strip("\0\n ") if found[1] == "lock" else found[1]
            if pid.isascii() and pid.isdigit() and not _runs(pid, machine):
                machine.remove(path, root=True)
                dropped = True
    return dropped


def _as_root_sees(path: str, machine: WritableHost) -> str:
    """The content of a file as root reads it; '' where there is none or this user may not become root."""
    try:
        return (machine.read(path, root=True) or b"").decode("utf-8", "replace")
    except ActFailed:
        return ""


def _runs(pid: str, machine: WritableHost) -> bool:
    """Whether a process runs: it exists and is no zombie."""
    status = machine.look.read(f"/proc/{pid}/stat").text
    return bool(status) and status.rpartition(")")[2].split()[:1] != ["Z"]


def _shadowed_groups(user: str, machine: WritableHost) -> set[str]:
    """The groups of a user by /etc/gshadow, which may differ from /etc/group after gpasswd was killed."""
    rows = [line.split(":") for line in _as_root_sees("/etc/gshadow", machine).splitlines()]
    return {row[0] for row in rows if len(row) == 4 and user in row[3].split(",")}


def memberships(host: Host) -> dict[str, list[str]]:
    """The groups in /etc/group: name to members."""
    return dict(parse_groups(host.read("/etc/group").text).values())


KIND: Kind = GroupMembership()
