"""How often `validate --compare` calls two identical runs different, and how far medians spread between processes, by kind of work.

    python benchmarks/identical_runs.py --runs 6 --python ENV -- --workload matmul,launch,resnet18 --batch 1

Runs `validate` so many times with the words behind `--`, compares each run with each other one, and prints: the share of rows that are
called faster or slower (5 % at most is right), with its interval; for each kind the widest spread, beside what gpudoctor/benchmark/
repeatability.py allows. Take the machine for nothing else meanwhile. `--from FOLDER` compares reports that are there.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from gpudoctor.benchmark import comparison, repeatability

Z = 1.96


def one_run(python: str, words: list[str], path: Path) -> None:
    command = [sys.executable, "-m", "gpudoctor", "validate", "--format", "json", "-q", "-o", str(path), *words]
    subprocess.run([*command, *(["--python", python] if python else [])], check=False)


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    share, square = hits / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    reach = Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return middle - reach, middle + reach


def spreads(reports: list[dict[str, Any]]) -> dict[str, tuple[float, float, int]]:
    """By kind: (half the 95 % interval of the ratio of two runs as it was, in per cent, what is allowed, how many medians)."""
    medians: dict[tuple[str, ...], list[float]] = {}
    allowed: dict[str, float] = {}
    for report in reports:
        for each in report["measurements"]:
            if each["status"] == "ok":
                kind = each["workload"] if each["task"] == "micro" else each["task"]
                kind = f"{each['backend']} {kind}"
                medians.setdefault(
                    (kind, *map(str, (each["workload"], each["task"], each["framework"], each["device"], each["dtype"], each["batch"]))), []
                ).append(math.log(each["latency_ms"]["median"]))
                quiet = {**each, "noisy": None, "conditions": None}
                allowed[kind] = repeatability.between_runs(quiet, quiet)
    found: dict[str, list[float]] = {}
    for key, values in medians.items():
        if len(values) >= 3:
            found.setdefault(key[0], []).append(statistics.stdev(values))
    return {
        kind: (100 * Z * math.sqrt(2 * statistics.fmean(value**2 for value in values)), allowed[kind], len(values))
        for kind, values in found.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--python", default="", help="the environment to measure in")
    parser.add_argument("--folder", type=Path, default=Path("identical-runs"), help="where the reports go")
    parser.add_argument("--from", dest="there", type=Path, help="compare the reports of this folder, and run nothing")
    parser.add_argument("words", nargs="*", help="options of validate, behind --")
    given = parser.parse_args()
    folder = given.there or given.folder
    folder.mkdir(parents=True, exist_ok=True)
    if given.there is None:
        for number in range(given.runs):
            one_run(given.python, given.words, folder / f"run-{number + 1}.json")
            sys.stdout.write(f"run {number + 1} of {given.runs}, load {os.getloadavg()[0]:.1f}\n")
            sys.stdout.flush()
    reports = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    verdicts = [row.verdict for here, there in itertools.combinations(reports, 2) for row in comparison.compare(here, there).rows]
    different = sum(verdict in ("faster", "slower") for verdict in verdicts)
    if not verdicts:
        sys.stdout.write("nothing to compare: two reports with measurements are needed\n")
        return 2
    low, high = wilson(different, len(verdicts))
    sys.stdout.write(
        f"{different} of {len(verdicts)} rows of {len(reports)} runs are called different: {100 * different / len(verdicts):.1f} % "
        f"({100 * low:.1f} to {100 * high:.1f} %); unknown: {verdicts.count('unknown')}\n"
    )
    for kind, (seen, allowed, count) in sorted(spreads(reports).items()):
        sys.stdout.write(f"{kind:32} two runs within {seen:5.1f} % of each other, {allowed:4.1f} % is allowed ({count} rows)\n")
    return 1 if different > 0.05 * len(verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
