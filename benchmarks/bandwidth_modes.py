"""Whether memory_bandwidth has modes between processes, and whether large pages remove them: several processes of each kind, in turns.

    PYTHON_WITH_TORCH benchmarks/bandwidth_modes.py [--processes 10] [--mib 256]

Each process allocates three arrays (as torch does; in large pages; in small pages), adds two of them into the third for a while, and prints
its median. The spread between the processes of a kind is what a single run cannot know of. Wants an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import statistics
import subprocess
import sys
import time

KINDS = ("torch", "large", "small")
LARGE_PAGE = 2 << 20
STEPS = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=10, help="of each kind")
    parser.add_argument("--mib", type=int, default=256, help="size of an array")
    parser.add_argument("--kind", choices=KINDS, help="measure in this process and print the median in GB/s")
    given = parser.parse_args()
    if given.kind:
        sys.stdout.write(json.dumps(measured(given.kind, given.mib << 20)))
        return
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(given.processes):
        for kind in KINDS:
            argv = [sys.executable, __file__, "--kind", kind, "--mib", str(given.mib)]
            found[kind].append(json.loads(subprocess.run(argv, check=True, capture_output=True, text=True, timeout=300).stdout))
    for kind, values in found.items():
        middle = statistics.median(values)
        spread = 100 * (max(values) - min(values)) / middle
        each = " ".join(f"{value:.1f}" for value in sorted(values))
        sys.stdout.write(f"{kind:6} median {middle:.1f} GB/s, the extremes {spread:.0f} % apart: {each}\n")


def measured(kind: str, size: int) -> float:
    import torch

    a, b, c = (array(torch, kind, size) for _ in range(3))
    times = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        torch.add(a, b, out=c)
        times.append(time.perf_counter() - begin)
    return 3 * size / statistics.median(times[STEPS // 5 :]) / 1e9


def array(torch, kind: str, size: int):  # type: ignore[no-untyped-def]
    """Of float32, whose pages are touched."""
    if kind == "torch":
        return torch.ones(size // 4)
    memory = mmap.mmap(-1, size + LARGE_PAGE)
    memory.madvise(mmap.MADV_HUGEPAGE if kind == "large" else mmap.MADV_NOHUGEPAGE)
    offset = -ctypes.addressof(ctypes.c_char.from_buffer(memory)) % LARGE_PAGE
    return torch.frombuffer(memory, dtype=torch.float32, count=size // 4, offset=offset).fill_(1)


if __name__ == "__main__":
    main()
