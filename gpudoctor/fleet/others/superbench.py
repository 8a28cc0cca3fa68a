"""SuperBench: what `sb result diagnosis` writes as JSON or JSON lines, one object for each node.

A node that is listed without `Accept` is a defective one; with `--output-all` the others are listed too, as accepted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.fleet.others.result import Result, mapping, objects, ordered, verdict, words
from gpudoctor.model.fleet_row import FAIL, PASS

PROGRAM = "superbench"
_NODE = ("index", "Index")
_DETAILS = ("Issue Details", "Defect Details")


def read(document: object) -> tuple[Result, ...] | None:
    """One result for each node; None for a document of another program."""
    nodes = objects(document) or [mapping(document)]
    if not all(any(name in node for name in _NODE) and any(name in node for name in ("Category", "Accept", *_DETAILS)) for node in nodes):
        return None
    return tuple(_node(each) for each in nodes)


def _node(node: Mapping[str, Any]) -> Result:
    host = next(words(node[name], 300) for name in _NODE if name in node)
    details = next((text for name in _DETAILS if (text := words(node.get(name)))), "")
    categories = [each.strip() for each in re.split(r"[,;]", words(node.get("Category"))) if each.strip()]
    if categories or node.get("Accept") is not True:
        found = [verdict(PROGRAM, each, FAIL, detail=details) for each in categories or ["data diagnosis"]]
    else:
        found = [verdict(PROGRAM, "data diagnosis", PASS)]
    return Result(program=PROGRAM, host=host, verdicts=ordered(found))
