"""CPU time of whole processes, in multiples of `python -c pass` of the same run: `python benchmarks/startup.py [runs [PYTHON]]`.

The goals are for an installed wheel with compiled byte code, PYTHON being the interpreter of its environment; a checkout reads more.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys

# As installed: byte code is kept, the first run writes it. In another folder than the checkout, whose package would be found first.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")}
FOLDER = "/"
LINE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
CASES = {"--help": ["--help"], "check --quick": ["check", "--quick"], "explain": ["explain", LINE]}
GOALS = {"--help": 5.0, "check --quick": 12.0, "explain": 14.0}


def cpu(words: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, env=ENVIRONMENT, cwd=FOLDER)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    python = sys.argv[2] if len(sys.argv) > 2 else sys.executable
    commands = {"pass": [python, "-c", "pass"], **{name: [python, "-m", "gpudoctor", *words] for name, words in CASES.items()}}
    for words in commands.values():
        cpu(words)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs):  # in turns, so that a busy moment of the machine meets all of them
        for name, words in commands.items():
            times[name].append(cpu(words))
    unit, late = statistics.median(times["pass"]), False
    for name, measured in times.items():
        middle, goal = statistics.median(measured), GOALS.get(name)
        late |= goal is not None and middle > goal * unit
        sys.stdout.write(f"{name:<14} {middle * 1000:6.1f} ms {middle / unit:6.1f} x  {f'goal {goal:g} x' if goal else ''}\n")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
