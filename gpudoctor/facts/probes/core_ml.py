"""Core ML Tools: whether the installed package can reach Apple's Core ML framework. Only files are read."""

from __future__ import annotations

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

_LIBRARY = lazy(r"libcoremlpython(?:\.[\w-]{1,60})?\.so")
"""The extension module through which coremltools loads and runs models. Wheels for macOS hold it, wheels for Linux and builds from source
without CMake do not: apple/coremltools#2465."""


def library(host: Host, facts: Facts) -> Fact:
    """The path of that module; absent where the folder of the package has none, unknown where the folder cannot be read."""
    for folder in facts.value("python.folders") or []:
        names = host.listdir(f"{folder}/coremltools")
        if names:
            found = next((name for name in names if _LIBRARY.fullmatch(name)), None)
            return Known(f"{folder}/coremltools/{found}", folder) if found else Absent(f"{folder}/coremltools")
    return Unknown("not recorded")


def collect(host: Host, facts: Facts) -> Collected:
    if facts.value("python.distributions.coremltools"):
        yield "coremltools.library", library(host, facts)


PROBE = Probe(
    "core_ml",
    (FactSpec("coremltools.library", "text", "coremltools' module for the Core ML framework (libcoremlpython.so)", privacy="identifying"),),
    collect,
    needs=("python.distributions", "python.folders"),
)
