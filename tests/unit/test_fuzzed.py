"""What tests/real/test_hostile_files.py relies on; and templates, which are hostile as well, are filled in linear time."""

from __future__ import annotations

import sys
from pathlib import Path

import fuzzing
import pytest
from command_runner import CommandRunner

from gpudoctor.model.facts import Facts, Known
from gpudoctor.rules.templates import fields_of, fill, fill_command


def test_a_fault_is_seen() -> None:
    """What the other test looks for: each kind of it is recognised."""
    good = fuzzing.Ran(1, 0, 0.2, 50 << 20, "", "")
    assert good.fault() == ""
    for changed in ({"status": 3}, {"seconds": 6.0}, {"most": 400 << 20}, {"error": "Traceback (most recent call last)"}, {"signal": 9},
                    {"out": "\x1b[31m"}):  # fmt: skip
        assert fuzzing.Ran(**{**good.__dict__, **changed}).fault()


@pytest.mark.starts_processes("the runner of commands is a child, whose memory is counted")
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory of a child as Linux does")
def test_memory_of_the_tests_does_not_count(tmp_path: Path) -> None:
    """A fork of this process would begin with its 320 MB."""
    held = bytearray(b"x") * 320_000_000
    (tmp_path / "log.txt").write_text("CUDA error: out of memory\n")
    with CommandRunner() as runner:
        ran = runner.run(tmp_path, ["explain", "log.txt"])
    assert held and ran.status in (0, 1)
    assert ran.most < 120_000_000


@pytest.mark.parametrize("unit", ["{", "}", "{a|", "{a.", "a|", "{gpu.name", "{kernel.release}"])
def test_templates_are_filled_in_linear_time(unit: str) -> None:
    """Values are long and hostile, and so are the templates of a folder of checks that somebody else made."""
    import time

    facts = Facts({"kernel.release": Known(unit * 200, "x")})
    seconds = []
    for length in (20_000, 80_000):
        template = unit * (length // len(unit))
        began = time.thread_time()
        fields_of(template), fill(template, facts), fill_command(template, facts)
        seconds.append(time.thread_time() - began)
    assert seconds[1] < 10 * seconds[0] + 0.1, seconds
