"""apt.remove: removes Debian packages. Their configuration stays, so that undo can restore it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.model.facts import Known
from gpudoctor.model.plan import DONE, TODO, Command
from gpudoctor.setup.packages import apt, apt_state, apt_undo
from gpudoctor.setup.steps._step import Draft, Look, PlanError, Settings
from gpudoctor.system.writable_host import ActFailed, WritableHost


class _AptRemove:
    """settings: packages, allow_removal."""

    name = "apt.remove"
    keys: Mapping[str, type | tuple[type, ...]] = {"packages": list}
    required: tuple[str, ...] = ("packages",)

    def plan(self, given: Settings, look: Look) -> Draft:
        names = [str(name).strip() for name in given["packages"]]
        for name in names:
            if not apt.is_name(name):
                raise PlanError(f"'{name}' is no name of a Debian package; this is a mistake in the recipe")
        settings = {"packages": names, "allow_removal": bool(look.options.get("allow_removal"))}
        known = look.facts.get("packages")
        there = [name for name in names if not isinstance(known, Known) or name in known.value]
        if not there:
            return Draft(settings=settings, state=DONE, note="not installed: " + ", ".join(names), root=True)
        act = Command(argv=("apt-get", "remove", "-y", *there), root=True, env={"DEBIAN_FRONTEND": "noninteractive"})
        return Draft(settings=settings, state=TODO, changes=tuple(f"package {name} is removed" for name in there), acts=(act,), root=True)

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        there = apt_state.listing(machine)
        names = [name for name in settings["packages"] if name in there and there[name].present]
        simulated = apt_state.simulate(machine, *_words(names)) if names else apt.Simulation({}, {})
        _refuse_more(settings, simulated)
        return {
            "packages": {name: package.json() for name, package in there.items()},
            "auto": sorted(apt_state.marked(machine, "showauto")),
            "hold": sorted(apt_state.marked(machine, "showhold")),
            "offers": apt_undo.offers(machine),
            "names": [], "new": simulated.new, "changed": simulated.changed, "removed": dict(sorted(simulated.removes.items())),
        }  # fmt: skip

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        there = apt_state.listing(machine)
        names = sorted(name for name in before["removed"] if name in there and there[name].present)
        if not names:
            return
        apt_state.set_holds(machine, names, hold=False)
        further = set(apt_state.simulate(machine, *_words(names)).removes) - set(before["removed"])
        if further:
            raise ActFailed(f"this would now remove {', '.join(sorted(further))} too", "gpudoctor setup --undo, then set up again")
        apt_state.get(machine, *_words(names))

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        apt_state.repair(machine)

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        return apt_undo.snapshot(machine, {*before["new"], *before["changed"], *before["removed"]})

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        there = apt_state.listing(machine)
        left = [name for name in settings["packages"] if name in there and there[name].present]
        return f"{', '.join(left)} is still installed" if left else ""

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        return apt_undo.take_back(before, after, machine)


def _words(names: list[str]) -> tuple[str, ...]:
    return ("remove", "--no-auto-remove", "--allow-change-held-packages", *names)


def _refuse_more(settings: Settings, simulated: apt.Simulation) -> None:
    """Raises ActFailed where more than the packages of the recipe would be removed and the person has not allowed it."""
    further = sorted(set(simulated.removes) - set(settings["packages"]))
    if further and not settings["allow_removal"]:
        raise ActFailed(
            f"this would remove {', '.join(further)} too", "nothing was changed; if they may go: gpudoctor setup with --allow-removal"
        )


KIND = _AptRemove()
