"""The parts of a report that concern the facts themselves: their tree, the machine in one line, and what could not be examined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.diagnosis.reasons import asker, clause
from gpudoctor.model.facts import Absent, Facts, FactSpec, Known, Unknown
from gpudoctor.rules.templates import size


def fact_tree(facts: Facts, specs: Mapping[str, FactSpec]) -> dict[str, Any]:
    """The facts as nested tables by dotted name. Unknown facts are left out, known absences are None, and secrets are never included."""
    tree: dict[str, Any] = {}
    for name, fact in facts.items():
        spec = specs.get(name)
        if isinstance(fact, Unknown) or (spec and spec.privacy == "secret"):
            continue
        *parents, last = name.split(".")
        place = tree
        for parent in parents:
            inner = place.setdefault(parent, {})
            if not isinstance(inner, dict):
                inner = place[parent] = {"value": inner}
            place = inner
        value = _plain(fact.value) if isinstance(fact, Known) else None
        if isinstance(place.get(last), dict) and not isinstance(value, dict):
            place[last]["value"] = value
        elif isinstance(place.get(last), dict) and isinstance(value, dict):
            place[last].update(value)
        else:
            place[last] = value
    return tree


def _plain(value: Any) -> Any:
    """JSON values only; unknown fields of records are left out."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items() if not isinstance(inner, Unknown)}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(inner) for inner in value if not isinstance(inner, Unknown)]
    if isinstance(value, Known):
        return _plain(value.value)
    return None if isinstance(value, Absent) else value


def unknown_facts(facts: Facts) -> dict[str, str]:
    """Unknown facts by name with their reasons, those within maps included, so that a report can be read back."""
    found: dict[str, str] = {}
    for name, fact in facts.items():
        if isinstance(fact, Unknown):
            if fact.reason != "not probed":
                found[name] = fact.reason
        elif isinstance(fact, Known) and isinstance(fact.value, Mapping):
            found.update((f"{name}.{key}", inner.reason) for key, inner in fact.value.items() if isinstance(inner, Unknown))
    return found


def headline(facts: Facts) -> dict[str, str]:
    """The words at the top of a screen: machine (the GPUs), os, platform, kernel, memory and Python; empty where unknown."""
    gpus = facts.value("gpus") or []
    names = [str(gpu.get("name") or gpu.get("pci_id") or "GPU") for gpu in gpus if isinstance(gpu, Mapping)]
    counted = [f"{names.count(name)} x {name}" if names.count(name) > 1 else name for name in dict.fromkeys(names)]
    count = len(facts.value("pci.devices") or [])
    if not counted and facts.value("poplar.present") is True:
        counted = ["Graphcore IPUs"]
    elif not counted and facts.value("bus.pci.visible") is False:
        counted = ["no PCI bus visible"]
    elif not counted and count:
        counted = [f"no GPU among the {count} devices of the PCI bus" if count > 1 else "no GPU on the PCI bus"]
    os_name, version = str(facts.value("os.name") or ""), str(facts.value("os.version") or "")
    os_name = os_name if version in os_name else f"{os_name} {version}".strip()
    kind = facts.value("platform.kind")
    memory = facts.value("memory.total_bytes")
    return {
        "looked_at": str(facts.value("looked_at.title") or ""),
        "machine": ", ".join(counted) or ("" if facts.value("looked_at.kind") in ("root", "image") else "no GPU found"),
        "os": os_name or str(facts.value("os.id") or ""),
        "platform": str(kind or ""),
        "kernel": str(facts.value("kernel.release") or ""),
        "memory": size(memory) if isinstance(memory, int) else "",
        "python": str(facts.value("python.version") or ""),
        "python_executable": str(facts.value("python.executable") or ""),
        "python_why": str(facts.value("python.why") or ""),
    }


_TELL = ("permission denied", "timeout", "out of time", "crashed", "probe crashed", "too large", "device busy")
_LATE = ("timeout", "out of time")


def not_looked_at(facts: Facts, specs: Mapping[str, FactSpec], incidents: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Two lists of lines for a person, each reason once: what could not be read, and what there was no time for."""
    reasons: dict[str, list[str]] = {}
    for name, fact in facts.items():
        if isinstance(fact, Unknown) and fact.reason.split(":")[0] in _TELL:
            reasons.setdefault(fact.reason, []).append(name)
    unread = dict.fromkeys(_unread(reason, names, specs) for reason, names in reasons.items())
    late = dict.fromkeys(_late(reason, names, specs) for reason, names in reasons.items() if reason.split(":")[0] in _LATE)
    crashed = [incident for incident in incidents if not incident.endswith("out of time")]
    return (*unread, *crashed), tuple(late)


def _late(reason: str, names: Sequence[str], specs: Mapping[str, FactSpec]) -> str:
    """The tool that did not end, else the facts for which there was no time."""
    kind, _, detail = reason.partition(": ")
    if kind == "timeout" and detail and " " not in detail:
        return clause(reason, names, "live")
    return f"{_subject(names, specs)} not inspected ({reason})"


def _unread(reason: str, names: Sequence[str], specs: Mapping[str, FactSpec]) -> str:
    """The command or place that did not answer, and why. A reason that is a sentence by itself says both."""
    kind, _, detail = reason.partition(": ")
    if kind == "permission denied":
        return detail if " " in detail else f"{detail or asker(names[0]) or _subject(names, specs)} (needs root)"
    if kind in ("timeout", "crashed", "too large") and detail:
        return clause(reason, names, "live")
    return f"{_subject(names, specs)} ({reason})"


def _subject(names: Sequence[str], specs: Mapping[str, FactSpec]) -> str:
    spec = specs.get(names[0])
    return (
        spec.meaning.split(":")[0].split(",")[0] if len(names) == 1 and spec else ", ".join(dict.fromkeys(n.split(".")[0] for n in names))
    )
