"""NVIDIA files and tools, and what tables make of them."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.facts.derive import cuda, nvidia
from gpudoctor.facts.derive._nvidia_drivers import arch_headers, package
from gpudoctor.facts.probes import nvidia as probe
from gpudoctor.facts.probes.nvidia import parse_proc_version
from gpudoctor.facts.probes.nvidia_install import library_version, parse_dkms, parse_nvcc, parse_toolkit
from gpudoctor.model.facts import Absent, Facts, Known, Unknown


def derived(**given: Any) -> Facts:
    facts = Facts({name.replace("__", "."): Known(value) for name, value in given.items()})
    for module in (nvidia, cuda):
        for name, fact in module.derive(facts):
            facts.set(name, fact)
    return facts


def gpu(capability: str, name: str = "card") -> dict[str, Any]:
    return {"vendor": "nvidia", "address": "0000:01:00.0", "name": name, "compute_capability": capability, "driver": "nvidia"}


def test_proc_version_of_both_flavours() -> None:
    closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02  Thu May  2 14:37:44 UTC 2024\n"
    opened = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.04  Release Build  (x@y)\n"
    assert parse_proc_version(closed) == {"version": "470.256.02", "open": False}
    assert parse_proc_version(opened) == {"version": "570.124.04", "open": True}
    assert parse_proc_version("rubbish") is None


def test_dkms_nvcc_toolkit_and_library_names() -> None:
    rows = parse_dkms(
        "nvidia/535.171.04, 6.5.0-28-generic, x86_64: installed\nnvidia, 470.1, 5.4.0-1, x86_64: installed\nnvidia/1.2: added\n"
    )
    assert [(row["kernel"], row["state"]) for row in rows] == [("6.5.0-28-generic", "installed"), ("5.4.0-1", "installed"), ("", "added")]
    assert parse_nvcc("Cuda compilation tools, release 13.0, V13.0.88") == "13.0"
    assert parse_toolkit('{"cuda" : {"name" : "CUDA SDK", "version" : "12.4.1"}}') == "12.4.1"
    assert parse_toolkit("CUDA Version 10.2.89") == "10.2.89"
    assert library_version("/usr/lib64/libcuda.so.570.124.06") == "570.124.06"
    assert library_version("/usr/lib64/libcuda.so.1") is None


@pytest.mark.parametrize(
    ("capability", "archs", "expected"),
    [
        ("8.9", ["sm_80", "sm_86"], "runs"),
        ("12.1", ["sm_90", "sm_120"], "runs"),
        ("12.0", ["sm_90", "sm_100"], "too-new"),
        ("12.0", ["sm_50", "sm_90"], "too-new"),
        ("12.0", ["sm_90", "compute_90"], "jit"),
        ("6.1", ["sm_75", "sm_80"], "too-old"),
        ("6.1", ["sm_60"], "runs"),
        ("9.0", ["sm_90a"], "runs"),
    ],
)
def test_which_code_runs_where(capability: str, archs: list[str], expected: str) -> None:
    assert cuda.runs(capability, archs) == expected


def test_a_new_card_with_an_old_wheel() -> None:
    facts = derived(
        platform__kind="linux",
        gpus=[gpu("12.0")],
        nvidia__kernel_module__version="570.124.04",
        torch__build="cuda",
        torch__local="cu126",
        torch__base_version="2.6.0",
    )
    assert facts.value("cuda.cards")[0]["torch"] == "too-new"
    assert facts.value("cuda.pick.flavour") == "cu128"
    assert facts.value("cuda.driver_ok") is True


def test_an_old_driver_under_a_pypi_wheel() -> None:
    facts = derived(
        platform__kind="linux",
        gpus=[gpu("6.1")],
        nvidia__kernel_module__version="470.256.02",
        torch__build="cuda",
        torch__base_version="2.3.1",
    )
    assert facts.value("cuda.torch") == "12.1"
    assert facts.value("cuda.driver_ok") is False
    assert facts.value("cuda.pick.flavour") == "cu118"


def test_newer_than_the_table_is_unknown() -> None:
    facts = derived(platform__kind="linux", gpus=[gpu("8.6")], torch__build="cuda", torch__base_version="9.1.0")
    assert isinstance(facts.get("cuda.torch"), Unknown) and isinstance(facts.get("cuda.archs"), Unknown)


def test_dropped_card_and_its_branch() -> None:
    facts = derived(platform__kind="linux", os__id="ubuntu", gpus=[gpu("6.1")], nvidia__kernel_module__version="590.48.01")
    (card,) = facts.value("nvidia.cards")
    assert card["branch_too_new"] is True and facts.value("nvidia.want.package") == "nvidia-driver-580"


def test_names_serve_where_there_is_no_bus() -> None:
    for name, expected in (
        ("NVIDIA GeForce RTX 4090", "8.9"),
        ("NVIDIA GeForce RTX 5070 Ti", "12.0"),
        ("NVIDIA GeForce GTX 1660", "7.5"),
        ("Tesla V100-SXM2-16GB", "7.0"),
        ("NVIDIA H200", "9.0"),
        ("NVIDIA RTX A5000", "8.6"),
        ("NVIDIA A100-SXM4-40GB", "8.0"),
        ("Tesla T4", "7.5"),
        ("NVIDIA GeForce GTX 960", "5.2"),
        ("NVIDIA RTX 6000 Ada Generation", "8.9"),
        ("Quadro RTX 6000", "7.5"),
        ("Tesla K80", "3.7"),
    ):
        assert nvidia.capability_of(name) == expected, name
    assert nvidia.capability_of("Some other card") is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [("", "hidden"), ("-1", "hidden"), ("0", "ok"), ("0,3", "out-of-range"), ("0,0", "repeated"), ("gpu0", "invalid"), ("GPU-1a2b", "ok")],
)
def test_visible_devices(value: str, expected: str) -> None:
    facts = derived(platform__kind="linux", gpus=[gpu("8.6")], env__CUDA_VISIBLE_DEVICES=value)
    assert facts.value("cuda.visible") == expected


def test_a_card_that_is_only_named_does_not_say_how_many_there_are() -> None:
    named = {**gpu("8.6", "A6000"), "address": "A6000"}
    facts = derived(platform__kind="linux", gpus=[named], env__CUDA_VISIBLE_DEVICES="0,1")
    assert facts.value("cuda.visible") == "ok"


def test_xids_are_counted_and_decoded() -> None:
    line = "[ 1.0] NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus."
    facts = derived(kernel__log=[line, line, "NVRM: Xid (PCI:0000:01:00): 9999, pid=2"])
    first, second = facts.value("nvidia.xids")
    assert (first["code"], first["count"], first["family"]) == (79, 2, "bus")
    assert second["family"] == "unknown"


def test_unloaded_module_is_absent_and_mismatch_is_seen() -> None:
    assert isinstance(derived(platform__kind="linux", gpus=[gpu("8.6")], nvidia__module__loaded=False).get("nvidia.in_use"), Absent)
    facts = derived(platform__kind="linux", nvidia__kernel_module__version="545.23.08", nvidia__libcuda_version="550.54.14")
    assert facts.value("nvidia.versions_agree") is False


def test_every_distribution_family_names_a_command() -> None:
    for family in ("ubuntu", "debian", "fedora", "rhel", "arch", "suse", "nixos"):
        for branch, is_open in ((580, True), (580, False), (470, False)):
            assert all(package(family, branch, is_open))


def test_tensorflow_and_jax() -> None:
    facts = derived(
        platform__kind="linux",
        gpus=[gpu("8.6")],
        nvidia__kernel_module__version="535.1.1",
        python__version="3.12.3",
        libraries={},
        python__distributions={
            "tensorflow": "2.18.0",
            "jax": "0.8.0",
            "jaxlib": "0.8.0",
            "jax-cuda13-plugin": "0.8.0",
            "jax-cuda13-pjrt": "0.8.0",
        },
    )
    assert facts.value("tensorflow.libraries") == "none" and facts.value("tensorflow.python_ok") is True
    assert facts.value("tensorflow.driver_ok") is True
    assert facts.value("jax.plugins_agree") is True and facts.value("jax.driver_ok") is False


def test_wheels_that_overwrite_each_other() -> None:
    facts = derived(python__distributions={"nvidia-cudnn-cu12": "9.1.0.70", "nvidia-cudnn-cu13": "9.19.0.56", "nvidia-nccl-cu12": "2.21"})
    assert facts.value("cuda.wheels.duplicates") == ["cudnn"]


@pytest.mark.parametrize(
    ("release", "headers"),
    [
        ("6.17.1-arch1-1", "linux-headers"), ("", "linux-headers"), ("6.12.48-1-lts", "linux-lts-headers"),
        ("6.17.1-zen1-1-zen", "linux-zen-headers"), ("6.17.1-hardened1-1-hardened", "linux-hardened-headers"),
        ("6.17.1-2-cachyos", "linux-cachyos-headers"), ("6.12.48-2-cachyos-lts", "linux-cachyos-lts-headers"),
        ("6.12.48-1-MANJARO", "linux612-headers"),
    ],
)  # fmt: skip
def test_the_headers_of_arch_are_those_of_its_kernel(release: str, headers: str) -> None:
    assert arch_headers(release) == headers
    facts = derived(platform__kind="linux", os__id="arch", kernel__release=release, gpus=[gpu("8.9")])
    assert facts.value("nvidia.want.headers") == f"sudo pacman -S {headers}"
    assert facts.value("nvidia.want.command") == f"sudo pacman -S nvidia-open-dkms nvidia-utils {headers}"


@pytest.mark.parametrize(("torch", "first"), [("2.6.0", "sm_37"), ("2.7.1", "sm_50")])
def test_kepler_left_the_wheels_of_cuda_11_with_torch_2_7(torch: str, first: str) -> None:
    facts = derived(platform__kind="linux", gpus=[gpu("3.7")], torch__build="cuda", torch__local="cu118", torch__base_version=torch)
    assert facts.value("cuda.archs")[0] == first


class _Nodes:
    """The folder /dev."""

    origin = "capture"

    def __init__(self, **nodes: bool | None) -> None:
        self.nodes = nodes

    def listdir(self, path: str) -> list[str]:
        return list(self.nodes)

    def exists(self, path: str) -> bool:
        return path.removeprefix("/dev/") in self.nodes

    def may_open(self, path: str) -> bool | None:
        return self.nodes[path.removeprefix("/dev/")]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ({"nvidiactl": True, "nvidia0": True}, True),
        ({"nvidiactl": True, "nvidia0": False, "nvidia1": True}, True),
        ({"nvidiactl": True, "nvidia1": True}, True),
        ({"nvidiactl": True, "nvidia0": False, "nvidia1": False}, False),
        ({"nvidiactl": False, "nvidia0": True}, False),
        ({"nvidiactl": True, "nvidia0": None, "nvidia1": False}, None),
        ({"nvidiactl": True, "nvidia-uvm": False}, True),
    ],
)
def test_one_card_that_may_be_opened_is_enough(nodes: dict[str, bool | None], expected: bool | None) -> None:
    fact = probe._access(_Nodes(**nodes))  # type: ignore[arg-type]
    assert (fact.value if isinstance(fact, Known) else None) is expected
    assert probe._access(_Nodes()) == Absent("/dev")  # type: ignore[arg-type]


def test_what_to_do_after_an_xid_stands_as_a_sentence_of_its_own() -> None:
    facts = derived(**{"kernel.log": ["[ 1.0] NVRM: Xid (PCI:0000:01:00): 48, pid=1, DBE", "[ 2.0] NVRM: Xid (PCI:0000:01:00): 9999, x"]})
    assert [str(xid["action"])[0].isupper() for xid in facts.value("nvidia.xids")] == [True, True]
