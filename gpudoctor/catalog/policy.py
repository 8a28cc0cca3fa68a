"""Reads a policy: a TOML file of [[demand]] tables in the language of the checks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpudoctor.catalog.loader import read_toml
from gpudoctor.catalog.structure import DataError, Reader
from gpudoctor.model.check import LAYERS, Demand

KEYS = {"name": str, "that": dict, "advice": str, "layer": str, "stacks": list}


def read_policy(path: str, items: Mapping[str, str]) -> tuple[Demand, ...]:
    """Raises DataError with the file and the key."""
    if not Path(path).is_file():
        raise DataError(f"{path}: no such file; a policy is a TOML file with [[demand]] name = … that = {{ fact = …, is = … }}")
    table = read_toml(Path(path))
    read = Reader(path, items)
    read.keys(table, {"demand": list}, "", ("demand",))
    return tuple(_demand(read, entry, number) for number, entry in enumerate(table["demand"]))


def _demand(read: Reader, entry: object, number: int) -> Demand:
    where = f"demand[{number}]"
    table = read.keys(entry, KEYS, where, ("name", "that"))
    return Demand(
        name=table["name"],
        that=read.condition(table["that"], f"{where}.that"),
        advice=" ".join(table.get("advice", "").split()),
        layer=read.one_of(table.get("layer", "device"), LAYERS, f"{where}.layer"),
        stacks=read.words(table, "stacks", f"{where}."),
    )
