"""Compares two reports: the same measurements, whether they differ significantly, and what differs between the machines. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gpudoctor.benchmark import others_effect, repeatability
from gpudoctor.benchmark.significance import CHANCE, Ratio, discoveries
from gpudoctor.model.comparison import Comparison, ComparisonRow, Difference
from gpudoctor.model.measurement import OUT_OF_TIME

KEY = ("workload", "task", "framework", "backend", "dtype", "batch", "input", "replicas")
WORK = ("workload", "task", "dtype", "batch", "input", "replicas")
FAMILIES = {
    "ipex": "torch", "torch-directml": "torch", "torch-opencl": "torch", "poptorch": "torch", "popart": "torch", "llama-bench": "llama-cpp",
}  # fmt: skip
"""Frameworks that are another with a backend of its own; llama.cpp's own program times the same library as its binding for Python."""
CONDITIONS = ("framework", "backend", "framework_version", "device_name", "compile", "optimizer", "includes", "environment")
FACTS = (
    ("kernel", "kernel.release"), ("system", "os.name"), ("platform", "platform.kind"), ("processor", "cpu.model"), ("cores", "cpu.cores"),
    ("memory", "memory.total_bytes"), ("Python", "python.version"), ("NVIDIA driver", "nvidia.in_use"),
    ("Level Zero driver", "intel.level_zero.version"), ("IGC", "intel.igc.version"),
    ("amdgpu driver", "amd.driver.version"), ("ROCm", "rocm.version"),
)  # fmt: skip
STILL_SAME = 1.25
"""An interval that contains 1 and exceeds this ratio is inconclusive, since a difference of this size would matter."""
ADJUSTED = 0.01
"""A logarithm of a ratio: an adjustment of the speed that is said."""
RELEVANT = 1.03
"""Less than this matters to nobody, however sure it is."""
Report = Mapping[str, Any]


class ComparisonError(ValueError):
    """A report that cannot be compared. The message is one line: what is wrong, and what was expected."""


def compare(here: Report, there: Report, *, names: tuple[str, str] = ("here", "there")) -> Comparison:
    """Compares two reports in the form of `validate --format json`. Raises ComparisonError where one has no measurements."""
    ours, theirs = (_by_key(report, name) for report, name in zip((here, there), names, strict=True))
    pairs, alone = _pairs(ours, theirs)
    rows = list(_rows(pairs))
    broken = [f"{words(one)}: {_state(one)} here, {_state(other)} there" for one, other in pairs if _broken(one, other)]
    speeds = [math.log(row.speed) for row in rows]
    return Comparison(
        here=names[0], there=names[1], rows=tuple(rows), only_here=tuple(words(one) for one in alone),
        only_there=tuple(words(other) for other in theirs.values() if not any(other is pair[1] for pair in pairs)), broken=tuple(broken),
        machines=tuple(differences(here.get("facts"), there.get("facts"))),
        speed=math.exp(sum(speeds) / len(speeds)) if speeds else None,
    )  # fmt: skip


def _by_key(report: Report, name: str) -> dict[tuple[str, ...], Mapping[str, Any]]:
    found = report.get("measurements")
    if not isinstance(found, list) or not found:
        raise ComparisonError(f"{name}: holds no measurements; give a report that `gpudoctor validate --format json` wrote")
    return {_key(each, KEY): each for each in found if isinstance(each, Mapping)}


def _broken(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """One of them failed, or of the same framework one was not measured: that another framework has no such thing is no fault, and neither
    is a minute that was too short."""
    if any(str(each.get("reason")).startswith(OUT_OF_TIME) for each in (one, other)):
        return False
    states = {one.get("status"), other.get("status")}
    return len(states) == 2 and ("failed" in states or one.get("framework") == other.get("framework"))


def _key(measurement: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(measurement.get(name)) for name in names)


def _pairs(
    ours: Mapping[tuple[str, ...], Mapping[str, Any]], theirs: Mapping[tuple[str, ...], Mapping[str, Any]]
) -> tuple[list[tuple[Mapping[str, Any], Mapping[str, Any]]], list[Mapping[str, Any]]]:
    """Pairs of the same work, and those of ours that have none: with the same framework and backend where both have it, else with the same
    framework on another backend, else with one of its family, else with any other, each time where there is only one to pair with."""
    pairs, alone, free = [], list(ours.values()), list(theirs.values())
    for alike in (_exactly, _framework, _family, _work):
        there = _only(free, alike)
        here = _only(alone, alike)
        for key, one in here.items():
            if (other := there.get(key)) is not None:
                pairs.append((one, other))
                alone.remove(one)
                free.remove(other)
    order = {id(one): place for place, one in enumerate(ours.values())}
    return sorted(pairs, key=lambda pair: order[id(pair[0])]), alone


def _only(measurements: Sequence[Mapping[str, Any]], alike: Callable[[Mapping[str, Any]], tuple[str, ...]]) -> dict[Any, Mapping[str, Any]]:
    """The measurements by the key `alike`, without keys that several of them share."""
    counted = Counter(map(alike, measurements))
    return {key: each for each in measurements if counted[key := alike(each)] == 1}


def _exactly(measurement: Mapping[str, Any]) -> tuple[str, ...]:
    return _key(measurement, KEY)


def _framework(measurement: Mapping[str, Any]) -> tuple[str, ...]:
    return _key(measurement, ("framework", *WORK))


def _family(measurement: Mapping[str, Any]) -> tuple[str, ...]:
    framework = str(measurement.get("framework"))
    return FAMILIES.get(framework, framework), *_work(measurement)


def _work(measurement: Mapping[str, Any]) -> tuple[str, ...]:
    return _key(measurement, WORK)


def _rows(pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Iterator[ComparisonRow]:
    """A row for each pair that was measured on both sides. They are judged together: of twenty rows one would differ by chance."""
    timed = [pair for pair in pairs if all(repeatability.time_of(each) is not None for each in pair)]
    asked = [_ratios(one, other) for one, other in timed]
    differ = iter(discoveries([_chance(ratios) for ratios in asked if ratios]))
    known = sum(map(bool, asked))
    for (one, other), ratios in zip(timed, asked, strict=True):
        yield _row(one, other, ratios, bool(ratios) and next(differ), known)


def _ratios(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Ratio]:
    """The speed by each statistic that both have with its error."""
    both = [name for name in repeatability.STATISTICS if all(repeatability.time_of(each, name) is not None for each in (one, other))]
    found = {name: repeatability.ratio_of_times(other, one, name) for name in both}
    return {name: ratio for name, ratio in found.items() if ratio is not None}


def _chance(ratios: Mapping[str, Ratio]) -> float:
    """How probable the most striking one is where nothing differs: each statistic is another occasion for an accident."""
    return min(1.0, len(ratios) * min(ratio.chance(RELEVANT) for ratio in ratios.values()))


def _row(one: Mapping[str, Any], other: Mapping[str, Any], ratios: Mapping[str, Ratio], differs: bool, rows: int) -> ComparisonRow:
    """A row shows the statistic that decided, otherwise that which would show the smallest change. `rows`: those judged together."""
    seen = {name: ratio.seen_from(RELEVANT, CHANCE / rows / len(ratios)) for name, ratio in ratios.items()}
    order = {name: ratio.chance(RELEVANT) for name, ratio in ratios.items()} if differs else seen
    statistic = min(order, key=lambda name: order[name], default="median")
    found = ratios.get(statistic)
    here, there = repeatability.time_of(one, statistic), repeatability.time_of(other, statistic)
    assert here is not None and there is not None
    batch, adjusted = one.get("batch"), tuple(_adjusted(one, other, there / here, found))
    return ComparisonRow(
        statistic=statistic, seen_from=seen.get(statistic),
        workload=_title(one), task=str(one.get("task")), framework=_against(one, other), dtype=str(one.get("dtype")),
        batch=batch if isinstance(batch, int) else None, here_ms=here, there_ms=there,
        speed=found.value if found is not None and adjusted else there / here, low=found.low if found is not None else None,
        high=found.high if found is not None else None, verdict=_verdict(found, differs),
        processes=min(max(len(repeatability.processes(each)), 1) for each in (one, other)),
        differs=(*_differing(one, other), *adjusted),
    )  # fmt: skip


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    for name in CONDITIONS:
        if one.get(name) != other.get(name):
            yield f"{name} {_text(one.get(name))} here, {_text(other.get(name))} there"


def _adjusted(one: Mapping[str, Any], other: Mapping[str, Any], plain: float, found: Ratio | None) -> Iterator[str]:
    """What others took, where the speed is not simply the ratio of the two times because of it."""
    here, there = (others_effect.share(each) for each in (one, other))
    if found is not None and here is not None and there is not None and abs(math.log(found.value / plain)) > ADJUSTED:
        yield (
            f"other programs took {100 * here:.0f} % of the processor here, {100 * there:.0f} % there: "
            f"the speed is adjusted for it; the plain ratio is {plain:.2f}"
        )


def _against(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """'torch', or 'torch-opencl by torch' where the two frameworks differ."""
    here, there = str(one.get("framework")), str(other.get("framework"))
    return here if here == there else f"{here} by {there}"


def _verdict(found: Ratio | None, differs: bool) -> str:
    if found is None:
        return "unknown"
    if differs:
        return "faster" if found.value > 1 else "slower"
    return "same" if found.low > 1 / STILL_SAME and found.high < STILL_SAME else "unknown"


def _title(measurement: Mapping[str, Any]) -> str:
    """The workload, and all else that distinguishes its measurements; for a collective, also the size of a message."""
    replicas, shape = measurement.get("replicas"), measurement.get("input")
    several = f" x{replicas}" if isinstance(replicas, int) else ""
    message = several and not measurement.get("batch") and isinstance(shape, list) and len(shape) == 1
    return str(measurement.get("workload")) + several + (f" {shape[0]} numbers" if message and isinstance(shape, list) else "")


def differences(here: Any, there: Any) -> Iterator[Difference]:
    """Differences in the facts that a speed depends on: versions, drivers, devices."""
    if not isinstance(here, Mapping) or not isinstance(there, Mapping):
        return
    pairs = [(title, _at(here, name), _at(there, name)) for title, name in FACTS]
    gpus = [_gpus(facts) for facts in (here, there)]
    for number in range(max(map(len, gpus))):
        ours, theirs = (each[number] if number < len(each) else None for each in gpus)
        pairs.append((f"GPU {number}", ours, theirs))
    versions = [_distributions(facts) for facts in (here, there)]
    pairs += [(name, versions[0].get(name), versions[1].get(name)) for name in sorted({*versions[0], *versions[1]})]
    for title, one, other in pairs:
        if one != other:
            yield Difference(name=title, here=_text(one), there=_text(other))


FRAMEWORKS = (
    "torch", "torchvision", "intel-extension-for-pytorch", "torch-directml", "poptorch", "openvino", "onnxruntime", "onnxruntime-gpu",
    "onnxruntime-directml", "onnxruntime-openvino", "tensorflow", "jax", "jaxlib", "pyopencl", "numpy", "triton", "intel-openmp", "mkl",
)  # fmt: skip


def _distributions(facts: Mapping[str, Any]) -> dict[str, str]:
    found = _at(facts, "python.distributions")
    if not isinstance(found, Mapping):
        return {}
    return {name: str(value.get("version") if isinstance(value, Mapping) else value) for name, value in found.items() if name in FRAMEWORKS}


def _gpus(facts: Mapping[str, Any]) -> list[str]:
    found = facts.get("gpus")
    return [f"{gpu.get('name')} ({gpu.get('driver')})" for gpu in found if isinstance(gpu, Mapping)] if isinstance(found, list) else []


def _at(facts: Mapping[str, Any], name: str) -> Any:
    value: Any = facts
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def words(measurement: Mapping[str, Any]) -> str:
    batch = measurement.get("batch")
    parts = [_title(measurement), *(str(measurement.get(name)) for name in ("task", "framework", "backend", "dtype"))]
    return " ".join(parts) + (f" batch {batch}" if batch else "")


def _state(measurement: Mapping[str, Any]) -> str:
    reason = measurement.get("reason")
    return f"{measurement.get('status')}" + (f" ({reason})" if reason else "")


def _text(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, Mapping):
        return " ".join(f"{name}={text}" for name, text in sorted(value.items())) or "none"
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)
