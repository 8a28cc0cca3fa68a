"""A fixed number of hostile files through every command that reads somebody else's; `python tests/fuzzing.py SECONDS` tries for longer."""

from __future__ import annotations

import sys

import fuzzing
import pytest

SEED = 20261122
CASES = 28


@pytest.mark.rotates("slow", member="hostile files")
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory and time of a child as Linux does")
@pytest.mark.timeout(300)
def test_hostile_files_end_in_time_and_memory_with_a_status_that_says_so() -> None:
    counts = fuzzing.count(SEED, most=CASES)
    assert not counts.faults, "\n".join(counts.faults)
    assert set(counts.tried) == {"text", "signature", "machine", "report", "policy", "manifest", "check"}
