"""The index of PyTorch for a machine, the capability that a JAX plugin asks for, and packages of missing modules."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.facts.derive import cuda, missing, torch_index
from gpudoctor.facts.derive._indexes import of_local
from gpudoctor.facts.derive._tables import table
from gpudoctor.model.facts import Absent, Facts, Known, Unknown

ROOT = "https://download.pytorch.org/whl/"
A770 = {"vendor": "intel", "kind": "discrete", "generation": "Alchemist"}
DG1 = {"vendor": "intel", "kind": "discrete", "generation": "DG1"}
UHD = {"vendor": "intel", "kind": "integrated", "generation": "Alder Lake"}
LUNAR = {"vendor": "intel", "kind": "integrated", "generation": "Lunar Lake"}
RTX = {"vendor": "nvidia", "kind": "discrete"}
RX = {"vendor": "amd", "kind": "discrete", "gfx": "gfx1100"}
APU = {"vendor": "amd", "kind": "integrated", "gfx": "gfx90c"}


def derived(**given: Any) -> dict[str, Any]:
    facts = Facts({name.replace("__", "."): Known(value) for name, value in given.items()})
    return dict(torch_index.derive(facts))


@pytest.mark.parametrize(
    ("gpus", "installed", "build"),
    [
        ([RTX, UHD], "cpu", "cuda"), ([A770, UHD], "cpu", "xpu"), ([RX, APU], "cpu", "rocm"), ([UHD], "cpu", "cpu"), ([APU], "cpu", "cpu"),
        ([LUNAR], "cpu", "xpu"), ([DG1], "cpu", "cpu"), ([], "cpu", "cpu"), ([RTX, A770], "xpu", "xpu"),
    ],
)  # fmt: skip
def test_the_build_follows_the_gpu(gpus: list[dict[str, Any]], installed: str, build: str) -> None:
    assert derived(gpus=gpus, torch__build=installed, platform__kind="linux")["torch.index.build"].value == build


def test_of_two_makers_cards_nobody_can_tell_which_is_meant() -> None:
    found = derived(gpus=[RTX, RX], torch__build="cpu", platform__kind="linux")
    of_this_machine = ("torch.index.build", "torch.index", "torch.index.command")
    assert {name: type(found[name]) for name in of_this_machine} == dict.fromkeys(of_this_machine, Unknown)


def test_without_a_list_of_gpus_nothing_is_advised() -> None:
    assert isinstance(derived(torch__build="cpu", platform__kind="linux")["torch.index"], Unknown)


@pytest.mark.parametrize(("base", "wanted"), [("2.8.0", "torch==2.8.0"), ("2.1.0", "torch")])
def test_the_installed_release_is_kept_where_the_index_has_it(base: str, wanted: str) -> None:
    found = derived(gpus=[A770], torch__build="cpu", platform__kind="linux", torch__base_version=base)
    assert found["torch.index"].value == f"{ROOT}xpu"
    assert found["torch.index.command"].value == f"python -m pip install --force-reinstall {wanted} torchvision --index-url {ROOT}xpu"


@pytest.mark.parametrize(("gpus", "offered"), [([RX], False), ([A770], False), ([RX, RTX], True), ([UHD], True), ([], True)])
def test_no_cuda_wheels_for_cards_of_other_makers_alone(gpus: list[dict[str, Any]], offered: bool) -> None:
    assert isinstance(derived(gpus=gpus)["index.cuda"], Known) is offered


def test_windows_has_no_index_of_rocm_and_a_mac_takes_pypi() -> None:
    assert isinstance(derived(gpus=[RX], platform__kind="windows")["torch.index"], Absent)
    mac = derived(platform__kind="macos", platform__machine="arm64")
    assert isinstance(mac["torch.index"], Absent) and mac["torch.index.build"].value == "mps"


def test_each_rocm_index_is_one_that_holds_the_release() -> None:
    found = derived(gpus=[RX], platform__kind="linux", torch__base_version="2.7.1", torch__rocm_index=f"{ROOT}rocm6.3")
    assert found["torch.index.command"].value.endswith(f"torch==2.7.1 torchvision --index-url {ROOT}rocm6.3")


def test_an_upgrade_comes_from_the_index_of_the_newest_release_whatever_is_installed() -> None:
    old = derived(gpus=[RX], platform__kind="linux", torch__base_version="2.3.0", torch__rocm_index=f"{ROOT}rocm6.0", amd__gfx=["gfx1100"])
    newest = table("rocm-torch")["index"]
    assert old["index.rocm"].value == f"{ROOT}rocm6.0"
    assert old["index.rocm_newest"].value == f"{ROOT}rocm{newest[list(newest)[-1]][0]}"


@pytest.mark.parametrize(("capability", "plugin", "fits"), [("6.1", 13, False), ("6.1", 12, True), ("7.5", 13, True), ("5.0", 12, False)])
def test_a_jax_plugin_serves_cards_from_a_capability_on(capability: str, plugin: int, fits: bool) -> None:
    installed = {"jax": "0.8.0", "jaxlib": "0.8.0", f"jax-cuda{plugin}-plugin": "0.8.0"}
    facts = Facts({"python.distributions": Known(installed), "nvidia.cards": Known([{"name": "x", "compute_capability": capability}])})
    assert dict(cuda.derive(facts))["jax.capability_ok"] == Known(fits, "nvidia.cards")


@pytest.mark.parametrize(
    ("module", "package"),
    [("cv2", "opencv-python"), ("PIL.Image", "pillow"), ("yaml", "PyYAML"), ("absl.flags", "absl-py"),
     ("google.protobuf.message", "protobuf"),
     ("sklearn", "scikit-learn"), ("google", None), ("numpy", None)],
)  # fmt: skip
def test_the_package_of_a_module(module: str, package: str | None) -> None:
    assert missing.package_of_module(module) == package


def test_missing_modules_of_a_text_and_of_a_framework_that_does_not_import() -> None:
    said = Facts({"text.missing": Known([{"kind": "py", "name": "cv2"}, {"kind": "so", "name": "libGL.so.1"}])})
    (one,) = dict(missing.derive(said))["missing.modules"].value
    assert (one["name"], one["package"], one["command"]) == ("cv2", "opencv-python", "python -m pip install opencv-python")
    error = {"kind": "exception", "name": "ModuleNotFoundError", "message": "No module named 'yaml'"}
    live = Facts({"python.frameworks": Known({"torch": {"error": error}, "jax": None}), "python.executable": Known("/venv/bin/python")})
    (one,) = dict(missing.derive(live))["missing.modules"].value
    assert one["command"] == "/venv/bin/python -m pip install PyYAML"


def test_the_table_of_modules_is_of_other_names() -> None:
    rows = table("module-packages")["module"]
    assert len(rows) >= 60 and not [name for name, package in rows.items() if name.lower() == package.lower()]


@pytest.mark.parametrize(
    ("local", "folder"),
    [("cu126", "cu126"), ("rocm6.4", "rocm6.4"), ("rocm5.4.2", "rocm5.4.2"), ("xpu", "xpu"), ("rocm7.11.0", None), ("rocm7.2.1", None)],
)
def test_a_build_of_amds_own_has_no_index_at_pytorch(local: str, folder: str | None) -> None:
    assert of_local(local) == (f"https://download.pytorch.org/whl/{folder}" if folder else None)
