"""The parts of engines that need no other machine: command lines, the labels of srun, names of workers."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from gpudoctor.model.fleet_row import LARGEST_READ
from gpudoctor.model.node_sets import is_name
from gpudoctor.system.engines import remote_words
from gpudoctor.system.engines.asking import Asked, EngineError
from gpudoctor.system.engines.srun import _Lines
from gpudoctor.system.engines.worker_answers import answer, chosen, named


def asked(**given: object) -> Asked:
    usual = {"hosts": ["n1"], "command": ["my doctor", "$(id)"], "arguments": ["check"], "variables": {"A": "b;c"}, "timeout": 9.0}
    return Asked(**{**usual, **given})  # type: ignore[arg-type]


def test_the_line_for_ssh_is_read_back_as_the_same_words() -> None:
    assert shlex.split(remote_words.plain(asked(), "n1")) == ["env", "A=b;c", "GPUDOCTOR_HOST=n1", "my doctor", "$(id)", "check"]
    folder = remote_words.new_folder()
    words = shlex.split(remote_words.as_line(remote_words.run_file(asked(file=Path("/x.pyz"), checksum="ab"), folder, "n1")))
    assert words[:2] == ["sh", "-c"] and words[3:] == ["sh", folder, "ab", "A=b;c", "GPUDOCTOR_HOST=n1", f"{folder}/gpudoctor.pyz", "check"]
    assert folder != remote_words.new_folder()


def test_labelled_output_of_srun_is_joined_and_belongs_to_the_host_of_its_task() -> None:
    lines = _Lines(["n1", "n7"])
    assert [
        lines.add(text) for text in ('0: {"schema":"gpudoctor.row/1","a":', '1: {"schema":"x"', "0:  1}", "9: lost", "no label", "1: }")
    ]
    assert lines.row("n1") == b'{"schema":"gpudoctor.row/1","a": 1}'
    assert lines.row("n7") == b'{"schema":"x"}'
    for _ in range(3):
        lines.add("1: " + "x" * LARGEST_READ)
    assert lines.flooded("n7") and not lines.flooded("n1")


def test_srun_says_how_tasks_ended() -> None:
    lines = _Lines(["n1", "n2", "n3"])
    said = "srun: error: n[1,3]: tasks 0,2: Exited with exit code 127\nsrun: error: n2: task 1-99999999: Killed\n1: sh: not found\n"
    assert lines.reasons(said) == {
        "n1": (127, "Exited with exit code 127"), "n3": (None, "Killed"), "n2": (None, "Killed"),
    }  # fmt: skip
    assert lines.errors("n2", said) == "sh: not found"


def test_workers_are_called_by_their_host_or_by_its_address_where_two_say_the_same() -> None:
    addresses = {"w1": "10.0.0.1", "w2": "10.0.0.1", "w3": "10.0.0.2", "w4": "fe80::1", "w5": "10.0.0.5"}
    names = named({"w1": "gpu1", "w2": "gpu1", "w3": "vm", "w4": "vm", "w5": "bad name"}, addresses)
    assert names == {"w1": "gpu1", "w2": "gpu1", "w3": "10.0.0.2", "w4": "fe80--1", "w5": "10.0.0.5"}
    assert chosen(names, "", []) == {"gpu1": "w1", "10.0.0.2": "w3", "fe80--1": "w4", "10.0.0.5": "w5"}
    assert chosen(names, "gpu1", ["gpu1"]) == {"gpu1": "w1"}
    with pytest.raises(EngineError, match="no worker runs on gpu9"):
        chosen(names, "gpu9", ["gpu9"])


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ((None, b"", b""), "no answer within 9 s"),
        ((1, b"", b"/usr/bin/python: No module named gpudoctor"), "gpudoctor is not installed in the environment of the worker"),
        ((0, b"x" * (LARGEST_READ + 1), b""), f"its answer has more than {LARGEST_READ} bytes"),
        ("text", "the worker gave something else than an answer"),
        (ValueError("x"), "the worker failed: ValueError"),
    ],
)
def test_what_a_worker_gives_back_is_checked(given: object, why: str) -> None:
    assert answer("n1", asked(), given).why == why


@pytest.mark.parametrize(("address", "name"), [("[::1]", "1"), ("fe80::1", "fe80--1"), ("::", "unnamed"), ("10.0.0.1", "10.0.0.1")])
def test_an_address_becomes_a_name_that_a_row_may_have(address: str, name: str) -> None:
    assert named({}, {"worker": address}) == {"worker": name} and is_name(name)
