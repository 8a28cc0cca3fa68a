"""The row of a host: what a fleet needs of its report, in at most LARGEST bytes of JSON."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from gpudoctor.diagnosis.change_ranks import UNCOMPARED, category
from gpudoctor.facts import vocabulary
from gpudoctor.model.fleet_row import LARGEST, FleetRow, RowCard, RowFinding, RowMeasurement
from gpudoctor.model.measurement import Measurement
from gpudoctor.model.report import Finding, Report
from gpudoctor.system.portable import short_host_name

LABELS_FILE = "/etc/gpudoctor/labels"
VALUES = (
    "kernel.release", "os.id", "os.version", "nvidia.driver.version", "nvidia.kernel_module.version", "nvidia.libcuda_version",
    "nvidia.fabric_manager.version", "nvidia.toolkit.version", "nvidia.container_toolkit.version", "amd.driver.version", "rocm.version",
    "intel.compute_runtime.version", "intel.igc.version", "intel.guc.version", "level_zero.loader.version", "opencl.loader.version",
    "poplar.driver.version", "poplar.firmware.version", "poplar.sdk.version", "python.version", "container.kind",
)  # fmt: skip
"""The facts that a row names with their values."""
DISTRIBUTIONS = (
    "torch", "torchvision", "triton", "tensorflow", "jax", "jaxlib", "onnxruntime", "onnxruntime-gpu", "openvino", "vllm", "deepspeed",
    "transformers", "flash-attn", "intel-extension-for-pytorch", "nvidia-nccl-cu12", "nvidia-nccl-cu13", "nvidia-cudnn-cu12", "poptorch",
)  # fmt: skip
"""The packages of the target environment that a row names with their versions."""
VARIABLES = re.compile(
    r"(CUDA|NCCL|HIP|HSA|ROCR|RCCL|MIOPEN|ZE|SYCL|ONEAPI|CCL|IPEX|PYTORCH|TORCH|OMP|MKL|KMP|UCX|GLOO|OMPI|XLA|TF|ORT)_[A-Z0-9_]+"
)
"""The variables of GPU software that a row names with their values."""
_OF_ONE_CARD = re.compile(r"(uuid|serial|serial_number|guid|gid|lid|mac|pid|processes|board_id|fru)$")
"""Fields that differ between cards that are alike."""
_HOME = re.compile(r"(?:/(?:[\w.-]{1,40}/){0,2}home\d?/|/Users/|[A-Za-z]:[\\/]Users[\\/])[^\s/\\:;,\"']+")
CUT = (
    ("measurements", 24), ("values", 24), ("findings", 8), ("verdicts", 24), ("incomplete", 4),
    ("measurements", 0), ("values", 0), ("verdicts", 0), ("findings", 1), ("cards", 0), ("incomplete", 0), ("labels", 0), ("findings", 0),
)  # fmt: skip
"""What leaves a row that is too large: in this order, from the end of each list, and never below the number."""


def named_host() -> str:
    """The name of this host: GPUDOCTOR_HOST, which a collector may set, else the first part of the system's."""
    return os.environ.get("GPUDOCTOR_HOST", "").strip() or short_host_name()


def named_run(created: str) -> str:
    """The id of the run: GPUDOCTOR_FLEET_RUN, which a collector sets, else the day (UTC), so that rows which hosts drop belong together."""
    return os.environ.get("GPUDOCTOR_FLEET_RUN", "").strip() or created[:10]


def given_labels() -> dict[str, str]:
    """What the site says of this host: GPUDOCTOR_LABELS, else LABELS_FILE, as `role=train,rack=r12`; parts without '=' are passed over."""
    text = os.environ.get("GPUDOCTOR_LABELS")
    if text is None:
        try:
            with open(LABELS_FILE, encoding="utf-8", errors="replace") as file:
                text = file.read(4096)
        except OSError:
            text = ""
    pairs = (part.partition("=") for part in re.split(r"[,\n]", text))
    return {name.strip()[:40]: value.strip()[:80] for name, mark, value in pairs if mark and name.strip()}


def render(report: Report) -> str:
    """The row of this host as one line of JSON."""
    row = row_of(report, host=named_host(), run=named_run(report.created), labels=given_labels())
    return encode(row).decode("ascii") + "\n"


def row_of(report: Report, *, host: str, run: str, labels: Mapping[str, str]) -> FleetRow:
    """The row of a report, whole; `encode` makes it fit."""
    return FleetRow(
        host=host,
        run=run,
        created=report.created,
        tool=f"gpudoctor {report.tool_version}",
        catalogue=report.catalogue_version,
        cards=tuple(_cards(report.facts)),
        labels=dict(labels),
        groups=_groups(report.facts, host),
        values=dict(_values(report.facts)),
        findings=tuple(_finding(each) for each in report.findings if each.severity != "info" and each.confidence != "possible"),
        measurements=tuple(map(_measured, report.measurements)),
        incomplete=tuple(_short(each) for each in report.incomplete),
    )


def encode(row: FleetRow) -> bytes:
    """The row as JSON of at most LARGEST bytes. What does not fit leaves in the order of CUT and is counted in `left_out`."""
    content = _json(row)
    for name, least in CUT:
        if len(content) <= LARGEST:
            break
        row = _cut(row, name, least)
        content = _json(row)
    return content


def _json(row: FleetRow) -> bytes:
    return json.dumps(msgspec.to_builtins(row), separators=(",", ":")).encode("ascii")


def _cut(row: FleetRow, name: str, least: int) -> FleetRow:
    """The row with as many items of a field as fit, at least `least`."""
    whole = getattr(row, name)
    items = list(whole.items()) if isinstance(whole, Mapping) else list(whole)
    before = row.left_out.get(name, 0)

    def with_first(number: int) -> FleetRow:
        kept = dict(items[:number]) if isinstance(whole, Mapping) else tuple(items[:number])
        gone = before + len(items) - number
        return replace(row, **{name: kept, "left_out": {**row.left_out, **({name: gone} if gone else {})}})

    low, high = min(least, len(items)), len(items)
    while low < high:
        middle = (low + high + 1) // 2
        if len(_json(with_first(middle))) <= LARGEST:
            low = middle
        else:
            high = middle - 1
    return with_first(low)


def _short(text: object, most: int = 120) -> str:
    """One line without the name of a person that a home folder gives away: other people read the rows."""
    words = _HOME.sub("~", "".join(char if char.isprintable() else " " for char in str(text)[: 2 * most]))
    return words if len(words) <= most else words[: most - 1] + "…"


def _cards(facts: Mapping[str, Any]) -> Iterator[RowCard]:
    """The GPUs and accelerators, discrete ones first, then by address; then the IPUs, which are no GPUs."""
    memory = {str(each.get("address")): each.get("dedicated_bytes") for each in _records(facts.get("gpu_memory"))}
    named = {str(each.get("address")): each for each in _records(_at(facts, "nvidia.devices"))}
    cards = sorted(_records(facts.get("gpus")), key=lambda gpu: (gpu.get("kind") == "integrated", str(gpu.get("address"))))
    for number, gpu in enumerate(cards):
        address = str(gpu.get("address") or f"{gpu.get('vendor')}:{number}")
        size = memory.get(address) or gpu.get("memory_bytes") or named.get(address, {}).get("memory_bytes")
        yield RowCard(
            address=_short(address),
            vendor=_short(gpu.get("vendor") or ""),
            model=_short(gpu.get("name") or gpu.get("pci_id") or ""),
            kind=_short(gpu.get("kind") or ""),
            memory_bytes=size if isinstance(size, int) and size >= 0 else None,
            uuid=_short(named.get(address, {}).get("uuid") or gpu.get("uuid") or ""),
        )
    for ipu in _records(_at(facts, "poplar.devices")):
        address = str(ipu.get("address") or f"ipu:{ipu.get('id')}")
        yield RowCard(address=_short(address), vendor="graphcore", model="IPU", kind="accelerator")


def _records(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []


def _at(facts: Mapping[str, Any], name: str) -> Any:
    place: Any = facts
    for part in name.split("."):
        place = place.get(part) if isinstance(place, Mapping) else None
    return place


def _values(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in VALUES:
        value = _at(facts, name)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            yield name, _short(value, 80)
    packages = _at(facts, "python.distributions")
    if isinstance(packages, Mapping):
        for name in DISTRIBUTIONS:
            if name in packages:
                yield f"python.distributions.{name}", _short(_version(packages[name]), 80)
    variables = facts.get("env")
    if isinstance(variables, Mapping):
        for name in sorted(str(each) for each in variables):
            if VARIABLES.fullmatch(name):
                yield f"env.{name}", _variable(str(variables[name]))


def _variable(value: str) -> str:
    """The value; a mark to compare hosts by where it names a folder, which may be called after a person or a project."""
    if "/" in value or "\\" in value:
        return f"a path, #{hashlib.sha256(value.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return _short(value, 80)


def _version(entry: Any) -> str:
    """The version of a distribution, of each where several are installed."""
    if isinstance(entry, list | tuple):
        return " and ".join(_version(each) for each in entry)
    return str(entry.get("version") if isinstance(entry, Mapping) else entry)


def _groups(facts: Mapping[str, Any], host: str) -> dict[str, str]:
    """By category: a hash of the facts that probes gave. Computed facts follow from them, and noise differs in every run."""
    lines: dict[str, list[str]] = {}
    for name in sorted({spec.name for probe in vocabulary.all_probes() for spec in probe.provides}):
        if name.split(".")[0] not in UNCOMPARED:
            for path, key, text in _leaves(name, "", _at(facts, name)):
                kind = category(path, key)
                if kind != "noise":
                    lines.setdefault(kind, []).append(f"{path}\0{key}\0{text.replace(host, '')}")
    return {
        kind: hashlib.sha256("\n".join(sorted(set(found))).encode("utf-8", "replace")).hexdigest()[:16]
        for kind, found in sorted(lines.items())
    }


def _leaves(path: str, key: str, value: Any) -> Iterator[tuple[str, str, str]]:
    """Each value below a fact: its path without items, the key within a map of names, and the value as text."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if _OF_ONE_CARD.search(str(name)):
                continue
            if path in ("env", "packages", "python.distributions", "python.conda_packages", "libraries", "kernel.modules"):
                yield path, str(name), json.dumps(inner, sort_keys=True, default=str)
            else:
                yield from _leaves(f"{path}.{name}", key, inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            if isinstance(inner, Mapping):
                yield from _leaves(path, key, inner)
            else:
                yield path, str(inner), str(inner)
    elif value is not None:
        yield path, key, str(value)


def _finding(finding: Finding) -> RowFinding:
    return RowFinding(
        id=finding.id,
        key=finding.key,
        severity=finding.severity,
        confidence=finding.confidence,
        layer=finding.layer,
        title=_short(finding.title),
        subjects=tuple(_short(each, 60) for each in finding.subjects[:16]),
        do=_short(finding.advice.text, 200),
    )


def _measured(found: Measurement) -> RowMeasurement:
    card = found.conditions.gpu_address if found.conditions and found.conditions.gpu_address else found.device
    others = found.conditions.others if found.conditions else None
    base = RowMeasurement(
        workload=_short(found.title),
        task=found.task,
        framework=_short(found.framework),
        backend=_short(found.backend),
        dtype=found.dtype,
        batch=found.batch or 0,
        status=found.status,
        card="" if found.backend == "cpu" else _short(card),
        disturbed=_short(others or found.noisy or ""),
        reason=_short(found.reason or ""),
    )
    speed, latency = found.throughput, found.latency_ms
    if speed is None or latency is None:
        return base
    links = {" ".join(link.devices): round(link.bytes_per_s / 1e9, 6) for link in found.links if link.devices[0] != link.devices[1]}
    samples = tuple(round(speed.value * latency.median / each, 6) for each in latency.processes if each > 0)
    return replace(base, value=speed.value, unit=speed.unit, samples=samples, links=links, ci95_percent=latency.ci95_percent)
