"""What validate notices of known faults, and how often it alarms where there is none: `python benchmarks/fault_corpus.py --help`.

Environments and faults are those of tests/real. A line for each fault, as soon as it is known; shares and intervals at the end.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "real"))

from environments import build
from faults import noticing
from faults.corpus import DEVICES, FAULTS, Fault
from faults.environment import NAMES, faulty

SURE = 1.96
"""Standard deviations of an interval that holds in 95 of 100 cases."""
ONLY = {"torch": "cpu", "onnxruntime": "ort:CPUExecutionProvider", "openvino": "openvino:CPU", "jax": "jax:cpu:0", "opencl": "opencl:0.0"}
"""As --device takes them."""


def by_jobs(fault: Fault, folder: Path) -> str:
    return noticing.noticed(fault, folder)


def by_default(fault: Fault, folder: Path) -> str:
    python = str(faulty(build(NAMES[fault.framework]), folder, fault.framework, fault.name))
    return noticing.by_command(python, "--device", ONLY[fault.framework])


def by_full(fault: Fault, folder: Path) -> str:
    """The default run, and where that sees nothing the operators and a timed training: what --full holds, without its hours."""
    python = str(faulty(build(NAMES[fault.framework]), folder, fault.framework, fault.name))
    device = ("--device", ONLY[fault.framework])
    said = noticing.by_command(python, *device)
    if not said and fault.framework == "torch":
        said = noticing.by_command(python, *device, "--operators") or noticing.by_command(python, *noticing.TRAINING)
    return said


RUNS: dict[str, Callable[[Fault, Path], str]] = {"jobs": by_jobs, "default": by_default, "full": by_full}


def interval(hits: int, runs: int) -> tuple[float, float]:
    """Wilson's, of a share."""
    if not runs:
        return 0.0, 1.0
    share, square = hits / runs, SURE**2
    centre = (share + square / (2 * runs)) / (1 + square / runs)
    reach = SURE / (1 + square / runs) * math.sqrt(share * (1 - share) / runs + square / (4 * runs**2))
    return max(0.0, centre - reach), min(1.0, centre + reach)


def share(what: str, hits: int, runs: int) -> str:
    low, high = interval(hits, runs)
    return f"{what}: {hits} of {runs} ({low:.1%} to {high:.1%})\n"


def tried(rows: Sequence[Fault], run: Callable[[Fault, Path], str], word: str) -> int:
    """How many of these rows something was said of."""
    hits = 0
    for row in rows:
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            try:
                said = run(row, Path(folder) / "environment")
            except Exception as error:  # a run that broke is a line, and the next ones are tried
                said = ""
                sys.stdout.write(f"broken  {row.framework} {row.name}: {error}\n")
        hits += bool(said)
        sys.stdout.write(f"{word if said else 'nothing':<8}{row.framework} {row.name or '(sound)'}  {said[:160]}\n")
        sys.stdout.flush()
    return hits


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", choices=sorted(RUNS), default="jobs", help="jobs: the worker's jobs alone; default, full: the command")
    parser.add_argument("--framework", choices=sorted(DEVICES), action="append", help="may be given several times; without: all")
    parser.add_argument("--every", type=int, default=1, help="each n-th fault only")
    parser.add_argument("--sound", type=int, default=0, help="runs of each framework without a fault")
    asked = parser.parse_args()
    frameworks = asked.framework or sorted(DEVICES)
    run, shares, good = RUNS[asked.run], [], True
    for framework in frameworks:
        rows = [fault for fault in FAULTS if fault.framework == framework][:: asked.every]
        hits = tried(rows, run, "noticed")
        shares.append(share(f"{framework}, {asked.run}: noticed", hits, len(rows)))
        good &= hits >= (0.98 if asked.run == "full" else 0.9) * len(rows)
    sound = [Fault(framework, "", "operators") for framework in frameworks for _ in range(asked.sound)]
    alarms = tried(sound, run, "ALARM")
    sys.stdout.writelines(shares)
    if sound:
        sys.stdout.write(share("alarms on sound frameworks", alarms, len(sound)))
    return 0 if good and not alarms else 1


if __name__ == "__main__":
    sys.exit(main())
