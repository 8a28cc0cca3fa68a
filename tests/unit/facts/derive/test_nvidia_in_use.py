"""Which libcuda programs take, the card of a Jetson, and for which GPU a torch without a table row was built."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.facts.derive.nvidia import DERIVATION
from gpudoctor.facts.derive.torch_build import classify
from gpudoctor.model.facts import Facts, Known

SYSTEM = "/usr/lib64/libcuda.so.1"
COMPAT = "/usr/local/cuda-12.1/compat/libcuda.so.530.30.02"


def derived(**given: Any) -> dict[str, Any]:
    facts = Facts()
    for name, value in given.items():
        facts.set(name.replace("__", "."), Known(value))
    return dict(DERIVATION.derive(facts))


@pytest.mark.parametrize(
    ("loaded", "first", "compat"),
    [([], [], False), ([COMPAT], [], True), ([SYSTEM], [COMPAT], False), ([], [COMPAT], True)],
)
def test_the_libcuda_that_torch_loaded_counts_most(loaded: list[str], first: list[str], compat: bool) -> None:
    libraries = [{"soname": "libcuda.so.1", "path": path} for path in loaded]
    found = derived(nvidia__libcuda=SYSTEM, nvidia__loader_path__libraries=first, python__frameworks={"torch": {"libraries": libraries}})
    assert found["nvidia.libcuda_compat"].value is compat


def test_a_jetson_is_a_card_although_it_is_on_no_bus() -> None:
    found = derived(jetson__module="Jetson Orin NX", platform__kind="linux")["nvidia.cards"]
    assert [row["name"] for row in found.value] == ["Jetson Orin NX"]


@pytest.mark.parametrize(
    ("version", "flavour"),
    [("2.8.0+git245bf6e", ""), ("2.6.0a0+ecf3bae40a.nv25.1", "cuda"), ("2.9.1", "cuda"), ("2.9.1+rocm6.4", "rocm")],
)
def test_a_torch_from_source_may_be_for_any_gpu(version: str, flavour: str) -> None:
    assert classify(version, {"triton": "3.4.0"}, None, "linux", "x86_64")[0] == flavour
