"""A status code that is only named, by a compiler, an interpreter or a list, was returned by nothing."""

from __future__ import annotations

import pytest

from gpudoctor.facts.text.cleaning import lines_of
from gpudoctor.facts.text.named_codes import names_codes


def named(text: str) -> list[bool]:
    lines = lines_of(text)
    return [names_codes(lines, row) for row in range(len(lines))]


@pytest.mark.parametrize(
    "line",
    [
        "error: enumeration value 'hipErrorNoDevice' not handled in switch [-Werror=switch]",
        "a.cpp:7: error: use of undeclared identifier 'hipErrorNoDevice'",
        "a.cpp:7: error: ‘hipErrorNoDevice’ was not declared in this scope",
        "a.h:9: error: redefinition of 'hipErrorNoDevice'",
        "NameError: name 'hipErrorNoDevice' is not defined",
        "warning: 'hipErrorNoDevice' is unused",
        "AttributeError: module 'hip' has no attribute 'hipErrorNoDevice'",
        "error: no member: struct hip has no member named 'hipErrorNoDevice'",
        "ImportError: cannot import name 'CUDA_ERROR_NO_DEVICE' from 'cuda'",
        "error: use of undeclared identifier 'hip::hipErrorNoDevice'",
    ],
)
def test_a_complaint_about_the_name(line: str) -> None:
    assert named(line) == [True]


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: hipErrorNoDevice",
        "AttributeError: module 'hip' has no attribute 'init', after hipErrorNoDevice",
        "'hipErrorNoDevice' returned",
        "error: use of undeclared identifier 'AT_CHECK'",
        "error CL_INVALID_DEVICE (-33)",
    ],
)
def test_what_is_no_complaint_about_a_code(line: str) -> None:
    assert named(line) == [False]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CL_INVALID_DEVICE -33, CL_INVALID_CONTEXT -34", [True]),
        ("ZE_RESULT_ERROR_DEVICE_LOST = 0x70000001,\nZE_RESULT_ERROR_UNKNOWN = 0x70000002,", [True, True]),
        ("CL_INVALID_PLATFORM (-32)\nCL_INVALID_DEVICE (-33)", [True, True]),
        ("CL_INVALID_DEVICE -33\nCL_INVALID_CONTEXT -34", [True, True]),
        ("error CL_INVALID_DEVICE (-33)\nerror CL_INVALID_CONTEXT (-36)", [False, False]),
        ("CL_INVALID_DEVICE -33\nbatch_size=34", [False, False]),
        ("CL_INVALID_DEVICE\nCL_INVALID_CONTEXT -34", [False, False]),
    ],
)
def test_a_list_of_codes(text: str, expected: list[bool]) -> None:
    assert named(text) == expected
