"""OpenCL: which GPUs have a registered driver, which are listed, and what is missing for the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._driver_packages import driver_package
from gpudoctor.facts.derive.intel import is_legacy
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown

_MAKERS = ("nvidia", "amd", "intel")
_SERVED_BY = {
    "nvidia": {"nvidia", "rusticl", "clover", "clvk"}, "amd": {"amd", "rusticl", "clover", "clvk"}, "intel": {"intel", "rusticl",
    "clover", "beignet", "clvk"},
}  # fmt: skip
_GALLIUM = {"amd": "radeonsi", "intel": "iris", "nvidia": "nouveau"}
_OPENCL_USERS = (
    "pyopencl",
    "pytorch-ocl",
    "pytorch_ocl",
    "plaidml",
    "plaidml-keras",
    "pyopencl-blas",
    "siliconcompiler-opencl",
    "dlprimitives",
)
_UNSAID = Unknown("not recorded")


def _seen(gpu: dict[str, Any], devices: list[dict[str, Any]], alone: bool) -> bool:
    """Whether OpenCL lists this GPU: by the PCI address where both are known, else by the vendor. `alone`: it is the only GPU of its
    vendor."""
    own = [d for d in devices if d.get("type") == "gpu" and d.get("vendor") in (gpu.get("vendor"), "other")]
    addresses = [d["address"] for d in own if isinstance(d.get("address"), str)]
    if gpu.get("address") in addresses:
        return True
    return bool(own) and (alone or len(addresses) < len(own))


def _serving(gpu: dict[str, Any], unseen: bool) -> set[str]:
    """The kinds of ICD files that can serve this GPU. Mesa's drivers do not work with NVIDIA's own kernel module, and Clover serves only
    GPUs that it lists (`unseen`: it does not)."""
    kinds = set(_SERVED_BY[str(gpu["vendor"])])
    if gpu.get("driver") == "nvidia":
        kinds -= {"rusticl", "clover"}
    return kinds - {"clover"} if unseen else kinds


def _gpus(facts: Facts, devices: list[dict[str, Any]] | None, icds: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    physical = [g for g in facts.value("gpus", []) if isinstance(g, dict) and g.get("vendor") in _MAKERS]
    working = {i["vendor"] for i in icds or [] if i.get("active") and i.get("exists") is not False and i.get("readable")}
    broken = {i["vendor"]: i for i in icds or [] if i.get("active") and i.get("exists") is False and isinstance(i.get("library"), str)}
    records = []
    for gpu in physical:
        vendor = str(gpu["vendor"])
        text, command = driver_package("opencl-packages", "intel-legacy" if vendor == "intel" and is_legacy(gpu) is True else vendor, facts)
        same = sum(1 for g in physical if g["vendor"] == vendor)
        seen = _UNSAID if devices is None else _seen(gpu, devices, same == 1)
        records.append({
            "address": gpu.get("address"), "name": gpu.get("name"), "vendor": vendor, "kind": gpu.get("kind", _UNSAID),
            "driver": gpu.get("driver", _UNSAID), "access": gpu.get("access", _UNSAID), "node_group": gpu.get("node_group", _UNSAID),
            "seen": seen, "registered": _UNSAID if icds is None else bool(working & _serving(gpu, seen is False)),
            "own_registered": _UNSAID if icds is None else vendor in working,
            "broken_icd": _UNSAID if icds is None else broken.get(vendor, {}).get("file"),
            "broken_library": _UNSAID if icds is None else broken.get(vendor, {}).get("library"),
            "package": text, "install": command, "gallium": _GALLIUM[vendor],
        })  # fmt: skip
    return records


def _wanted(facts: Facts) -> bool | Unknown:
    """Whether something here uses OpenCL: clinfo is installed, or a Python package needs it. The loader alone proves nothing, since media
    players bring it."""
    distributions, packages = facts.value("python.distributions"), facts.value("packages")
    if distributions and any(name in distributions for name in _OPENCL_USERS):
        return True
    found = facts.get("opencl.platforms")
    if isinstance(found, Known) and found.source.startswith("clinfo"):
        return True
    if packages and "clinfo" in packages:
        return True
    return False if distributions is not None and packages is not None else Unknown("not recorded")


def derive(facts: Facts) -> Iterable[tuple[str, Fact]]:
    devices, icds, platforms = facts.value("opencl.devices"), facts.value("opencl.icds"), facts.value("opencl.platforms")
    reason = facts.get("opencl.devices")
    unknown = reason if isinstance(reason, Unknown) else _UNSAID
    records = _gpus(facts, devices, icds)
    yield "opencl.gpus", Known(records, "gpus") if facts.known("gpus") else _UNSAID
    wanted = _wanted(facts)
    yield "opencl.wanted", wanted if isinstance(wanted, Unknown) else Known(wanted, "packages")
    if devices is None:
        for name in ("opencl.kinds", "opencl.names", "opencl.first_type", "opencl.gpu_seen"):
            yield name, unknown
    else:
        yield "opencl.kinds", Known(sorted({d["type"] for d in devices if isinstance(d.get("type"), str)}), "opencl.devices")
        yield (
            "opencl.names",
            Known([f"{d['name']} ({d['type'] if isinstance(d['type'], str) else 'kind unknown'})" for d in devices], "opencl.devices"),
        )
        first = devices[0].get("type") if devices else None
        yield (
            "opencl.first_type",
            Known(first, "opencl.devices") if isinstance(first, str) else Absent("opencl.devices") if not devices else _UNSAID,
        )
        yield "opencl.gpu_seen", Known(any(d.get("type") == "gpu" for d in devices), "opencl.devices")
        gpu = next((d for d in devices if d.get("type") == "gpu"), None)
        yield "opencl.gpu_index", Known(gpu["index"], "opencl.devices") if gpu and "index" in gpu else Absent("opencl.devices")
    names = [str(p.get("name")) for p in platforms or []]
    yield "opencl.platform_names", Known(names, "opencl.platforms") if platforms is not None else unknown
    if platforms is None:
        yield "opencl.empty_platforms", unknown
    else:
        yield "opencl.empty_platforms", Known([str(p.get("name")) for p in platforms if not p.get("devices")], "opencl.platforms")
    makers = sorted({r["vendor"] for r in records if r["seen"] is False})
    yield "opencl.unseen_vendors", Known(makers, "gpus") if devices is not None and facts.known("gpus") else unknown
    yield "opencl.icd_vendors", Known(sorted({i["vendor"] for i in icds}), "opencl.icds") if icds is not None else _UNSAID
    active = [i for i in icds or [] if i.get("active")]
    yield "opencl.active_icds", Known(len(active), "opencl.icds") if icds is not None else _UNSAID
    loaders = facts.value("opencl.loaders")
    private = [p for p in loaders or [] if not p.startswith(("/usr/lib", "/lib", "/run/opengl-driver"))]
    yield (
        "opencl.private_loader",
        Known(private[0], "opencl.loaders") if private else Absent("opencl.loaders") if loaders is not None else _UNSAID,
    )


DERIVATION = Derivation(
    name="opencl",
    provides=(
        FactSpec(
            "opencl.gpus", "records", "GPUs on the bus and what OpenCL knows of them", item="cl_gpu",
            fields={
                "address": "PCI address", "name": "card", "vendor": "maker", "kind": "discrete or integrated", "driver": "kernel driver",
                "access": "its render node is open to this user", "node_group": "group of the node", "seen": "OpenCL lists it",
                "registered": "a usable ICD file serves its maker", "own_registered": "the maker's own ICD file is there",
                "broken_icd": "ICD file of the maker whose library is missing", "broken_library": "that library",
                "package": "what to install", "install": "command", "gallium": "Mesa's driver name",
            },
        ),
        FactSpec("opencl.wanted", "bool", "something here uses OpenCL"),
        FactSpec("opencl.kinds", "list", "kinds of OpenCL devices"),
        FactSpec("opencl.names", "list", "OpenCL devices by name"),
        FactSpec("opencl.first_type", "text", "kind of device 0"),
        FactSpec("opencl.gpu_seen", "bool", "OpenCL lists a GPU"),
        FactSpec("opencl.gpu_index", "int", "number of the first GPU over all platforms"),
        FactSpec("opencl.platform_names", "list", "platforms by name"),
        FactSpec("opencl.empty_platforms", "list", "platforms without a device"),
        FactSpec("opencl.unseen_vendors", "list", "makers of GPUs that OpenCL does not list"),
        FactSpec("opencl.icd_vendors", "list", "makers with an ICD file"),
        FactSpec("opencl.active_icds", "int", "ICD files that the system's loader reads"),
        FactSpec("opencl.private_loader", "text", "a libOpenCL.so.1 that comes before the system's"),
    ),
    derive=derive,
)  # fmt: skip
