"""Which stacks a text speaks of."""

from __future__ import annotations

import pytest

from gpudoctor.model.facts import Facts
from gpudoctor.readers.evidence import Evidence
from gpudoctor.readers.topics import stacks_of


@pytest.mark.parametrize(
    "text", ["oneccl_bindings_for_pytorch is not there", "torch-ccl does not build", "import torch_ccl", "ipex.optimize fails"]
)
def test_intels_collectives_are_of_its_extension(text: str) -> None:
    assert stacks_of(text, Evidence(), Facts())[0] == "ipex"


def test_a_text_that_speaks_of_none_has_none() -> None:
    assert stacks_of("the screen is black", Evidence(), Facts()) == []
