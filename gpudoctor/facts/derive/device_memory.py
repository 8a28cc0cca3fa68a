"""The memory of each GPU that a program can use, with its parts, and an estimate of how many parameters of a model fit into it.

An integrated GPU can use more than the memory that the firmware sets aside for it: its driver maps main memory as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.model.facts import Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.rules.versions import dotted

UNSAID = Unknown("not recorded")
WITHOUT_MEMORY = lazy(r"\b(?:GB10|Thor|Orin|Xavier|Tegra)\b", re.IGNORECASE)
"""NVIDIA GPUs that share main memory: nvidia-smi prints 'Not Supported' for their memory."""
APU_MAPS_MAIN_MEMORY = (6, 10)
"""The first Linux whose amdkfd allocates from GTT on APUs, where that is larger than what the firmware set aside."""
APPLE_LARGE = 36 * 2**30
"""Bytes of main memory from which on Metal recommends the larger share."""
APPLE_SHARES = (2 / 3, 3 / 4)
"""The shares of main memory that Metal recommends as working set (recommendedMaxWorkingSetSize), up to APPLE_LARGE and above it, as users
of MLX and llama.cpp measured them."""
WINDOWS_SHARE = 0.5
"""The share of main memory that Windows lends each adapter: https://learn.microsoft.com/windows-hardware/drivers/display/calculating-graphics-memory."""
KEPT_FREE, RUNTIME = 0.9, 500_000_000
"""Two assumptions of the estimate: the share of memory that weights may take, and the bytes that a runtime needs beside them."""
WIDTHS = {"fits_float16": 2.0, "fits_int8": 1.0, "fits_4bit": 4.5 / 8, "trains": 16.0}
"""Bytes that one parameter takes. Four bits come with their scales; training holds weights, gradients and both moments of AdamW in
float32."""


class Size(NamedTuple):
    """The bytes of a GPU that a program can use, how they are known, and the dedicated, shared and used ones; None where unknown."""

    usable: int | None
    how: str
    dedicated: int | None = None
    shared: int | None = None
    used: int | None = None
    users: Sequence[str] = ()
    unified: bool = False
    at_least: bool = False
    """`used` is what some of the users hold, so that what is free is unknown."""


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    gpus = facts.value("gpus")
    if gpus is None:
        yield "gpu_memory", facts.get("gpus")
        return
    found = [_record(gpu, facts, _alone(gpu, gpus)) for gpu in gpus if isinstance(gpu, Mapping)]
    yield "gpu_memory", Known(found, "sizes by driver and runtime")


def parameters(usable: int) -> dict[str, float]:
    """The billions of parameters that fit into so many bytes, by the names of WIDTHS, with two digits; 0.0 where none do."""
    room = max(usable * KEPT_FREE - RUNTIME, 0.0)
    return {name: float(f"{room / width / 1e9:.2g}") for name, width in WIDTHS.items()}


def _alone(gpu: Mapping[str, Any], gpus: Sequence[Any]) -> bool:
    """Whether this is the only GPU of its vendor, so that a device which a runtime lists without an address must be this one."""
    return len([each for each in gpus if isinstance(each, Mapping) and each.get("vendor") == gpu.get("vendor")]) == 1


def _record(gpu: Mapping[str, Any], facts: Facts, alone: bool) -> dict[str, Any]:
    runtime = _of_runtime(gpu, facts, alone)
    size = _SIZES.get(str(gpu.get("vendor")), _by_runtime)(gpu, facts, runtime)
    bar, dedicated = _whole(gpu.get("bar_bytes")), size.dedicated
    record: dict[str, Any] = {
        "address": gpu.get("address", UNSAID), "name": gpu.get("name"), "vendor": gpu.get("vendor"), "kind": gpu.get("kind", UNSAID),
        "usable_bytes": _or_unsaid(size.usable), "how": size.how or None, "dedicated_bytes": _or_unsaid(dedicated),
        "shared_bytes": _or_unsaid(size.shared), "shares_more": _shares_more(size), "unified": size.unified,
        "used_bytes": _or_unsaid(size.used),
        "free_bytes": UNSAID if size.usable is None or size.used is None or size.at_least else max(size.usable - size.used, 0),
        "used_share": UNSAID if not size.usable or size.used is None else min(size.used / size.usable, 1.0),
        "users": list(size.users), "window_bytes": bar if bar and dedicated and bar < dedicated else None,
        "largest_allocation_bytes": _or_unsaid(runtime.get("max_alloc_bytes")),
    }  # fmt: skip
    fits = parameters(size.usable) if size.usable is not None else dict.fromkeys(WIDTHS, UNSAID)
    return {**record, **fits}


def _shares_more(size: Size) -> Any:
    return UNSAID if size.shared is None or size.dedicated is None else size.shared > size.dedicated


def _or_unsaid(value: int | None) -> Any:
    return UNSAID if value is None else value


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _of_runtime(gpu: Mapping[str, Any], facts: Facts, alone: bool) -> dict[str, int]:
    """memory_bytes and max_alloc_bytes of this GPU by OpenCL, else by Vulkan; without them where neither lists it. Processors and emulated
    devices are not considered."""
    found: dict[str, int] = {}
    for name in ("opencl.devices", "vulkan.devices"):
        for device in facts.value(name, []):
            if isinstance(device, Mapping) and device.get("type") in ("gpu", gpu.get("kind")) and _is(device, gpu, alone):
                for field in ("memory_bytes", "max_alloc_bytes"):
                    size = _whole(device.get(field))
                    if size is not None:
                        found.setdefault(field, size)
    return found


def _is(device: Mapping[str, Any], gpu: Mapping[str, Any], alone: bool) -> bool:
    address, device_id = device.get("address"), device.get("device_id")
    if isinstance(address, str) and isinstance(gpu.get("address"), str):
        return bool(address == gpu["address"])
    if isinstance(device_id, str):
        return bool(f"{device.get('vendor_id')}:{device_id}" == gpu.get("pci_id"))
    return alone and device.get("vendor") == gpu.get("vendor")


def _nvidia(gpu: Mapping[str, Any], facts: Facts, runtime: Mapping[str, int]) -> Size:
    devices = [each for each in facts.value("nvidia.devices", []) if isinstance(each, Mapping)]
    row = next((each for each in devices if each.get("address") == gpu.get("address")), devices[0] if len(devices) == 1 else {})
    total, users = _whole(row.get("memory_bytes")), [name for name in row.get("memory_users") or () if isinstance(name, str)]
    if total is not None:
        used = row.get("memory_used_bytes")
        return Size(total, "memory of the card, by nvidia-smi", total, used=used if isinstance(used, int) else None, users=users)
    main = facts.value("memory.total_bytes")
    if main and WITHOUT_MEMORY.search(f"{gpu.get('name')} {row.get('name')}"):
        return Size(main, "main memory, which processor and GPU share", shared=main, users=users, unified=True)
    return _by_runtime(gpu, facts, runtime)


def _amd(gpu: Mapping[str, Any], facts: Facts, runtime: Mapping[str, int]) -> Size:
    rows = facts.value("amd.memory") or []
    row = next((each for each in rows if isinstance(each, Mapping) and each.get("address") == gpu.get("address")), None)
    vram = _whole(row.get("vram_bytes")) if row is not None else None
    if row is None or vram is None:
        return _by_runtime(gpu, facts, runtime)
    counted = {name: row[name] for name in ("vram_used_bytes", "gtt_used_bytes") if isinstance(row.get(name), int)}
    users = [f"{each.get('name')} ({each.get('pid')}), {each.get('bytes', 0) >> 20} MiB" for each in facts.value("amd.memory.users", [])]
    if gpu.get("kind") != "integrated":
        return Size(vram, "video memory, by amdgpu", vram, used=counted.get("vram_used_bytes"), users=users)
    mapped, release = _whole(row.get("gtt_bytes")), dotted(facts.value("kernel.release")) or ()
    new: bool = release >= APU_MAPS_MAIN_MEMORY
    if mapped is None or mapped <= vram or not new:
        why = "what the firmware sets aside; Vulkan can use main memory as well" if mapped else "what the firmware sets aside"
        return Size(vram, why, vram, mapped, counted.get("vram_used_bytes"), users, unified=True)
    return Size(mapped, "main memory that the driver maps (GTT)", vram, mapped, counted.get("gtt_used_bytes"), users, unified=True)


def _intel(gpu: Mapping[str, Any], facts: Facts, runtime: Mapping[str, int]) -> Size:
    """What the runtime lists, with what xpu-smi counts as used, else what the processes hold that this user may look at."""
    size, address = _by_runtime(gpu, facts, runtime), str(gpu.get("address")).lower()
    mine = [each for each in facts.value("intel.memory.users") or () if isinstance(each, Mapping) and each.get("address") == address]
    held = [(each, sum(each.get(name, 0) for name in ("bytes", *(("shared_bytes",) if size.unified else ())))) for each in mine]
    users = [f"{each.get('name')} ({each.get('pid')}), {total >> 20} MiB" for each, total in held if total]
    counted = facts.value("intel.memory.used") or ()
    used = next((each.get("bytes") for each in counted if isinstance(each, Mapping) and each.get("address") == address), None)
    if isinstance(used, int):
        return size._replace(used=used, users=users)
    return size._replace(used=sum(total for _, total in held) if held else None, users=users, at_least=True)


def _apple(gpu: Mapping[str, Any], facts: Facts, runtime: Mapping[str, int]) -> Size:
    main = facts.value("memory.total_bytes")
    if not main or facts.value("macos.apple_silicon") is not True:
        return _by_runtime(gpu, facts, runtime)
    usable = int(main * APPLE_SHARES[main > APPLE_LARGE])
    return Size(usable, "an estimate of what Metal recommends, of the memory that processor and GPU share", shared=main, unified=True)


def _by_runtime(gpu: Mapping[str, Any], facts: Facts, runtime: Mapping[str, int]) -> Size:
    said, main = _whole(runtime.get("memory_bytes")), facts.value("memory.total_bytes")
    own = _whole(gpu.get("memory_bytes"))
    if gpu.get("kind") == "integrated":
        if said is not None:
            return Size(said, "main memory, as much as the runtime lends it", own, said, unified=True)
        if facts.value("platform.kind") == "windows" and main:
            lent = int(main * WINDOWS_SHARE)
            return Size(lent, "half of main memory, which Windows lends it", own, lent, unified=True)
        return Size(None, "", own, unified=True)
    if said is not None or own is not None:
        usable = max(said or 0, own or 0)
        return Size(usable, "memory of the card" + (", by its runtime" if usable == said else ""), usable)
    return Size(None, "")


_SIZES = {"nvidia": _nvidia, "amd": _amd, "intel": _intel, "apple": _apple}

DERIVATION = Derivation(
    "device_memory",
    (
        FactSpec("gpu_memory", "records", "memory of each GPU that a program can use", item="gpu_memory", fields={
            "address": "PCI address", "name": "GPU", "vendor": "vendor", "kind": "discrete, integrated or accelerator",
            "usable_bytes": "bytes that a program can use", "how": "how that is known", "dedicated_bytes": "memory of its own",
            "shared_bytes": "main memory that it may use", "unified": "processor and GPU share memory",
            "shares_more": "it may use more main memory than it has memory of its own",
            "used_bytes": "in use now; of Intel GPUs without xpu-smi at least so much",
            "free_bytes": "left", "used_share": "share in use", "users": "programs that hold memory, the largest first",
            "window_bytes": "part that the processor can address, where that is not all of it (Resizable BAR is off)",
            "largest_allocation_bytes": "largest single allocation, by OpenCL or Vulkan",
            "fits_float16": "billions of parameters that fit in float16 or bfloat16 (an estimate: 90 % of the memory, less 0.5 GB)",
            "fits_int8": "the same in int8", "fits_4bit": "the same in four bits with their scales",
            "trains": "billions of parameters that AdamW can train in float32, without activations",
        }),
    ),
    derive,
)  # fmt: skip
