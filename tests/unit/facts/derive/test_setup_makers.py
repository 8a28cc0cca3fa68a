"""What setup takes for NVIDIA, AMD, OpenCL, Poplar and Macs, by tables: builds for driver and card, wheels for a Python that is here."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.facts.collect import Gathered, derive
from gpudoctor.model.facts import Absent, Facts, Known


def derived(name: str, **given: Any) -> Facts:
    """Facts of a request; keys with __ for dots, None for what is absent."""
    facts = {key.replace("__", "."): Absent() if value is None else Known(value) for key, value in given.items()}
    asked = {f"setup.{key}": Absent() for key in ("torch", "python_version", "folder")}
    gathered = Gathered(Facts({"platform.kind": Known("linux"), **asked, "setup.name": Known(name), **facts}))
    derive(gathered)
    assert not gathered.incidents
    return gathered.facts


def nvidia(*capabilities: str, driver: str | None = None, **given: Any) -> Facts:
    gpus = [{"vendor": "nvidia", "kind": "discrete", "name": f"card {cc}", "address": f"0000:0{number}:00.0", "compute_capability": cc}
            for number, cc in enumerate(capabilities, 1)]  # fmt: skip
    in_use = {"nvidia__driver__version": driver, "nvidia__kernel_module__version": driver} if driver else {"nvidia__module__loaded": False}
    return derived("cuda", gpus=gpus, os__id="ubuntu", os__version="24.04", **in_use, **given)


@pytest.mark.parametrize(
    ("capability", "driver", "flavour", "release"),
    [
        ("8.9", "580.95.05", "cu130", "2.15.0"),
        ("8.9", "570.124.06", "cu126", "2.14.1"),  # the newest torch that serves, not the newest CUDA
        ("12.0", "570.124.06", "cu128", "2.10.0"),  # Blackwell has no code in cu126
        ("6.1", "580.95.05", "cu126", "2.14.1"),  # Pascal has none in cu130, whatever the driver
        ("5.2", "470.256.02", "cu118", "2.7.1"),
        ("8.6", "450.119.03", "cu118", "2.7.1"),
    ],
)
def test_the_newest_torch_for_driver_and_card(capability: str, driver: str, flavour: str, release: str) -> None:
    facts = nvidia(capability, driver=driver)
    assert (facts.value("setup.cuda.flavour"), facts.value("setup.cuda.release")) == (flavour, release)
    assert facts.value("setup.cuda.driver_ok") is True
    assert facts.value("setup.cuda.index") == f"pytorch/{flavour}"


def test_every_card_is_served() -> None:
    assert nvidia("6.1", "8.9", driver="580.95.05").value("setup.cuda.flavour") == "cu126"
    facts = nvidia("6.1", "12.0", driver="580.95.05")
    assert not facts.known("setup.cuda.flavour")
    assert "6.1, 12.0" in facts.value("setup.cuda.problem")


@pytest.mark.parametrize(
    ("asked", "capability", "driver", "flavour", "driver_ok"),
    [
        ("2.8", "8.9", "570.124.06", "cu128", True),
        ("2.8", "6.1", "570.124.06", "cu126", True),
        ("2.0", "5.2", "580.95.05", "cu118", True),
        ("2.15", "8.9", "570.124.06", "cu130", False),  # the driver must change
        ("2.15", "8.9", None, "cu130", False),
    ],
)
def test_what_was_asked_decides(asked: str, capability: str, driver: str | None, flavour: str, driver_ok: bool) -> None:
    facts = nvidia(capability, driver=driver, setup__torch=asked)
    assert facts.value("setup.cuda.flavour") == flavour
    assert facts.value("setup.cuda.driver_ok") is driver_ok
    assert facts.value("setup.cuda.torch") == f"torch=={asked}.*"


@pytest.mark.parametrize("asked", ["2.15", "9.9"])
def test_what_no_build_serves_is_a_problem_in_words(asked: str) -> None:
    facts = nvidia("5.2", driver="580.95.05", setup__torch=asked)
    assert asked in facts.value("setup.cuda.problem")
    assert not facts.known("setup.cuda.index")


def test_without_a_card_the_newest_build_is_taken() -> None:
    facts = derived("cuda", gpus=[])
    assert (facts.value("setup.cuda.flavour"), facts.value("setup.cuda.release")) == ("cu130", "2.15.0")
    assert not facts.known("setup.cuda.driver_ok")


@pytest.mark.parametrize(("minors", "release"), [(["3.10"], "2.14.1"), (["3.10", "3.12"], "2.15.0"), (["3.8"], "2.15.0"), ([], "2.15.0")])
def test_the_release_that_is_named_has_a_wheel_for_the_python_that_is_used(minors: list[str], release: str) -> None:
    pythons = [{"path": f"/usr/bin/python{minor}", "minor": minor} for minor in minors]
    facts = nvidia("8.9", driver="580.95.05", python__interpreters=pythons)
    assert facts.value("setup.cuda.release") == release
    assert facts.value("setup.cuda.python") == (">=3.10,<3.15" if release == "2.14.1" else ">=3.11,<3.16")


def test_a_newer_torch_by_a_newer_driver_is_told() -> None:
    assert nvidia("8.9", driver="570.124.06").value("setup.cuda.newer_with_driver") == "2.15.0"
    assert not nvidia("6.1", driver="570.124.06").known("setup.cuda.newer_with_driver")


@pytest.mark.parametrize(
    ("capability", "driver", "major"), [("8.9", "580.95.05", "13"), ("6.1", "580.95.05", "12"), ("8.9", "550.54.15", "12")]
)
def test_jax_for_driver_and_card(capability: str, driver: str, major: str) -> None:
    assert nvidia(capability, driver=driver).value("setup.jax.cuda") == major


@pytest.mark.parametrize(
    ("os_id", "version", "capability", "source"),
    [
        ("ubuntu", "24.04", "8.9", "ubuntu"), ("debian", "12", "8.9", "nvidia-debian"), ("debian", "13", "8.9", "debian"),
        ("debian", "12", "3.7", "debian"), ("fedora", "43", "6.1", "fedora"), ("arch", "", "8.9", "arch"), ("arch", "", "6.1", "aur"),
        ("opensuse-tumbleweed", "", "8.9", "other"),
    ],
)  # fmt: skip
def test_whose_packages_bring_the_driver(os_id: str, version: str, capability: str, source: str) -> None:
    gpus = [{"vendor": "nvidia", "kind": "discrete", "name": "card", "address": "0000:01:00.0", "compute_capability": capability}]
    assert derived("cuda", gpus=gpus, os__id=os_id, os__version=version).value("setup.nvidia.from") == source


def amd(gfx: str, platform: str = "linux", kernel: str = "6.8.0", name: str = "rocm", **given: Any) -> Facts:
    gpus = [{"vendor": "amd", "kind": "discrete", "name": "Radeon", "address": "0000:03:00.0", "gfx": gfx, "driver": "amdgpu"}]
    return derived(name, gpus=gpus, gpu__vendors=["amd"], platform__kind=platform, kernel__version=kernel, **given)


def test_amd_builds_for_the_very_gpu() -> None:
    facts = amd("gfx1032")
    assert facts.value("setup.rocm.packages") == ["torch[device-gfx1032]", "torchvision[device-gfx1032]"]
    assert facts.value("setup.rocm.index") == "amd-rocm"
    assert not facts.known("setup.rocm.override")


def test_an_older_torch_needs_the_known_override() -> None:
    facts = amd("gfx1032", setup__torch="2.8")
    assert facts.value("setup.rocm.index") == "pytorch/rocm6.4"
    assert facts.value("setup.rocm.override") == "10.3.0"
    assert facts.value("setup.rocm.risky") is False
    assert amd("gfx1030", setup__torch="2.8").get("setup.rocm.override") == Absent("setup-rocm")


def test_an_override_of_other_instructions_is_risky() -> None:
    assert amd("gfx1010", setup__torch="2.8").value("setup.rocm.risky") is True


def test_no_wheel_newer_than_the_last_rocm_of_a_target() -> None:
    assert amd("gfx906").value("setup.rocm.index") == "pytorch/rocm6.3"


@pytest.mark.parametrize(("gfx", "platform"), [("gfx1030", "wsl2"), ("gfx906", "windows"), ("gfx803", "linux")])
def test_what_rocm_does_not_serve_is_a_problem_in_words(gfx: str, platform: str) -> None:
    facts = amd(gfx, platform)
    assert gfx in facts.value("setup.rocm.problem")
    assert not facts.known("setup.rocm.route")


def test_the_kernel_counts_for_rocm_10_only() -> None:
    assert amd("gfx1032", kernel="5.15.0").value("setup.amd.kernel_ok") is False
    assert amd("gfx1032", kernel="5.15.0", name="opencl").value("setup.amd.kernel_ok") is True
    assert amd("gfx1032", kernel="5.15.0", setup__torch="2.8").value("setup.amd.kernel_ok") is True
    assert amd("gfx1032", kernel="5.15.0", amd__driver__dkms=True).value("setup.amd.kernel_ok") is True


@pytest.mark.parametrize(
    ("os_id", "version", "gfx", "driver"),
    [("ubuntu", "22.04", "gfx1032", "rocm"), ("ubuntu", "22.04", "gfx803", "rusticl"), ("debian", "12", "gfx1032", "rusticl")],
)
def test_which_opencl_driver_a_radeon_gets(os_id: str, version: str, gfx: str, driver: str) -> None:
    assert amd(gfx, name="opencl", os__id=os_id, os__version=version).value("setup.amd.opencl") == driver


def test_opencl_on_the_processor_where_no_gpu_can_be_used() -> None:
    assert derived("opencl", gpu__vendors=[]).value("setup.opencl.cpu") is True
    assert derived("opencl", gpu__vendors=["nvidia"], platform__kind="wsl2").value("setup.opencl.cpu") is True
    closed = derived("opencl", gpu__vendors=["amd", "intel"], platform__kind="container", container__closed_vendors=["amd"])
    assert closed.value("setup.opencl.vendors") == ["intel"]


def interpreters(*minors: str) -> list[dict[str, Any]]:
    return [{"path": f"/usr/bin/python{minor}", "minor": minor, "venv": True} for minor in minors]


@pytest.mark.parametrize(
    ("here", "asked", "wheel"),
    [
        (("3.10",), None, "pytorch_ocl-0.1.0+torch2.4-cp310-none-linux_x86_64.whl"),
        (("3.10", "3.12"), None, "pytorch_ocl-0.2.0+torch2.4-cp312-none-linux_x86_64.whl"),
        (("3.13",), None, "pytorch_ocl-0.2.0+torch2.6-cp313-none-linux_x86_64.whl"),
        (("3.11",), None, "pytorch_ocl-0.2.0+torch2.4-cp312-none-linux_x86_64.whl"),
        (("3.12",), "2.6", "pytorch_ocl-0.2.0+torch2.6-cp312-none-linux_x86_64.whl"),
    ],
)
def test_the_wheel_whose_python_is_here(here: tuple[str, ...], asked: str | None, wheel: str) -> None:
    facts = derived("torch-opencl", python__interpreters=interpreters(*here), setup__torch=asked, env={"HOME": "/home/user"})
    assert facts.value("setup.ocl.wheel") == wheel
    assert facts.value("setup.ocl.path") == f"/home/user/Downloads/{wheel}"
    assert facts.value("setup.ocl.there") is False


def test_no_wheel_for_what_was_asked() -> None:
    facts = derived("torch-opencl", setup__torch="2.9")
    assert facts.get("setup.ocl.wheel") == Absent("setup-opencl")


def test_the_wheel_in_the_folder_is_found() -> None:
    name = "pytorch_ocl-0.1.0%2Btorch2.4-cp310-none-linux_x86_64.whl"  # as a browser may save it
    facts = derived(
        "torch-opencl", python__interpreters=interpreters("3.10"), setup__folder="/w", setup__files_at="/w", setup__files=[f"sub/{name}"]
    )
    assert facts.value("setup.ocl.path") == f"/w/sub/{name}"
    assert facts.value("setup.ocl.there") is True


SDK = [
    "poplar-ubuntu_20_04-3.3.0+7857/enable.sh", "popart-ubuntu_20_04-3.3.0+7857/enable.sh", "enable",
    "poptorch-3.3.0+113432_960e_ubuntu_20_04-cp38-cp38-linux_x86_64.whl",
    "tensorflow-2.6.3+gc3.3.0+251580+amd_znver1-cp38-cp38-linux_x86_64.whl",
    "tensorflow-2.6.3+gc3.3.0+251580+intel_skylake512-cp38-cp38-linux_x86_64.whl",
]  # fmt: skip


@pytest.mark.parametrize(("processor", "part"), [("AMD EPYC 7742", "amd_znver1"), ("Intel(R) Xeon(R) 8168", "intel_skylake512")])
def test_what_an_sdk_folder_holds(processor: str, part: str) -> None:
    facts = derived("poplar", setup__files_at="/sdk", setup__files=SDK, cpu__model=processor)
    assert facts.value("setup.poplar.sdk") == "3.3.0"
    assert facts.value("setup.poplar.enable") == [f"/sdk/{name}" for name in SDK[:2]]
    assert facts.value("setup.poplar.poptorch") == f"/sdk/{SDK[3]}"
    assert part in facts.value("setup.poplar.tensorflow")
    assert facts.value("setup.poplar.python") == ">=3.8,<3.9"
    assert facts.value("setup.poplar.torch") == "2.0.1"


def test_a_folder_without_an_sdk_is_none() -> None:
    facts = derived("poplar", setup__files_at="/home", setup__files=["notes.txt", "poptorch-3.3.0+1-cp38-cp38-linux_x86_64.whl"])
    assert not facts.known("setup.poplar.sdk")


@pytest.mark.parametrize(
    ("given", "hardware"),
    [
        ({"pci__devices": [{"vendor_id": "0x1d95", "device_id": "0x0001"}]}, "pcie"),
        ({"pci__devices": [], "env": {"IPUOF_VIPU_API_HOST": "10.1.1.1"}}, "fabric"),
        ({"pci__devices": []}, "model"),
    ],
)
def test_what_programs_will_run_on(given: dict[str, Any], hardware: str) -> None:
    assert derived("poplar", **given).value("setup.poplar.hardware") == hardware


@pytest.mark.parametrize(
    ("machine", "version", "asked", "packages"),
    [
        ("arm64", "14.6.1", None, ["torch"]), ("arm64", "12.7.6", None, ["torch==2.13.0"]),
        ("x86_64", "14.6.1", None, ["torch==2.2.2", "numpy<2"]),
        ("arm64", "12.7.6", "2.4", ["torch==2.4.*"]),
    ],
)  # fmt: skip
def test_the_last_torch_for_a_mac(machine: str, version: str, asked: str | None, packages: list[str]) -> None:
    facts = derived("mps", platform__kind="macos", platform__machine=machine, os__version=version, setup__torch=asked)
    assert facts.value("setup.torch_packages") == packages


def test_nothing_is_derived_for_a_check() -> None:
    gathered = Gathered(Facts({"platform.kind": Known("linux"), "gpus": Known([])}))
    derive(gathered)
    assert not [name for name in gathered.facts.names() if name.startswith("setup.")]
