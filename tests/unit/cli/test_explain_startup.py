"""What `explain` of a short text costs at the start, counted: checks built, modules imported, expressions compiled."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from gpudoctor.facts import vocabulary
from gpudoctor.knowledge.loader import our_catalogue

COUNTED = """
import json, re, sys
compiled = 0
compiler = re._compiler if hasattr(re, "_compiler") else __import__("sre_compile")
genuine = compiler.compile
def counting(*given):
    global compiled
    compiled += 1
    return genuine(*given)
compiler.compile = counting
from gpudoctor.services import explaining
built = []
from gpudoctor.knowledge import loader
build = loader.check_from
def building(table, *given, **more):
    built.append(table["id"])
    return build(table, *given, **more)
loader.check_from = building
text = b"RuntimeError: CUDA error: no kernel image is available for execution on the device\\n"
found = explaining.explain(explaining.ExplainRequest(text=[text]))
print(json.dumps({"compiled": compiled, "built": built, "modules": sorted(sys.modules), "found": len(found.report.findings)}))
"""


@pytest.mark.starts_processes("what is imported at the start is counted in a fresh Python")
def test_a_short_text_builds_and_imports_only_what_it_needs() -> None:
    our_catalogue(vocabulary.items())  # fresh from here on: making it compiles every expression of a check
    run = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, check=True, timeout=120)
    told = json.loads(run.stdout)
    assert told["found"] and len(told["built"]) < 15, told["built"]
    assert told["compiled"] < 212, told["compiled"]
    assert not {"rich", "requests", "psutil", "jinja2", "asyncio", "hypothesis"} & set(told["modules"])
