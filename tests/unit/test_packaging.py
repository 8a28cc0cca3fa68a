"""What the ways of packaging must agree on: the dependencies, the versions, the Pythons."""

from __future__ import annotations

import json
import re
from pathlib import Path

from packaging.requirements import Requirement

from gpudoctor.model import toml_text

ROOT = Path(__file__).resolve().parents[2]
PROJECT = toml_text.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_lock_of_the_pyz_answers_every_dependency() -> None:
    lock = json.loads((ROOT / "packaging" / "pyz" / "lock.json").read_text(encoding="utf-8"))
    locked = {row["project_name"]: row["version"] for resolve in lock["locked_resolves"] for row in resolve["locked_requirements"]}
    for text in PROJECT["dependencies"]:
        wanted = Requirement(text)
        assert wanted.specifier.contains(locked[wanted.name]), f"{text}: run packaging/pyz/build.py --lock"


def test_the_lock_names_an_index_that_everybody_has() -> None:
    text = (ROOT / "packaging" / "pyz" / "lock.json").read_text(encoding="utf-8")
    assert set(re.findall(r'"url": "(https?://[^/]+|file:)', text)) == {"https://files.pythonhosted.org"}


def test_the_oldest_python_is_the_same_everywhere() -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert f'PYTHONS = ("{oldest}"' in (ROOT / "packaging" / "pyz" / "build.py").read_text(encoding="utf-8")
    assert f"python3 (>= {oldest})" in (ROOT / "packaging" / "debian" / "control").read_text(encoding="utf-8")
    assert f"python >={oldest}" in (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
