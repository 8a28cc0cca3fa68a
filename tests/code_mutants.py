"""Whether the tests of the condition language and of the diagnosis notice a changed line: a tenth of the mutants of their code, by mutmut.

    python tests/code_mutants.py [0-9]

A mutant is the code with one change (a comparison, a constant, an argument, a condition), against which its own tests run. Of all of them
those are taken whose number ends in the digit; without one the day of GPUDOCTOR_TEST_SEED chooses it. Survivors are printed as they are
found in the code. What `mutmut` is given stands in pyproject.toml; it works in the folder `mutants`, and is run at the top of the checkout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tiers import SEED, day_of, today

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("gpudoctor.rules", "gpudoctor.diagnosis")
LEAST_KILLED = 0.9
"""Share of the mutants; it only goes up."""
SURVIVED, UNTESTED, TIMED_OUT = 0, 33, -24
"""What mutmut keeps of a mutant: the exit status of its tests, or that no test comes near it, or that they were ended as too slow."""


def outcomes(digit: str) -> Iterator[tuple[str, int]]:
    """The name of each mutant that was tried, and what became of it."""
    for path in sorted((ROOT / "mutants" / "gpudoctor").rglob("*.meta")):
        tried = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
        yield from ((name, status) for name, status in tried.items() if status is not None and name.endswith(digit))


def main(arguments: list[str]) -> int:
    digit = arguments[0] if arguments else str(day_of(os.environ.get(SEED, today())) % 10)
    if len(digit) != 1 or not digit.isdigit():
        sys.exit(f"code_mutants.py: expected one digit from 0 to 9, found {digit!r}")
    mutmut = str(Path(sys.executable).with_name("mutmut"))
    done = subprocess.run(
        [mutmut, "run", "--max-children", "2", *(f"{package}.*{digit}" for package in PACKAGES)],
        cwd=ROOT, stdout=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    found = dict(outcomes(digit))
    if done.returncode or not found:
        sys.exit(f"code_mutants.py: mutmut ended with status {done.returncode}; see what `mutmut run` says")
    alive = [name for name, status in found.items() if status in (SURVIVED, UNTESTED)]
    for name in alive:
        subprocess.run([mutmut, "show", name], cwd=ROOT, check=False)
    share = 1 - len(alive) / len(found)
    slow = sum(status == TIMED_OUT for status in found.values())
    killed = f"{len(found) - len(alive)} of {len(found)} mutants ({share:.1%}) are killed, {slow} of them by taking too long"
    sys.stdout.write(f"{killed}; at least {LEAST_KILLED:.0%} are wanted\n")
    return 0 if share >= LEAST_KILLED else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
