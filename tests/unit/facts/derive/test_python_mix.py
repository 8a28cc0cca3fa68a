"""Which packages go together."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.facts.derive import cuda, python_mix, torch_build
from gpudoctor.facts.derive._tables import table
from gpudoctor.model.facts import Facts, Known


def derived(**values: Any) -> Facts:
    facts = Facts({name.replace("__", "."): Known(value) for name, value in values.items()})
    for derivation in (torch_build.DERIVATION, python_mix.DERIVATION):
        for name, fact in derivation.derive(facts):
            facts.set(name, fact)
    return facts


@pytest.mark.parametrize(
    ("names", "platform", "build", "cuda"),
    [
        ({"torch": "2.6.0+cu126"}, "linux", "cuda", "12.6"),
        ({"torch": "2.5.1+cpu"}, "linux", "cpu", None),
        ({"torch": "2.7.1+xpu"}, "linux", "xpu", None),
        ({"torch": "2.4.1+rocm6.1"}, "linux", "rocm", None),
        ({"torch": "2.10.0"}, "windows", "cpu", None),
        ({"torch": "2.2.2"}, "macos", "mps", None),
        ({"torch": "2.4.1", "nvidia-cuda-runtime-cu12": "12.1.105", "nvidia-cublas-cu12": "12.1.3.1"}, "linux", "cuda", "12.1"),
        ({"torch": "2.11.0", "nvidia-cuda-runtime": "13.0.96"}, "linux", "cuda", "13.0"),
        ({"torch": "1.13.0a0+git6c9b55e", "intel-extension-for-pytorch": "1.13.120+xpu"}, "linux", "patched", None),
        ({"pytorch-directml": "1.8.0a0.dev220506"}, "windows", "directml", None),
        ({"torch": "2.4.0", "triton": "3.0.0"}, "container", "cuda", "12.1"),
    ],
)
def test_build(names: dict[str, str], platform: str, build: str, cuda: str | None) -> None:
    facts = derived(python__distributions=names, platform__kind=platform)
    assert facts.value("torch.build") == build
    assert facts.value("torch.cuda") == cuda


def test_version_file_wins() -> None:
    said = {"version": "2.6.0+cu124", "cuda": "12.4", "hip": None, "debug": False}
    facts = derived(python__distributions={"torch": "2.6.0"}, torch__version_file=said, platform__kind="linux")
    assert (facts.value("torch.version"), facts.value("torch.build"), facts.value("torch.cuda")) == ("2.6.0+cu124", "cuda", "12.4")


@pytest.mark.parametrize(
    ("names", "packages"),
    [
        ({"torch": "2.4.0", "torchvision": "0.20.1"}, ["torchvision"]),
        ({"torch": "2.4.0", "torchvision": "0.19.0", "torchaudio": "2.4.0"}, []),
        ({"torch": "2.0.1+cpu", "torchaudio": "2.0.2+cpu", "torchvision": "0.15.2+cpu"}, []),
        ({"torch": "2.0.1", "torchaudio": "2.1.0"}, ["torchaudio"]),
        ({"torch": "1.13.0a0+git6c9b55e", "torchvision": "0.14.1a0+5e8e2f1"}, []),
        ({"torch": "2.5.1+cu121", "torchvision": "0.20.1+cpu"}, ["torchvision"]),
        ({"torch": "2.5.1+cu121", "torchvision": "0.20.1+cu124"}, ["torchvision"]),
        ({"torch": "2.5.1+cu121", "torchvision": "0.20.1"}, []),
        ({"torch": "2.15.0", "torchvision": "0.29.2"}, []),
        ({"torch": "2.99.0", "torchvision": "0.99.0"}, []),
        ({"torch": "2.7.0", "xformers": "0.0.29.post3"}, ["xformers"]),
        ({"torch": "2.15.0", "xformers": "0.0.35"}, []),
    ],
)
def test_partners(names: dict[str, str], packages: list[str]) -> None:
    found = derived(python__distributions=names, platform__kind="linux").value("python.mismatches")
    assert [item["package"] for item in found] == packages


def test_own_demand_speaks_where_the_table_does_not() -> None:
    packages = [{"name": "torchvision", "requires_torch": "==3.0.0"}]
    facts = derived(python__distributions={"torch": "3.1.0", "torchvision": "0.50.0"}, python__packages=packages)
    assert facts.value("python.mismatches")[0]["made_for"] == "3.0.0"


@pytest.mark.parametrize(
    ("vendors", "keep"), [(["nvidia"], "onnxruntime-gpu"), (["intel"], "onnxruntime-openvino"), ([], "onnxruntime-gpu")]
)
def test_onnxruntime_to_keep(vendors: list[str], keep: str) -> None:
    names = {"onnxruntime": "1.20", "onnxruntime-gpu": "1.20", "onnxruntime-openvino": "1.20"}
    facts = derived(python__distributions=names, gpu__vendors=vendors)
    assert facts.value("python.onnxruntime_family_count") == 3
    assert facts.value("python.onnxruntime_keep") == keep


def test_a_card_of_amd_keeps_no_build_for_nvidia() -> None:
    facts = derived(python__distributions={"onnxruntime": "1.20", "onnxruntime-gpu": "1.20"}, gpu__vendors=["amd"])
    assert facts.value("python.onnxruntime_keep") == "onnxruntime"
    unknown = derived(python__distributions={"onnxruntime": "1.20", "onnxruntime-gpu": "1.20"})
    assert unknown.value("python.onnxruntime_keep") == "onnxruntime-gpu"


def test_stale_paths() -> None:
    facts = derived(
        python__distributions={}, python__version="3.11.7", python__prefix="/home/user/venv",
        env__PYTHONPATH="/x/lib/python3.8/site-packages:/home/user/venv/lib/python3.11/site-packages:/y/lib/python3.11/site-packages",
    )  # fmt: skip
    assert [item["why"] for item in facts.value("python.stale_paths")] == ["of Python 3.8", "of another environment"]


def test_python_without_wheels() -> None:
    assert derived(python__distributions={}, python__version="3.5.2").value("python.has_torch_wheels") is False
    assert derived(python__distributions={}, python__version="3.12.1").value("python.newest_torch") == "2.15.0"
    assert not derived(python__distributions={}, python__version="3.19.0").known("python.has_torch_wheels")


def test_foreign_libraries() -> None:
    libraries = [
        {"soname": "libtorch_cpu.so", "path": "/v/site-packages/torch/lib/libtorch_cpu.so", "origin": "wheel"},
        {"soname": "libcudnn.so.9", "path": "/v/site-packages/nvidia/cudnn/lib/libcudnn.so.9", "origin": "wheel"},
        {"soname": "libcudnn.so.9", "path": "/usr/lib/libcudnn.so.9", "origin": "system"},
        {"soname": "libstdc++.so.6", "path": "/usr/lib/libstdc++.so.6", "origin": "system"},
    ]
    found = python_mix.foreign_libraries({"torch": {"libraries": libraries}})
    assert [(item["soname"], item["twice"]) for item in found] == [("libcudnn.so.9", True)]


def test_table_is_in_order() -> None:
    releases = [python_mix.numbers(row["version"]) for row in table("python-partners")["torch"]]
    assert releases == sorted(releases) and len(set(releases)) == len(releases)


@pytest.mark.parametrize(
    ("package", "version", "torch", "fitting"),
    [
        ("torchvision", "0.29.2", "2.15.0", True), ("torchvision", "0.29.2", "2.13.0", False), ("torchaudio", "2.11.0", "2.14.0", True),
        ("xformers", "0.0.35", "2.12.1", True), ("xformers", "0.0.35", "2.9.1", False), ("xformers", "0.0.34", "2.10.0", True),
        ("xformers", "0.0.34", "2.11.0", True), ("xformers", "0.0.34", "2.9.1", False), ("xformers", "0.0.33.post2", "2.9.1", True),
    ],
)  # fmt: skip
def test_partners_of_a_stable_interface_ask_for_a_torch_from_a_release_on(package: str, version: str, torch: str, fitting: bool) -> None:
    row = python_mix.torch_row(torch)
    assert row is not None and python_mix.fits(package, version, row) is fitting


def test_the_release_to_advise_of_a_flavour_is_one_that_has_wheels() -> None:
    data = table("cuda-torch")
    known = [row["version"] for row in table("python-partners")["torch"]]
    for pick in data["pick"]:
        release = python_mix.numbers(pick["torch"])
        rows = [row for row in data["wheel"] if row["flavour"] == pick["flavour"]]
        rows = [row for row in rows if python_mix.numbers(row["first"]) <= release < python_mix.numbers(row["before"])]
        assert rows and pick["torch"] in known, pick
        assert cuda.runs(str(pick["lowest"]), rows[0]["archs"]) == "runs", pick


@pytest.mark.parametrize(
    ("version", "torch", "told"),
    [
        ("0.21.0+5c1b2e8", "2.7.0+gitab12cd3", False),
        ("0.22.0a0+git0f3d9ab", "2.6.0", False),
        ("0.20.0+cu124", "2.6.0+cu124", True),
        ("0.21.0", "2.7.0", True),
    ],
)
def test_a_partner_built_from_a_commit_is_compared_by_no_table(version: str, torch: str, told: bool) -> None:
    facts = derived(python__distributions={"torch": torch, "torchvision": version}, python__packages=[], platform__kind="linux")
    assert bool(facts.value("python.mismatches")) is told


@pytest.mark.parametrize(("version", "torch", "told"), [("0.20.0", "2.5.1", False), ("0.20.1", "2.5.0", False), ("0.19.1", "2.5.1", True)])
def test_the_patch_releases_of_one_torch_share_their_partners(version: str, torch: str, told: bool) -> None:
    facts = derived(python__distributions={"torch": torch, "torchvision": version}, python__packages=[], platform__kind="linux")
    assert bool(facts.value("python.mismatches")) is told


def test_the_number_of_a_makers_own_build_names_no_wheel() -> None:
    facts = derived(python__distributions={"torch": "2.6.0a0+git1a2b3c4", "triton": "3.2.0"}, platform__kind="container")
    assert not facts.known("torch.build")
