"""What people paste, as they paste it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.facts.text.cleaning import clean, decode, lines_of, unquoted


def texts(raw: bytes) -> list[str]:
    return [line.text for line in unquoted(lines_of(decode(raw)))]


def test_encodings_of_windows_and_linux() -> None:
    said = "Fehler: Gerät nicht gefunden"
    for raw in (said.encode(), said.encode("utf-8-sig"), said.encode("utf-16"), said.encode("utf-16-le"), said.encode("cp1252")):
        assert texts(raw) == [said], raw[:20]


def test_colours_progress_bars_and_invisible_letters_are_taken_away() -> None:
    assert clean("\x1b[31;1merror\x1b[0m: \x1b]8;;http://x\x07link\x1b]8;;\x07\r") == "error: link"
    assert clean("10%\r50%\r100% done") == "100% done"
    assert clean("a\u202eb\u200bc\x00d") == "abcd"


def test_quoting_goes_and_prompts_of_python_stay() -> None:
    assert texts(b"> > RuntimeError: x\n> > y\n> z\n") == ["RuntimeError: x", "y", "z", ""]
    assert texts(b">>> import torch\n>>> torch.xpu\n") == [">>> import torch", ">>> torch.xpu", ""]


def test_time_stamps_of_logs_go_where_each_line_has_one() -> None:
    rows = [f"2026-05-0{day}T10:00:0{day}.123Z line {day}" for day in range(1, 5)]
    assert texts("\n".join(rows).encode()) == [f"line {day}" for day in range(1, 5)]


def test_line_numbers_are_those_of_the_text() -> None:
    assert [(line.number, line.text) for line in lines_of("a\r\nb\n\nc")] == [(1, "a"), (2, "b"), (3, ""), (4, "c")]


@given(st.binary(max_size=400))
def test_no_bytes_are_too_odd(raw: bytes) -> None:
    assert all("\x1b" not in text and "\x00" not in text for text in texts(raw))


def test_the_message_of_an_exception_that_a_form_broke_is_one_line() -> None:
    broken = "RuntimeError: the worker of the loader (pid 47) was ended by a signal\nof the kernel. Please give it more memory.\nbye"
    assert [line.number for line in unquoted(lines_of(broken))] == [1, 3]
    kept = "RuntimeError: the worker of the loader (pid 47) was ended by a signal\nx = load(3)\nTraceback"
    assert [line.text for line in unquoted(lines_of(kept))] == kept.split("\n")
