"""Parsers of the output of apt and dpkg, and of the entries of apt.install. Nothing is run here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from msgspec import Struct

from gpudoctor.setup.packages.debian_versions import compare

ENV = {"DEBIAN_FRONTEND": "noninteractive", "UCF_FORCE_CONFFOLD": "1", "NEEDRESTART_SUSPEND": "1"}
GET = ("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=600", "-o", "Dpkg::Options::=--force-confold", "-o", "Dpkg::Use-Pty=0")
"""The beginning of each apt-get. Without a pseudo-terminal dpkg survives when apt is killed, and its end can be waited for."""
SIMULATE = ("apt-get", "-s", "-q", "-y", "-o", "Debug::NoLocking=1")
_FORMAT = "${Package}\\t${Architecture}\\t${Version}\\t${db:Status-Want}\\t${db:Status-Status}\\t${db:Status-Eflag}\\n"
LISTING = ("dpkg-query", "-W", f"-f={_FORMAT}")
GRAPH = ("dpkg-query", "-W", "-f=${Package}\\t${Architecture}\\t${db:Status-Status}\\t${Pre-Depends}, ${Depends}\\t${Provides}\\n")

_NAME = re.compile(r"[a-z0-9][a-z0-9+.\-]+(:[a-z0-9\-]+)?")
_VERSION = re.compile(r"[0-9A-Za-z.+:~\-]+\*?")
_ACTION = re.compile(r"^(Inst|Remv|Purg) (\S+)(?: \[([^\]]*)\])?(?: \((\S+) [^)]*\))?")
_TABLE = re.compile(r"^ (?:\*\*\*|   ) (\S+) -?\d+$")
PRESENT = ("installed", "triggers-awaited", "triggers-pending", "half-configured", "unpacked", "half-installed")
SOUND = ("installed", "triggers-awaited", "triggers-pending")


class Package(Struct, frozen=True):
    """A package by dpkg-query(1). `want`: install, hold, deinstall or purge; `status`: installed, config-files, …; `error`: ok or
    reinstreq."""

    version: str
    want: str
    status: str
    error: str = "ok"

    @property
    def present(self) -> bool:
        """Whether its files lie on the disk, in whatever state."""
        return self.status in PRESENT

    @property
    def sound(self) -> bool:
        return self.status in SOUND and self.error == "ok"

    def json(self) -> list[str]:
        return [self.version, self.want, self.status, self.error]


Listing = Mapping[str, Package]
"""Name in apt's form (`name`, and `name:architecture` for a foreign architecture) to package."""


class AptAlternative(Struct, frozen=True):
    """One alternative of an entry of `packages`. `relation` is '', '=' (with a version that may end in *) or '>='."""

    name: str
    relation: str = ""
    version: str = ""

    def matches(self, version: str) -> bool:
        if self.relation == "=":
            return fnmatchcase(version, self.version) if self.version.endswith("*") else version == self.version
        return not self.relation or compare(version, self.version) >= 0

    def argument(self) -> str:
        return f"{self.name}={self.version}" if self.relation == "=" else self.name

    def __str__(self) -> str:
        return f"{self.name}{self.relation}{self.version}"


class Simulation(Struct, frozen=True):
    """What apt would do. `installs`: name to (installed version or '', new version); `removes`: name to version."""

    installs: Mapping[str, tuple[str, str]]
    removes: Mapping[str, str]

    @property
    def new(self) -> list[str]:
        return sorted(name for name, (old, _) in self.installs.items() if not old)

    @property
    def changed(self) -> dict[str, str]:
        """Name to the installed version that would be replaced."""
        return {name: old for name, (old, _) in sorted(self.installs.items()) if old}


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def parse_wanted(entry: str) -> tuple[AptAlternative, ...]:
    """The alternatives of an entry such as 'a|b=1.2*|c>=3', in their order. Raises ValueError that names what is no package."""
    found = []
    for part in entry.split("|"):
        name, relation, version = re.fullmatch(r"([^=<>]*)(>=|=|)(.*)", part.strip(), re.S).groups()  # type: ignore[union-attr]
        if not _NAME.fullmatch(name) or (relation and not _VERSION.fullmatch(version)) or (not relation and version):
            raise ValueError(f"'{part.strip()}' is no Debian package: name, name=version or name>=version")
        found.append(AptAlternative(name, relation, version))
    return tuple(found)


def parse_listing(text: str, native: str) -> dict[str, Package]:
    """The packages in the output of LISTING. `native`: the architecture of the machine."""
    found: dict[str, Package] = {}
    for line in text.splitlines():
        parts = line.split("\t")
        if len(parts) == 6 and parts[4] != "not-installed":
            found[apt_name(parts[0], parts[1], native)] = Package(*parts[2:])
    return found


def apt_name(name: str, architecture: str, native: str) -> str:
    return name if architecture in (native, "all", "") else f"{name}:{architecture}"


def parse_simulation(text: str) -> Simulation:
    """What `apt-get -s` would do. Of a package that is removed and installed again, the last line counts."""
    installs: dict[str, tuple[str, str]] = {}
    removes: dict[str, str] = {}
    for line in text.splitlines():
        found = _ACTION.match(line)
        if found and found[1] == "Inst":
            removes.pop(found[2], None)
            installs[found[2]] = (found[3] or "", found[4] or "")
        elif found:
            installs.pop(found[2], None)
            removes[found[2]] = found[3] or ""
    return Simulation(installs, removes)


def parse_policy(text: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Name to (candidate or '', versions that are offered or installed) in the output of `apt-cache policy …`."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    name = ""
    for line in text.splitlines():
        if line and not line[0].isspace() and line.endswith(":"):
            name = line[:-1]
            found[name] = ("", ())
        elif name and line.startswith("  Candidate: "):
            candidate = line[13:].strip()
            found[name] = ("" if candidate == "(none)" else candidate, found[name][1])
        elif name:
            row = _TABLE.match(line)
            if row:
                found[name] = (found[name][0], (*found[name][1], row[1]))
    return found


def parse_providers(text: str) -> list[str]:
    """The packages that provide a name, by the output of `apt-cache showpkg NAME`, sorted."""
    _, _, rest = text.partition("Reverse Provides:")
    return sorted({line.split()[0] for line in rest.splitlines() if line.strip()})


class Node(Struct, frozen=True):
    """A package with its dependencies. `needs`: alternative names for each dependency; `gives`: its own name and those that it provides."""

    needs: tuple[tuple[str, ...], ...]
    gives: frozenset[str]


def parse_graph(text: str, native: str) -> dict[str, Node]:
    """The packages that are present, with dependencies by name alone, in the output of GRAPH."""
    found: dict[str, Node] = {}
    for line in text.splitlines():
        parts = line.split("\t")
        if len(parts) == 5 and parts[2] in PRESENT:
            needs = tuple(tuple(_names(clause.split("|"))) for clause in parts[3].split(",") if clause.strip())
            found[apt_name(parts[0], parts[1], native)] = Node(needs, frozenset((parts[0], *_names(parts[4].split(",")))))
    return found


def _names(relations: Iterable[str]) -> Iterator[str]:
    for relation in relations:
        name = re.split(r"[\s(:\[]", relation.strip(), maxsplit=1)[0]
        if name:
            yield name


def still_needed(graph: Mapping[str, Node], going: Iterable[str]) -> dict[str, str]:
    """The packages among `going` that a remaining package depends on: name to that package."""
    leaving = {name for name in going if name in graph}
    kept: dict[str, str] = {}
    givers: dict[str, set[str]] = {}
    for name, node in graph.items():
        for given in node.gives:
            givers.setdefault(given, set()).add(name)
    waiting = [name for name in graph if name not in leaving]
    while waiting:
        name = waiting.pop()
        for clause in graph[name].needs:
            serving = set().union(*(givers.get(one, set()) for one in clause))
            if serving and serving <= leaving:  # no remaining package would serve
                for one in serving:
                    kept[one] = name
                leaving -= serving
                waiting += sorted(serving)
    return kept


def provided(status: str) -> dict[str, str]:
    """The names that installed packages provide, each with its package, in /var/lib/dpkg/status."""
    found: dict[str, str] = {}
    for block in status.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Status|Provides): (.*)$", block, re.M))
        if fields.get("Status", "").endswith(" installed"):
            for name in _names(fields.get("Provides", "").split(",")):
                found.setdefault(name, fields.get("Package", ""))
    return found
