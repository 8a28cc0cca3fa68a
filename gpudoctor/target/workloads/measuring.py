"""One measurement from its first step to its last: times, checks of outcomes, readings of memory, and lines of progress.

Standard library, Python 3.8.
"""

import time

import heartbeat
import memory_use
import outcomes
import timing

SINGLE, SINGLE_SECONDS = 400, 0.3
"""Where a sample is many steps, this number of steps is also timed one by one, for at most SINGLE_SECONDS."""
THINNED = 200


def measure(work, dtype, rows, warm_limit, duration, say):
    """The part of a result that concerns time. `warm_limit()` and `duration()` give seconds, and are asked when that stage begins. `rows`:
    the rows of the check of correctness."""
    beat = heartbeat.Heartbeat(say)
    outcome = outcomes.Outcomes(getattr(work, "outcome", lambda: None), outcomes.tolerance_of(dtype, rows))
    marks = memory_use.Marks(getattr(work, "memory_now", None))
    spent = [0.0]

    def after_warm(seconds, steps):
        spent[0] += seconds
        if steps == 1:
            beat.first(seconds)
        else:
            beat.later(steps, seconds, seconds)
            marks.look(time.perf_counter(), steps)
        return outcome.look(steps, spent[0], always=steps == 1) or marks.runs_away()

    warm = timing.warm_up(work.step, work.sync, warm_limit(), after_warm)
    say("measure", first_ms=warm.first * 1e3, warm_ms=warm.warm * 1e3, steps=warm.steps, steady=warm.steady)
    stopped = outcome.bad is not None or marks.runs_away()

    def after_sample(seconds, samples):
        spent[0] += seconds * samples.repeat
        steps = warm.steps + samples.steps
        beat.later(samples.steps, seconds, samples.busy / samples.steps, seconds * samples.repeat)
        marks.look(time.perf_counter(), steps)
        return outcome.look(steps, spent[0]) or marks.runs_away()

    samples = timing.sample(work.step, work.sync, warm.warm, 0.0 if stopped else duration(), after_sample)
    outcome.look(warm.steps + samples.steps, spent[0], always=True)
    singles = samples.times[-SINGLE:] if samples.repeat == 1 else timing.one_by_one(work.step, work.sync, SINGLE, SINGLE_SECONDS)
    beat.over()
    found = timing.summary(samples.times, samples.repeat)
    found.update(
        iterations=samples.steps, busy_s=samples.busy, window_s=samples.window, first_ms=warm.first * 1e3, steady=warm.steady,
        items_per_step=work.items, unit=work.unit,
    )  # fmt: skip
    found["latency_ms"]["mean"] = samples.busy / samples.steps * 1e3
    found["course"] = {
        "warm_up_ms": thinned([value * 1e3 for value in warm.times]), "slices": timing.slices(samples),
        "one_by_one_ms": [round(value * 1e3, 6) for value in singles], "memory": thinned(marks.found),
    }  # fmt: skip
    found["outcomes"] = outcome.about(warm.steps + samples.steps)
    return found, samples


def thinned(values, most=THINNED):
    """At most `most` of the values: every k-th, counted back from the last one."""
    every = max(1, -(-len(values) // most))
    return values[::-1][::every][::-1]
