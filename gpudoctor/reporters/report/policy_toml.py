"""A report as a policy (gpudoctor.policy/1) that demands the present state of the machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.measurement import OK, Throughput
from gpudoctor.model.policy import SCHEMA
from gpudoctor.model.report import Report
from gpudoctor.reporters.shared.escape import visible

SHARE = 0.9
"""The share of the measured throughput that is demanded: runs differ by some per cent."""
VERSIONS = {
    "kernel": "kernel.version", "nvidia-driver": "nvidia.in_use", "amd-driver": "amd.driver.version", "rocm": "rocm.version",
    "intel-runtime": "intel.runtime.version", "poplar-sdk": "poplar.sdk.version", "python": "python.version",
}  # fmt: skip
"""The keys of [versions] that are written, with their facts (model.policy.VERSIONS lists all keys)."""
FRAMEWORKS = (
    "torch", "intel-extension-for-pytorch", "torch-directml", "pytorch-directml", "tensorflow", "tensorflow-cpu", "tensorflow-directml",
    "tensorflow-directml-plugin", "jax", "openvino", "onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-directml",
    "poptorch",
)  # fmt: skip
_NUMBERS = lazy(r"\d+(?:\.\d+)*")


def render(report: Report) -> str:
    """The policy as TOML. Unknown facts are not demanded; a comment names them."""
    facts = report.facts
    return "\n".join([*_head(report), *_devices(facts), *_versions(facts), *_packages(facts), *_throughput(report)]) + "\n"


def _head(report: Report) -> Iterator[str]:
    machine = report.headline.get("machine", "this machine")
    yield f"# What must be there, as found {report.created} on: {_comment(machine)}. Loosen what need not be so."
    yield "# gpudoctor check --expect THIS-FILE: exits 1 if it is not met, 4 if it could not be determined."
    yield f"schema = {_text(SCHEMA)}"


def _devices(facts: Mapping[str, Any]) -> Iterator[str]:
    gpus = [gpu for gpu in facts.get("gpus") or () if isinstance(gpu, Mapping)]
    kinds = [(str(gpu.get("vendor") or ""), str(gpu.get("name") or "")) for gpu in gpus]
    if facts.get("gpus") == []:
        yield from ("", "[[demand]]", 'name = "no GPU"', 'that = { fact = "gpu.count", is = 0 }')
    elif not kinds:
        yield from ("", "# Which GPUs are here could not be read, so none is demanded.")
    for vendor, name in dict.fromkeys(kinds):
        yield from ("", "[[device]]", f"count = {kinds.count((vendor, name))}")
        yield from (f"{key} = {_text(value)}" for key, value in (("vendor", vendor), ("name", name)) if value)


def _versions(facts: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", "[versions]")
    for key, fact in VERSIONS.items():
        value = _value(facts, fact)
        found = _NUMBERS.match(value) if isinstance(value, str) else None
        if found:
            yield f"{key} = {_text('>=' + found[0])}"


def _packages(facts: Mapping[str, Any]) -> Iterator[str]:
    """Frameworks at their minor release: 2.8.1 becomes '==2.8.*'."""
    installed = _value(facts, "python.distributions")
    rows = []
    for name in FRAMEWORKS if isinstance(installed, Mapping) else ():
        value = installed.get(name)
        version = value.get("version") if isinstance(value, Mapping) else value
        found = re.match(r"(\d+)\.(\d+)", version) if isinstance(version, str) else None
        if found:
            rows.append(f"{name} = {_text(f'=={found[1]}.{found[2]}.*')}")
    if rows:
        yield from ("", "[packages]", *rows)


def _throughput(report: Report) -> Iterator[str]:
    alone = [each for each in report.measurements if each.status == OK and not each.replicas]
    done = [each for each in alone if each.throughput and each.throughput.value > 0]
    if not done:
        yield from ("", "# No throughput was measured; after gpudoctor validate it is demanded as well.")
    fastest: dict[tuple[str, ...], Throughput] = {}  # the fastest fitting measurement decides a demand, so that its value is written
    for each in done:
        assert each.throughput is not None
        named = {"workload": each.workload, "task": each.task, "framework": each.framework, "device": each.device, "dtype": each.dtype}
        lines = [f"{key} = {_text(value)}" for key, value in named.items()]
        lines += [f"batch = {each.batch}"] if each.batch is not None else []
        known = fastest.get(tuple(lines))
        if known is None or known.value < each.throughput.value:
            fastest[tuple(lines)] = each.throughput
    for selectors, reached in fastest.items():
        yield from ("", "[[throughput]]", *selectors)
        yield f"at_least = {float(f'{reached.value * SHARE:.3g}'):.10g}  # measured: {reached.value:.5g}"
        yield f"unit = {_text(reached.unit)}"


def _value(facts: Mapping[str, Any], name: str) -> Any:
    place: Any = facts
    for key in name.split("."):
        place = place.get(key) if isinstance(place, Mapping) else None
    return place


def _text(value: str) -> str:
    """A basic string of TOML, for which JSON's notation of printable text is valid."""
    return json.dumps(visible(value), ensure_ascii=False).replace("\x7f", "")


def _comment(value: str) -> str:
    return visible(value)
