"""Rules for data files beyond their structure: names that must exist, sources, and examples with the stated outcome."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from gpudoctor.knowledge.slow_patterns import slow_pattern
from gpudoctor.knowledge.text_lint import wrong_texts
from gpudoctor.model.check import Check, Stack, Step
from gpudoctor.model.condition import AnyItem, Combination, Condition, Leaf
from gpudoctor.model.facts import Absent, Facts, FactSpec, Known, Unknown
from gpudoctor.rules.conditions import did_you_mean, facts_of
from gpudoctor.rules.evaluate import evaluate
from gpudoctor.rules.operators import LONGEST
from gpudoctor.rules.signatures import anchor, letters, names_said
from gpudoctor.rules.synonyms import PREFIX
from gpudoctor.rules.templates import fields_of

_SOURCE_FORMS = ("https://", "http://")
_CURES = ("use-", "avoid-", "fix-", "check-")


def lint(
    checks: Iterable[Check], stacks: Iterable[Stack], specs: Mapping[str, FactSpec], redirects: Mapping[str, str] | None = None,
    only: str | None = None,
) -> list[str]:  # fmt: skip
    """One line `topic/id.toml: key: message` for each mistake; empty where there is none. `only`: the one check that is examined."""
    checks, stacks = list(checks), list(stacks)
    ids, stack_ids = [check.id for check in checks], [stack.stack for stack in stacks]
    problems = [f"{check.topic}/{check.id}.toml: id: '{check.id}' exists twice" for check in checks if ids.count(check.id) > 1]
    for check in checks if only is None else [check for check in checks if check.id == only]:
        problems += [f"{check.topic}/{check.id}.toml: {line}" for line in lint_check(check, specs, ids, stack_ids)]
    problems += _crowded(checks) + _cycles(checks)
    for name, target in (redirects or {}).items():
        if name in ids:
            problems.append(f"redirects.toml: {name}: is a check; a redirect is for an id that went")
        if target and target not in ids:
            problems.append(f"redirects.toml: {name}: no check '{target}'{did_you_mean(target, ids)}")
    for stack in stacks:
        rungs = [condition for rung in stack.rungs for condition in (rung.only, rung.ok) if condition]
        conditions = [stack.applicable, *rungs, *([stack.used] if stack.used else [])]
        names = {name for condition in conditions for name in facts_of(condition)}
        names |= {name for rung in stack.rungs for name in fields_of(rung.detail) | fields_of(rung.missing)}
        scope = {some.of for condition in conditions for some in somes(condition)}
        problems += [f"{stack.stack}/stack.toml: {line}" for line in (*unknown_facts(names, specs, scope), *_two_valued_rungs(stack))]
    return problems


def _two_valued_rungs(stack: Stack) -> Iterable[str]:
    """Rungs whose condition uses `known`: it is false for a fact that could not be read, and the rung would be shown as missing.

    A rung that `only` leaves out while none of its facts is known may use it.
    """
    for number, rung in enumerate(stack.rungs):
        if rung.only is not None and evaluate(rung.only, Facts()).truth == "false":
            continue
        for fact in sorted({leaf.fact for leaf in _leaves(rung.ok) if leaf.operator == "known"}):
            yield f"rung[{number}].ok: '{fact}' known = true is false where the fact is unknown; write present = true"


MOST_IN_A_FOLDER = 80


def _crowded(checks: list[Check]) -> list[str]:
    counts = Counter(check.topic for check in checks)
    return [f"{topic}: holds {count} checks; at most {MOST_IN_A_FOLDER}" for topic, count in counts.items() if count > MOST_IN_A_FOLDER]


def _cycles(checks: list[Check]) -> list[str]:
    """Checks whose chain of causes (caused_by) leads back to themselves."""
    causes = {check.id: check.caused_by for check in checks}

    def follows_from_itself(start: str) -> bool:
        seen, todo = set[str](), list(causes[start])
        while todo:
            name = todo.pop()
            if name == start:
                return True
            if name not in seen:
                seen.add(name)
                todo += causes.get(name, ())
        return False

    return [f"{check.topic}/{check.id}.toml: caused_by: leads back to itself" for check in checks if follows_from_itself(check.id)]


def lint_check(check: Check, specs: Mapping[str, FactSpec], ids: list[str], stack_ids: list[str]) -> list[str]:
    """The mistakes of one check, as `key: message`."""
    problems: list[str] = []
    asked = (check.applies, check.problem, check.suspect, *(v.when for v in check.variants), *(step.when for step in _steps(check)))
    conditions = [c for c in asked if c is not None]
    names = {name for condition in conditions for name in facts_of(condition)} | _template_fields(check)
    scope = {some.of for condition in conditions for some in somes(condition)} | {check.for_each or ""} - {""}
    problems += [f"fact: '{name}' is not in the vocabulary{did_you_mean(name, specs)}" for name in sorted(scope - set(specs))]
    problems += _signatures(check)
    problems += _example_names(check, specs, ids)
    problems += unknown_facts(names - _said(check), specs, scope)
    asked_for = [leaf.value for condition in conditions for leaf in _leaves(condition) if leaf.operator == "matches"]
    problems += [f"matches: /{pattern}/ {fault}" for pattern in asked_for if (fault := slow_pattern(pattern, LONGEST))]
    problems += [f"caused_by: no check '{name}'{did_you_mean(name, ids)}" for name in check.caused_by if name not in ids]
    problems += [f"stacks: no stack '{name}'{did_you_mean(name, stack_ids)}" for name in check.stacks if name not in stack_ids]
    problems += _silent_denials(check)
    problems += wrong_texts(check)
    if check.id.startswith(_CURES):
        problems.append("id: name the trouble, not the cure")
    if not check.sources:
        problems.append("source: at least one [[source]] with ref, date and says")
    for source in check.sources:
        if not (source.ref.startswith(_SOURCE_FORMS) or "/" in source.ref):
            problems.append(f"source: {source.ref!r} is neither an address nor owner/repo#number")
    outcomes = {example.expect for example in check.examples}
    if "problem" not in outcomes:
        problems.append("example: none that is a problem")
    # A check by its message alone is undetermined for a text without the message.
    fine = {"ok", "not-applicable"} | ({"undetermined"} if check.signatures else set())
    if not outcomes & fine:
        problems.append("example: none that is fine")
    return problems


SHORTEST_LITERAL = 6
"""The least number of letters of the literal that is searched first; a shorter one occurs everywhere."""


def _signatures(check: Check) -> Iterable[str]:
    for number, signature in enumerate(check.signatures):
        where = f"signature[{number}]"
        if any(literal.startswith(PREFIX) for literal in anchor(signature.text)) or letters(anchor(signature.text)) < SHORTEST_LITERAL:
            yield f"{where}.text: no literal of {SHORTEST_LITERAL} letters or more (all alternatives of one entry, none of them {PREFIX}…)"
        try:
            fault = slow_pattern(signature.pattern) or _gap(signature.pattern)
        except re.error as error:
            fault = f"is no regular expression: {error}"
        if fault:
            yield f"{where}.pattern: /{signature.pattern}/ {fault}"
    if check.proactive and not check.signatures:
        yield "proactive: says that the check speaks without its message; it has no signature"


def _said(check: Check) -> set[str]:
    try:
        return names_said(check.signatures)
    except re.error:
        return set()


def _gap(pattern: str) -> str | None:
    """Two unbounded gaps would make a search quadratic in its window; the literals of `text` cover the rest."""
    return "has more than two gaps of any length" if len(re.findall(r"(?<!\\)\.[*+]", pattern)) > 2 else None


def example_facts(given: Mapping[str, Any]) -> Facts:
    """The facts of an example. Facts that are not given stay unknown; {unknown = "why"} and {absent = true} are accepted as values."""
    facts = Facts()
    for name, value in given.items():
        facts.set(name, _example_value(value))
    return facts


def _example_value(value: Any) -> Known | Absent | Unknown:
    if isinstance(value, Mapping) and set(value) == {"unknown"}:
        return Unknown(str(value["unknown"]))
    if isinstance(value, Mapping) and set(value) == {"absent"}:
        return Absent("example")
    if isinstance(value, Mapping):
        return Known({key: _example_inner(inner) for key, inner in value.items()}, "example")
    if isinstance(value, list):
        return Known([_example_record(item) for item in value], "example")
    return Known(value, "example")


def _example_record(item: Any) -> Any:
    return {key: _example_inner(inner) for key, inner in item.items()} if isinstance(item, Mapping) else item


def _example_inner(value: Any) -> Any:
    if isinstance(value, Mapping) and set(value) in ({"unknown"}, {"absent"}):
        return _example_value(value)
    return value


def _leaves(condition: Condition) -> list[Leaf]:
    """All tests within a condition."""
    if isinstance(condition, Leaf):
        return [condition]
    parts = (condition.where,) if isinstance(condition, AnyItem) else condition.parts
    return [leaf for part in parts for leaf in _leaves(part)]


def somes(condition: Condition) -> list[AnyItem]:
    """All `some` conditions within a condition."""
    if isinstance(condition, AnyItem):
        return [condition, *somes(condition.where)]
    return [some for part in getattr(condition, "parts", ()) for some in somes(part)]


def _silent_denials(check: Check) -> Iterable[str]:
    """Variants and steps whose condition only negates tests: for an unknown fact the negation is unknown, so that they never appear."""
    own = f"{check.item}." if check.item else "\0"
    conditions = [(f"variant[{number}].when: never applies", variant.when) for number, variant in enumerate(check.variants)]
    conditions += [(f"step '{step.run}': is left out", step.when) for step in _steps(check) if step.when is not None]
    for where, condition in conditions:
        denied = [name for name in _denied_alone(condition) if not name.startswith(own)]
        if denied:
            fact = f'fact = "{denied[0]}"'
            yield (
                f"{where} while '{denied[0]}' is unknown; write any = [{{ {fact}, unknown = true }}, {{ not = … }}], "
                f"or all = [{{ {fact}, known = true }}, {{ not = … }}] where that is meant"
            )


def _denied_alone(condition: Condition) -> list[str]:
    """The facts of a condition that is nothing but `not`, or `all` of nothing else; empty for any other."""
    if not isinstance(condition, Combination):
        return []
    if condition.kind == "not":
        return list(dict.fromkeys(_may_be_unknown(condition.parts[0])))
    parts = [_denied_alone(part) for part in condition.parts] if condition.kind == "all" else []
    return [name for names in parts for name in names] if all(parts) else []


def _may_be_unknown(condition: Condition) -> list[str]:
    """The facts that make the condition unknown if they are unknown, except those that it also tests with `known` or `unknown`."""
    if isinstance(condition, Leaf):
        return [condition.fact] if condition.operator not in ("known", "unknown") else []
    if isinstance(condition, AnyItem):
        return [condition.of]
    tested = {part.fact for part in condition.parts if isinstance(part, Leaf) and part.operator in ("known", "unknown")}
    return [name for part in condition.parts for name in _may_be_unknown(part) if name not in tested]


def _steps(check: Check) -> list[Step]:
    return [*check.advice.steps, *(step for variant in check.variants for step in variant.replaces.get("steps", ()))]


def _template_fields(check: Check) -> set[str]:
    advice = check.advice
    texts = [check.title, check.explanation, check.subject or "", check.ask, check.look, advice.do, *advice.otherwise, *advice.env.values()]
    texts += [step.run for step in advice.steps]
    for variant in check.variants:
        given = variant.replaces
        texts += [given.get("do", ""), *given.get("otherwise", ()), *given.get("env", {}).values()]
        texts += [step.run for step in given.get("steps", ())]
    return {name for text in texts for name in fields_of(text)}


def unknown_facts(names: Iterable[str], specs: Mapping[str, FactSpec], scope: Collection[str] = frozenset()) -> list[str]:
    """The names that are unknown. A name is known where a spec has it, where it lies below a map, or where it is a field of an item of
    the records facts in `scope`."""
    fields: dict[str, set[str]] = {}
    for spec in (specs[name] for name in scope if name in specs):
        fields.setdefault(spec.item, set()).update(spec.fields or ())
    problems = []
    for name in sorted(names):
        head, _, rest = name.partition(".")
        if head in fields and rest and name not in specs:
            allowed = sorted(fields[head])
            if allowed and rest.split(".")[0] not in allowed:
                problems.append(f"fact: '{head}' has no field '{rest}'{did_you_mean(rest, allowed)}")
        elif not _in_vocabulary(name, specs):
            problems.append(f"fact: '{name}' is not in the vocabulary{did_you_mean(name, specs)}")
    return problems


def _example_names(check: Check, specs: Mapping[str, FactSpec], ids: Sequence[str]) -> Iterable[str]:
    """The names in the examples: facts, fields of their records, and the checks in `answered_by`."""
    for example in check.examples:
        where = f"example '{example.name}'"
        for line in unknown_facts(example.facts, specs):
            yield f"{where}: {line}"
        for name, value in example.facts.items():
            fields = specs[name].fields if name in specs else None
            for field in sorted({key for record in _records(value) for key in record} - set(fields)) if fields else ():
                yield f"{where}: fact: '{name}' has no field '{field}'{did_you_mean(field, fields or ())}"
        for name in example.answered_by:
            if name not in ids:
                yield f"{where}: answered_by: no check '{name}'{did_you_mean(name, ids)}"


def _records(value: Any) -> Iterable[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, (list, tuple)) else []


def _in_vocabulary(name: str, specs: Mapping[str, FactSpec]) -> bool:
    if name in specs:
        return True
    while "." in name:
        name = name.rpartition(".")[0]
        if name in specs and specs[name].kind == "map":
            return True
    return False
