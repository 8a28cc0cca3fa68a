"""What the worker measures against loops written by hand (loops_of_torch.py) and timed by torch.utils.benchmark, in turns, in one process.

    PYTHON_WITH_TORCH_AND_TORCHVISION benchmarks/against_torch_benchmark.py [--pairs 9] [--seconds 3] [--batch 4] [--only resnet50]

Each pair is one measurement of each, in changing order. Networks are torchvision's there and the worker's own here; what differs besides is
the loop, the clock and the statistics. The median of the pairs' ratios is to lie within 3 % of 1; its 95 % interval stands beside it.
Wants an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

WORKLOADS = Path(__file__).resolve().parents[1] / "gpudoctor" / "target" / "workloads"
sys.path[:0] = [str(WORKLOADS), str(WORKLOADS / "backends")]

import loops_of_torch  # noqa: E402
import timing  # noqa: E402
import torch  # noqa: E402
import torch_backend  # noqa: E402
from interleaved_pairs import Compared, compared  # noqa: E402
from torch.utils.benchmark import Timer  # noqa: E402

WITHIN = 0.03
WARM_UP = 4.0
CASES = [
    *((name, "micro") for name in ("matmul", "memory_bandwidth", "launch")),
    *((name, task) for name in loops_of_torch.NETWORKS for task in ("inference", "training")),
]


def pair(name: str, task: str, given: argparse.Namespace) -> Compared:
    """Seconds of one step."""
    request: dict[str, Any] = {
        "framework": "torch", "device": given.device, "workload": name, "task": task, "dtype": "float32",
        "options": {} if task == "micro" else {"batch": given.batch},
    }  # fmt: skip
    work = torch_backend.open_session(request).prepare(request)
    loop = loops_of_torch.micro(name, given.device) if task == "micro" else loops_of_torch.network(name, task, given.batch, given.device)
    timer = Timer("run()", globals={"run": loop}, num_threads=torch.get_num_threads())
    warm = timing.warm_up(work.step, work.sync, WARM_UP).warm

    def ours() -> float:
        return float(timing.median(timing.sample(work.step, work.sync, warm, given.seconds).times))

    def theirs() -> float:
        return float(timer.blocked_autorange(min_run_time=given.seconds).median)

    measures: tuple[Callable[[], float], Callable[[], float]] = ours, theirs
    for measure in measures:
        measure()
    return compared(given.pairs, *measures)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=3.0, help="of one measurement")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", choices=sorted({name for name, _ in CASES}))
    given = parser.parse_args()
    sys.stdout.write(f"torch {torch.__version__}, {given.device}, {torch.get_num_threads()} threads, load {os.getloadavg()[0]:.2f}\n")
    missed = False
    for name, task in CASES:
        if given.only not in (None, name):
            continue
        found = pair(name, task, given)
        missed |= abs(found.ratio - 1) > WITHIN
        middles = f"ours {found.ours * 1e3:9.4f} ms theirs {found.theirs * 1e3:9.4f} ms"
        sys.stdout.write(f"{name:<16} {task:<9} {middles}  ratio {found.ratio:.3f}  [{found.lowest:.3f} {found.highest:.3f}]\n")
        sys.stdout.flush()
        gc.collect()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
