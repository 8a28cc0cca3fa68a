"""What `guard` keeps, the files that it writes, and how it judges what an installer would do."""

from __future__ import annotations

import pytest

from gpudoctor.audit.guarding import constraints, indexes, judged, kept, new_conflicts
from gpudoctor.audit.judging import AuditTarget
from gpudoctor.model import toml_text
from gpudoctor.model.guard import KeptPackage

ENVIRONMENT = {
    "torch": "2.8.0+xpu", "torchvision": "0.23.0+xpu", "pytorch-triton-xpu": "3.4.0", "intel-sycl-rt": "2025.1.1", "mkl": "2025.1.0",
    "numpy": "1.26.4", "transformers": "4.57.0", "requests": "2.32.5", "pillow": "12.0.0",
}  # fmt: skip
CPU = AuditTarget(backend="cpu", platform="linux", python="3.11.9")


def packages(**more: str) -> tuple[KeptPackage, ...]:
    return kept({**ENVIRONMENT, **more})


def test_what_reaches_the_device_is_kept_and_nothing_else() -> None:
    assert [package.constraint for package in packages()] == [
        "torch==2.8.0+xpu", "torchvision==0.23.0+xpu",
        "intel-sycl-rt==2025.1.1", "mkl==2025.1.0", "numpy==1.*", "pytorch-triton-xpu==3.4.0",
    ]  # fmt: skip


def test_an_environment_without_a_framework_has_nothing_to_keep() -> None:
    assert kept({"numpy": "2.4.0", "requests": "2.32.5"}) == ()


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.8.0+xpu", ("https://download.pytorch.org/whl/xpu",)), ("2.13.0+cu130", ("https://download.pytorch.org/whl/cu130",)),
        ("2.9.1+rocm6.4", ("https://download.pytorch.org/whl/rocm6.4",)), ("2.13.0", ()), ("2.13.0+gitabc", ()),
    ],
)  # fmt: skip
def test_the_index_of_a_build_that_pypi_does_not_have(version: str, expected: tuple[str, ...]) -> None:
    assert indexes(kept({"torch": version})) == expected


def test_each_tool_gets_its_own_file() -> None:
    pip = constraints(packages(), "pip", "keep.txt", "/v/bin/python")
    lines = [line for line in pip.splitlines() if not line.startswith("#")]
    assert lines == [package.constraint for package in packages()] and "-c keep.txt" in pip and "whl/xpu" in pip
    uv = toml_text.loads(constraints(packages(), "uv", "", "/v/bin/python"))["tool"]["uv"]
    assert uv["constraint-dependencies"] == lines
    assert uv["sources"] == {"torch": {"index": "pytorch-xpu"}, "torchvision": {"index": "pytorch-xpu"}}
    assert uv["index"] == [{"name": "pytorch-xpu", "url": "https://download.pytorch.org/whl/xpu", "explicit": True}]


def test_pixi_takes_packages_of_conda_from_channels_and_the_others_from_pypi() -> None:
    written = toml_text.loads(constraints(kept(ENVIRONMENT, ["mkl", "numpy"]), "pixi", "", "/v/bin/python"))
    assert written["dependencies"] == {"mkl": "==2025.1.0", "numpy": "==1.*"}
    assert written["pypi-dependencies"]["torch"] == "==2.8.0+xpu"
    assert written["pypi-options"] == {"extra-index-urls": ["https://download.pytorch.org/whl/xpu"]}


def test_another_release_another_build_and_a_removal_break_it_and_a_new_package_does_not() -> None:
    planned = {"torch": ("2.9.0", "files.pythonhosted.org"), "numpy": ("2.4.0", ""), "einops": ("0.8.2", ""), "pillow": ("12.1.0", "")}
    changes = judged(planned, ["torchvision"], ENVIRONMENT, packages())
    assert [(change.name, change.old, change.new, change.breaks) for change in changes] == [
        ("numpy", "1.26.4", "2.4.0", True), ("torch", "2.8.0+xpu", "2.9.0", True), ("torchvision", "0.23.0+xpu", "", True),
        ("einops", "", "0.8.2", False), ("pillow", "12.0.0", "12.1.0", False),
    ]  # fmt: skip


def test_the_same_release_of_another_build_breaks_it() -> None:
    (change,) = judged({"torch": ("2.8.0", "")}, (), ENVIRONMENT, packages())
    assert change.breaks


def test_numpy_may_change_within_its_major_version() -> None:
    (change,) = judged({"numpy": ("1.26.5", "")}, (), ENVIRONMENT, packages())
    assert not change.breaks


def test_a_package_that_overwrites_another_is_a_new_conflict_and_an_old_one_is_not() -> None:
    installed = {"onnxruntime-openvino": "1.24.1", "torch": "2.13.0", "torchvision": "0.25.0"}
    changes = judged({"onnxruntime": ("1.24.1", "")}, (), installed, kept(installed))
    (found,) = new_conflicts(changes, installed, kept(installed), CPU)
    assert found.package.startswith("onnxruntime") and "overwrites the files" in found.says
