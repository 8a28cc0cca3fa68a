"""Shared libraries that programs find: those of the loader's cache and of the folders in which GPU libraries lie."""

from __future__ import annotations

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

_LINE = lazy(r"^\s+(\S+) \(([^)]*)\) => (\S+)")
FOLDERS = (
    "/usr/lib/wsl/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib",
    "/usr/local/lib", "/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu/intel-opencl", "/opt/rocm/lib", "/opt/intel/oneapi/redist/lib",
)  # fmt: skip
_INTERESTING = lazy(
    r"^lib(cuda|nvidia|nvml|OpenCL|ze_|igd|igc|iga|igdgmm|sycl|ur_|pi_|d3d12|dxcore|directml|hsa|amdhip|amdocl|rocm|MIOpen|rocblas|"
    r"poplar|gcipuinfo|mkl_sycl|mkl_intel|ocloc|vulkan|MesaOpenCL|RusticlOpenCL|pocl|cudart|cudnn|cublas|stdc\+\+|tbb|omp|blas|lapack|dnnl|ccl)"
)


def parse_ldconfig(text: str) -> dict[str, str]:
    """Name to path in `ldconfig -p`: of several entries the first 64-bit one, which the loader takes."""
    found: dict[str, str] = {}
    fallback: dict[str, str] = {}
    for line in text.splitlines():
        entry = _LINE.match(line)
        if not entry:
            continue
        wide = "64" in entry[2] or "AArch64" in entry[2]
        (found if wide else fallback).setdefault(entry[1], entry[3])
    return {**fallback, **found}


def parse_every(text: str) -> dict[str, list[str]]:
    """Name to all its 64-bit paths in `ldconfig -p`, in the loader's order."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        entry = _LINE.match(line)
        if entry and ("64" in entry[2] or "AArch64" in entry[2]):
            found.setdefault(entry[1], []).append(entry[3])
    return found


def is_there(host: Host, path: str) -> bool | Unknown:
    """Whether a file exists; unknown where a recording says nothing of its folder."""
    return host.exists(path) if host.exists(path) or host.knows(path) else Unknown("not recorded")


def named_by_the_user(host: Host, facts: Facts) -> list[str]:
    """The folders in LD_LIBRARY_PATH, which the dynamic linker searches first."""
    value = facts.value("env.LD_LIBRARY_PATH") or host.env("LD_LIBRARY_PATH") or ""
    return [folder.rstrip("/") for folder in str(value).split(":") if folder]


def collect(host: Host, facts: Facts) -> Collected:
    if host.platform in ("windows", "macos"):
        return
    said = host.run(["ldconfig", "-p"])
    if not said.ok:
        said_at_sbin = host.run(["/sbin/ldconfig", "-p"]) if said.missing and host.origin == "live" else said
        said = said_at_sbin if said_at_sbin.ok else said
    cache = parse_ldconfig(said.stdout)
    found = dict(cache)
    for folder in FOLDERS:
        for name in host.listdir(folder):
            if ".so" in name and _INTERESTING.match(name):
                found.setdefault(name, f"{folder}/{name}")
    if not found and not said.ok:
        yield "libraries", Unknown(said.why_not())
    else:
        yield "libraries", Known(found, "ldconfig -p")
    yield "libraries.cached", Known(cache, "ldconfig -p") if said.ok else Unknown(said.why_not())
    yield "libraries.all", Known(parse_every(said.stdout), "ldconfig -p") if said.ok else Unknown(said.why_not())


PROBE = Probe(
    "libraries",
    (
        FactSpec("libraries", "map", "shared libraries: name to path, of the loader's cache and of known folders"),
        FactSpec("libraries.cached", "map", "shared libraries of the loader's cache only"),
        FactSpec("libraries.all", "map", "every path of a library in the loader's cache"),
    ),
    collect,
)
