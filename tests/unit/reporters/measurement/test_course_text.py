"""The picture of step times in a terminal: cells that rise with the time of a step, flat where steps are even, plain where ASCII is all."""

from __future__ import annotations

from msgspec.structs import replace

from gpudoctor.model.measurement import Course, Growth, Latency, Measurement, Rhythm, Throughput
from gpudoctor.reporters.measurement.course_text import CELLS, lines, looked_at, sparkline
from gpudoctor.reporters.shared.layout import Terminal

PLAIN, UNICODE = Terminal(unicode=False), Terminal()
EVEN = Measurement(
    workload="resnet50", task="training", framework="torch", backend="cpu", device="cpu", dtype="float32", batch=4,
    latency_ms=Latency(median=100.0, p99=130.0), throughput=Throughput(value=40.0, unit="images/s"),
    course=Course(slices_ms=tuple(100.0 + place % 3 for place in range(40)), slowdown=1.0),
)  # fmt: skip


def screen(each: Measurement, terminal: Terminal = UNICODE) -> list[str]:
    return terminal.draw(lines([each], ["resnet50 train float32 b4"], terminal, 80)).splitlines()


def test_even_steps_are_a_flat_line_and_slow_ones_stand_out() -> None:
    assert sparkline([10.0, 10.4, 10.2] * 20, UNICODE) == "▁" * CELLS
    assert sparkline([10.0] * 20 + [30.0] * 20, UNICODE) == "▁" * 12 + "█" * 12
    assert sparkline([10.0] * 20 + [30.0] * 20, PLAIN) == "_" * 12 + "#" * 12
    assert sparkline([10.0, 15.0, 20.0], UNICODE) == "▁▅█" and sparkline([], UNICODE) == "" and sparkline([0.0], UNICODE) == ""


def test_one_slow_part_of_many_is_not_averaged_away() -> None:
    assert "█" in sparkline([10.0] * 100 + [90.0] + [10.0] * 100, UNICODE)


def test_the_tail_stands_beside_the_cells() -> None:
    assert screen(EVEN) == [
        "  step times, from first to last                       99th percentile",
        f"  resnet50 train float32 b4  {'▁' * CELLS}  1.30 x median",
    ]
    assert screen(EVEN, PLAIN)[1] == f"  resnet50 train float32 b4  {'_' * CELLS}  1.30 x median"


def test_each_concern_is_a_sentence_within_eighty_columns() -> None:
    assert EVEN.course is not None
    course = replace(
        EVEN.course, slowdown=3.0, clock_mhz=(2400.0, 800.0), heat_c=(60.0, 95.0),
        growth=Growth(bytes_per_step=64 << 20, bytes=2 << 30, of="device"),
        rhythm=Rhythm(fast_ms=10, slow_ms=50, slow_share=0.1, every=10, border_ms=20),
    )  # fmt: skip
    shown = screen(replace(EVEN, course=course))
    assert all(len(line) <= 80 for line in shown)
    text = " ".join(" ".join(shown).split())
    assert "memory of the device grows by 64 MiB a step (2 GiB in this run)" in text
    assert "a step takes 3.0 times as long at the end as at the begin, 2400 to 800 MHz, 60 to 95 degrees Celsius" in text
    assert "one step in 10 takes 5.0 times as long as the others (10 and 50 ms)" in text and course.concern == "leaks"


def test_a_long_first_step_is_said() -> None:
    assert screen(replace(EVEN, first_ms=1500.0))[2:] == []
    said = " ".join(" ".join(screen(replace(EVEN, first_ms=30_000.0))[2:]).split())
    assert said == "the first step took 30.0 s, 300 times a later one: kernels are compiled or searched for"


def test_what_was_looked_at_is_one_sentence() -> None:
    assert EVEN.course is not None
    same = replace(EVEN, course=replace(EVEN.course, outcomes_checked=40, outcomes_of=400))
    loss = replace(EVEN, course=replace(EVEN.course, outcomes_checked=20, outcomes_of=20, first_loss=7.0, last_loss=1.0))
    assert list(looked_at([same, loss, EVEN])) == [
        "the results of 40 of 400 timed steps were compared with the first: the same; "
        "losses of 20 steps are finite, and fell in 1 of 1 trainings"
    ]
    assert list(looked_at([EVEN])) == []


def test_a_measurement_that_failed_or_says_nothing_has_no_line() -> None:
    assert screen(replace(EVEN, status="failed", reason="x")) == [] and screen(replace(EVEN, course=None)) == []
