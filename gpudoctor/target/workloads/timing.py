"""Times of a repeated step: warm-up until steady, then samples until their interval is narrow or the time is over.

A sample is `repeat` steps between two synchronisations, divided by `repeat`: one step where a step takes a millisecond or more, as many
as fill one where it is shorter, so that the clock and the synchronisation cost less than they measure. Standard library, Python 3.8.
"""

import math
import time

SHORTEST_SAMPLE = 0.001
"""Seconds."""
NARROW = 2.0
"""Percent: half the 95 % interval of the median, at which sampling may stop."""
NOISY = 5.0
"""Percent: a median that is known no better than this is called noisy."""
LEAST = 20
"""Samples, where the time allows."""
STEADY_WINDOW, STEADY_WITHIN = 5, 0.05


def timed(step, sync, repeat):
    """Seconds of one step, over `repeat` of them, until the device is done."""
    begin = time.perf_counter()
    for _ in range(repeat):
        step()
    sync()
    return (time.perf_counter() - begin) / repeat


def warm_up(step, sync, limit):
    """(seconds of the first step, seconds of a warm one, steps, steady): until the last few agree, or `limit` seconds are over."""
    begin = time.perf_counter()
    first = timed(step, sync, 1)
    recent, steps = [], 1
    while time.perf_counter() - begin < limit:
        recent.append(timed(step, sync, 1))
        steps += 1
        window, before = recent[-STEADY_WINDOW:], recent[-2 * STEADY_WINDOW : -STEADY_WINDOW]
        if len(before) == STEADY_WINDOW and min(window) >= min(before) * (1 - STEADY_WITHIN):
            return first, median(window), steps, True
    return first, median(recent or [first]), steps, False


def sample(step, sync, warm, duration, progress=None, least=LEAST):
    """Samples in seconds, at least two, for at most about `duration` seconds; (samples, repeat).

    Stops when the interval of the median is narrow, but never before a quarter of `duration`: drifts want time to show.
    """
    repeat = max(1, math.ceil(SHORTEST_SAMPLE / max(warm, 1e-9)))
    samples, begin, told = [], time.perf_counter(), 0.0
    sync()
    while True:
        samples.append(timed(step, sync, repeat))
        passed = time.perf_counter() - begin
        if progress is not None and passed - told >= 0.5:
            told = passed
            progress(len(samples) * repeat, median(samples))
        if len(samples) >= 2 and passed >= duration:
            return samples, repeat
        if len(samples) >= least and passed >= duration / 4 and len(samples) % 5 == 0 and interval_percent(samples) < NARROW:
            return samples, repeat


def median(values):
    return percentile(values, 50)


def percentile(values, percent):
    """Linear between the two nearest ranks."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100.0
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def interval_percent(values):
    """Half the 95 % interval of the median in percent of it, by order statistics: no shape of distribution is assumed.

    Ranks n/2 -+ 1.96 sqrt(n)/2 (normal approximation of the binomial). Infinite below six values, where there is no such interval.
    """
    n = len(values)
    if n < 6:
        return float("inf")
    ordered, reach = sorted(values), 1.96 * math.sqrt(n) / 2
    low, high = max(math.floor(n / 2 - reach), 0), min(math.ceil(n / 2 + reach), n - 1)
    middle = median(ordered)
    return 100.0 * (ordered[high] - ordered[low]) / 2 / middle if middle > 0 else float("inf")


def summary(samples, repeat):
    """The latency of one step in milliseconds, as a measurement tells it; None where it cannot be told."""
    n = len(samples)
    mean = sum(samples) / n
    interval = interval_percent(samples)
    return {
        "iterations": n * repeat,
        "latency_ms": {
            "median": median(samples) * 1e3, "p50": median(samples) * 1e3, "p95": percentile(samples, 95) * 1e3,
            "p99": percentile(samples, 99) * 1e3, "mean": mean * 1e3,
            "stdev": math.sqrt(sum((value - mean) ** 2 for value in samples) / (n - 1)) * 1e3 if n > 1 else None,
            "ci95_percent": interval if math.isfinite(interval) else None,
        },
        "noisy": not interval <= NOISY,
    }  # fmt: skip
