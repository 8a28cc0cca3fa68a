"""Restores packages to their former state, from any state that an interrupted step can leave, except what a person wants to keep."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from gpudoctor.setup.packages import apt, apt_state
from gpudoctor.system.writable_host import ActFailed, WritableHost

Recorded = Mapping[str, Any]
_OFFER = re.compile(r"\.dpkg-(dist|new|old|tmp)$")


def snapshot(machine: WritableHost, names: Iterable[str]) -> dict[str, Any]:
    """The versions, marks and holds of these packages now, as JSON for the journal."""
    wanted = set(names)
    return {
        "packages": {name: package.json() for name, package in apt_state.listing(machine).items() if name in wanted},
        "auto": sorted(wanted & apt_state.marked(machine, "showauto")),
        "hold": sorted(wanted & apt_state.marked(machine, "showhold")),
    }


def take_back(before: Recorded, after: Recorded | None, machine: WritableHost) -> tuple[str, ...]:
    """Undoes a step. `before`: packages, auto, hold, names, new, changed and removed, as apt.install and apt.remove record them; `after`: a
    snapshot.

    Returns a line for each thing that is kept. Raises ActFailed where apt or dpkg fail.
    """
    apt_state.repair(machine)
    drop_cut_off(machine, set(apt_state.broken(machine)) & set(before["new"]))
    _stop_removals(before, machine)
    lines = _remove_new(before, after, machine)
    lines += _restore_versions(before, after, machine)
    _remove_offers(before, machine)
    _restore_marks(before, after, machine)
    return tuple(lines)


def _stop_removals(before: Recorded, machine: WritableHost) -> None:
    """Completes packages whose removal was interrupted early: they are whole, but `dpkg --configure -a` leaves them out."""
    leaving = {
        name: package
        for name, package in apt_state.listing(machine).items()
        if name in before["removed"] and package.present and package.want in ("deinstall", "purge")
    }
    if leaving:
        machine.run(("apt-mark", "install", *sorted(leaving)), root=True)
    open_ = sorted(name for name, package in leaving.items() if package.status in ("half-configured", "unpacked") and package.error == "ok")
    if open_:
        machine.run(("dpkg", "--configure", "--force-confold", *open_), root=True, env=apt.ENV, finish=True, check=False)


def offers(machine: WritableHost) -> list[str]:
    """The configuration files that dpkg put beside those which a person had changed, such as /etc/x.conf.dpkg-dist."""
    done = machine.ask(("find", "/etc", "-xdev", "-name", "*.dpkg-*", "-type", "f"))
    return sorted(line for line in done.output.splitlines() if _OFFER.search(line))


def _remove_offers(before: Recorded, machine: WritableHost) -> None:
    """Removes such files of versions that were undone; those of purged packages dpkg removes itself."""
    new = set(offers(machine)) - set(before["offers"])
    if not new:
        return
    names = {*before["changed"], *before["removed"]} & apt_state.listing(machine).keys()
    files = {path for name in names for path, _ in _conffiles(machine, name)}
    for path in sorted(new):
        # the latter two are temporary files of dpkg, which remain only where it was killed
        if _OFFER.sub("", path) in files or path.endswith((".dpkg-new", ".dpkg-tmp")):
            machine.remove(path, root=True)


def drop_cut_off(machine: WritableHost, names: Iterable[str]) -> None:
    """Removes packages that were not there before and whose unpacking was interrupted, with all that there is of them."""
    wanted = sorted(names)
    if wanted:
        archives = _archives(machine, wanted)
        if archives:  # dpkg knows its temporary files only after it has unpacked a package whole
            argv = ("dpkg", "--unpack", "--force-depends", "--force-confold", *archives)
            machine.run(argv, root=True, env=apt.ENV, finish=True, check=False)
        # packages that depend on them are at most unpacked, and are removed next
        force = ("--force-remove-reinstreq", "--force-depends")
        machine.run(("dpkg", "--remove", *force, *wanted), root=True, env=apt.ENV, finish=True)


def _archives(machine: WritableHost, names: Iterable[str]) -> list[str]:
    """The archives of these packages that apt has downloaded and keeps until they are installed."""
    folder, there = "/var/cache/apt/archives", apt_state.listing(machine)
    beginnings = [f"{name.partition(':')[0]}_{there[name].version.replace(':', '%3a')}_" for name in names if name in there]
    return [f"{folder}/{file}" for file in machine.look.listdir(folder)
            if file.endswith(".deb") and any(file.startswith(begin) for begin in beginnings)]  # fmt: skip


def _remove_new(before: Recorded, after: Recorded | None, machine: WritableHost) -> list[str]:
    was, now = _recorded(before), apt_state.listing(machine)
    ours = {name for name in before["new"] if name in now and not (name in was and now[name].status == "config-files")}
    wanted_since = _asked_for_since(before, after, machine) & {name for name in ours if now[name].present}
    graph = apt.parse_graph(apt_state.answer(machine, apt.GRAPH), apt_state.native(machine))
    going = ours - wanted_since
    needed = apt.still_needed(graph, going)
    going -= needed.keys()
    lines = [f"{name} stays: it was asked for since (apt-get purge {name} removes it)" for name in sorted(wanted_since)]
    lines += [f"{name} stays: {needed[name]} needs it (apt-get purge {needed[name]} {name} removes both)" for name in sorted(needed)]
    changed = {name: path for name in sorted(going) for path in _changed_conffiles(machine, name)[:1]}
    present = sorted(name for name in going if now[name].present)
    if present:
        machine.say(f"removing {len(present)} packages")
        held = set(present) & apt_state.marked(machine, "showhold")
        apt_state.set_holds(machine, held, hold=False)
        _remove(machine, present)
    # configuration that was there before stays, and so do configuration files that a person has changed
    left = apt_state.listing(machine)
    purged = sorted(name for name in going if name in left and name not in was and name not in changed)
    if purged:
        machine.run(
            ("dpkg", "--purge", *purged), root=True, env=apt.ENV, finish=True, advice="gpudoctor setup --undo goes on where it stopped"
        )
    lines += [f"{path} stays: it was changed since (dpkg --purge {name} removes it)" for name, path in changed.items() if name not in was]
    return lines


def _remove(machine: WritableHost, names: list[str]) -> None:
    """Removes packages with dpkg, which removes nothing else and keeps the marks, so that an interrupted undo decides the same again:

    apt drops the mark of a package before it removes it.
    """
    argv = ("dpkg", "--remove", "--force-remove-reinstreq", *names)
    machine.run(argv, root=True, env=apt.ENV, finish=True, advice="gpudoctor setup --undo goes on where it stopped")


def _asked_for_since(before: Recorded, after: Recorded | None, machine: WritableHost) -> set[str]:
    """The packages that came as dependencies and that a person has installed by name since."""
    if after is None:
        return set()
    return (set(before["new"]) & set(after["auto"])) - apt_state.marked(machine, "showauto")


def _changed_conffiles(machine: WritableHost, name: str) -> list[str]:
    """The configuration files of a package that differ from those it brought."""
    found = []
    for path, checksum in _conffiles(machine, name):
        content = machine.read(path, root=True)
        if content is not None and hashlib.md5(content, usedforsecurity=False).hexdigest() != checksum:
            found.append(path)
    return found


def _conffiles(machine: WritableHost, name: str) -> list[tuple[str, str]]:
    """(path, MD5 checksum of the file as the package brought it) for each configuration file of a package."""
    done = machine.ask(("dpkg-query", "-W", "-f=${Conffiles}\\n", name))
    rows = (line.split() for line in done.output.splitlines())
    return [(row[0], row[1]) for row in rows if len(row) == 2 and row[0].startswith("/") and len(row[1]) == 32]


def _restore_versions(before: Recorded, after: Recorded | None, machine: WritableHost) -> list[str]:
    """Installs the former versions of packages that were upgraded or removed, where they are still offered."""
    now = apt_state.listing(machine)
    lines: list[str] = []
    wanted: dict[str, str] = {}
    for name, version in {**before["changed"], **before["removed"]}.items():
        there = now.get(name)
        is_there = there is not None and there.present
        ours = there is not None and is_there and there.version == version
        if ours and there is not None and there.sound:
            continue
        if after is not None and not ours and _changed_since(name, there, after):
            lines.append(f"{name} stays {there.version if is_there and there else 'away'}: it was changed since (it was {version})")
            continue
        wanted[name] = version
    if not wanted:
        return lines
    offered = apt_state.policy(machine, wanted)
    for name, version in sorted(wanted.items()):
        if not _can_be_had(name, version, offered, now):
            del wanted[name]
            there = now.get(name)
            state = f"stays at {there.version}" if there is not None and there.present else "stays away"
            lines.append(f"{name} {state}: no repository offers {version} any more")
    return lines + _install_versions(wanted, before, machine)


def _changed_since(name: str, there: apt.Package | None, after: Recorded) -> bool:
    then = after["packages"].get(name)
    was = then[0] if then is not None and apt.Package(*then).present else ""
    return was != (there.version if there is not None and there.present else "")


def _can_be_had(name: str, version: str, offered: Mapping[str, tuple[str, tuple[str, ...]]], now: apt.Listing) -> bool:
    """Whether a version is offered. apt lists the installed version even where no repository has it."""
    there = now.get(name)
    return version in offered.get(name, ("", ()))[1] and not (there is not None and there.version == version and there.sound)


def _install_versions(wanted: dict[str, str], before: Recorded, machine: WritableHost) -> list[str]:
    if not wanted:
        return []
    arguments = [f"{name}={version}" for name, version in sorted(wanted.items())]
    words = ("install", "--no-install-recommends", "--allow-downgrades", "--reinstall", *arguments)
    if machine.offline:
        words = (*words[:1], "--no-download", *words[1:])
    try:
        simulated = apt_state.simulate(machine, *words)
    except ActFailed as failed:
        return [f"{', '.join(arguments)} cannot be put back: {failed}"]
    strangers = (set(simulated.installs) | set(simulated.removes)) - wanted.keys()
    if strangers:
        return [f"{', '.join(arguments)} cannot be put back without changing {', '.join(sorted(strangers))}"]
    apt_state.get(machine, *words, advice="gpudoctor setup --undo goes on where it stopped")
    return []


def _restore_marks(before: Recorded, after: Recorded | None, machine: WritableHost) -> None:
    """Restores marks and holds of packages that were there before. A mark that differs from what this step left was set by a person."""
    was, now = _recorded(before), apt_state.listing(machine)
    touched = {*before["changed"], *before["removed"], *before["names"]}
    there = {name for name in touched if name in was and was[name].present and name in now and now[name].present}
    if after is not None:
        auto, left_auto = apt_state.marked(machine, "showauto"), set(after["auto"])
        put_back = {
            name for name, version in {**before["changed"], **before["removed"]}.items() if name in now and now[name].version == version
        }
        # installing a former version has set the manual mark
        there = {name for name in there if name in put_back or (name in auto) == (name in left_auto)}
    wanted = set(before["auto"])
    apt_state.set_marks(machine, there & wanted, auto=True)
    apt_state.set_marks(machine, there - wanted, auto=False)
    apt_state.set_holds(machine, set(before["hold"]) & set(before["removed"]) & there, hold=True)


def _recorded(before: Recorded) -> dict[str, apt.Package]:
    return {name: apt.Package(*parts) for name, parts in before["packages"].items()}
