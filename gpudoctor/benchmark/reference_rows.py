"""Published results and ceilings of devices, from performance-references.toml and device-ceilings.toml in gpudoctor/data."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct, field

from gpudoctor.facts.derive._tables import table

SPEED_UNITS = {"ms": -1, "s": -1, "images/s": 1, "it/s": 1, "fps": 1, "TFLOP/s": 1, "GB/s": 1}
"""Units that say how fast; -1: less is better."""
OTHER_UNITS = {"images/s/W": 1, "W": -1, "GB": -1, "%": 1}


class ReferenceRow(Struct, frozen=True, kw_only=True):
    """One published number and its conditions. None: the publication does not say."""

    id: str
    source: str
    date: str
    device: str
    workload: str
    task: str
    value: float
    unit: str
    quality: str
    """printed, derived or approximate"""
    report: str = ""
    framework: str | None = None
    framework_version: str | None = None
    backend: str | None = None
    dtype: str | None = None
    batch: int | None = None
    input: tuple[int, ...] = ()
    replicas: int = 1
    per: str = "step"
    """The unit of a time: step, epoch or run."""
    optimizer: str = ""
    compile: str = "none"
    os: str = ""
    includes: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    usable: bool = True
    """False where the number says nothing about the device itself."""

    @property
    def images_per_second(self) -> float | None:
        """The value as items per second, where it can be derived."""
        if self.unit == "images/s":
            return self.value
        if self.batch and self.per == "step":
            return {"ms": 1000 * self.batch / self.value, "s": self.batch / self.value, "it/s": self.batch * self.value}.get(self.unit)
        return None


class Relation(Struct, frozen=True, kw_only=True):
    """Two situations compared: a ratio of times or of speeds, according to `unit`."""

    id: str
    what: str
    device: str
    workload: str
    task: str
    of: str
    against: str
    value: float
    unit: str
    quality: str
    source: str
    date: str
    environment: Mapping[str, str] = field(default_factory=dict)


class DeviceRow(Struct, frozen=True, kw_only=True):
    """Peaks of one logical device: TFLOP/s by dtype (fp32, fp16, bf16, fp64, tf32, int8), GB/s, GB, W."""

    name: str
    vendor: str
    source: str
    date: str
    ids: tuple[str, ...] = ()
    vector: Mapping[str, float] = field(default_factory=dict)
    matrix: Mapping[str, float] = field(default_factory=dict)
    rates: str = ""
    gb: float | None = None
    gbs: float | None = None
    watts: float | None = None
    pcie: tuple[int, int] | None = None
    """The generation of PCI Express and the number of lanes."""
    remark: str = ""
    estimate: bool = False


@lru_cache(maxsize=1)
def references() -> tuple[ReferenceRow, ...]:
    found = []
    for report in table("performance-references")["report"]:
        common = {key: value for key, value in report.items() if key not in ("rows", "id", "conditions")}
        for row in report["rows"]:
            whole = {**common, **row, "report": report["id"], "conditions": [*report.get("conditions", ()), *row.get("conditions", ())]}
            found.append(ReferenceRow(**_frozen(whole)))
    return tuple(found)


@lru_cache(maxsize=1)
def relations() -> tuple[Relation, ...]:
    return tuple(Relation(**_frozen(row)) for row in table("performance-references")["relation"])


@lru_cache(maxsize=1)
def devices() -> tuple[DeviceRow, ...]:
    return tuple(DeviceRow(**_frozen(row)) for row in table("device-ceilings")["device"])


def _frozen(row: Mapping[str, Any]) -> dict[str, Any]:
    """The rows, with lists as tuples. Raises TypeError for a key that the row's class does not have."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
