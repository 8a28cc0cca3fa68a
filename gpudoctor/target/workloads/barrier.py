"""Several workers that begin together: each says that it is ready and waits for a file, which the doctor makes when all are.

No clock is shared: each times itself from the moment at which it sees the file. Standard library, Python 3.8.
"""

import os
import time

START = "start"
LOOK_EVERY = 0.0005
"""Seconds: workers begin within about that of each other."""
LONGEST = 3600.0
"""Seconds: a doctor that is gone does not leave it waiting."""
MOST_ALONE = 16
"""Ranks of which each pair is measured alone."""
MOST_SAMPLES = 40000
MOST_GROWTH = 4096
SHORTEST_SAMPLE = 0.001
"""Seconds, of a collective: below, the clock costs too much of it."""


def wait_for_start(folder, limit=LONGEST):
    """Until all are ready; RuntimeError where that never comes."""
    path, begin = os.path.join(folder, START), time.perf_counter()
    while not os.path.exists(path):
        if time.perf_counter() - begin > limit:
            raise RuntimeError("the others were never ready")
        time.sleep(LOOK_EVERY)


def cores():
    """Of this process, as far as the system tells."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def share_of_cores(size):
    """Threads for one of `size` processes that compute on the same processor."""
    return max(1, cores() // size)


def window(step, sync, duration, progress=None):
    """Steps, each waited for, until `duration` seconds are over; (seconds of each, seconds of all). At least two steps.

    It does not stop early: who ends first leaves the device to the others, whose last steps are then faster than a common run is.
    """
    times, begin, told = [], time.perf_counter(), 0.0
    last = begin
    while True:
        step()
        sync()
        now = time.perf_counter()
        times.append(now - last)
        last = now
        if progress is not None and now - begin - told >= 0.5:
            told = now - begin
            progress(len(times), told / len(times))
        if now - begin >= duration and len(times) >= 2:
            return times, now - begin


def microseconds(times):
    """(every k-th, k): as many as the doctor takes."""
    every = -(-len(times) // MOST_SAMPLES)
    return [round(value * 1e6, 1) for value in times[::every]], every


def bus_bytes(size, ranks):
    """What each link carries when `size` bytes are summed over `ranks`, whatever the algorithm: 2 (n - 1) / n of them.

    NVIDIA/nccl-tests, doc/PERFORMANCE.md, AllReduce: bus bandwidth is this by time, and comparable with what a link can do at most.
    """
    return size * 2 * (ranks - 1) / ranks


def rounds_of_pairs(ranks):
    """Every two of `ranks` once, in rounds whose pairs share no rank. Up to 16 ranks each pair has a round, and thus all links, to itself;
    of more, the pairs of a round measure at the same time (the circle method of tournaments)."""
    players = list(range(ranks)) + [-1] * (ranks % 2)
    half = len(players) // 2
    for _ in range(len(players) - 1):
        pairs = [tuple(sorted(pair)) for pair in zip(players[:half], reversed(players[half:])) if -1 not in pair]
        yield from ([pairs] if ranks > MOST_ALONE else ([pair] for pair in pairs))
        players = [players[0], players[-1], *players[1:-1]]


def operations_of_a_sample(seconds, ranks):
    """As many as fill a millisecond, as long as sums stay far from the end of float16: they grow n-fold with each."""
    most = 1
    while ranks ** (most + 1) <= MOST_GROWTH:
        most += 1
    return max(1, min(most, int(SHORTEST_SAMPLE / max(seconds, 1e-9)) + 1))
