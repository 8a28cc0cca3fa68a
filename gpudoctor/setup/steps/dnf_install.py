"""dnf.install: rpm packages from the repositories of the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.model.facts import Known
from gpudoctor.model.plan import DONE, Command
from gpudoctor.setup.packages import rpm
from gpudoctor.setup.steps._step import Draft, Look, PlanError, Settings
from gpudoctor.system.writable_host import ActFailed, WritableHost


class _DnfInstall:
    """settings: packages, recommends."""

    name = "dnf.install"
    keys: Mapping[str, type | tuple[type, ...]] = {"packages": list, "recommends": bool}
    required: tuple[str, ...] = ("packages",)

    def plan(self, given: Settings, look: Look) -> Draft:
        entries = [str(entry).strip() for entry in given["packages"]]
        try:
            parsed = [rpm.parse_entry(entry) for entry in entries]
        except ValueError as error:
            raise PlanError(f"{error}; this is a mistake in the recipe") from None
        settings = {"packages": entries, "recommends": bool(given.get("recommends", False))}
        known = look.facts.get("packages")
        there = dict(known.value) if isinstance(known, Known) else {}
        open_ = [alternatives for alternatives in parsed if not any(name in there and not version for name, version in alternatives)]
        if not open_:
            return Draft(settings=settings, state=DONE, note="already installed: " + ", ".join(entries), root=True)
        words = [_argument(*alternatives[0]) for alternatives in open_]
        act = Command(argv=("dnf", "install", "-y", f"--setopt=install_weak_deps={settings['recommends']}", *words), root=True)
        return Draft(settings=settings, changes=tuple(f"package {word}, with what it needs" for word in words), acts=(act,), root=True)

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        packages = rpm.listing(machine)
        wanted = []
        for entry in settings["packages"]:
            alternatives = rpm.parse_entry(entry)
            if any(name in packages and not version for name, version in alternatives):
                continue
            wanted.append(_first_to_be_had(machine, alternatives) if len(alternatives) > 1 else _argument(*alternatives[0]))
        return {"packages": packages, "wanted": wanted}

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        if not before["wanted"]:
            return
        dnf = rpm.DNF_WEAK if settings["recommends"] else rpm.DNF
        machine.run(
            (*dnf, "install", *before["wanted"]),
            root=True,
            finish=True,
            advice="gpudoctor setup --resume tries again; --undo takes it back",
        )

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Removes old versions from rpm's database that an interrupted upgrade left beside the new ones."""
        for name, versions in rpm.doubled(rpm.listing(machine), before["packages"]).items():
            old = [rpm.nevra(name, version) for version in versions]
            machine.run(("rpm", "-e", "--nodeps", *old), root=True, finish=True, check=False)

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        return {"packages": rpm.listing(machine)}

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        lacking = []
        for entry in settings["packages"]:
            words = [_argument(*one) for one in rpm.parse_entry(entry)]
            # a name may be one that a package provides, such as a library
            if not any(
                machine.ask(("rpm", "-q", "--whatprovides", word.removesuffix("*"))).rc == 0 or _matches(machine, word) for word in words
            ):
                lacking.append(entry)
        return f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not installed" if lacking else ""

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        self.recover(settings, before, machine)
        now = rpm.listing(machine)
        ours = {name: versions for name, versions in now.items() if after is None or name in after["packages"]}
        going, kept = rpm.needed_by_others(machine, rpm.new(before["packages"], ours))
        lines = [f"{name} stays: {user} needs it (dnf remove {name} removes both)" for name, user in sorted(kept.items())]
        if going:
            # dnf must not remove packages that nothing needs any more
            machine.run(("dnf", "-y", "remove", "--setopt=clean_requirements_on_remove=False", *going), root=True, finish=True)
        lines += self._downgrade(before, after, now, machine)
        old = before["packages"].get(rpm.KEY, [])
        for version in [one for one in ours.get(rpm.KEY, []) if one not in old]:
            machine.run(("rpm", "-e", _key(version)), root=True, finish=True)
        return tuple(lines)

    @staticmethod
    def _downgrade(before: Settings, after: Settings | None, now: Mapping[str, list[str]], machine: WritableHost) -> list[str]:
        lines = []
        for name, versions in sorted(before["packages"].items()):
            is_now = now.get(name, [])
            if name == rpm.KEY or is_now == versions or (after is not None and after["packages"].get(name, []) == versions):
                continue
            if after is not None and is_now != after["packages"].get(name, []):
                lines.append(f"{name} stays at {', '.join(is_now) or 'none'}: it was changed since (it was {', '.join(versions)})")
                continue
            words = [rpm.nevra(name, version) for version in versions]
            verb = "downgrade" if is_now else "install"
            if (
                machine.run(("dnf", "-y", verb, *words), root=True, finish=True, check=False).rc != 0
                or rpm.listing(machine).get(name) != versions
            ):
                lines.append(f"{name} stays at {', '.join(is_now) or 'none'}: {', '.join(versions)} cannot be had any more")
        return lines


def _argument(name: str, version: str) -> str:
    return f"{name}-{version}" if version else name


def _matches(machine: WritableHost, word: str) -> bool:
    return word.endswith("*") and bool(machine.ask(("rpm", "-qa", word)).output.strip())


def _first_to_be_had(machine: WritableHost, alternatives: list[tuple[str, str]]) -> str:
    for name, version in alternatives:
        word = _argument(name, version)
        if machine.ask(("dnf", "-q", "repoquery", word), limit=600.0).output.strip():
            return word
    names = " or ".join(_argument(*one) for one in alternatives)
    raise ActFailed(f"no repository of this machine offers {names}", "dnf list --available with the name shows what is offered")


def _key(version: str) -> str:
    """The argument of rpm for a key whose version is 0:abcdef01-5f5f5f5f.(none)."""
    return f"{rpm.KEY}-{version.partition(':')[2].rpartition('.')[0]}"


KIND = _DnfInstall()
