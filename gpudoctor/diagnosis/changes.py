"""Compares two reports: facts one by one, findings and verdicts, and links findings to the changes that they depend on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.diagnosis.change_ranks import UNCOMPARED, category, leader
from gpudoctor.diagnosis.equivalence import same
from gpudoctor.model.change import CATEGORIES, Change, Diff, FindingChange, Side, VerdictChange
from gpudoctor.model.check import SEVERITIES
from gpudoctor.model.facts import FactSpec

if TYPE_CHECKING:
    from gpudoctor.model.report_document import FindingDocument, ReportDocument

Facts = Mapping[str, Any]
_MISSING = object()
_IDENTITY = ("address", "file", "path", "uuid", "id", "name", "variable", "package", "framework", "code", "index")
_SPLIT_LISTS = ("kernel.modules",)
"""Lists whose items are compared one by one."""
_DEEPEST = 3


class Knowledge(Struct, frozen=True, kw_only=True):
    """What the comparison needs of the vocabulary and the catalogue. `reads` gives, for the id of a check, the facts of its conditions."""

    specs: Mapping[str, FactSpec]
    derived: frozenset[str]
    reads: Mapping[str, frozenset[str]]


class _Found(Struct, frozen=True):
    """A difference. `path` is the name of its fact without items; `read_as` are the names by which a condition may read it."""

    change: Change
    path: str
    read_as: tuple[str, ...]


def compare(before: ReportDocument, after: ReportDocument, knowledge: Knowledge, names: tuple[str, str]) -> Diff:
    """What is different in `after`. A fact that a report lacks is unknown there."""
    found, one_sided = _facts(before["facts"], after["facts"], knowledge.specs)
    states = _findings(before, after)
    readers = _Readers(states, knowledge.reads)
    linked = _led([readers.link(each, _derived(each, knowledge)) for each in found], found)
    base = {name for each in found if not _derived(each, knowledge) for name in (each.path, *_parents(each.path))}
    shown = [
        change for change, each in zip(linked, found, strict=True)
        if change.new or change.gone or not (change.derived or _says_again(each.path, base))
    ]  # fmt: skip
    shown.sort(key=lambda change: (not change.new, change.derived, CATEGORIES.index(change.category), change.fact))
    return Diff(
        before=_side(before, names[0]), after=_side(after, names[1]), changes=tuple(shown), one_sided=tuple(one_sided),
        findings=tuple(_with_changes(states, shown)), verdicts=tuple(_verdicts(before, after)),
        followed=len(linked) - len(shown),
    )  # fmt: skip


# facts


def _facts(before: Facts, after: Facts, specs: Mapping[str, FactSpec]) -> tuple[list[_Found], list[str]]:
    found: list[_Found] = []
    one_sided: list[str] = []
    for name, spec in sorted(specs.items()):
        if name.split(".")[0] in UNCOMPARED:
            continue
        one, other = (_at(facts, name, specs) for facts in (before, after))
        if one is _MISSING or other is _MISSING:
            if (one if other is _MISSING else other) not in (_MISSING, None):
                one_sided.append(name)
            continue
        found += _differences(name, spec, one, other)
    return found, one_sided


def _differences(name: str, spec: FactSpec, one: Any, other: Any) -> Iterator[_Found]:
    if same(one, other):
        return
    if spec.kind == "records":
        yield from _records(name, spec, _listed(one), _listed(other))
    elif spec.kind == "map" and isinstance(one or {}, Mapping) and isinstance(other or {}, Mapping):
        yield from _map(name, name, one or {}, other or {}, 1)
    elif name in _SPLIT_LISTS:
        ours, theirs = set(map(str, _listed(one))), set(map(str, _listed(other)))
        for item in sorted(ours ^ theirs):
            yield _change(f"{name}[{item}]", category(name, item), item in ours or None, item in theirs or None, name)
    else:
        yield _change(name, category(name), one, other, name)


def _map(fact: str, name: str, one: Mapping[str, Any], other: Mapping[str, Any], depth: int) -> Iterator[_Found]:
    """The differences of two maps. `fact` is the whole path, `name` the fact of the vocabulary."""
    for key in sorted({*one, *other}):
        ours, theirs = (_version(each.get(key)) if name == "python.distributions" else each.get(key) for each in (one, other))
        path = f"{fact}.{key}"
        if same(ours, theirs):
            continue
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping) and depth < _DEEPEST:
            yield from _map(path, name, ours, theirs, depth + 1)
        else:
            yield _change(path, category(name, key), ours, theirs, path)


def _records(name: str, spec: FactSpec, one: Sequence[Any], other: Sequence[Any]) -> Iterator[_Found]:
    """Compares items with the same identity field by field; fields that only one side knows are left out."""
    ours, theirs = _by_identity(one), _by_identity(other)
    for identity in [*ours, *(each for each in theirs if each not in ours)]:
        before, after = ours.get(identity), theirs.get(identity)
        if before is None or after is None:
            item = before or after or {}
            yield _change(f"{name}[{identity}]", category(name), before and _brief(item), after and _brief(item), name, spec.item)
            continue
        for field in sorted({*before} & {*after}):
            if not same(before[field], after[field]):
                place = category(f"{name}.{field}")
                found = Change(fact=f"{name}[{identity}].{field}", category=place, before=before[field], after=after[field])
                yield _Found(found, f"{name}.{field}", (f"{spec.item}.{field}",))  # who asks whether there are any does not read this


def _change(fact: str, place: str, before: Any, after: Any, path: str, item: str = "") -> _Found:
    return _Found(Change(fact=fact, category=place, before=before, after=after), path, (path, item) if item else (path,))


def _by_identity(items: Sequence[Any]) -> dict[str, Mapping[str, Any]]:
    named: dict[str, Mapping[str, Any]] = {}
    for item in items:
        if isinstance(item, Mapping):
            name = next((str(item[key]) for key in _IDENTITY if item.get(key) not in (None, "")), "?")
            number = 2
            while (unlike := name if number == 2 and name not in named else f"{name} #{number}") in named:
                number += 1
            named[unlike] = item
    return named


def _brief(item: Mapping[str, Any]) -> str:
    words = [str(item[key]) for key in ("name", "version", "driver", "type", "backend") if isinstance(item.get(key), str)]
    return " ".join(words) or "there"


def _at(facts: Any, name: str, specs: Mapping[str, FactSpec]) -> Any:
    """The value of a fact in the tree of a report (diagnosis.summary.fact_tree); _MISSING where it is unknown."""
    value = facts
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return _MISSING
        value = value[part]
    below = {other[len(name) + 1 :].split(".")[0] for other in specs if other.startswith(f"{name}.")}
    if not below or not isinstance(value, Mapping):
        return value
    if specs[name].kind == "map":
        return {key: inner for key, inner in value.items() if key not in below}
    return value.get("value", _MISSING)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _version(value: Any) -> Any:
    return value.get("version") if isinstance(value, Mapping) else value


def _says_again(fact: str, changed: set[str]) -> bool:
    """Whether the fact repeats another one that changed. `changed` holds what changed and the names above it."""
    return leader(fact) in changed


# findings


def _findings(before: ReportDocument, after: ReportDocument) -> list[FindingChange]:
    was, now = before["findings"], after["findings"]
    by_key = {finding["key"]: finding for finding in was}
    by_id = {finding["id"]: finding for finding in was}
    ids = {finding["id"] for finding in now}
    new, stayed = [], []
    for finding in now:
        old = by_key.get(finding["key"]) or by_id.get(finding["id"])
        if old is None:
            new.append(_finding(finding, "new"))
        else:
            severity = old["severity"]
            stayed.append(_finding(finding, "stayed", severity if severity != finding["severity"] else None))
    gone = [_finding(finding, "gone") for finding in was if finding["id"] not in ids]
    return [*new, *gone, *stayed]


def _finding(finding: FindingDocument, state: str, was: str | None = None) -> FindingChange:
    return FindingChange(
        id=finding["id"], key=finding["key"], severity=finding["severity"], layer=finding["layer"], title=finding["title"], state=state,
        was=was,
    )  # fmt: skip


class _Readers:
    """Finds the new and the vanished findings that read a fact, a part of it, or a whole that it is a part of."""

    def __init__(self, findings: Sequence[FindingChange], reads: Mapping[str, frozenset[str]]) -> None:
        self._of: dict[str, set[tuple[str, str]]] = {}
        self._below: dict[str, set[tuple[str, str]]] = {}
        for finding in findings:
            for fact in reads.get(finding.id, ()) if finding.state != "stayed" else ():
                self._of.setdefault(fact, set()).add((finding.state, finding.id))
                for parent in _parents(fact):
                    self._below.setdefault(parent, set()).add((finding.state, finding.id))

    def link(self, found: _Found, derived: bool) -> Change:
        ids: set[tuple[str, str]] = set()
        for name in found.read_as:
            ids |= self._of.get(name, set()) | self._below.get(name, set())
            for parent in _parents(name):
                ids |= self._of.get(parent, set())
        new, gone = (tuple(sorted(name for state, name in ids if state == wanted)) for wanted in ("new", "gone"))
        return replace(found.change, new=new, gone=gone, derived=derived)


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _led(changes: Sequence[Change], found: Sequence[_Found]) -> list[Change]:
    """A finding that reads a fact which repeats another one is linked to that other fact."""
    links: dict[str, tuple[set[str], set[str]]] = {}
    for change, each in zip(changes, found, strict=True):
        first = leader(each.path)
        if first is not None and (change.new or change.gone):
            new, gone = links.setdefault(first, (set(), set()))
            new.update(change.new)
            gone.update(change.gone)
    led = []
    for change, each in zip(changes, found, strict=True):
        new, gone = links.get(each.path, (set(), set()))
        led.append(replace(change, new=tuple(sorted({*change.new, *new})), gone=tuple(sorted({*change.gone, *gone}))))
    return led


def _derived(found: _Found, knowledge: Knowledge) -> bool:
    return found.path in knowledge.derived or found.path.rpartition(".")[0] in knowledge.derived


def _with_changes(findings: Sequence[FindingChange], changes: Sequence[Change]) -> Iterator[FindingChange]:
    facts: dict[tuple[str, str], list[str]] = {}
    for change in changes:
        for state, names in (("new", change.new), ("gone", change.gone)):
            for name in names:
                facts.setdefault((state, name), []).append(change.fact)
    for finding in findings:
        yield replace(finding, changes=tuple(facts.get((finding.state, finding.id), ())))


def worse(diff: Diff, level: str) -> list[FindingChange]:
    """New findings at or above a level, and those that have risen to it. `level`: error, warning or info."""
    count = SEVERITIES.index(level)
    return [
        finding for finding in diff.findings
        if SEVERITIES.index(finding.severity) <= count
        and (finding.state == "new" or (finding.was is not None and _below(finding.was, count)))
    ]  # fmt: skip


def _below(severity: str, count: int) -> bool:
    return SEVERITIES.index(severity) > count


# the two as a whole


def _verdicts(before: ReportDocument, after: ReportDocument) -> Iterator[VerdictChange]:
    was = {stack["stack"]: stack["verdict"] for stack in before["stacks"]}
    for stack in after["stacks"]:
        name, now = stack["stack"], stack["verdict"]
        if name in was and was[name] != now:
            yield VerdictChange(stack=name, title=stack["title"], before=was[name], after=now)


def _side(document: ReportDocument, name: str) -> Side:
    facts, summary, catalogue = document["facts"], document["summary"], document.get("catalogue")
    gpus = [gpu.get("name") or "GPU" for gpu in facts.get("gpus") or ()]
    system = str(facts.get("os", {}).get("name") or "")
    words = [", ".join(dict.fromkeys(gpus)) or "no GPU found", system, facts.get("kernel", {}).get("release") or ""]
    return Side(
        name=name, created=document["created"], machine=" · ".join(word for word in words if word), errors=summary["errors"],
        warnings=summary["warnings"], tool=document["tool"]["version"], catalogue=catalogue["version"] if catalogue else "",
    )  # fmt: skip
