"""The Python for which the native module of torch-directml in the target environment was built."""

from __future__ import annotations

import re

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Absent, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

_TAGS = (lazy(r"cpython-(\d)(\d+)"), lazy(r"\.cp(\d)(\d+)-win"))


def parse_native(names: list[str]) -> list[str]:
    """The Pythons for which the files of torch_directml_native were built: ['3.10']."""
    found = []
    for name in names:
        if name.startswith("torch_directml_native"):
            for tag in _TAGS:
                match = tag.search(name)
                if match:
                    found.append(f"{match[1]}.{match[2]}")
    return sorted(set(found))


def site_packages(host: Host, prefix: str) -> list[str]:
    """The folders below a prefix in which packages may lie, on Linux and on Windows."""
    lib = f"{prefix}/lib"
    folders = [f"{lib}/{name}/site-packages" for name in host.listdir(lib) if re.fullmatch(r"python3\.\d+t?", name)]
    return [*folders, f"{prefix}/Lib/site-packages"]


def collect(host: Host, facts: Facts) -> Collected:
    prefix = facts.value("python.prefix")
    if not isinstance(prefix, str) or not prefix:
        yield "directml.native_python", Unknown("not probed")
        return
    names = [name for folder in site_packages(host, prefix.rstrip("/\\")) for name in host.listdir(folder)]
    found = parse_native(names)
    if found:
        yield "directml.native_python", Known(found, prefix)
    else:
        yield "directml.native_python", Absent(prefix) if names else Unknown("not recorded")


PROBE = Probe(
    "directml",
    (FactSpec("directml.native_python", "list", "Python versions for which torch-directml's native module was built"),),
    collect,
    needs=("python.prefix",),
)
