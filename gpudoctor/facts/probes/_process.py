"""The libraries, devices, limits and control group of a running process, from its files in /proc (proc(5))."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gpudoctor.facts.probes._probe import Collected
from gpudoctor.model.facts import Absent, Facts, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

_GPU = lazy(
    r"lib(cudart|cudnn|cublas|cufft|curand|cusolver|cusparse|nccl|nvrtc|nvJitLink|cupti|nvToolsExt|sycl|ze_loader|ur_loader|ur_adapter|pi_level|"
    r"OpenCL|igdrcl|amdhip64|hsa-runtime64|rocblas|rocm_smi|MIOpen|hipblas|rccl|mkl_sycl|dnnl|ccl|poplar|popart|openvino|vulkan)"
)
"""Libraries of which an environment may hold its own copy."""
_WATCHED = lazy(
    r"lib(cuda\.|nvidia-ml|torch|tensorflow|onnxruntime|jax|xla|ze_intel_gpu|d3d12|dxcore|directml|stdc\+\+|mkl_|tbb|gomp|iomp5|omp[.\d-])"
)
_OPENMP = lazy(r"lib(gomp|iomp5|omp)(-[0-9a-f]{1,64})?[.\d]{0,40}\.so")
_NODE = lazy(r"/dev/(nvidia|dri/|kfd|dxg|accel|ipu)")
_LIMITS = {
    "Max open files": "open_files", "Max processes": "processes", "Max locked memory": "locked_memory",
    "Max address space": "address_space",
}  # fmt: skip
_STATES = {"R": "running", "S": "sleeping", "D": "waiting for a device", "T": "stopped", "t": "stopped", "I": "idle"}
_GONE = " (deleted)"
_MOST = 2_000


def parse_maps(text: str) -> list[str]:
    """The files in /proc/PID/maps, each once and in the order of their addresses; the path of a removed one ends in ' (deleted)'."""
    found: dict[str, None] = {}
    for line in text.splitlines():
        path = line.split(None, 5)[5:]
        if path and path[0].startswith("/"):
            found[path[0].replace("\\012", "\n")] = None
    return list(found)


def parse_limits(text: str) -> dict[str, int | None]:
    """The soft limits in /proc/PID/limits by the names of _LIMITS; None for unlimited."""
    found: dict[str, int | None] = {}
    for line in text.splitlines():
        for title, key in _LIMITS.items():
            value = line.removeprefix(title).split()[:1] if line.startswith(title) else []
            if value:
                found[key] = int(value[0]) if value[0].isdigit() else None
    return found


def origin(path: str, prefix: str) -> str:
    """The kind of place that a library comes from, in the words of python.frameworks: target/payloads/inspect_framework.py decides alike.

    `prefix`: the folder of the Python environment.
    """
    if "/stubs/" in path:
        return "stub"
    if path.startswith("/usr/lib/wsl/"):
        return "wsl"
    if "/site-packages/" in path or "/dist-packages/" in path:
        return "wheel"
    if prefix not in ("", "/", "/usr") and path.startswith(f"{prefix}/lib"):
        return "conda" if re.search(r"conda|mamba|miniforge", prefix) else "wheel"
    if "/oneapi/" in path:
        return "oneapi"
    toolkits = ("/usr/local/cuda", "/opt/rocm", "/opt/cuda", "/opt/poplar", "/opt/nvidia", "/opt/intel/openvino")
    return "toolkit" if path.startswith(toolkits) or "/poplar" in path else "system"


def name_of(path: str) -> str:
    """The file name of a mapped file."""
    return path.removesuffix(_GONE).rpartition("/")[2]


def collect(host: Host, facts: Facts, pid: int) -> Collected:
    status = host.read("/proc/self/status", limit=100_000).text
    mapped = parse_maps(host.read("/proc/self/maps", limit=64_000_000).text)
    prefix = str(facts.value("python.prefix") or "")
    libraries = [path for path in mapped if ".so" in name_of(path)]
    yield "process.pid", Known(pid, "--pid")
    yield "process.in_container", Known(bool(getattr(host, "in_container", False)), "/proc")
    words = [word for word in host.read("/proc/self/cmdline", limit=4_000_000).text.split("\0") if word]
    yield "process.command", Known(" ".join(words)[:4_000], "/proc") if words else Absent("/proc")
    program = host.readlink("/proc/self/exe")
    yield "process.program", Known(program, "/proc") if program else Unknown("permission denied")
    yield from _numbers(status)
    yield from _groups(host)
    limits = parse_limits(host.read("/proc/self/limits", limit=100_000).text)
    yield "process.limits", Known(limits, "/proc") if limits else Unknown("not recorded")
    links = [host.readlink(f"/proc/self/fd/{number}") or "" for number in host.listdir("/proc/self/fd")]
    yield "process.devices", Known(sorted({path for path in (*links, *mapped) if _NODE.match(path)}), "/proc")
    watched = [path for path in libraries if _GPU.match(name_of(path)) or _WATCHED.match(name_of(path))][:_MOST]
    records = [
        {"soname": name_of(path), "path": path.removesuffix(_GONE), "origin": origin(path, prefix), "replaced": path.endswith(_GONE)}
        for path in watched
    ]
    yield "process.libraries", Known(records, "/proc")
    replaced = [path.removesuffix(_GONE) for path in libraries if path.endswith(_GONE)][:_MOST]
    openmp = list(dict.fromkeys(path.removesuffix(_GONE) for path in libraries if _OPENMP.match(name_of(path))))
    for name, found in (("replaced", replaced), ("openmp", openmp)):
        yield f"process.{name}", Known(found, "/proc")
        yield f"process.{name}_count", Known(len(found), "/proc")
    ours = [path.removesuffix(_GONE) for path in libraries if _GPU.match(name_of(path))]
    yield "process.elsewhere", Known(elsewhere(host, ours, facts.value("python.folders") or [], prefix), "/proc")


def _numbers(status: str) -> Collected:
    state = re.search(r"^State:\s+(\S)", status, re.MULTILINE)
    yield "process.state", Known(_STATES.get(state[1], state[1]), "/proc") if state else Unknown("unparsable")
    threads = re.search(r"^Threads:\s+(\d{1,9})", status, re.MULTILINE)
    yield "process.threads", Known(int(threads[1]), "/proc") if threads else Unknown("unparsable")
    memory = re.search(r"^VmRSS:\s+(\d{1,15}) kB", status, re.MULTILINE)
    yield "process.memory_bytes", Known(int(memory[1]) * 1024, "/proc") if memory else Unknown("unparsable")


def _groups(host: Host) -> Collected:
    """Its control group of version 2, and the smallest memory limit of that group and those above it."""
    found = re.search(r"^0::(/\S*)$", host.read("/proc/self/cgroup", limit=100_000).text, re.MULTILINE)
    if found is None:
        yield "process.cgroup", Unknown("not recorded")
        yield "process.memory_limit_bytes", Unknown("not recorded")
        return
    yield "process.cgroup", Known(found[1], "/proc")
    at, least, read = found[1].rstrip("/"), None, False
    for _ in range(40):
        text = host.read(f"/sys/fs/cgroup{at}/memory.max", limit=100)
        read = read or text.ok
        if text.text.strip().isdigit():
            least = min(int(text.text), least or int(text.text))
        if not at:
            break
        at = at.rpartition("/")[0]
    none = Absent("/sys/fs/cgroup") if read else Unknown("not recorded")
    yield "process.memory_limit_bytes", Known(least, "/sys/fs/cgroup") if least is not None else none


def elsewhere(host: Host, paths: Iterable[str], folders: list[str], prefix: str) -> list[dict[str, Any]]:
    """The loaded libraries that lie outside the environment although it holds one of that name: records of process.elsewhere."""
    holding = [f"{folder}/nvidia/{name}/lib" for folder in folders for name in host.listdir(f"{folder}/nvidia")]
    holding += [f"{folder}/torch/lib" for folder in folders] + ([f"{prefix}/lib"] if prefix not in ("", "/", "/usr") else [])
    names = {folder: set(host.listdir(folder)) for folder in holding}
    found = []
    for path in paths:
        inside = any(path.startswith(f"{folder}/") for folder in (*folders, f"{prefix}/lib" if prefix not in ("", "/", "/usr") else "/-"))
        there = [f"{folder}/{name_of(path)}" for folder in holding if name_of(path) in names[folder]]
        if there and not inside:
            found.append({"soname": name_of(path), "path": path, "installed": there[0]})
    return found
