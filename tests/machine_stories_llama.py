"""The stories of the recorded machines with a SYCL or OpenCL build of llama.cpp."""

from __future__ import annotations

from collections.abc import Sequence

from machine_builder import Machine
from machine_stories import KFD

FOLDER = "/opt/llama"
ARC = "Intel(R) Arc(TM) A770 Graphics"
SYCL_CPU = "[opencl:cpu][opencl:0] Intel(R) OpenCL, Intel(R) Core(TM) i7-13700K OpenCL 3.0 (Build 0) [2026.19.10.0.10_160000]\n"
SYCL_GPU = f"[level_zero:gpu][level_zero:0] Intel(R) oneAPI Unified Runtime over Level-Zero, {ARC} 12.55.8 [1.13.35563]\n"
NOT_FOUND = "not found"
VERSION = "version: 9001 (a1b2c3d)\nbuilt with IntelLLVM 2026.1.0 for Linux x86_64\n"


def built(machine: Machine, backend: str, devices: Sequence[str] = (), needs: Sequence[tuple[str, str]] = ()) -> Machine:
    """A release of llama.cpp with one backend for GPUs. `devices`: the lines of --list-devices; `needs`: (library, where it was found)."""
    machine.env(PATH=f"/home/user/venv/bin:{FOLDER}:/usr/bin:/bin")
    for name in ("llama-server", "libggml-base.so", "libggml-cpu-haswell.so", f"libggml-{backend}.so"):
        machine.file(f"{FOLDER}/{name}")
    listing = "".join(f"  {line}\n" for line in devices)
    machine.run("llama-server", "--list-devices", out=f"Available devices:\n{listing}")
    machine.run("llama-server", "--version", out=VERSION)
    rows = "".join(f"\t{name} => {path}\n" for name, path in needs)
    return machine.run("ldd", f"{FOLDER}/libggml-{backend}.so", out=rows).environment_of({"numpy": "2.1.0"})


def arc(name: str, sycl: str = SYCL_CPU + SYCL_GPU, opencl: bool = True) -> Machine:
    """An Arc A770. `sycl`: what sycl-ls prints; `opencl`: whether its OpenCL driver is installed."""
    machine = Machine(name).linux("ubuntu 24.04", "6.17.0-8-generic").pci("0000:03:00.0", "8086:56a0", driver="i915")
    platform = f"Platform #0: Intel(R) OpenCL Graphics\n `-- Device #0: {ARC}\n" if opencl else ""
    if opencl:
        machine.file("/etc/OpenCL/vendors/intel.icd", "/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so\n")
        machine.file("/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so")
    machine.run("sycl-ls", out=sycl).run("clinfo", "-l", out=platform)
    library = "/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1"
    machine.file(library)
    return machine.run("ldconfig", "-p", out=f"1 libs found in cache\n\tlibze_intel_gpu.so.1 (libc6,x86-64) => {library}\n")


def nvidia(name: str) -> Machine:
    return Machine(name).linux("ubuntu 24.04", "6.8.0-51-generic").nvidia()


def radeon(name: str) -> Machine:
    machine = Machine(name).linux("ubuntu 24.04", "6.8.0-51-generic").pci("0000:03:00.0", "1002:73bf", driver="amdgpu").file("/dev/kfd")
    machine.modes.update(KFD)
    return machine


ONEAPI = [("libsycl.so.9", "/opt/intel/oneapi/compiler/2026.1/lib/libsycl.so.9 (0x00007f)")]
LOADER = [("libOpenCL.so.1", "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1 (0x00007f)")]
OTHER_MAKER = (["llama-cpp-build-for-another-maker"], "llama-cpp/runtime")
LLAMA_MACHINES = (
    built(arc("arc-a770-llama-cpp-sycl-healthy"), "sycl", [f"SYCL0: {ARC} (15473 MiB, 15473 MiB free)"], ONEAPI).expect(llama_cpp="ok"),
    built(arc("arc-a770-llama-cpp-sycl-without-oneapi"), "sycl", needs=[("libsycl.so.9", NOT_FOUND), ("libmkl_sycl_blas.so.6", NOT_FOUND)])
    .expect(["llama-cpp-backend-library-missing"], "llama-cpp/runtime", llama_cpp="broken"),
    built(arc("arc-a770-llama-cpp-sycl-selector"), "sycl", needs=ONEAPI).env(ONEAPI_DEVICE_SELECTOR="opencl:cpu")
    .expect(["llama-cpp-variable-hides-gpu"], "llama-cpp/visible", llama_cpp="broken"),
    built(arc("arc-a770-llama-cpp-sycl-lists-none", sycl=SYCL_CPU), "sycl", needs=ONEAPI)
    .expect(["sycl-lists-no-gpu", "llama-cpp-lists-no-gpu"], "llama-cpp/visible", llama_cpp="broken"),
    built(nvidia("rtx4090-llama-cpp-sycl-build"), "sycl", needs=ONEAPI).expect(*OTHER_MAKER, llama_cpp="broken"),
    built(radeon("rx6800-llama-cpp-sycl-build"), "sycl", needs=ONEAPI).expect(*OTHER_MAKER, llama_cpp="broken"),
    built(arc("arc-a770-llama-cpp-opencl-healthy"), "opencl", [f"GPUOpenCL: {ARC} (15473 MiB, 14449 MiB free)"], LOADER)
    .expect(llama_cpp="ok"),
    built(arc("arc-a770-llama-cpp-opencl-without-memory"), "opencl", [f"GPUOpenCL: {ARC} (0 MiB, 0 MiB free)"], LOADER)
    .expect(llama_cpp="ok"),
    built(arc("arc-a770-llama-cpp-opencl-for-adreno"), "opencl", needs=LOADER)
    .expect(["llama-cpp-opencl-kernels-for-adreno"], "llama-cpp/visible", llama_cpp="broken"),
    built(arc("arc-a770-llama-cpp-opencl-no-driver", opencl=False), "opencl", needs=LOADER)
    .expect(["opencl-no-driver-registered", "llama-cpp-lists-no-gpu"], "llama-cpp/visible", llama_cpp="broken"),
    built(arc("arc-a770-llama-cpp-opencl-no-loader"), "opencl", needs=[("libOpenCL.so.1", NOT_FOUND)])
    .expect(["llama-cpp-backend-library-missing"], "llama-cpp/runtime", llama_cpp="broken"),
    built(nvidia("rtx4090-llama-cpp-opencl-build"), "opencl", needs=LOADER).expect(*OTHER_MAKER, llama_cpp="broken"),
    built(radeon("rx6800-llama-cpp-opencl-build"), "opencl", needs=LOADER).expect(*OTHER_MAKER, llama_cpp="broken"),
)  # fmt: skip
