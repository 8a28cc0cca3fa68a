"""A status code that is only named, by a compiler, an interpreter or a list, was returned by nothing."""

from __future__ import annotations

import pytest

from gpudoctor.model.signature import Numbered, Signature
from gpudoctor.rules.named_codes import bare_codes, counted, only_named
from gpudoctor.rules.signatures import SearchedText


@pytest.mark.parametrize(
    "line",
    [
        "error: enumeration value 'hiperrornodevice' not handled in switch [-werror=switch]",
        "a.cpp:7: error: use of undeclared identifier 'hiperrornodevice'",
        "a.cpp:7: error: 'hiperrornodevice' was not declared in this scope",
        "a.h:9: error: redefinition of 'hiperrornodevice'",
        "nameerror: name 'hiperrornodevice' is not defined",
        "warning: 'hiperrornodevice' is unused",
        "attributeerror: module 'hip' has no attribute 'hiperrornodevice'",
        "error: no member: struct hip has no member named 'hiperrornodevice'",
        "importerror: cannot import name 'hiperrornodevice' from 'hip'",
        "error: use of undeclared identifier 'hip::hiperrornodevice'",
    ],
)
def test_a_complaint_about_the_name(line: str) -> None:
    assert only_named(line, "hiperrornodevice")


@pytest.mark.parametrize(
    "line",
    [
        "runtimeerror: hiperrornodevice",
        "attributeerror: module 'hip' has no attribute 'init', after hiperrornodevice",
        "'hiperrornodevice' returned",
    ],
)
def test_a_code_that_was_returned(line: str) -> None:
    assert not only_named(line, "hiperrornodevice")


def test_a_function_is_no_code() -> None:
    assert not only_named("error: use of undeclared identifier 'at_check'", "at_check")
    assert bare_codes((("at_check", "*cl_invalid_device*"), ("error code: -5", "*hiperrornodevice"))) == [
        "cl_invalid_device",
        "hiperrornodevice",
    ]


@pytest.mark.parametrize(
    ("line", "beside", "expected"),
    [
        ("cl_invalid_device -33, cl_invalid_context -34", (), True),
        ("cl_invalid_device 0x70000001", ("ze_result_error_unknown = 0x70000002",), True),
        ("cl_invalid_device = -33,", ("cl_invalid_context = -34,",), True),
        ("cl_invalid_device (-33)", ("cl_invalid_platform (-32)",), True),
        ("error cl_invalid_device (-33)", ("error cl_invalid_context (-36)",), False),
        ("error cl_invalid_device (-33)", ("batch_size=34",), False),
        ("error cl_invalid_device -33", ("error cl_invalid_device -34",), False),
        ("cl_invalid_device", ("cl_invalid_context -34",), False),
    ],
)
def test_a_list_of_codes(line: str, beside: tuple[str, ...], expected: bool) -> None:
    assert counted(line, "cl_invalid_device", beside) is expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("RuntimeError: CL_INVALID_DEVICE", True),
        ("error: use of undeclared identifier 'CL_INVALID_DEVICE'", False),
        ("CL_INVALID_PLATFORM -32\nCL_INVALID_DEVICE -33", False),
        ("CL_INVALID_DEVICE -33\nCL_INVALID_CONTEXT -34", False),
    ],
)
def test_a_signature_is_not_found_in_them(text: str, found: bool) -> None:
    lines = [Numbered(number, line) for number, line in enumerate(text.splitlines(), 1)]
    assert bool(list(SearchedText(lines).hits(Signature(text=(("cl_invalid_device",),))))) is found
