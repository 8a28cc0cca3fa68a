from __future__ import annotations

import math
import os
import random
import re
import statistics
import sys
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.benchmark import comparison, repeatability
from gpudoctor.facts import vocabulary
from gpudoctor.model.measurement import OUT_OF_TIME
from gpudoctor.reporters.measurement import comparison_text
from gpudoctor.reporters.shared.layout import Terminal
from gpudoctor.services import experimenting
from gpudoctor.services.checking import RequestError


def measured(median: float, ci: float | None = 1.0, **changes: Any) -> dict[str, Any]:
    return {
        "workload": "resnet50", "task": "inference", "framework": "torch", "framework_version": "2.13.0", "backend": "cpu",
        "dtype": "float32", "batch": 16, "input": [3, 224, 224], "status": "ok", "reason": None, "compile": "none",
        "includes": ["compute"], "environment": {}, "device_name": "cpu", "latency_ms": {"median": median, "ci95_percent": ci}, **changes,
    }  # fmt: skip


def report(*measurements: dict[str, Any], **facts: Any) -> dict[str, Any]:
    return {"measurements": list(measurements), "facts": facts}


def one(here: dict[str, Any], there: dict[str, Any]) -> Any:
    return comparison.compare(report(here), report(there)).rows[0]


def test_speed_is_the_time_there_by_the_time_here_with_both_intervals() -> None:
    row = one(measured(10.0, 3.0), measured(20.0, 4.0))
    assert row.speed == 2.0 and row.verdict == "faster"
    reach = math.hypot(3.0, 4.0, repeatability.ALONE * repeatability.PROCESSOR["inference"]) / 100
    assert row.low == pytest.approx(2 * math.exp(-reach)) and row.high == pytest.approx(2 * math.exp(reach)) and row.processes == 1
    assert one(measured(20.0), measured(10.0)).verdict == "slower"


def test_what_lies_within_the_noise_is_the_same() -> None:
    assert one(measured(10.0, 3.0, backend="cuda"), measured(10.4, 3.0, backend="cuda")).verdict == "same"
    assert one(measured(10.0, 1.0), measured(13.0, 1.0)).verdict == "faster"
    assert one(measured(10.0, 0.1), measured(10.7, 0.1)).verdict == "unknown"  # what two runs of the same differ by


def test_kinds_of_work_repeat_differently_well() -> None:
    def verdict(backend: str, there: float, **changes: Any) -> str:
        return str(one(measured(10.0, 0.1, backend=backend, **changes), measured(there, 0.1, backend=backend, **changes)).verdict)

    bandwidth = {"workload": "memory_bandwidth", "task": "micro"}
    assert verdict("cpu", 12.9) == "faster" and verdict("cpu", 12.9, **bandwidth) == "unknown"
    assert verdict("cuda", 12.2, **bandwidth) == "faster" and verdict("cuda", 12.2, workload="launch") == "unknown"


def test_what_others_took_of_the_processor_is_what_a_run_may_lack() -> None:
    def verdict(share: float, here: float, there: float) -> str:
        busy = {"conditions": {"others_share": share}, "noisy": "other processes took much"}
        return str(one(measured(here, 1.0, **busy), measured(there, 1.0)).verdict)

    assert verdict(0.3, 10.0, 13.0) == "unknown" and verdict(0.02, 10.0, 13.0) == "faster" and verdict(0.3, 10.0, 20.0) == "faster"
    assert verdict(0.9, 10.0, 100.0) == "unknown"


def test_two_runs_beside_as_much_other_work_are_compared_and_beside_more_they_are_not() -> None:
    def verdict(here: float, there: float, slower: float) -> str:
        shares = [{"conditions": {"others_share": share}} for share in (here, there)]
        times = [10.0, 10.4, 9.8, 10.1, 9.9]
        return str(one(in_processes([slower * time for time in times], **shares[0]), in_processes(times, **shares[1])).verdict)

    assert verdict(0.5, 0.5, 2.0) == "slower" and verdict(0.5, 0.0, 2.0) == "unknown", "half of the processor was missing"
    assert verdict(0.02, 0.01, 1.3) == "slower" and verdict(0.8, 0.8, 1.3) == "unknown"


def test_a_run_that_was_disturbed_has_to_differ_by_more() -> None:
    assert one(measured(10.0, 1.0), measured(12.0, 1.0, noisy="other processes took 40 % of the processor")).verdict == "unknown"
    assert one(measured(10.0, 1.0, noisy="x"), measured(13.0, 1.0)).verdict == "faster"  # beyond both together


def test_an_interval_that_holds_both_the_same_and_a_large_difference_tells_nothing() -> None:
    row = one(measured(10.0, 80.0), measured(18.4, 80.0))
    assert row.low < 1 < 1.84 < row.high and row.verdict == "unknown"
    assert one(measured(10.0, 8.0, backend="cuda"), measured(10.0, 8.0, backend="cuda")).verdict == "same"
    assert one(measured(10.0, 17.0), measured(10.0, 17.0)).verdict == "unknown"


def in_processes(times: list[float], **changes: Any) -> dict[str, Any]:
    middle = math.exp(statistics.fmean(map(math.log, times)))
    return measured(middle, latency_ms={"median": middle, "ci95_percent": 1.0, "processes": times}, **changes)


def runs_of(source: random.Random, middle: float, apart: float, shared: float = 0.0) -> dict[str, Any]:
    """A report of ten rows, each of five processes that lie `apart` (a standard deviation), with a part of the variance in common."""
    rows = []
    for row in range(10):
        shift = source.gauss(0, apart * math.sqrt(shared))
        rows.append(in_processes([middle * math.exp(shift + source.gauss(0, apart)) for _ in range(5)], batch=row + 1))
    return report(*rows)


@pytest.mark.parametrize(("apart", "shared"), [(0.005, 0.0), (0.02, 0.3), (0.06, 0.0), (0.1, 0.3), (0.2, 0.0), (0.2, 0.3)])
def test_of_two_identical_runs_few_rows_are_called_different_however_much_processes_differ(apart: float, shared: float) -> None:
    source, different = random.Random(1), 0
    for _ in range(60):
        found = comparison.compare(runs_of(source, 10.0, apart, shared), runs_of(source, 10.0, apart, shared))
        different += sum(row.verdict in ("faster", "slower") for row in found.rows)
    assert different <= 0.04 * 600


@pytest.mark.parametrize(("slower", "apart", "least"), [(1.1, 0.012, 0.95), (1.3, 0.06, 0.9), (1.3, 0.1, 0.5), (2.0, 0.15, 0.9)])
def test_a_real_difference_is_found_where_processes_repeat_as_well_as_it_takes(slower: float, apart: float, least: float) -> None:
    source, found = random.Random(2), 0
    for _ in range(40):
        rows = comparison.compare(runs_of(source, 10.0 * slower, apart, 0.1), runs_of(source, 10.0, apart, 0.1)).rows
        found += sum(row.verdict == "slower" for row in rows)
        assert not any(row.verdict == "faster" for row in rows)
    assert found >= least * 400


def with_fast_steps(times: list[float], fast: list[float], **changes: Any) -> dict[str, Any]:
    row = in_processes(times, **changes)
    row["latency_ms"] |= {"p10": math.exp(statistics.fmean(map(math.log, fast))), "processes_p10": fast}
    return row


def disturbed(source: random.Random, middle: float, apart: float, fast: float, count: int = 5) -> dict[str, Any]:
    """A report of six rows: processes whose medians lie `apart`, because others disturb them, and whose fast steps lie less far apart.
    A third of both is common to the processes of a row."""
    rows = []
    for batch in range(1, 7):
        shared = source.gauss(0, 0.5)
        disturbances = [source.gauss(0, 1) + shared for _ in range(count)]
        medians = [middle * math.exp(apart * each) for each in disturbances]
        tenths = [0.95 * middle * math.exp(fast * (0.5 * each + 0.87 * source.gauss(0, 1))) for each in disturbances]
        rows.append(with_fast_steps(medians, tenths, batch=batch))
    return report(*rows)


def called(seed: int, factor: float, apart: float, fast: float, count: int = 5, runs: int = 60) -> dict[str, float]:
    """The shares of verdicts where here takes `factor` times as long."""
    source, found = random.Random(seed), []
    for _ in range(runs):
        here, there = disturbed(source, 10.0 * factor, apart, fast, count), disturbed(source, 10.0, apart, fast, count)
        found += [row.verdict for row in comparison.compare(here, there).rows]
    return {verdict: found.count(verdict) / len(found) for verdict in ("slower", "faster", "same", "unknown")}


@pytest.mark.parametrize(("apart", "fast", "count"), [(0.02, 0.02, 5), (0.1, 0.04, 5), (0.17, 0.06, 9), (0.6, 0.1, 5), (0.1, 0.2, 9)])
def test_asking_the_fast_steps_as_well_calls_no_more_identical_runs_different(apart: float, fast: float, count: int) -> None:
    found = called(3, 1.0, apart, fast, count, runs=100)
    assert found["slower"] + found["faster"] <= 0.05


def test_where_others_disturb_the_median_a_quarter_slower_is_found_by_the_fast_steps() -> None:
    assert called(4, 1.25, 0.1, 0.04)["slower"] > 0.95 and called(4, 1.25, 0.17, 0.06)["slower"] > 0.75
    assert called(4, 1.25, 0.1, 0.1)["slower"] < 0.7, "they are what makes the difference"
    assert called(4, 1.25, 0.1, 0.1, count=9)["slower"] > 0.7, "and more processes do"


def test_what_slows_a_part_of_the_steps_is_seen_in_the_median() -> None:
    usual, slow, fast = [10.0, 10.1, 9.9, 10.0, 10.05], [14.0, 14.2, 13.9, 14.1, 14.0], [9.5, 9.5, 9.55, 9.45, 9.5]
    row = one(with_fast_steps(slow, fast), with_fast_steps(usual, fast))
    assert (row.verdict, row.statistic, row.here_ms) == ("slower", "median", pytest.approx(14.04, abs=0.01))
    busy = [13.0, 10.0, 17.0, 11.0, 10.5]
    row = one(with_fast_steps([1.3 * each for each in busy], [1.3 * each for each in fast]), with_fast_steps(busy, fast))
    assert (row.verdict, row.statistic, row.here_ms) == ("slower", "p10", pytest.approx(12.35, abs=0.01))
    assert row.low < row.speed < row.high < 1


@pytest.mark.parametrize(("apart", "count"), [(0.02, 5), (0.1, 5), (0.1, 9)])
def test_a_difference_is_seen_from_the_size_on_that_is_said(apart: float, count: int) -> None:
    source, said = random.Random(5), []
    for _ in range(20):
        said += [row.seen_from for row in comparison.compare(*(disturbed(source, 10.0, apart, apart, count) for _ in range(2))).rows]
    least = statistics.median(said)
    assert 1.03 < least and called(6, least, apart, apart, count)["slower"] >= 0.8
    assert called(6, math.sqrt(least), apart, apart, count)["slower"] < 0.6, "and not much smaller ones"


def test_fast_steps_of_one_side_only_or_without_their_mean_are_not_compared() -> None:
    times, fast = [10.0, 10.1, 9.9], [9.5, 9.6, 9.4]
    assert one(with_fast_steps(times, fast), in_processes(times)).statistic == "median"
    without = with_fast_steps(times, fast)
    del without["latency_ms"]["p10"]
    assert one(without, with_fast_steps(times, fast)).statistic == "median"
    hostile = with_fast_steps(times, fast)
    hostile["latency_ms"]["processes_p10"] = ["x", 1, 2]
    assert one(hostile, with_fast_steps(times, fast)).statistic == "median"


def test_the_screen_says_from_which_change_on_a_difference_is_seen() -> None:
    times = [10.0, 10.1, 9.9, 10.0, 10.05]
    rows = [in_processes(times, batch=1), measured(5.0, 12.0, batch=2), measured(5.0, None, batch=3), measured(5.0, 80.0, batch=4)]
    text = comparison_text.render(comparison.compare(report(*rows), report(*rows)), Terminal(width=110))
    known, table, nothing, wide = (next(line for line in text.splitlines() if f" b{batch} " in line) for batch in (1, 2, 3, 4))
    assert re.search(r"\(0\.\d\d to 1\.\d\d\) +\+1\d %  same", known) and re.search(r"\+[56]\d %  unknown", table)
    assert re.search(r"1\.00x +-  unknown", nothing) and re.search(r" \d\d?\.\d times  unknown", wide)
    assert "Seen from: the least change" in text and "10th percentile" not in text
    fast = report(with_fast_steps([9.0, 14.0, 11.0], [8.0, 8.1, 8.0]))
    assert "Compared by the 10th percentile of the steps" in " ".join(comparison_text.render(comparison.compare(fast, fast)).split())


def test_processes_that_lie_apart_decide_and_not_the_steps_within_one() -> None:
    wide, narrow = [9.0, 12.0, 10.0, 13.5], [10.9, 11.0, 11.1, 10.9]
    assert one(in_processes(wide), in_processes([value * 1.3 for value in wide])).verdict == "unknown"
    assert one(in_processes(narrow), in_processes([value * 1.3 for value in narrow])).verdict == "faster"
    assert one(in_processes([11.0] * 4), in_processes([11.2] * 4)).verdict == "same", "four that agree by chance prove little"


def test_processes_that_differ_are_no_disturbance_and_others_at_work_are() -> None:
    def width(**changes: Any) -> float:
        row = one(in_processes([10.0, 10.3, 9.9, 10.1], backend="cuda", **changes), in_processes([10.0, 10.3, 9.9, 10.1], backend="cuda"))
        return float(row.high / row.low)

    apart = "processes of the same work differ: the time is known within 12 % only"
    assert width(noisy=apart) == width(noisy=apart, conditions={"others": "", "throttled": ""}) == width()
    assert width(noisy="x", conditions={"throttled": "throttled by heat"}) > width() and width(conditions={"others": "python"}) > width()
    idle = {"backend": "cpu", "conditions": {"others_share": 0.0}, "noisy": "the median is known within 6 % only"}
    assert one(measured(10.0, 6.0, **idle), measured(10.0, 6.0)).high == one(measured(10.0, 6.0), measured(10.0, 6.0)).high


def test_what_matters_to_nobody_is_the_same_however_sure_it_is() -> None:
    card = {"backend": "cuda", "workload": "x", "task": "inference"}
    assert one(in_processes([10.0] * 40, **card), in_processes([10.25] * 40, **card)).verdict == "same"


def test_two_processes_do_not_show_how_far_they_lie_apart() -> None:
    two = one(in_processes([10.0, 10.0]), in_processes([11.0, 11.0]))
    assert two.processes == 2 and two.low == pytest.approx(one(measured(10.0), measured(11.0)).low)


@pytest.mark.parametrize("listed", [["x", 1, 2, 3], [10.0, -1.0, 10.0, 10.0], {"a": 1}, [float("nan")] * 4, [True] * 4, "1234", None])
def test_processes_that_are_no_times_are_not_believed(listed: Any) -> None:
    row = one(measured(10.0, latency_ms={"median": 10.0, "ci95_percent": 1.0, "processes": listed}), measured(11.0))
    assert row.processes == 1 and row.low == pytest.approx(one(measured(10.0), measured(11.0)).low)


def test_without_an_interval_nothing_is_claimed() -> None:
    row = one(measured(10.0, None), measured(20.0))
    assert row.verdict == "unknown" and row.low is None and row.speed == 2.0


def test_only_equal_work_is_compared_and_another_card_may_do_it() -> None:
    ours = report(measured(10.0), measured(5.0, batch=32), measured(3.0, workload="alexnet"))
    theirs = report(measured(20.0, backend="xpu", device_name="Arc A770"), measured(5.0, batch=64))
    found = comparison.compare(ours, theirs)
    assert len(found.rows) == 1 and "device_name cpu here, Arc A770 there" in found.rows[0].differs
    assert len(found.only_here) == 2 and found.only_there == ("resnet50 inference torch cpu float32 batch 64",)


def test_the_same_backend_is_preferred() -> None:
    ours = report(measured(10.0), measured(4.0, backend="cuda"))
    theirs = report(measured(8.0, backend="cuda"), measured(30.0))
    assert sorted(row.speed for row in comparison.compare(ours, theirs).rows) == [2.0, 3.0]


def test_another_framework_is_paired_by_its_work_where_there_is_only_one() -> None:
    opencl = measured(30.0, framework="torch-opencl", backend="ocl", device_name="pthread")
    (row,) = comparison.compare(report(opencl), report(measured(10.0))).rows
    assert (row.framework, row.speed, row.verdict) == ("torch-opencl by torch", pytest.approx(1 / 3), "slower")
    assert "framework torch-opencl here, torch there" in row.differs and "backend ocl here, cpu there" in row.differs
    openvino, ort = measured(5.0, framework="openvino"), measured(6.0, framework="onnxruntime")
    family = comparison.compare(report(opencl), report(measured(10.0), openvino))
    assert [each.framework for each in family.rows] == ["torch-opencl by torch"] and len(family.only_there) == 1
    assert [each.framework for each in comparison.compare(report(openvino), report(ort)).rows] == ["openvino by onnxruntime"]
    several = comparison.compare(report(openvino), report(ort, measured(10.0)))
    assert several.rows == () and len(several.only_here) == 1 and len(several.only_there) == 2


def test_the_program_of_llama_cpp_is_paired_with_its_binding() -> None:
    work = {"workload": "llama_prefill", "batch": 1, "input": [512]}
    ours, own = measured(10.0, framework="llama-cpp", **work), measured(9.0, framework="llama-bench", **work)
    other = measured(30.0, framework="torch", **work)
    (row,) = comparison.compare(report(ours), report(own, other)).rows
    assert (row.framework, row.speed) == ("llama-cpp by llama-bench", 0.9)
    both = comparison.compare(report(ours, own), report(ours, own))
    assert [each.framework for each in both.rows] == ["llama-cpp", "llama-bench"], "each with itself, where both reports have both"


def test_what_a_framework_has_not_is_no_fault_of_another() -> None:
    skipped = measured(1.0, framework="openvino", status="skipped", reason="it computes, it does not train", latency_ms=None)
    assert comparison.compare(report(skipped), report(measured(10.0))).broken == ()
    assert comparison.compare(report({**skipped, "status": "failed"}), report(measured(10.0))).broken != ()
    assert comparison.compare(report({**skipped, "framework": "torch"}), report(measured(10.0))).broken != ()
    late = {**skipped, "framework": "torch", "reason": f"{OUT_OF_TIME}; it was stopped at 'build'"}
    assert comparison.compare(report(late), report(measured(10.0))).broken == (), "a minute that was too short is none either"


def test_a_name_that_is_too_long_has_a_line_of_its_own() -> None:
    found = comparison.compare(report(measured(5.0, framework="openvino")), report(measured(6.0, framework="onnxruntime")))
    lines = comparison_text.render(found, Terminal(width=80)).splitlines()
    assert "resnet50 inference openvino by onnxruntime float32 b16" in lines and all(len(line) <= 80 for line in lines)


def test_rows_whose_error_is_taken_from_a_table_are_counted_on_the_screen() -> None:
    several = [in_processes([10.0, 10.1, 10.2, 9.9], batch=1), measured(5.0, batch=2)]
    text = " ".join(comparison_text.render(comparison.compare(report(*several), report(*several))).split())
    assert (
        "Measured in one or two processes: 1 of 2 rows (resnet50 inference); how well such work repeats is taken from a table there" in text
    )
    assert "Measured in one or two" not in comparison_text.render(comparison.compare(report(several[0]), report(several[0])))


def test_a_failure_on_one_side_is_told() -> None:
    failed = measured(1.0, status="failed", reason="wrong result", latency_ms=None)
    found = comparison.compare(report(failed), report(measured(2.0)))
    assert found.rows == () and "failed (wrong result) here, ok there" in found.broken[0]


def test_what_differs_between_the_machines_is_named() -> None:
    def facts(driver: str, **distributions: Any) -> dict[str, Any]:
        gpus = [{"name": "Arc A770", "driver": driver}]
        return {"kernel": {"release": "6.8"}, "gpus": gpus, "python": {"distributions": distributions}}

    found = list(comparison.differences(facts("xe", torch="2.9", attrs="1"), facts("i915", torch={"version": "2.8"})))
    assert [(each.name, each.here, each.there) for each in found] == [
        ("GPU 0", "Arc A770 (xe)", "Arc A770 (i915)"), ("torch", "2.9", "2.8"),
    ]  # fmt: skip


def test_each_fact_that_is_compared_is_one_of_the_vocabulary() -> None:
    known = vocabulary.specs()
    assert [name for _, name in comparison.FACTS if name not in known] == []


@pytest.mark.parametrize("other", [{}, {"measurements": []}, {"measurements": None}])
def test_a_report_without_measurements_is_refused_with_what_was_expected(other: dict[str, Any]) -> None:
    with pytest.raises(comparison.ComparisonError, match=r"there.*validate --format json"):
        comparison.compare(report(measured(1.0)), other)


def test_hostile_numbers_are_no_rows() -> None:
    hostile: tuple[Any, ...] = (None, {}, {"median": "x"}, {"median": 0}, {"median": float("inf")}, [])
    for latency in hostile:
        assert comparison.compare(report(measured(1.0)), report(measured(1.0, latency_ms=latency))).rows == ()


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes and /dev/zero")
def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    """A pipe without a writer would wait for ever, and /dev/zero never ends."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "deep").write_text("[" * 100_000)
    (tmp_path / "list").write_text("[1]")
    (tmp_path / "bytes").write_bytes(b"\xff\x00{")
    cases = {"pipe": "regular file", "deep": "no JSON", "list": "no report", "bytes": "no JSON", "gone": "No such file", "": "regular file"}
    for name, said in cases.items():
        with pytest.raises(RequestError, match=said):
            experimenting.read_report(str(tmp_path / name))
    with pytest.raises(RequestError, match="regular file"):
        experimenting.read_report("/dev/zero")


def test_hostile_intervals_claim_nothing() -> None:
    for interval in (float("nan"), float("inf"), -5.0, 1e300, 10**400, "3", True, [1]):
        row = one(measured(10.0, 1.0), measured(20.0, interval))
        assert row.verdict in ("unknown", "same") or interval is True
    assert comparison.compare(report(measured(1e308)), report(measured(1e-300))).rows == ()
    assert one(measured(1e11, 1.0), measured(1e-11, 1.0)).verdict == "slower"


def test_the_screen_names_both_and_keeps_control_characters_out() -> None:
    found = comparison.compare(report(measured(10.0)), report(measured(20.0, device_name="\x1b[31mred")), names=("now", "May\x07"))
    text = comparison_text.render(found)
    assert "2.00x" in text and "faster" in text and "now" in text and "\x1b" not in text and "\x07" not in text
