"""A device that takes the time that a test says, on a clock that only steps move."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WORKLOADS = Path(__file__).resolve().parents[3] / "gpudoctor" / "target" / "workloads"
if str(WORKLOADS) not in sys.path:
    sys.path.insert(0, str(WORKLOADS))


class FakeClock:
    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now

    def install(self, monkeypatch: pytest.MonkeyPatch) -> FakeClock:
        import heartbeat
        import measuring
        import outcomes
        import timing

        for module in (heartbeat, measuring, outcomes, timing):
            monkeypatch.setattr(module, "time", self)
        return self


class FakeWork:
    """`seconds(step, now)`: how long the step with this number takes. `outcomes(step)`: what it computes. `looking`: what a look costs."""

    items, unit = 4, "images/s"
    memory_now = None

    def __init__(
        self, clock: FakeClock, seconds: Callable[[int, float], float], outcomes: Callable[[int], Any] | None = None, looking: float = 0.0
    ) -> None:
        self._clock, self._seconds, self._outcomes, self._looking = clock, seconds, outcomes, looking
        self.steps, self.began = 0, clock.now

    def step(self) -> None:
        self.steps += 1
        self._clock.now += self._seconds(self.steps, self._clock.now - self.began)

    def sync(self) -> None:
        """Nothing is left to wait for."""

    def outcome(self) -> Any:
        self._clock.now += self._looking
        return self._outcomes(self.steps) if self._outcomes is not None else None


def measured(
    work: FakeWork, *, duration: float = 2.0, warm_up: float = 1.0, rows: Any = (), dtype: str = "float32"
) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """The result of a measurement, and the lines that were said meanwhile."""
    import measuring

    said: list[tuple[str, dict[str, Any]]] = []
    found, _ = measuring.measure(work, dtype, rows, lambda: warm_up, lambda: duration, lambda stage, **table: said.append((stage, table)))
    return found, said
