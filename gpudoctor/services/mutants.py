"""Mutants of a check: copies without one of its parts. A mutant survives where all examples have the same outcome as for the check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.diagnosis.examples import PreparedExample, outcome_of, prepared
from gpudoctor.knowledge.lint import example_facts
from gpudoctor.model.check import Check
from gpudoctor.model.condition import Combination, Condition
from gpudoctor.model.signature import Literals, Signature

_Part = TypeVar("_Part")


class Mutant(Struct, frozen=True):
    """A mutant. `without` names the missing part as a person finds it in the file; `literal` is that part, where it is one literal of
    several."""

    without: str
    check: Check
    literal: str | None = None


def survivors(check: Check) -> tuple[int, list[str]]:
    """The number of mutants, and the parts whose absence changes the outcome of no example."""
    examples = [(example.expect, prepared(example_facts(example.facts), example.text)) for example in check.examples]
    examples = [(expect, ready) for expect, ready in examples if outcome_of(check, ready) == expect]
    mutants = list(mutants_of(check))
    return len(mutants), [mutant.without for mutant in mutants if not _killed(mutant, examples)]


def _killed(mutant: Mutant, examples: Sequence[tuple[str, PreparedExample]]) -> bool:
    """Whether an example has another outcome. Those whose text holds the missing literal are tried first: most mutants end there."""
    literal = mutant.literal
    if literal is not None:
        examples = sorted(examples, key=lambda example: example[1].text is None or not example[1].text.holds(literal))
    return any(outcome_of(mutant.check, ready) != expect for expect, ready in examples)


def mutants_of(check: Check) -> Iterator[Mutant]:
    """All mutants of a check."""
    for number, signature in enumerate(check.signatures):
        where = f"signature[{number}]"
        if len(check.signatures) > 1:
            yield Mutant(where, replace(check, signatures=_without(check.signatures, number)))
        for part, literal, changed in _of_signature(signature):
            others = list(check.signatures)
            others[number] = changed
            yield Mutant(f"{where}.{part}", replace(check, signatures=tuple(others)), literal)
    for name, condition in (("applies", check.applies), ("problem", check.problem)):
        if condition is None:
            continue
        for part, less in _of_condition(condition):
            yield Mutant(f"{name}{part}", replace(check, applies=less) if name == "applies" else replace(check, problem=less))
    if check.applies is not None:
        yield Mutant("applies", replace(check, applies=None))


def _of_signature(signature: Signature) -> Iterator[tuple[str, str | None, Signature]]:
    """The name of each part, the part itself where it is one literal, and the signature without it."""
    for part, literal, literals in _of_literals("text", signature.text):
        yield part, literal, replace(signature, text=literals)
    for part, literal, literals in _of_literals("context", signature.context):
        yield part, literal, replace(signature, context=literals)
    for number, word in enumerate(signature.none_of):
        yield f"none_of '{word}'", word, replace(signature, none_of=_without(signature.none_of, number))
    if signature.pattern:
        yield "pattern", None, replace(signature, pattern="")


def _of_literals(key: str, literals: Literals) -> Iterator[tuple[str, str | None, Literals]]:
    for number, choice in enumerate(literals):
        if len(literals) > 1 or key == "context":
            yield f"{key}[{number}] {list(choice)[:3]}", None, _without(literals, number)
        for place, word in enumerate(choice if len(choice) > 1 else ()):
            yield f"{key}[{number}] '{word}'", word, (*literals[:number], _without(choice, place), *literals[number + 1 :])


def _of_condition(condition: Condition) -> Iterator[tuple[str, Condition]]:
    """Every condition that lacks one part of the outermost list, or of a list within it."""
    if not isinstance(condition, Combination) or condition.kind == "not":
        return
    for number, part in enumerate(condition.parts):
        if len(condition.parts) > 1:
            yield f".{condition.kind}[{number}]", Combination(condition.kind, _without(condition.parts, number))
        for inner, less in _of_condition(part):
            parts = list(condition.parts)
            parts[number] = less
            yield f".{condition.kind}[{number}]{inner}", Combination(condition.kind, tuple(parts))


def _without(values: Sequence[_Part], number: int) -> tuple[_Part, ...]:
    return (*values[:number], *values[number + 1 :])
