"""NVIDIA software on the disk: libcuda, module files, DKMS, toolkit, fabric manager, libraries in LD_LIBRARY_PATH."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

_LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib64/nvidia",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/run/opengl-driver/lib",  # NixOS
)
_CUDA_LIBRARY = lazy(r"lib(cudnn\w*|cublas(Lt)?|cudart|nvJitLink|cusparse|cusolver|cufft|nccl|nvrtc|cuda|nvidia-ml)\.so(\.\d.*)?$")
_MODULE_FOLDERS = (
    "updates/dkms",
    "updates",
    "extra",
    "extra/nvidia",
    "kernel/drivers/video",
    "weak-updates/nvidia",
    "nvidia",
    "misc",
    "extramodules",
)


def parse_dkms(text: str) -> list[dict[str, str]]:
    """version, kernel and state of each line of `dkms status` about nvidia: 'nvidia, 470…, kernel, x86_64: installed', since DKMS 3
    'nvidia/535…, kernel, x86_64: installed'."""
    rows = []
    for line in text.splitlines():
        found = re.match(r"nvidia(?:-\w+)*[,/]\s{0,8}(\d[\w.]*)(?:,\s{0,8}([^,:\s]+))?(?:,[^:]*)?:\s{0,8}(\w+)", line.strip())
        if found:
            rows.append({"version": found[1], "kernel": found[2] or "", "state": found[3]})
    return rows


def parse_nvcc(text: str) -> str | None:
    """The release in the output of nvcc, '12.4'; None where there is none."""
    found = re.search(r"release (\d+\.\d+)", text)
    return found.group(1) if found else None


def parse_toolkit(text: str) -> str | None:
    """The version of the toolkit in /usr/local/cuda/version.json, or in the older version.txt; None for another text."""
    found = re.search(r'"cuda"\s{0,8}:\s{0,8}\{[^{}]{0,400}?"version"\s{0,8}:\s{0,8}"(\d{1,4}\.\d[\d.]*)"', text)
    found = found or re.search(r"CUDA Version (\d{1,4}\.\d[\d.]*)", text)
    return found.group(1) if found else None


def library_version(path: str) -> str | None:
    """The driver version in a library's file name, '570.124.06' of libcuda.so.570.124.06; None where it has none."""
    found = re.search(r"\.so\.(\d{3}\.\d+(?:\.\d+)?)$", path)
    return found.group(1) if found else None


def _libcuda(host: Host, facts: Facts) -> Iterator[tuple[str, Fact]]:
    libraries = facts.value("libraries")
    path, listed = None, isinstance(libraries, Mapping)
    wsl = "/usr/lib/wsl/lib/libcuda.so.1"
    if isinstance(libraries, Mapping):
        found = libraries.get("libcuda.so.1") or libraries.get("libcuda.so")
        path = found if isinstance(found, str) else None
    if path is None and host.exists(wsl):
        path = wsl
    if path is None:
        path = next((f"{folder}/libcuda.so.1" for folder in _LIBRARY_FOLDERS if host.exists(f"{folder}/libcuda.so.1")), None)
    real = None
    folders = [path.rpartition("/")[0]] if path else list(_LIBRARY_FOLDERS)
    if path:
        real = library_version(host.realpath(path)) or library_version(host.readlink(path) or "")
    if real is None:
        versions = [
            (library_version(name), folder) for folder in folders for name in host.listdir(folder) if name.startswith("libcuda.so.")
        ]
        numbered = [(version, folder) for version, folder in versions if version]
        if numbered:
            real = numbered[-1][0]
            path = path or f"{numbered[-1][1]}/libcuda.so.{real}"
    if path:
        yield "nvidia.libcuda", Known(path, "libraries")
    else:
        yield "nvidia.libcuda", Absent("ldconfig") if listed or not host.complete else Unknown("not recorded")
    if real:
        yield "nvidia.libcuda_version", Known(real, path or "")
    else:
        yield "nvidia.libcuda_version", Unknown("not recorded") if path else Absent("ldconfig")


def _module_files(host: Host, facts: Facts) -> Iterator[tuple[str, Fact]]:
    release = facts.value("kernel.release")
    if not isinstance(release, str):
        return
    root = f"/lib/modules/{release}"
    folders = [f"{root}/{name}" for name in _MODULE_FOLDERS]
    folders += [f"{root}/kernel/{name}" for name in host.listdir(f"{root}/kernel") if name.startswith("nvidia")]
    there = any(name.startswith("nvidia.ko") for folder in folders for name in host.listdir(folder))
    probed = host.run(("modprobe", "-n", "-v", "nvidia"))
    said = probed.stdout + probed.stderr
    version = host.run(("modinfo", "-F", "version", "nvidia"))
    number = version.stdout.strip() if version.ok and re.match(r"\d+\.\d+", version.stdout) else None
    if re.search(r"^install\s+(/usr)?/bin/(false|true)|^install\s+:", said, re.M):
        yield "nvidia.module.disabled", Known(said.strip().splitlines()[0], "modprobe -n -v nvidia")
    elif probed.answered:
        yield "nvidia.module.disabled", Absent("modprobe -n -v nvidia")
    if there or number or re.search(r"insmod \S{0,200}?nvidia[\w-]{0,40}\.ko", said):
        yield "nvidia.module.available", Known(True, "modinfo")
    elif re.search(r"Module nvidia not found", said + version.stderr):
        yield "nvidia.module.available", Known(False, "modprobe -n -v nvidia")
    else:
        yield "nvidia.module.available", Unknown(version.why_not())
    yield "nvidia.module.disk_version", Known(number, "modinfo") if number else Unknown(version.why_not())
    licence = host.run(("modinfo", "-F", "license", "nvidia"))
    if licence.ok and licence.stdout.strip():
        yield "nvidia.module.disk_open", Known("MIT" in licence.stdout, "modinfo -F license nvidia")
    dkms = host.run(("dkms", "status"))
    if dkms.answered:
        rows = parse_dkms(dkms.stdout)
        yield "nvidia.dkms.kernels", Known([row["kernel"] for row in rows if row["state"].startswith("installed")], "dkms status")
        yield "nvidia.dkms.versions", Known(sorted({row["version"] for row in rows}), "dkms status")
        yield "nvidia.dkms.state", Known(rows[-1]["state"], "dkms status") if rows else Absent("dkms status")
    else:
        yield "nvidia.dkms.kernels", Unknown(dkms.why_not())
    if host.listdir(root):
        yield "nvidia.kernel_headers", Known(host.exists(f"{root}/build"), f"{root}/build")


def _toolkit(host: Host) -> Iterator[tuple[str, Fact]]:
    nvcc = host.run(("nvcc", "--version"))
    if nvcc.missing:
        nvcc = host.run(("/usr/local/cuda/bin/nvcc", "--version"))
    version = parse_nvcc(nvcc.stdout) if nvcc.ok else None
    yield (
        "nvidia.nvcc.version",
        Known(version, "nvcc --version") if version else Absent("nvcc") if nvcc.missing else Unknown(nvcc.why_not()),
    )
    for name in ("version.json", "version.txt"):
        text = host.read(f"/usr/local/cuda/{name}")
        found = parse_toolkit(text.text) if text.ok else None
        if found:
            yield "nvidia.toolkit.version", Known(found, f"/usr/local/cuda/{name}")
            return
    yield "nvidia.toolkit.version", Unknown("not recorded") if host.exists("/usr/local/cuda") else Absent("/usr/local/cuda")


def _package(packages: Any, pattern: str) -> tuple[str, str] | None:
    if not isinstance(packages, Mapping):
        return None
    fitting = re.compile(pattern)
    for name, version in packages.items():
        if fitting.fullmatch(str(name).split(":")[0]) and isinstance(version, str):
            return str(name), version
    return None


def _bare(version: str) -> str:
    """A package version without its epoch and the revision of the distribution."""
    return re.split(r"[-+~]", version.split(":", 1)[-1])[0]


def _services(host: Host, facts: Facts) -> Iterator[tuple[str, Fact]]:
    packages = facts.value("packages")
    manager = _package(
        packages, r"nvidia-fabric-?manager(-\d+)?|nvidia-fabricmanager|nvlink.*fabricmanager.*|cuda-drivers-fabricmanager-\d+"
    )
    toolkit = _package(packages, r"nvidia-container-toolkit(-base)?")
    known = isinstance(packages, Mapping)
    nothing: Fact = Absent("packages") if known else Unknown("not recorded")
    yield "nvidia.fabric_manager.version", Known(_bare(manager[1]), manager[0]) if manager else nothing
    yield "nvidia.container_toolkit.version", Known(_bare(toolkit[1]), toolkit[0]) if toolkit else nothing
    if manager:
        state = host.run(("systemctl", "is-active", "nvidia-fabricmanager"))
        word = state.stdout.strip()
        yield "nvidia.fabric_manager.state", Known(word, "systemctl") if state.answered and word else Unknown(state.why_not())
    else:
        yield "nvidia.fabric_manager.state", nothing
    prime = host.run(("prime-select", "query"))
    word = prime.stdout.strip()
    if prime.ok and word in ("nvidia", "intel", "on-demand", "amd"):
        yield "nvidia.prime", Known(word, "prime-select query")
    else:
        yield "nvidia.prime", Absent("prime-select") if prime.missing else Unknown(prime.why_not())


def _loader_path(host: Host) -> Iterator[tuple[str, Fact]]:
    path = host.env("LD_LIBRARY_PATH")
    if path is None:
        yield "nvidia.loader_path.cuda", Absent("LD_LIBRARY_PATH")
        yield "nvidia.loader_path.libraries", Absent("LD_LIBRARY_PATH")
        yield "nvidia.loader_path.stubs", Absent("LD_LIBRARY_PATH")
        return
    entries = [entry.rstrip("/") for entry in path.split(":") if entry.strip("/")]
    named = [entry for entry in entries if re.search(r"cuda-?\d*(\.\d+)?(/|$)|cudnn|/cuda", entry) and "site-packages" not in entry]
    found = [
        f"{entry}/{name}" for entry in entries if "site-packages" not in entry for name in host.listdir(entry) if _CUDA_LIBRARY.match(name)
    ]
    stubs = [entry for entry in entries if re.search(r"cuda[^:]*/stubs$", entry)]
    yield "nvidia.loader_path.cuda", Known(named, "LD_LIBRARY_PATH")
    yield "nvidia.loader_path.libraries", Known(found, "LD_LIBRARY_PATH")
    yield "nvidia.loader_path.stubs", Known(stubs, "LD_LIBRARY_PATH")


def install_facts(host: Host, facts: Facts) -> Iterator[tuple[str, Fact]]:
    """The facts that files and package lists give; none needs a working driver."""
    if host.platform != "windows":
        yield from _libcuda(host, facts)
        if host.platform == "linux":
            yield from _module_files(host, facts)
        yield from _services(host, facts)
        yield from _loader_path(host)
    yield from _toolkit(host)


INSTALL_FACTS = (
    FactSpec("nvidia.libcuda", "text", "the libcuda.so.1 that the loader finds"),
    FactSpec("nvidia.libcuda_version", "dotted", "driver version of that libcuda"),
    FactSpec("nvidia.module.available", "bool", "an nvidia module file exists for the running kernel"),
    FactSpec("nvidia.module.disabled", "text", "the modprobe rule that forbids the module"),
    FactSpec("nvidia.module.disk_version", "dotted", "version of the module on the disk"),
    FactSpec("nvidia.module.disk_open", "bool", "the module on the disk is the open flavour"),
    FactSpec("nvidia.dkms.kernels", "list", "kernels for which DKMS installed the module"),
    FactSpec("nvidia.dkms.versions", "list", "driver versions that DKMS knows"),
    FactSpec("nvidia.dkms.state", "text", "state of the last nvidia line of dkms status"),
    FactSpec("nvidia.kernel_headers", "bool", "headers of the running kernel are installed"),
    FactSpec("nvidia.nvcc.version", "dotted", "release of nvcc"),
    FactSpec("nvidia.toolkit.version", "dotted", "CUDA toolkit in /usr/local/cuda"),
    FactSpec("nvidia.fabric_manager.version", "dotted", "version of the fabric manager package"),
    FactSpec("nvidia.fabric_manager.state", "text", "active, inactive, failed"),
    FactSpec("nvidia.container_toolkit.version", "dotted", "version of nvidia-container-toolkit"),
    FactSpec("nvidia.prime", "text", "what prime-select has chosen"),
    FactSpec("nvidia.loader_path.cuda", "list", "entries of LD_LIBRARY_PATH that belong to a CUDA installation"),
    FactSpec("nvidia.loader_path.libraries", "list", "CUDA libraries that LD_LIBRARY_PATH puts before others"),
    FactSpec("nvidia.loader_path.stubs", "list", "entries of LD_LIBRARY_PATH with stub libraries"),
)
