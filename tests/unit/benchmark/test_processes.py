"""Several processes for one row: how its time is divided, how many are worth it, and what their results are together."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gpudoctor.benchmark import processes
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import Budget, Job, ValidateOptions, plan, seconds
from gpudoctor.model.measurement import FAILED, SKIPPED, Conditions, Latency, Measurement, Throughput

CPU = MeasurementTarget(framework="torch", device="cpu", python="/p", backend="cpu")


def job(workload: str = "matmul", **changes: Any) -> Job:
    return replace(plan(CPU, ValidateOptions(workloads=(workload,), duration=6.0))[0], **changes)


def measured(median: float, **changes: Any) -> Measurement:
    return Measurement(
        workload="matmul", task="micro", framework="torch", backend="cpu", device="cpu", dtype="float32", iterations=10,
        throughput=Throughput(value=100 / median, unit="TFLOP/s"),
        **{"latency_ms": Latency(median=median, mean=median, ci95_percent=1.0), **changes},
    )  # fmt: skip


def test_all_processes_together_sample_for_the_whole_duration_and_none_for_less_than_a_second() -> None:
    one = processes.first(job(duration=12.0), Budget())
    others = [processes.further(one, number) for number in range(2, processes.MOST + 1)]
    assert one.duration == 6.0 and sum(each.duration for each in (one, *others)) == pytest.approx(12.0)
    brief = [processes.further(processes.first(job(duration=each), Budget()), 2).duration for each in (6.0, 1.0)]
    assert brief == [1.0, 0.5], "as long as the first at most"
    assert [each.process for each in others] == [2, 3, 4, 5] and others[0].warm_up == processes.WARM_UP
    assert one.request()["verify"] and not others[0].request()["verify"] and others[0].words().endswith("on cpu, process 2")


@pytest.mark.parametrize(
    "changes",
    [
        {"compile": "default"},
        {"peers": (CPU, CPU)},
        {"target": replace(CPU, framework="torch-opencl")},
        {"target": replace(CPU, backend="ipu")},
    ],
)
def test_what_cannot_be_repeated_has_all_of_its_time_in_one_process(changes: dict[str, Any]) -> None:
    alone = job(**changes)
    assert processes.first(alone, Budget()).duration == 6.0 and processes.count(alone, 0.1) == 0
    assert not processes.possible(job("operators"))


def test_steps_of_many_seconds_have_all_of_the_time_in_one_process() -> None:
    slow = job("vgg16", duration=3.0)
    assert slow.task == "training" and processes.first(slow, Budget()).duration == 3.0
    fast = Budget()
    fast.guess(CPU, 5e13)
    assert processes.first(slow, fast).duration == 1.5


def test_a_start_that_takes_long_is_made_less_often() -> None:
    one = processes.first(job(), Budget())
    assert [processes.count(one, each) for each in (4.0, 7.5, 8.0, 10.0, 11.0, 15.0, 16.0, 300.0)] == [4, 4, 3, 3, 2, 2, 0, 0]
    assert processes.count(replace(one, duration=15.0), 15.0) == 4, "who asks for half a minute has it"


def test_a_time_that_five_processes_do_not_know_well_gets_more() -> None:
    one = processes.first(job(), Budget())

    def worth(number: int, interval: float | None, seconds: float = 3.0) -> bool:
        known = measured(10.0, latency_ms=Latency(median=10.0, ci95_percent=interval)) if interval != 0 else measured(10.0, latency_ms=None)
        return processes.worth(number, one, seconds, known)

    assert [worth(number, 5.0) for number in (2, 5, 6, 9)] == [True, True, False, False]
    assert [worth(number, 7.0) for number in (2, 5, 6, 9)] == [True] * 4
    assert not worth(9, 7.0, seconds=4.0) and worth(8, 7.0, seconds=4.0), "as many as its patience allows"
    assert not worth(6, None) and not worth(6, 0)


def test_a_row_of_too_few_processes_says_why() -> None:
    one, alone = processes.first(job(), Budget()), measured(10.0)
    several = [processes.joined([measured(10.0)] * count) for count in (2, 3)]
    assert processes.too_few(alone, one, 3.0) == ("measured in one process: there was no time for more",)
    assert processes.too_few(alone, one, 40.0) == ("measured in one process: each further one would take 40 s",)
    assert processes.too_few(several[0], one, 3.0) == ("measured in two processes: there was no time for more",)
    assert processes.too_few(several[1], one, 3.0) == () and processes.too_few(measured(1.0, status=FAILED), one, 3.0) == ()
    assert processes.too_few(alone, job(compile="default"), 3.0) == (), "there is never more than one"


def test_fast_steps_are_kept_of_each_process_that_has_them_where_three_have() -> None:
    def fast(*values: float | None) -> Latency | None:
        rows = [measured(10.0, latency_ms=Latency(median=10.0, p10=value, ci95_percent=1.0)) for value in values]
        return processes.joined(rows).latency_ms

    known, unknown = fast(8.0, None, 9.0, 8.5), fast(8.0, None, 8.5)
    assert known is not None and known.processes_p10 == (8.0, 9.0, 8.5) and known.p10 == pytest.approx(8.49, abs=0.01)
    assert unknown is not None and unknown.processes_p10 == () and len(unknown.processes) == 3


def test_the_estimate_counts_a_start_that_small_measurements_share_once() -> None:
    small = [processes.first(each, Budget()) for each in plan(CPU, ValidateOptions(workloads=("matmul", "launch")))]
    alone = sum(processes.seconds([each], Budget()) for each in small)
    assert processes.seconds(small, Budget()) == pytest.approx(alone - 4 * 2.5)
    network = job("resnet18", duration=1.0)
    assert processes.seconds([replace(network, options={**network.options, "batch": 1})], Budget()) > 0
    assert seconds(processes.further(network, 2)) < seconds(network), "results are checked in the first process only"


def test_the_row_has_the_geometric_mean_and_the_interval_between_processes() -> None:
    row = processes.joined([measured(value) for value in (10.0, 11.0, 12.1, 11.0)])
    assert row.latency_ms is not None and row.throughput is not None and row.latency_ms.processes == (10.0, 11.0, 12.1, 11.0)
    assert row.latency_ms.median == pytest.approx(11.0) and row.latency_ms.mean == pytest.approx(11.0) and row.latency_ms.p95 is None
    assert row.throughput.value == pytest.approx(100 / 11) and row.iterations == 40
    assert row.latency_ms.ci95_percent == pytest.approx(13.2, abs=0.1)
    assert row.noisy == "processes of the same work differ: the time is known within 13 % only"


def test_two_processes_keep_the_interval_within_one() -> None:
    row = processes.joined([measured(10.0), measured(12.0)])
    assert row.latency_ms is not None and row.latency_ms.ci95_percent == 1.0 and row.latency_ms.processes == (10.0, 12.0)


def test_what_had_no_time_is_not_counted_and_a_fault_is() -> None:
    one, late = measured(10.0), measured(1.0, status=SKIPPED, reason="out of time")
    assert processes.joined([one, late]) == one and processes.joined([one]) is one
    bad = processes.joined([one, measured(10.0), replace(late, status=FAILED, stage="measure", reason="wrong result: NaN")])
    assert bad.status == FAILED and bad.notes == ("in process 3; those before it found nothing wrong",)


def test_a_process_that_did_not_begin_is_no_fault_of_the_row() -> None:
    one, gone = measured(10.0), measured(1.0, status=FAILED, stage=None, reason="the interpreter /env/bin/python is missing")
    kept = processes.joined([one, gone])
    assert kept.status == "ok" and kept.latency_ms == one.latency_ms
    assert kept.notes == ("no further process: the interpreter /env/bin/python is missing",)
    assert processes.joined([one, measured(10.0), gone]).notes == kept.notes


def test_what_disturbed_most_processes_is_told_and_what_others_took_is_the_mean() -> None:
    quiet, busy = Conditions(others="", others_share=0.0), Conditions(others="other processes took 40 % of the processor", others_share=0.4)
    mostly = processes.joined([measured(10.0, conditions=each) for each in (quiet, busy, busy, busy)])
    assert mostly.noisy == busy.others and mostly.conditions is not None and mostly.conditions.others_share == pytest.approx(0.3)
    once = processes.joined([measured(10.0, conditions=each, noisy=each.others or None) for each in (busy, quiet, quiet, quiet)])
    assert once.noisy is None
