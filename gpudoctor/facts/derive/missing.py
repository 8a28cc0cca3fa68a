"""Libraries, headers, commands and modules that a program did not find, and the packages of the distribution, pip and conda with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from textwrap import wrap
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._indexes import newest
from gpudoctor.facts.derive._tables import table
from gpudoctor.model.facts import Fact, Facts, FactSpec, Known

INSTALL = {"apt": "sudo apt install {}", "dnf": "sudo dnf install {}", "pacman": "sudo pacman -S {}"}
FAMILIES = {"apt": "Debian, Ubuntu", "dnf": "Fedora", "pacman": "Arch"}
BUILDING = ("h", "l", "cmake")
"""Kinds that a compilation misses, which come with the package of the headers."""
_OF_THE_HOST = ("NVIDIA's driver", "NVIDIA's driver tools")
"""Products of missing-parts.toml that a container gets from its host when it runs, and that no image holds."""
PIECES = ("what_to_do", "then_2", "then_3", "then_4", "then_5", "then_6")
KINDS = {
    "so": "the library {}", "dylib": "the library {}", "dll": "{}", "h": "the header {}", "l": "the library -l{}", "cmd": "the command {}",
    "cmake": "the CMake package {}", "py": "the Python module {}", "pip": "the requirement {}", "attr": "the name {}",
}  # fmt: skip


@lru_cache(maxsize=1)
def _rows() -> tuple[tuple[str, re.Pattern[str], Mapping[str, Any]], ...]:
    return tuple(
        (kind, re.compile(pattern, re.IGNORECASE), row)
        for row in table("missing-parts")["part"]
        for kind, _, pattern in (text.partition(":") for text in row["match"])
    )


def row_of(kind: str, name: str) -> tuple[Mapping[str, Any], dict[str, str]] | None:
    """(row of missing-parts.toml, groups that its expression captured) for a missing thing; None where no row matches."""
    for its, pattern, row in _rows():
        found = pattern.match(name) if its == kind else None
        if found:
            return row, {key: value or "" for key, value in found.groupdict().items()}
    return None


def manager_of(facts: Facts) -> str:
    """The package manager of this system where the table has commands for it (a key of INSTALL), else ''."""
    manager = str(facts.value("packages.manager") or "")
    return manager if manager in INSTALL else ""


def remedy(
    kind: str, name: str, manager: str, platform: str = "linux", indexes: Mapping[str, str] | None = None
) -> tuple[str, str, list[str]] | None:
    """(product, what to do, commands) for a missing thing; None where the table lacks it.

    `indexes`: the addresses of PyTorch's indexes for this machine, by the names index.cuda and so on; without them those of the newest
    release.
    """
    found = row_of(kind, name)
    if found is None:
        return None
    row, groups = found

    named = {**newest(), **(indexes or {})}

    def filled(text: str) -> str:
        return re.sub(r"\{([\w.]+)\}", lambda match: named.get(match[1]) or groups.get(match[1], "").lower(), text)

    def of(key: str) -> str:
        text = row.get(f"{key}_dev") if kind in BUILDING and f"{key}_dev" in row else row.get(key)
        return filled(str(text or ""))

    offered = {key: of(key) for key in INSTALL if of(key)} if platform in ("linux", "") else {}
    commands = [INSTALL[manager].format(offered[manager])] if manager in offered else []
    if commands:
        ways = [commands[0]]
    else:
        ways = [f"{INSTALL[key].format(packages)} ({FAMILIES[key]})" for key, packages in offered.items()]
    if of("pip"):
        ways.append(f'pip install "{of("pip")}"')
    if of("conda"):
        ways.append(f"conda install -c conda-forge {of('conda')}")
    advice = " ".join(filter(None, ["; ".join(ways) + "." if ways else "", filled(str(row.get("text", "")))]))
    return filled(str(row["product"])).rstrip(), advice, commands


def package_of_module(module: str) -> str | None:
    """The distribution that holds a module of another name, opencv-python for cv2; None where the table lacks it."""
    packages: Mapping[str, str] = table("module-packages")["module"]
    parts = module.split(".")
    return next((packages[name] for end in range(len(parts), 0, -1) if (name := ".".join(parts[:end])) in packages), None)


def modules(names: Iterable[str], python: str) -> list[dict[str, Any]]:
    """The records of the fact missing.modules: the modules whose distribution has another name. `python`: the interpreter to install
    for."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        package = package_of_module(name)
        if package is not None:
            requirement = f'"{package}"' if re.search(r"[^\w.\-]", package) else package
            command = f"{python} -m pip install {requirement}"
            found.setdefault(package, {"id": name, "name": name, "package": package, "command": command})
    return list(found.values())


def _not_imported(facts: Facts) -> list[str]:
    """The modules that could not be imported, by the errors of the frameworks of a machine."""
    frameworks = facts.value("python.frameworks")
    failed = [said.get("error") for said in frameworks.values() if isinstance(said, Mapping)] if isinstance(frameworks, Mapping) else []
    messages = [str(error.get("message") or "") for error in failed if isinstance(error, Mapping)]
    return [found[1] for message in messages if (found := re.search(r"No module named '?([\w.]+)", message))]


def _pieces(advice: str) -> dict[str, str]:
    """The advice cut into pieces of at most 150 letters, since a template cuts longer values, which may be words of a machine."""
    lines = wrap(advice, 150, break_long_words=False, break_on_hyphens=False)
    return dict(zip(PIECES, (f"{line} " for line in lines), strict=False))


_ASKS_FOR_CARDS = frozenset({"nvidia-smi", "rocm-smi", "amd-smi", "rocminfo", "xpu-smi"})
"""Commands that only ask whether a vendor's cards are there: without one of these cards nothing is missing."""
_OURS, _FOREIGN, _UNRELATED = "ours", "foreign", "unrelated"
_MAKERS = frozenset({"nvidia", "amd", "intel", "apple"})


def _whose(kind: str, name: str, facts: Facts) -> str:
    """Foreign: it serves the GPUs of one vendor, and this machine has only others. Unrelated: the text speaks of other vendors alone."""
    found = row_of(kind, name)
    vendor = found[0].get("vendor") if found else None
    named = set(facts.value("text.other_vendors") or ())
    cards = set(facts.value("gpu.vendors") or ()) & _MAKERS
    if not vendor or vendor in cards or (vendor == "graphcore" and vendor in named):
        return _OURS
    if cards:
        return _FOREIGN
    return _OURS if vendor in named or not named else _UNRELATED


def derive(facts: Facts) -> Iterable[tuple[str, Fact]]:
    said = facts.get("text.missing")
    executable = facts.value("python.executable")
    python = executable if isinstance(executable, str) and re.fullmatch(r"[\w./+\-]+", executable) else "python"
    named = [str(thing["name"]) for thing in said.value if thing["kind"] == "py"] if isinstance(said, Known) else _not_imported(facts)
    yield "missing.modules", Known(modules(named, python), "module-packages")
    if not isinstance(said, Known):  # of a machine, python.import_failures says what its frameworks miss
        yield "missing.parts", Known([], "no text")
        yield "missing.count", Known(0, "no text")
        return
    platform = str(facts.value("platform.kind") or "")
    manager = manager_of(facts) if platform not in ("windows", "macos") else ""
    indexes = {name: str(value) for name in newest() if (value := facts.value(name))}
    parts: dict[str, dict[str, Any]] = {}
    for thing in said.value:
        kind, name = str(thing["kind"]), str(thing["name"])
        known = remedy(kind, name, manager, "linux" if platform not in ("windows", "macos") else platform, indexes)
        whose = _whose(kind, name, facts)
        if known is not None and known[0] not in parts and whose != _UNRELATED:
            product, advice, commands = known
            if product in _OF_THE_HOST and facts.value("text.image_build") is True:
                continue
            if whose == _FOREIGN and name in _ASKS_FOR_CARDS:
                continue
            parts[product] = {"id": name, "name": KINDS[kind].format(name), "kind": kind, "product": product,
                              "foreign": whose == _FOREIGN, "command": commands[0] if commands else None, **_pieces(advice)}  # fmt: skip
    yield "missing.parts", Known(list(parts.values()), "text")
    yield "missing.count", Known(len(parts), "text")


SPECS = (
    FactSpec("missing.parts", "records", "things that a text says were not found, with what brings them", item="part", fields={
        "id": "name as said", "name": "the same in words", "kind": "so, dylib, dll, h, l, cmd, cmake, py, pip or attr",
        "product": "what it is part of", "foreign": "whether it serves GPUs of another vendor than this machine's alone",
        **dict.fromkeys(PIECES, "a piece of what to do: packages and variables"),
        "command": "the install command on this distribution"}),
    FactSpec("missing.count", "int", "how many of missing.parts"),
    FactSpec("missing.modules", "records", "Python modules that are missing, of packages with another name", item="module", fields={
        "id": "name as said", "name": "of the module: cv2", "package": "what pip calls its package: opencv-python",
        "command": "installs it into the target environment"}),
)  # fmt: skip
DERIVATION = Derivation("missing", provides=SPECS, derive=derive)
