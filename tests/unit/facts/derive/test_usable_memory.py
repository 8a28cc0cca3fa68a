"""How much memory of a GPU a program can use, and what fits into it."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.facts.derive import device_memory
from gpudoctor.model.facts import Facts, Known, Unknown

GIB = 2**30
UNSAID = Unknown("not recorded")
CARD = {"address": "0000:03:00.0", "name": "a card", "kind": "discrete", "pci_id": "1002:73bf"}
APU = {**CARD, "name": "an APU", "kind": "integrated", "vendor": "amd"}


def memory(gpu: dict[str, Any], **facts: Any) -> dict[str, Any]:
    known = Facts({name.replace("__", "."): Known(value) for name, value in {"gpus": [gpu], **facts}.items()})
    ((_, fact),) = device_memory.derive(known)
    assert isinstance(fact, Known)
    return dict(fact.value[0])


def amdgpu(vram: int, gtt: int, vram_used: Any = UNSAID, gtt_used: Any = UNSAID) -> list[dict[str, Any]]:
    return [{"address": CARD["address"], "vram_bytes": vram * GIB, "gtt_bytes": gtt * GIB,
             "vram_used_bytes": vram_used, "gtt_used_bytes": gtt_used}]  # fmt: skip


@pytest.mark.parametrize(
    ("release", "vram", "gtt", "usable"),
    [("6.14.0-29-generic", 1, 62, 62), ("6.8.0-51-generic", 1, 62, 1), ("6.14.0", 96, 16, 96), ("6.10.0-rc1", 2, 30, 30)],
)
def test_an_apu_is_not_judged_by_what_the_firmware_sets_aside(release: str, vram: int, gtt: int, usable: int) -> None:
    found = memory(APU, amd__memory=amdgpu(vram, gtt), kernel__release=release)
    assert found["usable_bytes"] == usable * GIB and found["unified"] and found["dedicated_bytes"] == vram * GIB
    assert ("GTT" in found["how"]) == (usable == gtt)


def test_the_use_of_an_apu_is_that_of_the_memory_it_takes() -> None:
    found = memory(APU, amd__memory=amdgpu(1, 62, GIB // 2, 2 * GIB), kernel__release="6.14.0")
    assert (found["used_bytes"], found["free_bytes"]) == (2 * GIB, 60 * GIB)


def test_a_card_has_its_video_memory_and_not_what_it_may_map() -> None:
    users = [{"pid": 4711, "name": "ollama", "bytes": 4 * GIB}]
    found = memory({**CARD, "vendor": "amd", "bar_bytes": GIB // 4}, amd__memory=amdgpu(16, 31, 4 * GIB), amd__memory__users=users)
    assert (found["usable_bytes"], found["free_bytes"], found["window_bytes"]) == (16 * GIB, 12 * GIB, GIB // 4)
    assert found["users"] == ["ollama (4711), 4096 MiB"] and not found["unified"] and found["used_share"] == 0.25


def test_nvidia_smi_says_what_is_there_and_in_use() -> None:
    row = {
        "address": CARD["address"],
        "name": "RTX 4090",
        "memory_bytes": 24 * GIB,
        "memory_used_bytes": 20 * GIB,
        "memory_users": ["a (1)"],
    }
    found = memory({**CARD, "vendor": "nvidia", "bar_bytes": 32 * GIB}, nvidia__devices=[row])
    assert (found["usable_bytes"], found["free_bytes"], found["users"], found["window_bytes"]) == (24 * GIB, 4 * GIB, ["a (1)"], None)


def test_a_gpu_without_memory_of_its_own_shares_main_memory() -> None:
    row = {"address": CARD["address"], "name": "NVIDIA GB10", "memory_bytes": Unknown("not recorded")}
    found = memory({**CARD, "vendor": "nvidia", "name": "GB10"}, nvidia__devices=[row], memory__total_bytes=120 * GIB)
    assert found["usable_bytes"] == 120 * GIB and found["unified"]
    unread = {**row, "name": "RTX 3060"}
    other = memory({**CARD, "vendor": "nvidia", "name": "RTX 3060"}, nvidia__devices=[unread], memory__total_bytes=64 * GIB)
    assert isinstance(other["usable_bytes"], Unknown) and isinstance(other["fits_float16"], Unknown)


@pytest.mark.parametrize(("main", "usable"), [(24, 16), (36, 24), (64, 48)])
def test_a_mac_lends_a_share_of_main_memory(main: int, usable: int) -> None:
    gpu = {"name": "Apple M3", "vendor": "apple", "kind": "integrated"}
    found = memory(gpu, memory__total_bytes=main * GIB, macos__apple_silicon=True)
    assert found["usable_bytes"] == usable * GIB and found["unified"] and "estimate" in found["how"]


def test_a_runtime_says_what_an_integrated_gpu_of_intel_may_use() -> None:
    gpu = {**CARD, "vendor": "intel", "kind": "integrated"}
    device = {"type": "gpu", "vendor": "intel", "memory_bytes": 29 * GIB, "max_alloc_bytes": 4 * GIB}
    found = memory(gpu, opencl__devices=[{"type": "cpu", "vendor": "intel", "memory_bytes": 64 * GIB}, device])
    assert (found["usable_bytes"], found["largest_allocation_bytes"], found["unified"]) == (29 * GIB, 4 * GIB, True)
    assert isinstance(memory(gpu)["usable_bytes"], Unknown)
    assert memory(gpu, platform__kind="windows", memory__total_bytes=32 * GIB)["usable_bytes"] == 16 * GIB


def test_of_two_cards_of_a_vendor_each_has_its_own_device() -> None:
    cards = [{**CARD, "vendor": "intel", "address": "0000:03:00.0"}, {**CARD, "vendor": "intel", "address": "0000:04:00.0"}]
    devices = [{"type": "gpu", "vendor": "intel", "address": card["address"], "memory_bytes": size * GIB}
               for card, size in zip(cards, (16, 12), strict=True)]  # fmt: skip
    known = Facts({"gpus": Known(cards), "opencl.devices": Known(devices)})
    ((_, fact),) = device_memory.derive(known)
    assert isinstance(fact, Known) and [each["usable_bytes"] for each in fact.value] == [16 * GIB, 12 * GIB]
    nameless = [{**device, "address": Unknown("not recorded")} for device in devices]
    ((_, fact),) = device_memory.derive(Facts({"gpus": Known(cards), "opencl.devices": Known(nameless)}))
    assert isinstance(fact, Known) and all(isinstance(each["usable_bytes"], Unknown) for each in fact.value)


def test_parameters_follow_from_the_width_of_their_type() -> None:
    fits = device_memory.parameters(24 * GIB)
    assert fits == {"fits_float16": 11.0, "fits_int8": 23.0, "fits_4bit": 40.0, "trains": 1.4}
    assert set(device_memory.parameters(GIB // 4).values()) == {0.0}
