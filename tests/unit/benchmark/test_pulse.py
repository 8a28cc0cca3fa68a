"""A hang is told from a worker that is late, and from one that has not begun to step."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gpudoctor.benchmark.blame import without_blame
from gpudoctor.benchmark.pulse import GRACE, Pulse
from gpudoctor.benchmark.workers import WorkerAnswer
from gpudoctor.model.measurement import FAILED, SKIPPED


def pulse(limit: float = 100.0, idle: float | None = None) -> Pulse:
    made = Pulse(limit, idle)
    made.began = 1000.0
    return made


def progress(within: Any = 12.0, step_ms: Any = 300.0) -> dict[str, Any]:
    return {"stage": "progress", "next_within": within, "step_ms": step_ms}


def test_a_step_that_never_ends_is_a_hang_with_what_the_step_before_took() -> None:
    one = pulse()
    one.beat(1020.0, progress())
    assert one.missing(1031.9, None, False) == ""
    assert one.missing(1032.0, None, False) == "no answer for 12 s; the step before took 0.3 s" and not one.late


def test_before_the_first_step_and_after_the_last_one_only_the_limit_counts() -> None:
    one = pulse()
    one.beat(1001.0, {"stage": "first"})
    assert one.missing(1099.0, None, False) == ""
    one.beat(1050.0, progress())
    one.beat(1050.1, {"stage": "progress"})
    assert one.missing(1099.0, None, False) == ""
    assert one.missing(1100.0, None, False) == "no end after 100 s" and one.late


def test_who_hangs_when_its_time_is_over_is_found_out_within_the_grace() -> None:
    one = pulse()
    one.beat(1095.0, progress(10.0, 0.25))
    assert one.missing(1101.0, None, False) == ""
    assert one.missing(1105.0, None, False) == "no answer for 10 s; the step before took 0.25 ms" and not one.late


def test_who_answers_after_its_time_was_only_late() -> None:
    one = pulse()
    one.beat(1095.0, progress())
    assert one.missing(1101.0, None, False) == ""
    one.beat(1102.0, progress())
    assert one.missing(1102.1, None, False).startswith("no end after") and one.late


def test_a_promise_longer_than_the_grace_is_not_waited_for() -> None:
    one = pulse()
    one.beat(1095.0, progress(600.0))
    assert one.missing(1100.0 + GRACE - 0.1, None, False) == "" and one.missing(1100.0 + GRACE, None, False) and one.late


def test_who_has_given_its_result_does_not_hang() -> None:
    one = pulse(idle=10.0)
    one.beat(1020.0, progress())
    assert one.missing(1090.0, 5.0, True) == ""


def test_without_any_processor_time_a_worker_of_the_processor_hangs_in_each_stage() -> None:
    one = pulse(idle=15.0)
    one.beat(1010.0, {"stage": "correctness"})
    assert one.missing(1011.0, 50.0, False) == "" and one.missing(1020.0, 51.0, False) == "" and one.missing(1034.0, 51.0, False) == ""
    assert one.missing(1035.0, 51.0, False) == "no answer for 25 s, and it took no processor time for 15 s"


def test_the_processor_time_since_the_last_word_is_known() -> None:
    one = pulse(idle=15.0)
    one.beat(1010.0, {"stage": "correctness"})
    for now, ticks in ((1011.0, 50.0), (1020.0, 950.0)):
        one.missing(now, ticks, False)
    assert one.worked == 900.0 and one.silent == 10.0
    one.beat(1021.0, {"stage": "first"})
    assert one.worked == 0.0


def test_who_computes_without_end_hangs_and_who_needs_longer_is_only_late() -> None:
    late = WorkerAnswer(status=FAILED, stage="correctness", reason="correctness: no end after 40 s", late=True, silent=39.0, worked=1.0)
    assert without_blame(late, True, 2.0).status == SKIPPED
    assert without_blame(late, False, 2.0) == late
    hung = without_blame(replace(late, worked=4000.0), True, 2.0)
    assert hung.status == FAILED and not hung.late
    assert hung.reason == "correctness: no answer for 39 s; it computed for 4000 s, all of it was expected to take 2 s"


def test_promises_that_are_none() -> None:
    for within in ("12", None, -1, 0, float("nan"), True, 1e9):
        one = pulse()
        one.beat(1001.0, progress(within, "fast"))
        assert one.missing(1090.0, None, False) == ""
