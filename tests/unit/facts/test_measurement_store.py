"""What the last validate measured, kept for a later check: whole, private, of one environment and device, and stale once versions move."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gpudoctor.facts import measurement_store
from gpudoctor.facts.collect import Gathered
from gpudoctor.facts.measurement_store import FOLDER, keep, last_measurements
from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.measurement import Conditions, Correctness, Energy, Latency, Measurement, Reference, Throughput
from gpudoctor.services import checking

GOOD = Measurement(
    workload="resnet50", task="training", framework="torch", framework_version="2.8.0", backend="xpu", device="xpu:0", dtype="float32",
    batch=16, input=(3, 224, 224), latency_ms=Latency(median=20.0, ci95_percent=1.0), throughput=Throughput(value=800.0, unit="images/s"),
    includes=("compute",), energy=Energy(joules_per_item=0.2, mean_watts=160.0, boundary="card", source="hwmon"),
    correctness=Correctness(compared_with="cpu float64", max_relative_error=1e-5, tolerance=6e-3, passed=True),
    reference=Reference(ratio=0.9, value=25.0, source="a report", unit="ms", differs=("another torch",)), environment={"A": "1"},
    conditions=Conditions(gpu_address="0000:03:00.0", gpu_kind="discrete", throttled="throttled (pl1)", others="", fallbacks=("aten::x",)),
)  # fmt: skip
SKIPPED = replace(GOOD, workload="vgg16", status="skipped", reason="no time")


def facts(**changes: Any) -> Facts:
    known = {
        "python.executable": "/env/bin/python", "python.distributions": {"torch": "2.8.0+xpu"}, "kernel.release": "6.8.0",
        "intel.compute_runtime.version": "25.18", "gpus": [{"address": "0000:03:00.0", "pci_id": "8086:56a0"}], **changes,
    }  # fmt: skip
    return Facts({name: Known(value) for name, value in known.items() if value is not ...})


def test_what_is_kept_comes_back_whole_and_is_for_nobody_else_to_read(tmp_path: Path) -> None:
    assert keep([GOOD, SKIPPED], facts(), tmp_path) == ""
    (run,) = last_measurements(facts(), tmp_path)
    assert run.measurements == (GOOD,) and run.stale == () and (run.framework, run.device) == ("torch", "xpu:0")
    (path,) = (tmp_path / FOLDER).iterdir()
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"python.distributions": {"torch": "2.9.0+xpu"}}, "torch 2.8.0+xpu then, 2.9.0+xpu now"),
        ({"python.distributions": {}}, "torch 2.8.0+xpu then, not there now"),
        ({"kernel.release": "6.11.0"}, "kernel 6.8.0 then, 6.11.0 now"),
        ({"intel.compute_runtime.version": "25.31"}, "compute runtime 25.18 then, 25.31 now"),
        ({"gpus": [{"address": "0000:03:00.0", "pci_id": "8086:e20b"}]}, "card at 0000:03:00.0 8086:56a0 then, 8086:e20b now"),
        ({"gpus": []}, "card at 0000:03:00.0 8086:56a0 then, not there now"),
    ],
)
def test_another_framework_driver_or_card_makes_it_stale(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    keep([GOOD], facts(), tmp_path)
    (run,) = last_measurements(facts(**changes), tmp_path)
    assert run.stale == (said,)


def test_what_cannot_be_told_now_makes_nothing_stale(tmp_path: Path) -> None:
    keep([GOOD], facts(), tmp_path)
    (run,) = last_measurements(facts(**{"intel.compute_runtime.version": ..., "kernel.release": ...}), tmp_path)
    assert run.stale == ()


def test_each_environment_and_device_has_its_own_and_the_last_one_counts(tmp_path: Path) -> None:
    keep([GOOD, replace(GOOD, device="xpu:1")], facts(), tmp_path)
    keep([replace(GOOD, workload="alexnet")], facts(), tmp_path)
    found = {run.device: [each.workload for each in run.measurements] for run in last_measurements(facts(), tmp_path)}
    assert found == {"xpu:0": ["alexnet"], "xpu:1": ["resnet50"]}
    assert last_measurements(facts(**{"python.executable": "/other/bin/python"}), tmp_path) == ()


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", "[" * 100_000, '{"format": 2}', '{"format": 1, "environment": "/env/bin/python"}',
        json.dumps({"format": 1, "environment": "/env/bin/python", "framework": "torch", "device": "xpu:0", "date": "d", "depends_on": {},
                    "measurements": [{"workload": 3}]}),
    ],
)  # fmt: skip
def test_a_damaged_file_is_none(tmp_path: Path, content: str) -> None:
    keep([GOOD], facts(), tmp_path)
    (path,) = (tmp_path / FOLDER).iterdir()
    path.write_text(content)
    assert last_measurements(facts(), tmp_path) == ()


def test_a_file_under_another_name_is_not_believed(tmp_path: Path) -> None:
    keep([GOOD], facts(), tmp_path)
    (path,) = (tmp_path / FOLDER).iterdir()
    path.rename(path.with_name("0" * 24 + ".json"))
    assert last_measurements(facts(), tmp_path) == ()


def test_a_folder_that_cannot_be_written_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("in the way")
    assert "cannot be written" in keep([GOOD], facts(), tmp_path)
    assert last_measurements(facts(), tmp_path) == () and (tmp_path / FOLDER).read_text() == "in the way"


def test_who_wants_no_history_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("GPUDOCTOR_HISTORY", "0")
    assert keep([GOOD], facts()) == "" and list(tmp_path.iterdir()) == []
    monkeypatch.setenv("GPUDOCTOR_HISTORY", "1")
    assert keep([GOOD], facts()) == "" and len(last_measurements(facts())) == 1


def test_a_later_check_knows_them_without_what_was_so_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("GPUDOCTOR_HISTORY", "1")
    known = facts()
    keep([GOOD], known)
    kept = checking.recall_measurements(Gathered(known), last_measurements(known))
    assert [each.workload for each in kept] == ["resnet50"] and kept[0].notes[0].startswith("measured 20")
    assert known.value("measured.stacks.torch-xpu.right") is True and str(known.value("measured.date")).startswith("20")
    scoped = known.with_item("measurement", known.value("measurements")[0])
    assert not scoped.known("measurement.throttled") and scoped.value("measurement.gpu_kind") == "discrete"


def test_stale_ones_are_no_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("GPUDOCTOR_HISTORY", "1")
    keep([GOOD], facts())
    now = facts(**{"kernel.release": "6.11.0"})
    assert checking.recall_measurements(Gathered(now), last_measurements(now)) == () and not now.known("measurements")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"workload": 1}, "workload: expected a text, found 1"), ({"latency_ms": 3}, "latency_ms: expected a table or null, found 3"),
        ({"latency_ms": {"median": "x"}}, "latency_ms.median: expected a number, found a text"),
        ({"latency_ms": {}}, "latency_ms.median: is missing; expected a number"), ({"notes": "a"}, "notes: expected a list, found a text"),
        ({"batch": True}, "batch: expected a whole number or null, found true"), ({"batch": 0}, "batch: expected at least 1, found 0"),
        ({"batch": 1.5}, "batch: expected a whole number or null, found 1.5"),
        ({"task": "guessing"}, "task: expected one of training, inference, micro, found 'guessing'"),
        (
            {"latency_ms": None, "throughput": None, "correctness": None},
            "expected latency_ms or throughput or correctness, where status is 'ok'",
        ),
    ],
)  # fmt: skip
def test_a_measurement_is_read_back_strictly(changes: dict[str, Any], said: str) -> None:
    whole = json.loads(json.dumps(GOOD.to_json()))
    assert Measurement.from_json(whole) == GOOD
    with pytest.raises(ValueError, match=re.escape(said)):
        Measurement.from_json({**whole, **changes})


def test_a_measurement_of_a_later_version_may_say_more() -> None:
    assert Measurement.from_json({**json.loads(json.dumps(GOOD.to_json())), "unheard": 1}) == GOOD


def test_every_framework_that_validate_knows_has_its_distributions() -> None:
    from gpudoctor.target.workloads import worker

    assert set(worker.BACKENDS) <= set(measurement_store.DISTRIBUTIONS)


def test_measurements_of_other_environments_are_not_understood_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep([GOOD], facts(), tmp_path)
    monkeypatch.setattr(measurement_store, "_parsed", lambda *_: pytest.fail("it was parsed"))
    assert last_measurements(facts(**{"python.executable": "/other/bin/python"}), tmp_path) == ()
