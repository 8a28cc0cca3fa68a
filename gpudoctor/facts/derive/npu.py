"""NPUs: whether this environment is meant to compute on one, and whether the kernel was started without an IOMMU."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy

INTEL = ("openvino", "onnxruntime-openvino", "intel-npu-acceleration-library")
"""Distributions that compute on processors, GPUs and NPUs: they show a wish for the NPU only beside its user-mode driver."""
AMD = ("onnxruntime-vitisai",)
"""Distributions that are made for AMD's NPU."""
_NO_IOMMU = lazy(r"(?:^|\s)((?:amd_iommu|iommu)=off)(?=\s|$)")


def _any_installed(facts: Facts, names: tuple[str, ...]) -> bool | None:
    listing = facts.value("python.distributions")
    return any(name in listing for name in names) if isinstance(listing, dict) else None


def _intel_wanted(facts: Facts) -> Fact:
    framework = _any_installed(facts, INTEL)
    driver = facts.known("intel.npu_driver.package") or facts.known("intel.npu.library")
    if framework is None:
        return Unknown("not recorded")
    return Known(framework and driver, "python.distributions, packages")


def _amd_wanted(facts: Facts) -> Fact:
    framework = _any_installed(facts, AMD)
    return Unknown("not recorded") if framework is None else Known(framework, "python.distributions")


def _iommu_off(facts: Facts) -> Fact:
    line = facts.get("kernel.cmdline")
    if not isinstance(line, Known):
        return line if isinstance(line, Unknown) else Unknown("not recorded")
    found = _NO_IOMMU.search(str(line.value))
    return Known(found[1], "/proc/cmdline") if found else Absent("/proc/cmdline")


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    yield "intel.npu.wanted", _intel_wanted(facts)
    yield "amd.npu.wanted", _amd_wanted(facts)
    yield "kernel.iommu_off", _iommu_off(facts)


DERIVATION = Derivation(
    "npu",
    provides=(
        FactSpec("intel.npu.wanted", "bool", "a framework for Intel's NPU and the NPU's user-mode driver are both installed"),
        FactSpec("amd.npu.wanted", "bool", "the target environment holds a framework that is made for AMD's NPU"),
        FactSpec("kernel.iommu_off", "text", "what switches the IOMMU off on the kernel's command line"),
    ),
    derive=derive,
)
