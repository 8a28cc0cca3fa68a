"""What the tables say of Intel GPUs, and how selectors hide them."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.facts.derive import intel
from gpudoctor.model.facts import Absent, Facts, Known, Unknown

A750 = {
    "address": "0000:03:00.0",
    "vendor": "intel",
    "pci_id": "8086:56a1",
    "name": "Arc A750",
    "kind": "discrete",
    "generation": "Alchemist",
}
B580 = {
    "address": "0000:04:00.0",
    "vendor": "intel",
    "pci_id": "8086:e20b",
    "name": "Arc B580",
    "kind": "discrete",
    "generation": "Battlemage",
}
UHD = {
    "address": "0000:00:02.0",
    "vendor": "intel",
    "pci_id": "8086:4680",
    "name": "UHD 770",
    "kind": "integrated",
    "generation": "Alder Lake",
}


def derived(**facts: Any) -> Facts:
    known = Facts({name.replace("__", "."): Known(value) for name, value in facts.items()})
    for name, fact in intel.derive(known):
        known.set(name, fact)
    return known


@pytest.mark.parametrize(
    ("name", "value", "gpus", "hides"),
    [
        ("ONEAPI_DEVICE_SELECTOR", "opencl:*", 1, True),
        ("ONEAPI_DEVICE_SELECTOR", "*:cpu", 1, True),
        ("ONEAPI_DEVICE_SELECTOR", "level_zero:1", 1, True),
        ("ONEAPI_DEVICE_SELECTOR", "level_zero:1", 2, False),
        ("ONEAPI_DEVICE_SELECTOR", "level_zero:gpu", 1, False),
        ("ONEAPI_DEVICE_SELECTOR", "level_zero:0;opencl:cpu", 1, False),
        ("ONEAPI_DEVICE_SELECTOR", "!opencl:*", 1, False),
        ("ONEAPI_DEVICE_SELECTOR", "level_zero:7", None, False),
        ("ZE_AFFINITY_MASK", "1", 1, True),
        ("ZE_AFFINITY_MASK", "0.0", 1, False),
        ("ZE_AFFINITY_MASK", "", 1, False),
    ],
)
def test_selectors(name: str, value: str, gpus: int | None, hides: bool) -> None:
    assert (intel.selector_problem(name, value, gpus) is not None) is hides


def test_a_runtime_older_than_the_card() -> None:
    facts = derived(gpus=[A750, B580], intel__compute_runtime__version="23.43.27642.40", env={})
    first, second = facts.value("intel.gpus")
    assert (first["runtime_too_old"], first["min_runtime"], first["alchemist"], first["fp64"]) == (False, "22.01.22131", True, False)
    assert (second["runtime_too_old"], second["alchemist"], second["legacy"]) == (True, False, False)


def test_a_card_that_no_table_knows_stays_unknown() -> None:
    facts = derived(gpus=[{**B580, "pci_id": "8086:ffff"}], intel__compute_runtime__version="23.43.27642.40", env={})
    assert isinstance(facts.value("intel.gpus")[0]["runtime_too_old"], Unknown)


def test_counts_and_names() -> None:
    facts = derived(gpus=[UHD, A750, {"vendor": "nvidia", "kind": "discrete"}], env={})
    assert [facts.value(f"intel.{name}") for name in ("gpu.count", "discrete.count", "integrated.count", "other_accelerator")] == [
        2,
        1,
        1,
        True,
    ]
    assert (facts.value("intel.discrete.name"), facts.value("intel.integrated.name")) == ("Arc A750", "UHD 770")
    assert facts.get("intel.selector.set") == Known(False, "environment")


def test_without_gpus_nothing_is_invented() -> None:
    facts = derived(env={})
    assert isinstance(facts.get("intel.gpu.count"), Unknown)


def test_one_build_of_both_drivers() -> None:
    same = derived(gpus=[A750], env={}, intel__compute_runtime__version="23.17.26241.33", intel__level_zero__version="1.3.26241.33")
    assert isinstance(same.get("intel.runtime.mixed"), Absent)
    mixed = derived(gpus=[A750], env={}, intel__compute_runtime__version="23.17.26241.33", intel__level_zero__version="1.3.27642.40")
    assert mixed.known("intel.runtime.mixed")


def test_driver_version_from_sycl_where_no_package_tells() -> None:
    facts = derived(gpus=[A750], env={}, sycl__devices=[{"backend": "opencl", "type": "gpu", "driver": "25.18.33578", "name": "Arc"}])
    assert facts.value("intel.runtime.version") == "25.18.33578"
    assert (facts.value("sycl.gpu.count"), facts.value("sycl.level_zero.count")) == (1, 0)


@pytest.mark.parametrize("generation", ["Meteor Lake", "Arrow Lake", "Lunar Lake", "Battlemage"])
def test_from_meteor_lake_on_nothing_is_said_of_missing_double_precision(generation: str) -> None:
    (gpu,) = derived(gpus=[{**UHD, "generation": generation}]).value("intel.gpus")
    assert gpu["fp64"] is not False
    (older,) = derived(gpus=[{**UHD, "generation": "Raptor Lake"}]).value("intel.gpus")
    assert older["fp64"] is False
