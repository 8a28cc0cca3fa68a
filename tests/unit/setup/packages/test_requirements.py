"""What is asked for, whether it is there, and what a failed installer was about."""

from __future__ import annotations

import pytest

from gpudoctor.setup.packages.pip_messages import CHECKSUM, NETWORK, explain
from gpudoctor.setup.packages.requirements import build_of, lack, parse
from gpudoctor.setup.steps._step import PlanError

DIGEST = "ab" * 32


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("torch==2.8.0+xpu", "torch==2.8.0+xpu"),
        ("optimum[openvino]>=1.20", "optimum[openvino]>=1.20"),
        (f"https://example.org/a/torch-2.8.0-py3-none-any.whl#sha256={DIGEST}",) * 2,
        ("/sdk/poptorch-3.4.0-cp310-cp310-linux_x86_64.whl",) * 2,
        ("/sdk/hashed-1.0-py3-none-any.whl", f"hashed @ file:///sdk/hashed-1.0-py3-none-any.whl#sha256={DIGEST}"),
        ("/my sdk/hashed-1.0-py3-none-any.whl", f"hashed @ file:///my%20sdk/hashed-1.0-py3-none-any.whl#sha256={DIGEST}"),
        ("C:/sdk/hashed-1.0-py3-none-any.whl", f"hashed @ file:///C:/sdk/hashed-1.0-py3-none-any.whl#sha256={DIGEST}"),
        ("/sdk/hashed-1.0-py3-none-any.whl[extra]", f"hashed[extra] @ file:///sdk/hashed-1.0-py3-none-any.whl#sha256={DIGEST}"),
        ("x @ https://example.org/x-1.0.tar.gz", f"x @ https://example.org/x-1.0.tar.gz#sha256={DIGEST}"),
    ],
)
def test_what_the_installer_is_given(text: str, given: str) -> None:
    hashes = {"hashed-1.0-py3-none-any.whl": DIGEST, "/sdk/hashed-1.0-py3-none-any.whl[extra]": DIGEST, "x-1.0.tar.gz": DIGEST}
    assert parse(text, hashes).text == given


def test_an_address_with_a_bracket_alone_is_a_mistake_in_the_recipe() -> None:
    with pytest.raises(PlanError, match=r"is no address \(Invalid IPv6 URL\); this is a mistake in the recipe"):
        parse("x @ https://[x/x-1.0.tar.gz", {})


@pytest.mark.parametrize(
    ("text", "there", "build", "said"),
    [
        ("torch", {"torch": "2.8.0+xpu"}, "xpu", ""),
        ("torch==2.8.0", {"torch": "2.8.0+xpu"}, "", ""),
        ("torch==2.8.0", {"torch": "2.8.0+cu128"}, "xpu", "torch 2.8.0+cu128 is not the build for xpu"),
        ("torch==2.8.0", {"torch": "2.8.0"}, "cpu", "torch 2.8.0 is not the build for cpu"),
        ("torch==2.8.0+xpu", {"torch": "2.8.0"}, "", "torch is 2.8.0, not ==2.8.0+xpu"),
        ("numpy<2", {"numpy": "1.26.4"}, "xpu", ""),
        ("NumPy", {}, "", "numpy is not installed"),
        ("torch", {"torch": ["1.0", "2.0"]}, "", "torch is installed twice (1.0, 2.0)"),
        ("nightly", {"nightly": "1.0.dev20250101"}, "", ""),
        ("/sdk/poptorch-3.4.0+123-cp310-cp310-linux_x86_64.whl", {"poptorch": "3.4.0+123"}, "", ""),
        ("/sdk/poptorch-3.4.0-cp310-cp310-linux_x86_64.whl", {"poptorch": "3.3.0"}, "", "poptorch is 3.3.0, not 3.4.0"),
        ("odd", {"odd": "not a version"}, "", "odd is of the version 'not a version'"),
    ],
)
def test_whether_it_is_there(text: str, there: dict[str, object], build: str, said: str) -> None:
    assert lack(parse(text, {}), there, build) == said


@pytest.mark.parametrize(("marker", "holds"), [("python_version < '3.11'", False), ("python_version >= '3.11'", True)])
def test_markers_are_judged_for_the_target(marker: str, holds: bool) -> None:
    assert parse(f"tomli; {marker}", {}).applies("3.11") is holds


@pytest.mark.parametrize(
    ("index", "build"),
    [("pytorch/xpu", "xpu"), ("pytorch/cu128", "cu128"), ("pytorch/rocm6.4", "rocm6.4"), ("pypi", ""), ("amd/simple", "")],
)
def test_an_index_of_one_build(index: str, build: str) -> None:
    assert build_of(index) == build


SUM = """ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated the package versions…
    torch==2.8.0+xpu from http://127.0.0.1/files/torch.whl#sha256=aaaa:
        Expected sha256 {}
             Got        {}
""".format("a" * 64, "b" * 64)


@pytest.mark.parametrize(
    ("output", "kind", "reason"),
    [
        (SUM, CHECKSUM, r"torch==2\.8\.0\+xpu has another checksum .*expected aaaaaaaaaaaa…, got bbbbbbbbbbbb…"),
        ("ERROR: No matching distribution found for torch==9", "other", "no release of torch==9 is offered"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "other", "the disk is full"),
        ("('Connection broken: IncompleteRead(1 bytes read, 2 more expected)'", NETWORK, "cut off"),
        ("Failed to establish a new connection: [Errno 111] Connection refused", "other", "cannot be reached"),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] …", "other", "does not trust"),
        ("/env/bin/python: No module named pip", "other", "has no pip"),
        ("some\nERROR: odd thing\nmore", "other", "ERROR: odd thing"),
        ("", "other", "it said nothing"),
    ],
)
def test_why_it_failed(output: str, kind: str, reason: str) -> None:
    failure = explain(output)
    assert failure.kind == kind
    import re

    assert re.search(reason, failure.reason)
