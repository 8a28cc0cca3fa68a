"""pacman.install: packages of Arch Linux and its derivatives from the repositories of the machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.model.facts import Known
from gpudoctor.model.plan import DONE, Command
from gpudoctor.setup.steps._step import Draft, Look, PlanError, Settings
from gpudoctor.system.writable_host import ActFailed, WritableHost

_LOCK = "/var/lib/pacman/db.lck"
_NAME = re.compile(r"[a-z0-9@_+][a-z0-9@._+\-]*")
_BREAKS = re.compile(r"removing (\S+) breaks dependency '[^']*' required by (\S+)")


class _PacmanInstall:
    """settings: packages."""

    name = "pacman.install"
    keys: Mapping[str, type | tuple[type, ...]] = {"packages": list}
    required: tuple[str, ...] = ("packages",)

    def plan(self, given: Settings, look: Look) -> Draft:
        names = [str(name).strip() for name in given["packages"]]
        for name in names:
            if not _NAME.fullmatch(name):
                raise PlanError(f"'{name}' is no name of a package; this is a mistake in the recipe")
        known = look.facts.get("packages")
        open_ = [name for name in names if not isinstance(known, Known) or name not in known.value]
        settings = {"packages": names}
        if not open_:
            return Draft(settings=settings, state=DONE, note="already installed: " + ", ".join(names), root=True)
        act = Command(argv=("pacman", "-S", "--needed", "--noconfirm", *open_), root=True)
        return Draft(settings=settings, changes=tuple(f"package {name}, with what it needs" for name in open_), acts=(act,), root=True)

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        return {"packages": _listing(machine, "-Q"), "explicit": sorted(_listing(machine, "-Qe"))}

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        names = [name for name in settings["packages"] if name not in before["packages"]]
        if not names:
            return
        # never -Sy alone: Arch does not support partial upgrades
        argv = ("pacman", "-S", "--needed", "--noconfirm", *names)
        advice = "where packages are not found any more: pacman -Syu, then gpudoctor setup --resume"
        machine.run(argv, root=True, finish=True, advice=advice)
        # a killed pacman may not have written the install reason of the last package
        new = sorted(_listing(machine, "-Q").keys() - before["packages"].keys() - set(names))
        if new and set(new) & _listing(machine, "-Qe").keys():
            machine.run(("pacman", "-D", "--asdeps", *new), root=True, finish=True)
        if set(names) & _listing(machine, "-Qd").keys():
            machine.run(("pacman", "-D", "--asexplicit", *names), root=True, finish=True)

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Removes the lock that a killed pacman left. Raises ActFailed while another pacman runs."""
        if machine.look.exists(_LOCK):
            if _at_work(machine):
                raise ActFailed("another pacman is at work", "wait for it to end, then gpudoctor setup --resume")
            machine.remove(_LOCK, root=True)

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        return {"packages": _listing(machine, "-Q")}

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        # -T prints what no installed package satisfies, so that a provider counts
        lacking = machine.ask(("pacman", "-T", *settings["packages"])).output.split()
        return f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not installed" if lacking else ""

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        self.recover(settings, before, machine)
        now = _listing(machine, "-Q")
        going = sorted(name for name in now if name not in before["packages"] and (after is None or name in after["packages"]))
        lines: list[str] = []
        while going:
            # -n: no copies of configuration files; no -s, which would also remove packages that were there before
            simulated = machine.run(("pacman", "-R", "--print", *going), root=True, check=False)
            breaks = {needed: user for needed, user in _BREAKS.findall(simulated.output) if needed in going}
            if simulated.rc == 0:
                machine.run(("pacman", "-Rn", "--noconfirm", *going), root=True, finish=True)
                break
            if not breaks:
                raise ActFailed(
                    "pacman cannot remove what was installed", f"pacman -Rn {' '.join(going)} says why", simulated.output[-2000:]
                )
            going = [name for name in going if name not in breaks]
            lines += [f"{name} stays: {user} needs it (pacman -Rn {user} {name} removes both)" for name, user in sorted(breaks.items())]
        changed = [name for name, version in before["packages"].items() if now.get(name, version) != version]
        lines += [
            f"{name} stays at {now[name]}: pacman keeps no older versions (it was {before['packages'][name]})" for name in sorted(changed)
        ]
        return tuple(lines)


def _at_work(machine: WritableHost) -> bool:
    return any(machine.look.read(f"/proc/{name}/comm").text.strip() == "pacman" for name in machine.look.listdir("/proc") if name.isdigit())


def _listing(machine: WritableHost, which: str) -> dict[str, str]:
    """Name to version of the packages. `which`: -Q for all, -Qe for those installed by name, -Qd for dependencies."""
    done = machine.ask(("pacman", which))
    return {parts[0]: parts[1] for parts in map(str.split, done.output.splitlines()) if len(parts) == 2}


KIND = _PacmanInstall()
