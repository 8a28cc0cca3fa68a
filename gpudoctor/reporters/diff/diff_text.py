"""The screen of `gpudoctor diff`: new findings first, with the changes that they depend on, then the other changes by what they can
break."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpudoctor.model.change import CATEGORIES, Change, Diff, FindingChange, Side
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging

MOST = 12
"""The number of changes of one category that are shown; -v shows all."""
MANY = 20
"""The largest number of findings that are shown."""
FEW = {"package": 5}
_TITLES = {"access": "nodes, groups", "environment": "variables", "package": "packages", "device": "devices"}
_SEVERITY = {"error": "bad", "warning": "warn", "info": "dim"}
_LONGEST = 90


def render(diff: Diff, terminal: Terminal | None = None, *, verbose: bool = False) -> str:
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 60), 120)
    lines: list[Line] = [*_sides(diff, width), *_findings(diff, width), *_changes(diff, width, verbose), *_verdicts(diff, width)]
    lines += _rest(diff, width, verbose)
    return terminal.draw(lines)


def _sides(diff: Diff, width: int) -> Iterator[Line]:
    first = min(max(len(visible(side.name)) for side in (diff.before, diff.after)), 32) + 2
    same = diff.before.machine == diff.after.machine
    for label, side in (("before", diff.before), ("after", diff.after)):
        lead = (Span(f"{label:<8}", "dim"), Span(_cut(visible(side.name), first - 2).ljust(first), "bold"))
        date = side.created.replace("T", " ")[:16]
        yield from hanging(lead, " · ".join(word for word in (date, _state(side), "" if same else side.machine) if word), width)
    if same:
        yield from hanging((Span("both    ", "dim"),), diff.after.machine, width)
    if diff.before.catalogue != diff.after.catalogue and diff.before.catalogue:
        text = "The two were judged by different sets of checks: a new finding may be new knowledge, not a new fault."
        yield from hanging((Span("note    ", "warn"),), text, width)


def _state(side: Side) -> str:
    if not side.errors and not side.warnings:
        return "no error"
    return ", ".join(_count(count, word) for count, word in ((side.errors, "error"), (side.warnings, "warning")) if count)


def _findings(diff: Diff, width: int) -> Iterator[Line]:
    by_state = {state: [finding for finding in diff.findings if finding.state == state] for state in ("new", "gone", "stayed")}
    changes = {change.fact: change for change in diff.changes}
    yield ()
    if not by_state["new"]:
        yield (Span("No new finding.", "good"),)
    else:
        yield (Span(f"New findings ({len(by_state['new'])})", "bold"),)
    for finding in by_state["new"][:MANY]:
        lead = (Span(f"  {finding.severity:<9}", _SEVERITY[finding.severity]),)
        yield from hanging(lead, finding.title, width)
        yield from _because(finding, changes, width)
        yield (Span(" " * 11), Span(f"gpudoctor show {visible(finding.id)}", "command"))
    if len(by_state["new"]) > MANY:
        yield (Span(f"  and {len(by_state['new']) - MANY} more: --format json", "dim"),)
    for state, title in (("gone", "Gone"), ("stayed", "Still there")):
        if by_state[state]:
            names = [visible(finding.id) + (f" ({finding.was} before)" if finding.was else "") for finding in by_state[state]]
            yield from hanging((Span(f"{title} ({len(names)}): ", "good" if state == "gone" else "dim"),), _several(names, MANY), width)


def _because(finding: FindingChange, changes: dict[str, Change], width: int) -> Iterator[Line]:
    lead = (Span(" " * 11), Span("reads ", "dim"))
    read = [changes[fact] for fact in finding.changes if fact in changes]
    plain = [change for change in read if not change.derived] or read
    for change in plain[:4]:
        yield from hanging(lead, f"{change.fact}: {_was_is(change)}", width)
    if not read:
        yield from hanging(lead, "nothing that is known to have changed", width, style="dim")


def _changes(diff: Diff, width: int, verbose: bool) -> Iterator[Line]:
    yield ()
    shown = [change for change in diff.changes if verbose or (change.category != "noise" and not change.derived)]
    if not shown:
        yield (Span("Nothing that can break a GPU stack has changed."),)
        return
    yield (Span("What changed", "bold"), Span("  (* a new finding reads it)", "dim") if any(change.new for change in shown) else Span(""))
    first = 16
    for name in CATEGORIES:
        rows = [change for change in shown if change.category == name]
        most = len(rows) if verbose else FEW.get(name, MOST)
        for number, change in enumerate(rows[:most]):
            label = _TITLES.get(name, name) if number == 0 else ""
            lead = (Span("  " + label.ljust(first - 3), "dim"), Span("* " if change.new else "  ", "bad"))
            yield from hanging(lead, f"{change.fact}: {_was_is(change)}", width)
        if len(rows) > most:
            yield (Span(" " * (first + 1)), Span(f"and {len(rows) - most} more: -v", "dim"))


def _verdicts(diff: Diff, width: int) -> Iterator[Line]:
    if diff.verdicts:
        yield ()
        words = [f"{change.stack} {change.before} → {change.after}" for change in diff.verdicts]
        yield from hanging((Span("Verdicts: ", "dim"),), ", ".join(words), width)


def _rest(diff: Diff, width: int, verbose: bool) -> Iterator[Line]:
    noise = sum(change.category == "noise" for change in diff.changes)
    words = []
    if noise and not verbose:
        words.append(_count(noise, "fleeting change") + " (free memory, mounts, temperatures)")
    if diff.followed:
        words.append(f"{diff.followed} computed from those above")
    if diff.one_sided:
        words.append(f"{_count(len(diff.one_sided), 'fact')} known on one side only")
    if words:
        yield ()
        yield from hanging((Span("Not shown: ", "dim"),), "; ".join(words) + ("" if verbose else "; -v shows more"), width, style="dim")
    if verbose and diff.one_sided:
        yield from hanging((Span("One side only: ", "dim"),), ", ".join(diff.one_sided), width, style="dim")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _was_is(change: Change) -> str:
    before, after = change.before, change.after
    if isinstance(before, list) and isinstance(after, list):
        ours, theirs = ([_text(item) for item in each] for each in (before, after))
        was, now = set(ours), set(theirs)
        came, went = [item for item in theirs if item not in was], [item for item in ours if item not in now]
        parts = [f"came {_cut(_several(came, 5))}"] * bool(came) + [f"went {_cut(_several(went, 5))}"] * bool(went)
        return "; ".join(parts) or "another order or number"
    if before is None or after is None:
        if (before or after) in (True, "there"):
            return "came" if before is None else "gone"
        return f"came: {_cut(_text(after))}" if before is None else f"gone: was {_cut(_text(before))}"
    return f"{_cut(_text(before))} → {_cut(_text(after))}"


def _several(items: Sequence[str], most: int) -> str:
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        if value.get("soname"):
            return f"{value['soname']} ({value.get('origin') or value.get('path')})"
        named = value.get("message") or value.get("name") or value.get("version")
        return str(named) if named else " ".join(f"{key}={_text(inner)}" for key, inner in list(value.items())[:4]) or "empty"
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    return str(value)


def _cut(text: str, most: int = _LONGEST) -> str:
    flat = " ".join(visible(text).split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"
