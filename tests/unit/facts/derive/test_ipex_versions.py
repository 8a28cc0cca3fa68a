"""Which torch, Python and oneAPI belong to an IPEX, and which run time and Triton to an XPU wheel."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.facts.derive import ipex
from gpudoctor.model.facts import Absent, Facts, Known, Unknown


def derived(distributions: dict[str, str], **facts: Any) -> Facts:
    known = Facts({name.replace("__", "."): Known(value) for name, value in facts.items()})
    known.set("python.distributions", Known(distributions))
    for name, fact in ipex.derive(known):
        known.set(name, fact)
    return known


def pair(version: str, torch: str) -> dict[str, str]:
    return {"intel-extension-for-pytorch": version, "torch": torch}


@pytest.mark.parametrize(
    ("version", "torch", "fits"),
    [
        ("1.13.120+xpu", "1.13.0a0+git6c9b55e", True),
        ("1.13.120+xpu", "1.13.1", False),
        ("1.13.120+xpu", "2.0.1", False),
        ("1.10.200+gpu", "1.10.0a0+git3d5f2d4", True),
        ("2.0.110+xpu", "2.0.1a0+cxx11.abi", True),
        ("2.1.10+xpu", "2.1.0a0+cxx11.abi", True),
        ("2.1.10+xpu", "2.1.0+cu118", False),
        ("2.1.40+xpu", "2.1.0.post3+cxx11.abi", True),
        ("2.1.40+xpu", "2.1.0.post0+cxx11.abi", False),
        ("2.1.40+xpu", "2.1.0.post3", True),
        ("2.1.40+xpu", "2.1.0", False),
        ("2.3.110+xpu", "2.3.1+cxx11.abi", True),
        ("2.3.110+xpu", "2.3.1+cpu", False),
        ("2.8.10+xpu", "2.8.0+xpu", True),
        ("2.8.10+xpu", "2.9.1+xpu", False),
        ("2.8.0", "2.8.0+cpu", True),
        ("2.8.0", "2.9.0+cpu", False),
        ("2.1.100", "2.1.2+cpu", True),
    ],
)
def test_pairs(version: str, torch: str, fits: bool) -> None:
    assert derived(pair(version, torch)).value("ipex.torch.fits") is fits


def test_a_pair_of_its_own_making_is_not_judged() -> None:
    assert isinstance(derived(pair("2.3.110+xpu", "2.3.1+git1234567")).get("ipex.torch.fits"), Unknown)
    assert isinstance(derived(pair("9.9.10+xpu", "9.9.0+xpu")).get("ipex.torch.fits"), Unknown)


@pytest.mark.parametrize(
    ("version", "build"),
    [
        ("2.1.10+xpu", "xpu"),
        ("1.10.200+gpu", "xpu"),
        ("2.1.100", "cpu"),
        ("2.8.0+cpu", "cpu"),
        ("2.1.10+gitabc", "xpu"),
        ("2.0.110", "xpu"),
    ],
)
def test_builds(version: str, build: str) -> None:
    assert ipex.build_of(version) == build


def test_oneapi_of_an_ipex() -> None:
    facts = derived(pair("1.13.120+xpu", "1.13.0a0+git6c9b55e"), oneapi__installed=["2025.0.4"], python__version="3.12.3")
    assert [facts.value(f"ipex.{name}") for name in ("oneapi.system", "oneapi.fits", "oneapi.same_year", "python.fits")] == [
        True,
        False,
        False,
        False,
    ]
    facts = derived(pair("1.13.120+xpu", "1.13.0a0+git6c9b55e"), oneapi__active="2023.1.0", oneapi__installed=["2023.1.0", "2025.0.4"])
    assert [facts.value(f"ipex.{name}") for name in ("oneapi.fits", "oneapi.same_year")] == [True, True]
    assert derived(pair("2.8.10+xpu", "2.8.0+xpu")).value("ipex.oneapi.system") is False


def test_without_ipex_everything_is_absent() -> None:
    facts = derived({"torch": "2.8.0"})
    assert isinstance(facts.get("ipex.version"), Absent) and isinstance(facts.get("ipex.torch.fits"), Absent)


def test_xpu_wheels() -> None:
    wheel = {"torch": "2.7.1+xpu", "pytorch-triton-xpu": "3.3.1", "intel-sycl-rt": "2025.0.4"}
    facts = derived(wheel, torch__build="xpu")
    assert [facts.value(f"torch.xpu.{name}") for name in ("bundled", "triton.fits", "runtime.fits")] == [True, True, True]
    facts = derived({**wheel, "intel-sycl-rt": "2026.0.0", "pytorch-triton-xpu": "3.5.0"}, torch__build="xpu")
    assert [facts.value(f"torch.xpu.{name}") for name in ("triton.fits", "runtime.fits")] == [False, False]
    assert isinstance(derived({"torch": "9.0.0+xpu"}, torch__build="xpu").get("torch.xpu.bundled"), Unknown)
    assert isinstance(derived({"torch": "2.8.0+cu126"}, torch__build="cuda").get("torch.xpu.bundled"), Absent)
