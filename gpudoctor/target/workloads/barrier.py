"""Several workers that begin together: each prints `ready` and waits for a file, which gpudoctor creates when all of them are ready.

No clock is shared: each worker measures its time from the moment at which it sees the file. Standard library, Python 3.8.
"""

import os
import time

START = "start"
LOOK_EVERY = 0.0005
"""The seconds between two looks for the file; the workers begin within about this time of each other."""
LONGEST = 3600.0
"""The seconds after which a worker stops waiting, so that it ends where gpudoctor is gone."""
MOST_ALONE = 16
"""Ranks of which each pair is measured alone."""
MOST_SAMPLES = 40000
MOST_GROWTH = 4096
SHORTEST_SAMPLE = 0.001
"""The shortest sample of a collective in seconds; in shorter ones, reading the clock would take too large a share."""


def wait_for_start(folder, limit=LONGEST):
    """Returns when the file exists; RuntimeError where it does not within `limit` seconds."""
    path, begin = os.path.join(folder, START), time.perf_counter()
    while not os.path.exists(path):
        if time.perf_counter() - begin > limit:
            raise RuntimeError("the others were never ready")
        time.sleep(LOOK_EVERY)


def cores():
    """The number of processor cores that this process may use, as far as the system says."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def share_of_cores(size):
    """The number of threads for each of `size` processes that compute on the same processor; at least one."""
    return max(1, cores() // size)


def window(step, sync, duration, progress=None):
    """Runs steps, each followed by sync(), until `duration` seconds are over, at least two; returns ([seconds of each step], seconds of
    all).

    It does not stop early: a worker that ended first would leave the device to the others, whose last steps would then be too fast.
    """
    times, begin, reported = [], time.perf_counter(), 0.0
    last = begin
    while True:
        step()
        sync()
        now = time.perf_counter()
        times.append(now - last)
        last = now
        if progress is not None and now - begin - reported >= 0.5:
            reported = now - begin
            progress(len(times), reported / len(times))
        if now - begin >= duration and len(times) >= 2:
            return times, now - begin


def microseconds(times):
    """([microseconds of every k-th step], k), with k so large that there are at most MOST_SAMPLES."""
    every = -(-len(times) // MOST_SAMPLES)
    return [round(value * 1e6, 1) for value in times[::every]], every


def bus_bytes(size, ranks):
    """The bytes that each link carries when `size` bytes are summed over n `ranks`, whatever the algorithm: size * 2 (n - 1) / n.

    Divided by the time this is the bus bandwidth, which can be compared with the peak of a link (github.com/NVIDIA/nccl-tests,
    doc/PERFORMANCE.md, AllReduce).
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
    """The number of operations that fill SHORTEST_SAMPLE, limited to a growth of the sums by MOST_GROWTH (each operation multiplies them by
    the number of ranks), which keeps them far below the largest float16."""
    most = 1
    while ranks ** (most + 1) <= MOST_GROWTH:
        most += 1
    return max(1, min(most, int(SHORTEST_SAMPLE / max(seconds, 1e-9)) + 1))
