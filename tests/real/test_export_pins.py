"""Tables of releases held against the package index: what an export pins exists, and what audit says is demanded is demanded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.facts.derive._tables import table

PINS = [(row["name"], row["version"], row["python"]) for row in table("setup-pins")["package"]]
DEMANDS = [("vllm", "0.6.6", "torch==2.5.1"), ("xformers", "0.0.29.post2", "torch==2.6.0"), ("torch", "2.8.0", "triton==3.4.0")]
"""One of each table."""
PLATFORMS = ("any", "manylinux1_x86_64", "manylinux2014_x86_64", *(f"manylinux_2_{minor}_x86_64" for minor in range(17, 40)))
"""Tags that wheels for Linux carry: a tag that is named to pip stands for itself alone."""


def metadata(name: str, version: str, folder: Path) -> dict[str, Any]:
    platforms = [word for tag in PLATFORMS for word in ("--platform", tag)]
    argv = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--ignore-installed", "--ignore-requires-python",
            "--report", "-", "--only-binary=:all:", "--target", str(folder), "--python-version", "3.12", *platforms]  # fmt: skip
    for python in ("3.12", "3.11", "3.10"):
        argv[argv.index("--python-version") + 1] = python
        done = subprocess.run([*argv, f"{name}=={version}"], capture_output=True, text=True, timeout=300)
        if done.returncode == 0:
            return dict(json.loads(done.stdout)["install"][0]["metadata"])
    raise AssertionError(done.stderr[-500:])


@pytest.mark.rotates("a pin of an export")
@pytest.mark.parametrize(("name", "version", "python"), PINS)
def test_a_pin_of_an_export_is_on_the_index(name: str, version: str, python: str, tmp_path: Path) -> None:
    assert (metadata(name, version, tmp_path).get("requires_python") or "") == python


@pytest.mark.rotates("a demand of the tables")
@pytest.mark.parametrize(("name", "version", "demand"), DEMANDS)
def test_a_demand_of_the_tables_is_in_the_metadata(name: str, version: str, demand: str, tmp_path: Path) -> None:
    said = [text.replace(" ", "").partition(";")[0] for text in metadata(name, version, tmp_path)["requires_dist"]]
    assert demand in said
    wanted, _, release = demand.partition("==")
    if name == "xformers":
        (row,) = [row for row in table("python-partners")["torch"] if row["version"] == release]
        assert version in row["xformers"]
    else:
        rows = table("audit-packages")["triton"] if wanted == "triton" else table("audit-packages")["demands_torch"][name]
        assert rows[version] == release
