"""`gpudoctor explain` of a large log beside `grep -c -F -f` with the same literals: `python benchmarks/explain_large_log.py [MB]`.

The log is made of the lines in tests/machines and in the examples of the checks, shuffled with a fixed seed; the same run measures both, so
that a loaded machine slows both down. Goals: at most 4 times grep's CPU time, at most 150 MB of memory, the same from standard input.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from gpudoctor.facts.text.large import ANCHORS
from gpudoctor.services.explaining import every_anchor

ROOT = Path(__file__).resolve().parent.parent
TIMES, MEMORY = 4.0, 150.0
RUNS = 3
NEEDLE = "RuntimeError: the needle of this benchmark was found\n"
MARK = "needle-of-the-benchmark"
NEEDLE_CHECK = f"""
id = "{MARK}"
title = "The needle is there"
severity = "error"
layer = "runtime"
stacks = ["torch-cuda"]
explanation = "A check of its own: among the examples of all checks every message has rivals that may silence it."
[[signature]]
text = ["the needle of this benchmark"]
[advice]
text = "Nothing."
[[source]]
ref = "https://example.org/needle"
date = 2026-11-22
"""


def real_lines() -> list[str]:
    """Lines that programs print: of ordinary work nine in ten, of check examples and recordings the tenth."""
    import tomllib

    texts = [
        example["text"]
        for path in sorted((ROOT / "checks").glob("*/*.toml"))
        for example in tomllib.loads(path.read_text(encoding="utf-8")).get("example", [])
        if example.get("text")
    ]
    texts += [path.read_text(encoding="utf-8", errors="replace") for path in sorted((ROOT / "tests" / "machines").rglob("*.jsonl"))]
    return [line for text in texts for line in text.splitlines() if line.strip()]


def write_log(path: Path, size: int) -> None:
    chance, lines = random.Random(20261121), real_lines()
    written = 0
    with path.open("w", encoding="utf-8") as log:
        step = 0
        while written < size:
            step += 1
            if chance.random() < 0.1:
                row = chance.choice(lines)[:400] + "\n"
            else:
                when = f"2026-11-21 10:{step // 60 % 60:02}:{step % 60:02}"
                row = f"{when} INFO trainer: epoch {step // 1000} step {step} loss {chance.random():.4f} lr 3e-4\n"
            written += log.write(row)
            if written - len(row) < size // 2 <= written:
                log.write(NEEDLE)


def measured(words: list[str], stdin: Path | None = None) -> tuple[float, float, str]:
    """CPU seconds and peak memory (MB) of a process, and what it printed."""
    with (stdin or Path(os.devnull)).open("rb") as given, tempfile.TemporaryFile() as out:
        process = subprocess.Popen(words, stdin=given, stdout=out, stderr=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
        out.seek(0)
        said = out.read().decode("utf-8", "replace")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, said


def main() -> int:
    size = int(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 100_000_000
    with tempfile.TemporaryDirectory() as folder:
        log, literals = Path(folder) / "log", Path(folder) / "literals"
        write_log(log, size)
        # A literal may end with the line; to grep's file that would be an empty pattern, which every line holds.
        wanted = list(dict.fromkeys(literal.strip("\n") for literal in (*ANCHORS, *every_anchor())))
        literals.write_text("".join(f"{literal}\n" for literal in wanted), encoding="utf-8")
        checks = Path(folder) / "checks" / "needle"
        checks.mkdir(parents=True)
        (checks / f"{MARK}.toml").write_text(NEEDLE_CHECK, encoding="utf-8")
        doctor = [sys.executable, "-m", "gpudoctor", "explain", "--all", "-q", "--checks", str(checks.parent)]
        rows = {"grep": [], "file": [], "stdin": []}  # type: dict[str, list[tuple[float, float, str]]]
        for _ in range(RUNS):
            rows["grep"].append(measured(["grep", "-c", "-F", "-f", str(literals), str(log)]))
            rows["file"].append(measured([*doctor, str(log)]))
            rows["stdin"].append(measured([*doctor, "-"], log))
    grep = sorted(row[0] for row in rows["grep"])[RUNS // 2]
    sys.stdout.write(f"{size / 1e6:.0f} MB, {len(wanted)} literals, load {os.getloadavg()[0]:.1f}, peak of this process "
                     f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB\n")  # fmt: skip
    late = False
    for name, measurements in rows.items():
        cpu, memory = sorted(row[0] for row in measurements)[RUNS // 2], max(row[1] for row in measurements)
        found = "" if name == "grep" else f"  needle {'found' if all(MARK in row[2] for row in measurements) else 'LOST'}"
        late |= name != "grep" and (cpu > TIMES * grep or memory > MEMORY or "LOST" in found)
        sys.stdout.write(f"{name:<6} {cpu:7.2f} s  {cpu / grep:5.2f} x  {memory:6.0f} MB{found}\n")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
