"""Times of a repeated step: warm-up until steady, then samples over the whole of the time that was asked for.

A sample is `repeat` steps between two synchronisations, divided by `repeat`: one step where a step takes a millisecond or more, as many
as fill one where it is shorter, so that the clock and the synchronisation cost less than they measure. Standard library, Python 3.8.
"""

import math
import random
import time

SHORTEST_SAMPLE = 0.001
"""The least seconds of a sample."""
NOISY = 5.0
"""A median is noisy whose 95 % interval is half as wide as this many percent of it, or wider."""
SHORTEST_WARM_UP = 0.6
"""The least seconds of a warm-up, where the limit allows them: caches, clocks and thread pools settle in about that time."""
STEADY_WINDOW, STEADY_WITHIN = 5, 0.05
MOST_KEPT = 40000
"""The number of samples above which a random half is kept, so that a day of sampling fits into memory and no period is favoured."""
BLOCKS = 10
LEAST_FOR_FAST = 10
"""The 10th percentile of fewer samples is the fastest of them, or nearly so."""
T975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's 97.5 % points for 1 to 9 degrees of freedom."""


def timed(step, sync, repeat):
    """The seconds of one step: the mean of `repeat` steps, until the device has finished them."""
    begin = time.perf_counter()
    for _ in range(repeat):
        step()
    sync()
    return (time.perf_counter() - begin) / repeat


class WarmUp:
    """first: seconds of the first step; warm: of a warm one; times: of all after the first; steady: whether the last few agreed."""

    def __init__(self, first, times, steady):
        self.first, self.times, self.steady = first, times, steady
        self.warm = median(times[-STEADY_WINDOW:] if steady else times or [first])
        self.steps = 1 + len(times)


def warm_up(step, sync, limit, after=None):
    """Runs steps until the last few agree or `limit` seconds are over; returns a WarmUp. `after(seconds, steps)` is called after each step;
    True ends the warm-up."""
    begin = time.perf_counter()
    first, times, over = timed(step, sync, 1), [], False
    if after is not None:
        over = bool(after(first, 1))
    while not over and time.perf_counter() - begin < limit:
        times.append(timed(step, sync, 1))
        if after is not None:
            over = bool(after(times[-1], 1 + len(times)))
        window, before = times[-STEADY_WINDOW:], times[-2 * STEADY_WINDOW : -STEADY_WINDOW]
        if len(before) == STEADY_WINDOW and min(window) >= min(before) * (1 - STEADY_WITHIN):
            if time.perf_counter() - begin >= min(SHORTEST_WARM_UP, limit):
                return WarmUp(first, times, True)
    return WarmUp(first, times, False)


class Samples:
    """times: seconds of one step, by sample; at: seconds from the begin to the end of each sample; steps, busy: how many steps there were
    and the seconds that they took, with those whose sample was not kept; window: seconds from the begin to the end of all."""

    def __init__(self, repeat):
        self.repeat, self.times, self.at = repeat, [], []
        self.steps, self.busy, self.window = 0, 0.0, 0.0
        self._chance, self._every = random.Random(0), 1

    def add(self, seconds, at):
        self.steps += self.repeat
        self.busy += seconds * self.repeat
        self.window = at
        if self._every > 1 and self._chance.random() * self._every >= 1:
            return
        self.times.append(seconds)
        self.at.append(at)
        if len(self.times) >= MOST_KEPT:
            kept = [place for place in range(len(self.times)) if self._chance.random() < 0.5]
            self.times, self.at = [self.times[place] for place in kept], [self.at[place] for place in kept]
            self._every *= 2


def sample(step, sync, warm, duration, after=None):
    """Samples, at least two, until `duration` seconds are over, the time of `after` included. It does not stop early: what changes after
    some seconds wants to be seen. `after(seconds, samples)`: called after each sample, outside the clock; True ends the sampling."""
    found = Samples(max(1, math.ceil(SHORTEST_SAMPLE / max(warm, 1e-9))))
    sync()
    begin = time.perf_counter()
    while True:
        seconds = timed(step, sync, found.repeat)
        found.add(seconds, time.perf_counter() - begin)
        if after is not None and after(seconds, found):
            return found
        if len(found.times) >= 2 and time.perf_counter() - begin >= duration:
            return found


def one_by_one(step, sync, most, limit):
    """The seconds of up to `most` single steps within `limit` seconds, because a sample of many steps hides a slow one."""
    times, begin = [], time.perf_counter()
    while len(times) < most and time.perf_counter() - begin < limit:
        times.append(timed(step, sync, 1))
    return times


def slices(samples, most=40):
    """The course of a measurement, a list of (seconds at the end, samples, median of the step in milliseconds) for each part of the window
    that has samples; at most `most` parts, equally long."""
    parts = [[] for _ in range(most)]
    for seconds, at in zip(samples.times, samples.at):
        parts[min(int(most * at / samples.window), most - 1) if samples.window > 0 else 0].append((at, seconds))
    return [[round(part[-1][0], 4), len(part), median([one for _, one in part]) * 1e3] for part in parts if part]


def median(values):
    return percentile(values, 50)


def percentile(values, percent):
    """The percentile, interpolated linearly between the two nearest ranks."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100.0
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def interval_percent(values):
    """Half the 95 % interval of the median in percent of it, by order statistics: no shape of distribution is assumed.

    Ranks n/2 -+ 1.96 sqrt(n)/2 (normal approximation of the binomial). Infinite below six values, where there is no such interval.
    Steps that follow one another are alike, which these ranks do not know: where the medians of consecutive blocks differ more than
    the ranks say, their interval (Student's) counts.
    """
    n = len(values)
    if n < 6:
        return float("inf")
    ordered, reach = sorted(values), 1.96 * math.sqrt(n) / 2
    low, high = max(math.floor(n / 2 - reach), 0), min(math.ceil(n / 2 + reach), n - 1)
    middle = median(ordered)
    if middle <= 0:
        return float("inf")
    return max(100.0 * (ordered[high] - ordered[low]) / 2 / middle, between_blocks_percent(values))


def between_blocks_percent(values):
    """Half the 95 % interval of the mean of medians of consecutive blocks, in percent of it; 0 below forty values."""
    if len(values) < 4 * BLOCKS:
        return 0.0
    medians = [median(values[len(values) * block // BLOCKS : len(values) * (block + 1) // BLOCKS]) for block in range(BLOCKS)]
    mean = sum(medians) / BLOCKS
    spread = math.sqrt(sum((value - mean) ** 2 for value in medians) / (BLOCKS - 1))
    return 100.0 * T975[BLOCKS - 2] * spread / math.sqrt(BLOCKS) / mean if mean > 0 else float("inf")


def summary(samples, repeat):
    """The latency of one step in milliseconds, as a measurement gives it; None where it is not known. `samples`: seconds."""
    n = len(samples)
    mean = sum(samples) / n
    interval = interval_percent(samples)
    return {
        "iterations": n * repeat,
        "latency_ms": {
            "median": median(samples) * 1e3, "p10": percentile(samples, 10) * 1e3 if n >= LEAST_FOR_FAST else None,
            "p50": median(samples) * 1e3, "p95": percentile(samples, 95) * 1e3,
            "p99": percentile(samples, 99) * 1e3, "mean": mean * 1e3,
            "stdev": math.sqrt(sum((value - mean) ** 2 for value in samples) / (n - 1)) * 1e3 if n > 1 else None,
            "ci95_percent": interval if math.isfinite(interval) else None,
        },
        "noisy": not interval <= NOISY,
    }  # fmt: skip
