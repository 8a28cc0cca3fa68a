"""Everything that wants a device, in one command within ten minutes, into one folder (README.md says what it holds)."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENDING = 15.0
"""Seconds that an interrupted step gets to write what it has."""
UNITS = {"matmul": "TFLOP/s", "memory_bandwidth": "GB/s", "host_to_device": "GB/s", "device_to_host": "GB/s"}


@dataclass(frozen=True)
class Step:
    """`share`: of the time that all steps have. `to`: where standard output goes; '' where the step writes its file itself."""

    name: str
    argv: tuple[str, ...]
    share: float
    to: str = ""


@dataclass(frozen=True)
class Done:
    name: str
    status: int | None
    seconds: float
    cut_off: bool


def steps(python: str, device: str, small: bool, target: str) -> list[Step]:
    doctor = (sys.executable, "-m", "gpudoctor")
    here = ("--python", target)
    measured = (*doctor, "validate", *here, "--device", device, "-q")
    first = ("--workload", "matmul,resnet18", "--batch", "1", "--duration", "0.5") if small else ()
    two = ("resnet18" if small else "resnet50,mobilenet_v2", "--task", "inference" if small else "training,inference")
    little = ("--batch", "1", "--duration", "0.5") if small else ()
    micro = "matmul,memory_bandwidth" + ("" if device == "cpu" else ",host_to_device,device_to_host")
    tests = (sys.executable, "-m", "pytest", "tests/on_device", "-q", "-p", "no:cacheprovider")
    return [
        Step("capture", (*doctor, "capture", *here, "-o", "machine/", "-q"), 0.09),
        Step("check", (*doctor, "check", *here, "--format", "json"), 0.07, "check.json"),
        Step("validate", (*measured, *first, "--format", "json", "-o", "report.json"), 0.16),
        Step("micro", (*measured, "--workload", micro, "--dtype", "float32", *little, "--format", "json", "-o", "micro.json"), 0.08),
        Step("loops", (python, str(HERE / "loops.py"), device, "0.5" if small else "3"), 0.06, "loops.json"),
        Step("full", (*measured, "--full", "--workload", *two, *little, "--format", "json", "-o", "full.json"), 0.18),
        Step("operators", (*measured, "--operators", "--dtype", "float32", "--format", "json", "-o", "operators.json"), 0.14),
        Step("tests", tests, 0.1, "tests.txt"),
        Step("try-fixes", (*measured, "--try-fixes", "--workload", two[0].partition(",")[0], "--task", "inference", *little,
                           "--format", "json", "-o", "fixes.json"), 0.16),
        Step("html", (*doctor, "report", *here, "-o", "report.html", "-q"), 0.03),
    ]  # fmt: skip


def run(step: Step, folder: Path, seconds: float, environment: dict[str, str]) -> Done:
    """Interrupted after `seconds`, as a person would, and ended where that does not help."""
    begin, cut_off = time.monotonic(), False
    with open(folder / f"{step.name}.stderr", "wb") as errors, open(folder / (step.to or f"{step.name}.stdout"), "wb") as output:
        cwd = ROOT if step.name == "tests" else folder
        child = subprocess.Popen(step.argv, cwd=cwd, stdout=output, stderr=errors, env=environment, start_new_session=True)
        try:
            child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            cut_off = True
            os.killpg(child.pid, signal.SIGINT)
            try:
                child.wait(timeout=ENDING)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        except KeyboardInterrupt:
            os.killpg(child.pid, signal.SIGINT)
            child.wait(timeout=ENDING)
            raise
    for empty in (folder / f"{step.name}.stdout", folder / f"{step.name}.stderr"):
        if empty.exists() and not empty.stat().st_size:
            empty.unlink()
    return Done(step.name, child.returncode, time.monotonic() - begin, cut_off)


def read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def ratios(folder: Path) -> list[dict[str, Any]]:
    """Ours by the loop's, for what both measured."""
    theirs = read(folder / "loops.json").get("found", {})
    rows = []
    for one in read(folder / "micro.json").get("measurements", []):
        throughput = (one.get("throughput") or {}).get("value")
        name = one.get("workload")
        if throughput and theirs.get(name):
            ratio = throughput / theirs[name]
            rows.append({"workload": name, "unit": UNITS[name], "ours": throughput, "loop": theirs[name], "ratio": ratio})
    return rows


def expectations(folder: Path, environment: dict[str, str]) -> None:
    """expect.toml of the recorded machine: what check says of it now, for a person to read before it becomes a test."""
    words = (sys.executable, "-m", "gpudoctor", "check", "--capture", "machine", "--format", "json")
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment, check=False, timeout=120)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return
    errors = [finding["id"] for finding in report["findings"] if finding["severity"] == "error"]
    verdicts = [f'"{stack["stack"]}" = "{stack["verdict"]}"' for stack in report["stacks"] if stack["verdict"] != "not-applicable"]
    text = "\n".join(
        [
            "# What check said when it was recorded: read it before it becomes a test.", f"errors = {json.dumps(errors)}", "also = []",
            f"first_broken = {json.dumps(report['summary']['first_broken'] or '')}", "", "[verdicts]", *verdicts, "",
        ]
    )  # fmt: skip
    (folder / "machine" / "expect.toml").write_text(text)


def summary(folder: Path, device: str, done: list[Done], rows: list[dict[str, Any]]) -> str:
    report = read(folder / "report.json")
    measured = [f"{one['workload']} {one['task']} {one['dtype']}: {one['status']}" for one in report.get("measurements", [])]
    lines = [f"# {device}", "", "| step | exit status | seconds | |", "| --- | --- | --- | --- |"]
    lines += [f"| {one.name} | {one.status} | {one.seconds:.0f} | {'cut off' if one.cut_off else ''} |" for one in done]
    lines += ["", "| workload | ours | loop | ratio |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {row['workload']} | {row['ours']:.4g} {row['unit']} | {row['loop']:.4g} {row['unit']} | {row['ratio']:.3f} |" for row in rows
    ]
    return "\n".join([*lines, "", *(f"- {text}" for text in measured), ""])


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/on_device", description=__doc__)
    parser.add_argument("--python", required=True, help="interpreter or environment with torch for the device")
    parser.add_argument("--device", required=True, help="as gpudoctor validate takes it: cuda:0, xpu:0, cpu")
    parser.add_argument("-o", "--output", default="on-device", help="the folder")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--small", action="store_true", help="small sizes: does all of it run?")
    parser.add_argument("--only", metavar="A,B", help="these steps alone, which share the time")
    given = parser.parse_args()
    target = os.path.abspath(given.python)
    python = target if os.path.isfile(target) else os.path.join(target, "bin", "python")
    if not os.path.isfile(python):
        parser.error(f"--python {given.python}: no interpreter there")
    folder = Path(given.output).resolve()
    if folder.exists() and any(folder.iterdir()):
        parser.error(f"-o {given.output}: this folder is not empty; give another one")
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ON_DEVICE": given.device, "ON_DEVICE_PYTHON": python}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has what it runs in the background ignore it, and so would each step
    planned, end = steps(python, given.device, given.small, target), time.monotonic() + given.minutes * 60
    if given.only:
        planned = [step for step in planned if step.name in given.only.split(",")]
        if not planned:
            parser.error(f"--only {given.only}: no such step")
    left, done = sum(step.share for step in planned), []
    try:
        for step in planned:
            seconds = max(end - time.monotonic(), 0.0) * step.share / left
            left -= step.share
            done.append(run(step, folder, seconds, environment))
            cut = ", cut off" if done[-1].cut_off else ""
            say(f"{step.name}: exit status {done[-1].status}, {done[-1].seconds:.0f} s{cut}")
            if step.name == "capture" and (folder / "machine").is_dir():
                expectations(folder, environment)
    finally:
        rows = ratios(folder)
        (folder / "ratios.json").write_text(json.dumps(rows, indent=1) + "\n")
        (folder / "steps.json").write_text(json.dumps([asdict(one) for one in done], indent=1) + "\n")
        (folder / "summary.md").write_text(summary(folder, given.device, done, rows))
    say(f"written to {folder}")
    return 0 if all(one.status in (0, 1) or (one.cut_off and one.status == 130) for one in done) else 1


if __name__ == "__main__":
    sys.exit(main())
