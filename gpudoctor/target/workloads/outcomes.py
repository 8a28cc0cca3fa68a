"""Checks of what timed steps compute, made between them: finite numbers, the same each time, or a loss. Standard library, Python 3.8."""

import math
import time

SHARE = 0.05
"""The share of the time of the steps that these checks may take."""
TOLERANCES = {"float64": 1e-9, "float32": 1e-3, "bfloat16": 0.1, "float16": 0.02}
"""The relative difference that is allowed between equal steps, because the order of sums may change; a row of the check of correctness may
state another."""
MOST_LOSSES = 400


class Outcomes:
    """`ask()`: what Work.outcome gives: None, {"same": numbers} or {"loss": number}. `bad`: the step that was wrong, and why."""

    def __init__(self, ask, tolerance):
        self._ask, self.tolerance = ask, tolerance
        self.kind, self.checked, self.bad, self.largest, self.losses = None, 0, None, 0.0, []
        self._first, self._cost, self._absent, self._step = None, 0.0, False, None

    def look(self, step, spent, always=False):
        """To be called after `step` steps that took `spent` seconds in all; returns whether something is wrong."""
        if self.bad is not None or self._absent or step == self._step or (not always and self._cost > SHARE * spent):
            return self.bad is not None
        begin = time.perf_counter()
        outcome = self._ask()
        self._cost += time.perf_counter() - begin
        if not outcome:
            self._absent = self.checked == 0
            return False
        self.checked += 1
        self._step = step
        self.kind = "loss" if "loss" in outcome else "same"
        numbers = [float(number) for number in ([outcome["loss"]] if self.kind == "loss" else outcome["same"])]
        if not all(math.isfinite(number) for number in numbers):
            self.bad = {"step": step, "what": "nan" if any(number != number for number in numbers) else "infinite"}
        elif self.kind == "loss":
            self._loss(step, numbers[0])
        else:
            self._same(step, numbers)
        return self.bad is not None

    def _same(self, step, numbers):
        if self._first is None:
            self._first = numbers
            return
        if len(numbers) != len(self._first):
            self.bad = {"step": step, "what": "shape"}
            return
        scale = max([abs(number) for number in self._first] or [0.0])
        apart = max([abs(number - before) for number, before in zip(numbers, self._first)] or [0.0])
        change = apart / scale if scale > 0 else 0.0 if apart == 0 else math.inf
        self.largest = max(self.largest, change)
        if change > self.tolerance:
            self.bad = {"step": step, "what": "changed", "change": change if math.isfinite(change) else None}

    def _loss(self, step, loss):
        self.losses.append([step, loss])
        if len(self.losses) > MOST_LOSSES:
            self.losses = self.losses[:1] + self.losses[2::2]

    def about(self, steps):
        """The table for the result; None where no step was checked."""
        if self.kind is None:
            return None
        return {
            "kind": self.kind, "checked": self.checked, "of": steps, "bad": self.bad, "losses": self.losses,
            "largest_change": self.largest if self.kind == "same" else None, "tolerance": self.tolerance if self.kind == "same" else None,
        }  # fmt: skip


def tolerance_of(dtype, rows):
    """The widest `repeat_tolerance` that the check of correctness states, else the one of the type."""
    stated = [row.get("repeat_tolerance") for row in rows or [] if isinstance(row, dict)]
    known = [float(value) for value in stated if isinstance(value, (int, float)) and value >= 0]
    return max(known) if known else TOLERANCES.get(dtype, 1e-3)
