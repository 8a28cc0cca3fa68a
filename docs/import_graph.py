"""The picture of docs/architecture.md, drawn from the imports of the code: which folder uses which.

    python docs/import_graph.py            prints the Mermaid text
    python docs/import_graph.py --write    puts it into docs/architecture.md

An arrow leads from a folder to one that it imports. Arrows that follow from two others are left out, imports for type checkers too.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "gpudoctor"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "```mermaid\n", "```\n"


def folders() -> list[str]:
    """The folders of the package that hold code."""
    return sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and next(path.rglob("*.py"), None))


def arrows() -> set[tuple[str, str]]:
    """(folder, a folder that it imports), over all files but those that run under another interpreter."""
    names = folders()
    return {
        (folder, target)
        for folder in names
        if folder != "target"
        for path in (PACKAGE / folder).rglob("*.py")
        for module in _imported(ast.parse(path.read_text("utf-8")))
        if (target := module.removeprefix("gpudoctor.").partition(".")[0]) in names and target != folder
    }


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
        if node.module == "gpudoctor":
            yield from (f"gpudoctor.{alias.name}" for alias in node.names)
        elif node.module.startswith("gpudoctor."):
            yield node.module
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.startswith("gpudoctor."))
    for child in ast.iter_child_nodes(node):
        yield from _imported(child)


def reduced(edges: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without each arrow whose end can be reached by a longer way: what remains says the same. The graph has no circle (lint-imports)."""
    below: dict[str, set[str]] = {}
    for begin, end in edges:
        below.setdefault(begin, set()).add(end)

    def reaches(begin: str, end: str) -> bool:
        return any(step == end or reaches(step, end) for step in below.get(begin, ()))

    return sorted((begin, end) for begin, end in edges if not any(reaches(step, end) for step in below[begin] if step != end))


def picture() -> str:
    lines = ["flowchart TD", *(f"  {begin} --> {end}" for begin, end in reduced(arrows())), "  system -. starts .-> target"]
    return BEGIN + "\n".join(lines) + "\n" + END


def main(arguments: list[str]) -> int:
    if arguments != ["--write"]:
        print(picture(), end="")  # noqa: T201
        return 0
    text = PAGE.read_text("utf-8")
    begin = text.index(BEGIN)
    end = text.index(END, begin + len(BEGIN)) + len(END)
    PAGE.write_text(text[:begin] + picture() + text[end:], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
