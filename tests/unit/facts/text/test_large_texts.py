"""Logs larger than what is read whole: the same findings, bounded memory, line numbers of the whole."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from gpudoctor.facts.text import large


def pieces(lines: Iterator[str], size: int = 700_000) -> Iterator[bytes]:
    while part := list(itertools.islice(lines, 9000)):
        raw = ("\n".join(part) + "\n").encode()
        for begin in range(0, len(raw), size):
            yield raw[begin : begin + size]


def test_what_stands_in_the_middle_is_found_with_its_line_number() -> None:
    def lines() -> Iterator[str]:
        for number in range(1, 200_001):
            yield "RuntimeError: The Needle Is Here" if number == 120_000 else f"step {number} loss 0.{number} {'.' * 30}"

    read = large.read(pieces(lines()), lambda: ["the needle is"])
    assert [line.number for line in read if "Needle" in line.text] == [120_000]
    numbers = [line.number for line in read]
    assert numbers == sorted(set(numbers)) and numbers[0] == 1 and 199_999 in numbers
    assert {119_995, 120_005} <= set(numbers) and 60_000 not in numbers
    assert all(f"step {line.number} " in line.text for line in read if line.text.startswith("step"))


def test_a_needle_on_the_seam_of_two_chunks_is_found_once() -> None:
    filler = b"x" * 79 + b"\n"
    start = filler * (large.WHOLE // 80 + 10)
    for shift in range(0, 200, 7):
        raw = start[: -shift or None] + b"the needle is here\n" + filler * 30_000
        read = large.read([raw[: large.WHOLE + 900], raw[large.WHOLE + 900 :]], lambda: ["the needle is"])
        assert sum("needle" in line.text for line in read) == 1, shift


def test_a_million_matches_and_a_line_without_end_stay_small() -> None:
    flood = large.read((b"out of memory\n" * 75_000 for _ in range(10)), lambda: ["out of memory"])
    assert len(flood) < 60_000
    endless = large.read((b"a" * 1_000_000 for _ in range(10)), lambda: ["aaaaaaab"])
    assert sum(len(line.text) for line in endless) < 200_000


def test_utf16_logs_are_read() -> None:
    raw = ("line of a log\n" * 400_000 + "THE NEEDLE IS here\n").encode("utf-16")
    read = large.read([raw[: 5 << 20], raw[5 << 20 :]], lambda: ["the needle is"])
    assert any("NEEDLE" in line.text for line in read)
