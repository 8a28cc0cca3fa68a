"""The stories of the recorded machines: what is there, and what a right diagnosis says."""

from __future__ import annotations

import json

from machine_builder import Machine

SEEN = {"imported": True, "error": None}
CUDA_WHEEL = {"torch": "2.7.1+cu128", "numpy": "2.1.0"}
ROCM_WHEEL = {"torch": "2.7.1+rocm6.3", "numpy": "2.1.0"}
XPU_WHEEL = {"torch": "2.7.1+xpu", "numpy": "2.1.0"}
KFD = {"/dev/kfd": ("crw-rw----", "render")}


def torch_sees(name: str, device: str = "cuda:0", libraries: list[dict[str, str]] | None = None) -> dict[str, object]:
    devices = [{"id": device, "name": name, "memory_bytes": 25769803776}]
    return {"torch": {**SEEN, "version": "2.7.1", "devices": devices, "libraries": libraries or []}}


def libcuda(path: str, origin: str) -> list[dict[str, str]]:
    return [{"soname": "libcuda.so.1", "path": path, "origin": origin}]


def linux(name: str, system: str = "ubuntu 22.04", kernel: str = "6.8.0-51-generic", **given: str) -> Machine:
    return Machine(name).linux(system, kernel, **given)


def amd(name: str, ids: str, **given: str) -> Machine:
    machine = linux(name, **given).pci("0000:03:00.0", ids, driver="amdgpu").file("/dev/kfd")
    machine.modes.update(KFD)
    return machine


SYSTEM_CUDA = libcuda("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "system")
TWO_CUDNN = [
    *SYSTEM_CUDA,
    {"soname": "libtorch_cuda.so", "path": "/home/user/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so", "origin": "wheel"},
    {"soname": "libcudnn.so.9", "path": "/home/user/venv/lib/python3.12/site-packages/nvidia/cudnn/lib/libcudnn.so.9", "origin": "wheel"},
    {"soname": "libcudnn.so.9", "path": "/usr/local/cuda/lib64/libcudnn.so.9", "origin": "toolkit"},
]


def torch_blind(libraries: list[dict[str, str]]) -> dict[str, object]:
    return {"torch": {**SEEN, "version": "2.7.1", "devices": [], "libraries": libraries}}


SIGNAL = {
    "torch": {"imported": False, "version": "2.7.1", "error": {"kind": "signal", "name": "SIGSEGV", "message": "signal 11"}, "devices": []}
}

POCL = json.dumps(
    {
        "platforms": [{"CL_PLATFORM_NAME": "Portable Computing Language", "CL_PLATFORM_VERSION": "OpenCL 3.0 PoCL 5.0"}],
        "devices": [
            {
                "online": [
                    {
                        "CL_DEVICE_NAME": "cpu-haswell-AMD Ryzen 9 5950X 16-Core Processor",
                        "CL_DEVICE_TYPE": {"raw": 2, "type": ["CL_DEVICE_TYPE_CPU"]},
                    }
                ]
            }
        ],
    }
)

MACHINES = (
    linux("arc-a750-old-kernel", kernel="5.15.0-105-generic").pci("0000:03:00.0", "8086:56a1").environment_of(XPU_WHEEL),
    linux("flex170-no-group", groups="1000(user)")
    .pci("0000:4d:00.0", "8086:56c0", kind="0x038000", driver="i915")
    .environment_of(XPU_WHEEL),
    linux("rtx4090-healthy").nvidia().environment_of(CUDA_WHEEL, torch_sees("NVIDIA GeForce RTX 4090", libraries=SYSTEM_CUDA)),
    linux("rtx4090-stub-libcuda")
    .nvidia()
    .environment_of(CUDA_WHEEL, torch_blind(libcuda("/usr/local/cuda-12.8/targets/x86_64-linux/lib/stubs/libcuda.so.1", "stub"))),
    linux("rtx4090-cudnn-of-the-toolkit").nvidia().environment_of(CUDA_WHEEL, torch_sees("NVIDIA GeForce RTX 4090", libraries=TWO_CUDNN)),
    linux("rtx4090-torch-crashes").nvidia().environment_of(CUDA_WHEEL, SIGNAL),
    linux("rtx4090-torch-not-inspected").nvidia().environment_of(CUDA_WHEEL),
    linux("rtx4090-smi-times-out").nvidia().run("nvidia-smi", timed_out=True).environment_of(CUDA_WHEEL),
    linux("rtx4090-ort-cuda13").nvidia().environment_of({"onnxruntime-gpu": "1.28.0", "numpy": "2.1.0"}),
    linux("rtx4090-ort-two-wheels").nvidia().environment_of({"onnxruntime-gpu": "1.20.2", "onnxruntime": "1.20.1", "numpy": "2.1.0"}),
    linux("rx7600-no-override").pci("0000:03:00.0", "1002:7480", driver="amdgpu").file("/dev/kfd").environment_of(ROCM_WHEEL),
    amd("rx7600-not-in-group", "1002:7480", groups="1000(user)").environment_of(ROCM_WHEEL),
    amd("rx6800-healthy", "1002:73bf")
    .amd_memory("0000:03:00.0", vram=(17163091968, 1258291200), gtt=(33500000000, 40000000))
    .environment_of(ROCM_WHEEL, torch_sees("AMD Radeon RX 6800")),
    amd("mi300x-healthy", "1002:74a1").environment_of(ROCM_WHEEL, torch_sees("AMD Instinct MI300X")),
    amd("rx6800-narrow-slot", "1002:73bf")
    .on_switch("0000:03:00.0", "1002", slot=("8.0 GT/s PCIe", "4"), own=("16.0 GT/s PCIe", "16"))
    .environment_of(ROCM_WHEEL, torch_sees("AMD Radeon RX 6800")),
    linux("arc-a770-whole-slot", kernel="6.8.0-51-generic")
    .pci("0000:03:00.0", "8086:56a0", driver="i915")
    .on_switch("0000:03:00.0", "8086", slot=("16.0 GT/s PCIe", "16"), own=("2.5 GT/s PCIe", "1"))
    .environment_of(XPU_WHEEL, torch_sees("Intel(R) Arc(TM) A770 Graphics", "xpu:0")),
    linux("ipu-healthy", "ubuntu 20.04", "5.4.0-182-generic").poplar().environment_of({"poptorch": "3.3.0+113432", "torch": "2.0.1+cpu"}),
    linux("ipu-sdk-not-enabled", "ubuntu 20.04", "5.4.0-182-generic")
    .poplar(enabled=False)
    .pci("0000:1a:00.0", "1d95:0001", kind="0x120000", driver="ipu_driver")
    .file("/dev/ipu0")
    .environment_of({"poptorch": "3.3.0", "torch": "2.0.1+cpu"}),
    linux("ipu-no-partition", "ubuntu 20.04", "5.4.0-182-generic")
    .poplar(partition=False)
    .environment_of({"poptorch": "3.3.0", "torch": "2.0.1+cpu"}),
    linux("ipu-other-sdk", "ubuntu 20.04", "5.4.0-182-generic").poplar("3.2.0").environment_of({"poptorch": "3.3.0", "torch": "2.0.1+cpu"}),
    linux("ipu-card-without-driver", "ubuntu 20.04", "5.4.0-182-generic")
    .file("/proc/modules", "nvme 1 1 - Live 0x0\n")
    .pci("0000:1a:00.0", "1d95:0001", kind="0x120000")
    .poplar(enabled=False)
    .environment_of({"poptorch": "3.3.0", "torch": "2.0.1+cpu"}),
    Machine("ipu-c2-healthy", python="3.6.9")
    .linux("ubuntu 18.04", "4.15.0-213-generic")
    .c2()
    .environment_of({"poptorch": "1.4.0+12374", "torch": "1.6.0+cpu"}),
    Machine("wsl2-b580", platform="wsl2")
    .linux("ubuntu 24.04", "5.15.153.1-microsoft-standard-WSL2")
    .file("/dev/dxg")
    .file("/usr/lib/wsl/lib/libdxcore.so")
    .windows("Intel(R) Arc(TM) B580 Graphics", "32.0.101.6734", "8086:e20b")
    .environment_of(XPU_WHEEL),
    linux("wsl1", kernel="4.4.0-19041-Microsoft").environment_of(CUDA_WHEEL),
    Machine("windows-rx7900-directml", platform="windows")
    .windows("AMD Radeon RX 7900 XTX", "32.0.12033.1030", "1002:744c")
    .environment_of({"torch-directml": "0.2.5.dev240914", "torch": "2.4.1", "numpy": "1.26.4"}),
    Machine("macos-m3-healthy", platform="macos").mac().environment_of({"torch": "2.9.0"}, torch_sees("Apple M3", "mps")),
    Machine("macos-m3-rosetta", platform="macos")
    .mac(machine="x86_64", translated="1")
    .environment_of({"torch": "2.2.2", "numpy": "1.26.4"}),
    Machine("macos-m1-system-11", platform="macos").mac("Apple M1", "11.7.10").environment_of({"torch": "2.2.2", "numpy": "1.26.4"}),
    linux("laptop-uhd-cpu-torch")
    .pci("0000:00:02.0", "8086:46a6", driver="i915")
    .environment_of({"torch": "2.7.1+cpu", "numpy": "2.1.0"}, {"torch": {**SEEN, "version": "2.7.1+cpu", "devices": []}}),
    linux("laptop-ryzen-cpu-torch")
    .pci("0000:04:00.0", "1002:1638", driver="amdgpu")
    .amd_memory("0000:04:00.0", vram=(536870912, 301989888), gtt=(14981840896, 104857600))
    .environment_of({"torch": "2.7.1+cpu", "numpy": "2.1.0"}, {"torch": {**SEEN, "version": "2.7.1+cpu", "devices": []}}),
    linux("pocl-on-a-processor")
    .pci("0000:00:02.0", "1234:1111", node=False)
    .run("clinfo", "--json", out=POCL)
    .file("/etc/OpenCL/vendors/pocl.icd", "libpocl.so.2\n")
    .environment_of({"numpy": "2.1.0", "pyopencl": "2024.3"}),
    linux("vm-virtio-only").pci("0000:00:02.0", "1af4:1050", driver="virtio-pci", node=False).environment_of({"torch": "2.7.1+cpu"}),
    linux("two-vendors")
    .nvidia()
    .pci("0000:00:02.0", "8086:4680", driver="i915")
    .environment_of(CUDA_WHEEL, torch_sees("NVIDIA GeForce RTX 4090", libraries=SYSTEM_CUDA)),
    linux("rtx3060-cpu-torch")
    .nvidia("550.144.03", "NVIDIA GeForce RTX 3060", "10de:2504", "8.6")
    .environment_of({"torch": "2.7.1+cpu", "numpy": "2.1.0"}),
)

# What a right diagnosis says: errors (exactly these), the first broken rung (empty: none), verdicts of the stacks that matter.
EXPECTED: dict[str, tuple[list[str], str, dict[str, str]]] = {
    "arc-a750-old-kernel": (["intel-kernel-too-old"], "torch-xpu/kernel-driver", {"torch-xpu": "broken", "torch-cuda": "not-applicable"}),
    "flex170-no-group": (["render-node-not-accessible"], "torch-xpu/device-node", {"torch-xpu": "broken"}),
    "rtx4090-healthy": ([], "", {"torch-cuda": "ok", "poplar": "not-applicable"}),
    "rtx4090-torch-crashes": (["framework-crashes"], "torch-cuda/framework", {"torch-cuda": "broken"}),
    "rtx4090-torch-not-inspected": ([], "", {"torch-cuda": "unknown"}),
    "rtx4090-smi-times-out": ([], "", {"torch-cuda": "unknown"}),
    "rtx4090-ort-cuda13": (
        ["onnxruntime-cuda-libraries-missing", "onnxruntime-driver-too-old-for-cuda"],
        "onnxruntime/user-driver", {"onnxruntime": "broken"}),
    "rx7600-not-in-group": (["amd-kfd-not-accessible"], "torch-rocm/device-node", {"torch-rocm": "broken"}),
    "rx6800-healthy": ([], "", {"torch-rocm": "ok"}),
    "rx6800-narrow-slot": ([], "", {"torch-rocm": "ok"}),
    "arc-a770-whole-slot": ([], "", {"torch-xpu": "unknown"}),
    "mi300x-healthy": ([], "", {"torch-rocm": "ok"}),
    "ipu-healthy": ([], "", {"poplar": "ok"}),
    "ipu-sdk-not-enabled": (["poplar-sdk-not-enabled"], "poplar/runtime", {"poplar": "broken"}),
    "ipu-no-partition": (["poplar-no-partition"], "poplar/device-node", {"poplar": "broken"}),
    "ipu-other-sdk": (["poptorch-sdk-mismatch"], "poplar/framework", {"poplar": "broken"}),
    "ipu-card-without-driver": (["ipu-driver-not-loaded", "poplar-sdk-not-enabled"], "poplar/kernel-driver", {"poplar": "broken"}),
    "ipu-c2-healthy": ([], "", {"poplar": "ok", "torch-cuda": "not-applicable"}),
    "wsl2-b580": ([], "", {"torch-xpu": "unknown"}),
    "wsl1": (["wsl1-has-no-gpu"], "torch-cuda/device", {"torch-cuda": "broken"}),
    "windows-rx7900-directml": ([], "", {"torch-directml": "ok"}),
    "macos-m3-healthy": ([], "", {"torch-mps": "ok"}),
    "macos-m3-rosetta": (["mps-python-under-rosetta"], "torch-mps/framework", {"torch-mps": "broken"}),
    "macos-m1-system-11": (["mps-macos-too-old"], "torch-mps/user-driver", {"torch-mps": "broken"}),
    "laptop-uhd-cpu-torch": ([], "", {"torch-cuda": "not-applicable"}),
    "laptop-ryzen-cpu-torch": ([], "", {"torch-cuda": "not-applicable"}),
    "pocl-on-a-processor": ([], "", {"torch-cuda": "not-applicable"}),
    "vm-virtio-only": ([], "", {"torch-cuda": "not-applicable"}),
    "two-vendors": ([], "", {"torch-cuda": "ok"}),
    "rtx3060-cpu-torch": (["torch-cpu-build-on-nvidia"], "torch-cuda/framework", {"torch-cuda": "broken"}),
    "rtx4090-ort-two-wheels": (
        ["onnxruntime-packages-overwrite-each-other"], "onnxruntime/framework", {"onnxruntime": "broken"},
    ),
    "rtx4090-stub-libcuda": (["cuda-stub-on-loader-path"], "torch-cuda/user-driver", {"torch-cuda": "broken"}),
    "rtx4090-cudnn-of-the-toolkit": ([], "", {"torch-cuda": "ok"}),
    "rx7600-no-override": ([], "", {"torch-rocm": "unknown"}),
}  # fmt: skip
ALSO = {"rtx4090-cudnn-of-the-toolkit": ["framework-libraries-from-elsewhere"], "rx6800-narrow-slot": ["pcie-link-narrow"]}
NEVER = {"arc-a770-whole-slot": ["pcie-link-narrow"]}
for machine in MACHINES:
    if machine.name in EXPECTED:
        errors, first, verdicts = EXPECTED[machine.name]
        hints = ALSO.get(machine.name, ())
        machine.expect(
            errors, first, hints, NEVER.get(machine.name, ()), **{name.replace("-", "_"): verdict for name, verdict in verdicts.items()}
        )
