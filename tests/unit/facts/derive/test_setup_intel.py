"""What setup derives for Intel GPUs, IPEX and ONNX Runtime: kernels, releases, pins."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.facts.derive import setup_intel, setup_ipex, setup_onnxruntime
from gpudoctor.facts.derive.setup_ipex import release_for, serves
from gpudoctor.knowledge.lint import example_facts
from gpudoctor.model.facts import Facts

A770 = {"vendor": "intel", "kind": "discrete", "name": "Arc A770", "generation": "Alchemist", "min_kernel": "6.2", "bar_bytes": 1 << 34}
UHD = {"vendor": "intel", "kind": "integrated", "name": "UHD 770", "generation": "Alder Lake", "min_kernel": "5.17", "legacy": False}
PANTHER = {"vendor": "intel", "kind": "integrated", "name": "Arc B390", "generation": "Panther Lake", "min_kernel": "6.17"}
JAMMY = {"setup.name": "x", "platform.kind": "linux", "os.id": "ubuntu", "os.version": "22.04"}


def derived(given: dict[str, Any]) -> Facts:
    facts = example_facts(given)
    for module in (setup_intel, setup_ipex, setup_onnxruntime):
        for name, fact in module.DERIVATION.derive(facts):
            facts.set(name, fact)
    return facts


@pytest.mark.parametrize(
    ("kernel", "gpus", "system", "expected"),
    [
        ("5.19.0", [A770], "22.04", ("6.2", False, True)),
        ("6.2.0", [A770], "22.04", ("6.2", True, True)),
        ("6.8.0", [PANTHER], "22.04", ("6.17", False, False)),
        ("6.8.0", [PANTHER], "24.04", ("6.17", False, True)),
        ("5.19.0", [UHD, A770], "22.04", ("6.2", False, True)),
    ],
)
def test_kernel_that_the_card_needs_and_what_ubuntu_has(
    kernel: str, gpus: list[dict[str, Any]], system: str, expected: tuple[str, bool, bool]
) -> None:
    facts = derived({**JAMMY, "os.version": system, "kernel.version": kernel, "intel.gpus": gpus})
    assert tuple(facts.value(f"setup.intel.kernel_{name}") for name in ("wanted", "ok", "reachable")) == expected


def test_without_an_intel_gpu_nothing_is_demanded() -> None:
    facts = derived({**JAMMY, "kernel.version": "5.15.0", "intel.gpus": []})
    assert not facts.known("setup.intel.kernel_ok") and not facts.known("setup.intel.served_by_torch")
    assert facts.value("setup.ipex.release") == "2.8.10"


@pytest.mark.parametrize(
    ("asked", "generation", "release"),
    [
        (None, "Alchemist", "2.8.10"), (None, "Flex", "2.6.10"), (None, None, "2.8.10"), (None, "Panther Lake", "2.8.10"),
        ("1.13", "Alchemist", "1.13.120"), ("1.13.10", None, "1.13.10"), ("2.1", None, "2.1.40"), ("2.7", None, "2.7.10"),
        ("2.7.1", None, "2.7.10"), ("2.9", None, None), ("2.15", None, None),
    ],
)  # fmt: skip
def test_ipex_release(asked: str | None, generation: str | None, release: str | None) -> None:
    row = release_for(asked, generation)
    assert (row and row["ipex"]) == release


def test_generations_that_a_release_names() -> None:
    assert serves("1.13.120", "Alchemist") and serves("2.6.10", "Flex") and serves("2.8.10", "Battlemage")
    assert not serves("2.8.10", "Flex") and not serves("1.13.120", "Battlemage") and not serves("2.8.10", "Panther Lake")


def test_pins_of_the_release_of_2023() -> None:
    facts = derived({**JAMMY, "setup.torch": "1.13", "intel.gpus": [A770]})
    assert facts.value("setup.ipex.system_oneapi") is True and facts.value("setup.ipex.hotfix") is True
    assert facts.value("setup.ipex.layout") is True and facts.value("setup.ipex.python") == ">=3.7,<3.11"
    assert "intel-opencl-icd=23.05.25593.18-601~22.04" in facts.value("setup.ipex.pinned_driver")
    assert facts.value("setup.ipex.all_packages")[0] == "torch==1.13.0a0+git6c9b55e"


@pytest.mark.parametrize(
    ("asked", "system", "python"),
    [(None, "24.04", ">=3.11,<3.16"), (None, "22.04", ">=3.10,<3.15"), ("2.8", "22.04", ">=3.9,<3.14"), ("2.4", "22.04", None)],
)
def test_python_of_the_xpu_build(asked: str | None, system: str, python: str | None) -> None:
    """Ubuntu 22.04's own 3.10 gets torch 2.14; nobody has to install a Python for it."""
    given = {**JAMMY, "os.version": system, **({"setup.torch": asked} if asked else {})}
    facts = derived(given)
    assert facts.value("setup.xpu.python") == python
    assert facts.value("setup.xpu.offered") is (python is not None)


@pytest.mark.parametrize(
    ("driver", "capability", "system", "cuda"),
    [
        ("580.95.05", "8.9", "24.04", "13"), ("580.95.05", "8.9", "22.04", "12"), ("580.95.05", "6.1", "24.04", "12"),
        ("570.124.06", "8.9", "24.04", "12"), ("470.256.02", "8.9", "24.04", "0"),
    ],
)  # fmt: skip
def test_cuda_of_the_onnxruntime_wheel(driver: str, capability: str, system: str, cuda: str) -> None:
    card = {"name": "a card", "compute_capability": capability}
    facts = derived({**JAMMY, "os.version": system, "nvidia.in_use": driver, "nvidia.cards": [card], "gpus": [{"vendor": "nvidia"}]})
    assert facts.value("setup.onnxruntime.provider") == "cuda"
    assert facts.value("setup.onnxruntime.cuda") == cuda
    assert facts.known("setup.onnxruntime.package") is (cuda != "0")


@pytest.mark.parametrize(
    ("kind", "vendors", "provider"),
    [
        ("linux", ["intel"], "openvino"), ("windows", ["intel"], "directml"), ("windows", ["nvidia"], "cuda"), ("wsl2", ["amd"], "cpu"),
        ("linux", ["intel", "nvidia"], "cuda"), ("macos", ["apple"], "cpu"), ("linux", [], "cpu"),
    ],
)  # fmt: skip
def test_provider(kind: str, vendors: list[str], provider: str) -> None:
    facts = derived({**JAMMY, "platform.kind": kind, "gpus": [{"vendor": vendor} for vendor in vendors]})
    assert facts.value("setup.onnxruntime.provider") == provider
