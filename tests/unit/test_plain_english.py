"""No string that a person reads uses the phrases that docs/guide/style.md bans: of code, of recipes, of documents.

Texts of checks have a lint of their own (`gpudoctor lint checks`), which reads the same list.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.knowledge.text_lint import UNPLAIN

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
QUOTING = {"docs/guide/style.md", "gpudoctor/knowledge/text_lint.py", "gpudoctor/rules/synonyms.py"}
"""They hold the banned phrases themselves."""


def strings_of(path: Path) -> Iterator[tuple[int, str]]:
    """Literals of a module in which words stand, with their lines. Of docstrings only the help of commands counts."""
    tree = ast.parse(path.read_text("utf-8"))
    documents = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and not (isinstance(node, ast.FunctionDef) and node.decorator_list)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents and " " in node.value.strip():
            yield node.lineno, node.value


def values_of(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from values_of(part)


def found_in(path: Path, texts: Iterator[tuple[int, str]]) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    return [f"{name}:{line}: {found[0]!r} in {text.strip()[:80]!r}" for line, text in texts if (found := UNPLAIN.search(text))]


def test_code_prints_plain_english() -> None:
    modules = [path for path in sorted((ROOT / "gpudoctor").rglob("*.py")) if path.relative_to(ROOT).as_posix() not in QUOTING]
    assert [line for path in modules for line in found_in(path, strings_of(path))] == []


@pytest.mark.parametrize("folder", ["recipes", "gpudoctor/data"])
def test_data_is_written_in_plain_english(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.toml"))
    texts = ((path, ((0, text) for text in values_of(tomllib.loads(path.read_text("utf-8"))) if " " in text)) for path in files)
    assert [line for path, strings in texts for line in found_in(path, strings)] == []


def test_documents_are_written_in_plain_english() -> None:
    named = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "checks/README.md")
    files = [*(ROOT / name for name in named), *(ROOT / "docs").rglob("*.md")]
    known = [path for path in files if path.relative_to(ROOT).as_posix() not in QUOTING]
    assert [line for path in known for line in found_in(path, enumerate(path.read_text("utf-8").splitlines(), 1))] == []
