"""What readers take from a text: outputs of commands, contents of files, variables, packages, and facts that it states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from gpudoctor.facts.probes.dist_info import normalise
from gpudoctor.model.facts import Fact, Known, Unknown

CONFLICT = Unknown("conflicting")


class Evidence(Struct):
    """What all readers found, each adding to it in turn. A fact that two places of a text contradict becomes unknown."""

    commands: dict[tuple[str, ...], str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    """Python distributions by normalised name."""
    other_pins: set[int] = field(default_factory=set)
    """Numbers of the lines that pin another release of a package than the installed one: they are about another environment."""
    all_packages: bool = False
    """Whether the text has a whole listing of packages, so that a package missing from it is not installed."""
    partial: set[str] = field(default_factory=set)
    """Programs of whose output the text shows only a part, which proves no absence."""
    facts: dict[str, Fact] = field(default_factory=dict)
    """Facts that no command of ours gives in this form; a probe's answer outweighs them."""
    gpus: list[tuple[str, str]] = field(default_factory=list)
    """Vendor and name, or PCI id and name, of devices that the text names, in its order."""
    drivers: dict[tuple[str, str], str | None] = field(default_factory=dict)
    """The kernel driver of each such device; None where the text shows that it has none."""
    gfx: list[str] = field(default_factory=list)
    """AMD's targets that the text names."""
    platforms: list[str] = field(default_factory=list)
    """What the text runs on, most telling first: linux, wsl2, windows, macos, container."""
    frameworks: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Tables in the form of python.frameworks, from what a framework printed about itself."""
    cut_names: set[str] = field(default_factory=set)
    """Names of GPUs that a table cut short; each may be the beginning of another name in `gpus`."""
    recognised: list[str] = field(default_factory=list)
    """What readers found, for a person: 'collect_env', 'nvidia-smi'."""
    _doubted: set[str] = field(default_factory=set)

    def saw(self, what: str) -> None:
        if what not in self.recognised:
            self.recognised.append(what)

    def command(self, argv: tuple[str, ...], output: str) -> None:
        self.commands.setdefault(argv, output)

    def variable(self, name: str, value: str) -> None:
        self.variables.setdefault(name, value)

    def package(self, name: str, version: str) -> None:
        """Keeps a package's first version. A different one later on makes it doubtful; a longer form of the same one replaces it."""
        name, version = normalise(name), version.strip()
        known = self.packages.get(name)
        if not version or name in self._doubted:
            return
        if known is None or version.startswith(known):
            self.packages[name] = version
        elif known != version and not known.startswith(version):
            del self.packages[name]
            self._doubted.add(name)

    def imported(self, name: str, version: str) -> None:
        """Settles a doubtful package: the version that a running program reports outweighs lists that contradict each other."""
        name = normalise(name)
        if name in self._doubted:
            self.packages[name] = version

    def fact(self, name: str, value: Any, source: str) -> None:
        """Keeps a fact that the text states; a value of None states nothing and is left out."""
        if value is None or value == "":
            return
        known = self.facts.get(name)
        if known is None:
            self.facts[name] = Known(value, source)
        elif isinstance(known, Known) and known.value != value:
            self.facts[name] = CONFLICT

    def gpu(self, maker: str, name: str) -> None:
        self.gpus.append((maker, name))

    def torch_sees(self, device: str, seen: bool, version: str) -> None:
        """Records that torch was imported, and whether it sees `device` (cuda, xpu)."""
        torch = self.frameworks.setdefault("torch", {"imported": True, "version": version, "devices": []})
        if seen:
            torch["devices"].append({"id": f"{device}:0", "name": self.gpus[0][1] if self.gpus else device})

    def failed_import(self, framework: str, name: str, message: str) -> None:
        """Keeps a framework's first failure: later ones are its consequences."""
        table = self.frameworks.setdefault(framework, {"imported": False, "error": {"kind": "exception", "name": name, "message": message}})
        table.setdefault("error", None)

    def platform(self, kind: str) -> None:
        if kind not in self.platforms:
            self.platforms.append(kind)

    def python(self) -> Mapping[str, Any]:
        """The Python environment in the form of a capture's python.json."""
        version = self.facts.get("python.version")
        found: dict[str, Any] = {}
        if self.packages or self.all_packages:
            found["distributions"] = dict(self.packages)
        if isinstance(version, Known):
            found["version"] = version.value
        if self.frameworks:
            found.setdefault("distributions", {})
            found["frameworks"] = {name: dict(table) for name, table in self.frameworks.items()}
        return found
