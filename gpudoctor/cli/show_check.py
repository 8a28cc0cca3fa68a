"""How a check and a stack are shown: all that their files say, in English."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gpudoctor.lang.conditions import english, facts_of
from gpudoctor.lang.message_words import is_always, message, parts_of
from gpudoctor.lang.templates import readable
from gpudoctor.model.check import Check, Stack, Step
from gpudoctor.model.condition import Condition

Block = Callable[[str, str], Iterator[str]]
_BELOW = " " * 10


def table(check: Check, known: Iterable[Check] = ()) -> dict[str, Any]:
    """JSON; `known` are all checks, among them those that name this one."""
    conditions = {"applies": check.applies, "problem": None if is_always(check.problem) else check.problem, "suspect": check.suspect}
    everything = list(known)
    return {
        "id": check.id,
        "topic": check.topic,
        "title": check.title,
        "severity": check.severity,
        "at_most": check.at_most,
        "layer": check.layer,
        "stacks": check.stacks,
        "explanation": check.explanation,
        "for_each": check.for_each,
        **{name: english(condition) if condition else None for name, condition in conditions.items()},
        "facts": sorted({name for condition in conditions.values() if condition for name in facts_of(condition)}),
        "messages": [message(signature) for signature in check.signatures],
        "proactive": check.proactive,
        "advice": _advice_table(asdict(check.advice), check.advice.steps),
        "variants": [
            {"when": english(variant.when), **_advice_table(variant.replaces, variant.replaces.get("steps", ()))}
            for variant in check.variants
        ],
        "fallback": check.fallback,
        "ask": check.ask,
        "look": check.look,
        "caused_by": check.caused_by,
        "causes": sorted(other.id for other in everything if check.id in other.caused_by),
        "verified": asdict(check.verified) if check.verified else None,
        "review_by": check.review_by or None,
        "sources": [asdict(source) for source in check.sources],
    }


def lines(check: Check, known: Iterable[Check], block: Block, verbose: bool = False) -> Iterator[str]:
    """What it means and what to do; `verbose`: the rules that its author wrote as well. `block` wraps a text beside its label."""
    shown = table(check, known)
    yield readable(check.title)
    yield f"{check.id}   {check.severity}, {check.layer}, {', '.join(check.stacks)}"
    yield ""
    yield from _advice("do", shown["advice"], block)
    for variant in shown["variants"]:
        yield from _advice(f"if {variant['when']}", variant, block)
    yield from block("why", readable(check.explanation))
    related = (("follows", "caused_by"), ("leads to", "causes"))
    for label, key in related:
        yield from block(label, ", ".join(shown[key]))
    for source in check.sources:
        yield from block("source", f"{source.ref} (read {source.read}) {source.says}")
    if verbose:
        yield ""
        yield from _rules(check, shown, block)
    else:
        yield from ("", f"When it fires: gpudoctor show {check.id} -v")


def _rules(check: Check, shown: Mapping[str, Any], block: Block) -> Iterator[str]:
    if check.for_each:
        yield from block("for each", f"{check.item} of {check.for_each}")
    yield from _condition("applies", check.applies, block)
    for number, said in enumerate(shown["messages"]):
        yield from block("messages" if number == 0 else "", f"- {said}")
    if is_always(check.problem):
        yield from block("fires", "where a text shows one of these messages; it reads no fact of the machine")
    else:
        yield from _condition("fires", check.problem, block)
        if check.signatures:
            also = "also without a message, where all is known" if check.proactive else "only where a text shows one of these messages"
            yield from block("", f"({also})")
    yield from _condition("suspects", check.suspect, block)
    if check.fallback:
        yield from block("", "(only where no other check of its stacks fires)")
    if check.at_most != "certain":
        yield from block("", f"(never more than {check.at_most})")


def _condition(label: str, condition: Condition | None, block: Block) -> Iterator[str]:
    if condition is None or is_always(condition):
        return
    heading, parts = parts_of(condition)
    if not heading:
        yield from block(label, english(parts[0]))
        return
    yield from block(label, f"where {heading}:")
    for part in parts:
        yield from block("", f"- {english(part)}")


def _advice_table(advice: Mapping[str, Any], steps: Sequence[Step]) -> dict[str, Any]:
    """With the condition of each step in English."""
    shown = dict(advice)
    if "steps" in shown:
        shown["steps"] = [{"run": step.run, "when": english(step.when) if step.when else None} for step in steps]
    return shown


def _advice(label: str, advice: Mapping[str, Any], block: Block) -> Iterator[str]:
    wide = len(label) > 8
    if wide:
        yield from block("", label + ":")
    yield from block("" if wide else label, readable(advice.get("do", "")))
    for step in advice.get("steps") or ():
        yield f"{_BELOW}$ {readable(step['run'])}" + (f"    # where {step['when']}" if step["when"] else "")
    for variable, value in (advice.get("env") or {}).items():
        yield f"{_BELOW}$ export {variable}={readable(value)}"
    if advice.get("needs_reboot") and "reboot" not in advice.get("do", ""):
        yield from block("", "Then reboot.")
    if advice.get("recipe"):
        yield from block("", f"Or let gpudoctor do it, after it has shown its plan: gpudoctor setup {advice['recipe']}")
    for words in advice.get("otherwise") or ():
        yield from block("", f"Otherwise: {readable(words)}")


def stack_table(stack: Stack) -> dict[str, Any]:
    """JSON."""
    return {
        "stack": stack.stack,
        "title": stack.title,
        "applicable": english(stack.applicable),
        "used": english(stack.used) if stack.used else None,
        "rungs": [{"layer": rung.layer, "ok": english(rung.ok), "detail": rung.detail, "missing": rung.missing} for rung in stack.rungs],
    }


def stack_lines(stack: Stack, known: Iterable[Check], block: Callable[[str, str, int], Iterator[str]]) -> Iterator[str]:
    """The ladder from the bottom up, each rung with the number of checks that can break it."""
    breaking = [check.layer for check in known if stack.stack in check.stacks]
    yield f"{stack.stack}   {stack.title}"
    yield ""
    yield from block("for", f"where {english(stack.applicable)}", 10)
    if stack.used:
        yield from block("in use", f"where {english(stack.used)}", 10)
    for rung in stack.rungs:
        yield from block(rung.layer, f"ok where {english(rung.ok)}", 15)
        number = breaking.count(rung.layer)
        yield from block("", f"else: {readable(rung.missing)}" if rung.missing else "", 15)
        yield from block("", f"{number} check{'' if number == 1 else 's'}" if number else "", 15)
