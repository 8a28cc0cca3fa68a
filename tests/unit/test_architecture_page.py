"""docs/architecture.md says what the code is: its picture, its list of folders, and every path that it names."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import import_graph  # noqa: E402

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def test_the_picture_is_that_of_the_imports() -> None:
    assert import_graph.picture() in PAGE, "python docs/import_graph.py --write draws it"


def test_every_folder_of_the_package_has_its_row_and_no_other() -> None:
    table = PAGE.partition("## What each folder does")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", table, re.M)
    there = {path.name for path in (ROOT / "gpudoctor").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert sorted(listed) == sorted(there)


def test_every_path_that_is_named_is_there() -> None:
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?)`", PAGE))
    assert len(named) > 20
    missing = [path for path in named if not any((place / path).exists() for place in (ROOT, ROOT / "gpudoctor"))]
    assert missing == []


def test_a_circle_or_a_longer_way_is_seen() -> None:
    edges = {("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("a", "d")}
    assert import_graph.reduced(edges) == [("a", "b"), ("b", "c"), ("c", "d")]
