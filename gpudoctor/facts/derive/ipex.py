"""IPEX and PyTorch's XPU wheels: which torch, Python and oneAPI belong together, from the version tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._tables import table
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.rules.versions import compare_dotted, dotted, in_release

_RUNTIMES = ("intel-sycl-rt", "intel-cmplr-lib-rt", "dpcpp-cpp-rt")
_TRITONS = ("pytorch-triton-xpu", "triton-xpu")


def version_of(facts: Facts, name: str) -> Fact:
    """The version of a distribution as a fact: of the first copy where it is installed twice."""
    fact = facts.get(f"python.distributions.{name}")
    if not isinstance(fact, Known):
        return fact
    value = fact.value[0] if isinstance(fact.value, (list, tuple)) and fact.value else fact.value
    if isinstance(value, Mapping):
        value = value.get("version")
    return Known(value, f"{name}.dist-info") if isinstance(value, str) else Unknown("unparsable")


def split(version: str) -> tuple[str, str]:
    """The public and the local part of a version: ('2.1.0.post0', 'cxx11.abi')."""
    public, _, local = version.strip().partition("+")
    return public, local


def minor(version: str) -> str:
    found = re.match(r"\d+\.\d+", version)
    return found[0] if found else ""


def build_of(version: str) -> str:
    """'xpu' or 'cpu' for a version of IPEX: by the local part, else by the table of XPU releases (x.y.10 and so on; x.y.0 and x.y.100 are
    for the processor)."""
    _, local = split(version)
    if local.startswith(("xpu", "gpu")):
        return "xpu"
    return "xpu" if row_for(version) is not None and not local.startswith("cpu") else "cpu"


def row_for(version: str) -> dict[str, Any] | None:
    """The row of ipex-torch.toml for an XPU release of IPEX; None for any other."""
    public = split(version)[0]
    return next((row for row in table("ipex-torch")["release"] if row["ipex"] == public), None)


def fits(ipex: str, build: str, torch: str, row: Mapping[str, Any] | None) -> bool | None:
    """Whether this IPEX was built for this torch; None where it cannot be determined."""
    public, local = split(torch)
    if minor(ipex) != minor(torch):
        return False
    if build == "cpu":
        return True
    if row is None:
        return None
    if local.startswith("git") and "a0" in public:
        return public in row["torch"]
    if public not in row["torch"]:
        # A wheel that its user built (2.1.0a0+git…) may be right; a published one of another build is not.
        return None if "a0" in public or "dev" in public else False
    if not row["local"] or row["local"] in local:
        return True
    if not local and ("post" in public or "a0" in public):
        return True  # Intel alone published this release: without '+cxx11.abi' the same build is meant
    return None if local.startswith("git") else False


def expected_torch(ipex: str, build: str, row: Mapping[str, Any] | None) -> str:
    """The torch that this IPEX was built for, in words: '2.1.0.post0+cxx11.abi', or '2.8.x' for the processor."""
    if build == "xpu" and row is not None:
        return f"{row['torch'][0]}+{row['local']}" if row["local"] else f"{row['torch'][0]} (Intel's patched build)"
    return f"{minor(ipex)}.x"


def newer_than_table(version: str, newest: str) -> bool:
    left, right = dotted(version), dotted(newest)
    return bool(left and right and compare_dotted(left, right) > 0)


def _ipex(facts: Facts) -> Iterator[tuple[str, Fact]]:
    found = version_of(facts, "intel-extension-for-pytorch")
    parts = ("torch.expected", "torch.fits", "python.fits", "python.range", "oneapi.expected", "oneapi.system", "oneapi.fits",
            "oneapi.same_year", "install.packages", "install.index")  # fmt: skip
    names = tuple(f"ipex.{name}" for name in parts)
    if not isinstance(found, Known):
        for name in ("ipex.version", "ipex.build", *names):
            yield name, found
        return
    version = str(found.value)
    build = build_of(version)
    row = row_for(version) if build == "xpu" else None
    yield "ipex.version", found
    yield "ipex.build", Known(build, found.source)
    if build == "xpu" and row is None and newer_than_table(version, table("ipex-torch")["newest"]):
        for name in names:
            yield name, Unknown(f"newer than this table ({table('ipex-torch')['date']})")
        return
    torch = version_of(facts, "torch")
    yield "ipex.torch.expected", Known(expected_torch(version, build, row), "ipex-torch.toml")
    if isinstance(torch, Known):
        answer = fits(version, build, str(torch.value), row)
        yield "ipex.torch.fits", Known(answer, "ipex-torch.toml") if answer is not None else Unknown("newer than this table")
    else:
        yield "ipex.torch.fits", torch if isinstance(torch, Unknown) else Absent("torch is not installed")
    packages = row["packages"] if row and row["packages"] else f"'torch=={minor(version)}.*'"
    index = row["index"] if row and row["packages"] else f"--index-url https://download.pytorch.org/whl/{build}"
    yield "ipex.install.packages", Known(packages, "ipex-torch.toml")
    yield "ipex.install.index", Known(index, "ipex-torch.toml")
    if row is None:
        return
    python = facts.value("python.version")
    yield "ipex.python.range", Known(row["python"], "ipex-torch.toml")
    if isinstance(python, str) and (answer := in_release(python, row["python"])) is not None:
        yield "ipex.python.fits", Known(answer, "ipex-torch.toml")
    yield "ipex.oneapi.expected", Known(row["oneapi"], "ipex-torch.toml")
    yield "ipex.oneapi.system", Known(row["oneapi_system"], "ipex-torch.toml")
    yield "ipex.oneapi.fits", _oneapi_fits(facts, row, minor)
    yield "ipex.oneapi.same_year", _oneapi_fits(facts, row, year)


def year(version: str) -> str:
    return version.partition(".")[0]


def _oneapi_fits(facts: Facts, row: Mapping[str, Any], part: Callable[[str], str]) -> Fact:
    """Whether the activated oneAPI, else one of the installed ones, is of the release that this IPEX links. `part`: how much of the version
    must agree."""
    active = facts.value("oneapi.active")
    versions = [active] if isinstance(active, str) else facts.value("oneapi.installed")
    if not versions:
        return Unknown("not recorded")
    return Known(any(part(str(version)) == part(row["oneapi"]) for version in versions), "ipex-torch.toml")


def _torch(facts: Facts) -> Iterator[tuple[str, Fact]]:
    parts = ("bundled", "triton.expected", "triton.fits", "runtime.expected", "runtime.fits")
    names = tuple(f"torch.xpu.{name}" for name in parts)
    version = version_of(facts, "torch")
    build = facts.value("torch.build")
    if not isinstance(version, Known) or (build != "xpu" and not split(str(version.value))[1].startswith("xpu")):
        for name in names:
            yield name, version if isinstance(version, Unknown) else Absent("torch")
        return
    text = str(version.value)
    row = next((row for row in table("torch-xpu")["release"] if row["torch"] == minor(text)), None)
    if row is None:
        for name in names:
            yield name, Unknown(f"newer than this table ({table('torch-xpu')['date']})")
        return
    yield "torch.xpu.bundled", Known(row["bundled"], "torch-xpu.toml")
    wanted = f"{row['triton_name']} {row['triton']}".strip()
    yield "torch.xpu.triton.expected", Known(wanted, "torch-xpu.toml")
    triton = next((name for name in _TRITONS if isinstance(version_of(facts, name), Known)), None)
    if triton is None or not row["triton"] or "dev" in text:
        yield "torch.xpu.triton.fits", Unknown("not recorded")
    else:
        theirs = str(version_of(facts, triton).value)  # type: ignore[union-attr]
        yield "torch.xpu.triton.fits", Known(minor(theirs) == minor(row["triton"]), "torch-xpu.toml")
    yield "torch.xpu.runtime.expected", Known(row["runtime"], "torch-xpu.toml")
    runtime = version_of(facts, "intel-sycl-rt")
    if isinstance(runtime, Known) and "dev" not in text:
        yield "torch.xpu.runtime.fits", Known(minor(str(runtime.value)) == row["runtime"], "torch-xpu.toml")
        yield "torch.xpu.runtime.version", runtime
    else:
        yield "torch.xpu.runtime.fits", runtime if isinstance(runtime, Unknown) else Unknown("not recorded")


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    yield from _ipex(facts)
    yield from _torch(facts)
    runtimes = [version_of(facts, name) for name in _RUNTIMES]
    known = next((fact for fact in runtimes if isinstance(fact, Known)), None)
    yield "oneapi.in_environment", known or runtimes[0]


DERIVATION = Derivation(
    "ipex",
    provides=(
        FactSpec("ipex.version", "version", "Intel Extension for PyTorch"),
        FactSpec("ipex.build", "text", "xpu or cpu"),
        FactSpec("ipex.torch.expected", "text", "the torch that this IPEX was built for"),
        FactSpec("ipex.torch.fits", "bool", "the installed torch is the one that this IPEX was built for"),
        FactSpec("ipex.python.range", "text", "Python versions that this IPEX has wheels for"),
        FactSpec("ipex.python.fits", "bool", "this IPEX has wheels for this Python"),
        FactSpec("ipex.oneapi.expected", "text", "the oneAPI release that this IPEX links"),
        FactSpec("ipex.oneapi.system", "bool", "this IPEX links the oneAPI of the machine and brings none"),
        FactSpec("ipex.oneapi.fits", "bool", "the oneAPI that is activated, or installed, is that release"),
        FactSpec("ipex.oneapi.same_year", "bool", "it is at least of that year: libsycl has the name that this IPEX links"),
        FactSpec("ipex.install.packages", "text", "what pip installs for this IPEX with its torch"),
        FactSpec("ipex.install.index", "text", "the options of pip that name the index of these packages"),
        FactSpec("torch.xpu.bundled", "bool", "this torch brings its oneAPI runtime"),
        FactSpec("torch.xpu.triton.expected", "text", "the Triton that this torch belongs with"),
        FactSpec("torch.xpu.triton.fits", "bool", "the installed Triton is the one that this torch belongs with"),
        FactSpec("torch.xpu.runtime.expected", "text", "the oneAPI runtime that this torch pins"),
        FactSpec("torch.xpu.runtime.version", "dotted", "the oneAPI runtime in the environment"),
        FactSpec("torch.xpu.runtime.fits", "bool", "the oneAPI runtime in the environment is of that release"),
        FactSpec("oneapi.in_environment", "version", "oneAPI runtime installed as pip packages"),
    ),
    derive=derive,
)
