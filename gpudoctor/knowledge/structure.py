"""Builds the models from the tables of data files. Every error names the file, the key path and, where possible, the likely intention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from gpudoctor.model.check import (  # fmt: skip
    CONFIDENCES,
    LAYERS,
    OUTCOMES,
    RECIPES,
    SEVERITIES,
    SUPPORTS,
    VERIFIED_HOW,
    AdviceTemplate,
    Check,
    Example,
    Rung,
    Source,
    Stack,
    Step,
    Variant,
    Verified,
)
from gpudoctor.model.condition import ALWAYS, Condition
from gpudoctor.model.signature import ROLES, TROUBLE, Literals, Signature
from gpudoctor.model.stack_names import StackNames
from gpudoctor.rules.conditions import ConditionError, did_you_mean, parse, parse_valid
from gpudoctor.rules.synonyms import GROUPS, PREFIX


class DataError(ValueError):
    """A data file that cannot be used: `file: key: what is wrong, what was expected`."""


_CHECK_KEYS = {
    "id": str, "title": str, "severity": str, "layer": str, "stacks": list, "for_each": str, "subject": str, "at_most": str,
    "explanation": str, "caused_by": list, "fallback": bool, "applies": dict, "problem": dict, "suspect": dict, "advice": dict,
    "ask": str, "look": str, "variant": list, "source": list, "example": list, "signature": list, "proactive": bool,
    "verified": dict, "review_by": object,
}  # fmt: skip
_ADVICE_KEYS = {"do": str, "steps": list, "otherwise": list, "env": dict, "recipe": str, "needs_reboot": bool}
_DATES = ("on", "read", "published")
_NAMES: dict[Any, str] = {str: "a text", list: "a list", dict: "a table", bool: "true or false"}


class TableReader:
    """Reads the tables of one file. `items` gives the name of an item for each fact of kind records; `trusted`: they come from the
    compiled catalogue, and were read without an error when it was compiled."""

    def __init__(self, file: str, items: Mapping[str, str], trusted: bool = False) -> None:
        self.file, self.items, self.trusted = file, items, trusted

    def fail(self, key: str, message: str) -> DataError:
        return DataError(f"{self.file}: {key}: {message}")

    def keys(self, table: Any, allowed: Mapping[str, Any], where: str, required: tuple[str, ...]) -> Mapping[str, Any]:
        if self.trusted:
            return cast("Mapping[str, Any]", table)
        if not isinstance(table, Mapping):
            raise self.fail(where, f"expected a table, found {type(table).__name__}")
        prefix = f"{where}." if where else ""
        for key, value in table.items():
            if key not in allowed:
                raise self.fail(prefix + key, f"unknown key{did_you_mean(key, allowed)}")
            if not isinstance(value, allowed[key]):
                raise self.fail(prefix + key, f"expected {_NAMES.get(allowed[key], 'a number')}, found {value!r} (quote texts)")
        for key in required:
            if key not in table:
                raise self.fail(prefix + key, "is missing")
        return table

    def words(self, table: Mapping[str, Any], key: str, where: str = "") -> tuple[str, ...]:
        values = table.get(key, ())
        if not self.trusted and not all(isinstance(value, str) for value in values):
            raise self.fail(f"{where}{key}", "expected a list of texts")
        return tuple(values)

    def one_of(self, value: str, choices: tuple[str, ...], key: str) -> str:
        if value not in choices:
            raise self.fail(key, f"{value!r} is none of {', '.join(choices)}{did_you_mean(value, choices)}")
        return value

    def condition(self, table: Any, key: str) -> Condition:
        if self.trusted:
            return parse_valid(table, self.items)
        try:
            return parse(table, key, self.items)
        except ConditionError as error:
            raise DataError(f"{self.file}: {error}") from error

    def optional_condition(self, table: Mapping[str, Any], key: str) -> Condition | None:
        return self.condition(table[key], key) if key in table else None


def check_from(table: Mapping[str, Any], file: str, topic: str, items: Mapping[str, str], trusted: bool = False) -> Check:
    """The check of a file's table. `topic` is the folder below the catalogue. Raises DataError."""
    read = TableReader(file, items, trusted)
    required = ("id", "title", "severity", "layer", "stacks", "explanation", "advice")
    read.keys(table, _CHECK_KEYS, "", (*required, *(() if table.get("signature") else ("problem",))))
    for_each = table.get("for_each")
    if for_each is not None and for_each not in items:
        raise read.fail("for_each", f"'{for_each}' is no records fact{did_you_mean(for_each, items)}")
    return Check(
        id=table["id"], topic=topic, title=table["title"], explanation=" ".join(table["explanation"].split()),
        severity=read.one_of(table["severity"], SEVERITIES, "severity"),
        layer=read.one_of(table["layer"], LAYERS, "layer"),
        at_most=read.one_of(table.get("at_most", "certain"), CONFIDENCES, "at_most"),
        stacks=read.words(table, "stacks"), for_each=for_each, item=items[for_each] if for_each else "", subject=table.get("subject"),
        caused_by=read.words(table, "caused_by"), fallback=table.get("fallback", False),
        ask=table.get("ask", ""), look=table.get("look", ""),
        applies=read.optional_condition(table, "applies"),
        problem=read.condition(table["problem"], "problem") if "problem" in table else ALWAYS,
        suspect=read.optional_condition(table, "suspect"),
        advice=_advice(read, table["advice"]),
        variants=tuple(_variant(read, entry, number) for number, entry in enumerate(table.get("variant", []))),
        signatures=tuple(_signature(read, entry, number) for number, entry in enumerate(table.get("signature", []))),
        proactive=table.get("proactive", False),
        verified=_verified(read, table["verified"]) if "verified" in table else None, review_by=str(table.get("review_by", "")),
        sources=tuple(source_from(read, entry, number) for number, entry in enumerate(table.get("source", []))),
        examples=tuple(example for number, entry in enumerate(table.get("example", [])) for example in _examples(read, entry, number)),
    )  # fmt: skip


def _advice(read: TableReader, table: Any) -> AdviceTemplate:
    read.keys(table, _ADVICE_KEYS, "advice", ("do",))
    return AdviceTemplate(**_advice_values(read, table, "advice."))


def _advice_values(read: TableReader, table: Mapping[str, Any], where: str) -> dict[str, Any]:
    values: dict[str, Any] = dict(table)
    if "do" in table:
        values["do"] = " ".join(table["do"].split())
    if "steps" in table:
        values["steps"] = tuple(_step(read, entry, f"{where}steps[{number}]") for number, entry in enumerate(table["steps"]))
    if "otherwise" in table:
        values["otherwise"] = read.words(table, "otherwise", where)
    if "recipe" in table:
        read.one_of(table["recipe"], RECIPES, f"{where}recipe")
    if not all(isinstance(value, str) for value in table.get("env", {}).values()):
        raise read.fail(f"{where}env", "expected texts as values (quote them)")
    return values


def _step(read: TableReader, entry: Any, where: str) -> Step:
    """One step: a command, or a table with the command and the condition under which it is shown."""
    if isinstance(entry, str):
        return Step(run=entry)
    read.keys(entry, {"run": str, "when": dict}, where, ("run",))
    return Step(run=entry["run"], when=read.condition(entry["when"], f"{where}.when") if "when" in entry else None)


def _variant(read: TableReader, table: Any, number: int) -> Variant:
    where = f"variant[{number}]"
    read.keys(table, {**_ADVICE_KEYS, "when": dict}, where, ("when",))
    replaces = _advice_values(read, {key: value for key, value in table.items() if key != "when"}, f"{where}.")
    return Variant(when=read.condition(table["when"], f"{where}.when"), replaces=replaces)


def dates_as_text(table: Any) -> Any:
    """A table with its dates as YYYY-MM-DD."""
    return {key: str(value) if key in _DATES else value for key, value in table.items()} if isinstance(table, Mapping) else table


def _verified(read: TableReader, table: Any) -> Verified:
    table = read.keys(dates_as_text(table), {"on": str, "how": str, "against": str}, "verified", ("on", "how"))
    return Verified(on=table["on"], how=read.one_of(table["how"], VERIFIED_HOW, "verified.how"), against=table.get("against", ""))


def source_from(read: TableReader, table: Any, number: int) -> Source:
    """One [[source]]. Raises DataError."""
    where = f"source[{number}]"
    keys = {"ref": str, "read": str, "published": str, "supports": list, "literal": str, "says": str}
    table = read.keys(dates_as_text(table), keys, where, ("ref", "read"))
    supports = tuple(read.one_of(word, SUPPORTS, f"{where}.supports") for word in read.words(table, "supports", f"{where}."))
    return Source(**{**table, "supports": supports})


def _examples(read: TableReader, table: Any, number: int) -> list[Example]:
    """One example, or one for each of its `texts`."""
    where = f"example[{number}]"
    keys = {"name": str, "expect": str, "facts": dict, "text": str, "texts": list, "answered_by": list}
    read.keys(table, keys, where, ("name", "expect"))
    read.one_of(table["expect"], OUTCOMES, f"{where}.expect")
    texts = read.words(table, "texts", f"{where}.") or (table.get("text", ""),)
    if "facts" not in table and not any(texts):
        raise read.fail(where, "needs facts, a text, texts, or facts and a text")
    answered_by = read.words(table, "answered_by", f"{where}.")
    return [
        Example(name=f"{table['name']} ({place})" if len(texts) > 1 else table["name"], expect=table["expect"],
                facts=table.get("facts", {}), text=text, answered_by=answered_by)
        for place, text in enumerate(texts, 1)
    ]  # fmt: skip


def _signature(read: TableReader, table: Any, number: int) -> Signature:
    where = f"signature[{number}]"
    keys = {"text": list, "none_of": list, "context": list, "pattern": str, "within": int, "roles": list}
    read.keys(table, keys, where, ("text",))
    within = table.get("within", 1)
    if not 1 <= within <= 30:
        raise read.fail(f"{where}.within", f"expected 1 to 30 lines, found {within}")
    roles = tuple(read.one_of(word, ROLES, f"{where}.roles") for word in read.words(table, "roles", f"{where}.")) or TROUBLE
    return Signature(
        text=_literals(read, table["text"], f"{where}.text"), context=_literals(read, table.get("context", []), f"{where}.context"),
        none_of=tuple(word.lower() for word in read.words(table, "none_of", f"{where}.")), pattern=table.get("pattern", ""), within=within,
        roles=roles,
    )  # fmt: skip


def _literals(read: TableReader, entries: list[Any], where: str) -> Literals:
    """Literals from a list of texts (all of them must occur) or of lists of texts (any of each)."""
    choices = [entry if isinstance(entry, list) else [entry] for entry in entries]
    if not all(choice and all(isinstance(word, str) and word.strip("* ") for word in choice) for choice in choices):
        raise read.fail(where, "expected a list of texts, or of lists of alternative texts")
    for word in (word for choice in choices for word in choice if "  " in word or "\t" in word):
        raise read.fail(where, f"{word!r}: expected one space between words; it stands for all that a listing puts between its columns")
    for word in (word for choice in choices for word in choice if word.startswith(PREFIX)):
        if (name := word.removeprefix(PREFIX)) not in GROUPS:
            raise read.fail(where, f"there is no group '{name}' in rules/synonyms.py{did_you_mean(name, GROUPS)}")
    return tuple(map(tuple, choices_in(entries)))


def choices_in(entries: Sequence[str | Sequence[str]]) -> list[list[str]]:
    """The lists of alternatives in lower case; a check file writes a single alternative as a plain text."""
    return [[entry.lower()] if isinstance(entry, str) else [word.lower() for word in entry] for entry in entries]


def stack_from(table: Mapping[str, Any], file: str, items: Mapping[str, str], trusted: bool = False) -> Stack:
    """The stack of a file's table. Raises DataError."""
    read = TableReader(file, items, trusted)
    read.keys(
        table, {"stack": str, "title": str, "applicable": dict, "used": dict, "vendors": list, "processor": bool, "names": dict,
                "rung": list}, "",
        ("stack", "title", "applicable", "rung"),
    )  # fmt: skip
    rungs = tuple(_rung(read, entry, number) for number, entry in enumerate(table["rung"]))
    order = [LAYERS.index(rung.layer) for rung in rungs]
    if order != sorted(set(order)):
        raise read.fail("rung", f"layers must come once each, in the order {', '.join(LAYERS)}")
    return Stack(stack=table["stack"], title=table["title"], applicable=read.condition(table["applicable"], "applicable"),
                 used=read.optional_condition(table, "used"), rungs=rungs, vendors=read.words(table, "vendors"),
                 processor=table.get("processor", False), names=_names(read, table))  # fmt: skip


def stack_names_from(table: Mapping[str, Any], file: str) -> StackNames:
    """The table [names] of a stack's file. Raises DataError."""
    return _names(TableReader(file, {}), table)


def _names(read: TableReader, table: Mapping[str, Any]) -> StackNames:
    given = table.get("names", {})
    lists = ("aliases", "serves", "frameworks", "measured_as", "words")
    words = ("recipe", "set_up_instead", "backend", "device", "kin")
    read.keys(given, {**dict.fromkeys(lists, list), **dict.fromkeys(words, str)}, "names", ())
    found: dict[str, Any] = {name: read.words(given, name, "names.") for name in lists}
    return StackNames(**found, **{name: given.get(name, "") for name in words})


def _rung(read: TableReader, table: Any, number: int) -> Rung:
    where = f"rung[{number}]"
    read.keys(table, {"layer": str, "only": dict, "ok": dict, "detail": str, "missing": str}, where, ("layer", "ok"))
    return Rung(layer=read.one_of(table["layer"], LAYERS, f"{where}.layer"), ok=read.condition(table["ok"], f"{where}.ok"),
                only=read.optional_condition(table, "only"), detail=table.get("detail", ""), missing=table.get("missing", ""))  # fmt: skip
