"""Known fixes (gpudoctor/data/trials.toml): which of them apply to a machine, a framework and a workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

from msgspec.structs import replace

from gpudoctor.benchmark.worker_client import Line
from gpudoctor.facts import vocabulary
from gpudoctor.facts.derive._tables import table
from gpudoctor.model.facts import Absent, Facts, Known
from gpudoctor.model.trials import Trial
from gpudoctor.rules.conditions import parse
from gpudoctor.rules.evaluate import evaluate
from gpudoctor.rules.templates import fill
from gpudoctor.system.framework_child import one_line

CONVOLUTIONS = (
    "alexnet", "resnet18", "resnet50", "vgg16", "mobilenet_v2", "resnext101_32x4d", "style_transfer", "yolox_tiny", "unet_sd15",
    "unet_sd21",
)  # fmt: skip
LIBRARIES = {
    "tcmalloc": ("libtcmalloc.so.4", "libtcmalloc_minimal.so.4"),
    "jemalloc": ("libjemalloc.so.2",),
    "iomp": ("libiomp5.so",),
}
FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")

NO_FIELDS = str.maketrans("{}", "()")
"""Replaces braces in a value that is put into a template."""


class TrialHost(Protocol):
    """The methods that the facts of trials need of a host."""

    def exists(self, path: str) -> bool: ...
    def read(self, path: str) -> Any: ...


@lru_cache(maxsize=1)
def trials() -> tuple[Trial, ...]:
    """All rows. Raises rules.conditions.ConditionError with the place of a malformed condition."""
    found = []
    for row in table("trials")["trial"]:
        condition = parse(row["applies"], f"trials.toml {row['id']}.applies", vocabulary.items())
        found.append(Trial(**{**row, "applies": condition, "unset": tuple(row.get("unset", ()))}))
    return tuple(found)


def facts_of_run(facts: Facts, request: Line, backend: str, host: TrialHost, prefix: str = "") -> Facts:
    """The facts of the machine, and those of the run that trials ask for. `prefix`: folder of the target environment."""
    found = Facts(dict(facts.items()))
    cores, processors = _cores(host)
    cpu_flags = found.value("cpu.flags")
    known = {
        "framework": request["framework"], "backend": backend, "task": request["task"], "dtype": request.get("dtype", "float32"),
        "workload": request["workload"], "convolutions": request["workload"] in CONVOLUTIONS, "cores": cores, "processors": processors,
        "glibc": host.exists("/lib64/ld-linux-x86-64.so.2") or host.exists("/lib/ld-linux-aarch64.so.1"),
        "huge_pages": _chosen(host.read("/sys/kernel/mm/transparent_hugepage/enabled").text),
        "bfloat16": bool({"avx512_bf16", "amx_bf16", "bf16"} & set(cpu_flags)) if isinstance(cpu_flags, list | tuple) else None,
        **{name: _library(host, files, prefix) for name, files in LIBRARIES.items()},
    }  # fmt: skip
    for name, value in known.items():
        found.set(f"trial.{name}", Absent() if value is None else Known(value, "validate"))
    return found


def _cores(host: TrialHost) -> tuple[int | None, int | None]:
    """The numbers of (physical, logical) cores, from /proc/cpuinfo."""
    cores, processors, package = set(), 0, "0"
    for line in host.read("/proc/cpuinfo").text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "processor":
            processors += 1
        elif name.strip() == "physical id":
            package = value.strip()
        elif name.strip() == "core id":
            cores.add((package, value.strip()))
    return len(cores) or processors or None, processors or None


def _chosen(text: str) -> str | None:
    """The chosen word of a sysfs file: 'madvise' from 'always [madvise] never'."""
    return next((word.strip("[]") for word in text.split() if word.startswith("[")), None)


def _library(host: TrialHost, names: Sequence[str], prefix: str) -> str | None:
    folders = ([f"{prefix}/lib"] if prefix else []) + list(FOLDERS)
    return next((path for folder in folders for name in names if host.exists(path := f"{folder}/{name}")), None)


def applicable(facts: Facts, variables: Mapping[str, str] | None = None) -> list[Trial]:
    """The trials whose condition holds for `facts` (of facts_of_run). Those that unset a variable come first: one that was set by hand is
    the likeliest cause. `variables`: the environment. A variable that it has is not set again, and one that it lacks is not unset."""
    present = variables or {}
    found = []
    for trial in trials():
        if evaluate(trial.applies, facts).truth != "true":
            continue
        if trial.unset:
            names = tuple(name for name in trial.unset if present.get(name))
            if names:
                found.append(_taking_away(trial, names, present))
            continue
        wanted = {name: fill(text, facts) for name, text in trial.environment.items()}
        if not (wanted and all(present.get(name) == text for name, text in wanted.items())):
            found.append(trial)
    return sorted(found, key=lambda trial: not trial.unset)


def _taking_away(trial: Trial, names: tuple[str, ...], there: Mapping[str, str]) -> Trial:
    said = ", ".join(f"{name} (it is {one_line(there[name])[:60].translate(NO_FIELDS)} here)" for name in names)
    return replace(trial, unset=names, advice=f"Unset {said}{f'. {trial.advice}' if trial.advice else ''}")
