"""What goes with the torch that pip, uv or poetry was asked for."""

from __future__ import annotations

import pytest

from gpudoctor.facts.derive.pairs import DERIVATION
from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.requirements import read
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.facts import Absent, Facts, Known, Unknown
from gpudoctor.model.signature import Numbered

ASKED = {
    "ERROR: Could not find a version that satisfies the requirement torch==2.5.1+cu121 (from versions: 2.5.1)": "2.5.1+cu121",
    "ERROR: Cannot install torchvision==0.16.0 and torch==2.0.0 because these package versions have conflicting dependencies.": "2.0.0",
    "torchvision 0.20.1 requires torch==2.5.1, but you have torch 2.6.0 which is incompatible.": "2.6.0",
    "Unable to find installation candidates for torch (2.1.0)": "2.1.0",
    "The user requested torch==2.4.1": "2.4.1",
}


@pytest.mark.parametrize("text", sorted(ASKED))
def test_the_torch_that_was_asked_for(text: str) -> None:
    evidence = Evidence()
    read(Sheet([Numbered(1, text)]), evidence)
    assert evidence.facts["text.torch_asked"] == Known(ASKED[text], "text")


def _told(asked: str, python: str = "") -> dict[str, object]:
    facts = Facts()
    facts.set("text.torch_asked", Known(asked))
    if python:
        facts.set("python.version", Known(python))
    return dict(DERIVATION.derive(facts))


def test_partners_python_and_index() -> None:
    told = _told("2.0.0+cu118", "3.12.1")
    assert told["pairs.partners"] == Known("torchvision 0.15.1 and torchaudio 2.0.1", "python-partners")
    assert told["pairs.index"] == Known("https://download.pytorch.org/whl/cu118", "text")
    assert told["pairs.python_ok"] == Known(False, "python-partners")


def test_a_local_part_of_nobody_names_no_index() -> None:
    assert isinstance(_told("2.5.1+gitabc")["pairs.index"], Absent)


def test_without_a_resolver_nothing_is_known() -> None:
    assert all(isinstance(fact, Unknown) for _, fact in DERIVATION.derive(Facts()))
