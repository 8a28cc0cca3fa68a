"""A trouble after which the program computes is none; one that keeps a GPU unused, or of another program, is."""

from __future__ import annotations

import pytest

from gpudoctor.facts.text.cleaning import lines_of
from gpudoctor.facts.text.roles import Roles
from gpudoctor.model.signature import SETTLED, TROUBLE


def first_role(text: str) -> str:
    return Roles(lines_of(text))(0)


@pytest.mark.parametrize(
    "text",
    [
        "WARNING: graph capture failed, falling back to eager mode",
        "[W] capture failed: operation not permitted\nthroughput: 1203 tok/s",
        "MIOpen(HIP): Error [GenericSearch] #12 Failed rc=1\nepoch 1 loss 0.31",
        "warning: libcuda.so.1: cannot open shared object file\nload_tensors: offloaded 33/33 layers to GPU",
    ],
)
def test_a_program_that_goes_on_has_no_trouble(text: str) -> None:
    assert first_role(text) == SETTLED


@pytest.mark.parametrize(
    "text",
    [
        "WARNING: capture failed, falling back to the CPU",
        "[W] capture failed: operation not permitted\nthroughput: 1203 tok/s\nRuntimeError: capture failed",
        "[W] capture failed: operation not permitted\n$ python other.py\nepoch 1 loss 0.31",
        "[W] capture failed: operation not permitted\nthroughput: 12 tok/s\nWhy does the capture fail?",
        "W Cannot dlopen some GPU libraries. Skipping registering GPU devices...\nepoch 1 loss 0.31",
        "warning: libcuda.so.1: cannot open shared object file\nload_tensors: offloaded 3/33 layers to GPU",
        "RuntimeError: CUDA error: out of memory\nepoch 1 loss 0.31",
    ],
)
def test_what_progress_does_not_settle(text: str) -> None:
    assert first_role(text) in TROUBLE
