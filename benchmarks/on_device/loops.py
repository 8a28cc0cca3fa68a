"""Matrix product and copies by torch.utils.benchmark alone: imports nothing of gpudoctor. Prints one JSON object.

PYTHON_WITH_TORCH benchmarks/on_device/loops.py DEVICE [SECONDS] [SIDE]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import torch
from torch.utils.benchmark import Timer

SIDES = {"cpu": 1024}
STREAM = {"cpu": 256 << 20}
COPY = 64 << 20


def median(work: Callable[[], object], seconds: float) -> float:
    """Seconds of one call. Timer waits for CUDA itself, for other devices the work does."""
    return float(
        Timer("work()", globals={"work": work}, num_threads=torch.get_num_threads()).blocked_autorange(min_run_time=seconds).median
    )


def main() -> None:
    device = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3.0
    kind = device.partition(":")[0]
    side = int(sys.argv[3]) if len(sys.argv) > 3 else SIDES.get(kind, 4096)
    module = getattr(torch, kind, None)
    wait = getattr(module, "synchronize", None) if kind not in ("cpu", "cuda") else None

    def waited(work: Callable[[], object]) -> Callable[[], object]:
        if wait is None:
            return work

        def both() -> None:
            work()
            wait()

        return both

    torch.manual_seed(0)
    left, right = (torch.rand(side, side, device=device) * 2 - 1 for _ in range(2))
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    found = {"matmul": 2 * side**3 / median(waited(lambda: torch.matmul(left, right)), seconds) / 1e12}
    count = STREAM.get(kind, 512 << 20) // 4
    a, b = (torch.rand(count, device=device) for _ in range(2))
    c = torch.empty_like(a)
    found["memory_bandwidth"] = 12 * count / median(waited(lambda: torch.add(a, b, out=c)), seconds) / 1e9
    if kind != "cpu":
        host = torch.rand(COPY // 4)
        host = host.pin_memory() if kind == "cuda" else host
        there = host.to(device)
        found["host_to_device"] = COPY / median(waited(lambda: there.copy_(host)), seconds) / 1e9
        found["device_to_host"] = COPY / median(waited(lambda: host.copy_(there)), seconds) / 1e9
    sys.stdout.write(json.dumps({"torch": torch.__version__, "device": device, "side": side, "found": found}) + "\n")


if __name__ == "__main__":
    main()
