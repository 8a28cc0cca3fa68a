"""The release and flavour of the installed torch and of Intel's extension, from names of distributions and torch/version.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._versions import numbers
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.rules.versions import dotted_of_digits

BASE = lazy(r"^\d+(?:\.\d+)*")


def one_version(value: Any) -> str:
    """The version in a value of the fact python.distributions; the last where there are several, '' where there is none."""
    if isinstance(value, list):
        return one_version(value[-1]) if value else ""
    if isinstance(value, dict):
        return one_version(value.get("version"))
    return str(value) if value else ""


def base_version(version: str) -> str:
    """The release part of a version, '1.13.0' of '1.13.0a0+git6c9b55e'; '' where it does not begin with a number."""
    match = BASE.match(version)
    return match[0] if match else ""


def cuda_of_local(local: str) -> str:
    """The CUDA version in the local part of a version: '12.6' for 'cu126', '9.2' for 'cu92'; '' for any other part."""
    match = re.match(r"^cu(\d{2,3})(?!\d)", local)
    return dotted_of_digits(match[1]) if match else ""


def cuda_of_packages(names: dict[str, Any]) -> str:
    """The CUDA release of the nvidia-* wheels of an environment, '12.6'; '' without such wheels."""
    for name in ("nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime", "nvidia-cuda-runtime-cu13", "cuda-toolkit"):
        version = one_version(names.get(name))
        if version:
            return ".".join(version.split(".")[:2])
    return ""


PYPI_CUDA = (
    # (first torch release, its CUDA) of the wheels on PyPI for Linux x86_64: https://pytorch.org release notes, metadata of the wheels
    ("2.15", "13.2"), ("2.11", "13.0"), ("2.9", "12.8"), ("2.8", "12.8"), ("2.7", "12.6"), ("2.5", "12.4"), ("2.1", "12.1"),
    ("1.13", "11.7"), ("1.8", "10.2"),
)  # fmt: skip


def pypi_cuda(base: str) -> str:
    """The CUDA release of PyPI's wheel of this torch for Linux x86_64; '' for a release before 1.8."""
    for first, cuda in PYPI_CUDA:
        if numbers(base)[:2] >= numbers(first):
            return cuda
    return ""


def classify(version: str, names: dict[str, Any], said: dict[str, Any] | None, platform: str, machine: str) -> tuple[str, str, str]:
    """(flavour, CUDA, HIP) of a torch, each '' where it has none or it is unknown: by its version file (`said`), else by its local version,
    else by the packages beside it (`names`)."""
    local = version.partition("+")[2]
    file = said or {}
    if file.get("debug") is True:
        return "debug", str(file.get("cuda") or ""), str(file.get("hip") or "")
    if file.get("hip") or file.get("rocm") or local.startswith("rocm"):
        hip = str(file.get("hip") or file.get("rocm") or (re.search(r"rocm([\d.]+\d)", local) or ["", ""])[1])
        return "rocm", "", hip
    if file.get("cuda"):  # a pasted text may say that it was built for CUDA without the release
        return "cuda", str(file["cuda"]) if re.match(r"\d+\.\d", str(file["cuda"])) else "", ""
    if file.get("xpu") or local.startswith("xpu"):
        return "xpu", "", ""
    if local.startswith("cu"):
        return "cuda", cuda_of_local(local), ""
    if re.search(r"\.nv\d\d\.", local):  # NVIDIA's own builds: of its images, and for Jetson
        return "cuda", "", ""
    if local.startswith("cpu"):
        return "cpu", "", ""
    if "a0" in version and (local.startswith(("git", "cxx11")) or not local) and "intel-extension-for-pytorch" in names:
        return "patched", "", ""
    if local.startswith("cxx11"):
        return "cpu", "", ""
    if said is not None and "cuda" in file and file["cuda"] is None:
        return _without_cuda(names, platform), "", ""
    return _untagged(version, names, platform, machine)


def _without_cuda(names: dict[str, Any], platform: str) -> str:
    if "pytorch-triton-xpu" in names or "triton-xpu" in names:
        return "xpu"
    return "mps" if platform == "macos" else "cpu"


def _untagged(version: str, names: dict[str, Any], platform: str, machine: str) -> tuple[str, str, str]:
    """(flavour, CUDA, HIP) of a torch with neither a local part nor a version file: PyPI's or conda's build, or one from source."""
    if "pytorch-triton-xpu" in names or "triton-xpu" in names:
        return "xpu", "", ""
    if "pytorch-triton-rocm" in names:
        return "rocm", "", one_version(names["pytorch-triton-rocm"])
    bundled = cuda_of_packages(names)
    if bundled or any(name.startswith("nvidia-cublas") for name in names):
        return "cuda", bundled or pypi_cuda(base_version(version)), ""
    if version.partition("+")[2].startswith("git"):  # built from source, for whichever GPU: the images of ROCm hold such a one
        return "", "", ""
    if platform == "windows":
        return "cpu", "", ""
    if platform == "macos":
        return ("cpu" if machine == "x86_64" else "mps"), "", ""
    if machine in ("aarch64", "arm64", "ppc64le") and numbers(version)[:2] < (2, 9):
        return "cpu", "", ""
    if re.search(r"\+(?:git)?[0-9a-f]{7,}$", version):  # a maker's own build: its number is no wheel of PyPI
        return "", "", ""
    if "triton" in names or numbers(version)[:2] < (2, 0):
        return "cuda", pypi_cuda(base_version(version)), ""
    return "", "", ""


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    distributions = facts.get("python.distributions")
    if not isinstance(distributions, Known):
        reason = distributions if isinstance(distributions, Unknown) else Unknown("not inspected")
        for spec in DERIVATION.provides:
            yield spec.name, reason
        return
    names: dict[str, Any] = dict(distributions.value)
    yield from _torch(facts, names)
    yield from _ipex(names, facts)


def _torch(facts: Facts, names: dict[str, Any]) -> Iterator[tuple[str, Fact]]:
    fork = one_version(names.get("pytorch-directml"))
    version = one_version(names.get("torch")) or fork
    if not version:
        for spec in DERIVATION.provides:
            if spec.name.startswith("torch."):
                yield spec.name, Absent("python.distributions")
        return
    if fork and not names.get("torch"):
        yield from _torch_facts(fork, "directml", "", "", None)
        return
    file = facts.value("torch.version_file")
    said: dict[str, Any] = dict(file) if isinstance(file, dict) else {}
    observed = facts.value("python.frameworks.torch.config")
    if not said and isinstance(observed, dict):
        said = {key: observed.get(key) for key in ("cuda", "hip", "xpu", "debug")}
    inside = str(said.get("version") or "")
    if "+" in inside and "+" not in version and base_version(inside) == base_version(version):
        version = inside
    machine = facts.value("python.machine") or facts.value("platform.machine") or ""
    platform = facts.value("platform.kind") or ""
    build, cuda, hip = classify(version, names, said or None, str(platform), str(machine))
    conda = facts.value("python.conda_packages.pytorch")
    if isinstance(conda, str) and not build:
        build = "cpu" if "cpu" in conda else "cuda" if "cuda" in conda else ""
    arches = facts.value("python.frameworks.torch.config.arch_list")
    yield from _torch_facts(version, build, cuda, hip, arches or None)


def _torch_facts(version: str, build: str, cuda: str, hip: str, arches: Any) -> Iterator[tuple[str, Fact]]:
    source = "torch's version and its files"
    local = version.partition("+")[2]
    yield "torch.version", Known(version, source)
    yield "torch.public_version", Known(version.partition("+")[0], source)
    base = base_version(version)
    yield "torch.base_version", Known(base, source) if base else Unknown("unparsable")
    yield "torch.minor_version", Known(".".join(base.split(".")[:2]), source) if base else Unknown("unparsable")
    yield "torch.local", Known(local, source) if local else Absent(source)
    yield "torch.build", Known(build, source) if build else Unknown("not inspected")
    missing: Fact = Absent(source) if build else Unknown("not inspected")
    yield "torch.cuda", Known(cuda, source) if cuda else missing if build != "cuda" else Unknown("not inspected")
    yield "torch.hip", Known(hip, source) if hip else missing if build != "rocm" else Unknown("not inspected")
    # Where torch was not imported, cuda.archs and amd.gpus take the architectures from tables of wheels.
    if arches:
        yield "torch.arch_list", Known(arches, "python.frameworks.torch")


def _ipex(names: dict[str, Any], facts: Facts) -> Iterator[tuple[str, Fact]]:
    version = one_version(names.get("intel-extension-for-pytorch"))
    if not version:
        for name in ("ipex.version", "ipex.base_version", "ipex.local", "ipex.build"):
            yield name, Absent("python.distributions")
        return
    local = version.partition("+")[2]
    base = base_version(version)
    build = "xpu" if local.startswith(("xpu", "gpu")) else "cpu" if local.startswith("cpu") else ""
    if not build:
        # From 2.1 on the third number decides: x.y.0 and x.y.100 are CPU releases, x.y.10 … x.y.40 and x.y.110 are XPU releases.
        third = numbers(base)[2] if len(numbers(base)) > 2 else 0
        build = "xpu" if third in (10, 20, 30, 40, 110, 120, 200) else "cpu"
    yield "ipex.version", Known(version, "python.distributions")
    yield "ipex.base_version", Known(base) if base else Unknown("unparsable")
    yield "ipex.local", Known(local) if local else Absent("python.distributions")
    yield "ipex.build", Known(build, "the version's local part and third number")


DERIVATION = Derivation(
    "torch_build",
    provides=(
        FactSpec("torch.version", "version", "version of the installed torch, with its local part"),
        FactSpec("torch.public_version", "version", "version of torch without the local part: 2.8.0, 1.13.0a0"),
        FactSpec("torch.base_version", "dotted", "release of torch alone: 2.8.0"),
        FactSpec("torch.minor_version", "dotted", "first two numbers of torch's release: 2.8"),
        FactSpec("torch.local", "text", "local part of torch's version: cu126, cpu, xpu, rocm6.1"),
        FactSpec("torch.build", "text", "flavour of torch: cpu, cuda, rocm, xpu, directml, mps, patched (Intel's 1.x), debug"),
        FactSpec("torch.cuda", "dotted", "the CUDA that torch was built for"),
        FactSpec("torch.hip", "dotted", "the HIP or ROCm that torch was built for"),
        FactSpec("torch.arch_list", "list", "architectures that the torch build holds kernels for"),
        FactSpec("ipex.version", "version", "version of Intel Extension for PyTorch"),
        FactSpec("ipex.base_version", "dotted", "release of Intel Extension for PyTorch without its local part"),
        FactSpec("ipex.local", "text", "local part of the version of Intel Extension for PyTorch"),
        FactSpec("ipex.build", "text", "cpu or xpu"),
    ),
    derive=derive,
)
