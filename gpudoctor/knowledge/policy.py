"""Reads a policy: a TOML file of devices, versions, packages and throughput, and of [[demand]] tables in the language of the checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gpudoctor.knowledge.lint import somes, unknown_facts
from gpudoctor.knowledge.loader import read_toml
from gpudoctor.knowledge.structure import DataError, TableReader
from gpudoctor.model.check import LAYERS
from gpudoctor.model.condition import Combination, Condition, Leaf
from gpudoctor.model.facts import FactSpec
from gpudoctor.model.policy import MOST_DEVICES, SCHEMA, VENDORS, VERSIONS, Count, Demand, Reached
from gpudoctor.rules.conditions import did_you_mean, facts_of

NOMINAL = 0.93
"""The share of a card's nominal memory that drivers report at least."""
_NUMBER = (int, float)
_TOP = {"schema": str, "device": list, "versions": dict, "packages": dict, "throughput": list, "demand": list}
_DEVICE = {"count": int, "vendor": str, "name": str, "memory_gib": _NUMBER, "advice": str}
_SELECTORS = ("workload", "task", "framework", "backend", "device", "device_name", "dtype", "batch")
_THROUGHPUT = {**dict.fromkeys(_SELECTORS, str), "batch": int, "at_least": _NUMBER, "unit": str, "advice": str}
_DEMAND = {"name": str, "that": dict, "advice": str, "layer": str, "stacks": list}


def read_policy(path: str, specs: Mapping[str, FactSpec]) -> tuple[Demand, ...]:
    """The demands of a policy file, in the order of its kinds. Raises DataError with the file and the key."""
    if not Path(path).is_file():
        raise DataError(
            f"{path}: no such file; a policy is a TOML file with [[device]], [versions], [packages], [[throughput]] or [[demand]], "
            "and gpudoctor check --write-expect FILE writes one from this machine"
        )
    return demands_of(read_toml(Path(path)), path, specs, Path(path).read_text(encoding="utf-8"))


def demands_of(table: Mapping[str, Any], file: str, specs: Mapping[str, FactSpec], text: str = "") -> tuple[Demand, ...]:
    """The demands of a parsed policy. `text` is the content of the file, to find the lines of the demands."""
    policy = _Policy(file, specs, text)
    policy.read.keys(table, _TOP, "", ())
    if table.get("schema", SCHEMA) != SCHEMA:
        raise policy.read.fail("schema", f"{table['schema']!r} is not {SCHEMA!r}, the one that this gpudoctor knows")
    found = [
        *policy.each(table, "device", policy.device), *policy.versions(table), *policy.packages(table),
        *policy.each(table, "throughput", policy.throughput), *policy.each(table, "demand", policy.demand),
    ]  # fmt: skip
    if not found:
        raise DataError(f"{file}: it demands nothing; expected [[device]], [versions], [packages], [[throughput]] or [[demand]]")
    return tuple(found)


class _Policy:
    def __init__(self, file: str, specs: Mapping[str, FactSpec], text: str) -> None:
        self._file, self._specs, self._lines = file, specs, text.splitlines()
        self.read = TableReader(file, {name: spec.item for name, spec in specs.items() if spec.kind == "records" and spec.item})

    def each(self, table: Mapping[str, Any], kind: str, make: Callable[[Any, str, str], Demand]) -> Iterator[Demand]:
        for number, entry in enumerate(table.get(kind, ())):
            yield make(entry, f"{kind}[{number}]", self._place(rf"\s*\[\[\s*{kind}\s*\]\]", number))

    def device(self, entry: Any, where: str, place: str) -> Demand:
        table = self.read.keys(entry, _DEVICE, where, ())
        count = table.get("count", 1)
        if isinstance(count, bool) or not 1 <= count <= MOST_DEVICES:
            raise self.read.fail(f"{where}.count", f"{count!r}: expected a number from 1 on (what must not be there: a [[demand]])")
        tests: list[Condition] = []
        words = []
        if "vendor" in table:
            tests.append(Leaf("gpu.vendor", "is", self.read.one_of(table["vendor"], VENDORS, f"{where}.vendor")))
            words.append(table["vendor"])
        if "name" in table:
            tests.append(Leaf("gpu.name", "matches", re.escape(self._word(table["name"], f"{where}.name"))))
            words.append(table["name"])
        if "memory_gib" in table:
            tests.append(Leaf("gpu.memory_bytes", "greater_than", int(table["memory_gib"] * 2**30 * NOMINAL)))
            words.append(f"with {table['memory_gib']} GiB")
        what = " ".join(words) or "GPU of any kind"
        return Demand(
            name=f"{count} x {what}", that=Count("gpus", "gpu", Combination("all", tuple(tests)), count), place=place, layer="device",
            advice=self._advice(table) or "Seat, enable or replace what is missing, or change the policy.",
        )  # fmt: skip

    def versions(self, table: Mapping[str, Any]) -> Iterator[Demand]:
        for key, wanted in table.get("versions", {}).items():
            if key not in VERSIONS:
                raise self.read.fail(f"versions.{key}", f"unknown key{did_you_mean(key, VERSIONS)}; it takes {', '.join(VERSIONS)}")
            fact, layer = VERSIONS[key]
            yield Demand(
                name=f"{key} {wanted}", that=self._range(fact, wanted, f"versions.{key}"), layer=layer,
                place=self._place_in("versions", key), advice=f"Bring {key} to {wanted}, or change the policy.",
            )  # fmt: skip

    def packages(self, table: Mapping[str, Any]) -> Iterator[Demand]:
        """Demands on packages of the target Python environment, by their names on the package index."""
        for key, wanted in table.get("packages", {}).items():
            name = re.sub(r"[-_.]+", "-", key).lower()
            condition = self._range(f"python.distributions.{name}", wanted, f"packages.{key}")
            yield Demand(
                name=f"{name} {wanted} in the Python environment", that=condition, layer="framework",
                place=self._place_in("packages", key), advice=f"Install {name} {wanted} there, or change the policy.",
            )  # fmt: skip

    def throughput(self, entry: Any, where: str, place: str) -> Demand:
        table = self.read.keys(entry, _THROUGHPUT, where, ("workload", "at_least"))
        least = table["at_least"]
        if isinstance(least, bool) or not least > 0:
            raise self.read.fail(f"{where}.at_least", f"{least!r}: expected a number above 0")
        tests = tuple(Leaf(f"measurement.{key}", "is", table[key]) for key in _SELECTORS if key in table)
        unit = table.get("unit", "")
        words = [table["workload"], table.get("task", ""), *(f"{key} {table[key]}" for key in _SELECTORS[2:] if key in table)]
        said = " ".join(word for word in words if word)
        options = "".join(f" --{key} {table[key]}" for key in ("workload", "task", "batch", "dtype", "device") if key in table)
        return Demand(
            name=f"{said}: at least {least:g} {unit}".rstrip(), place=place, layer="performance",
            that=Reached(Combination("all", tests), float(least), unit, measure=f"gpudoctor validate{options}"),
            advice=self._advice(table) or f"Measure again, on a quiet machine: gpudoctor validate{options}. --try-fixes tries what helps.",
        )  # fmt: skip

    def demand(self, entry: Any, where: str, place: str) -> Demand:
        table = self.read.keys(entry, _DEMAND, where, ("name", "that"))
        condition = self.read.condition(table["that"], f"{where}.that")
        scope = {some.of for some in somes(condition)}
        wrong = unknown_facts(facts_of(condition), self._specs, scope)
        if wrong:
            raise self.read.fail(f"{where}.that", f"{wrong[0]}; gpudoctor list facts names them")
        return Demand(
            name=self._word(table["name"], f"{where}.name"), that=condition, advice=self._advice(table), place=place,
            layer=self.read.one_of(table.get("layer", "device"), LAYERS, f"{where}.layer"),
            stacks=self.read.words(table, "stacks", f"{where}."),
        )  # fmt: skip

    def _range(self, fact: str, wanted: Any, key: str) -> Condition:
        if not isinstance(wanted, str):
            raise self.read.fail(key, f'expected a range in quotes such as ">=2.8,<2.9", found {wanted!r}')
        if wanted[:1].isdigit():
            raise self.read.fail(key, f'expected a range such as ">={wanted}" or "=={wanted}", found {wanted!r}')
        return self.read.condition({"fact": fact, "version": wanted}, key)

    def _word(self, text: str, key: str) -> str:
        if not text.strip() or len(text) > 300:
            raise self.read.fail(key, "expected a text of 1 to 300 characters")
        return text

    def _advice(self, table: Mapping[str, Any]) -> str:
        return " ".join(table.get("advice", "").split())

    def _place(self, pattern: str, number: int = 0, start: int = 0) -> str:
        """file:line of the line that matches for the `number`-th time from line `start` on; the file alone where none matches."""
        header = re.compile(pattern)
        lines = [line for line, text in enumerate(self._lines[start:], start + 1) if header.match(text[:400])]
        return f"{self._file}:{lines[number]}" if number < len(lines) else self._file

    def _place_in(self, table: str, key: str) -> str:
        start = self._place(rf"\s*\[\s*{table}\s*\]").rpartition(":")[2]
        return self._place(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", start=int(start) if start.isdigit() else 0)
