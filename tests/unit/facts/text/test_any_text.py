"""Whatever bytes come: the readers give lines and facts, never an exception, and what is searched keeps its line numbers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.facts.text import large
from gpudoctor.facts.text.cleaning import unquoted
from gpudoctor.facts.text.reading import machine_of, take

PIECES = st.sampled_from(
    [
        "$ nvidia-smi\n",
        "```\n",
        "> ",
        "Platform Name   x\n",
        "[    1.0] i915: ",
        "PyTorch version: ",
        "GPU: ",
        "torch==",
        "\x1b[0",
        "\r",
        "ID=x\n",
    ]
)
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=30).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass"))


@settings(max_examples=80, deadline=None)
@given(st.one_of(TEXTS, st.binary(max_size=300)))
def test_any_bytes_are_read(raw: bytes) -> None:
    lines = unquoted(large.read([raw], list))
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    assert not any("\x1b" in line.text or "\x00" in line.text for line in lines)
    evidence, _ = take(lines)
    assert machine_of(evidence).origin
