"""Installed packages that do not go together: partners of another torch, packages that overwrite each other, foreign libraries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import numbers
from gpudoctor.facts.derive.import_failures import failures
from gpudoctor.facts.derive.missing import manager_of
from gpudoctor.facts.derive.torch_build import base_version, cuda_of_local, one_version
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown

PARTNERS = {"torchvision": "vision", "torchaudio": "audio", "xformers": "xformers"}
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "onnxruntime_family": (
        "onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-directml", "onnxruntime-training", "onnxruntime-rocm",
        "onnxruntime-migraphx", "onnxruntime-qnn", "onnxruntime-windowsml", "onnxruntime-silicon", "onnxruntime-vitisai", "ort-nightly",
        "ort-nightly-gpu", "ort-nightly-directml",
    ),
    "tensorflow_family": (
        "tensorflow-cpu", "tensorflow-gpu", "tensorflow-rocm", "tensorflow-directml", "tf-nightly", "tensorflow", "tensorflow-macos",
    ),
    "triton_family": ("triton", "pytorch-triton-xpu", "triton-xpu", "pytorch-triton-rocm", "triton-windows", "triton-rocm"),
    "torch_family": ("torch", "pytorch-directml", "torch-nightly"),
    "opencl_family": ("ocl-icd-system", "ocl-icd", "khronos-opencl-icd-loader", "ocl-icd-wrapper"),
    "bitsandbytes_family": ("bitsandbytes", "bitsandbytes-windows", "bitsandbytes-cuda116", "bitsandbytes-cuda117", "bitsandbytes-rocm"),
    "gptq_family": ("auto-gptq", "gptqmodel"),
}  # fmt: skip
NEED_CUDA = {
    "flash-attn": "CUDA or ROCm", "deepspeed": "", "apex": "CUDA", "auto-gptq": "CUDA or ROCm", "vllm": "CUDA", "xformers": "CUDA or ROCm",
    "nvidia-dali-cuda120": "CUDA", "tensorrt": "CUDA", "torch-tensorrt": "CUDA", "cupy-cuda11x": "CUDA", "cupy-cuda12x": "CUDA",
    "cupy-cuda13x": "CUDA", "sageattention": "CUDA", "flashinfer-python": "CUDA", "causal-conv1d": "CUDA", "mamba-ssm": "CUDA",
}  # fmt: skip


def torch_row(base: str) -> dict[str, Any] | None:
    """The row of python-partners.toml for exactly this torch release; None where the table lacks it."""
    for row in table("python-partners")["torch"]:
        if numbers(row["version"]) == numbers(base):
            return dict(row)
    return None


def fits(package: str, version: str, row: Mapping[str, Any]) -> bool | None:
    """Whether a release of a partner (torchvision, torchaudio, xformers) belongs to the torch of this row; None where the table does not
    say."""
    partners = row.get(PARTNERS[package])
    mine, data, kind = numbers(base_version(version)), table("python-partners"), PARTNERS[package]
    stable = data.get(f"{kind}_stable_from", "")
    if stable and mine >= numbers(stable):
        return numbers(row["version"]) >= numbers(data[f"{kind}_stable_torch"])
    if not partners:
        return None
    if package == "xformers":  # its post releases belong to other torch releases than the plain one
        return version.partition("+")[0] in partners
    # The releases of one minor version of torch have one ABI: a torchvision of torch 2.5.0 loads in 2.5.1.
    return mine in {numbers(text) for text in partners} or _same_minor(torch_of(package, version), row["version"])


def _same_minor(one: str, other: str) -> bool:
    return bool(one) and numbers(one)[:2] == numbers(other)[:2]


def torch_of(package: str, version: str) -> str:
    """The torch release that a release of a partner was made for; '' where the table does not say."""
    mine = numbers(base_version(version))
    matching = [row["version"] for row in table("python-partners")["torch"] if mine in {numbers(x) for x in row.get(PARTNERS[package], [])}]
    return str(matching[-1]) if matching else ""


def demand_fails(demand: str, base: str) -> bool | None:
    """Whether this torch breaks an exact demand (==2.10.0); None where the demand is not exact."""
    match = re.match(r"^==\s*(\d+(?:\.\d+)*)", demand)
    if not match or not base:
        return None
    wanted, mine = numbers(match[1]), numbers(base)
    width = max(len(wanted), len(mine))
    return wanted + (0,) * (width - len(wanted)) != mine + (0,) * (width - len(mine))


def from_source(version: str) -> bool:
    """Whether a version names the commit that it was built from (0.21.0+7af6987, 0.19.0a0+gitd23a6e1): its number says nothing about the
    torch that was there, since its maker compiled it against the own one."""
    return re.match(r"^(?:git)?[0-9a-f]{7,}(?:\.|$)", version.partition("+")[2]) is not None


def flavour(version: str) -> str:
    """The flavour in the local part of a version: cpu, cuda, xpu or rocm; '' for none and for any other."""
    local = version.partition("+")[2]
    if local.startswith("cu") and cuda_of_local(local):
        return "cuda"
    return next((name for name in ("cpu", "xpu", "rocm") if local.startswith(name)), "")


def mismatches(names: Mapping[str, Any], packages: Iterable[Mapping[str, Any]], torch: str, cuda: str) -> list[dict[str, Any]]:
    """The records of the fact python.mismatches: partners that belong to another release or flavour than the installed torch.

    `names`: the fact python.distributions; `packages`: the records of python.packages, with the demands of their metadata.
    """
    base = base_version(torch)
    row = torch_row(base)
    # A copy that comes later on sys.path is not imported.
    demands = {str(p.get("name")): p.get("requires_torch") for p in packages if p.get("shadowed") is not True}
    found = []
    for package in PARTNERS:
        version = one_version(names.get(package))
        if not version or not base:
            continue
        demand = demands.get(package)
        wrong = demand_fails(demand, base) if isinstance(demand, str) else None
        if wrong and package != "xformers" and _same_minor(str(demand).lstrip("= "), base):
            wrong = False
        # Without a demand in the metadata the table decides. Intel's and other patched builds (1.13.0a0+git…) demand exactly their torch.
        if wrong is None and row is not None and not from_source(version):
            known = fits(package, version, row)
            wrong = None if known is None else not known
        partners = list(row.get(PARTNERS[package], [])) if row else []
        wanted = partners[-1] if partners else ""
        made_for = str(demand)[2:] if isinstance(demand, str) and demand.startswith("==") else torch_of(package, version)
        pair = {"package": package, "version": version, "torch": torch, "wanted": wanted or f"the {package} of torch {base}",
                "made_for": made_for or "another release"}  # fmt: skip
        if wrong:
            found.append({**pair, "how": "release"})
        elif package != "xformers" and flavour(version) and flavour(torch) and _other_flavour(version, torch):
            found.append({**pair, "how": "flavour", "made_for": f"+{version.partition('+')[2]}"})
    return found


def _other_flavour(version: str, torch: str) -> bool:
    if flavour(version) != flavour(torch):
        return True
    mine, its = cuda_of_local(version.partition("+")[2]), cuda_of_local(torch.partition("+")[2])
    return bool(mine and its and mine != its)


def installed(names: Mapping[str, Any], family: str) -> list[str]:
    return [name for name in FAMILIES[family] if name in names]


def keep_onnxruntime(found: list[str], vendors: Iterable[str], platform: str) -> str:
    """The one of the installed ONNX Runtime distributions that serves the devices of this machine."""
    vendors = set(vendors)
    order = [("nvidia", "onnxruntime-gpu"), ("amd", "onnxruntime-migraphx"), ("amd", "onnxruntime-rocm"), ("intel", "onnxruntime-openvino")]
    if platform == "windows":
        order.append(("", "onnxruntime-directml"))
    for vendor, name in order:
        if name in found and (not vendor or vendor in vendors):
            return name
    useless = {"onnxruntime", "onnxruntime-gpu"} if vendors and "nvidia" not in vendors else {"onnxruntime"}
    special = [name for name in found if name not in useless]
    return special[0] if special else "onnxruntime"


def python_range(torch: str) -> tuple[str, str] | None:
    row = torch_row(base_version(torch))
    return (row["python"][0], row["python"][1]) if row else None


def newest_torch_for(python: str) -> str:
    """The newest torch in the table with wheels for this Python; '' where there is none."""
    fitting = [
        r["version"] for r in table("python-partners")["torch"] if numbers(r["python"][0]) <= numbers(python)[:2] <= numbers(r["python"][1])
    ]
    return str(fitting[-1]) if fitting else ""


def cuda_majors(names: Iterable[str]) -> list[str]:
    return sorted(
        {match[1] for name in names for match in [re.match(r"^nvidia-(?:cublas|cuda-runtime|cudnn|cufft)-cu(\d\d)$", name)] if match}
    )


def foreign_libraries(frameworks: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The records of the fact python.foreign_libraries: libraries of CUDA, SYCL and torch that a framework of wheels took from
    elsewhere."""
    watched = re.compile(r"^lib(cudnn|cublas|cudart|nccl|cusparse|sycl|torch|mkl_sycl|c10)[\w+-]*\.so")
    found = []
    for name, said in sorted(frameworks.items()):
        libraries = said.get("libraries") if isinstance(said, Mapping) else None
        if not isinstance(libraries, list) or not libraries:
            continue
        own = {str(item.get("soname", "")).split(".so")[0] for item in libraries if item.get("origin") == "wheel"}
        wheel = any(str(item.get("soname", "")).startswith(("libtorch", "libc10")) and item.get("origin") == "wheel" for item in libraries)
        for item in libraries:
            soname, kind = str(item.get("soname", "")), str(item.get("origin", ""))
            stem = soname.split(".so")[0]
            twice = stem in own and kind != "wheel" and not stem.startswith("libstdc++")
            if kind == "stub" or (kind in ("system", "toolkit", "oneapi", "conda") and watched.match(soname) and (wheel or twice)):
                found.append({"framework": name, "soname": soname, "path": str(item.get("path", "")), "origin": kind, "twice": twice})
    return found


def _damaged(packages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The records of the fact python.damaged: distributions whose files are missing or truncated."""
    found = []
    for package in packages:
        files = package.get("damaged")
        if isinstance(files, list) and files and package.get("shadowed") is not True:
            found.append({"name": package["name"], "version": package["version"], "file": files[0], "count": len(files),
                          "public": str(package["version"]).partition("+")[0]})  # fmt: skip
    return found


def stale_paths(facts: Facts, version: str, prefix: str) -> list[dict[str, Any]]:
    """The records of the fact python.stale_paths: entries of path variables that belong to another Python or environment."""
    found = []
    for variable in ("PYTHONPATH", "LD_LIBRARY_PATH"):
        value = facts.value(f"env.{variable}")
        for entry in str(value).split(":") if isinstance(value, str) else ():
            match = re.search(r"/python(\d\.\d+)/(?:site|dist)-packages", entry)
            if match and version and match[1] != ".".join(version.split(".")[:2]):
                found.append({"variable": variable, "path": entry, "why": f"of Python {match[1]}"})
            elif match and prefix and not entry.startswith((f"{prefix}/", "/usr/")) and "/.local/" not in entry:
                found.append({"variable": variable, "path": entry, "why": "of another environment"})
    return found


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    distributions = facts.get("python.distributions")
    frameworks = facts.value("python.frameworks")
    if isinstance(frameworks, dict):
        failed = failures(frameworks, manager_of(facts) or "apt", str(facts.value("python.executable") or ""))
        yield "python.import_failures", Known(failed, "python.frameworks")
        yield "python.foreign_libraries", Known(foreign_libraries(frameworks), "python.frameworks")
    if not isinstance(distributions, Known):
        return
    names: dict[str, Any] = dict(distributions.value)
    packages = [p for p in facts.value("python.packages", []) if isinstance(p, Mapping)]
    torch = facts.value("torch.version") or ""
    yield "python.mismatches", Known(mismatches(names, packages, torch, str(facts.value("torch.cuda") or "")), "python.distributions")
    for family in FAMILIES:
        yield f"python.{family}", Known(installed(names, family), "python.distributions")
    yield from _families(facts, names)
    yield "python.damaged", Known(_damaged(packages), "RECORD")
    twice = [
        {"name": name, "versions": ", ".join(map(str, v)), "last": str(v[-1])} for name, v in sorted(names.items()) if isinstance(v, list)
    ]
    yield "python.twice", Known(twice, "python.distributions")
    yield "python.needs_cuda", Known(_needs_cuda(names), "python.distributions")
    yield "python.cuda_majors", Known(cuda_majors(names), "python.distributions")
    yield from _python_fit(facts, str(torch))
    yield from _mac(facts)
    version, prefix = facts.value("python.version") or "", facts.value("python.prefix") or ""
    yield "python.stale_paths", Known(stale_paths(facts, str(version), str(prefix)), "environment variables")
    yield "python.conda_and_pip_torch", _pip_over_conda(facts, names)


def _families(facts: Facts, names: dict[str, Any]) -> Iterator[tuple[str, Fact]]:
    ort = installed(names, "onnxruntime_family")
    counts: dict[str, Callable[[], int]] = {family: lambda family=family: len(installed(names, family)) for family in FAMILIES}  # type: ignore[misc]
    for family, count in counts.items():
        yield f"python.{family}_count", Known(count(), "python.distributions")
    if ort:
        keep = keep_onnxruntime(ort, facts.value("gpu.vendors") or [], str(facts.value("platform.kind") or ""))
        yield "python.onnxruntime_keep", Known(keep, "python.distributions")
        yield "python.onnxruntime_names", Known(" ".join(ort), "python.distributions")


def _needs_cuda(names: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": name, "version": one_version(names[name]), "needs": need} for name, need in NEED_CUDA.items() if need and name in names
    ]


def _python_fit(facts: Facts, torch: str) -> Iterator[tuple[str, Fact]]:
    version = facts.value("python.version")
    if not isinstance(version, str) or not version:
        return
    newest = newest_torch_for(version)
    late = numbers(version)[:2] > numbers(table("python-partners")["python"]["newest"])
    yield "python.newest_torch", Unknown("newer than this table") if late else Known(newest) if newest else Absent("python-partners")
    yield "python.has_torch_wheels", Unknown("newer than this table") if late else Known(bool(newest), "python-partners")
    span = python_range(torch) if torch else None
    if span:
        yield "python.torch_range", Known(f"{span[0]} to {span[1]}", "python-partners")
        yield "python.torch_fits", Known(numbers(span[0]) <= numbers(version)[:2] <= numbers(span[1]), "python-partners")


def _mac(facts: Facts) -> Iterator[tuple[str, Fact]]:
    if facts.value("platform.kind") != "macos":
        yield "python.rosetta", Known(False, "not macOS")
        return
    translated = facts.get("python.translated")
    machine = facts.value("python.machine")
    model = str(facts.value("cpu.model") or "")
    apple = "apple" in model.lower() or "apple" in (facts.value("gpu.vendors") or [])
    if translated == Known(True, "sysctl.proc_translated") or (machine == "x86_64" and apple):
        yield (
            "python.rosetta",
            Known(True, "sysctl.proc_translated" if isinstance(translated, Known) and translated.value else "wheel tags"),
        )
    elif isinstance(translated, Known) or machine:
        yield "python.rosetta", Known(False, "sysctl.proc_translated")
    else:
        yield "python.rosetta", Unknown("not recorded")


def _pip_over_conda(facts: Facts, names: Mapping[str, Any]) -> Fact:
    """Whether conda installed pytorch and pip put another torch over it."""
    conda = facts.get("python.conda_packages")
    if not isinstance(conda, Known):
        return Known(False, "no conda environment") if isinstance(conda, Absent) else Unknown("not recorded")
    theirs = conda.value.get("pytorch") or conda.value.get("libtorch")
    mine = one_version(names.get("torch"))
    if not theirs or not mine:
        return Known(False, "conda-meta")
    several = isinstance(names.get("torch"), list)
    return Known(several or base_version(str(theirs)) != base_version(mine), "conda-meta")


def _specs() -> tuple[FactSpec, ...]:
    plain = [
        FactSpec(f"python.{f}", "list", f"installed distributions of the {f.partition('_')[0]} kind: at most one is right")
        for f in FAMILIES
    ]
    counts = [FactSpec(f"python.{f}_count", "int", f"how many of python.{f}") for f in FAMILIES]
    return (*plain, *counts, *SPECS)


SPECS = (
    FactSpec("python.mismatches", "records", "partners of torch that belong to another one", item="mismatch", fields={
        "package": "name", "version": "its version", "torch": "the installed torch", "wanted": "what fits", "made_for": "what it fits",
        "how": "release or flavour"}),
    FactSpec("python.damaged", "records", "distributions with missing or truncated files", item="damaged", fields={
        "name": "name", "version": "version", "public": "version to install again", "file": "the first such file", "count": "how many"}),
    FactSpec("python.twice", "records", "distributions recorded twice in one folder", item="double", fields={
        "name": "name", "versions": "versions", "last": "newest"}),
    FactSpec("python.needs_cuda", "records", "packages with kernels for CUDA or ROCm only", item="cuda_package", fields={
        "name": "name", "version": "version", "needs": "what they need"}),
    FactSpec("python.import_failures", "records", "frameworks that did not import", item="failure", privacy="identifying", fields={
        "framework": "module", "kind": "exception, signal, timeout", "name": "exception or signal", "family": "glibcxx, symbol …",
        "what": "library or symbol", "message": "text", "first_line": "its first line", "imported": "it failed after the import",
        "remedy": "what brings the library", "stacks": "stacks that stand on it"}),
    FactSpec("python.foreign_libraries", "records", "libraries not from the wheels", item="library", privacy="identifying",
             fields={"framework": "module", "soname": "name", "path": "from", "origin": "kind of place", "twice": "as the wheel"}),
    FactSpec("python.stale_paths", "records", "entries that lead into another Python", item="stale", privacy="identifying", fields={
        "variable": "name", "path": "entry", "why": "whose it is"}),
    FactSpec("python.onnxruntime_keep", "text", "the onnxruntime package that serves this machine"),
    FactSpec("python.onnxruntime_names", "text", "the onnxruntime packages in one line"),
    FactSpec("python.cuda_majors", "list", "CUDA majors of the nvidia-* wheels"),
    FactSpec("python.newest_torch", "dotted", "the newest torch with wheels for this Python"),
    FactSpec("python.has_torch_wheels", "bool", "some torch has wheels for this Python"),
    FactSpec("python.torch_range", "text", "the Python versions that the installed torch has wheels for"),
    FactSpec("python.torch_fits", "bool", "the installed torch has wheels for this Python"),
    FactSpec("python.rosetta", "bool", "an x86_64 Python on Apple silicon"),
    FactSpec("python.conda_and_pip_torch", "bool", "pip's torch lies over conda's"),
)  # fmt: skip
DERIVATION = Derivation("python_mix", provides=_specs(), derive=derive)
