"""A program that runs on other stacks does not silence the checks of these: people report torch's messages under the program's name."""

from __future__ import annotations

import pytest

from gpudoctor.services.explaining import ExplainRequest, explain

MESSAGE = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable"


@pytest.mark.parametrize("program", ["ComfyUI", "vLLM", "ollama", "llama.cpp"])
def test_a_message_of_triton_is_diagnosed_whatever_program_is_named(program: str) -> None:
    text = f"{program} does not start any more\n\n{MESSAGE}\n".encode()
    assert [finding.id for finding in explain(ExplainRequest(text=[text])).report.findings][:1] == ["triton-no-c-compiler"]
