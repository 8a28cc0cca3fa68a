"""`gpudoctor fleet show`: exit status, questions that cannot be answered, and the moments of --diff."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
from fleet_rows import finding, measured, row

from gpudoctor.cli import run
from gpudoctor.services import row_making
from gpudoctor.services.fleet_showing import ShowError, moment_of
from gpudoctor.system.fleet_store import FleetStore

Show = Callable[..., int]
BAD = finding("driver-broken")


@pytest.fixture
def show(tmp_path: Path) -> Show:
    """Adds rows to a store and shows it."""

    def shown(rows: list[object], *words: str) -> int:
        store = FleetStore(tmp_path / "store")
        for each in rows:
            store.add(row_making.encode(each))  # type: ignore[arg-type]
        return run(["fleet", "show", "--store", str(tmp_path / "store"), *words])

    return shown


def test_exit_status(show: Show) -> None:
    assert show([row("a"), row("b")]) == 0
    assert show([], "--expect-hosts", "a,b,c") == 4
    assert show([row("d", failed="no answer within 60 s")]) == 4
    assert show([row("c", findings=(BAD,))]) == 1
    assert show([], "--fail-on", "never") == 4


def test_a_warning_counts_where_it_is_asked_for(show: Show) -> None:
    assert show([row("a", findings=(finding("old", "warning"),))]) == 0
    assert show([], "--fail-on", "warning") == 1


def test_enough(show: Show, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row("a"), row("b"), row("c", findings=(BAD,)), row("d", failed="refused")]
    assert show(rows, "--enough", "2") == 0
    assert show([], "--enough", "3") == 4
    assert show([], "--enough", "4") == 1
    assert "2 hosts can be used, 4 are wanted; 1 are not known" in capsys.readouterr().err


def test_a_host_that_failed_to_answer_is_not_called_unusable(show: Show, capsys: pytest.CaptureFixture[str]) -> None:
    show([row("a"), row("c", findings=(BAD,)), row("d", failed="no answer within 60 s")])
    screen = capsys.readouterr().out
    assert "1 host cannot be used: c\n" in screen and "1 host gave no result: d\n" in screen


def test_exclude_prints_one_node_set(show: Show, capsys: pytest.CaptureFixture[str]) -> None:
    assert show([row(f"gpu{number}", findings=(BAD,)) for number in (3, 4, 7)], "--exclude") == 1
    assert capsys.readouterr().out == "gpu[3-4,7]\n"
    assert show([], "--exclude", "--format", "json") == 2


def test_one_host(show: Show, capsys: pytest.CaptureFixture[str]) -> None:
    assert show([row("a"), row("b", findings=(BAD,))], "--host", "a") == 0
    assert show([], "--host", "b") == 1
    capsys.readouterr()
    assert show([], "--host", "x\x1b[31m") == 2
    said = capsys.readouterr().err
    assert "hold no such host" in said and "\x1b" not in said and "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "why"),
    [(["--run", "nope"], "there is no such run; the newest are run-2"), (["--diff", "soon"], "expected a run, a date"),
     (["--expect-hosts", "gpu[1-"], "--expect-hosts")],
)  # fmt: skip
def test_questions_without_an_answer(show: Show, capsys: pytest.CaptureFixture[str], words: list[str], why: str) -> None:
    assert show([row("a")], *words) == 2
    assert why in capsys.readouterr().err


def test_an_empty_store_says_how_to_begin(show: Show, capsys: pytest.CaptureFixture[str]) -> None:
    assert show([]) == 2
    assert "gpudoctor fleet run --hosts NODES" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["json", "html", "prometheus", "slurm", "kubernetes", "nvsentinel", "otel"])
def test_every_format_is_written(show: Show, tmp_path: Path, form: str) -> None:
    assert show([row("a"), row("b", findings=(BAD,))], "--format", form, "-o", str(tmp_path / "out")) == 1
    assert "b" in (tmp_path / "out").read_text("utf-8")


def test_diff_of_two_runs(show: Show, capsys: pytest.CaptureFixture[str]) -> None:
    show([row("a", run="run-1", values={"kernel.release": "6.1"})])
    time.sleep(0.01)
    capsys.readouterr()
    show([row("a", values={"kernel.release": "6.8"})], "--run", "run-2", "--diff", "run-1", "--format", "json")
    (drift,) = json.loads(capsys.readouterr().out)["drift"]
    assert (drift["what"], drift["before"], drift["after"]) == ("kernel.release", "6.1", "6.8")


def test_a_suspicion_is_confirmed_by_the_last_run_that_measured(show: Show, capsys: pytest.CaptureFixture[str]) -> None:
    """However many runs without measurements lie between: hosts are checked by the hour and measured by the week."""

    def rows(run: str, measures: bool) -> list[object]:
        speeds = [[measured(70.0 if number == 3 else 100.0 + number / 10)] * measures for number in range(12)]
        return [row(f"gpu{number:02}", run=run, measurements=tuple(each)) for number, each in enumerate(speeds)]

    for number in range(8):
        show(rows(f"run-{number}", number in (0, 7)))
        time.sleep(0.01)
    capsys.readouterr()
    show([], "--format", "json")
    (one,) = json.loads(capsys.readouterr().out)["suspicions"]
    assert (one["host"], one["life"], one["runs"]) == ("gpu03", "confirmed", 2)


NOW = datetime(2026, 11, 20, 15, 30, tzinfo=timezone.utc)  # a Friday


@pytest.mark.parametrize(
    ("text", "moment"),
    [("2026-11-17", "2026-11-17T00:00"), ("2026-11-17T08:00", "2026-11-17T08:00"), ("2026-11-17T08:00Z", "2026-11-17T08:00"),
     ("2026-11-17T10:00+02:00", "2026-11-17T08:00"), ("3d", "2026-11-17T15:30"), ("90m", "2026-11-20T14:00"), ("2w", "2026-11-06T15:30"),
     ("tuesday", "2026-11-17T00:00"), ("Friday", "2026-11-13T00:00"), ("today", "2026-11-20T00:00"), ("yesterday", "2026-11-19T00:00")],
)  # fmt: skip
def test_moments(text: str, moment: str) -> None:
    assert moment_of(text, NOW.timestamp()) == datetime.fromisoformat(f"{moment}+00:00").timestamp()


@pytest.mark.parametrize("text", ["", "soon", "3x", "999999999d", "2026-13-01", "-3d", "\x1b", "9" * 5000 + "d"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(ShowError, match="expected a run"):
        moment_of(text, NOW.timestamp())
