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
_CATEGORY = ("diagnosis/category", "Category")
_DETAILS = ("diagnosis/issue_details", "Issue Details", "Defective Details")
_ACCEPT = ("diagnosis/accept", "Accept")
"""The columns, as the current version and former ones call them. The rest of an object are the measurements of the node."""


def read(document: object) -> tuple[Result, ...] | None:
    """One result for each node; None for a document of another program."""
    nodes = objects(document) or [mapping(document)]
    if not all(any(name in node for name in _NODE) and any(name in node for name in _CATEGORY + _DETAILS + _ACCEPT) for node in nodes):
        return None
    return tuple(_node(each) for each in nodes)


def _node(node: Mapping[str, Any]) -> Result:
    host = next(words(node[name], 300) for name in _NODE if name in node)
    details, category = (next((text for name in names if (text := words(node.get(name)))), "") for names in (_DETAILS, _CATEGORY))
    categories = [each.strip() for each in re.split(r"[,;]", category) if each.strip()]
    if categories or not any(node.get(name) is True for name in _ACCEPT):
        found = [verdict(PROGRAM, each, FAIL, detail=details) for each in categories or ["data diagnosis"]]
    else:
        found = [verdict(PROGRAM, "data diagnosis", PASS)]
    return Result(program=PROGRAM, host=host, verdicts=ordered(found))
