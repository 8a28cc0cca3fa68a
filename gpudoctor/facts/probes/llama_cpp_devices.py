"""The devices that llama.cpp lists (`--list-devices`, which loads no model), and the libraries that its backends lack."""

from __future__ import annotations

from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.facts.probes.llama_cpp import GPU_BACKENDS
from gpudoctor.model.facts import Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

_DEVICE = lazy(r"^\s+(\S+?): (.+?) \((\d+) MiB, (\d+) MiB free\)\s*$")
_VERSION = lazy(r"^version: (\d+) \((\w+)\)", 8)
_NEEDED = lazy(r"^\s*(\S+) => (.+?)(?: \(0x[0-9a-f]+\))?$")
_CUDART = lazy(r"^libcudart\.so\.(\d+)")
_PREFIXES = (
    ("cuda", "cuda"), ("rocm", "hip"), ("hip", "hip"), ("sycl", "sycl"), ("vulkan", "vulkan"), ("metal", "metal"), ("mtl", "metal"),
    ("gpuopencl", "opencl"), ("opencl", "opencl"), ("musa", "musa"), ("cann", "cann"), ("blas", "blas"), ("rpc", "rpc"),
)  # fmt: skip


def parse_devices(text: str) -> list[dict[str, Any]] | None:
    """The devices below 'Available devices:'; None without that line. Those without memory are left out: BLAS and other helpers of the
    processor. A GPU of the OpenCL backend stays: builds before 2026 print 0 MiB for it."""
    _, mark, listing = text.partition("Available devices:")
    if not mark:
        return None
    found = []
    for line in listing.splitlines():
        match = _DEVICE.match(line)
        if match is None:
            continue
        backend = next((backend for prefix, backend in _PREFIXES if match[1].lower().startswith(prefix)), "other")
        memory = int(match[3]) << 20
        if memory or backend == "opencl":
            found.append({"id": match[1], "backend": backend, "name": match[2], "memory_bytes": memory or Unknown("not recorded")})
    return found


def parse_ldd(text: str) -> tuple[list[str], str]:
    """(libraries that were not found, major version of the CUDA runtime or '') in the output of `ldd`."""
    needed = [(match[1], match[2]) for line in text.splitlines() if (match := _NEEDED.match(line))]
    major = next((match[1] for name, _ in needed if (match := _CUDART.match(name))), "")
    # llama.cpp has loaded these before it loads a backend, which finds them by their names
    return [name for name, path in needed if path == "not found" and not name.startswith(("libggml", "libllama"))], major


def collect(host: Host, facts: Facts) -> Collected:
    program = facts.value("llama_cpp.program")
    if program:
        name = str(program).rpartition("/")[2]
        ran = host.run([name, "--list-devices"], timeout=20.0)
        devices = parse_devices(ran.stdout) if ran.answered else None
        yield "llama_cpp.devices", Known(devices, f"{name} --list-devices") if devices is not None else Unknown(ran.why_not())
        said = host.run([name, "--version"], timeout=10.0)
        build = _VERSION.search(f"{said.stdout}\n{said.stderr}") if said.answered else None
        yield "llama_cpp.version", Known(build[1], f"{name} --version") if build else Unknown(said.why_not())
    if host.platform in ("windows", "macos"):
        return
    missing: list[dict[str, Any]] = []
    major, asked = "", False
    for of, fact in (("llama.cpp", "llama_cpp.libraries"), ("llama-cpp-python", "llama_cpp.python.libraries")):
        for record in facts.value(fact) or []:
            if record["backend"] not in GPU_BACKENDS or host.distrust(record["file"]):
                continue
            ran = host.run(["ldd", record["file"]], timeout=5.0)
            asked = asked or ran.ok
            gone, cudart = parse_ldd(ran.stdout) if ran.ok else ([], "")
            major = major or cudart
            missing += [{"library": name, "backend": record["backend"], "file": record["file"], "of": of} for name in gone]
    if asked:
        yield "llama_cpp.missing", Known(missing, "ldd")
        yield "llama_cpp.cuda_major", Known(int(major), "ldd") if major else Unknown("not recorded")


PROBE = Probe(
    name="llama_cpp_devices",
    provides=(
        FactSpec("llama_cpp.version", "dotted", "build number of llama.cpp"),
        FactSpec(
            "llama_cpp.devices", "records", "devices that llama.cpp lists", item="llama_device",
            fields={"id": "CUDA0, ROCm0, Vulkan0 …", "backend": "cuda, hip, vulkan …", "name": "name", "memory_bytes": "memory"},
        ),
        FactSpec(
            "llama_cpp.missing", "records", "what the backends need and the linker does not find", item="llama_missing",
            fields={"library": "its name", "backend": "who needs it", "file": "the backend's file", "of": "llama.cpp or llama-cpp-python"},
        ),
        FactSpec("llama_cpp.cuda_major", "int", "major of the CUDA runtime that its CUDA backend loads"),
    ),
    collect=collect,
    needs=("llama_cpp.program", "llama_cpp.libraries", "llama_cpp.python.libraries"),
    slow=True,
)  # fmt: skip
