"""What the OpenCL probe reads: every form of clinfo, ICD files, our own child."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpudoctor.capture.recorded_host import open_recorded
from gpudoctor.facts.derive import opencl as derived
from gpudoctor.facts.probes import _clinfo, opencl
from gpudoctor.model.facts import Facts, Known, Unknown

JSON = json.dumps({
    "platforms": [{"CL_PLATFORM_NAME": "NVIDIA CUDA", "CL_PLATFORM_VENDOR": "NVIDIA Corporation",
    "CL_PLATFORM_VERSION": "OpenCL 3.0"}, {"CL_PLATFORM_NAME": "rusticl"}],
    "devices": [{"online": [{
        "CL_DEVICE_NAME": "GeForce", "CL_DEVICE_VENDOR_ID": 4318, "CL_DEVICE_TYPE": {"raw": 4, "type": ["CL_DEVICE_TYPE_GPU"]},
        "CL_DEVICE_GLOBAL_MEM_SIZE": 1000, "CL_DEVICE_PCI_BUS_INFO_KHR": "PCI-E, 0000:0a:00.0",
        "CL_DEVICE_EXTENSIONS": "cl_khr_fp64 cl_khr_icd",
    }]}, {"online": []}],
    "icd_loader": {"CL_ICDL_VERSION": "2.3.1"},
})  # fmt: skip
RAW = """#PLATFORMS                                        2
  CL_PLATFORM_NAME                                NVIDIA CUDA
  CL_PLATFORM_VENDOR                              NVIDIA Corporation
  CL_PLATFORM_VERSION                             OpenCL 3.0

  CL_PLATFORM_NAME                                rusticl

[NV/*]     CL_PLATFORM_NAME                                NVIDIA CUDA
[NV/*]   #DEVICES                                          1
[NV/0]     CL_DEVICE_NAME                                  GeForce
[NV/0]     CL_DEVICE_VENDOR_ID                             0x10de
[NV/0]     CL_DEVICE_TYPE                                  CL_DEVICE_TYPE_GPU
[NV/0]     CL_DEVICE_GLOBAL_MEM_SIZE                       1000
[NV/0]     CL_DEVICE_PCI_BUS_INFO_KHR                      PCI-E, 0000:0a:00.0
[NV/0]     CL_DEVICE_EXTENSIONS                            cl_khr_fp64 cl_khr_icd

[MESA/*]   CL_PLATFORM_NAME                                rusticl
[MESA/*] #DEVICES                                          0
[OCLICD/*]   CL_ICDL_VERSION                                 2.3.1
"""
PLAIN = """Number of platforms                               2
  Platform Name                                   NVIDIA CUDA
  Platform Vendor                                 NVIDIA Corporation
  Platform Version                                OpenCL 3.0

  Platform Name                                   rusticl
  Platform Vendor                                 Mesa/X.org

  Platform Name                                   NVIDIA CUDA
Number of devices                                 1
  Device Name                                     GeForce
  Device Vendor ID                                0x10de
  Device Type                                     GPU
  Device PCI bus info (KHR)                       PCI-E, 0000:0a:00.0
  Global memory size                              1000 (1000B)
  Device Extensions                               cl_khr_fp64 cl_khr_icd

  Platform Name                                   rusticl
Number of devices                                 0

ICD loader properties
  ICD loader Version                              2.3.1
"""


@pytest.mark.parametrize(("parse", "text"), [(_clinfo.parse_json, JSON), (_clinfo.parse_raw, RAW), (_clinfo.parse_plain, PLAIN)])
def test_forms_agree(parse: object, text: str) -> None:
    answer = parse(text)  # type: ignore[operator]
    assert answer is not None
    platforms, loader = answer
    assert [p["name"] for p in platforms] == ["NVIDIA CUDA", "rusticl"]
    device = platforms[0]["devices"][0]
    assert (device["name"], device["type"], device["vendor"], device["address"], device["memory_bytes"]) == (
        "GeForce",
        "gpu",
        "nvidia",
        "0000:0a:00.0",
        1000,
    )
    assert (device["fp64"], device["fp16"]) == (True, False)
    assert platforms[1]["devices"] == [] and loader["CL_ICDL_VERSION"] == "2.3.1"


def test_list_form() -> None:
    platforms, _ = _clinfo.parse_list(
        "Platform #0: Portable Computing Language\n `-- Device #0: pthread-haswell-Some CPU\nPlatform #1: rusticl\n"
    )
    assert platforms[0]["devices"][0]["type"] == "cpu" and platforms[1]["devices"] == []
    assert _clinfo.parse_list("")[0] == []


@pytest.mark.parametrize("text", ["", "{", "clinfo: command not found", '{"platforms": 3}'])
def test_odd_text(text: str) -> None:
    assert _clinfo.parse_json(text) is None
    assert _clinfo.parse_raw(text) is None and _clinfo.parse_plain(text) is None


def test_child_answer() -> None:
    device = {"name": "d", "type": 2, "vendor_id": 32902}
    text = json.dumps({"loader": "libOpenCL.so.1", "status": 0, "error": "", "platforms": [{"name": "P", "devices": [device]}]})
    answer = _clinfo.parse_child(text)
    assert answer is not None
    assert (answer[0][0]["devices"][0]["type"], answer[0][0]["devices"][0]["vendor"]) == ("cpu", "cpu")
    assert _clinfo.parse_child("Segmentation fault") is None


@pytest.mark.parametrize(
    ("text", "library", "clean"),
    [
        ("libfoo.so.1\n", "libfoo.so.1", True),
        ("libfoo.so.1", "libfoo.so.1", True),
        ("libfoo.so.1\r\n", "libfoo.so.1", False),
        ("a.so\n# x\n", "a.so", False),
        ("", "", False),
    ],
)
def test_icd_files(text: str, library: str, clean: bool) -> None:
    assert opencl.parse_icd(text) == (library, clean)


@pytest.mark.parametrize(
    ("library", "file", "kind"),
    [
        ("libnvidia-opencl.so.1", "nvidia.icd", "nvidia"), ("/opt/rocm/lib/libamdocl64.so", "amdocl64.icd", "amd"),
        ("libRusticlOpenCL.so.1", "rusticl.icd", "rusticl"),
        ("libMesaOpenCL.so.1", "mesa.icd", "clover"), ("/usr/lib/intel-opencl/libigdrcl.so", "intel.icd", "intel"),
        ("/opt/intel/libintelocl.so", "intel64.icd", "intel-cpu"),
        ("libpocl.so.2.10.0", "pocl.icd", "pocl"), ("libwhat.so", "what.icd", "other"),
    ],
)  # fmt: skip
def test_whose_driver(library: str, file: str, kind: str) -> None:
    assert opencl.icd_kind(library, file) == kind


def test_a_variable_that_names_one_library(tmp_path: Path) -> None:
    """It is a driver by itself, listed once although a second loader's variable names it too, and hides the system's."""
    driver, vendors = "/e/lib/libintelocl.so", tmp_path / "files" / "etc" / "OpenCL" / "vendors"
    (tmp_path / "machine.toml").write_text('format = 1\nplatform = "linux"\n')
    (tmp_path / "env.toml").write_text(f'OCL_ICD_VENDORS = "{driver}"\nOCL_ICD_FILENAMES = "{driver}"\n')
    for path in (vendors / "pocl.icd", tmp_path / "files" / driver.lstrip("/")):
        path.parent.mkdir(parents=True)
        path.write_text("libpocl.so.2.10.0\n")
    found = dict(opencl.collect(open_recorded(str(tmp_path)), Facts()))["opencl.icds"]
    assert isinstance(found, Known)
    assert [(icd["file"], icd["library"], icd["vendor"], icd["active"]) for icd in found.value] == [
        ("/etc/OpenCL/vendors/pocl.icd", "libpocl.so.2.10.0", "pocl", False), ("OCL_ICD_VENDORS", driver, "intel-cpu", True),
    ]  # fmt: skip
    assert found.value[1]["exists"] is True


def test_gpu_without_driver() -> None:
    facts = Facts({
        "gpus": Known([{"vendor": "intel", "address": "0000:00:02.0", "kind": "integrated"}]), "os.id": Known("fedora"),
        "opencl.platforms": Known([{"name": "Portable Computing Language", "devices": [{"type": "cpu"}]}], "clinfo"),
        "opencl.devices": Known([{"type": "cpu", "name": "c", "vendor": "cpu", "index": 0}]),
        "opencl.icds": Known([{"vendor": "pocl", "active": True, "exists": True, "readable": True}]),
    })  # fmt: skip
    found = dict(derived.derive(facts))
    gpu = found["opencl.gpus"].value[0]  # type: ignore[union-attr]
    assert (gpu["seen"], gpu["registered"], gpu["install"]) == (False, False, "sudo dnf install intel-compute-runtime")
    assert found["opencl.gpu_seen"] == Known(False, "opencl.devices")


def test_nothing_known() -> None:
    found = dict(derived.derive(Facts()))
    assert all(isinstance(fact, Unknown) for name, fact in found.items() if name != "opencl.private_loader")
