"""Packages of an offline bundle: the files debs/*.deb below its folder, and nothing from a network."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key

from gpudoctor.host.acting import ActFailed, Machine
from gpudoctor.install import apt, apt_state
from gpudoctor.install.apt_choice import Choice, satisfied
from gpudoctor.install.debian_versions import compare

_FIELDS = ("Package", "Version", "Architecture", "Pre-Depends", "Depends", "Provides")
_RELATION = re.compile(r"([a-z0-9][a-z0-9+.\-]*)(?::[a-z0-9]+)?\s*(?:\(\s*(<<|<=|=|>=|>>)\s*([^)\s]+)\s*\))?")
_HOLDS = {"<<": (-1,), "<=": (-1, 0), "=": (0,), ">=": (0, 1), ">>": (1,)}


@dataclass(frozen=True, slots=True)
class _Deb:
    path: str
    name: str
    version: str
    needs: tuple[tuple[tuple[str, str, str], ...], ...]
    """One tuple of alternatives for each dependency: name, relation, version."""
    gives: tuple[tuple[str, str, str], ...]


def shown(bundle: str, one: apt.Wanted) -> str:
    """How a person would name the file of a package."""
    return f"{bundle}/debs/{one.name}_{one.version or '*'}.deb" if not one.version.endswith("*") else f"{bundle}/debs/{one.name}_*.deb"


def choose(machine: Machine, bundle: str, entries: Sequence[str], there: apt.Listing) -> Choice:
    """The files for the entries that are not there, with all that they depend on. Raises ActFailed naming what the bundle lacks."""
    debs = _read(machine, bundle)
    graph = apt.parse_graph(apt_state.answer(machine, apt.GRAPH), apt_state.native(machine))
    given = set().union(*(node.gives - {name} for name, node in graph.items() if name in there and there[name].sound), set())
    taken: dict[str, _Deb] = {}
    names = []
    for entry in entries:
        alternatives = apt.parse_wanted(entry)
        if any(satisfied(one, there) or (not one.relation and one.name in given) for one in alternatives):
            continue
        found = next((deb for one in alternatives for deb in _named(debs, one.name) if one.matches(deb.version)), None)
        if found is None:
            raise ActFailed(f"the bundle has no {entry.replace('|', ' or ')}", f"add it to {bundle}/debs on a machine with a network")
        names.append(found.name)
        _take(found, debs, there, given, taken, bundle)
    return Choice(tuple(deb.path for deb in taken.values()), tuple(names))


def _take(deb: _Deb, debs: Sequence[_Deb], there: apt.Listing, given: set[str], taken: dict[str, _Deb], bundle: str) -> None:
    waiting = [deb]
    while waiting:
        one = waiting.pop()
        if one.name in taken:
            continue
        taken[one.name] = one
        for clause in one.needs:
            if any(_holds(need, there, given, taken) for need in clause):
                continue
            found = next((other for need in clause for other in _serving(debs, need)), None)
            if found is None:
                names = " or ".join(" ".join(filter(None, need)) for need in clause)
                raise ActFailed(
                    f"the bundle lacks {names}, which {one.name} depends on", f"add it to {bundle}/debs on a machine with a network"
                )
            waiting.append(found)


def _holds(need: tuple[str, str, str], there: apt.Listing, given: set[str], taken: Mapping[str, _Deb]) -> bool:
    name, relation, version = need
    package = there.get(name)
    if package is not None and package.sound and _fits(package.version, relation, version):
        return True
    return (name in given and not relation) or any(deb in _serving(tuple(taken.values()), need) for deb in taken.values())


def _fits(version: str, relation: str, wanted: str) -> bool:
    if not relation:
        return True
    order = compare(version, wanted)
    return (order > 0) - (order < 0) in _HOLDS[relation]


def _named(debs: Sequence[_Deb], name: str) -> list[_Deb]:
    """Newest first."""
    by_version = cmp_to_key(compare)
    return sorted((deb for deb in debs if deb.name == name), key=lambda deb: by_version(deb.version), reverse=True)


def _serving(debs: Sequence[_Deb], need: tuple[str, str, str]) -> list[_Deb]:
    name, relation, version = need
    direct = [deb for deb in _named(debs, name) if _fits(deb.version, relation, version)]
    providing = [
        deb for deb in debs for given, _, at in deb.gives if given == name and (not relation or (at and _fits(at, relation, version)))
    ]
    return direct + providing


def _read(machine: Machine, bundle: str) -> list[_Deb]:
    folder = f"{bundle.rstrip('/')}/debs"
    names = [name for name in machine.look.listdir(folder) if name.endswith(".deb")]
    if not names:
        raise ActFailed(f"{folder} holds no packages", "make the bundle anew on a machine with a network")
    native = apt_state.native(machine)
    found = []
    for name in sorted(names):
        done = machine.ask(("dpkg-deb", "-f", f"{folder}/{name}", *_FIELDS))
        if done.rc != 0:
            raise ActFailed(f"{folder}/{name} is no Debian package", "it may be damaged; copy the bundle again")
        fields = dict(re.findall(r"^([A-Za-z\-]+): (.*)$", done.output, re.M))
        if fields.get("Architecture") in (native, "all"):
            needs = f"{fields.get('Pre-Depends', '')}, {fields.get('Depends', '')}"
            clauses = tuple(tuple(_relations(clause.split("|"))) for clause in needs.split(",") if clause.strip())
            given = tuple(_relations(fields.get("Provides", "").split(",")))
            found.append(_Deb(f"{folder}/{name}", fields.get("Package", ""), fields.get("Version", ""), clauses, given))
    return found


def _relations(texts: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for text in texts:
        found = _RELATION.match(text.strip())
        if found:
            yield found[1], found[2] or "", found[3] or ""
