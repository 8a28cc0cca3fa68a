"""A message that somebody only names, in a sentence, a table, a quiz or a transcript; and one that is reported in quotes."""

from __future__ import annotations

import pytest

from gpudoctor.facts.text.cleaning import lines_of
from gpudoctor.facts.text.quoted import is_only_quoted
from gpudoctor.facts.text.roles import Roles
from gpudoctor.model.signature import TROUBLE


@pytest.mark.parametrize(
    "line",
    [
        'Alerts: Xid other than 13, temperature over 88 °C for ten minutes, "GPU has fallen off the bus" in the journal.',
        'The third slide of the talk is called "CUDA error: device-side assert triggered" and has a cartoon.',
    ],
)
def test_a_sentence_that_names_a_message_reports_none(line: str) -> None:
    assert is_only_quoted(line)


@pytest.mark.parametrize(
    "line",
    [
        'I get "CUDA error: device-side assert triggered" in the third step of the example.',
        'On the second node: "HIP error: invalid device function".',
        'Torch of the other environment cannot be imported at all: "undefined symbol: iJIT_NotifyEvent".',
        'The talk is called "Out of memory and what to do". The program does not start on my card.',
    ],
)
def test_a_reported_message_is_more_than_quoted(line: str) -> None:
    assert not is_only_quoted(line)


@pytest.mark.parametrize(
    "text",
    [
        "id;date;card;subject\n1;2026-01-02;RTX 4060;CUDA out of memory\n2;2026-01-02;RX 7600;HIP error: invalid device function",
        'Question 3. A program prints "hipErrorNoBinaryForGpu: no code". What is it?\na) The card is broken\nb) No code\nc) No driver',
        '[00:12:31] HOST: And then you got it?\n[00:12:34] GUEST: Yes, "CUDA error: device-side assert triggered".\n[00:12:40] HOST: Oh.\n'
        "[00:12:41] GUEST: So it was.",
        'Retry on timeouts\n\nThe ranks\ndied with "Watchdog caught collective operation timeout".\nSo.\n\nSigned-off-by: K <k@a.org>',
        'Messages\n\n1. "CUDA out of memory": the batch is big.\n2. "Torch not compiled with CUDA enabled": a CPU wheel.\n\nMore soon.',
        "User: what is HSA_STATUS_ERROR_EXCEPTION?\nAssistant: A status of the runtime.\nUser: and how would I test my handler?",
    ],
    ids=["table", "quiz", "transcript", "commit", "glossary", "dialogue"],
)
def test_a_text_that_only_holds_messages_has_no_trouble(text: str) -> None:
    lines = lines_of(text)
    roles = Roles(lines)
    assert not {roles(row) for row in range(len(lines))} & set(TROUBLE)
