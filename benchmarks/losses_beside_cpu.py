"""Training losses of a torch device beside those of the processor, step by step: same weights, same images, no dropout, float32.

    PYTHON_WITH_TORCH benchmarks/losses_beside_cpu.py --framework torch-opencl --device ocl:0 [--network alexnet] [--batch 16] [--steps 5]

The time of a step is the median of those after the first, which compiles kernels. Both sides run in one process, the device first.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

WORKLOADS = Path(__file__).resolve().parents[1] / "gpudoctor" / "target" / "workloads"
sys.path[:0] = [str(WORKLOADS), str(WORKLOADS / "backends")]

import networks  # noqa: E402
import torch  # noqa: E402
import torch_networks  # noqa: E402
from torch_devices import Device  # noqa: E402
from torch_training import Trainer  # noqa: E402

NETWORKS = ("alexnet", "resnet18", "resnet50", "vgg16", "mobilenet_v2")
CLASSES = 1000


def trained(name: str, device: Device, given: argparse.Namespace) -> tuple[list[float], float, float]:
    """(losses, seconds of the first step, median seconds of the others)."""
    network = networks.draw(name, batch=given.batch, classes=CLASSES)
    model = torch_networks.build(network, device.torch_device, dropout=False).train()
    trainer = Trainer(model, network, device, torch.float32, {"workload": name, "optimizer": given.optimizer})
    inputs, labels = torch_networks.inputs(network, device.torch_device), torch_networks.labels(given.batch, CLASSES, device.torch_device)
    losses, times = [], []
    for _ in range(given.steps):
        begin = time.perf_counter()
        value = trainer.step(inputs, labels)
        device.sync(value)
        times.append(time.perf_counter() - begin)
        losses.append(float(value.to("cpu")))
    return losses, times[0], statistics.median(times[1:])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--framework", default="torch")
    parser.add_argument("--device", required=True)
    parser.add_argument("--network", choices=NETWORKS, action="append")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--optimizer", choices=("sgd", "adam"), default="sgd")
    given = parser.parse_args()
    there, here = Device(given.framework, given.device), Device("torch", "cpu")
    sys.stdout.write(f"torch {torch.__version__}, {given.device}, {torch.get_num_threads()} threads, load {os.getloadavg()[0]:.2f}\n")
    for name in given.network or NETWORKS:
        for device in (there, here):
            losses, first, step = trained(name, device, given)
            shown = " ".join(f"{value:.6f}" for value in losses)
            sys.stdout.write(
                f"{name:<13} batch {given.batch:<3} {device.name:<6} first {first:8.2f} s  step {step:8.3f} s  losses {shown}\n"
            )
            sys.stdout.flush()
            if device is there:
                kept = losses
        off = max(abs(a - b) / abs(b) for a, b in zip(kept, losses, strict=True))
        sys.stdout.write(f"{name:<13} largest relative difference of a loss {off:.2e}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
