"""The final table and the one that moves: what stands there, in what width, in ASCII, and that hostile words do nothing."""

from __future__ import annotations

import io
from typing import Any

import pytest
from msgspec.structs import replace
from reports import HINT, report
from rich.console import Console
from rich.table import Table

from gpudoctor.model.check import Advice
from gpudoctor.model.measurement import OUT_OF_TIME, Ceiling, Correctness, Energy, Latency, Measurement, Reference, Throughput
from gpudoctor.model.report import Report
from gpudoctor.reporters.measurement.validation_text import Running, bar, moving, render
from gpudoctor.reporters.shared.layout import Terminal

RIGHT = Correctness(compared_with="cpu float64", max_relative_error=1e-6, tolerance=2e-3, passed=True)


def measured(**changes: Any) -> Measurement:
    said: dict[str, Any] = {
        "workload": "resnet50", "task": "training", "framework": "torch", "framework_version": "2.8.0+xpu", "backend": "xpu",
        "device": "xpu:0",
        "device_name": "Arc A770", "dtype": "float32", "batch": 16, "input": (3, 224, 224), "iterations": 100, "correctness": RIGHT,
        "latency_ms": Latency(median=123.456, ci95_percent=0.84), "throughput": Throughput(value=129.6, unit="images/s"),
        "ceiling": Ceiling(fraction=0.25, bound="compute", source="a table"),
        "reference": Reference(ratio=0.5, value=61.7, unit="ms", source="a report (2021)", differs=("torch 1.9 then, 2.8 now",)),
    }  # fmt: skip
    return Measurement(**{**said, **changes})


def of(*measurements: Measurement) -> Report:
    return replace(report(), findings=(), measurements=measurements)


def shown(*measurements: Measurement, place: Terminal | None = None, **more: Any) -> str:
    return render(of(*measurements), place or Terminal(width=100), **more)


def test_a_row_holds_what_a_person_compares() -> None:
    text = shown(measured())
    row = next(line for line in text.splitlines() if line.startswith("  resnet50"))
    assert row.split() == ["resnet50", "train", "float32", "16", "123.5", "ms", "129.6", "images/s", "±0.8%*", "right"]
    assert "xpu:0 · Arc A770 · torch 2.8.0+xpu" in text


def test_bars_against_ceiling_and_reference() -> None:
    text = shown(measured())
    assert "█████░░░░░░░░░░░░░░░ 25 % of what arithmetic allows" in text
    assert "██████████░░░░░░░░░░ 0.50 x published 61.7 ms" in text
    assert "0.50 of the published speed, a report (2021) (torch 1.9 then, 2.8 now)" in " ".join(text.split())


def test_what_the_spread_covers_is_told() -> None:
    four = measured(latency_ms=Latency(median=123.0, ci95_percent=3.0, processes=(120.0, 123.0, 124.0, 125.0)))
    assert "spread   ± is over 4 processes for 1 of 2, within one process for the others (*)" in shown(four, measured(workload="vgg16"))
    assert "spread   ± is over 4 processes for 1 of 1\n" in shown(four) and "spread   ± is within one process (*)\n" in shown(measured())
    assert "spread   ±" not in shown(measured(latency_ms=Latency(median=1.0)))


def test_ascii_where_there_is_nothing_else() -> None:
    place = Terminal(width=80, unicode=False)
    text = shown(measured(latency_ms=Latency(median=0.0021, ci95_percent=1.0)), place=place)
    assert text.isascii() and "#####..............." in text
    assert drawn(moving([Running(words="resnet50 training", stage="build")], 3, 40.0, place)).isascii()


@pytest.mark.parametrize(
    ("share", "drawn"), [(0.0, "."), (0.5, "#####....."), (1.0, "##########"), (1.7, "##########+"), (0.04, "..........")]
)
def test_a_bar(share: float, drawn: str) -> None:
    assert bar(share, Terminal(unicode=False), 10).strip().startswith(drawn)


def test_failed_wrong_and_skipped_are_words_and_have_reasons() -> None:
    crashed = measured(status="failed", reason="measure: died of SIGSEGV", latency_ms=None, throughput=None, ceiling=None, reference=None)
    wrong = measured(
        workload="vgg16",
        status="failed",
        reason="wrong result: gradients differs by 0.1",
        throughput=None,
        correctness=replace(RIGHT, passed=False),
    )
    skipped = measured(
        workload="alexnet", status="skipped", reason="no float16 on xpu:0", latency_ms=None, throughput=None, correctness=None
    )
    text = shown(crashed, wrong, skipped)
    rows = {
        line.split()[0]: line.split()[-1]
        for line in text.splitlines()
        if line.startswith("  ") and "float32" in line and line.split()[1] == "train"
    }
    assert rows == {"resnet50": "FAILED", "vgg16": "WRONG", "alexnet": "skipped"}
    flat = " ".join(text.split())
    assert "failed resnet50 training float32 batch 16 on xpu:0: measure: died of SIGSEGV" in flat
    assert "skipped alexnet training float32 batch 16 on xpu:0: no float16 on xpu:0" in flat


def test_noise_is_told_once_with_its_cause() -> None:
    noisy = [measured(batch=size, noisy=f"other processes took {30 + size} % of the processor") for size in (1, 2, 4, 8)]
    flat = " ".join(shown(*noisy).split())
    assert flat.count("other processes took") == 1 and "and 3 more" in flat and "right, noisy" in flat


def test_energy_is_told_or_why_there_is_none() -> None:
    with_energy = measured(energy=Energy(joules_per_item=1.234, mean_watts=160.0, boundary="card", source="hwmon"))
    assert "160.0 W, 1.23 J per item (card, hwmon)" in shown(with_energy)
    without = [measured(batch=size, notes=("energy not known: needs root", "4 threads")) for size in (1, 2)]
    assert shown(*without).count("needs root") == 1 and "4 threads" not in shown(*without)
    assert "4 threads" in shown(*without, verbose=True)


def test_what_was_left_out_is_named() -> None:
    lines = [f"net{number}: would take about 40 s" for number in range(7)]
    text = shown(measured(), left_out=lines)
    assert "net3" in text and "net4" not in text and "and 3 more" in text and "--full" in text
    assert "net6" in shown(measured(), left_out=lines, verbose=True)


def test_nothing_measured_is_said() -> None:
    assert shown().startswith("Nothing was measured.")


@pytest.mark.parametrize("width", [60, 80, 100])
def test_words_of_the_machine_move_no_terminal_and_lines_keep_their_width(width: int) -> None:
    evil = "\x1b[2J\x1b]0;x\x07 card\nfailed nothing\u202e"
    hostile = measured(device_name=evil, framework_version=evil, noisy=evil, notes=("energy not known: " + evil,))
    failed = measured(status="failed", reason=evil * 3, latency_ms=None, throughput=None)
    text = shown(hostile, failed, place=Terminal(width=width), left_out=[evil], verbose=True)
    text += drawn(moving([Running(words=evil, stage=evil, detail=evil), Running(words=evil, measured=failed)], 1, 40.0, Terminal()), width)
    assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text


def drawn(table: Table, width: int = 80) -> str:
    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(table)
    return text.getvalue()


def test_the_moving_table() -> None:
    rows = [
        Running(words="matmul", measured=measured()),
        Running(words="resnet18", measured=measured(status="failed", reason="first: no end after 60 s")),
        Running(words="resnet50", stage="measuring", detail="40 steps, 12.3 ms"),
    ]  # fmt: skip
    lines = drawn(moving(rows, 5, 40.0, Terminal())).splitlines()
    assert lines[0].split()[:2] == ["ok", "matmul"] and "129.6 images/s" in lines[0]
    assert lines[1].split()[:2] == ["FAILED", "resnet18"] and "no end after 60 s" in lines[1]
    assert "measuring 40 steps, 12.3 ms" in lines[2] and lines[3].split() == "and up to 5 more about 40 s left".split()
    assert all(len(line) <= 80 for line in lines) and len(lines) == 4
    rows = [Running(words="w" * 300, stage="measuring", detail="[red]x[/red] " * 40)] * 3
    narrow = drawn(moving(rows, 0, 40.0, Terminal()), 40).splitlines()
    assert len(narrow) == 3 and all(len(line) <= 40 for line in narrow) and "[red]" in drawn(moving(rows, 0, 40.0, Terminal()), 400)


def test_it_ends_with_the_likely_cause_and_the_one_thing_to_do() -> None:
    cause = replace(
        HINT, id="measured-link-narrow", severity="warning", layer="performance", title="Arc A770 has 4 of its 16 PCI Express lanes",
        advice=Advice(text="Use the slot next to the processor.", commands=("lspci -vv", "lspci -t")),
    )  # fmt: skip
    note = replace(HINT, id="measured-clock-fell", layer="performance", title="The clock fell")
    elsewhere = replace(HINT, severity="warning", title="Nothing to do with speed")
    text = render(replace(report(), findings=(cause, note, elsewhere), measurements=(measured(),)), Terminal(width=100))
    after = text[text.index("  cause    Arc A770 has 4 of its 16") :]
    assert "do  Use the slot next to the processor." in after and "$ lspci -vv" in after and "lspci -t" not in after
    assert "gpudoctor show measured-link-narrow" in after and "The clock fell (gpudoctor show measured-clock-fell)" in after
    assert "Nothing to do with speed" not in text


def test_a_long_name_does_not_widen_the_table() -> None:
    text = shown(measured(workload="a_network_with_a_very_long_name_indeed_" * 3), place=Terminal(width=80))
    table = [line for line in text.splitlines() if "train  float32" in line]
    assert table and all(len(line) <= 80 for line in table)


LONG = "text-encoder_with_attention"


@pytest.mark.parametrize("width", [74, 80, 90])
def test_the_table_fits_and_names_stay_whole(width: int) -> None:
    rows = [
        measured(workload=LONG, optimizer="adam", throughput=Throughput(value=1234567.0, unit="tokens/s"), noisy="it is busy"),
        measured(workload=LONG, task="inference", dtype="bfloat16"),
        measured(workload="resnet50"),
    ]
    lines = shown(*rows, place=Terminal(width=width)).splitlines()
    table = lines[1 : next(place for place, line in enumerate(lines) if not line)]
    assert max(map(len, table)) <= width and "…" not in "".join(table)
    assert sum(LONG in line for line in table) == 1, "once for its rows"
    assert [line.split()[-1] for line in table if "float" in line] == ["noisy", "right", "right"]


def test_bars_fit_beside_long_names() -> None:
    text = shown(measured(workload=LONG), measured(workload="resnet50"), place=Terminal(width=80))
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("rows", "left_out", "ends"),
    [
        ([measured()], [], "gpudoctor report -o report.html"),
        ([measured()], ["vgg16 would take about 80 s"], "Next, to measure all of it: gpudoctor validate --full"),
        ([measured(status="failed", reason="died")], [], "gpudoctor check"),
        ([], [], "gpudoctor check"),
    ],
)
def test_the_screen_ends_in_the_next_step(rows: list[Measurement], left_out: list[str], ends: str) -> None:
    assert shown(*rows, left_out=left_out).rstrip().endswith(ends)


def test_what_had_no_time_is_one_line_and_the_way_to_it_says_how_long_it_takes() -> None:
    late: dict[str, Any] = {"status": "skipped", "reason": OUT_OF_TIME, "latency_ms": None, "throughput": None, "correctness": None}
    stopped = measured(workload="resnet18", **{**late, "reason": f"{OUT_OF_TIME}; it was stopped at 'build'"})
    many = [measured(workload=name, **late) for name in ("vgg16", "alexnet", "yolox_tiny", "mobilenet_v2", "gpt2_decode")]
    text = shown(measured(), measured(task="inference", **late), stopped, *many, measured(framework="jax", **late), full_seconds=1500.0)
    one = "no time for 8 of 9: torch resnet50 infer, resnet18 train, vgg16 train, alexnet train, 3 more; jax resnet50 train"
    assert one in " ".join(text.split())
    assert "skipped" not in text and sum(line.startswith("  resnet50 ") and "float32  " in line for line in text.splitlines()) == 1
    assert text.splitlines()[-1] == "Next, to measure all of it in about 25 min: gpudoctor validate --full"
    assert "gpt2_decode train" in shown(measured(), *many, verbose=True)
