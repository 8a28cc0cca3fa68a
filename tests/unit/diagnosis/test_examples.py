"""The outcome of a check for one of its own examples: of all its items the weightiest one."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.diagnosis.examples import outcome_of, prepared
from gpudoctor.knowledge.structure import check_from
from gpudoctor.model.check import Check
from gpudoctor.model.facts import Facts, Known


def check(**more: Any) -> Check:
    table = {
        "id": "a", "title": "a", "severity": "error", "layer": "compute", "stacks": ["torch-xpu"], "explanation": "why",
        "advice": {"do": "do"}, **more,
    }  # fmt: skip
    return check_from(table, "x/a.toml", "x", {"gpus": "gpu"})


EACH = check(for_each="gpus", applies={"fact": "gpu.vendor", "is": "amd"}, problem={"fact": "gpu.bad", "is": True})
BAD, FINE, OTHER, OPEN = (
    {"vendor": "amd", "bad": True}, {"vendor": "amd", "bad": False}, {"vendor": "intel", "bad": True}, {"vendor": "amd"},
)  # fmt: skip


@pytest.mark.parametrize(
    ("gpus", "outcome"),
    [
        ([FINE, OTHER, OPEN, BAD], "problem"), ([OTHER, FINE, OPEN], "undetermined"), ([OTHER, FINE], "ok"), ([OTHER], "not-applicable"),
        ([], "not-applicable"),
    ],
)  # fmt: skip
def test_the_weightiest_outcome_counts(gpus: list[dict[str, Any]], outcome: str) -> None:
    assert outcome_of(EACH, prepared(Facts({"gpus": Known(gpus)}))) == outcome


def test_a_text_is_read_as_a_person_pasted_it() -> None:
    of_message = check(signature=[{"text": [["device is lost"]]}, {"text": [["gpu has fallen"]]}])
    for text, outcome in (
        ("RuntimeError: device is lost", "problem"), ("RuntimeError: GPU has fallen off", "problem"), ("all is well", "undetermined"),
        ("", "undetermined"),
    ):  # fmt: skip
        assert outcome_of(of_message, prepared(Facts({}), text)) == outcome
    assert prepared(Facts({}), "").text is None
