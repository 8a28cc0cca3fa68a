"""reboot: a restart or a new login, which only the person can do. The run stops, and continues afterwards with --resume."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.facts.probes.user import parse_groups, parse_id
from gpudoctor.model.plan import DONE, Word
from gpudoctor.rules.conditions import parse
from gpudoctor.rules.evaluate import evaluate
from gpudoctor.setup.present_facts import items, truth_of
from gpudoctor.setup.steps._step import Draft, Kind, Look, PlanError, Settings, Waiting
from gpudoctor.system.host import Host
from gpudoctor.system.writable_host import WritableHost

BOOT_ID = "/proc/sys/kernel/random/boot_id"
_SAID = {
    "login": "log out and in again (in a desktop session of the whole session)",
    "reboot": "restart the machine",
    "wsl": "close WSL from Windows: wsl.exe --shutdown, then open this distribution again",
}


class Reboot:
    name = "reboot"
    keys: Mapping[str, type | tuple[type, ...]] = {"what": str, "ready": Mapping}
    required: tuple[str, ...] = ("what",)

    def plan(self, given: Settings, look: Look) -> Draft:
        what = str(given["what"])
        if what not in _SAID:
            raise PlanError(f"what = '{what}' is none of {', '.join(_SAID)}; this is a mistake in the recipe")
        ready = given.get("ready")
        settings: dict[str, Any] = {"what": what, "ready": ready}
        if ready is not None and evaluate(parse(ready, "ready", items()), look.facts).truth == "true":
            return Draft(settings=settings, state=DONE, note="what it is for holds already")
        if what == "login" and look.facts.value("user.is_root") is True:
            return Draft(settings=settings, state=DONE, note="root needs no groups")
        return Draft(
            settings=settings, changes=(_SAID[what],), acts=(Word(text=f"{_SAID[what]}, then: gpudoctor setup --resume"),), restart=what
        )

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        return {"boot_id": boot_id(machine.look)}

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        ready = settings["ready"]
        if ready is not None and truth_of(ready, machine.look) == "true":
            return
        if settings["what"] == "login":
            groups = pending(machine.look)
            if groups and not machine.is_root:
                raise Waiting(f"{_SAID['login']}, so that the groups {', '.join(groups)} count")
        elif boot_id(machine.look) == before["boot_id"] != "":
            raise Waiting(_SAID[settings["what"]])

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Does nothing, since no act was carried out."""

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        return {}

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        """A sentence about groups that this session lacks, else ''. Whether the machine was restarted only `apply` knows."""
        groups = pending(machine.look) if settings["what"] == "login" and not machine.is_root else []
        return f"this session is not in {', '.join(groups)} yet" if groups else ""

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        return ()


def boot_id(host: Host) -> str:
    """The id of this start of the kernel, which differs after each restart; '' where there is none."""
    return host.read(BOOT_ID).text.strip()


def pending(host: Host) -> list[str]:
    """The groups that /etc/group grants this user and this session lacks."""
    user = parse_id(host.run(["id"]).stdout)
    if user is None:
        return []
    return sorted(
        group for group, members in parse_groups(host.read("/etc/group").text).values() if user[1] in members and group not in user[2]
    )


KIND: Kind = Reboot()
