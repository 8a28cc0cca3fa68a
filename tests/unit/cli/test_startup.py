"""What the start of a command costs, counted: modules imported, expressions compiled, records made, checks built."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from gpudoctor.facts import vocabulary
from gpudoctor.knowledge.loader import our_catalogue

COUNTED = """
import json, re, sys
compiled, built = [], []
compiler = re._compiler if hasattr(re, "_compiler") else __import__("sre_compile")
genuine = compiler.compile
def counting(pattern, *given):
    frame = sys._getframe()
    while frame is not None and "gpudoctor" not in frame.f_globals.get("__name__", ""):
        frame = None if "tomllib" in frame.f_globals.get("__name__", "") else frame.f_back
    if frame is not None:
        compiled.append(str(pattern))
    return genuine(pattern, *given)
compiler.compile = counting
from gpudoctor.cli import run
from gpudoctor.knowledge import loader
build = loader.check_from
def building(table, *given, **more):
    built.append(table["id"])
    return build(table, *given, **more)
loader.check_from = building
shown, sys.stdout = sys.stdout, open(__import__("os").devnull, "w")
status = run(sys.argv[1:])
sys.stdout = shown
print(json.dumps({"compiled": compiled, "built": built, "modules": sorted(sys.modules), "status": status}))
"""
NEVER = frozenset({
    "asyncio", "dataclasses", "hypothesis", "importlib.metadata", "jinja2", "logging", "psutil", "requests", "rich", "subprocess",
    "tempfile", "urllib.request", "yaml",
})  # fmt: skip
"""Modules that no start needs. Records are structs of msgspec, since a dataclass is made by Python at each start."""


def started(*words: str) -> Any:
    our_catalogue(vocabulary.items())  # fresh from here on: making it compiles every expression of a check
    command = [sys.executable, "-c", COUNTED, *words]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)


@pytest.mark.starts_processes("what is imported at the start is counted in a fresh Python")
def test_a_quick_check_imports_and_compiles_only_what_it_needs() -> None:
    told = started("check", "--quick")
    ours = [name for name in told["modules"] if name.startswith("gpudoctor")]
    assert told["status"] in (0, 1)
    assert not NEVER & set(told["modules"])
    assert not [
        name for name in ours if name.startswith(("gpudoctor.facts.text.", "gpudoctor.capture.recorded", "gpudoctor.diagnosis.messages"))
    ]
    assert len(ours) < 185, ours
    assert len(told["compiled"]) < 105, told["compiled"]


@pytest.mark.starts_processes("what is imported at the start is counted in a fresh Python")
def test_a_short_text_builds_and_imports_only_what_it_needs() -> None:
    told = started("explain", "RuntimeError: CUDA error: no kernel image is available for execution on the device")
    assert told["status"] == 1 and len(told["built"]) < 15, told["built"]
    assert not NEVER & set(told["modules"])
    assert len(told["compiled"]) < 240, told["compiled"]
