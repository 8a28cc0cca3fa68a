from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from reports import HINT, KERNEL, report

from gpudoctor.reporters.report import json_report
from gpudoctor.reporters.shared import schema
from gpudoctor.reporters.shared.escape import plain, visible


def test_a_report_is_one_document_that_the_published_schema_accepts() -> None:
    text = json_report.render(report(), {"archived": "we know"})
    document = json.loads(text)
    assert schema.complaints(document) == []
    assert text.isascii()
    assert document["findings"][0]["advice"]["commands"] == ["sudo apt install linux-generic-hwe-22.04"]
    assert document["findings"][1]["caused_by"] == document["findings"][0]["key"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"findings": (replace(KERNEL, confidence="possible"),)}, "findings/0"),
        ({"findings": (replace(HINT, layer="kernel driver"),)}, "findings/0/layer"),
        ({"created": "yesterday"}, "created"),
        ({"origin": "guess"}, "origin"),
        ({"facts": {"gpus": [{"access": "yes"}]}}, "facts/gpus/0/access"),
        ({"summary": {"errors": -1, "warnings": 0, "infos": 0, "unknown": 0, "first_broken": None}}, "summary/errors"),
    ],
)
def test_the_schema_refuses(change: dict[str, object], place: str) -> None:
    assert [line for line in schema.complaints(json_report.document(report(**change))) if line.startswith(place)]


def test_foreign_values_become_plain() -> None:
    assert plain({1: float("nan"), "s": {"b", "a"}, "t": (1, object)})["s"] == ["a", "b"]
    assert plain(float("inf")) is None


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain ß 漢", "plain ß 漢"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Ja\x07b\x00", "ab"),
        ("a\u202eb\u2066c\u200bd", "abcd"),
        ("a\nb\tc", "a b c"),
        ("\ud800x", "\N{REPLACEMENT CHARACTER}x"),
    ],
)
def test_visible(given: str, shown: str) -> None:
    assert visible(given) == shown


def test_multiline_keeps_lines() -> None:
    assert visible("a\nb\x1b[1mc", multiline=True) == "a\nbc"
