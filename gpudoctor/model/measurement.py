"""One measurement of `validate`: an item of `measurements` in a report. None is 'not known', never a made-up number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

OK, FAILED, SKIPPED = "ok", "failed", "skipped"
OUT_OF_TIME = "out of time; --full measures all, --workload NAME a single one"
"""The reason of a measurement for which the minute had no room."""
WIDTHS = {"float64": 8, "float16": 2, "bfloat16": 2}
"""Bytes of a number; of others 4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Of one step over the whole batch, in milliseconds."""

    median: float
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    mean: float | None = None
    stdev: float | None = None
    ci95_percent: float | None = None
    """Half the width of the 95 % interval of the median, in per cent of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    value: float
    unit: str
    """images/s, it/s, tokens/s, TFLOP/s, GB/s ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    joules_per_item: float | None
    mean_watts: float | None
    boundary: str
    """package, card or board: what the counter sees"""
    source: str
    """rapl, nvml, hwmon ..."""
    throughput_per_watt: float | None = None
    """In the unit of the throughput: images/s/W."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correctness:
    compared_with: str
    max_relative_error: float | None
    tolerance: float | None
    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """How near this came to what the device can do at most (a roofline)."""

    fraction: float
    """1.0 is all of it; boards that boost, and algorithms with fewer operations, come above."""
    bound: str
    """compute or memory: which roof is the lower one"""
    source: str
    attainable: float | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A published result of the same device and workload. ratio: speed of now by speed of then, above 1 is faster than published."""

    ratio: float
    value: float
    """The published value, in `unit`."""
    source: str
    unit: str = ""
    differs: tuple[str, ...] = ()
    """What was not the same then: 'torch 1.9 then, 2.8 now'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What the device was like while it was measured, and where the work really went. None: nobody could tell."""

    throttled: str | None = None
    """What held it back; '' where it was watched and nothing did."""
    others: str | None = None
    """Who else was at work on it; '' where it was watched and nobody was."""
    clock_mhz: float | None = None
    hottest_c: float | None = None
    busy_percent: float | None = None
    link_gt: float | None = None
    """GT/s per lane of the PCI Express link, the fastest that was seen; idle cards slow their link down."""
    link_gt_max: float | None = None
    link_width: int | None = None
    link_width_max: int | None = None
    power_limit_share: float | None = None
    """The power limit divided by the default limit."""
    gpu_address: str | None = None
    gpu_kind: str | None = None
    """discrete, integrated or accelerator"""
    bar_share: float | None = None
    """Part of the card's memory that the processor sees (Resizable BAR)."""
    threads: int | None = None
    settings: tuple[str, ...] | None = None
    """Of the framework, its defaults too: what changes what a type means ('INFERENCE_PRECISION_HINT f32 (default bf16)'), or the speed."""
    other_path: str | None = None
    """Of a matrix product on a processor: another way of the same framework to the same product, which is faster."""
    other_path_speed_up: float | None = None
    other_path_error: float | None = None
    """Its greatest error, by the greatest number of the product in float64."""
    computed_on: str | None = None
    """The device of the last result, as the framework calls it."""
    fallbacks: tuple[str, ...] | None = None
    """Operators that ran on the processor instead, in one step."""
    python_debug: bool | None = None
    """The interpreter is a debug build."""
    filesystem: str | None = None
    """Of the folder whose files were read."""
    on_windows_drive: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """Steps of two kinds."""

    fast_ms: float
    slow_ms: float
    """The medians of both."""
    slow_share: float
    every: int | None
    """Each so manieth step is slow; None: in no such order."""
    border_ms: float

    @property
    def words(self) -> str:
        times = f"{self.slow_ms / self.fast_ms:.1f} times as long as the others ({self.fast_ms:.3g} and {self.slow_ms:.3g} ms)"
        if self.every is not None:
            return f"one step in {self.every} takes {times}"
        return f"steps have two speeds: {100 * self.slow_share:.0f} % of them take {times}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Memory that grows with the steps."""

    bytes_per_step: float
    bytes: float
    """In all, as far as it was watched."""
    of: str
    """process, device, or addresses: taken from the system and not written to"""

    @property
    def words(self) -> str:
        name = {"process": "memory", "device": "memory of the device", "addresses": "address space"}.get(self.of, self.of)
        return f"{name} grows by {_bytes(self.bytes_per_step)} a step ({_bytes(self.bytes)} in this run)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How a measurement went from its first step to its last. None: nobody could tell; a pair: in the first and the last third of it."""

    seconds: float | None = None
    """Of sampling."""
    slices_ms: tuple[float, ...] = ()
    """The median step of equally long parts of it."""
    warm_up_ms: tuple[float, ...] = ()
    """Steps before, without the first; of many some."""
    slowdown: float | None = None
    """A step's time at the end by that at the begin; 1 where the two mix."""
    rhythm: Rhythm | None = None
    growth: Growth | None = None
    outcomes_checked: int | None = None
    """Steps whose result was looked at, of `outcomes_of`."""
    outcomes_of: int | None = None
    largest_change: float | None = None
    """Of the result of the same work from step to step, relative to it."""
    first_loss: float | None = None
    last_loss: float | None = None
    clock_mhz: tuple[float, ...] = ()
    heat_c: tuple[float, ...] = ()
    watts: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Fields in the order of the report; those from `stage` on are not in the contract."""

    workload: str
    task: str
    """training, inference or micro"""
    framework: str
    framework_version: str | None = None
    backend: str
    device: str
    """As --device takes it: xpu:0, ocl:1, openvino:GPU.0"""
    device_name: str | None = None
    dtype: str
    batch: int | None = None
    input: tuple[int, ...] | None = None
    status: str = OK
    reason: str | None = None
    """Why it failed or was skipped."""
    iterations: int | None = None
    latency_ms: Latency | None = None
    throughput: Throughput | None = None
    includes: tuple[str, ...] = ()
    """What the clock saw, of preprocess, host_to_device, compute, device_to_host."""
    compile: str = "none"
    memory_peak_bytes: int | None = None
    energy: Energy | None = None
    correctness: Correctness | None = None
    ceiling: Ceiling | None = None
    reference: Reference | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that were set for it and matter."""
    stage: str | None = None
    """How far a worker came that failed: import, device, build, correctness, first, measure."""
    first_ms: float | None = None
    """The first step: compilation and the search for kernels are in it."""
    optimizer: str | None = None
    """sgd or adam: of a training step."""
    replicas: int | None = None
    """Processes that ran at once, each on its part of `batch`; `latency_ms` is then of whole batches, which are done when their last part
    is. Of a collective: its ranks. None: one process, which had the device to itself."""
    noisy: str | None = None
    """Why the numbers are not to be relied on, beyond what ci95_percent says."""
    conditions: Conditions | None = None
    course: Course | None = None
    notes: tuple[str, ...] = ()
    """What else a reader should know: why there is no energy, which conditions were not the usual ones."""

    @property
    def out_of_time(self) -> bool:
        return self.status == SKIPPED and (self.reason or "").startswith(OUT_OF_TIME)

    @property
    def title(self) -> str:
        """The workload, and what tells measurements of it apart: 'yolox_tiny 896x512', 'resnet50 x2', 'all_reduce x2 64 KiB'."""
        words = [self.workload]
        if self.workload.startswith("yolox") and self.input and len(self.input) == 3:
            words.append(f"{self.input[2]}x{self.input[1]}")
        if self.replicas:
            words.append(f"x{self.replicas}")
            if self.batch is None and self.input:
                words.append(_bytes(math.prod(self.input) * WIDTHS.get(self.dtype, 4)))
        return " ".join(words)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists, keys in the order of the contract; what is no finite number is null."""
        plain = _plain(self)
        assert isinstance(plain, dict)
        return plain

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Measurement:
        """What `to_json` made. Raises ValueError for anything else."""
        built = _built(cls, table)
        assert isinstance(built, cls)
        return built


def _bytes(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} GiB"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    return value


def _built(kind: type[Any], table: Any) -> Any:
    """A dataclass of these modules from its table; fields that are not given keep their default."""
    if not isinstance(table, Mapping):
        raise ValueError(f"{kind.__name__}: expected a table")
    hints = get_type_hints(kind)
    known = {each.name: each for each in fields(kind)}
    if unknown := sorted(set(map(str, table)) - set(known)):
        raise ValueError(f"{kind.__name__}: unknown field {unknown[0]}")
    try:
        return kind(**{name: _value(hints[name], value, f"{kind.__name__}.{name}") for name, value in table.items()})
    except TypeError as error:
        raise ValueError(f"{kind.__name__}: {error}") from error


def _value(hint: Any, value: Any, name: str) -> Any:
    """`value` as JSON has it, as `hint` wants it: None, text, number, bool, tuple, table of texts, another dataclass."""
    allowed = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    for kind in allowed:
        if value is None and kind is NoneType:
            return None
        if hasattr(kind, "__dataclass_fields__") and isinstance(value, Mapping):
            return _built(kind, value)
        if get_origin(kind) is tuple and isinstance(value, list):
            return tuple(_value(get_args(kind)[0], each, name) for each in value)
        if get_origin(kind) is Mapping and isinstance(value, Mapping) and all(isinstance(each, str) for each in value.values()):
            return dict(value)
        if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if isinstance(kind, type) and type(value) is kind:
            return value
    raise ValueError(f"{name}: {str(value)[:40]!r} is not of its kind")
