"""How a check and a stack are shown: what to do and why, in words; with -v also the conditions of their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import to_builtins

from gpudoctor.model.check import Check, Stack, Step
from gpudoctor.model.condition import Combination, Condition, Leaf
from gpudoctor.rules.condition_words import in_words
from gpudoctor.rules.conditions import english, facts_of
from gpudoctor.rules.message_words import is_always, message, parts_of
from gpudoctor.rules.templates import fields_in_order, readable


class Block(Protocol):
    """A function that wraps a text beside its label."""

    def __call__(self, label: str, text: str, indent: int = 10) -> Iterator[str]: ...


_BELOW = " " * 10


def table(check: Check, known: Iterable[Check] = ()) -> dict[str, Any]:
    """The check as a table for JSON. `known` are all checks, among them those that refer to this one."""
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
        "advice": _advice_table(to_builtins(check.advice), check.advice.steps),
        "variants": [
            {"when": english(variant.when), **_advice_table(variant.replaces, variant.replaces.get("steps", ()))}
            for variant in check.variants
        ],
        "fallback": check.fallback,
        "ask": check.ask,
        "look": check.look,
        "caused_by": check.caused_by,
        "causes": sorted(other.id for other in everything if check.id in other.caused_by),
        "verified": to_builtins(check.verified) if check.verified else None,
        "review_by": check.review_by or None,
        "sources": [to_builtins(source) for source in check.sources],
    }


def lines(check: Check, known: Iterable[Check], block: Block, verbose: bool = False) -> Iterator[str]:
    """The meaning of the check and what to do. `verbose`: with the conditions as its author wrote them. `block` wraps a text beside its
    label."""
    shown = table(check, known)
    yield readable(check.title)
    yield from block("", f"{check.id} · {check.severity}, {check.layer}, {', '.join(check.stacks)}", 0)
    yield ""
    systems = _systems(check.applies)
    yield from _advice("do", to_builtins(check.advice), check.advice.steps, block, systems)
    for variant in check.variants:
        label = in_words(variant.when, meaning)
        label = label[0].upper() + label[1:] if label.startswith(("on ", "in ", "with ", "not ", "where ")) else f"Where {label}"
        yield from _advice(label, variant.replaces, variant.replaces.get("steps", ()), block, systems)
    yield from block("why", readable(check.explanation))
    yield from _placeholders(check, block)
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
    """The advice as a table for JSON, with the condition of each step in English."""
    shown = dict(advice)
    if "steps" in shown:
        shown["steps"] = [{"run": step.run, "when": english(step.when) if step.when else None} for step in steps]
    return shown


def meaning(fact: str) -> str:
    """The description of a fact in the vocabulary; for a field of a record, that of the record."""
    from gpudoctor.facts import vocabulary

    specs = vocabulary.specs()
    if fact in specs:
        return specs[fact].meaning
    item, _, field = fact.partition(".")
    return next((spec.fields[field] for spec in specs.values() if spec.item == item and field in spec.fields), "")


def _placeholders(check: Check, block: Block) -> Iterator[str]:
    """The explanation of the names in angle brackets, which check and explain replace by values."""
    variants = [variant.replaces for variant in check.variants]
    steps = [*check.advice.steps, *(step for replaces in variants for step in replaces.get("steps") or ())]
    texts = [check.title, check.advice.do, *(str(replaces.get("do") or "") for replaces in variants), *(step.run for step in steps)]
    texts += [*check.advice.env.values(), *check.advice.otherwise, check.explanation]
    fields = list(dict.fromkeys(name for text in texts for name in fields_in_order(text)))
    for number, name in enumerate(fields):
        in_the_message = f"the {name.removeprefix('said.').replace('_', ' ')} that the message names"
        said = meaning(name) or (in_the_message if name.startswith("said.") else "as check finds it")
        yield from block("fill in" if number == 0 else "", f"<{name}>: {said}")


def _systems(applies: Condition | None) -> tuple[bool, bool]:
    """Whether the check can have a finding on Windows, and on another system."""
    parts = applies.parts if isinstance(applies, Combination) and applies.kind == "all" else (applies,)
    for part in parts:
        if isinstance(part, Leaf) and part.fact == "platform.kind" and part.operator in ("is", "in"):
            kinds = part.value if isinstance(part.value, list) else [part.value]
            return "windows" in kinds, bool(set(kinds) - {"windows"})
    return True, True


def _advice(label: str, advice: Mapping[str, Any], steps: Sequence[Step], block: Block, systems: tuple[bool, bool]) -> Iterator[str]:
    wide = len(label) > 8
    if wide:
        yield from block("", f"{label}:")
    if label == "On Windows":
        systems = (True, False)
    yield from block("" if wide else label, readable(advice.get("do", "")))
    condition = ""
    for step in steps or ():
        before, condition = condition, in_words(step.when, meaning) if step.when else ""
        if condition != before:
            yield from block("", f"{condition}:" if condition else "everywhere:")
        yield f"{_BELOW}$ {readable(step.run)}"
    windows, others = systems
    for variable, value in (advice.get("env") or {}).items():
        if others:
            yield f"{_BELOW}$ export {variable}={readable(value)}"
        if windows:
            yield f"{_BELOW}> set {variable}={readable(value)}" + ("    (Windows)" if others else "")
    if advice.get("needs_reboot") and "reboot" not in advice.get("do", ""):
        yield from block("", "Then reboot.")
    if advice.get("recipe"):
        yield from block("", "Or let gpudoctor do it, after it has shown its plan:")
        yield f"{_BELOW}$ gpudoctor setup {advice['recipe']}"
    for words in advice.get("otherwise") or ():
        yield from block("", f"Otherwise: {readable(words).removeprefix('Or ').removeprefix('or ')}")


def stack_table(stack: Stack) -> dict[str, Any]:
    """The stack as a table for JSON."""
    return {
        "stack": stack.stack,
        "title": stack.title,
        "applicable": english(stack.applicable),
        "used": english(stack.used) if stack.used else None,
        "rungs": [{"layer": rung.layer, "ok": english(rung.ok), "detail": rung.detail, "missing": rung.missing} for rung in stack.rungs],
    }


HOLDS = {
    "device": "the device is found",
    "firmware": "its firmware is in order",
    "kernel-driver": "its kernel driver is loaded",
    "device-node": "you may open its device node",
    "user-driver": "the vendor's libraries are installed",
    "runtime": "the runtime lists it",
    "framework": "the right build of the framework is installed",
    "visible": "the framework lists the device",
    "compute": "a computation gives the right result (gpudoctor validate)",
    "performance": "its speed is as expected (gpudoctor validate)",
}
"""What each layer means where it works, from the device upwards."""


def stack_lines(stack: Stack, known: Iterable[Check], block: Block, verbose: bool = False) -> Iterator[str]:
    """The ladder from the device upwards, each layer with the number of checks that can break it. `verbose`: with the conditions."""
    breaking = [check.layer for check in known if stack.stack in check.stacks]
    yield stack.title
    yield f"{stack.stack}   what has to hold, from the bottom up"
    yield ""
    if verbose:
        yield from block("for", f"where {english(stack.applicable)}", 15)
    if verbose and stack.used:
        yield from block("in use", f"where {english(stack.used)}", 15)
    for rung in stack.rungs:
        number = breaking.count(rung.layer)
        checks = f"; {number} check{'' if number == 1 else 's'}" if number else ""
        missing = f"; else: {rung.missing}" if rung.missing and "{" not in rung.missing else ""
        yield from block(rung.layer.replace("-", " "), f"{HOLDS.get(rung.layer, rung.layer)}{missing}{checks}", 15)
        if verbose:
            yield from block("", f"ok where {english(rung.ok)}", 15)
    yield ""
    yield f"On this machine: gpudoctor check --stack {stack.stack}"
    if not verbose:
        yield f"Its conditions: gpudoctor show {stack.stack} -v"
