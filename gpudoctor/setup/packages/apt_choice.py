"""Chooses the packages that a step asks apt for, by what was installed before the step began, so that a second attempt asks for the
same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from gpudoctor.setup.packages import apt, apt_state
from gpudoctor.system.writable_host import ActFailed, WritableHost


class AptChoice(Struct, frozen=True):
    """The `arguments` of apt-get install, and the `names` of their packages, which are marked as installed manually."""

    arguments: tuple[str, ...]
    names: tuple[str, ...]


def choose(machine: WritableHost, entries: Sequence[str], there: apt.Listing) -> AptChoice:
    """What to install for the entries that no installed package satisfies (`there`): of each the first alternative that is offered. Raises
    ActFailed that names an entry which is not."""
    wanted = [apt.parse_wanted(entry) for entry in entries]
    open_ = [alternatives for alternatives in wanted if not any(satisfied(one, there) for one in alternatives)]
    known = apt_state.policy(machine, (one.name for alternatives in open_ for one in alternatives))
    providers = _installed_providers(machine, there)
    arguments: dict[str, None] = {}
    names: dict[str, None] = {}
    for alternatives in open_:
        if any(not one.relation and one.name in providers for one in alternatives):
            continue
        argument, name = _first_to_be_had(machine, alternatives, known)
        arguments[argument], names[name] = None, None
    return AptChoice(tuple(arguments), tuple(names))


def satisfied(one: apt.AptAlternative, there: apt.Listing) -> bool:
    package = there.get(one.name)
    return package is not None and package.sound and one.matches(package.version)


def unsatisfied(entries: Iterable[str], there: apt.Listing, providers: Iterable[str]) -> list[str]:
    """The entries of which no alternative is installed or provided."""
    given = set(providers)
    return [
        entry
        for entry in entries
        if not any(satisfied(one, there) or (not one.relation and one.name in given) for one in apt.parse_wanted(entry))
    ]


def providers_now(machine: WritableHost) -> set[str]:
    """The names that the installed packages have or provide."""
    graph = apt.parse_graph(apt_state.answer(machine, apt.GRAPH), apt_state.native(machine))
    return set().union(*(node.gives for node in graph.values())) if graph else set()


def _installed_providers(machine: WritableHost, there: apt.Listing) -> set[str]:
    """The names that the packages in `there` provide. Packages that an interrupted attempt has installed since do not count."""
    graph = apt.parse_graph(apt_state.answer(machine, apt.GRAPH), apt_state.native(machine))
    return set().union(*(node.gives - {name} for name, node in graph.items() if name in there and there[name].sound), set())


def _first_to_be_had(
    machine: WritableHost, alternatives: Sequence[apt.AptAlternative], known: Mapping[str, tuple[str, tuple[str, ...]]]
) -> tuple[str, str]:
    for one in alternatives:
        candidate, versions = known.get(one.name, ("", ()))
        if one.relation == "=" and any(map(one.matches, versions)):
            return one.argument(), one.name
        if one.relation != "=" and candidate and one.matches(candidate):
            return one.argument(), one.name
    for one in alternatives:
        if not one.relation:
            found = apt.parse_providers(machine.ask(("apt-cache", "showpkg", one.name)).output)
            if len(found) == 1:
                return found[0], found[0]
            if found:
                raise ActFailed(f"{one.name} is provided by several packages: {', '.join(found)}", "install one of them, then --resume")
    raise ActFailed(_cannot_be_had(alternatives, known), "apt-get update, then apt-cache policy with the name, shows what is offered here")


def _cannot_be_had(alternatives: Sequence[apt.AptAlternative], known: Mapping[str, tuple[str, tuple[str, ...]]]) -> str:
    offered = [f"{one.name} {', '.join(known[one.name][1])}" for one in alternatives if one.name in known and known[one.name][1]]
    names = " or ".join(map(str, alternatives))
    return f"no repository of this machine offers {names}" + (f" (there is {'; '.join(offered)})" if offered else "")
