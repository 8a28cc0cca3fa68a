"""How often `validate --compare` calls two identical runs different, whether it finds a real difference, and how far processes lie apart.

    python benchmarks/identical_runs.py --runs 6 --plant 1.25 --python ENV -- --workload matmul,launch,resnet18 --batch 1

Runs `validate` so many times with the words behind `--`, compares each run with each other one, and prints: the share of rows that are
called faster or slower (5 % at most is right), with its interval; how many are called slower where one of the two is made slower on paper,
by each factor of --slower; by kind of work from which change on a difference is seen, how far two runs lie apart, how far processes of a
run do, and what the table in gpudoctor/benchmark/repeatability.py says of processes. With `--plant FACTOR` each run is followed by one
whose steps really take FACTOR times as long (benchmarks/planted_slowness): of each such run beside each usual one, the rows that are
called slower are counted by kind. Take the machine for nothing else meanwhile. `--from FOLDER` compares reports that are there.
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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpudoctor.benchmark import comparison, repeatability
from gpudoctor.benchmark.repeatability import STATISTICS
from gpudoctor.model.comparison import LEAST_PROCESSES

Z = 1.96
PLANTED = Path(__file__).parent / "planted_slowness"
Report = dict[str, Any]


def one_run(python: str, words: list[str], path: Path, factor: float = 1.0) -> None:
    """Writes the report of a run whose steps take `factor` times as long as they would."""
    command = [sys.executable, "-m", "gpudoctor", "validate", "--format", "json", "-q", "-o", str(path), *words]
    planted = {"PYTHONPATH": str(PLANTED), "PLANTED_SLOWNESS": str(factor)} if factor > 1 else {}
    subprocess.run([*command, *(["--python", python] if python else [])], check=False, env={**os.environ, **planted})


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    share, square = hits / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    reach = Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def slower(report: Report, factor: float) -> Report:
    """The same report of a device that takes `factor` times as long."""
    rows = []
    for each in report["measurements"]:
        latency = each["latency_ms"]
        if latency is not None:
            latency = {**latency, **{name: _times(latency.get(name), factor) for name in (*STATISTICS, *STATISTICS.values())}}
        rows.append({**each, "latency_ms": latency})
    return {**report, "measurements": rows}


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, list):
        return [factor * each for each in value]
    return None if value is None else factor * value


def verdicts(reports: Sequence[Report], factor: float = 1.0) -> list[str]:
    """Of each pair of runs, the first `factor` times slower."""
    pairs = itertools.combinations(reports, 2)
    return [row.verdict for here, there in pairs for row in comparison.compare(slower(here, factor), there).rows]


def planted_found(reports: Sequence[Report], planted: Sequence[Report]) -> dict[str, list[str]]:
    """By workload and task: the verdict of each pair of a run whose steps were really slower, and one whose were not."""
    found: dict[str, list[str]] = {}
    for slow, usual in itertools.product(planted, reports):
        for row in comparison.compare(slow, usual).rows:
            found.setdefault(f"{row.framework} {row.workload} {row.task}", []).append(row.verdict)
    return found


def seen_from(reports: Sequence[Report]) -> dict[str, list[float]]:
    """By workload and task: in each pair of runs, the least ratio of times that would be seen."""
    found: dict[str, list[float]] = {}
    for here, there in itertools.combinations(reports, 2):
        for row in comparison.compare(here, there).rows:
            if row.seen_from is not None:
                found.setdefault(f"{row.framework} {row.workload} {row.task}", []).append(row.seen_from)
    return found


def kind_of(row: Report) -> str:
    return f"{row['backend']} {row['workload'] if row['task'] == 'micro' else row['task']}"


def percent(variances: Sequence[float]) -> float:
    """Half the 95 % interval of the ratio of two, from variances of their logarithms."""
    return 100 * Z * math.sqrt(2 * statistics.fmean(variances))


def spreads(reports: Sequence[Report]) -> dict[str, tuple[float, float | None, float, int]]:
    """By kind, in per cent: how far two runs lie apart, how far two processes of a run do, what the table says of these; and how many
    measurements there were."""
    runs: dict[tuple[str, ...], list[float]] = {}
    within: dict[str, list[float]] = {}
    table: dict[str, float] = {}
    for report in reports:
        for each in report["measurements"]:
            if each["status"] != "ok" or each["latency_ms"] is None:
                continue
            kind = kind_of(each)
            key = (kind, *(str(each[name]) for name in ("workload", "task", "framework", "device", "dtype", "batch")))
            runs.setdefault(key, []).append(math.log(each["latency_ms"]["median"]))
            table[kind] = repeatability.usual_percent(each)
            if len(times := repeatability.processes(each)) >= LEAST_PROCESSES:
                within.setdefault(kind, []).append(statistics.variance(map(math.log, times)))
    between: dict[str, list[float]] = {}
    for key, values in runs.items():
        if len(values) >= 3:
            between.setdefault(key[0], []).append(statistics.variance(values))
    counts = {kind: sum(len(values) for key, values in runs.items() if key[0] == kind) for kind in between}
    return {
        kind: (percent(found), percent(within[kind]) if kind in within else None, table[kind], counts[kind])
        for kind, found in between.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--python", default="", help="the environment to measure in")
    parser.add_argument("--folder", type=Path, default=Path("identical-runs"), help="where the reports go")
    parser.add_argument("--from", dest="there", type=Path, help="compare the reports of this folder, and run nothing")
    parser.add_argument("--slower", type=float, action="append", help="factors, instead of 1.1, 1.3 and 2")
    parser.add_argument("--plant", type=float, default=1.0, help="how much longer the steps of a second run of each pair really take")
    parser.add_argument("words", nargs="*", help="options of validate, behind --")
    given = parser.parse_args()
    folder = given.there or given.folder
    folder.mkdir(parents=True, exist_ok=True)
    if given.there is None:
        for number in range(given.runs):
            one_run(given.python, given.words, folder / f"run-{number + 1}.json")
            if given.plant > 1:
                one_run(given.python, given.words, folder / f"planted-{number + 1}.json", given.plant)
            sys.stdout.write(f"run {number + 1} of {given.runs}, load {os.getloadavg()[0]:.1f}\n")
            sys.stdout.flush()
    paths = sorted(folder.glob("*.json"))
    slowed = [path for path in paths if path.name.startswith("planted-")]
    planted = [json.loads(path.read_text("utf-8")) for path in slowed]
    reports = [json.loads(path.read_text("utf-8")) for path in paths if path not in slowed]
    found = verdicts(reports)
    different = sum(verdict in ("faster", "slower") for verdict in found)
    if not found:
        sys.stdout.write("nothing to compare: two reports with measurements are needed\n")
        return 2
    low, high = wilson(different, len(found))
    sys.stdout.write(
        f"{different} of {len(found)} rows of {len(reports)} runs are called different: {100 * different / len(found):.1f} % "
        f"({100 * low:.1f} to {100 * high:.1f} %); same: {found.count('same')}, unknown: {found.count('unknown')}\n"
    )
    for factor in given.slower or (1.1, 1.3, 2.0):
        changed = verdicts(reports, factor)
        sys.stdout.write(f"made {factor:g} times slower: {changed.count('slower')} of {len(changed)} rows are called slower\n")
    for kind, said in planted_found(reports, planted).items():
        sys.stdout.write(
            f"{kind:40} really slower: {said.count('slower')} of {len(said)} pairs are called slower, {said.count('faster')} faster\n"
        )
    for kind, least in seen_from(reports).items():
        sys.stdout.write(
            f"{kind:40} a change is seen from {100 * (statistics.median(least) - 1):.0f} % on (median of {len(least)} pairs)\n"
        )
    for kind, (runs, processes, allowed, count) in sorted(spreads(reports).items()):
        of_run = f"{processes:5.1f} %" if processes is not None else "  one  "
        sys.stdout.write(f"{kind:24} two runs {runs:5.1f} % apart, two processes {of_run}, table {allowed:4.1f} % ({count} measurements)\n")
    return 1 if different > 0.05 * len(found) else 0


if __name__ == "__main__":
    sys.exit(main())
