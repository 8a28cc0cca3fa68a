"""Intel GPUs: the driver and kernel that each needs, the variables that hide them, and how many SYCL lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import older
from gpudoctor.facts.derive._visible_devices import is_card
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy

_COPIED = ("address", "name", "pci_id", "kind", "generation", "arch", "driver", "min_kernel", "node", "access", "node_group", "bar_bytes",
           "memory_bytes")  # fmt: skip
_LEGACY = lazy(
    r"gen ?(8|9|9\.5|10|11)\b|broadwell|skylake|kaby|coffee|comet|whiskey|amber|gemini|apollo|broxton|ice ?lake|elkhart|jasper", re.I
)
_ALCHEMIST = lazy(r"alchemist|dg2|xe-?hpg|ats-?m|flex", re.I)
_NO_FP64 = lazy(r"alchemist|dg2|ats-?m|flex|xe-?lp|gen ?12|tiger|rocket|alder|raptor|dg1", re.I)
"""Generations without double precision in hardware. Xe-LPG (Meteor Lake, Arrow Lake) and Xe2 have it."""
_SELECTORS = ("ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK", "SYCL_DEVICE_FILTER")


def required_runtime(device_id: str) -> str | None:
    """The first compute runtime that knows a PCI device id, '24.31.30508' for 'e20b'; None for an id that the table lacks."""
    for row in table("intel-runtime")["device"]:
        if device_id.lower() in row["ids"]:
            return str(row["first"])
    return None


def selector_problem(name: str, value: str, gpus: int | None) -> str | None:
    """Why a variable that selects devices leaves no Level Zero GPU, as a clause; None where it leaves one or cannot be judged.

    `gpus`: how many there are, None where unknown. The grammar of ONEAPI_DEVICE_SELECTOR:
    https://github.com/intel/llvm/blob/sycl/sycl/doc/EnvironmentVariables.md
    """
    value = value.strip()
    if not value:
        return None
    if name == "ZE_AFFINITY_MASK":
        indices = [int(found[0]) for part in value.split(",") if (found := re.match(r"\d+", part.strip()))]
        if gpus and indices and min(indices) >= gpus:
            return f"it names device {min(indices)}, and there {'is' if gpus == 1 else 'are'} only {gpus}"
        return None
    accepted = [term.strip().lower() for term in value.split(";") if term.strip() and not term.strip().startswith("!")]
    if not accepted:
        return None
    reasons = []
    for term in accepted:
        backend, _, devices = term.partition(":")
        if backend not in ("level_zero", "*", "ext_oneapi_level_zero", "gpu"):
            reasons.append(f"'{term}' admits only the backend {backend}")
            continue
        names = [part.strip() for part in devices.split(",") if part.strip()] or ["*"]
        if all(part in ("cpu", "fpga", "acc", "accelerator", "host") for part in names):
            reasons.append(f"'{term}' admits no GPU")
            continue
        numbers = [int(part.split(".")[0]) for part in names if re.match(r"\d+(\.|$)", part)]
        if gpus and backend == "level_zero" and len(numbers) == len(names) and min(numbers) >= gpus:
            reasons.append(f"'{term}' names device {min(numbers)}, and there {'is' if gpus == 1 else 'are'} only {gpus}")
            continue
        return None
    return "; ".join(reasons)


def _gpus(facts: Facts) -> list[Mapping[str, Any]] | None:
    gpus = facts.get("gpus")
    if isinstance(gpus, Absent):
        return []
    if not isinstance(gpus, Known):
        return None
    return [gpu for gpu in gpus.value if isinstance(gpu, Mapping)]


def is_legacy(gpu: Mapping[str, Any]) -> bool | Unknown:
    """Whether only the legacy packages of the compute runtime serve this GPU since 24.35."""
    generation = _generation(gpu)
    return bool(_LEGACY.search(generation)) if generation else Unknown("not recorded")


def _generation(gpu: Mapping[str, Any]) -> str:
    return " ".join(str(gpu[key]) for key in ("generation", "arch") if isinstance(gpu.get(key), str))


def describe(gpu: Mapping[str, Any], runtime: Fact) -> dict[str, Any]:
    """The record of the fact intel.gpus for one GPU. `runtime`: the compute runtime in use."""
    device = str(gpu.get("pci_id") or "").partition(":")[2].lower()
    generation = _generation(gpu)
    first = required_runtime(device) if device else None
    record: dict[str, Any] = {key: gpu[key] for key in _COPIED if key in gpu}
    too_old = older(runtime.value, first) if isinstance(runtime, Known) and first else None
    record.update(
        min_runtime=first if first else Unknown("newer than this table (2026-11-20)"),
        runtime_too_old=too_old if too_old is not None else Unknown("not recorded"),
        legacy=is_legacy(gpu),
        alchemist=bool(_ALCHEMIST.search(generation)) if generation else Unknown("not recorded"),
        fp64=False if generation and _NO_FP64.search(generation) else Unknown("not recorded"),
        out_of_tree=device in _out_of_tree(),
    )
    return record


def _out_of_tree() -> set[str]:
    """The PCI device ids of Flex and Max, which the upstream i915 drives with force_probe alone."""
    return {device for row in table("intel-runtime")["device"] if row["name"] in ("Flex", "Max") for device in row["ids"]}


def _counts(gpus: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Fact]]:
    intel = [gpu for gpu in gpus if gpu.get("vendor") == "intel"]
    discrete = [gpu for gpu in intel if is_card(gpu)]
    integrated = [gpu for gpu in intel if gpu.get("kind") == "integrated"]
    others = [gpu for gpu in gpus if gpu.get("vendor") in ("nvidia", "amd", "graphcore") and gpu.get("kind") != "integrated"]
    yield "intel.gpu.count", Known(len(intel))
    yield "intel.discrete.count", Known(len(discrete))
    yield "intel.integrated.count", Known(len(integrated))
    for name, chosen in (("intel.discrete.name", discrete), ("intel.integrated.name", integrated)):
        yield name, Known(str(chosen[0].get("name") or chosen[0].get("pci_id") or "?")) if chosen else Absent("gpus")
    yield "intel.other_accelerator", Known(bool(others))


def _selectors(facts: Facts, listed: int | None) -> Iterator[tuple[str, Fact]]:
    given = {name: str(value) for name in _SELECTORS if (value := facts.value(f"env.{name}"))}
    if any(isinstance(facts.get(f"env.{name}"), Unknown) for name in _SELECTORS[:2]) and not given:
        yield "intel.selector.set", Unknown("not recorded")
        yield "intel.selector.problem", Unknown("not recorded")
        return
    yield "intel.selector.set", Known(bool(given), "environment")
    for name, value in given.items():
        if problem := selector_problem(name, value, listed):
            yield "intel.selector.variable", Known(name, "environment")
            yield "intel.selector.value", Known(value, "environment")
            yield "intel.selector.problem", Known(problem, f"{name}={value}")
            return
    yield "intel.selector.problem", Absent("environment")


def _runtime(facts: Facts) -> Fact:
    """The version of the compute runtime: of the installed package, else of the driver that sycl-ls or OpenCL list."""
    fact = facts.get("intel.compute_runtime.version")
    if isinstance(fact, Known):
        return fact
    for source, key in (("sycl.devices", "driver"), ("opencl.devices", "driver_version")):
        for device in facts.value(source, []) or []:
            version = str(device.get(key) or "") if isinstance(device, Mapping) and device.get("type") == "gpu" else ""
            if re.match(r"2\d\.\d\d\.\d{4,6}", version):
                return Known(version, source)
    return fact


def _builds(facts: Facts) -> Fact:
    """The versions of the OpenCL and the Level Zero driver where they are of different builds; absent where they are of one. Both are built
    from one source and share the build number: 24.35.30872 and 1.3.30872."""
    opencl, level_zero = (facts.value(f"intel.{name}.version") for name in ("compute_runtime", "level_zero"))
    pattern = r"^(?:1\.\d+|\d{2}\.\d{2})\.(\d{4,6})"
    found = [re.match(pattern, str(version)) for version in (opencl, level_zero)]
    if opencl is None or level_zero is None:
        return Unknown("not recorded")
    if not found[0] or not found[1]:
        return Unknown("unparsable")
    return Absent("packages") if found[0][1] == found[1][1] else Known(f"{opencl} and {level_zero}", "packages")


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    runtime = _runtime(facts)
    yield "intel.runtime.version", runtime
    yield "intel.runtime.mixed", _builds(facts)
    sycl = facts.get("sycl.devices")
    listed: int | None = None
    if isinstance(sycl, Known):
        gpus = [device for device in sycl.value if isinstance(device, Mapping) and device.get("type") == "gpu"]
        level_zero = [device for device in gpus if device.get("backend") == "level_zero"]
        listed = len(level_zero)
        yield "sycl.gpu.count", Known(len(gpus), "sycl-ls")
        yield "sycl.level_zero.count", Known(len(level_zero), "sycl-ls")
        yield "sycl.level_zero.names", Known([str(device.get("name")) for device in level_zero], "sycl-ls")
    else:
        for name in ("sycl.gpu.count", "sycl.level_zero.count", "sycl.level_zero.names"):
            yield name, Unknown(sycl.reason if isinstance(sycl, Unknown) else "tool missing")
    machine = _gpus(facts)
    if machine is None:
        fact = facts.get("gpus")
        why = fact if isinstance(fact, Unknown) else Unknown("not recorded")
        for name in ("intel.gpus", "intel.gpu.count", "intel.discrete.count", "intel.integrated.count", "intel.other_accelerator"):
            yield name, why
    else:
        yield "intel.gpus", Known([describe(gpu, runtime) for gpu in machine if gpu.get("vendor") == "intel"], "gpus")
        yield from _counts(machine)
    here = None if machine is None else sum(gpu.get("vendor") == "intel" for gpu in machine)
    yield from _selectors(facts, max(filter(None, (listed, here)), default=None))
    wants = facts.value("torch.build") == "xpu" or facts.value("ipex.build") == "xpu"
    known = wants or facts.known("python.distributions")
    yield "intel.level_zero.wanted", Known(wants, "python.distributions") if known else Unknown("not probed")
    if isinstance(facts.get("env.LD_PRELOAD"), Known):
        preload = str(facts.value("env.LD_PRELOAD"))
        ours = re.compile(r"libstdc\+\+|libmkl|libsycl|libze_|libtcmalloc|libiomp5")
        stale = [path for path in re.split(r"[:\s]+", preload) if ours.search(path)]
        yield "intel.preload", Known(stale, "LD_PRELOAD") if stale else Absent("LD_PRELOAD")


DERIVATION = Derivation(
    "intel",
    provides=(
        FactSpec(
            "intel.gpus", "records", "Intel GPUs with what the tables say of them", item="intel_gpu",
            fields={**dict.fromkeys(_COPIED, "as in gpus"), "min_runtime": "first compute runtime that knows it",
                    "runtime_too_old": "the installed one is older", "legacy": "served by the legacy1 packages only",
                    "alchemist": "Arc A or Flex", "fp64": "false where the hardware has none",
                    "out_of_tree": "Flex, Max: needs Intel's own kernel driver"},
        ),
        FactSpec("intel.gpu.count", "int", "Intel GPUs"),
        FactSpec("intel.discrete.count", "int", "Intel cards"),
        FactSpec("intel.integrated.count", "int", "Intel GPUs inside processors"),
        FactSpec("intel.discrete.name", "text", "the first Intel card"),
        FactSpec("intel.integrated.name", "text", "the Intel GPU inside the processor"),
        FactSpec("intel.other_accelerator", "bool", "there is a card of another vendor as well"),
        FactSpec("intel.runtime.version", "dotted", "the compute runtime in use: the installed package, else what the driver says"),
        FactSpec("intel.runtime.mixed", "text", "OpenCL and Level Zero driver of different releases"),
        FactSpec("intel.selector.set", "bool", "a variable chooses among the devices"),
        FactSpec("intel.selector.variable", "text", "the variable that hides every GPU"),
        FactSpec("intel.selector.value", "text", "its value"),
        FactSpec("intel.selector.problem", "text", "how it hides every GPU"),
        FactSpec("intel.level_zero.wanted", "bool", "the target environment holds a framework that needs Level Zero"),
        FactSpec("intel.preload", "list", "libraries in LD_PRELOAD that the XPU stack brings itself"),
        FactSpec("sycl.gpu.count", "int", "GPUs in sycl-ls, over all backends"),
        FactSpec("sycl.level_zero.count", "int", "Level Zero GPUs in sycl-ls"),
        FactSpec("sycl.level_zero.names", "list", "their names, in order"),
    ),
    derive=derive,
)  # fmt: skip
