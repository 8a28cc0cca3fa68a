"""What the Vulkan probe reads: both forms of vulkaninfo, manifests, the variables that move the loader; what is derived of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpudoctor.capture.recorded_host import open_recorded
from gpudoctor.facts.derive import vulkan as derived
from gpudoctor.facts.probes import _vulkaninfo, vulkan
from gpudoctor.model.facts import Absent, Facts, Known, Unknown

SUMMARY = """WARNING: [Loader Message] Code 0 : something
==========
VULKANINFO
==========

Vulkan Instance Version: 1.3.275


Devices:
========
GPU0:
\tapiVersion         = 4206847 (1.3.255)
\tvendorID           = 0x8086
\tdeviceID           = 0x56a0
\tdeviceType         = PHYSICAL_DEVICE_TYPE_DISCRETE_GPU
\tdeviceName         = Intel(R) Arc(tm) A770 Graphics (DG2)
\tdriverID           = DRIVER_ID_INTEL_OPEN_SOURCE_MESA
\tdriverName         = Intel open-source Mesa driver
\tdriverInfo         = Mesa 24.0.9
GPU1:
\tvendorID           = 0x10005
\tdeviceID           = 0x0000
\tdeviceType         = PHYSICAL_DEVICE_TYPE_CPU
\tdeviceName         = llvmpipe (LLVM 17.0.6, 256 bits)
\tdriverID           = DRIVER_ID_MESA_LLVMPIPE
"""
WHOLE = """Vulkan Instance Version: 1.3.239
Device Properties and Extensions:
=================================
GPU0:
VkPhysicalDeviceProperties:
\tvendorID          = 0x1002
\tdeviceID          = 0x73bf
\tdeviceType        = PHYSICAL_DEVICE_TYPE_DISCRETE_GPU
\tdeviceName        = Card
{limits}
\tsubgroupSize      = 64
\tmaxMemoryAllocationSize = 0xfffffffc
\tmaxBufferSize = 0x100000000
\tVK_KHR_cooperative_matrix : extension revision 2
memoryHeaps: count = 2
\tmemoryHeaps[0]:
\t\tsize   = 16777216000 (0x3e8000000) (15.62 GiB)
\t\tflags: count = 1
\t\t\tNone
\tmemoryHeaps[1]:
\t\tsize   = 8589934592 (0x200000000) (8.00 GiB)
\t\tflags: count = 1
\t\t\tMEMORY_HEAP_DEVICE_LOCAL_BIT
memoryTypes: count = 1
\tstorageBuffer16BitAccess = true
\tshaderFloat16 = false
""".format(limits="\n".join(f"\tmaxLimit{number} = 1" for number in range(60)))


def test_the_summary() -> None:
    parsed = _vulkaninfo.parse(SUMMARY)
    assert parsed is not None
    (card, processor), version = parsed
    assert version == "1.3.275"
    assert (card["vendor"], card["device_id"], card["type"], card["driver"], card["api_version"]) == (
        "intel", "56a0", "discrete", "anv", "1.3.255"
    )  # fmt: skip
    assert (processor["vendor"], processor["type"], processor["driver"]) == ("cpu", "cpu", "lavapipe")
    assert isinstance(card["storage_16bit"], Unknown) and isinstance(card["memory_bytes"], Unknown)


def test_the_limits_of_the_whole_listing() -> None:
    parsed = _vulkaninfo.parse(WHOLE)
    assert parsed is not None
    card = parsed[0][0]
    assert (card["memory_bytes"], card["max_alloc_bytes"], card["max_buffer_bytes"], card["subgroup_size"]) == (
        8589934592, 0xFFFFFFFC, 0x100000000, 64
    )  # fmt: skip
    assert (card["storage_16bit"], card["fp16"], card["cooperative_matrix"]) == (True, False, True)


@pytest.mark.parametrize("text", ["", "vulkaninfo: command not found", "GPU0:\n\tdeviceName = Card\n", "Cannot create Vulkan instance."])
def test_what_is_no_answer(text: str) -> None:
    assert _vulkaninfo.parse(text) is None


@pytest.mark.parametrize(
    ("file", "library", "driver"),
    [
        ("radeon_icd.x86_64.json", "libvulkan_radeon.so", "radv"), ("amd_icd64.json", "/usr/lib/amdvlk64.so", "amdvlk"),
        ("intel_hasvk_icd.x86_64.json", "libvulkan_intel_hasvk.so", "hasvk"), ("intel_icd.x86_64.json", "libvulkan_intel.so", "anv"),
        ("nvidia_icd.json", "libGLX_nvidia.so.0", "nvidia"), ("lvp_icd.x86_64.json", "libvulkan_lvp.so", "lavapipe"),
        ("dzn_icd.x86_64.json", "libvulkan_dzn.so", "dzn"), ("own.json", "libGLX_nvidia.so.0", "nvidia"), ("own.json", "own.so", "other"),
    ],
)  # fmt: skip
def test_whose_driver(file: str, library: str, driver: str) -> None:
    assert vulkan.driver_of(f"/usr/share/vulkan/icd.d/{file}", library) == driver


def recorded(tmp_path: Path, files: dict[str, str], env: str = "", listing: str | None = None) -> dict[str, object]:
    (tmp_path / "machine.toml").write_text('format = 1\nplatform = "linux"\n')
    (tmp_path / "env.toml").write_text(env)
    commands = [] if listing is None else [{"argv": ["vulkaninfo", "--summary"], "rc": 0, "stdout": listing, "stderr": ""}]
    (tmp_path / "commands.jsonl").write_text("".join(json.dumps(command) + "\n" for command in commands))
    for path, text in files.items():
        file = tmp_path / "files" / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return dict(vulkan.collect(open_recorded(str(tmp_path)), Facts()))


def manifest(library: str) -> str:
    return json.dumps({"file_format_version": "1.0.0", "ICD": {"library_path": library, "api_version": "1.3.0"}})


def test_manifests_and_their_libraries(tmp_path: Path) -> None:
    found = recorded(tmp_path, {
        "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json": manifest("/usr/lib/libvulkan_radeon.so"),
        "/usr/lib/libvulkan_radeon.so": "", "/etc/vulkan/icd.d/broken.json": "{", "/etc/vulkan/icd.d/readme.txt": "no manifest",
        "/usr/share/vulkan/icd.d/own.json": manifest("../../lib/own.so"),
    })  # fmt: skip
    icds = found["vulkan.icds"]
    assert isinstance(icds, Known)
    said = {icd["file"]: (icd["driver"], icd["exists"], icd["clean"], icd["active"]) for icd in icds.value}
    assert said["/usr/share/vulkan/icd.d/radeon_icd.x86_64.json"] == ("radv", True, True, True)
    assert said["/etc/vulkan/icd.d/broken.json"][2] is False
    assert "/etc/vulkan/icd.d/readme.txt" not in said
    assert found["vulkan.moved_by"] == Absent("environment")


def test_a_library_in_a_folder_of_the_user_is_there(tmp_path: Path) -> None:
    files = {"/usr/share/vulkan/icd.d/own.json": manifest("libown.so"), "/opt/own/lib/libown.so": ""}
    icds = recorded(tmp_path, files, 'LD_LIBRARY_PATH = "/opt/none:/opt/own/lib/"\n')["vulkan.icds"]
    assert isinstance(icds, Known) and icds.value[0]["exists"] is True


@pytest.mark.parametrize("env", ['LD_LIBRARY_PATH = "/opt/sdk/lib"\n', 'CONDA_PREFIX = "/opt/sdk"\n'])
def test_a_loader_in_a_folder_of_the_user_is_there(tmp_path: Path, env: str) -> None:
    loader = "/opt/sdk/lib/libvulkan.so.1"
    assert recorded(tmp_path, {loader: ""}, env)["vulkan.loader"] == Known(loader, "libraries")


def test_a_variable_replaces_the_folders(tmp_path: Path) -> None:
    env = 'VK_ICD_FILENAMES = "/opt/old.json"\nVK_DRIVER_FILES = "/opt/mine.json:/opt/gone.json"\n'
    found = recorded(tmp_path, {
        "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json": manifest("/usr/lib/libvulkan_radeon.so"),
        "/opt/mine.json": manifest("/opt/mine.so"), "/opt/old.json": manifest("/opt/old.so"),
    }, env)  # fmt: skip
    icds = found["vulkan.icds"]
    assert isinstance(icds, Known)
    assert {icd["file"]: icd["active"] for icd in icds.value} == {
        "/opt/mine.json": True, "/opt/gone.json": True, "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json": False,
    }  # fmt: skip
    assert found["vulkan.moved_by"] == Known("VK_DRIVER_FILES", "environment")


def test_a_card_is_found_by_its_pci_ids(tmp_path: Path) -> None:
    devices = recorded(tmp_path, {}, listing=SUMMARY)["vulkan.devices"]
    assert isinstance(devices, Known)
    cards = [
        {"vendor": "intel", "pci_id": "8086:56a0", "kind": "discrete"},
        {"vendor": "intel", "pci_id": "8086:a780", "kind": "integrated"},
    ]
    facts = Facts({"gpus": Known(cards), "vulkan.devices": devices, "os.id": Known("arch"), "vulkan.icds": Known([])})
    found = dict(derived.derive(facts))
    gpus = found["vulkan.gpus"]
    assert isinstance(gpus, Known)
    assert [(gpu["seen"], gpu["registered"], gpu["install"]) for gpu in gpus.value] == [
        (True, False, "sudo pacman -S vulkan-intel"), (False, False, "sudo pacman -S vulkan-intel"),
    ]  # fmt: skip
    assert found["vulkan.gpu_seen"] == Known(True, "vulkan.devices")


def test_two_cards_of_a_kind_are_not_one_card_twice() -> None:
    pair = [{"name": "Card", "vendor": "amd", "vendor_id": "1002", "device_id": "73bf", "driver": driver} for driver in ("radv", "amdvlk")]
    for on_the_bus, twice in ((1, Known("amdvlk and radv", "vulkan.devices")), (2, Absent("vulkan.devices"))):
        gpus = Known([{"vendor": "amd", "pci_id": "1002:73bf"}] * on_the_bus)
        assert dict(derived.derive(Facts({"gpus": gpus, "vulkan.devices": Known(pair)})))["vulkan.twice"] == twice


def test_nothing_known() -> None:
    assert all(isinstance(fact, Unknown) for fact in dict(derived.derive(Facts())).values())
