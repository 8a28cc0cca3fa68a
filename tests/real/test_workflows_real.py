"""The workflows of this repository, as actionlint reads them: they cannot run here."""

from __future__ import annotations

import re
from pathlib import Path

import format_validators
import pytest

pytestmark = pytest.mark.real
FOLDER = Path(__file__).resolve().parents[2] / ".github" / "workflows"


NEWER = 'unknown permission scope "attestations"'
"""A scope of GitHub that this actionlint does not know yet; the schema of workflows, which .ci/steps asks too, has it."""


def test_actionlint_finds_nothing() -> None:
    files = sorted(FOLDER.glob("*.yml"))
    assert files and [fault for fault in format_validators.workflow_faults(files) if NEWER not in fault] == []


def test_actions_of_others_are_pinned_to_a_commit() -> None:
    files = [*FOLDER.glob("*.yml"), FOLDER.parents[1] / "action.yml"]
    used = [
        (path.name, line.partition("uses:")[2].strip())
        for path in files
        for line in path.read_text("utf-8").splitlines()
        if "uses:" in line
    ]
    assert len(used) > 5
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", each[1])] == []


def test_it_would_find_a_matrix_that_does_not_exist(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text((FOLDER / "test.yml").read_text(encoding="utf-8").replace("runs-on: ubuntu-latest", "runs-on: ${{ matrix.oz }}"))
    (fault,) = format_validators.workflow_faults([wrong])
    assert fault.startswith("wrong.yml:") and '"oz" is not defined' in fault
