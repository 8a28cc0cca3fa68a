"""What the OpenVINO worker measures against OpenVINO's own benchmark_app, with the same model, hint and precision, in turns.

    PYTHON_WITH_OPENVINO benchmarks/against_benchmark_app.py [--pairs 5] [--seconds 10] [--network resnet50] [--batch 1]

Each measurement is a process of its own. The ratio of the medians over all pairs is to lie within 3 % of 1: the time of an inference with
the latency hint, images per second with the throughput hint. Wants an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

WORKLOADS = Path(__file__).resolve().parents[1] / "gpudoctor" / "target" / "workloads"
sys.path.insert(0, str(WORKLOADS))

import networks  # noqa: E402
import onnx_networks  # noqa: E402
from interleaved_pairs import compared  # noqa: E402

WITHIN = 0.03


def ours(given: argparse.Namespace, hint: str) -> float:
    """Milliseconds, or images per second."""
    request = {
        "framework": "openvino", "device": given.device, "workload": given.network, "task": "inference", "dtype": "float32",
        "options": {"batch": given.batch}, "settings": {"hint": hint}, "duration": given.seconds, "warm_up": 5.0, "verify": False,
    }  # fmt: skip
    words = [sys.executable, str(WORKLOADS / "worker.py")]
    ran = subprocess.run(words, input=json.dumps(request), capture_output=True, text=True, check=True)
    answer = json.loads(ran.stdout.splitlines()[-1].partition(" ")[2])
    if answer["stage"] != "result":
        raise SystemExit(f"the worker: {answer}")
    median = float(answer["latency_ms"]["median"])
    return median if hint == "latency" else answer["items_per_step"] / median * 1e3


def theirs(given: argparse.Namespace, hint: str, model: Path) -> float:
    tool = Path(sys.executable).with_name("benchmark_app")
    words = ["-m", str(model), "-d", given.device, "-hint", hint, "-t", str(int(given.seconds)), "-infer_precision", "f32"]
    ran = subprocess.run([sys.executable, str(tool), *words], capture_output=True, text=True, check=True)
    wanted = r"Median:\s+([0-9.]+) ms" if hint == "latency" else r"Throughput:\s+([0-9.]+) FPS"
    found = re.search(wanted, ran.stdout)
    if found is None:
        raise SystemExit(f"benchmark_app: {ran.stdout[-1000:]}")
    return float(found.group(1))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0, help="of one measurement")
    parser.add_argument("--network", choices=sorted(networks.NETWORKS), default="resnet50")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--device", default="CPU")
    given = parser.parse_args()
    sys.stdout.write(f"{given.network}, batch {given.batch}, {given.device}, load {os.getloadavg()[0]:.2f}\n")
    missed = False
    with tempfile.TemporaryDirectory(prefix="gpudoctor-") as folder:
        model = Path(folder) / "model.onnx"
        onnx_networks.write(networks.draw(given.network, batch=given.batch), str(model))
        for hint, unit in (("latency", "ms"), ("throughput", "images/s")):
            pair = compared(given.pairs, lambda hint=hint: ours(given, hint), lambda hint=hint: theirs(given, hint, model))
            missed |= abs(pair.ratio - 1) > WITHIN
            middles = f"ours {pair.ours:9.3f} {unit} theirs {pair.theirs:9.3f} {unit}"
            sys.stdout.write(f"{hint:<10} {middles}  ratio {pair.ratio:.4f}  [{pair.lowest:.4f} {pair.highest:.4f}]\n")
            sys.stdout.flush()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
