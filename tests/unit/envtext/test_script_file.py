"""gpudoctor-env.py as a file: made from the code, small, of Python 3.8 and its library alone."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "gpudoctor-env.py"
LARGEST = 65_000
OF_3_8 = """
    __future__ fnmatch importlib.util json os pathlib platform posixpath re shlex shutil signal stat subprocess sys threading time
""".split()
NEWER = ("removeprefix", "removesuffix", "match_case", "zip(strict", "walrus_never", "functools.cache", "pairwise", "root_dir")
"""Names that Python 3.8 does not have."""


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the words of Python's library, which the script leaves out, are those of 3.11")
def test_it_is_as_the_code_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("env_script_docs", ROOT / "docs" / "env_script.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    monkeypatch.setattr(made, "DERIVED_TEXT", made.derived())
    assert made.DERIVED.read_text(encoding="utf-8") == made.DERIVED_TEXT, "python docs/env_script.py --write"
    assert SCRIPT.read_text(encoding="utf-8") == made.script(), "python docs/env_script.py --write"


def test_it_is_small_and_readable() -> None:
    source = SCRIPT.read_text(encoding="utf-8")
    assert len(source.encode()) <= LARGEST
    assert not re.search(r"[A-Za-z0-9+/]{200}", source) and "base64" not in source and "gpudoctor.envtext import" not in source


def test_python_3_8_reads_it_and_has_what_it_imports() -> None:
    source = SCRIPT.read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 8))
    imported = {
        module for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))
        for module in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }  # fmt: skip
    assert imported <= set(OF_3_8)
    assert [name for name in NEWER if name in source] == []
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.returns is not None]
