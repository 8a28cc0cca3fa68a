"""How often `validate` alarms where nothing is wrong: the default run, again and again, in environments that are known to be sound.

    python benchmarks/healthy_runs.py --runs 100 --python ENV --python OTHER -- --device cpu

Takes the environments in turns. Each alarm is a line as soon as it is known (with the report's path); at the end stands for each kind of
alarm the share of runs that had one, with its 95 % interval. Alarms: a result that is called wrong, or of a narrower type; a step that
stopped answering; any other failure; memory that grows; a slow-down; steps of two speeds; a finding about computing or
speed. Other work on the machine causes slow-downs and steps of two speeds, which are counted by themselves; it causes no wrong results and
no leaks. `--from FOLDER` counts in reports that are there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from identical_runs import wilson

from gpudoctor.model.measurement import FAILED, OK, Measurement

BESIDE = "beside others: "
"""Of a change of speed, where others took so much of the device that the row is noisy."""
KINDS = (
    "wrong result", "narrower type", "no answer", "other failure", "leak", "slow-down", "two speeds", "finding", f"{BESIDE}slow-down",
    f"{BESIDE}two speeds",
)  # fmt: skip
BY_REASON = (("wrong result", "wrong result"), ("narrower precision", "narrower type"), ("no answer", "no answer"), ("no end", "no answer"))
"""How a reason of a failure holds what kind it is."""
CONCERNS = {"leaks": "leak", "slows": "slow-down", "uneven": "two speeds"}
LAYERS = ("compute", "performance")
LIMIT = 900.0
"""Seconds of one run: its minute, and what a busy machine adds."""


def alarms(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(kind, what is said) of each alarm of a report."""
    for row in report["measurements"]:
        each = Measurement.from_json(row)
        name = f"{each.framework} {each.title} {each.task} {each.dtype} on {each.device}"
        if each.status == FAILED:
            reason = each.reason or ""
            kind = next((kind for part, kind in BY_REASON if part in reason), "other failure")
            yield kind, f"{name}: {reason}"
        elif each.status == OK and each.course is not None and each.course.concern:
            kind = CONCERNS[each.course.concern]
            kind = f"{BESIDE}{kind}" if each.disturbed and kind != "leak" else kind
            yield kind, f"{name}: {'; '.join(each.course.words)}; {each.noisy or 'not noisy'}"
    for finding in report["findings"]:
        if finding["layer"] in LAYERS and finding["severity"] != "info":
            yield "finding", f"{finding['id']}: {finding['title']}"


def one_run(python: str, words: list[str], path: Path) -> str:
    """What went wrong with the run itself; '' where it wrote its report."""
    command = [sys.executable, "-m", "gpudoctor", "validate", "--format", "json", "-q", "-o", str(path), "--python", python, *words]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LIMIT)
    return "" if path.exists() and ran.returncode in (0, 1, 4) else f"exit status {ran.returncode}: {ran.stderr.strip()[-300:]}"


def told(path: Path) -> tuple[set[str], int]:
    """The kinds of alarms in a report, each said in a line; and how many rows were measured."""
    report = json.loads(path.read_text("utf-8"))
    kinds = set()
    for kind, said in alarms(report):
        kinds.add(kind)
        sys.stdout.write(f"  ALARM {kind}: {said[:300]} ({path})\n")
        sys.stdout.flush()
    return kinds, sum(row["status"] == OK for row in report["measurements"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100, help="of all environments together")
    parser.add_argument("--python", action="append", default=[], help="a sound environment; may be given several times")
    parser.add_argument("--folder", type=Path, default=Path("healthy-runs"), help="where the reports go")
    parser.add_argument("--from", dest="there", type=Path, help="count in the reports of this folder, and run nothing")
    parser.add_argument("words", nargs="*", help="options of validate, behind --")
    given = parser.parse_args()
    if given.there is None and not given.python:
        parser.error("--python ENV: at least one environment to measure in")
    folder = given.there or given.folder
    folder.mkdir(parents=True, exist_ok=True)
    runs, rows, empty, counted = 0, 0, 0, Counter[str]()
    for number in range(given.runs if given.there is None else 0):
        python, path = given.python[number % len(given.python)], folder / f"run-{number + 1:03}.json"
        broken = one_run(python, given.words, path)
        sys.stdout.write(
            f"run {number + 1} of {given.runs} in {python}, load {os.getloadavg()[0]:.1f}{f', BROKEN: {broken}' if broken else ''}\n"
        )
        sys.stdout.flush()
        kinds, measured = ({"other failure"}, 0) if broken else told(path)
        runs, rows, empty = runs + 1, rows + measured, empty + (not measured and not kinds)
        counted.update(kinds)
    for path in sorted(folder.glob("*.json")) if given.there is not None else ():
        kinds, measured = told(path)
        runs, rows, empty = runs + 1, rows + measured, empty + (not measured and not kinds)
        counted.update(kinds)
    sys.stdout.write(f"{runs - empty} runs, {rows} rows; {empty} more measured nothing in their time\n")
    runs -= empty
    for kind in KINDS:
        low, high = wilson(counted[kind], runs) if runs else (0.0, 1.0)
        sys.stdout.write(f"{kind:25} in {counted[kind]:3} of {runs} runs, {max(100 * low, 0):.1f} to {100 * high:.1f} %\n")
    return 1 if any(count for kind, count in counted.items() if not kind.startswith(BESIDE)) else 0


if __name__ == "__main__":
    sys.exit(main())
