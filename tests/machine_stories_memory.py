"""The stories of the recorded machines whose GPU shares main memory, or whose memory other programs hold."""

from __future__ import annotations

import json

from machine_builder import Machine
from machine_stories import KFD, ROCM_WHEEL, SEEN, XPU_WHEEL, torch_sees

MIB, GIB = 1 << 20, 1 << 30
ARC, APU = "0000:03:00.0", "0000:c4:00.0"
CPU_TORCH = {"torch": "2.7.1+cpu", "numpy": "2.1.0"}
BLIND = {"torch": {**SEEN, "version": "2.7.1+cpu", "devices": []}}


def opened(machine: Machine, pid: int, name: str, address: str, *lines: str, client: int = 7, descriptor: int = 9) -> Machine:
    """A process that has a render node open. `lines`: what the kernel counts for this client, 'resident-vram0: 512 MiB'."""
    machine.links[f"/proc/{pid}/fd/{descriptor}"] = "/dev/dri/renderD128"
    said = "".join(f"drm-{line.replace(': ', ':' + chr(9))}\n" for line in (f"client-id: {client}", f"pdev: {address}", *lines))
    return machine.file(f"/proc/{pid}/fdinfo/{descriptor}", f"pos:\t0\nflags:\t02100002\n{said}").file(f"/proc/{pid}/comm", f"{name}\n")


def arc(name: str, ids: str, device: str, driver: str, size: int) -> Machine:
    """A discrete card of Intel, of which OpenCL says how large its memory is."""
    machine = Machine(name).linux("ubuntu 24.04", "6.17.0-8-generic").pci(ARC, ids, driver=driver)
    record = {
        "CL_DEVICE_NAME": device, "CL_DEVICE_VENDOR": "Intel(R) Corporation", "CL_DEVICE_GLOBAL_MEM_SIZE": size,
        "CL_DEVICE_TYPE": {"raw": 4, "type": ["CL_DEVICE_TYPE_GPU"]},
    }  # fmt: skip
    platform = {"CL_PLATFORM_NAME": "Intel(R) OpenCL Graphics", "CL_PLATFORM_VERSION": "OpenCL 3.0"}
    machine.run("clinfo", "--json", out=json.dumps({"platforms": [platform], "devices": [{"online": [record]}]}))
    machine.file("/etc/OpenCL/vendors/intel.icd", "/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so\n")
    machine.file("/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so")
    return machine.environment_of(XPU_WHEEL, torch_sees(device, "xpu:0"))


def with_xpu_smi(machine: Machine, device: str, used: str) -> Machine:
    row = {"device_id": 0, "device_name": device, "pci_bdf_address": ARC, "drm_device": "/dev/dri/card0"}
    machine.run("xpu-smi", "discovery", "-j", out=json.dumps({"device_list": [row]}))
    head = (
        "Timestamp, DeviceId, GPU Utilization (%), GPU Power (W), GPU Frequency (MHz), "
        "GPU Core Temperature (Celsius Degree), GPU Memory Used (MiB)"
    )
    return machine.run(
        "xpu-smi", "dump", "-d", "0", "-m", "0,1,2,3,18", "-n", "1", out=f"{head}\n06:14:46.000,    0, 0.00, 14.61,  600, 45.00, {used}\n"
    )


def apu(name: str, ids: str, kernel: str, vram: int, gtt: int, *, used: tuple[int, int] = (64 * MIB, 64 * MIB)) -> Machine:
    """A processor of AMD with a GPU. `vram`: what the firmware sets aside; `gtt`: the main memory that the driver maps."""
    machine = Machine(name).linux("ubuntu 24.04", kernel).pci(APU, ids, driver="amdgpu", bar=256 * MIB).file("/dev/kfd")
    machine.modes.update(KFD)
    return machine.amd_memory(APU, (vram, used[0]), (gtt, used[1])).environment_of(CPU_TORCH, BLIND)


A770, B580 = "Intel(R) Arc(TM) A770 Graphics", "Intel(R) Arc(TM) B580 Graphics"
MEMORY_MACHINES = (
    opened(
        opened(arc("arc-b580-memory-held-xe", "8086:e20b", B580, "xe", 12 * GIB), 4711, "llama-server", ARC,
               "driver: xe", "total-system: 0", "resident-gtt: 2 MiB", "total-vram0: 12000 MiB", "resident-vram0: 11900 MiB",
               "cycles-ccs: 386293167", "total-cycles-ccs: 18956600119"),
        812, "Xorg", ARC, "driver: xe", "resident-vram0: 65536 KiB", client=3,
    ).expect([], "", ["gpu-memory-mostly-in-use"]).memory(ARC, usable_bytes=12 * GIB, used_bytes=11964 * MIB),
    opened(
        opened(arc("arc-a770-memory-one-client-twice", "8086:56a0", A770, "i915", 16 * GIB), 4711, "python3", ARC,
               "driver: i915", "total-local0: 9000 MiB", "resident-local0: 8800 MiB", "resident-system0: 520 KiB",
               "resident-stolen-local0: 64 KiB", "engine-compute: 82420 ns"),
        4711, "python3", ARC, "driver: i915", "resident-local0: 8800 MiB", "resident-stolen-local0: 64 KiB", descriptor=10,
    ).expect(never=["gpu-memory-mostly-in-use"]).memory(ARC, usable_bytes=16 * GIB, used_bytes=8800 * MIB + 64 * 1024),
    with_xpu_smi(
        opened(arc("arc-a770-memory-by-xpu-smi", "8086:56a0", A770, "i915", 16 * GIB), 4711, "python3", ARC, "resident-local0: 512 MiB"),
        A770, "15400.00",
    ).expect([], "", ["gpu-memory-mostly-in-use"])
    .memory(ARC, usable_bytes=16 * GIB, used_bytes=15400 * MIB, free_bytes=16 * GIB - 15400 * MIB),
    opened(
        Machine("laptop-meteor-lake-memory-shared").linux("ubuntu 24.04", "6.17.0-8-generic")
        .pci("0000:00:02.0", "8086:7d55", driver="i915", bar=256 * MIB).environment_of(CPU_TORCH, BLIND),
        4711, "firefox", "0000:00:02.0", "driver: i915", "resident-system0: 409600 KiB", "resident-stolen-system0: 1048576",
    ).expect(never=["gpu-memory-mostly-in-use"]).memory("0000:00:02.0", used_bytes=401 * MIB),
    apu("apu-phoenix-small-carve-out", "1002:15bf", "6.17.0-8-generic", 512 * MIB, 30 * GIB)
    .expect(never=["apu-memory-limited-by-kernel"]).memory(APU, usable_bytes=30 * GIB, dedicated_bytes=512 * MIB),
    apu("apu-phoenix-kernel-6.8", "1002:15bf", "6.8.0-51-generic", 512 * MIB, 30 * GIB)
    .env(HSA_OVERRIDE_GFX_VERSION="11.0.0").environment_of(ROCM_WHEEL, torch_sees("AMD Radeon 780M"))
    .expect([], "", ["apu-memory-limited-by-kernel"]).memory(APU, usable_bytes=512 * MIB, shared_bytes=30 * GIB),
    apu("apu-strix-halo-large-carve-out", "1002:1586", "6.17.0-8-generic", 96 * GIB, 16 * GIB)
    .expect(never=["apu-memory-limited-by-kernel"]).memory(APU, usable_bytes=96 * GIB, dedicated_bytes=96 * GIB),
    apu("apu-strix-halo-gtt-120", "1002:1586", "6.17.0-8-generic", 512 * MIB, 120 * GIB)
    .expect(never=["apu-memory-limited-by-kernel"]).memory(APU, usable_bytes=120 * GIB, dedicated_bytes=512 * MIB),
    apu("apu-strix-halo-memory-held", "1002:1586", "6.17.0-8-generic", 512 * MIB, 60 * GIB, used=(400 * MIB, 58 * GIB))
    .expect([], "", ["gpu-memory-mostly-in-use"]).memory(APU, usable_bytes=60 * GIB, used_bytes=58 * GIB),
)  # fmt: skip
