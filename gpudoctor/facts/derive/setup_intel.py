"""Facts for the setup of an Intel GPU: the kernel that it needs, what this distribution offers, and which torch and Python serve it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._pythons import obtainable
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import older
from gpudoctor.facts.derive._visible_devices import is_card
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.rules.versions import compare_dotted, dotted

_OLD_NAMES = ("intel-level-zero-gpu", "level-zero", "level-zero-dev")
_NO_TORCH = ("Flex", "DG1", "Gen11", "Gen9", "Gen8", "Gen7")
"""Generations that PyTorch's pages on Intel GPUs never named and that lack instructions which its kernels use."""
_OLDEST_RUNTIME = "25.05"
"""The compute runtime that the last IPEX was tested with. With 24.52 PyTorch crashed in WSL (intel/torch-xpu-ops#4045)."""
_SMALL_BAR = 512 << 20
"""The largest window in bytes that counts as small: without Resizable BAR it is 256 MiB."""


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    if not facts.known("setup.name"):
        return
    gpus = _gpus(facts)
    yield from _cards(gpus)
    yield from _kernel(facts, gpus)
    packages = facts.value("packages")
    if isinstance(packages, Mapping):
        yield "setup.intel.old_packages", Known([name for name in _OLD_NAMES if packages.get(name)], "packages")
    yield from _torch(facts)


def _gpus(facts: Facts) -> list[Mapping[str, Any]]:
    """The Intel GPUs to set up: cards where there are any, else those inside the processor."""
    gpus = [gpu for gpu in facts.value("intel.gpus", []) or [] if isinstance(gpu, Mapping)]
    return [gpu for gpu in gpus if is_card(gpu)] or gpus


def _cards(gpus: list[Mapping[str, Any]]) -> Iterator[tuple[str, Fact]]:
    firsts = [str(gpu["min_runtime"]) for gpu in gpus if isinstance(gpu.get("min_runtime"), str)]
    yield "setup.intel.runtime_wanted", Known(max([_OLDEST_RUNTIME, *firsts], key=lambda one: dotted(one) or ()), "intel-runtime.toml")
    if not gpus:
        for name in ("card", "generation", "datacenter", "legacy", "bound", "small_bar", "served_by_torch"):
            yield f"setup.intel.{name}", Absent("intel.gpus")
        return
    generations = [gpu["generation"] if isinstance(gpu.get("generation"), str) else "" for gpu in gpus]
    yield "setup.intel.card", Known(str(gpus[0].get("name") or gpus[0].get("pci_id") or "an Intel GPU"), "intel.gpus")
    yield "setup.intel.generation", Known(generations[0], "intel.gpus") if generations[0] else Unknown("not recorded")
    yield "setup.intel.datacenter", Known(any(gpu.get("out_of_tree") is True for gpu in gpus), "intel.gpus")
    yield "setup.intel.legacy", Known(all(gpu.get("legacy") is True for gpu in gpus), "intel.gpus")
    yield "setup.intel.bound", Known(all(gpu.get("driver") in ("i915", "xe") for gpu in gpus), "intel.gpus")
    bars = [gpu.get("bar_bytes") for gpu in gpus if gpu.get("kind") == "discrete"]
    yield "setup.intel.small_bar", Known(any(isinstance(bar, int) and bar <= _SMALL_BAR for bar in bars), "intel.gpus")
    served = [name not in _NO_TORCH for name in generations if name]
    yield "setup.intel.served_by_torch", Known(any(served), "intel.gpus") if served else Unknown("not recorded")


def system_row(facts: Facts) -> Mapping[str, Any] | None:
    """The row of setup-intel-systems.toml for this distribution release; None where the table lacks it."""
    name, version = facts.value("os.id"), str(facts.value("os.version") or "")
    for row in table("setup-intel-systems")["system"]:
        if row["os"] == name and f"{version}.".startswith(f"{row['version']}."):
            return row  # type: ignore[no-any-return]
    return None


def _kernel(facts: Facts, gpus: list[Mapping[str, Any]]) -> Iterator[tuple[str, Fact]]:
    row = system_row(facts)
    if row is None:
        yield "setup.intel.level_zero_offered", Unknown("not recorded")
        yield "setup.intel.kernel_offered", Unknown("not recorded")
    else:
        yield "setup.intel.level_zero_offered", Known(row["level_zero"], row["source"])
        yield "setup.intel.kernel_offered", Known(row["kernel"], row["source"])
        yield "setup.intel.kernel_package", Known(row["kernel_package"], row["source"]) if row["kernel_package"] else Absent(row["source"])
    needs = [str(gpu["min_kernel"]) for gpu in gpus if isinstance(gpu.get("min_kernel"), str)]
    if facts.value("platform.kind") != "linux" or not needs:
        return
    wanted = max(needs, key=lambda one: dotted(one) or ())
    yield "setup.intel.kernel_wanted", Known(wanted, "devices-intel.toml")
    too_old = older(facts.value("kernel.version"), wanted)
    if too_old is None:
        return
    yield "setup.intel.kernel_ok", Known(not too_old, "kernel.version")
    reached = not too_old or (None if row is None else not older(row["kernel"], wanted))
    yield "setup.intel.kernel_reachable", Known(reached, "kernel.version") if reached is not None else Unknown("not recorded")


def _torch(facts: Facts) -> Iterator[tuple[str, Fact]]:
    """Whether PyTorch has XPU wheels of the release that was asked for, else of the newest with a Python that can be had here, and their
    Pythons."""
    tree = table("torch-xpu")
    asked = facts.value("setup.torch")
    usable = [row["torch"] for row in tree["release"] if obtainable(facts, row["python"])] or [tree["newest"]]
    release = ".".join(str(asked or usable[-1]).split(".")[:2])
    row = next((row for row in tree["release"] if row["torch"] == release), None)
    left, right = dotted(release), dotted(tree["newest"])
    newer = bool(left and right and compare_dotted(left, right) > 0)
    yield "setup.xpu.offered", Known(row is not None, "torch-xpu.toml") if not newer else Unknown(f"newer than this table ({tree['date']})")
    python = row["python"] if row else table("torch-xpu")["release"][-1]["python"] if newer else None
    yield "setup.xpu.python", Known(python, "torch-xpu.toml") if python else Absent("torch-xpu.toml")


DERIVATION = Derivation(
    "setup_intel",
    provides=(
        FactSpec("setup.intel.card", "text", "the Intel GPU that is set up: the first card, else the one in the processor"),
        FactSpec("setup.intel.generation", "text", "generation of the Intel GPU that is set up"),
        FactSpec("setup.intel.datacenter", "bool", "Flex or Max: needs Intel's own kernel driver"),
        FactSpec("setup.intel.legacy", "bool", "only GPUs of generations 8 to 11 are here, which the legacy1 packages serve"),
        FactSpec("setup.intel.bound", "bool", "a kernel driver has taken them"),
        FactSpec("setup.intel.small_bar", "bool", "a card shows only a window of its memory: Resizable BAR is off"),
        FactSpec("setup.intel.served_by_torch", "bool", "PyTorch's own XPU build was ever meant for it"),
        FactSpec("setup.intel.runtime_wanted", "dotted", "the oldest compute runtime that serves these GPUs and today's frameworks"),
        FactSpec("setup.intel.kernel_wanted", "dotted", "first kernel that drives the Intel GPUs here without a parameter"),
        FactSpec("setup.intel.kernel_ok", "bool", "the running kernel drives the Intel GPUs here"),
        FactSpec("setup.intel.kernel_offered", "dotted", "the newest kernel that this distribution can be brought to"),
        FactSpec("setup.intel.kernel_package", "text", "the package that brings it; absent where the distribution has no newer one"),
        FactSpec("setup.intel.kernel_reachable", "bool", "the running kernel, or the newest of this distribution, is new enough"),
        FactSpec("setup.intel.level_zero_offered", "bool", "Intel's Level Zero driver can be had for this distribution"),
        FactSpec("setup.intel.old_packages", "list", "installed driver packages of the naming before 2024"),
        FactSpec("setup.xpu.offered", "bool", "PyTorch has XPU wheels of the release that was asked for"),
        FactSpec("setup.xpu.python", "text", "Python versions that they are built for"),
    ),
    derive=derive,
)
