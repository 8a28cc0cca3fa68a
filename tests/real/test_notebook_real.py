"""`import gpudoctor` in a real Jupyter kernel: what the output cell holds."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.rotates("slow", member="notebooks")

ROOT = Path(__file__).parents[2]
RUN = """
import json, sys
import nbformat
from nbclient import NotebookClient
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in json.load(open(sys.argv[1]))])
NotebookClient(book, timeout=240, kernel_name="python3").execute()
print(nbformat.writes(book))
"""


@pytest.fixture
def cells(environment: Callable[[str], Path], tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Runs sources in a kernel of the environment and gives the last output of each cell."""
    python = environment("notebook") / "bin" / "python"

    def run(*sources: str) -> list[dict[str, Any]]:
        (tmp_path / "cells.json").write_text(json.dumps(sources))
        kept = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython"), "XDG_STATE_HOME": str(tmp_path)}
        environ = {**{name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}, **kept}
        argv = [str(python), "-c", RUN, str(tmp_path / "cells.json")]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300, env=environ, cwd=tmp_path)
        assert done.returncode == 0, done.stderr[-3000:]
        return [(cell["outputs"] or [{}])[-1] for cell in json.loads(done.stdout)["cells"]]

    return run


def test_a_cell_shows_the_report(cells: Callable[..., list[dict[str, Any]]]) -> None:
    machine = ROOT / "tests" / "machines" / "arc-a750-old-kernel"
    shown, value, here, rich = cells(
        f"import gpudoctor\ngpudoctor.check(capture={str(machine)!r})",
        "report = gpudoctor.check()\nreport.to_dict()['schema']",
        "report.facts['python']['executable']",
        "from rich.console import Console\nConsole(width=70, force_jupyter=False).print(report)",
    )
    assert set(shown["data"]) == {"text/plain", "text/html"}
    html, text = "".join(shown["data"]["text/html"]), "".join(shown["data"]["text/plain"])
    assert "is too old for Arc A750" in html and "<script" not in html
    assert text.startswith("Arc A750 · Ubuntu 22.04.4 LTS")
    assert "gpudoctor.report/1" in str(value["data"])
    assert "notebook-" in str(here["data"]), "it looks at the kernel's own environment"
    assert "Python" in "".join(rich["text"])
