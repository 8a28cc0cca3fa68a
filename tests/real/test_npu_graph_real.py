"""The graph of one operation that tells whether OpenVINO's compiler for a device works, on the one device that is everywhere."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from gpudoctor.facts.probes.frameworks import payload

CODE = """
import sys
import openvino
text = open({path!r}).read()
names = {{"__name__": "inspected", "__file__": {path!r}}}
exec(text[: text.index("try:\\n    inspect(ARGUMENT)")], names)
print(names["openvino_graph"](openvino, "CPU"))
print(names["openvino_graph"](openvino, "NPU").splitlines()[0])
"""


def test_a_graph_is_compiled_where_the_device_is_and_else_the_reason_is_told(environment: Callable[[str], Path]) -> None:
    code = CODE.format(path=payload("inspect_framework.py"))
    ran = subprocess.run([environment("openvino") / "bin" / "python", "-c", code, "openvino"], capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stderr[-2000:]
    compiled, refused = ran.stderr.splitlines()[-2:]  # the script keeps standard output for its own lines
    assert compiled == "compiled"
    assert "NPU" in refused or "Exception" in refused
