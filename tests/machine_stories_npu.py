"""The stories of the recorded machines with a neural processing unit (NPU): what is there, and what a right diagnosis says."""

from __future__ import annotations

import json

from machine_builder import Machine

SEEN = {"imported": True, "error": None}
NODE = "/dev/accel/accel0"
INTEL_PACKAGES = ("intel-level-zero-npu", "intel-driver-compiler-npu", "intel-fw-npu")
XRT_PLUGIN = "/opt/xilinx/xrt/lib/libxrt_driver_xdna.so"
DPKG = ("dpkg-query", "-W", "-f=${db:Status-Abbrev}\\t${binary:Package}\\t${Version}\\n")
OPENVINO = {"openvino": "2026.4.1", "numpy": "2.1.0"}
VITIS = {"onnxruntime-vitisai": "1.23.3", "numpy": "1.26.4"}
CARDS = {"intel": ("0000:00:02.0", "8086:7d55", "i915"), "amd": ("0000:c4:00.0", "1002:150e", "amdgpu")}
NPUS = {"intel": ("0000:00:0b.0", "0x120000", "intel_vpu"), "amd": ("0000:c4:00.1", "0x118000", "amdxdna")}


def with_npu(
    name: str, vendor: str, ids: str, kernel: str, *, bound: bool = True, node: bool = True, log: str = "", groups: str = "",
    packages: tuple[str, ...] = (),
) -> Machine:  # fmt: skip
    """A laptop whose processor holds a GPU and an NPU. `bound`: a kernel driver has taken the NPU. `log`: the kernel's lines about it."""
    joined = groups or "1000(user),27(sudo),44(video),992(render)"
    machine = Machine(name).linux("ubuntu 24.04", kernel, joined)
    card, card_ids, card_driver = CARDS[vendor]
    address, kind, driver = NPUS[vendor]
    machine.pci(card, card_ids, driver=card_driver).pci(address, ids, kind=kind, driver=driver if bound else None, bar=128 << 20)
    if bound and node:
        machine.file(NODE).links["/sys/class/accel/accel0/device"] = f"../../../bus/pci/devices/{address}"
        machine.file("/sys/class/accel/accel0/dev", "261:0\n").modes[NODE] = ("crw-rw----", "render")
    machine.run(*DPKG, out="".join(f"ii \t{package}\t1.32.0\n" for package in ("bash", *packages)))
    machine.run("ldconfig", "-p", out="1 libs found in cache\n\tlibc.so.6 (libc6,x86-64) => /lib/x86_64-linux-gnu/libc.so.6\n")
    machine.file("/proc/cmdline", "BOOT_IMAGE=/vmlinuz quiet splash\n")
    return machine.run("dmesg", out=log or f"[    2.1] [drm] Initialized {driver} 1.0.0 for {address} on minor 0\n")


def intel(name: str, ids: str = "8086:7d1d", kernel: str = "6.17.0-8-generic", *, installed: bool = True, **given: object) -> Machine:
    return with_npu(name, "intel", ids, kernel, packages=INTEL_PACKAGES if installed else (), **given)  # type: ignore[arg-type]


def amd(name: str, ids: str = "1022:17f0", kernel: str = "6.17.0-8-generic", *, xrt: bool = True, **given: object) -> Machine:
    machine = with_npu(name, "amd", ids, kernel, **given)  # type: ignore[arg-type]
    machine.file("/proc/self/limits", "Max locked memory         unlimited            unlimited            bytes     \n")
    return machine.file("/opt/xilinx/xrt/setup.sh").file(XRT_PLUGIN) if xrt else machine


def openvino_lists(*names: str, graph: str | None = None) -> dict[str, object]:
    devices = [{"id": f"openvino:{name}", "name": name, "memory_bytes": None} for name in names]
    return {"openvino": {**SEEN, "version": "2026.4.1", "devices": devices, **({"npu_graph": graph} if graph else {})}}


def vitis_offers(*providers: str) -> dict[str, object]:
    devices = [{"id": f"ort:{name}", "name": name} for name in providers]
    return {"onnxruntime": {**SEEN, "version": "1.23.3", "devices": devices, "config": {"providers": [*providers, "CPUExecutionProvider"]}}}


FIRMWARE = "[    2.0] intel_vpu 0000:00:0b.0: [drm] Firmware: intel/vpu/vpu_37xx_v0.0.bin, version: 20261028*MTL_CLIENT_SILICON\n"
STARTED = "[    2.1] [drm] Initialized intel_vpu 1.0.0 for 0000:00:0b.0 on minor 0\n"
NO_FIRMWARE = "[    2.0] intel_vpu 0000:00:0b.0: [drm] *ERROR* ivpu_fw_request(): Failed to request firmware: -2\n"
NO_AMD_FIRMWARE = (
    "[    3.0] amdxdna 0000:c4:00.1: [drm] *ERROR* aie2_init: failed to request_firmware amdnpu/17f0_10/npu.sbin, ret -2\n"
    "[    3.1] amdxdna 0000:c4:00.1: probe with driver amdxdna failed with error -2\n"
)
XPU = [{"id": "xpu:0", "name": "Intel Arc Graphics", "memory_bytes": None}]
NOT_IN_RENDER = "1000(user),27(sudo),44(video)"
PROVIDER = "VitisAIExecutionProvider"


def mac_with(name: str, chip: str, system: str, *providers: str) -> Machine:
    machine = Machine(name, platform="macos").mac(chip, system)
    return machine.environment_of({"onnxruntime-silicon": "1.16.3", "numpy": "1.26.4"}, vitis_offers(*providers))


NPU_MACHINES = (
    intel("npu-meteor-lake-healthy", log=FIRMWARE + STARTED)
    .environment_of(OPENVINO, openvino_lists("CPU", "GPU", "NPU", graph="compiled")),
    intel("npu-lunar-lake-healthy", "8086:643e").environment_of(OPENVINO, openvino_lists("CPU", "GPU", "NPU", graph="compiled")),
    intel("npu-meteor-lake-nobody-uses-it", bound=False, installed=False, log="[    1.0] [drm] Initialized i915 1.6.0 for 0000:00:02.0\n")
    .environment_of({"torch": "2.8.0+xpu"}, {"torch": {**SEEN, "version": "2.8.0+xpu", "devices": XPU}}),
    intel("npu-meteor-lake-openvino-for-the-gpu", installed=False).environment_of(OPENVINO, openvino_lists("CPU", "GPU")),
    intel("npu-meteor-lake-old-kernel", kernel="6.2.0-39-generic", bound=False, log="[    1.0] [drm] Initialized i915 1.6.0\n")
    .environment_of(OPENVINO, openvino_lists("CPU")),
    intel("npu-lunar-lake-module-not-loaded", "8086:643e", bound=False, log="[    1.0] [drm] Initialized xe 1.1.0\n")
    .environment_of(OPENVINO, openvino_lists("CPU", "GPU")),
    intel("npu-meteor-lake-no-firmware", bound=False, log=NO_FIRMWARE).environment_of(OPENVINO, openvino_lists("CPU", "GPU")),
    intel("npu-meteor-lake-not-in-render", groups=NOT_IN_RENDER).environment_of(OPENVINO, openvino_lists("CPU")),
    intel("npu-arrow-lake-graph-refused", "8086:ad1d").environment_of(
        OPENVINO, openvino_lists("CPU", "GPU", "NPU", graph="RuntimeError: L0 pfnCreate2 result: ZE_RESULT_ERROR_UNKNOWN, code 0x7ffffffe")
    ),
    intel("npu-panther-lake-not-listed", "8086:b03e").environment_of(OPENVINO, openvino_lists("CPU", "GPU")),
    amd("npu-strix-healthy").environment_of(VITIS, vitis_offers(PROVIDER)),
    amd("npu-hawk-point-healthy", "1022:1502").environment_of(VITIS, vitis_offers(PROVIDER)),
    amd("npu-strix-nobody-uses-it", kernel="6.8.0-51-generic", bound=False, xrt=False, log="[    1.0] [drm] Initialized amdgpu 3.57.0\n")
    .environment_of({"torch": "2.8.0+cpu"}, {"torch": {**SEEN, "version": "2.8.0+cpu", "devices": []}}),
    amd("npu-strix-old-kernel", kernel="6.8.0-51-generic", bound=False, log="[    1.0] [drm] Initialized amdgpu 3.57.0\n")
    .environment_of(VITIS, vitis_offers(PROVIDER)),
    amd("npu-strix-no-firmware", bound=False, log=NO_AMD_FIRMWARE).environment_of(VITIS, vitis_offers(PROVIDER)),
    amd("npu-strix-not-in-render", groups=NOT_IN_RENDER).environment_of(VITIS, vitis_offers(PROVIDER)),
    amd("npu-strix-without-xrt", xrt=False).environment_of(VITIS, vitis_offers(PROVIDER)),
    amd("npu-hawk-point-iommu-off", "1022:1502")
    .file("/proc/cmdline", "BOOT_IMAGE=/vmlinuz quiet amd_iommu=off\n").environment_of(VITIS, vitis_offers(PROVIDER)),
    amd("npu-strix-small-memory-lock")
    .file("/proc/self/limits", "Max locked memory         8388608              8388608              bytes     \n")
    .environment_of(VITIS, vitis_offers(PROVIDER)),
    mac_with("macos-m3-coreml", "Apple M3", "14.6.1", "CoreMLExecutionProvider"),
    Machine("macos-m2-coremltools-system-12", platform="macos").mac("Apple M2", "12.7.6").environment_of({"coremltools": "8.1"}),
    Machine("windows-lunar-lake-openvino", platform="windows")
    .windows("Intel(R) Arc(TM) 140V GPU", "32.0.101.6734", "8086:64a0")
    .run(
        "powershell", "-NoProfile", "-Command",
        "Get-CimInstance Win32_PnPEntity -Filter \"PNPClass='ComputeAccelerator'\" | ConvertTo-Json",
        out=json.dumps({"Name": "Intel(R) AI Boost", "PNPDeviceID": "PCI\\VEN_8086&DEV_643E&SUBSYS_00000000&REV_04", "Status": "OK"}),
    )
    .environment_of(OPENVINO, openvino_lists("CPU", "GPU", "NPU", graph="compiled")),
)  # fmt: skip

# Errors (exactly these), the first broken rung (empty: none), verdicts of the stacks that matter.
NPU_EXPECTED: dict[str, tuple[list[str], str, dict[str, str]]] = {
    "npu-meteor-lake-healthy": ([], "", {"intel-npu": "ok", "openvino": "ok", "amd-xdna": "not-applicable"}),
    "npu-lunar-lake-healthy": ([], "", {"intel-npu": "ok"}),
    "npu-meteor-lake-nobody-uses-it": ([], "", {"intel-npu": "incomplete"}),
    "npu-meteor-lake-openvino-for-the-gpu": ([], "", {"intel-npu": "incomplete", "openvino": "ok"}),
    "npu-meteor-lake-old-kernel": (["intel-npu-driver-not-bound"], "intel-npu/kernel-driver", {"intel-npu": "broken"}),
    "npu-lunar-lake-module-not-loaded": (["intel-npu-driver-not-bound"], "intel-npu/kernel-driver", {"intel-npu": "broken"}),
    "npu-meteor-lake-no-firmware": (["intel-npu-firmware-not-loaded"], "intel-npu/firmware", {"intel-npu": "broken"}),
    "npu-meteor-lake-not-in-render": (
        ["npu-node-not-accessible", "render-node-not-accessible"],
        "openvino/device-node",
        {"intel-npu": "broken", "openvino": "broken"},
    ),
    "npu-arrow-lake-graph-refused": (["intel-npu-graph-not-compiled"], "intel-npu/compute", {"intel-npu": "broken", "openvino": "ok"}),
    "npu-panther-lake-not-listed": ([], "", {"intel-npu": "incomplete"}),
    "npu-strix-healthy": ([], "", {"amd-xdna": "ok", "intel-npu": "not-applicable"}),
    "npu-hawk-point-healthy": ([], "", {"amd-xdna": "ok"}),
    "npu-strix-nobody-uses-it": ([], "", {"amd-xdna": "incomplete", "torch-cpu": "ok"}),
    "npu-strix-old-kernel": (["amd-npu-driver-not-bound"], "amd-xdna/kernel-driver", {"amd-xdna": "broken"}),
    "npu-strix-no-firmware": (["amd-npu-firmware-not-loaded"], "amd-xdna/firmware", {"amd-xdna": "broken"}),
    "npu-strix-not-in-render": (["npu-node-not-accessible"], "amd-xdna/device-node", {"amd-xdna": "broken"}),
    "npu-strix-without-xrt": (["amd-npu-runtime-missing"], "amd-xdna/user-driver", {"amd-xdna": "broken"}),
    "npu-hawk-point-iommu-off": (["amd-npu-iommu-off"], "amd-xdna/device-node", {"amd-xdna": "broken"}),
    "npu-strix-small-memory-lock": ([], "", {"amd-xdna": "ok"}),
    "macos-m3-coreml": ([], "", {"apple-ane": "ok", "torch-mps": "incomplete"}),
    "macos-m2-coremltools-system-12": ([], "", {"apple-ane": "incomplete"}),
    "windows-lunar-lake-openvino": ([], "", {"intel-npu": "ok"}),
}
NPU_ALSO = {
    "npu-strix-small-memory-lock": ["amd-npu-memory-lock-small"],
    "macos-m2-coremltools-system-12": ["coremltools-cpu-and-ne-needs-macos-13"],
}
for machine in NPU_MACHINES:
    errors, first, verdicts = NPU_EXPECTED[machine.name]
    told = {name.replace("-", "_"): verdict for name, verdict in verdicts.items()}
    machine.expect(errors, first, NPU_ALSO.get(machine.name, ()), **told)
