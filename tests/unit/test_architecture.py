from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.starts_processes("a Python that imports the package alone")

ROOT = Path(__file__).resolve().parents[2]


def test_arrows_go_downwards() -> None:
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


def test_no_file_outgrows_its_reader() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / "gpudoctor").rglob("*.py")
        if (lines := len(path.read_text().splitlines())) >= 400
    }
    assert long == {}
