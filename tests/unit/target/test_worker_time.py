"""A worker whose time is limited measures for less time, so that what it has arrives before it is stopped."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

WORKLOADS = Path(__file__).resolve().parents[3] / "gpudoctor" / "target" / "workloads"
sys.path.insert(0, str(WORKLOADS))

import worker  # noqa: E402


def test_without_a_limit_it_takes_the_time_that_it_wants() -> None:
    assert worker.within({}, 20.0, 0.4) == 20.0 and worker.within({"within": None}, 3.0) == 3.0


def test_with_a_limit_it_takes_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "BEGAN", time.monotonic() - 10.0)
    assert worker.within({"within": 100.0}, 3.0) == 3.0
    assert worker.within({"within": 10.0 + worker.ENDING + 2.0}, 3.0) == pytest.approx(2.0, abs=0.1)
    assert worker.within({"within": 10.0 + worker.ENDING + 2.0}, 3.0, 0.4) == pytest.approx(0.8, abs=0.1)
    assert worker.within({"within": 1.0}, 3.0) == 0.1
