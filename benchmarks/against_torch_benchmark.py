"""What the worker measures against hand-written loops timed by torch.utils.benchmark, in turns, in one process.

    PYTHON_WITH_TORCH benchmarks/against_torch_benchmark.py [--pairs 7] [--seconds 4] [--batch 4] [--only resnet50]

Each pair is one measurement of each, in changing order, on the same model objects: what differs is the loop, the clock and the statistics.
The ratio of the medians over all pairs is to lie within 2 % of 1. Wants an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

WORKLOADS = Path(__file__).resolve().parents[1] / "gpudoctor" / "target" / "workloads"
sys.path[:0] = [str(WORKLOADS), str(WORKLOADS / "backends")]

import timing  # noqa: E402
import torch  # noqa: E402
import torch_backend  # noqa: E402
from interleaved_pairs import compared  # noqa: E402
from torch.utils.benchmark import Timer  # noqa: E402

WITHIN = 0.02
CASES = {
    "resnet50": {"workload": "resnet50", "task": "inference", "dtype": "float32"},
    "resnet18": {"workload": "resnet18", "task": "training", "dtype": "float32"},
    "matmul": {"workload": "matmul", "task": "micro", "dtype": "float32"},
}


def by_hand(work: torch_backend.Work, name: str) -> Callable[[], object]:
    """What a person would write, without anything of the worker but its model and tensors."""
    if name == "resnet50":

        def infer() -> torch.Tensor:
            with torch.no_grad():
                return work.model(*work.inputs)

        return infer
    if name == "resnet18":
        cross_entropy = torch.nn.CrossEntropyLoss()

        def train() -> None:
            work.optimizer.zero_grad()
            cross_entropy(work.model(*work.inputs), work.labels).backward()
            work.optimizer.step()

        return train
    return lambda: torch.matmul(work.left, work.right)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=4.0, help="of one measurement")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", choices=sorted(CASES))
    given = parser.parse_args()
    sys.stdout.write(f"torch {torch.__version__}, {given.device}, {torch.get_num_threads()} threads, load {os.getloadavg()[0]:.2f}\n")
    missed = False
    for name, case in CASES.items():
        if given.only not in (None, name):
            continue
        options = {} if case["task"] == "micro" else {"batch": given.batch}
        request = {"framework": "torch", "device": given.device, "options": options, **case}
        work = torch_backend.open_session(request).prepare(request)
        timer = Timer("run()", globals={"run": by_hand(work, name)}, num_threads=torch.get_num_threads())
        warm = timing.warm_up(work.step, work.sync, 5.0).warm

        def ours(work: torch_backend.Work = work, warm: float = warm) -> float:
            return timing.median(timing.sample(work.step, work.sync, warm, given.seconds).times)

        def theirs(timer: Timer = timer) -> float:
            return float(timer.blocked_autorange(min_run_time=given.seconds).median)

        pair = compared(given.pairs, ours, theirs)
        missed |= abs(pair.ratio - 1) > WITHIN
        middles = f"ours {pair.ours * 1e3:9.3f} ms theirs {pair.theirs * 1e3:9.3f} ms"
        sys.stdout.write(f"{name:<9} {case['task']:<9} {middles}  ratio {pair.ratio:.4f}  [{pair.lowest:.4f} {pair.highest:.4f}]\n")
        sys.stdout.flush()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
