"""Facts about what `validate` measured, for performance checks and ladders. All are unknown where nothing was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._visible_devices import is_card
from gpudoctor.knowledge.stack_names import all_names
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown

TASKS = ("training", "inference", "micro")
SOURCE = "gpudoctor validate"
FIELDS = {
    "name": "text", "workload": "text", "task": "text", "framework": "text", "framework_version": "text", "backend": "text",
    "device": "text", "device_name": "text", "processor": "bool", "stacks": "list", "dtype": "text", "batch": "int", "status": "text",
    "reason": "text", "stage": "text", "compile": "text", "optimizer": "text", "replicas": "int", "date": "text", "median_ms": "float",
    "first_ms": "float", "first_by_median": "float", "throughput": "float", "unit": "text", "ratio_to_reference": "float",
    "reference": "text", "ceiling_fraction": "float", "ceiling_bound": "text", "training_by_inference": "float", "mean_watts": "float",
    "joules_per_item": "float", "memory_peak_bytes": "int", "correct": "bool", "compared_with": "text",
    "computed_in": "text", "noisy": "text", "memory_full": "bool",
    "all_failed": "bool", "throttled": "text", "others": "text", "clock_mhz": "float", "hottest_c": "float", "busy_percent": "float",
    "link_gt": "float", "link_gt_max": "float", "link_width": "int", "link_width_max": "int", "power_limit_share": "float",
    "gpu_address": "text", "gpu_kind": "text", "bar_share": "float", "threads": "int", "computed_on": "text", "fallbacks": "list",
    "python_debug": "bool", "settings": "list", "other_path": "text", "other_path_speed_up": "float", "other_path_error": "float",
    "slowdown": "float", "slow_steps": "text", "slow_steps_times": "float", "slow_steps_every": "int", "memory_grows": "text",
    "memory_grows_bytes": "float", "clock_share": "float", "p99_by_median": "float", "others_grew": "bool",
    "filesystem": "text", "on_windows_drive": "bool", "slow_links": "text",
}  # fmt: skip
SPEEDS = {
    "matmul": ("measured.matmul.tflops", "best matrix product of an accelerator, else of the processor, in TFLOP/s"),
    "memory_bandwidth": ("measured.memory.gbs", "memory bandwidth reached, in GB/s"),
    "host_to_device": ("measured.host_to_device.gbs", "copying to the device, in GB/s"),
    "device_to_host": ("measured.device_to_host.gbs", "copying from the device, in GB/s"),
    "files": ("measured.files.per_second", "small files of a folder read in a second, the slowest folder"),
}
LAUNCH = "measured.launch.microseconds"


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    rows = facts.value("measurements")
    if rows is None:
        for spec in PROVIDES:
            yield spec.name, Unknown("not probed")
        return
    rows = [row for row in rows if isinstance(row, Mapping)]
    done = [row for row in rows if row.get("status") == "ok"]
    for task in TASKS:
        mine = [row for row in done if row.get("task") == task]
        yield f"measured.{task}.ratio_to_reference", _lowest(mine, "ratio_to_reference")
        yield f"measured.{task}.ceiling_fraction", _highest(mine, "ceiling_fraction")
    for workload, (name, _) in SPEEDS.items():
        mine = [row for row in done if row.get("workload") == workload]
        mine = [row for row in mine if row.get("processor") is not True] or mine
        yield name, (_lowest if workload == "files" else _highest)(mine, "throughput")
    launch = _highest([row for row in done if row.get("workload") == "launch" and row.get("processor") is not True], "throughput")
    yield LAUNCH, Known(float(f"{1e6 / launch.value:.3g}"), SOURCE) if isinstance(launch, Known) and launch.value > 0 else Absent(SOURCE)
    yield "measured.first_ms", _highest(done, "first_ms")
    yield "measured.done", Known(len(done), SOURCE)
    yield "measured.failed", Known(_names(rows, status="failed"), SOURCE)
    yield "measured.wrong", Known([str(row.get("name")) for row in rows if row.get("correct") is False], SOURCE)
    yield "measured.noisy", Known([str(row.get("name")) for row in done if row.get("noisy")], SOURCE)
    yield "measured.throttled", _any_text(done, "throttled")
    yield "measured.fallbacks", Known(sorted({name for row in done for name in _list(row.get("fallbacks"))}), SOURCE)
    yield "measured.devices", Known(sorted({str(row.get("device")) for row in done}), SOURCE)
    dates = [row["date"] for row in rows if isinstance(row.get("date"), str)]
    yield "measured.date", Known(min(dates), SOURCE) if dates else Absent(SOURCE)
    yield "measured.cards_left_out", _left_out(facts, done)
    yield "measured.stacks", Known({stack: _rungs(stack, rows, bool(facts.value("gpus"))) for stack in all_names()}, SOURCE)


def _rungs(stack: str, rows: Sequence[Mapping[str, Any]], gpus: bool) -> dict[str, Any] | Unknown:
    """The fields that the rungs compute and performance of a stack ask for: right, whether the results are; computed, a sentence about
    them; compared, whether there is a reference or ceiling; pace, a sentence about the speed. Unknown where nothing of the stack was
    measured.

    Where a GPU is here, results of the processor say nothing of a stack for GPUs.
    """
    mine = [row for row in rows if stack in _list(row.get("stacks")) and row.get("status") != "skipped"]
    if gpus and stack != "torch-cpu":
        mine = [row for row in mine if row.get("processor") is not True]
    done = [row for row in mine if row.get("status") == "ok"]
    if not mine:
        return Unknown("not probed")
    wrong = [row for row in mine if row.get("correct") is False]
    right = [row for row in done if row.get("correct") is True]
    right_results: Any = False if wrong or not done else True if right else Unknown("not probed")
    where = ", ".join(dict.fromkeys(str(row.get("device_name")) for row in done))
    date = f" on {str(mine[0]['date'])[:10]}" if isinstance(mine[0].get("date"), str) else ""
    held = [row for row in done if _number(row.get("ratio_to_reference")) or _number(row.get("ceiling_fraction"))]
    held = [row for row in held if not row.get("noisy")]
    results = f"{len(right)} result{'' if len(right) == 1 else 's'} right"
    return {
        "right": right_results, "computed": f"{results}, on {where}{date}" if done else str(mine[0].get("reason")),
        "compared": True if held else Unknown("not probed"), "pace": _pace(held),
    }  # fmt: skip


def _pace(held: Sequence[Mapping[str, Any]]) -> str:
    """A sentence about the measurement that compares worst with a published one, else about the one that comes nearest to its ceiling."""
    published = [row for row in held if _number(row.get("ratio_to_reference"))]
    if published:
        row = min(published, key=lambda row: float(row["ratio_to_reference"]))
        return f"{row.get('workload')} {row.get('task')}: {row['ratio_to_reference']:.2f} of the published speed"
    if not held:
        return "nothing to compare with"
    row = max(held, key=lambda row: float(row["ceiling_fraction"]))
    return f"{row.get('workload')}: {100 * row['ceiling_fraction']:.0f} % of what the device can do at most; no published result"


def _left_out(facts: Facts, done: Sequence[Mapping[str, Any]]) -> Fact:
    """The names of the cards on which nothing was measured although something was on another device; unknown where a measurement has no
    PCI address."""
    gpus = facts.value("gpus")
    addresses = [row.get("gpu_address") for row in done if row.get("processor") is not True]
    if not isinstance(gpus, list) or not addresses or any(not isinstance(address, str) for address in addresses):
        return Unknown("not probed")
    cards = [gpu for gpu in gpus if is_card(gpu)]
    return Known([str(gpu.get("name")) for gpu in cards if gpu.get("address") not in addresses], SOURCE)


def _names(rows: Sequence[Mapping[str, Any]], *, status: str) -> list[str]:
    return [str(row.get("name")) for row in rows if row.get("status") == status]


def _list(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list | tuple) else []


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _any_text(rows: Sequence[Mapping[str, Any]], field: str) -> Fact:
    """Whether the field of one row holds a text; unknown where it was watched in none."""
    watched = [row.get(field) for row in rows if not isinstance(row.get(field), Unknown)]
    return Known(any(watched), SOURCE) if watched else Unknown("not probed")


def _lowest(rows: Sequence[Mapping[str, Any]], field: str) -> Fact:
    values = [row[field] for row in rows if _number(row.get(field))]
    return Known(min(values), SOURCE) if values else Absent(SOURCE)


def _highest(rows: Sequence[Mapping[str, Any]], field: str) -> Fact:
    values = [row[field] for row in rows if _number(row.get(field))]
    return Known(max(values), SOURCE) if values else Absent(SOURCE)


PROVIDES = (
    *(
        FactSpec(f"measured.{task}.ratio_to_reference", "float", f"speed of {task} by the published one: the lowest of all")
        for task in TASKS
    ),
    *(
        FactSpec(f"measured.{task}.ceiling_fraction", "float", f"share of the device's roofline that {task} reached: the best")
        for task in TASKS
    ),
    *(FactSpec(name, "float", meaning) for name, meaning in SPEEDS.values()),
    FactSpec(LAUNCH, "float", "microseconds to start one kernel on an accelerator"),
    FactSpec("measured.first_ms", "float", "milliseconds of the longest first step, which includes compilation and the search for kernels"),
    FactSpec("measured.done", "int", "measurements that came to an end"),
    FactSpec("measured.failed", "list", "measurements that failed"),
    FactSpec("measured.wrong", "list", "measurements whose results differ from those that they were compared with"),
    FactSpec("measured.noisy", "list", "measurements whose numbers are not to be relied on"),
    FactSpec("measured.throttled", "bool", "the device was held back by heat or power while it was measured"),
    FactSpec("measured.fallbacks", "list", "operators that ran on the processor instead of the device"),
    FactSpec("measured.devices", "list", "devices that were measured"),
    FactSpec("measured.date", "text", "when the measurements were made (UTC); absent where that was just now"),
    FactSpec("measured.cards_left_out", "list", "cards that nothing was measured on, while another device was"),
    FactSpec("measured.stacks", "map", "per stack: right (bool), computed (text), compared (bool), pace (text)"),
)
MEASUREMENTS = FactSpec("measurements", "records", "what gpudoctor validate measured", item="measurement", fields=FIELDS)
DERIVATION = Derivation("measured", (*PROVIDES, MEASUREMENTS), derive)
