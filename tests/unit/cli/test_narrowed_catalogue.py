"""Of a text only those checks are built that can have a finding: their findings are those of the whole catalogue."""

from __future__ import annotations

from functools import partial

import pytest
from whole_catalogue import catalogue

from gpudoctor.model.deadline import Deadline
from gpudoctor.model.report import Report
from gpudoctor.services import explaining
from gpudoctor.services.explaining import ExplainRequest, explain

GROUPS = 4
HEALTHY = """Collecting environment information...
PyTorch version: 2.6.0+cu124
CUDA used to build PyTorch: 12.4
OS: Ubuntu 22.04.4 LTS (x86_64)
Is CUDA available: True
GPU models and configuration: GPU 0: NVIDIA GeForce RTX 4090
Nvidia driver version: 550.54.15
[pip3] numpy==1.26.4
"""


def told(text: str, *, whole: bool) -> Report:
    """`why` asks for the outcome of every check, so that none may be left out."""
    return explain(ExplainRequest(text=[text.encode()], why=whole)).report


@pytest.fixture(autouse=True)
def no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts are far longer than what a person sends: a slow machine, or one that measures coverage, would leave a part out."""
    monkeypatch.setattr(explaining, "Deadline", partial(Deadline, 600.0))


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """What the examples of all checks say, dealt out over a few texts; two of them alone; a machine without trouble."""
    said = [example.text for check in catalogue().checks for example in check.examples if example.text]
    return ["\n\n".join(said[start::GROUPS]) for start in range(GROUPS)] + [said[0], said[-1], HEALTHY]


@pytest.mark.parametrize("number", range(GROUPS + 3))
def test_the_narrowed_catalogue_gives_the_findings_of_the_whole_one(number: int, texts: list[str]) -> None:
    narrow, whole = told(texts[number], whole=False), told(texts[number], whole=True)
    assert [(found.key, found.confidence, found.title) for found in narrow.findings] == [
        (found.key, found.confidence, found.title) for found in whole.findings
    ]  # fmt: skip
