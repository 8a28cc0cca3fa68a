"""The corpus of faults: each is noticed by the job of the default run that must find it, and sound frameworks raise no alarm."""

from __future__ import annotations

from pathlib import Path

import pytest
from environments import build
from faults import noticing
from faults.corpus import DEVICES, FAULTS, Fault
from faults.environment import NAMES, faulty

from gpudoctor.model.measurement import OK

OF_OPERATORS = [fault for fault in FAULTS if fault.job == "operators"]


@pytest.mark.rotates("fault of the corpus")
@pytest.mark.parametrize("fault", OF_OPERATORS, ids=lambda fault: f"{fault.framework}-{fault.name}")
def test_each_fault_is_named_by_the_quick_set_of_operators(fault: Fault, tmp_path: Path) -> None:
    assert noticing.noticed(fault, tmp_path / "faulty") != ""


@pytest.mark.rotates("sound framework")
@pytest.mark.parametrize("framework", sorted(DEVICES))
def test_a_sound_framework_raises_no_alarm(framework: str, tmp_path: Path) -> None:
    """In the same kind of environment, so that the way in which faults are put in is none itself."""
    python = faulty(build(NAMES[framework]), tmp_path / "sound", framework, "")
    answer = noticing.by_operators(str(python), framework)
    assert answer.status == OK, answer.reason
    assert [row for row in answer.result["operators"] if row["verdict"] != "native"] == []


def test_the_corpus_has_faults_enough_of_each_framework() -> None:
    count = {framework: sum(fault.framework == framework for fault in FAULTS) for framework in DEVICES}
    assert count["torch"] >= 40 and min(count.values()) >= 10
    assert len({(fault.framework, fault.name) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.alone
@pytest.mark.rotates("fault of time")
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.job == "training"], ids=lambda fault: fault.name)
def test_each_fault_that_comes_with_time_fails_the_training(fault: Fault, tmp_path: Path) -> None:
    assert noticing.noticed(fault, tmp_path / "faulty") != ""
