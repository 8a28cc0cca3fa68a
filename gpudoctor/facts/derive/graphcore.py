"""Poplar: whether this is a host of IPUs, and whether SDK, PopTorch, torch, Python and distribution belong together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._versions import distribution, numbers
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown

_CARDS = {"0001": "C2", "0002": "S1"}
_TRUE = ("1", "true", "on", "yes")


def minor(version: str) -> str:
    """The minor release: '3.3' of '3.3.0+113432'."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return f"{found.group(1)}.{found.group(2)}" if found else ""


def release(version: str) -> str:
    """The release without its local part: '2.0.1' of '2.0.1+cpu'."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return found.group(0) if found else ""


def cards(facts: Facts) -> list[dict[str, Any]] | None:
    """Graphcore's PCIe cards (vendor 1d95); None where the bus is unknown. Only the vendor id counts, since Intel calls its image and
    infrastructure processing units IPU as well."""
    devices = facts.value("pci.devices")
    if devices is None:
        return None
    found: list[dict[str, Any]] = []
    for device in devices:
        vendor = str(device.get("vendor_id") or "").lower().removeprefix("0x")
        if vendor == "1d95":
            kind = str(device.get("device_id") or "").lower().removeprefix("0x")
            driver = device.get("driver")
            found.append({"address": device.get("address"), "device_id": kind, "product": _CARDS.get(kind, "IPU card"), "driver": driver})
    return found


def uses_model(facts: Facts) -> list[str]:
    """The settings under which programs run on the IPU Model, which computes on the processor."""
    found = []
    for name in ("POPTORCH_IPU_MODEL", "POPTORCH_SMALL_IPU_MODEL"):
        value = facts.value(f"env.{name}")
        if isinstance(value, str) and value.strip().lower() in _TRUE:
            found.append(f"{name}={value}")
    flags = facts.value("env.TF_POPLAR_FLAGS")
    if isinstance(flags, str) and "--use_ipu_model" in flags and "--use_ipu_model=false" not in flags.lower():
        found.append("TF_POPLAR_FLAGS=--use_ipu_model")
    return found


def _present(facts: Facts, ipu_cards: list[dict[str, Any]] | None) -> Fact:
    """Whether there is a sign of an IPU: a card, a device, a partition, an enabled SDK, or the address of a partition server."""
    reasons = {
        "pci.devices": bool(ipu_cards),
        "poplar.devices": bool(facts.value("poplar.devices")),
        "poplar.partitions": facts.known("poplar.partitions"),
        "poplar.nodes": bool(facts.value("poplar.nodes")),
        "poplar.sdk.enabled": facts.value("poplar.sdk.enabled") is True,
        "poplar.config.files": bool(facts.value("poplar.config.files")),
    }
    for name in ("IPUOF_VIPU_API_HOST", "IPUOF_VIPU_API_PARTITION_ID", "IPUOF_CONFIG_PATH", "VIPU_CLI_API_HOST"):
        reasons[f"env.{name}"] = facts.known(f"env.{name}")
    for name, there in reasons.items():
        if there:
            return Known(True, name)
    if distribution(facts, "poptorch") and facts.value("poplar.sdk.installed"):
        return Known(True, "python.distributions")
    if isinstance(facts.get("poplar.sdk.enabled"), Unknown) and ipu_cards is None:
        return Unknown("not probed")
    return Known(False, "no IPU, SDK or partition")


def _stale_options(facts: Facts) -> list[str]:
    """Variables with options of Poplar that profile, debug or retarget every program of this shell."""
    found = []
    for name in ("POPLAR_ENGINE_OPTIONS", "POPLAR_RUNTIME_OPTIONS", "POPLAR_TARGET_OPTIONS"):
        value = facts.value(f"env.{name}")
        if isinstance(value, str) and re.search(r'"?(autoReport\.\w+|profiler\.\w+|debug\.\w+|target\.\w+)"?\s*:', value):
            found.append(name)
    return found


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    ipu_cards = cards(facts)
    yield "poplar.cards", Unknown("not probed") if ipu_cards is None else Known(ipu_cards, "/sys/bus/pci/devices")
    present = _present(facts, ipu_cards)
    yield "poplar.present", present
    pcie = bool(ipu_cards) or any(str(d.get("target")).lower() == "pcie" for d in facts.value("poplar.devices") or [])
    answered = pcie or ipu_cards is not None or facts.known("poplar.devices")
    yield "poplar.pcie", Known(pcie, "/sys/bus/pci/devices") if answered else Unknown("not probed")
    if isinstance(present, Known) and answered:
        yield "poplar.fabric", Known(bool(present.value) and not pcie, present.source)
    else:
        yield "poplar.fabric", Unknown("not probed")
    yield from _partitions(facts)
    yield "poplar.model", Known(uses_model(facts), "environment")
    yield "poplar.options.stale", Known(_stale_options(facts), "environment")
    yield from _poptorch(facts)
    yield from _system(facts)
    yield from _busy(facts)


def _partitions(facts: Facts) -> Iterator[tuple[str, Fact]]:
    """Whether a partition is configured for programs, and whether V-IPU lists it and in which state."""
    selected = facts.get("env.IPUOF_VIPU_API_PARTITION_ID")
    named = [name for name in ("IPUOF_VIPU_API_HOST", "IPUOF_VIPU_API_PARTITION_ID", "IPUOF_CONFIG_PATH") if facts.known(f"env.{name}")]
    files = facts.value("poplar.config.files") or []
    unseen = not files and not named and not facts.known("poplar.config.files")
    configured = Known(bool(files) or len(named) >= 1, ", ".join(named) or "ipuof.conf.d")
    yield "poplar.partition.configured", Unknown("not probed") if unseen else configured
    partitions = facts.value("poplar.partitions")
    if partitions is None:
        yield "poplar.partition.listed", Unknown("not probed")
        return
    if isinstance(selected, Known):
        row = next((p for p in partitions if p.get("name") == selected.value), None)
        yield "poplar.partition.listed", Known(row is not None, "vipu list partitions")
        state = row.get("state") if row else None
    else:
        yield "poplar.partition.listed", Known(bool(partitions), "vipu list partitions")
        states = [p.get("state") for p in partitions]
        state = "ACTIVE" if "ACTIVE" in states else (states[0] if states else None)
    if isinstance(state, str):
        yield "poplar.partition.state", Known(state, "vipu list partitions")
    yield "poplar.partition.first", Known(partitions[0]["name"], "vipu list partitions") if partitions else Absent("vipu list partitions")


def _poptorch(facts: Facts) -> Iterator[tuple[str, Fact]]:
    poptorch = distribution(facts, "poptorch")
    if poptorch is None:
        return
    from gpudoctor.facts.derive._tables import table

    yield "poplar.poptorch.release", Known(release(poptorch), "python.distributions")
    row = next((r for r in table("poplar-poptorch")["row"] if r["sdk"] == minor(poptorch)), None)
    if row is None:
        reason = Unknown("newer than this table (2026-11)")
        for name in ("torch", "torch_ok", "python_ok"):
            yield f"poplar.poptorch.{name}", reason
    else:
        yield "poplar.poptorch.torch", Known(row["torch"], row["source"])
        torch = distribution(facts, "torch")
        yield "poplar.poptorch.torch_ok", Known(release(torch) == row["torch"], row["source"]) if torch else Unknown("not probed")
        yield "poplar.poptorch.python", Known(row["python"], row["source"])
        python = facts.value("python.version")
        if isinstance(python, str):
            yield "poplar.poptorch.python_ok", Known(numbers(python)[:2] >= numbers(row["python"])[:2], row["source"])
    sdk = facts.value("poplar.sdk.version") or facts.value("poplar.popc.version")
    if isinstance(sdk, str):
        yield "poplar.poptorch.sdk_ok", Known(minor(sdk) == minor(poptorch), "poplar.sdk.version")


def _system(facts: Facts) -> Iterator[tuple[str, Fact]]:
    name, version = facts.value("os.id"), facts.value("os.version")
    built_for = facts.value("poplar.sdk.built_for")
    if isinstance(name, str) and isinstance(version, str):
        here = f"{name} {version}"
        if isinstance(built_for, str):
            yield "poplar.sdk.system_ok", Known(here.startswith(built_for) or built_for.startswith(here), "poplar.sdk.built_for")
    if isinstance(built_for, str):
        from gpudoctor.facts.derive._tables import table

        row = next((r for r in table("poplar-systems")["row"] if r["system"] == built_for), None)
        if row and row.get("python"):
            yield "poplar.sdk.python", Known(row["python"], row["source"])
            python = facts.value("python.version")
            if isinstance(python, str):
                yield "poplar.sdk.python_ok", Known(minor(python) == row["python"], row["source"])
    popc, sdk = facts.value("poplar.popc.version"), facts.value("poplar.sdk.version")
    if isinstance(popc, str) and isinstance(sdk, str):
        yield "poplar.sdk.popc_ok", Known(minor(popc) == minor(sdk), "popc --version")
    for package in ("jaxlib", "tensorflow"):
        installed = distribution(facts, package)
        tag = re.search(r"(?:sdk|gc)(\d)\.?(\d)", installed or "")
        if tag and isinstance(sdk, str):
            yield f"poplar.{package}.sdk", Known(f"{tag.group(1)}.{tag.group(2)}", "python.distributions")
            yield f"poplar.{package}.sdk_ok", Known(f"{tag.group(1)}.{tag.group(2)}" == minor(sdk), "python.distributions")


def _busy(facts: Facts) -> Iterator[tuple[str, Fact]]:
    processes, devices = facts.value("poplar.processes"), facts.value("poplar.devices")
    if processes is None or not devices:
        return
    taken = {str(process.get("ipu")) for process in processes if process.get("ipu") is not None}
    ids = {str(device["id"]) for device in devices}
    yield "poplar.busy", Known(bool(taken) and ids <= taken, "gc-monitor")
    yield "poplar.busy.pids", Known(sorted({str(process["pid"]) for process in processes}), "gc-monitor")


DERIVATION = Derivation(
    name="graphcore",
    provides=(
        FactSpec("poplar.cards", "records", "IPU cards on the PCI bus", item="ipu_card",
                 fields={"address": "PCI address", "device_id": "id", "product": "C2, S1 or IPU card", "driver": "kernel driver"}),
        FactSpec("poplar.present", "bool", "an IPU, a partition server or an enabled SDK is here"),
        FactSpec("poplar.pcie", "bool", "the IPUs are PCIe cards of this host"),
        FactSpec("poplar.fabric", "bool", "the IPUs are reached over the network"),
        FactSpec("poplar.partition.configured", "bool", "variables or files name a partition"),
        FactSpec("poplar.partition.listed", "bool", "V-IPU lists the chosen partition (or any, where none is chosen)"),
        FactSpec("poplar.partition.state", "text", "state of the chosen partition"),
        FactSpec("poplar.partition.first", "text", "name of the first partition listed"),
        FactSpec("poplar.model", "list", "settings that make programs run on the IPU Model"),
        FactSpec("poplar.options.stale", "list", "option variables that profile, debug or retarget every program"),
        FactSpec("poplar.poptorch.release", "dotted", "PopTorch without its build number"),
        FactSpec("poplar.poptorch.torch", "dotted", "the one torch that this PopTorch accepts"),
        FactSpec("poplar.poptorch.torch_ok", "bool", "the torch that this PopTorch accepts is installed"),
        FactSpec("poplar.poptorch.python", "dotted", "the oldest Python of this PopTorch"),
        FactSpec("poplar.poptorch.python_ok", "bool", "this Python is new enough for this PopTorch"),
        FactSpec("poplar.poptorch.sdk_ok", "bool", "PopTorch and the SDK are of one version"),
        FactSpec("poplar.sdk.system_ok", "bool", "the SDK was built for this distribution"),
        FactSpec("poplar.sdk.python", "dotted", "the Python whose wheels are in this SDK"),
        FactSpec("poplar.sdk.python_ok", "bool", "this Python is the one whose wheels are in the SDK"),
        FactSpec("poplar.sdk.popc_ok", "bool", "popc on PATH is of the enabled SDK"),
        FactSpec("poplar.jaxlib.sdk", "dotted", "SDK that this jaxlib was built for"),
        FactSpec("poplar.jaxlib.sdk_ok", "bool", "that SDK is the one here"),
        FactSpec("poplar.tensorflow.sdk", "dotted", "SDK that this TensorFlow was built for"),
        FactSpec("poplar.tensorflow.sdk_ok", "bool", "that SDK is the one here"),
        FactSpec("poplar.busy", "bool", "every IPU has a process attached"),
        FactSpec("poplar.busy.pids", "list", "processes attached to IPUs"),
    ),
    derive=derive,
)  # fmt: skip
