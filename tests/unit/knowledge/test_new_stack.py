"""A stack is data: one file stack.toml gives it a ladder, names, and the texts and measurements that are its own. No Python is written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor.facts import vocabulary
from gpudoctor.facts.measured_facts import records
from gpudoctor.facts.text import reading
from gpudoctor.facts.text.cleaning import lines_of
from gpudoctor.knowledge import paths, stack_names
from gpudoctor.knowledge.lint import lint
from gpudoctor.knowledge.loader import read_folder
from gpudoctor.model.facts import Facts
from gpudoctor.model.measurement import Measurement
from gpudoctor.services import checking

ROOT = Path(__file__).resolve().parents[3]
STACK = r"""
stack = "torch-lilac"
title = "PyTorch on Lilac accelerators"

[names]
aliases = ["lilac", "petal"]
device = "lilac"
kin = "lilac"
serves = ["training"]
frameworks = ["torch_lilac"]
measured_as = ["torch lilac"]
words = ['\blilac\b']

[applicable]
all = [ { fact = "python.distributions.torch", known = true } ]

[used]
all = [ { fact = "python.distributions.torch", known = true } ]

[[rung]]
layer = "device"
detail = "a Lilac card"
missing = "no Lilac card on this machine"
ok = { fact = "gpus", matches = "lilac" }
"""


@pytest.fixture(autouse=True)
def with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    checks = tmp_path / "checks"
    shutil.copytree(ROOT / "checks" / "stacks", checks / "stacks")
    (checks / "stacks" / "torch-lilac").mkdir()
    (checks / "stacks" / "torch-lilac" / "stack.toml").write_text(STACK)
    monkeypatch.setattr(paths, "checkout_checks", lambda: checks)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    stack_names.all_names.cache_clear()
    yield
    stack_names.all_names.cache_clear()


def test_it_has_its_ladder_and_is_asked_for_by_any_of_its_names() -> None:
    capture = str(ROOT / "tests" / "machines" / "arc-a750-old-kernel")
    report = checking.check(checking.CheckRequest(capture=capture, stack="petal"))
    (ladder,) = (result for result in report.stacks if result.stack == "torch-lilac")
    assert (ladder.title, ladder.verdict, ladder.serves) == ("PyTorch on Lilac accelerators", "incomplete", ("training",))
    assert [(rung.layer, rung.status, rung.detail) for rung in ladder.layers] == [
        ("device", "not-reached", "no Lilac card on this machine")
    ]


def test_a_rung_that_takes_an_unknown_fact_for_a_missing_one_is_a_mistake(tmp_path: Path) -> None:
    folder = tmp_path / "two-valued"
    (folder / "stacks" / "torch-lilac").mkdir(parents=True)
    rung = 'ok = { any = [{ fact = "kernel.release", known = true }, { fact = "kernel.modules", contains = "lilac" }] }'
    (folder / "stacks" / "torch-lilac" / "stack.toml").write_text(f"{STACK.rpartition('ok =')[0]}{rung}\n")
    checks, stacks = read_folder(folder, vocabulary.items())
    assert lint(checks, stacks, vocabulary.specs()) == [
        "torch-lilac/stack.toml: rung[0].ok: 'kernel.release' known = true is false where the fact is unknown; write present = true"
    ]


def test_texts_speak_of_it() -> None:
    facts = Facts()
    evidence, sheet = reading.take(lines_of("RuntimeError: the lilac backend has no kernel for this operator"))
    reading.settle(evidence, sheet, facts)
    assert facts.value("text.stacks") == ["torch-lilac"]


def test_its_measurements_fill_its_rungs() -> None:
    measured = Measurement(workload="matmul", task="micro", framework="torch", backend="lilac", device="lilac:0", dtype="float32")
    (record,) = records([measured])
    assert record["stacks"] == ["torch-lilac"]


def test_a_name_that_is_nearly_right_is_proposed() -> None:
    assert stack_names.suggestion("petall", stack_names.every_name()) == " (did you mean 'petal'?)"
    with pytest.raises(checking.RequestError, match="petal"):
        checking.check(checking.CheckRequest(capture=str(ROOT / "tests" / "machines" / "arc-a750-old-kernel"), stack="petall"))
