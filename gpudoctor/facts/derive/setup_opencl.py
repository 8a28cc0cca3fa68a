"""What a setup of OpenCL and of torch on OpenCL installs: drivers for the GPUs here, and the pytorch_ocl wheel for a Python here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._setup import asked_torch, between, pythons_here
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import numbers
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known

_MAKERS = ("intel", "nvidia", "amd")
_BEFORE_ROCM = ("gfx6", "gfx7", "gfx8")


def wheel(facts: Facts) -> dict[str, Any] | None:
    """The row of setup-opencl.toml for the torch and Python that were asked for: a verified wheel before others, and one whose Python is
    here before one that needs another. None where there is no wheel for them."""
    system = "windows" if facts.value("platform.kind") == "windows" else "linux"
    asked, python = asked_torch(facts), facts.value("setup.python_version")
    rows = [row for row in table("setup-opencl")["wheel"] if row["system"] == system
            and (asked is None or numbers(row["torch"])[:2] == numbers(asked)[:2])
            and (python is None or numbers(row["python"]) == numbers(str(python))[:2])]  # fmt: skip
    here = pythons_here(facts)
    sure = [row for row in rows if row.get("verified", True)]
    for row in (*(one for one in sure if one["python"] in here), *(one for one in rows if one["python"] in here), *sure, *rows):
        return dict(row)
    return None


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    if facts.value("setup.name") not in ("opencl", "torch-opencl", "tensorflow", "jax"):
        return
    vendors = _vendors(facts)
    yield "setup.opencl.vendors", Known(vendors, "gpu.vendors")
    yield "setup.opencl.cpu", Known(not vendors, "gpu.vendors")
    yield "setup.amd.opencl", Known(_amd_driver(facts), "setup-opencl")
    suite = _suite(facts)
    yield "setup.rocm.suite", Known(suite, "setup-opencl") if suite else Absent("setup-opencl")
    if facts.value("setup.name") != "torch-opencl":
        return
    row, data = wheel(facts), table("setup-opencl")
    yield "setup.ocl.wheel", Known(row["file"], row["source"]) if row else Absent("setup-opencl")
    if row is None:
        return
    yield "setup.ocl.torch", Known(row["torch"], row["source"])
    yield "setup.ocl.python", Known(between(row["python"], row["python"]), row["source"])
    yield "setup.ocl.verified", Known(row.get("verified", True), row["source"])
    page = str(data["page"])
    yield "setup.ocl.address", Known(f"{page}/download/{row['release']}/{row['file']}", row["source"])
    names, root = facts.value("setup.files"), facts.value("setup.files_at")
    found = next((name for name in names or [] if name.rpartition("/")[2].replace("%2B", "+") == row["file"]), None)
    yield "setup.ocl.there", Known(bool(found), "--folder")
    folder = str(facts.value("setup.folder") or "").replace("\\", "/").rstrip("/") or _downloads(facts)
    path = f"{root}/{found}" if found else f"{folder}/{row['file']}" if folder else None
    yield "setup.ocl.path", Known(path, "--folder") if path else Absent("--folder")


def _downloads(facts: Facts) -> str | None:
    """The folder where downloads lie: Downloads of the home folder, else the folder that holds the environment."""
    home, env = facts.value("env.HOME"), str(facts.value("setup.env", ""))
    return f"{home}/Downloads" if home else env.rpartition("/")[0] or None


def _vendors(facts: Facts) -> list[str]:
    """The vendors whose GPUs OpenCL can reach: in WSL Intel's alone, in a container those whose device nodes it was given."""
    here = [vendor for vendor in facts.value("setup.gpu_vendors") or [] if vendor in _MAKERS]
    closed = facts.value("container.closed_vendors") or []
    if facts.value("platform.kind") == "wsl2":
        return [vendor for vendor in here if vendor == "intel"]
    return [vendor for vendor in here if vendor not in closed]


def _suite(facts: Facts) -> str | None:
    for row in table("setup-opencl")["suite"]:
        if (row["os"], row["version"]) == (facts.value("os.id"), facts.value("os.version")):
            return str(row["suite"])
    return None


def _amd_driver(facts: Facts) -> str:
    """AMD's OpenCL driver: 'rocm' where AMD has a repository for this distribution release and serves the card, else Mesa's 'rusticl'."""
    old = any(str(gfx).startswith(_BEFORE_ROCM) and len(str(gfx)) == 6 for gfx in facts.value("amd.gfx") or [])
    return "rusticl" if old or not _suite(facts) else "rocm"


DERIVATION = Derivation(
    name="setup_opencl",
    provides=(
        FactSpec("setup.opencl.vendors", "list", "makers of GPUs for which an OpenCL driver is set up"),
        FactSpec("setup.opencl.cpu", "bool", "there is no such GPU, so that OpenCL computes on the processor"),
        FactSpec("setup.amd.opencl", "text", "which OpenCL driver AMD's cards get: rocm or rusticl"),
        FactSpec("setup.rocm.suite", "text", "the suite of AMD's ROCm repository for this release; absent where there is none"),
        FactSpec("setup.ocl.wheel", "text", "file name of the pytorch_ocl wheel; absent where there is none for what was asked"),
        FactSpec("setup.ocl.torch", "dotted", "the torch that it was built for"),
        FactSpec("setup.ocl.python", "text", "its Python, as a specifier"),
        FactSpec("setup.ocl.verified", "bool", "a public text names this very file"),
        FactSpec("setup.ocl.address", "text", "where it is downloaded"),
        FactSpec("setup.ocl.there", "bool", "the wheel lies in the folder that was given"),
        FactSpec("setup.ocl.path", "text", "where the wheel lies, or is to be put", privacy="identifying"),
    ),
    derive=derive,
)
