"""Why something is not known, in words that a person can act on."""

from __future__ import annotations

import pytest

from gpudoctor.diagnosis.reasons import asker, clause, why_unknown
from gpudoctor.model.condition import Verdict


@pytest.mark.parametrize(
    ("fact", "tool"),
    [
        ("opencl", "clinfo"), ("opencl.platforms", "clinfo"), ("openclx", ""), ("level_zero.devices", "sycl-ls"),
        ("gpu.driver", "the PCI bus"), ("gpu.access", "the device nodes in /dev/dri"), ("gpu.name", ""), ("amd.kfd.nodes", "/dev/kfd"),
        ("amd.devices", ""), ("onnxruntime.providers", "import onnxruntime"), ("onnxruntime.version", ""),
        ("python.frameworks.torch.version", "import torch"), ("python.frameworks.jax", "import jax"),
        ("nvidia.driver.version", "nvidia-smi"), ("nvidia.cards", "the PCI bus"), ("nvidia.cards.name", "the PCI bus"),
    ],
)  # fmt: skip
def test_the_longest_beginning_names_who_would_have_told(fact: str, tool: str) -> None:
    assert asker(fact) == tool


@pytest.mark.parametrize(
    ("reason", "fact", "origin", "words"),
    [
        ("timeout", "opencl.platforms", "live", "clinfo did not answer in time"),
        ("timeout: xpu-smi", "opencl.platforms", "live", "xpu-smi did not answer in time"),
        ("timeout", "kernel.release", "live", "it did not answer in time"),
        ("crashed: clinfo ended by signal 11", "opencl", "live", "clinfo ended by signal 11"),
        ("out of time", "opencl", "live", "time ran out; more of it: gpudoctor check --budget 120"),
        ("permission denied", "kernel.log", "live", "dmesg needs root"),
        ("permission denied: /dev/kfd", "kernel.log", "live", "/dev/kfd needs root"),
        ("permission denied: only root may read it here", "kernel.log", "live", "only root may read it here"),
        ("not inspected", "opencl", "live", "not looked at with --quick"),
        ("not inspected: torch crashed when it was imported", "torch", "live", "torch crashed when it was imported"),
        ("not inspected: torch", "torch", "live", "not looked at with --quick"),
        ("tool missing", "opencl", "live", "clinfo is not installed; install the package clinfo and check again"),
        ("tool missing: sycl-ls", "opencl", "live", "sycl-ls is not installed; it comes with oneAPI"),
        ("tool missing: rocminfo", "opencl", "live", "rocminfo is not installed"),
        ("tool missing", "opencl", "text", "the text shows no output of clinfo"),
        ("tool missing: /opt/x y", "opencl", "live", "the tool that would show it is not installed"),
        ("tool missing", "kernel.release", "live", "the tool that would show it is not installed"),
        ("not recorded", "opencl", "live", "clinfo gave no answer"),
        ("not recorded", "kernel.release", "live", "nothing here gives an answer"),
        ("not recorded", "opencl", "text", "the text does not show it"),
        ("not probed", "opencl", "text", "the text does not show it"),
        ("not recorded", "python.frameworks.torch", "capture", "torch was not imported when this machine was recorded"),
        ("not recorded", "opencl", "capture", "clinfo is not in this recording"),
        ("not recorded", "kernel.release", "capture", "not in this recording"),
        ("not probed", "opencl", "live", "gpudoctor has no way to read it on this system"),
        ("not probed", "python.frameworks.torch", "capture", "gpudoctor has no way to read it on this system"),
        ("too large: /var/log/x", "opencl", "live", "/var/log/x is too large to read"),
        ("unparsable", "opencl", "live", "clinfo answered in an unknown form"),
        ("a reason of tomorrow: odd", "opencl", "live", "a reason of tomorrow: odd"),
    ],
)
def test_a_reason_reads_as_a_clause(reason: str, fact: str, origin: str, words: str) -> None:
    assert clause(reason, [fact], origin) == words


def test_the_first_fact_that_a_tool_tells_names_it() -> None:
    assert clause("timeout", ["kernel.release", "opencl", "nvidia"], "live") == "clinfo did not answer in time"


def leaf(text: str, seen: str, truth: str = "unknown") -> Verdict:
    return Verdict(truth, text, seen)  # type: ignore[arg-type]


def why(*leaves: Verdict) -> str:
    return why_unknown(Verdict("unknown", "all", parts=leaves), "live")


def test_the_weightiest_of_several_reasons_is_told() -> None:
    missing, late = leaf("opencl is there", "unknown: tool missing"), leaf("nvidia is there", "unknown: timeout")
    assert why(missing, late) == why(late, missing) == "nvidia-smi did not answer in time"
    odd = leaf("kernel.log is there", "unknown: a reason of tomorrow")
    assert why(odd, missing).startswith("clinfo is not installed")
    detailed = leaf("nvidia is there", "unknown: timeout: nvidia-smi")
    assert why(missing, detailed) == "nvidia-smi did not answer in time"


def test_only_what_is_unknown_counts() -> None:
    assert why(leaf("opencl is there", "yes", "true"), leaf("nvidia is there", "unknown: timeout", "false")) == "this was not looked at"
    assert why(leaf("opencl is there", "nothing of a reason")) == "this was not looked at"


def test_a_collection_is_named_by_its_fact() -> None:
    assert why(leaf("some of opencl.platforms: platform.name is x", "unknown: timeout")) == "clinfo did not answer in time"
    assert why(leaf("some of opencl, any", "unknown: timeout")) == "clinfo did not answer in time"
    assert why(leaf("some of", "unknown: timeout")) == "it did not answer in time"
