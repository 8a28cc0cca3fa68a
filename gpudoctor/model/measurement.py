"""One measurement of `validate`: an item of `measurements` in a report. None means 'not known'; no number is invented."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Struct, field

from gpudoctor.model.typed_json import Given, Limits, read, shaped

OK, FAILED, SKIPPED = "ok", "failed", "skipped"
OUT_OF_TIME = "out of time; --full measures all, --workload NAME a single one"
"""The reason of a measurement for which the minute had no room."""
WIDTHS = {"float64": 8, "float16": 2, "bfloat16": 2}
"""Bytes of one number by dtype; a dtype that is not listed has 4."""
AtLeastZero = Annotated[float, Limits(minimum=0)]
Positive = Annotated[int, Limits(minimum=1)]


@shaped(open=True, optional=("p10", "p50", "p95", "p99", "mean", "stdev", "ci95_percent", "processes", "processes_p10"))
class Latency(Struct, frozen=True, kw_only=True):
    """The duration of one step over the whole batch, in milliseconds. Where several processes measured it, each number is the geometric
    mean of theirs."""

    median: AtLeastZero
    p10: AtLeastZero | None = None
    """The fast steps, which other programs disturb least; null where there were fewer than ten samples."""
    p50: AtLeastZero | None = None
    p95: AtLeastZero | None = None
    p99: AtLeastZero | None = None
    mean: AtLeastZero | None = None
    stdev: AtLeastZero | None = None
    ci95_percent: AtLeastZero | None = None
    """Half the width of the 95 % confidence interval of the median, in per cent of the median: over processes where at least three
    measured it, otherwise over the steps of one."""
    processes: tuple[AtLeastZero, ...] = ()
    """The median of each process, in the order in which they ran; empty where there was one process."""
    processes_p10: tuple[AtLeastZero, ...] = ()
    """The 10th percentile of each process that has one; empty where fewer than three have."""


class Throughput(Struct, frozen=True, kw_only=True):
    """Work done in one second."""

    value: AtLeastZero
    unit: Annotated[str, Limits(minLength=1)]
    """images/s, it/s, tokens/s, TFLOP/s, GB/s and others."""


@shaped(open=True, optional=("throughput_per_watt",))
class Energy(Struct, frozen=True, kw_only=True):
    """Energy that the device drew while it was measured."""

    joules_per_item: float | None
    mean_watts: float | None
    boundary: Annotated[str, Limits(enum=("package", "card", "board"))]
    """What the counter covers."""
    source: str
    """The counter: rapl, nvml, hwmon and others."""
    throughput_per_watt: float | None = None
    """In the unit of the throughput by watt: images/s/W."""


@shaped(open=True, optional=("computed_in",))
class Correctness(Struct, frozen=True, kw_only=True):
    """The result of one step, compared with a reference."""

    compared_with: str
    """The reference: cpu float64, the first step, or another runtime."""
    max_relative_error: float | None
    tolerance: float | None
    passed: bool
    computed_in: str | None = None
    """The narrower type that explains every error beyond the tolerance ('TF32'); null where none does."""


@shaped(open=True, optional=("attainable", "unit"))
class Ceiling(Struct, frozen=True, kw_only=True):
    """The share of what the device can do at most, by the roofline model."""

    fraction: AtLeastZero
    """1.0 is all of it; boards that boost, and algorithms with fewer operations, exceed it."""
    bound: Annotated[str, Limits(enum=("compute", "memory"))]
    """The lower one of the two roofs."""
    source: Annotated[str, Limits(minLength=1)]
    attainable: AtLeastZero | None = None
    """The throughput at the roof, in `unit`."""
    unit: str = ""


@shaped(open=True, optional=("unit", "differs"))
class Reference(Struct, frozen=True, kw_only=True):
    """A published result of the same device and workload."""

    ratio: AtLeastZero
    """The measured speed divided by the published one."""
    value: float
    """The published value, in `unit`."""
    source: Annotated[str, Limits(minLength=1)]
    unit: str = ""
    differs: tuple[str, ...] = ()
    """What was different in the published measurement: 'torch 1.9 then, 2.8 now'."""


CONDITION_FIELDS = (
    "throttled", "others", "others_share", "others_shares", "clock_mhz", "hottest_c", "busy_percent", "link_gt", "link_gt_max",
    "link_width", "link_width_max", "power_limit_share", "gpu_address", "gpu_kind", "bar_share", "threads", "computed_on", "fallbacks",
    "python_debug", "filesystem", "on_windows_drive",
)  # fmt: skip


@shaped(open=True, optional=CONDITION_FIELDS)
class Conditions(Struct, frozen=True, kw_only=True):
    """The state of the device during the measurement, and where the work was really done; null where it could not be determined."""

    throttled: str | None = None
    """What slowed the device down; empty where it was monitored and nothing did."""
    others: str | None = None
    """Other processes that used the device; empty where it was monitored and there were none."""
    others_share: float | None = None
    """The share of all cores that other processes and the hypervisor took."""
    others_shares: tuple[float, ...] = ()
    """The same for each process of a measurement that several made; empty where it is unknown of one."""
    clock_mhz: float | None = None
    hottest_c: float | None = None
    """The highest temperature in degrees Celsius."""
    busy_percent: float | None = None
    link_gt: float | None = None
    """The fastest PCI Express link that was seen, in GT/s per lane; idle cards slow their link down."""
    link_gt_max: float | None = None
    link_width: int | None = None
    """The number of lanes."""
    link_width_max: int | None = None
    power_limit_share: float | None = None
    """The power limit divided by the default limit."""
    gpu_address: str | None = None
    """The PCI address."""
    gpu_kind: str | None = None
    """discrete, integrated or accelerator."""
    bar_share: float | None = None
    """The share of the card's memory that the processor can address (Resizable BAR)."""
    threads: int | None = None
    settings: tuple[str, ...] | None = None
    """Settings of the framework, defaults included, that change the precision of a dtype ('INFERENCE_PRECISION_HINT f32 (default bf16)')
    or the speed."""
    other_path: str | None = None
    """For a matrix product on a processor, a faster way of the same framework to the same product."""
    other_path_speed_up: float | None = None
    other_path_error: float | None = None
    """The greatest error of that way, divided by the greatest number of the product in float64."""
    computed_on: str | None = None
    """The device of the last result, as the framework calls it."""
    fallbacks: tuple[str, ...] | None = None
    """Operators of one step that ran on the processor instead."""
    python_debug: bool | None = None
    """Whether the interpreter is a debug build."""
    filesystem: str | None = None
    """The file system of the folder that the files were read from."""
    on_windows_drive: bool | None = None
    """Whether that folder is on a drive of Windows, seen from WSL."""


@shaped(open=True)
class Rhythm(Struct, frozen=True, kw_only=True):
    """Steps of two speeds."""

    fast_ms: float
    slow_ms: float
    """The median duration of the slow steps; `fast_ms` is that of the others."""
    slow_share: float
    every: int | None
    """One in so many steps is slow; null where they come in no regular order."""
    border_ms: float

    @property
    def words(self) -> str:
        times = f"{self.slow_ms / self.fast_ms:.1f} times as long as the others ({self.fast_ms:.3g} and {self.slow_ms:.3g} ms)"
        if self.every is not None:
            return f"one step in {self.every} takes {times}"
        return f"steps have two speeds: {100 * self.slow_share:.0f} % of them take {times}"


@shaped(open=True)
class Growth(Struct, frozen=True, kw_only=True):
    """Memory use that grows with the steps."""

    bytes_per_step: float
    bytes: float
    """The growth during the whole observation."""
    of: str
    """process, device, or addresses (address space that was reserved and not written to)."""

    @property
    def words(self) -> str:
        name = {"process": "memory", "device": "memory of the device", "addresses": "address space"}.get(self.of, self.of)
        return f"{name} grows by {_bytes(self.bytes_per_step)} a step ({_bytes(self.bytes)} in this run)"


@shaped(open=True)
class Course(Struct, frozen=True, kw_only=True):
    """The course of a measurement from its first step to its last. null: it could not be determined. Pairs hold the values of the first
    and of the last third."""

    seconds: float | None = None
    """The duration of the sampling."""
    slices_ms: tuple[float, ...] = ()
    """The median durations of the steps in equally long parts of the measurement."""
    warm_up_ms: tuple[float, ...] = ()
    """The durations of a selection of the warm-up steps, without the first one."""
    slowdown: float | None = None
    """The duration of a step after the largest change divided by that before it, or at the end divided by the warm-up, if that is more;
    1 where the two distributions overlap."""
    rhythm: Rhythm | None = None
    growth: Growth | None = None
    outcomes_checked: int | None = None
    """The number of steps whose result was checked, of `outcomes_of`."""
    outcomes_of: int | None = None
    largest_change: float | None = None
    """The largest change of the result between steps with the same work, relative to the result."""
    first_loss: float | None = None
    last_loss: float | None = None
    clock_mhz: tuple[float, ...] = ()
    heat_c: tuple[float, ...] = ()
    watts: tuple[float, ...] = ()
    others_grew: bool | None = None
    """Whether other programs used clearly more in the second half than in the first."""

    @property
    def concern(self) -> str:
        """What is wrong with it in a word, the worst first; '' where nothing is. Where other programs took more and more, they slow it."""
        if self.growth is not None:
            return "leaks"
        if self.slowdown is not None and self.slowdown >= SLOWER and not self.others_grew:
            return "slows"
        return "uneven" if self.rhythm is not None else ""

    @property
    def words(self) -> tuple[str, ...]:
        """A sentence for each concern, with the observations that go with it."""
        found = [self.growth.words] if self.growth is not None else []
        if self.slowdown is not None and self.slowdown >= SLOWER:
            beside = "".join(f", {words}" for words in self.beside()) + (", while other programs took more" if self.others_grew else "")
            found.append(f"a step takes {self.slowdown:.1f} times as long at the end as at the begin{beside}")
        if self.rhythm is not None:
            found.append(self.rhythm.words)
        return tuple(found)

    def beside(self) -> tuple[str, ...]:
        """Clock, temperature and power at the beginning and at the end, where they were observed."""
        kinds = ((self.clock_mhz, "MHz"), (self.heat_c, "degrees Celsius"), (self.watts, "W"))
        return tuple(f"{values[0]:.0f} to {values[1]:.0f} {unit}" for values, unit in kinds if len(values) == 2)


class Link(Struct, frozen=True, kw_only=True):
    """What two ranks of a collective send to each other and back while the others are silent: the rate is that of the fastest trip."""

    ranks: tuple[int, int]
    devices: tuple[str, str]
    bytes_per_s: Annotated[float, Limits(exclusiveMinimum=0)]
    slow: bool = False
    """It is at least 30 % below the median of all pairs; only three pairs or more are compared."""

    @property
    def name(self) -> str:
        """'cuda:0 and cuda:2'; of processes on one device 'ranks 1 and 3'."""
        if self.devices[0] != self.devices[1]:
            return " and ".join(self.devices)
        return f"ranks {self.ranks[0] + 1} and {self.ranks[1] + 1}"


SLOWER = 1.5
"""The factor from which a step counts as slower at the end than at the beginning."""


@shaped(
    Given("status", OK, then=("latency_ms", "throughput", "correctness"), otherwise=("reason",)),  # operators are judged, not timed
    open=True,
    optional=("stage", "first_ms", "optimizer", "replicas", "noisy", "conditions", "notes", "course", "links"),
)
class Measurement(Struct, frozen=True, kw_only=True):
    """One workload on one device. The fields up to `environment` are in every report; those from `stage` on are later additions."""

    workload: str
    task: Annotated[str, Limits(enum=("training", "inference", "micro"))]
    framework: str
    framework_version: str | None = None
    backend: str
    device: str
    """The device as --device takes it: xpu:0, ocl:1, openvino:GPU.0."""
    device_name: str | None = None
    dtype: str
    batch: Positive | None = None
    input: tuple[Positive, ...] | None = None
    """The shape of one item."""
    status: Annotated[str, Limits(enum=(OK, FAILED, SKIPPED))] = OK
    reason: str | None = None
    """Why the measurement failed or was skipped."""
    iterations: Annotated[int, Limits(minimum=0)] | None = None
    latency_ms: Latency | None = None
    throughput: Throughput | None = None
    includes: tuple[Annotated[str, Limits(enum=("preprocess", "host_to_device", "compute", "device_to_host"))], ...] = ()
    """The parts of a step that were timed."""
    compile: Annotated[str, Limits(enum=("none", "default", "reduce-overhead", "max-autotune"))] = "none"
    """The mode of the framework's compiler."""
    memory_peak_bytes: Annotated[int, Limits(minimum=0)] | None = None
    energy: Energy | None = None
    correctness: Correctness | None = None
    ceiling: Ceiling | None = None
    reference: Reference | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that were set and that influence the result."""
    stage: str | None = None
    """The stage in which a worker failed: import, device, build, correctness, first, measure."""
    first_ms: float | None = None
    """The duration of the first step, with compilation and the search for kernels."""
    optimizer: Annotated[str, Limits(enum=("sgd", "adam"))] | None = None
    """The optimizer of a training step."""
    replicas: Positive | None = None
    """The number of processes that ran at once, each on its part of `batch`: `latency_ms` is then the duration until the last part of a
    batch is done. For a collective operation, the number of ranks. null: one process had the device to itself."""
    noisy: str | None = None
    """Why the numbers are less reliable than ci95_percent says."""
    conditions: Conditions | None = None
    """null where nothing could be determined."""
    course: Course | None = None
    notes: tuple[str, ...] = ()
    """Remarks for a reader: why there is no energy, which conditions were unusual."""
    links: tuple[Link, ...] = ()
    """Of the largest message of a collective: the bandwidth between each two of its ranks."""

    @property
    def out_of_time(self) -> bool:
        return self.status == SKIPPED and (self.reason or "").startswith(OUT_OF_TIME)

    @property
    def title(self) -> str:
        """The workload, and what distinguishes its measurements: 'yolox_tiny 896x512', 'resnet50 x2', 'all_reduce x2 64 KiB'."""
        words = [self.workload]
        if self.workload.startswith("yolox") and self.input and len(self.input) == 3:
            words.append(f"{self.input[2]}x{self.input[1]}")
        if self.replicas:
            words.append(f"x{self.replicas}")
            if self.batch is None and self.input:
                words.append(_bytes(math.prod(self.input) * WIDTHS.get(self.dtype, 4)))
        return " ".join(words)

    @property
    def disturbed(self) -> bool:
        """Whether other programs used the device so much that its numbers are noisy."""
        return self.status == OK and bool(self.noisy) and self.conditions is not None and bool(self.conditions.others)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists, keys in the order of the published schema; a number that is not finite is null."""
        plain = _plain(self)
        assert isinstance(plain, dict)
        return plain

    @classmethod
    def from_json(cls, table: Any) -> Measurement:
        """The measurement from the table of `to_json`. Raises TypedJsonError, a ValueError, for anything else."""
        return read(cls, table)


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
    if isinstance(value, Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    return value
