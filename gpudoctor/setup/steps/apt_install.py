"""apt.install: packages of Debian's kind, from the repositories of the machine or from an offline bundle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.model.facts import Known
from gpudoctor.model.plan import DONE, TODO, Act, Command, FileChange
from gpudoctor.setup.offline import apt_bundle
from gpudoctor.setup.packages import apt, apt_choice, apt_state, apt_undo
from gpudoctor.setup.steps._step import Draft, Look, PlanError, Settings
from gpudoctor.system.writable_host import ActFailed, WritableHost

_STATUS = "/var/lib/dpkg/status"


class _AptInstall:
    """settings: packages, recommends, hold, allow_removal, bundle (folder or ''), sources (of the bundle)."""

    name = "apt.install"
    keys: Mapping[str, type | tuple[type, ...]] = {"packages": list, "recommends": bool, "hold": bool}
    required: tuple[str, ...] = ("packages",)

    def plan(self, given: Settings, look: Look) -> Draft:
        entries = _entries(given)
        settings: dict[str, Any] = {
            "packages": entries, "recommends": bool(given.get("recommends", False)), "hold": bool(given.get("hold", False)),
            "allow_removal": bool(look.options.get("allow_removal")), "bundle": str(look.options.get("bundle") or ""),
        }  # fmt: skip
        open_ = _open(entries, look)
        if not open_ and not settings["hold"]:
            return Draft(settings=settings, state=DONE, note="already installed: " + ", ".join(entries), root=True)
        settings["sources"] = apt_bundle.sources(look)
        # a person gets the first alternative of each entry
        named = [apt.parse_wanted(entry)[0] for entry in open_ or entries]
        acts: list[Act] = [] if settings["bundle"] or _lists_are_there(look) else [Command(argv=("apt-get", "update"), root=True)]
        if settings["bundle"]:
            acts.append(FileChange(path=apt_bundle.SOURCES, content=apt_bundle.text(settings["sources"]), root=True))
            acts.append(Command(argv=("apt-get", *apt_bundle.options(), "update"), root=True))
        options = () if settings["recommends"] else ("--no-install-recommends",)
        ours = apt_bundle.options() if settings["bundle"] else ()
        words = [one.argument() for one in named]
        argv = ("apt-get", *ours, "install", "-y", *options, *words)
        acts.append(Command(argv=argv, root=True, env={"DEBIAN_FRONTEND": "noninteractive"}))
        if settings["hold"]:
            acts.append(Command(argv=("apt-mark", "hold", *(one.name for one in named)), root=True))
        changes = tuple(f"package {one}, with what it depends on" for one in named) + (
            ("held at this version",) if settings["hold"] else ()
        )
        return Draft(settings=settings, state=TODO, changes=changes, acts=tuple(acts), root=True)

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        """All installed packages, their marks, and what apt would do. Missing or old lists are fetched first."""
        if settings["bundle"]:
            machine = apt_bundle.opened(machine, settings)
        there = apt_state.listing(machine)
        refreshed = bool(settings["bundle"]) or apt_state.refresh_if_old(machine)
        try:
            choice, simulated = _simulated(settings, there, machine)
        except ActFailed:
            if refreshed or machine.offline:
                raise
            apt_state.refresh(machine)
            choice, simulated = _simulated(settings, there, machine)
        _refuse_removals(settings, simulated)
        return {
            "packages": {name: package.json() for name, package in there.items()},
            "auto": sorted(apt_state.marked(machine, "showauto")),
            "manual": sorted(apt_state.marked(machine, "showmanual")),
            "hold": sorted(apt_state.marked(machine, "showhold")),
            "offers": apt_undo.offers(machine),
            "arguments": list(choice.arguments), "names": list(choice.names),
            "new": simulated.new, "changed": simulated.changed, "removed": dict(sorted(simulated.removes.items())),
        }  # fmt: skip

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        if before["arguments"]:
            self._install(settings, before, apt_bundle.opened(machine, settings) if settings["bundle"] else machine)
            if settings["bundle"]:
                apt_bundle.closed(machine)
        wanted = set(before["names"])
        ours = {*before["new"], *before["changed"], *wanted} & set(apt_state.listing(machine))
        auto = (set(before["auto"]) | set(before["new"])) - wanted
        apt_state.set_marks(machine, ours & auto, auto=True)
        apt_state.set_marks(machine, ours - auto, auto=False)
        if settings["hold"]:
            apt_state.set_holds(machine, _hold_names(settings, apt_state.listing(machine)), hold=True)

    def _install(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        words = _words(settings, machine, before["arguments"])
        try:
            self._check_again(words, settings, before, machine)
            apt_state.get(machine, *words, advice="gpudoctor setup --resume tries again; --undo takes it back")
        except ActFailed as failed:
            if settings["bundle"] or machine.offline or not _may_be_stale(failed):
                raise
            apt_state.refresh(machine)  # the lists may name files that the repository has replaced
            self._check_again(words, settings, before, machine)
            apt_state.get(machine, *words)

    @staticmethod
    def _check_again(words: tuple[str, ...], settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Raises ActFailed where apt would change more than `before` recorded, since undo restores nothing else."""
        simulated = apt_state.simulate(machine, *words)
        _refuse_removals(settings, simulated)
        foreseen = {*before["new"], *before["changed"], *before["removed"]}
        further = (set(simulated.installs) | set(simulated.removes)) - foreseen
        if further:
            raise ActFailed(
                f"apt would now change {', '.join(sorted(further))} too, which it did not when this step began",
                "gpudoctor setup --undo, then set up again",
            )

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        apt_state.repair(machine)
        cut_off = set(apt_state.broken(machine)) & {*before["new"], *before["changed"]}
        apt_undo.drop_cut_off(machine, cut_off & set(before["new"]))

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        return apt_undo.snapshot(machine, {*before["new"], *before["changed"], *before["removed"], *before["names"]})

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        there = apt_state.listing(machine)
        lacking = apt_choice.unsatisfied(settings["packages"], there, apt_choice.providers_now(machine))
        if lacking:
            return f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not installed"
        loose = _hold_names(settings, there) - apt_state.marked(machine, "showhold") if settings["hold"] else set()
        return f"{', '.join(sorted(loose))} is not held" if loose else ""

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        if settings["hold"]:
            there = apt_state.listing(machine)
            apt_state.set_holds(machine, _hold_names(settings, there) - set(before["hold"]), hold=False)
        return apt_undo.take_back(before, after, machine)


def _entries(given: Settings) -> list[str]:
    entries = [str(entry).strip() for entry in given["packages"]]
    if not entries:
        raise PlanError("the step names no package; this is a mistake in the recipe")
    for entry in entries:
        try:
            apt.parse_wanted(entry)
        except ValueError as error:
            raise PlanError(f"{error}; this is a mistake in the recipe") from None
    return entries


def _open(entries: list[str], look: Look) -> list[str]:
    """The entries that the facts do not show as installed; all of them where the packages are unknown."""
    known = look.facts.get("packages")
    if not isinstance(known, Known):
        return entries
    there = {str(name): apt.Package(str(version), "install", "installed") for name, version in dict(known.value).items()}
    open_ = apt_choice.unsatisfied(entries, there, ())
    return apt_choice.unsatisfied(open_, there, apt.provided(look.host.read(_STATUS, limit=40_000_000).text)) if open_ else []


def _lists_are_there(look: Look) -> bool:
    return any(name.endswith("Release") for name in look.host.listdir("/var/lib/apt/lists"))


def _simulated(settings: Settings, there: apt.Listing, machine: WritableHost) -> tuple[apt_choice.AptChoice, apt.Simulation]:
    choice = apt_choice.choose(machine, settings["packages"], there)
    if not choice.arguments:
        return choice, apt.Simulation({}, {})
    return choice, apt_state.simulate(machine, *_words(settings, machine, choice.arguments))


def _words(settings: Settings, machine: WritableHost, arguments: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    options = ["--install-recommends" if settings["recommends"] else "--no-install-recommends"]
    if any("=" in argument for argument in arguments):
        options.append("--allow-downgrades")  # the recipe names a version, which replaces a newer one too
    if machine.offline and not settings["bundle"]:
        options.append("--no-download")  # with this option apt would not use the files of a bundle either
    return ("install", *options, *arguments)


def _refuse_removals(settings: Settings, simulated: apt.Simulation) -> None:
    if simulated.removes and not settings["allow_removal"]:
        raise ActFailed(
            f"this would remove {', '.join(sorted(simulated.removes))}",
            "nothing was changed; if they may go: gpudoctor setup with --allow-removal",
        )


def _may_be_stale(failed: ActFailed) -> bool:
    return " 404 " in failed.tail or "Hash Sum mismatch" in failed.tail


def _hold_names(settings: Settings, there: apt.Listing) -> set[str]:
    """The alternatives of all entries that are installed."""
    return {one.name for entry in settings["packages"] for one in apt.parse_wanted(entry) if one.name in there and there[one.name].present}


KIND = _AptInstall()
