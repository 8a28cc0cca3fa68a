"""pip: packages into the target environment, by pip or uv. A copy of hard links is made first, from which the environment is restored."""

from __future__ import annotations

import fnmatch
import posixpath
import secrets
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from packaging.utils import canonicalize_name

from gpudoctor.model.plan import DONE, Act, Command, FileChange
from gpudoctor.setup import environment_snapshot as kept
from gpudoctor.setup.interpreters import uv_path
from gpudoctor.setup.packages import pip_lock
from gpudoctor.setup.packages.pip_command import PackageSources, alone, of_address, pip_install, places, surroundings, uv_install
from gpudoctor.setup.packages.pip_messages import CHECKSUM, NETWORK, explain
from gpudoctor.setup.packages.pip_reports import installed_from, reports
from gpudoctor.setup.packages.requirements import PipRequirement, build_of, lack, other_build, parse
from gpudoctor.setup.steps._step import Draft, Kind, Look, PlanError, Settings
from gpudoctor.setup.steps.venv import python_in
from gpudoctor.setup.target_environment import TargetFolder, at, of
from gpudoctor.system.host import Host
from gpudoctor.system.writable_host import ActFailed, Done, WritableHost

TRIES = 3
"""How often an installer runs whose network fails: pip does not continue an interrupted download."""


class Pip:
    name = "pip"
    keys: Mapping[str, type | tuple[type, ...]] = {
        "packages": list, "index": str, "first_index": str, "first": list, "find_links": list, "no_deps": bool, "pre": bool,
        "constraints": list, "hashes": Mapping,
    }  # fmt: skip
    required: tuple[str, ...] = ("packages",)

    def plan(self, given: Settings, look: Look) -> Draft:
        target = of(look)
        if target.kind == "other" or target.managed:
            raise PlanError(f"{look.env} is no environment of its own: nothing is installed into it; name another folder with --env")
        hashes = dict(given.get("hashes") or {})
        # A mirror may use plain http: `address` has checked that, and what comes from there has a known checksum.
        texts = [(_found(of_address(str(text), look), look.host, target.minor), "address://" in str(text)) for text in given["packages"]]
        asked = [parse(text, hashes, plain) for text, plain in texts]
        build = "" if look.host.platform == "macos" else build_of(str(given.get("index") or ""))
        where, first = places(given, look), _first(given, look)
        settings: dict[str, Any] = {
            "env": look.env, "python": python_in(look.env, look.host), "uv": uv_path(look), "packages": [one.text for one in asked],
            "asked": [text for text, _ in texts],
            "index": where.index, "find_links": list(where.find_links), "trusted": list(where.trusted),
            "first_index": first.index if first else "", "first_trusted": list(first.trusted) if first else [],
            "first": [one.text for one in asked if first and one.name in {str(canonicalize_name(name)) for name in given.get("first", ())}],
            "options": [*(["--no-deps"] if given.get("no_deps") else []), *(["--pre"] if given.get("pre") else [])],
            "constraints": [str(line) for line in given.get("constraints", ())], "hashes": hashes, "build": build,
            "fresh": not target.is_environment,
        }  # fmt: skip
        if target.is_environment and not any(_lacks(settings, target)):
            return Draft(settings=settings, state=DONE, note=f"all of it is in {look.env}")
        settings["remove_first"] = [
            one.name for one in asked if other_build(one.name, str(target.distributions.get(one.name, f"+{build}")), build)
        ]  # fmt: skip
        return Draft(settings=settings, changes=tuple(_changes(asked, target, build, look.env)), acts=tuple(_acts(settings)))

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        beside = f"{settings['env']}.gpudoctor-{secrets.token_hex(4)}"
        return {"snapshot": beside, "temporary": f"{beside}.tmp"}

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        env = settings["env"]
        target = at(machine.look, env)
        if not target.is_environment or target.managed:
            raise ActFailed(f"{env} is no environment of its own: nothing is installed into it", "name another folder with --env")
        if machine.offline and settings["index"]:
            raise ActFailed("packages would come from the network, and --offline was given", "give --offline-bundle DIR")
        machine.snapshot_tree(env, before["snapshot"])
        machine.make_folder(before["temporary"], mode=0o700)
        self._install(settings, before, machine, target)

    def _install(self, settings: Settings, before: Settings, machine: WritableHost, target: TargetFolder) -> None:
        env, constraints = settings["env"], f"{before['temporary']}/constraints.txt"
        if settings["constraints"]:
            machine.write(constraints, _lines(settings["constraints"]))
        uv = settings["uv"] if settings["uv"] and machine.look.exists(settings["uv"]) else ""
        if not uv and "pip" not in target.distributions:
            # ensurepip ignores the person's settings of pip.
            there = machine.run(
                [settings["python"], "-m", "ensurepip"], env=surroundings(before["temporary"], machine.look), check=False,
            )  # fmt: skip
            if there.rc != 0:
                failure = explain(there.output)
                raise ActFailed(f"{env} has no pip, and it could not be put in: {failure.reason}", failure.advice, there.output[-2000:])
        seen = ""
        for attempt in range(1, TRIES + 1):
            if settings["remove_first"]:
                self._run([*_uninstall(settings["python"], uv, ask=False), *settings["remove_first"]], before, machine)
            for number, command in enumerate(_commands(settings, constraints, uv)):
                locks = not uv and reports(target.distributions)
                done = self._locked(command, number, before, machine) if locks else self._run(command.argv, before, machine)
                if done.rc != 0:
                    break
            else:
                return
            failure = explain(done.output)
            same = failure.kind == CHECKSUM and failure.got != "" and failure.got == seen
            seen = failure.got
            machine.restore_tree(before["snapshot"], env)
            if failure.kind not in (NETWORK, CHECKSUM) or same or attempt == TRIES:
                raise ActFailed(failure.reason, failure.advice, done.output[-2000:])
            machine.say(f"{failure.reason}: once more")

    def _locked(self, command: _Command, number: int, before: Settings, machine: WritableHost) -> Done:
        """Resolves once and installs what was resolved, each package with its checksum, in further attempts too."""
        report, listed = (f"{before['temporary']}/{number}.{suffix}" for suffix in ("json", "txt"))
        if machine.read(listed) is not None:
            return self._run(command.from_lock(listed), before, machine)
        done = self._run([*command.argv, "--dry-run", "--report", report], before, machine)
        found = pip_lock.rows(report, machine) if done.rc == 0 else []
        if not found:
            return done
        try:
            machine.write(listed, pip_lock.lock(found).encode())
        except pip_lock.NoChecksum as error:
            machine.say(f"{error}: the index gives no checksum; the packages are installed without one")
            return self._run([*command.argv, "--report", report], before, machine)
        return self._run(command.from_lock(listed), before, machine)

    def _run(self, argv: list[str], before: Settings, machine: WritableHost) -> Done:
        return machine.run(alone(argv, machine.look), env=surroundings(before["temporary"], machine.look), check=False)

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Restores the environment where its copy exists. Without one, nothing had begun, or all was done before the journal was
        written."""
        if machine.look.exists(before["snapshot"]):
            machine.restore_tree(before["snapshot"], settings["env"])
        machine.remove_tree(before["temporary"])

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        env = settings["env"]
        origins = installed_from(before["temporary"], machine)
        machine.remove_tree(before["temporary"])
        if settings["fresh"]:
            kept.write_manifest(env, machine)
            machine.drop_snapshot(before["snapshot"])
            return {"origins": origins}
        return {"files": kept.packed(machine.list_tree(env)), "origins": origins}

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        target = at(machine.look, settings["env"])
        if not target.is_environment:
            return f"{settings['env']} is no environment"
        return next(_lacks(settings, target), "")

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        env, snapshot = settings["env"], before["snapshot"]
        machine.remove_tree(before["temporary"])
        if settings["fresh"] and after is not None:
            machine.drop_snapshot(snapshot)
            return ()  # the environment is removed as a whole
        if not machine.look.exists(snapshot):
            machine.drop_snapshot(snapshot)
            return ()
        if not machine.look.exists(env):
            return (f"{env} is gone; what it was before is kept in {snapshot}: mv it back, or rm -r it",)
        changed = machine.restore_tree(snapshot, env, kept.unpacked(after["files"]) if after and "files" in after else None)
        machine.drop_snapshot(snapshot)
        if not changed:
            return ()
        names = kept.distributions_in(changed)
        remove = shlex.join([*_uninstall(settings["python"], settings["uv"], ask=True), *names[: kept.SHOWN]])
        return (f"{env}: kept what was changed since ({kept.described(changed)})" + (f"; {remove} removes it" if names else ""),)


def _found(text: str, host: Host, minor: str) -> str:
    """The text, with a path with * replaced by the one file that matches. Raises PlanError where none or several do."""
    if not text.startswith("/"):
        return text
    folder, pattern = posixpath.split(text.partition("[")[0])
    if not any(letter in pattern for letter in "*?"):
        return text
    names = [name for name in host.listdir(folder) if fnmatch.fnmatchcase(name, pattern)]
    tag = f"-cp{minor.replace('.', '')}-"
    names = [name for name in names if tag in name] or names if minor else names
    if len(names) != 1:
        said = f"{len(names)} files" if names else "no file"
        raise PlanError(f"{said} in {folder} for {pattern}; see that the folder is the right one, and holds one that fits this Python")
    return f"{folder}/{names[0]}{text.partition('[')[1]}{text.partition('[')[2]}"


def _lacks(settings: Settings, target: TargetFolder) -> Iterator[str]:
    for text in settings["asked"]:
        wanted = parse(text, settings["hashes"], plain=True)
        said = lack(wanted, target.distributions, settings["build"]) if wanted.applies(target.minor) else ""
        if said:
            yield said


def _changes(asked: list[PipRequirement], target: TargetFolder, build: str, env: str) -> Iterator[str]:
    yield f"installs {', '.join(one.name or one.text for one in asked)} and what {'they need' if len(asked) > 1 else 'it needs'} into {env}"
    replaced = [f"{one.name} {target.distributions[one.name]}" for one in asked
                if one.name in target.distributions and lack(one, target.distributions, build)]  # fmt: skip
    if replaced:
        yield f"replaces {', '.join(replaced)} there; gpudoctor setup --undo puts back exactly what was"
    elif target.is_environment:
        yield f"{env} was there before: it is kept beside by hard links, and gpudoctor setup --undo puts back exactly what was"


def _acts(settings: Settings) -> Iterator[Act]:
    if settings["remove_first"]:
        yield Command(argv=(*_uninstall(settings["python"], settings["uv"], ask=False), *settings["remove_first"]))
    constraints = f"{settings['env']}/constraints.txt"
    if settings["constraints"]:
        yield FileChange(path=constraints, content=_lines(settings["constraints"]).decode())
    yield from (Command(argv=tuple(command.argv)) for command in _commands(settings, constraints, settings["uv"]))


def _uninstall(python: str, uv: str, *, ask: bool) -> list[str]:
    """The command that uninstalls packages: of uv where it made the environment, which then has no pip; uv never asks."""
    if uv:
        return [uv, "pip", "uninstall", "--no-cache", "--python", python]
    return [python, "-m", "pip", "uninstall", *([] if ask else ["--yes"])]


def _lines(constraints: list[str]) -> bytes:
    return ("\n".join(constraints) + "\n").encode()


def _first(given: Settings, look: Look) -> PackageSources | None:
    """Where the packages of `first` come from, which are installed alone and without dependencies; None in a bundle, which has one
    place."""
    named = str(given.get("first_index") or "")
    if bool(named) != bool(given.get("first")):
        raise PlanError("first_index and first belong together; this is a mistake in the recipe")
    return places({"index": named}, look) if named and not look.options.get("bundle") else None


class _Command(Struct, frozen=True):
    argv: list[str]
    where: PackageSources
    python: str
    options: list[str]

    def from_lock(self, path: str) -> list[str]:
        """The command that installs exactly the packages of a list with checksums."""
        options = [option for option in self.options if option != "--no-deps"]
        return pip_install(self.python, [*self.where.for_pip(), *options, "--no-deps", "--require-hashes", "--requirement", path])


def _commands(settings: Settings, constraints: str, uv: str) -> Iterator[_Command]:
    """One command for each index, so that only one index may bring each package."""
    limits = ["--constraint", constraints] if settings["constraints"] else []
    if settings.get("first"):
        place = PackageSources(settings["first_index"], (), tuple(settings["first_trusted"]))
        yield _command(settings, place, uv, ["--no-deps"], [*limits, *settings["first"]])
    place = PackageSources(settings["index"], tuple(settings["find_links"]), tuple(settings["trusted"]))
    yield _command(settings, place, uv, settings["options"], [*limits, *settings["packages"]])


def _command(settings: Settings, where: PackageSources, uv: str, options: list[str], tail: list[str]) -> _Command:
    if not uv:
        return _Command(pip_install(settings["python"], [*where.for_pip(), *options, *tail]), where, settings["python"], options)
    options = ["--prerelease=allow" if option == "--pre" else option for option in options]
    return _Command(uv_install(uv, settings["python"], [*where.for_uv(), *options, *tail]), where, settings["python"], options)


KIND: Kind = Pip()
