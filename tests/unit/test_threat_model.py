"""Each promise of docs/threat-model.md names tests, and these exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
_NAMED = re.compile(r"`(?:(test_\w+\.py)::)?(test_\w+)`")


def promises() -> list[tuple[str, str]]:
    table = PAGE.partition("## What is promised")[2].partition("\n## ")[0]
    rows = [row.strip("| ").split(" | ") for row in table.splitlines() if row.startswith("| ") and "---" not in row]
    return [(row[0], row[-1]) for row in rows[1:]]


def test_each_promise_names_a_test_that_exists() -> None:
    files = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    assert len(promises()) >= 12
    for promise, held_by in promises():
        named = _NAMED.findall(held_by)
        assert named and named[0][0], f"no test holds: {promise}"
        file = ""
        for given, test in named:
            file = given or file
            assert re.search(rf"^\s*(?:async )?def {test}\(", files.get(file, ""), re.MULTILINE), f"{file} has no {test}"


def test_it_fits_two_screens_and_says_what_is_not_promised() -> None:
    assert len(PAGE.splitlines()) <= 90
    assert all(heading in PAGE for heading in ("## Who attacks", "## What is trusted", "## What is promised", "## What is not promised"))
