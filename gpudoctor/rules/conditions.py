"""Parses the tables of a data file into condition trees, and writes conditions in English. Raises ConditionError with the key path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.model.condition import AnyItem, Combination, Condition, Leaf
from gpudoctor.rules.operators import OPERATORS, STATES, WITH_FACT, compiled
from gpudoctor.rules.versions import dotted, in_release

GROUPS = ("all", "any", "not")


class ConditionError(ValueError):
    """A malformed condition: `path` is the key path inside the file."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")


def did_you_mean(word: str, choices: Any) -> str:
    """' (did you mean …?)' with the most similar known word; empty without one."""
    import difflib  # imported here, since only a malformed file needs it

    near = difflib.get_close_matches(word, list(choices), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def parse(table: Any, path: str, items: Mapping[str, str]) -> Condition:
    """The condition of a table.

    `items` gives, for each fact of kind records, the name of one item: {'gpus': 'gpu'}.
    """
    if not isinstance(table, Mapping):
        raise ConditionError(path, f"a condition is a table, not {type(table).__name__}")
    keys = set(table)
    groups = [key for key in ("all", "any", "not", "some") if key in keys]
    if groups:
        if len(keys) > 1:
            raise ConditionError(path, f"'{groups[0]}' stands alone; move {sorted(keys - {groups[0]})} into a part of its own")
        return _group(groups[0], table[groups[0]], path, items)
    return _leaf(table, path)


def parse_valid(table: Mapping[str, Any], items: Mapping[str, str]) -> Condition:
    """The same for a table of the compiled catalogue, which was parsed when it was compiled. KeyError for any other."""
    if len(table) > 1:
        ((name, value),) = ((key, value) for key, value in table.items() if key != "fact")
        if name in STATES:
            return Leaf(table["fact"], name)
        return Leaf(table["fact"], name.removesuffix("_fact"), other=value) if name.endswith("_fact") else Leaf(table["fact"], name, value)
    ((kind, inner),) = table.items()
    if kind == "some":
        return AnyItem(inner["of"], items[inner["of"]], parse_valid(inner["where"], items))
    if kind == "not":
        return Combination("not", (parse_valid(inner, items),))
    return Combination(kind, tuple([parse_valid(part, items) for part in inner]))  # type: ignore[arg-type]


def _group(kind: str, inner: Any, path: str, items: Mapping[str, str]) -> Condition:
    here = f"{path}.{kind}"
    if kind == "not":
        return Combination("not", (parse(inner, here, items),))
    if kind == "some":
        if not isinstance(inner, Mapping) or set(inner) != {"of", "where"}:
            raise ConditionError(here, "takes of = 'a records fact' and where = { condition }")
        of = inner["of"]
        if of not in items:
            raise ConditionError(f"{here}.of", f"'{of}' is no records fact{did_you_mean(str(of), items)}")
        return AnyItem(of, items[of], parse(inner["where"], f"{here}.where", items))
    if not isinstance(inner, list):
        raise ConditionError(here, "takes a list of conditions")
    parts = tuple(parse(part, f"{here}[{number}]", items) for number, part in enumerate(inner))
    return Combination("all", parts) if kind == "all" else Combination("any", parts)


def _leaf(table: Mapping[str, Any], path: str) -> Leaf:
    fact = table.get("fact")
    if not isinstance(fact, str):
        raise ConditionError(path, "needs fact = 'a.name', or one of all, any, not, some")
    named = [key for key in table if key != "fact"]
    if len(named) != 1:
        raise ConditionError(path, f"takes exactly one operator beside fact; has {', '.join(named) or 'none'}")
    name, value = named[0], table[named[0]]
    if name in STATES:
        if value is not True:
            raise ConditionError(f"{path}.{name}", "takes true; for the contrary use not = { … }")
        return Leaf(fact, name)
    if name.endswith("_fact") and name.removesuffix("_fact") in WITH_FACT:
        if not isinstance(value, str):
            raise ConditionError(f"{path}.{name}", "takes the name of a fact")
        return Leaf(fact, name.removesuffix("_fact"), other=value)
    if name not in OPERATORS:
        known = [*OPERATORS, *STATES, *(f"{op}_fact" for op in WITH_FACT)]
        raise ConditionError(path, f"unknown operator '{name}'{did_you_mean(name, known)}")
    _check_value(name, value, f"{path}.{name}")
    return Leaf(fact, name, value)


def _check_value(name: str, value: Any, path: str) -> None:
    takes = OPERATORS[name].takes
    if not isinstance(value, takes) or (isinstance(value, bool) and bool not in takes):
        raise ConditionError(path, f"takes {' or '.join(kind.__name__ for kind in takes)}, not {type(value).__name__} {value!r}")
    if name == "matches":
        try:
            compiled(value)
        except re.error as error:
            raise ConditionError(path, f"is no regular expression: {error}") from error
    if name == "version":
        try:
            in_release("1.0", str(value))
        except ValueError as error:
            raise ConditionError(path, str(error)) from error
    if name in ("older_than", "at_least") and dotted(value) is None:
        raise ConditionError(path, f"{value!r} is no dotted version such as 6.2")


def facts_of(condition: Condition) -> set[str]:
    """Names of all facts that a condition reads."""
    if isinstance(condition, Leaf):
        return {condition.fact} | ({condition.other} if condition.other else set())
    if isinstance(condition, AnyItem):
        return {condition.of} | facts_of(condition.where)
    return {name for part in condition.parts for name in facts_of(part)}


def english(condition: Condition) -> str:
    """The condition in one line of English."""
    if isinstance(condition, Leaf):
        if condition.operator in STATES:
            return f"{condition.fact} {STATES[condition.operator]}"
        value = condition.other or (", ".join(map(str, condition.value)) if isinstance(condition.value, list) else condition.value)
        value = str(value).lower() if isinstance(value, bool) else value
        return f"{condition.fact} {OPERATORS[condition.operator].phrase.replace('{value}', str(value))}"
    if isinstance(condition, AnyItem):
        return f"some of {condition.of}: {english(condition.where)}"
    if condition.kind == "not":
        return f"not ({english(condition.parts[0])})"
    joined = (" and " if condition.kind == "all" else " or ").join(
        f"({english(part)})" if (isinstance(part, Combination) and part.kind != "not") or isinstance(part, AnyItem) else english(part)
        for part in condition.parts
    )
    return joined or ("always" if condition.kind == "all" else "never")
