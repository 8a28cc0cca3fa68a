"""CPU time of whole processes: `python benchmarks/startup.py [runs]`; the goals are for a 2-core machine."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys

# As installed: byte code is kept, the first run writes it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
PROGRAM = [sys.executable, "-m", "gpudoctor"]
GOALS = {"--version": 0.13, "--help": 0.13, "check --quick": 0.30}


def cpu(words: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    late = False
    cases = [("python -c pass", [sys.executable, "-c", "pass"]), *((name, [*PROGRAM, *name.split()]) for name in GOALS)]
    for name, words in cases:
        cpu(words)
        times = [cpu(words) for _ in range(runs)]
        middle, goal = statistics.median(times), GOALS.get(name)
        late |= goal is not None and middle > goal
        sys.stdout.write(f"{name:<16} {middle:.3f} s  [{min(times):.3f} {max(times):.3f}]  {f'goal {goal}' if goal else ''}\n")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
