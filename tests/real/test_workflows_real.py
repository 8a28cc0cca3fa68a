"""The workflows of this repository, as actionlint reads them: they cannot run here."""

from __future__ import annotations

from pathlib import Path

import format_validators
import pytest

pytestmark = pytest.mark.real
FOLDER = Path(__file__).resolve().parents[2] / ".github" / "workflows"


def test_actionlint_finds_nothing() -> None:
    files = sorted(FOLDER.glob("*.yml"))
    assert files and format_validators.workflow_faults(files) == []


def test_it_would_find_a_matrix_that_does_not_exist(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text((FOLDER / "test.yml").read_text(encoding="utf-8").replace("runs-on: ubuntu-latest", "runs-on: ${{ matrix.oz }}"))
    (fault,) = format_validators.workflow_faults([wrong])
    assert fault.startswith("wrong.yml:") and '"oz" is not defined' in fault
