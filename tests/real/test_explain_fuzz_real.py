"""explain on mutated, hostile and endless texts: always an answer, no escape on the screen, work that grows as the text does.

The seed is fixed; GPUDOCTOR_FUZZ_SECONDS and GPUDOCTOR_FUZZ_SEED make a longer or another run.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor.knowledge.loader import read_toml
from gpudoctor.reporters.report import explanation_text, json_report
from gpudoctor.services import checking, explaining

ROOT = Path(__file__).resolve().parents[2]
SECONDS = float(os.environ.get("GPUDOCTOR_FUZZ_SECONDS", "45"))
SEED = int(os.environ.get("GPUDOCTOR_FUZZ_SEED", "20261121"))
MOST_CPU = 10.0
"""CPU seconds for a text of 120 kB: linear work takes under one, quadratic work minutes."""
INSERTED = (
    "\x1b]0;owned\x07", "\x1b[31m", "\x9b2J", "\r", "\0" * 40, "\u202e", "<script>alert(1)</script>", "](javascript:alert(1))", "```\n",
    "> " * 30, "{" * 3000, "[" * 3000, '{"schema": "gpudoctor.report/1", ', "\ufeff", " " * 5000, "0" * 5000,
    "\\" * 5000, "'" * 3000, "a-1 " * 2000,
)  # fmt: skip
UNITS = (
    " ", "\t", "0", "a", "(", "[", "{", "'", '"', ">", "\\", "`", "=", ":", "0.", "a-1 ", "\u00a0", "\x1b[", "\x1b]", "a=", "/", "* ", "\r",
    "A.a-", "kernel: ", "docker ", "GPU: ", "C:\\", "1.2.3 ", "a==1 ", "$ ls\n", "```\n", "> ", "ID=x\n", "[0.123] ",
    "gfx900 ", "out of memory\n",
    "ImportError: x\n", 'File "a", line 1\n', "import torch\n", "PyTorch version: 2.1\n", "Platform Name   x\n", "| 0 | Device Name: ",
)  # fmt: skip
HEADS = ("", "Successfully installed ", "GPU: ", "[    1.0] kernel: ", "00:02.0 VGA [0300]: ", '{"platforms"', "DeviceProperties(name='")
DULL = ("x" * 99 + "\n", "kernel 5.1 A770 on Ubuntu 22.04\n", "torch==2.1 a\n")


def corpus() -> list[str]:
    texts = [
        example["text"]
        for path in sorted((ROOT / "checks").glob("*/*.toml"))
        for example in read_toml(path).get("example", [])
        if example.get("text")
    ]
    for path in sorted((ROOT / "tests" / "machines").glob("*/commands.jsonl")):
        texts += [json.loads(line).get("stdout", "") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [text for text in texts if text.strip()]


def mutated(chance: random.Random, texts: list[str]) -> bytes:
    text = chance.choice(texts)
    for _ in range(chance.randint(1, 6)):
        at, to = sorted((chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)))
        match chance.randrange(6):
            case 0:
                text = text[:at]
            case 1:
                text = text[:at] + chance.choice(texts) + text[to:]
            case 2:
                text = text[:at] + text[at:to] * chance.randint(1, 20) + text[to:]
            case 3:
                text = text[:at] + chance.choice(INSERTED) + text[at:]
            case 4:
                text = text[:at] + text[at:to][::-1] + text[to:]
            case _:
                text = "".join(f"{chance.choice(('> ', '    ', '2026-11-21T10:00:00Z ', ''))}{line}\r\n" for line in text.splitlines())
        text = text[:60_000]
    raw = text.encode(chance.choice(("utf-8", "utf-8", "utf-16", "utf-16-le", "cp1252", "utf-8-sig")), "replace")
    swapped = bytearray(raw)
    for _ in range(chance.choice((0, 0, 3, 60)) if raw else 0):
        swapped[chance.randrange(len(raw))] = chance.randrange(256)
    return bytes(swapped)


@pytest.fixture(scope="module", autouse=True)
def _one_catalogue() -> Iterator[None]:
    """Read once: what is tried is the text's way through."""
    knowledge = checking.catalogue()
    explaining.explain(explaining.ExplainRequest(text=[b"x"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "catalogue", lambda *_: knowledge)
        yield


def answer(raw: bytes) -> explaining.Explanation:
    found = explaining.explain(explaining.ExplainRequest(text=[raw]))
    screen = explanation_text.render(found.report, found.recognised, most=None, verbose=True)
    assert not any("\n" != letter < " " or "\x7f" <= letter < "\xa0" or letter == "\u202e" for letter in screen), ascii(screen)
    json.loads(json_report.render(found.report, {}))
    assert not found.report.incomplete
    return found


def test_mutations_of_real_texts_always_end_in_an_answer() -> None:
    chance, texts, until, tried = random.Random(SEED), corpus(), time.monotonic() + SECONDS, 0
    while time.monotonic() < until and (tried < 400 or SECONDS > 60):
        raw = mutated(chance, texts)
        try:
            answer(raw)
        except Exception as error:
            raise AssertionError(f"seed {SEED}, text {tried}: {raw[:300]!r}") from error
        tried += 1
    assert tried >= 20


@pytest.mark.rotates("runs of anything")
@pytest.mark.parametrize("head", HEADS)
def test_runs_of_anything_take_linear_time(head: str) -> None:
    chance = random.Random(head)
    for unit in chance.sample(UNITS, 12):
        raw = (head + unit * (120_000 // len(unit))).encode()
        began = time.process_time()
        answer(raw)
        assert time.process_time() - began < MOST_CPU, (head, unit)


@pytest.mark.rotates("a text grows")
@pytest.mark.parametrize("unit", [*(each for each in UNITS if "\n" in each), *DULL])
def test_twice_the_text_is_at_most_twice_and_a_half_the_work(unit: str) -> None:
    """Calls are counted, not seconds."""
    work = [events(unit * times) for times in (2_000, 4_000)]
    assert work[1] <= 2.5 * work[0], work


def events(text: str) -> int:
    counted = 0

    def count(*_: object) -> None:
        nonlocal counted
        counted += 1

    request = explaining.ExplainRequest(text=[text.encode()])
    sys.setprofile(count)
    try:
        explaining.explain(request)
    finally:
        sys.setprofile(None)
    return counted


def test_a_needle_says_the_same_in_a_large_text_as_alone() -> None:
    needle = "ImportError: libmkl_sycl.so.3: cannot open shared object file: No such file or directory\n"
    dull = "".join(f"step {step} loss 0.5\n" for step in range(3_000))
    alone, inside = answer(needle.encode()), answer((dull * 60 + needle + dull * 60).encode())
    assert alone.report.findings and [finding.id for finding in inside.report.findings] == [finding.id for finding in alone.report.findings]
    assert inside.report.findings[0].said_at == (3_000 * 60 + 1,)


def test_ten_megabytes_without_a_line_end_end_in_an_answer() -> None:
    answer(b"RuntimeError: " + b"out of memory 3.1 torch " * 420_000)
