"""From catalogue and facts to findings: evaluates every check, fills in its texts, links consequences to causes and orders the result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.model.check import CONFIDENCES, LAYERS, SEVERITIES, Advice, AdviceTemplate, Check
from gpudoctor.model.condition import ALWAYS, Verdict
from gpudoctor.model.facts import Facts, Known, Unknown
from gpudoctor.model.report import Finding, Trace
from gpudoctor.model.signature import COMPLAINT, PROSE, Hit
from gpudoctor.rules.evaluate import evaluate
from gpudoctor.rules.templates import fill, fill_command, refused_value

OBSERVED = ("visible", "compute", "performance")


Hits = Mapping[str, Sequence[Hit]]
"""The places where a text contains the signatures of a check, by its id."""


def outcomes(check: Check, facts: Facts, hits: Sequence[Hit] = ()) -> Iterable[tuple[Trace, Facts]]:
    """The outcome of a check for each item of its `for_each`. `hits`: the places where a text contains its signatures."""
    if hits:
        facts = facts.with_item("said", hits[0].captures)
    if check.for_each is None:
        yield _trace(check, facts, check.layer, hits), facts
        return
    fact = facts.get(check.for_each)
    items = fact.value if isinstance(fact, Known) and isinstance(fact.value, (list, tuple)) else []
    if not items and hits:  # the message is there; whose it is the text does not say
        yield _trace(check, facts, check.layer, hits), facts
        return
    if isinstance(fact, Unknown):
        unknown = Verdict("unknown", f"{check.for_each} is known", f"unknown: {fact.reason}")
        yield Trace(check=check.id, subject=check.for_each, outcome="undetermined", applies=unknown, problem=None), facts
        return
    for item in items:
        if isinstance(item, Mapping):
            scoped = facts.with_item(check.item, item)
            yield _trace(check, scoped, _subject(item), hits), scoped


def _subject(item: Mapping[str, Any]) -> str:
    return str(next((item[key] for key in ("address", "id", "name", "file", "path") if item.get(key)), "?"))


def _trace(check: Check, facts: Facts, subject: str, hits: Sequence[Hit]) -> Trace:
    if check.subject:
        subject = fill(check.subject, facts)
    applies = evaluate(check.applies, facts) if check.applies else None
    problem = evaluate(check.problem, facts)
    suspect = evaluate(check.suspect, facts) if check.suspect else None
    said = _said(hits) if check.signatures else None
    outcome = _outcome(applies, problem, suspect) if said is None else _outcome_by_text(check, applies, problem, suspect, bool(hits))
    return Trace(check=check.id, subject=subject, outcome=outcome, applies=applies, problem=problem, suspect=suspect, said=said)


def _said(hits: Sequence[Hit]) -> Verdict:
    if hits:
        return Verdict("true", "a text shows its message", hits[0].quote, hits[0].place)
    return Verdict("unknown", "a text shows its message", "not in the text")


def _outcome(applies: Verdict | None, problem: Verdict, suspect: Verdict | None) -> str:
    if applies and applies.truth == "false":
        return "not-applicable"
    if applies and applies.truth == "unknown":
        return "undetermined"
    if problem.truth == "true" or (suspect and suspect.truth == "true"):
        return "problem"
    return "ok" if problem.truth == "false" else "undetermined"


def _outcome_by_text(check: Check, applies: Verdict | None, problem: Verdict, suspect: Verdict | None, said: bool) -> str:
    """The message decides unless a condition is false; without the message only a proactive check can have a finding."""
    if not said:
        plain = _outcome(applies, problem, suspect)
        return plain if check.proactive or plain != "problem" else "undetermined"
    if applies and applies.truth == "false":
        return "not-applicable"
    return "ok" if problem.truth == "false" and not (suspect and suspect.truth == "true") else "problem"


_SHOWN = 40
"""Letters of a value that is named because no command takes it."""
_TELLING = 12
"""Letters from which on a line that two messages share shows that they are one."""


class _Fired(Struct):
    check: Check
    findings: list[Finding]
    messages: list[str]
    """The messages of its items, where a check without signatures goes through failures: 'ImportError: …' of each framework."""


def diagnose(
    checks: Iterable[Check],
    facts: Facts,
    ignored: frozenset[str] = frozenset(),
    hits: Hits | None = None,
    makers: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[list[Finding], list[Trace]]:
    """All findings, merged per check and linked to their causes, not yet in order. `hits`: the messages that a text contains. `makers`: by
    stack, the makers of the devices that it supports; it need not hold stacks that support all."""
    fired: dict[str, _Fired] = {}
    traces: list[Trace] = []
    for check in checks:
        shown = (hits or {}).get(check.id, ())
        for trace, scoped in outcomes(check, facts, shown):
            traces.append(trace)
            if trace.outcome == "problem" and check.id not in ignored:
                fire = fired.setdefault(check.id, _Fired(check, [], []))
                fire.findings.append(_finding(check, trace, scoped, shown, makers or {}))
                fire.messages.append(str(scoped.value(f"{check.item}.message") or "") if check.item else "")
    merged = {name: _merge(fire.findings) for name, fire in fired.items()}
    checks_by_id = {name: fire.check for name, fire in fired.items()}
    silent = _needless_fallbacks(merged, checks_by_id)
    silent |= _less_specific({name: finding for name, finding in merged.items() if not checks_by_id[name].fallback})
    silent |= _named_exactly(fired.values(), {name: finding for name, finding in merged.items() if name not in silent}, hits or {})
    traces = [replace(trace, silenced_by=silent.get(trace.check)) if trace.outcome == "problem" else trace for trace in traces]
    spoken = {name: finding for name, finding in merged.items() if name not in silent}
    weighed = {name: replace(finding, said_at=_in_a_text(finding)) for name, finding in _shared(spoken).items()}
    return _link(weighed, checks_by_id), traces


def _in_a_text(finding: Finding) -> tuple[int, ...]:
    """The lines of a text that contain the message. The output of the machine's own tools is in no text, and ranks with its facts."""
    return tuple(line for line in finding.said_at if line > 0)


def _finding(check: Check, trace: Trace, facts: Facts, hits: Sequence[Hit], makers: Mapping[str, tuple[str, ...]]) -> Finding:
    advice = check.advice
    for variant in check.variants:
        if evaluate(variant.when, facts).truth == "true":
            advice = replace(advice, **variant.replaces)
            break
    confirmed_by_facts = _facts_confirm(check, trace)
    confidence = max(check.at_most, _confidence(trace, hits, confirmed_by_facts), key=CONFIDENCES.index)
    leaves = [leaf for verdict in (trace.problem, trace.applies, trace.suspect) if verdict for leaf in verdict.leaves()]
    confirmed = [leaf for leaf in leaves if leaf.truth == "true" and leaf.text != "all"]
    said = [f"{hit.place}: {hit.quote}" for hit in hits[:3]]
    return Finding(
        id=check.id, key="", subjects=(trace.subject,), severity=_severity(check.severity, confidence), layer=check.layer,
        stacks=_stacks(check, facts, makers), title=fill(check.title, facts), explanation=fill(check.explanation, facts),
        confidence=confidence,
        evidence=(*said, *dict.fromkeys(f"{leaf.text.split(' ')[0]}: {leaf.seen}" + (f" ({leaf.source})" if leaf.source else "")
                                        for leaf in confirmed if leaf.seen not in ("", "absent"))),
        advice=_filled(advice, facts), ask=fill(check.ask, facts), look=fill_command(check.look, facts) or "",
        sources=tuple(source.ref for source in check.sources), confirmed=len(confirmed) + confirmed_by_facts,
        said_at=tuple(hit.line for hit in hits), strength=max((hit.strength for hit in hits), default=0),
    )  # fmt: skip


def _facts_confirm(check: Check, trace: Trace) -> bool:
    """Whether facts, and not only a message, confirm the cause: at least one condition is given, and all that are given are true."""
    asked = [verdict for verdict, condition in ((trace.problem, check.problem), (trace.applies, check.applies))
             if verdict is not None and condition not in (None, ALWAYS)]  # fmt: skip
    return bool(asked) and all(verdict.truth == "true" for verdict in asked)


def _confidence(trace: Trace, hits: Sequence[Hit], confirmed_by_facts: bool) -> str:
    """certain: facts alone, or the message of a program together with facts. Prose, and words that any program may print, are only
    possible."""
    if not hits:
        return "certain" if confirmed_by_facts else "likely"
    if all(hit.role in (COMPLAINT, PROSE) or not hit.distinct for hit in hits):
        return "likely" if confirmed_by_facts else "possible"
    return "certain" if confirmed_by_facts else "likely"


def _severity(declared: str, confidence: str) -> str:
    """The severity: an error must be at least likely, else it is a warning."""
    return "warning" if confidence == "possible" and declared == "error" else declared


def _filled(advice: AdviceTemplate, facts: Facts) -> Advice:
    """The advice for these facts. A command is left out where its condition is not true or a fact in it is unknown; where a value is
    no plain word, the text says so."""
    steps = [step for step in advice.steps if step.when is None or evaluate(step.when, facts).truth == "true"]
    refused = next((value for step in steps if (value := refused_value(step.run, facts)) is not None), None)
    return Advice(
        text=fill(advice.do, facts) + (_left_out(refused) if refused is not None else ""),
        commands=tuple(run for step in steps if (run := fill_command(step.run, facts)) is not None),
        env={name: said for name, value in advice.env.items() if (said := fill_command(value, facts)) is not None},
        recipe=advice.recipe, needs_reboot=advice.needs_reboot,
        otherwise=tuple(fill(words, facts) for words in advice.otherwise), windows=facts.value("platform.kind") == "windows",
    )  # fmt: skip


def _left_out(value: str) -> str:
    why = "a program would read it as an option" if value.startswith("-") else "it is no single plain word"
    return f" The command with the value '{value[:_SHOWN]}' is left out: {why}."


def _less_specific(merged: Mapping[str, Finding]) -> dict[str, str]:
    """By the id of a silenced finding, the id of the one that silences it: confirmed by facts, or with a more specific signature."""
    sharing = _by_line(merged.values())
    silent: dict[str, str] = {}
    for finding in merged.values():
        rivals = [sharing.get(line, []) for line in finding.said_at]
        # Silenced only where every line of it says something more specific.
        better = [max((other for other in there if _specificity(other) > _specificity(finding)), key=_specificity, default=None)
                  for there in rivals]  # fmt: skip
        if better and all(better) and (first := better[0]) is not None:
            silent[finding.id] = first.id
    return silent


def _specificity(finding: Finding) -> tuple[bool, int]:
    return finding.confidence == "certain", finding.strength


def _needless_fallbacks(merged: Mapping[str, Finding], checks: Mapping[str, Check]) -> dict[str, str]:
    """By the id of a silenced fallback, the id of the finding that reports a fault of one of its stacks."""
    others = [finding for finding in merged.values() if not checks[finding.id].fallback and finding.severity != "info"]
    silent: dict[str, str] = {}
    for name, check in checks.items():
        if check.fallback and name in merged:
            louder = next((finding.id for finding in others if set(finding.stacks) & set(check.stacks)), None)
            if louder:
                silent[name] = louder
    return silent


def _named_exactly(fired: Iterable[_Fired], spoken: Mapping[str, Finding], hits: Hits) -> dict[str, str]:
    """By the id of a general check of failures, the id of the finding that names the same failures by their messages. A check is general
    where it has no message of its own and is never certain."""
    exact = {name: [hit.quote.strip(" …") for hit in hits.get(name, ())] for name, finding in spoken.items()
             if finding.confidence != "possible" and finding.severity != "info"}  # fmt: skip
    silent: dict[str, str] = {}
    for fire in fired:
        if fire.check.signatures or fire.check.at_most == "certain" or fire.check.id not in spoken:
            continue
        named = [next((name for name, quotes in exact.items() if any(_of_one_failure(quote, message) for quote in quotes)), None)
                 for message in fire.messages]  # fmt: skip
        if named and all(named) and (first := named[0]) is not None:
            silent[fire.check.id] = first
    return silent


def _of_one_failure(quote: str, message: str) -> bool:
    """Whether a quoted line of a text is a line of this message, perhaps with the name of the exception before it."""
    lines = [line for line in map(str.strip, message.splitlines()) if len(line) >= _TELLING]
    return len(quote) >= _TELLING and any(line in quote or quote in line for line in lines)


def _by_line(findings: Iterable[Finding]) -> dict[int, list[Finding]]:
    sharing: dict[int, list[Finding]] = {}
    for finding in findings:
        for line in finding.said_at:
            sharing.setdefault(line, []).append(finding)
    return sharing


def _shared(spoken: Mapping[str, Finding]) -> dict[str, Finding]:
    """The findings; where two equally specific checks match the same line, neither remains certain."""
    sharing = _by_line(spoken.values())

    def doubted(finding: Finding) -> bool:
        return any(other.id != finding.id for line in finding.said_at for other in sharing[line])

    return {
        name: replace(finding, confidence="likely") if finding.confidence == "certain" and finding.said_at and doubted(finding) else finding
        for name, finding in spoken.items()
    }


def _stacks(check: Check, facts: Facts, makers: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The stacks of the check; where the item has a field `stacks`, only those that it names; where it is a device, only those that support
    devices of its maker."""
    named = facts.value(f"{check.item}.stacks") if check.item else None
    if isinstance(named, (list, tuple)):
        return tuple(stack for stack in check.stacks if stack in named)
    maker = facts.value(f"{check.item}.vendor") if check.item else None
    mine = tuple(stack for stack in check.stacks if maker is None or maker in makers.get(stack, (maker,)))
    return mine or check.stacks


def _merge(findings: list[Finding]) -> Finding:
    """One finding for several items: the texts of the first; all subjects, commands and evidence once each."""
    first = findings[0]
    subjects = tuple(dict.fromkeys(subject for finding in findings for subject in finding.subjects))
    if len(findings) > 1:
        commands = tuple(dict.fromkeys(command for finding in findings for command in finding.advice.commands))
        others = {finding.title for finding in findings} - {first.title}
        more = max(len(subjects) - 1, len(others))  # one device may lack several things
        first = replace(
            first, subjects=subjects, title=first.title + (f" (and {more} more)" if others else ""),
            stacks=tuple(dict.fromkeys(stack for finding in findings for stack in finding.stacks)),
            evidence=tuple(dict.fromkeys(line for finding in findings for line in finding.evidence)),
            advice=replace(first.advice, commands=commands), confirmed=max(finding.confirmed for finding in findings),
        )  # fmt: skip
    digest = hashlib.sha256("\n".join(sorted(subjects)).encode()).hexdigest()[:8]
    return replace(first, key=f"{first.id}-{digest}")


def _link(merged: Mapping[str, Finding], checks: Mapping[str, Check]) -> list[Finding]:
    """Sets caused_by as the files say; where they say nothing, an observed failure follows from a fault on a lower layer of the same
    stack."""
    faults = sorted((f for f in merged.values() if f.severity == "error"), key=lambda f: LAYERS.index(f.layer))
    linked = []
    for finding in merged.values():
        cause = next((merged[name] for name in checks[finding.id].caused_by if name in merged), None)
        if cause is None and finding.layer in OBSERVED and finding.severity != "info":
            below = (f for f in faults if LAYERS.index(f.layer) < LAYERS.index(finding.layer))
            cause = next((f for f in below if set(f.stacks) & set(finding.stacks)), None)
        linked.append(replace(finding, caused_by=cause.key) if cause else finding)
    return linked


def in_reading_order(findings: Iterable[Finding], used: frozenset[str]) -> list[Finding]:
    """The findings in reading order.

    Causes come before consequences, faults before hints, findings that the text itself shows before those that follow from its machine, and
    stacks in use first. Then decide, in this order: confidence; among faults the lower layer; the more specific message; the number of
    confirmed conditions; and the id.
    """

    def rank(finding: Finding) -> tuple[object, ...]:
        layer = LAYERS.index(finding.layer) if finding.severity == "error" and not finding.said_at else 0
        return (
            finding.confidence == "possible", finding.caused_by is not None, finding.severity == "info", not finding.said_at,
            SEVERITIES.index(finding.severity), not used & set(finding.stacks), CONFIDENCES.index(finding.confidence), layer,
            -finding.strength, -finding.confirmed,
            finding.id,
        )  # fmt: skip

    return sorted(findings, key=rank)
