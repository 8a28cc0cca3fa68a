"""Whose message a line is: generic words of a program that computes nothing on a GPU speak for no check."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from gpudoctor.diagnosis.candidates import may_speak_by_facts, speaks_without_a_message
from gpudoctor.diagnosis.messages import (
    A_SENTENCE,
    MOST_HITS,
    concerned,
    has_own_words,
    hits_in,
    may_show,
)
from gpudoctor.facts.text.cleaning import lines_of
from gpudoctor.facts.text.roles import Roles
from gpudoctor.knowledge.structure import check_from, stack_from
from gpudoctor.model.check import Check, Stack
from gpudoctor.model.facts import Absent, Facts, Known
from gpudoctor.model.signature import Signature
from gpudoctor.model.stack_names import StackNames
from gpudoctor.rules.signatures import SearchedText

RUNG = {"layer": "framework", "ok": {"fact": "x", "is": 1}}


def stack(name: str, vendor: str) -> Stack:
    table = {
        "stack": name, "title": "PyTorch", "vendors": [vendor], "applicable": {"fact": "x", "is": 1}, "rung": [RUNG],
        "names": {"words": [rf"\b{name.removeprefix('torch-')}\b"]},
    }  # fmt: skip
    return stack_from(table, f"{name}/stack.toml", {})


STACKS = [stack("torch-cuda", "nvidia"), stack("torch-rocm", "amd")]
SHOWN = Facts({"text.stacks": Known(["torch-cuda"]), "text.vendors": Known(["nvidia"])})
GENERIC = (
    "out of memory", "permission denied", "device not found", "no space left", "timed out", "segmentation fault", "no such device",
    "cannot allocate memory", "resource busy", "operation not permitted",
)  # fmt: skip


def check(text: list[list[str]], of: str = "torch-cuda") -> Check:
    table = {
        "id": "generic", "title": "generic", "severity": "error", "layer": "compute", "stacks": [of], "explanation": "why",
        "advice": {"do": "do"}, "signature": [{"text": text}],
    }  # fmt: skip
    return check_from(table, "torch/generic.toml", "torch", {})


def said(text: str, asked: Check) -> bool:
    lines = lines_of(text)
    return bool(hits_in(SearchedText(lines, Roles(lines)), [asked], STACKS, SHOWN))


@pytest.mark.parametrize(
    "line",
    [
        "Nov 23 10:00:01 node7 ceph-osd[2411]: bluestore: out of memory, cannot allocate a buffer",
        "postgres: ERROR: out of memory",
        "2026-11-20 08:12:33.120 UTC [811] app@orders ERROR:  out of memory",
        "Nov 23 09:11:00 desk gnome-shell[2211]: segmentation fault in libmutter",
        "ALSA lib pcm.c:2660:(snd_pcm_open_noupdate) Unknown PCM: device not found",
        "[    31.220] (EE) no screens found, device not found",
        "Nov 23 07:00:00 gate sshd[991]: error: Permission denied (publickey)",
        "sshd[71]: fatal: authentication timed out for 192.0.2.3",
        "blender: error: out of memory while loading scene.blend",
        "ffmpeg: error: No space left on device",
        "snap[1201]: error: cannot open file: permission denied",
        "Nov 23 07:00:00 gate systemd-resolved[700]: error: request timed out",
        "mysql: ERROR 1045 (28000): permission denied for the user",
        "Nov 23 10:02:00 db1 mysqld[1000]: [ERROR] InnoDB: Cannot allocate memory for the pool",
        "Nov 23 10:02:00 web nginx[322]: error: No space left on device",
        "Nov 23 11:30:22 laptop bluetoothd[811]: Failed to initialize: Operation not permitted",
        "cupsd[55]: error: Unable to open the printer: No such device",
        "Nov 23 12:00:00 pc pulseaudio[1900]: Failed to open: Device or resource busy",
        "ERROR:sqlalchemy.pool:connection timed out",
        "java.lang.OutOfMemoryError: out of memory: Java heap space",
    ],
)
def test_the_words_of_another_program_speak_for_no_check(line: str) -> None:
    asked = check([list(GENERIC)])
    bare = "error: " + next(words for words in GENERIC if words in line.lower())
    title = "Training on an RTX 3090 with CUDA 12.4\n\n"
    assert said(title + bare, asked)
    assert not said(title + line, asked)


def test_what_it_says_of_the_stack_of_a_check_counts() -> None:
    line = "blender: error: out of memory in the CUDA queue"
    assert said(line, check([["out of memory"]]))
    assert not said(line, check([["out of memory"]], "torch-rocm"))
    several = "Nov 23 10:00:01 n ffmpeg[9]: hwaccel cuda failed\nNov 23 10:00:01 n ffmpeg[9]: error: out of memory"
    assert said(several, check([["out of memory"]]))
    assert not said(several.replace("ffmpeg[9]: hwaccel", "kernel: hwaccel"), check([["out of memory"]]))


def test_a_check_that_names_the_program_reads_it() -> None:
    assert said("blender: error: out of memory", check([["out of memory"], ["blender"]]))


def concerns(asked: Check, stacks: tuple[str, ...] = (), vendors: tuple[str, ...] = (), of: Sequence[Stack] = STACKS) -> bool:
    shown = Facts({"text.stacks": Known(list(stacks)), "text.vendors": Known(list(vendors))})
    return concerned([asked], of, shown) == [asked]


def test_a_check_is_silent_where_the_text_shows_other_stacks_or_cards_alone() -> None:
    asked = check([["out of memory"]])
    assert concerns(asked), "the text shows nothing"
    assert concerns(asked, ("torch-cuda",)) and concerns(asked, ("torch-cuda", "torch-rocm")) and not concerns(asked, ("torch-rocm",))
    assert concerns(asked, (), ("nvidia", "amd")) and not concerns(asked, (), ("amd",))
    assert concerns(asked, ("torch-rocm",), ("nvidia",)), "a card says more than a word"


def test_a_check_of_every_vendor_or_of_a_stack_without_words_speaks_anywhere() -> None:
    opencl = stack("opencl", "x")
    for vendors in ((), ("x",)):
        everywhere = replace(opencl, vendors=vendors, names=StackNames())
        asked = check([["out of memory"]], "opencl")
        assert concerns(asked, ("torch-rocm",), of=[*STACKS, everywhere])
    assert not concerns(asked, ("torch-rocm",), ("amd",), of=[*STACKS, everywhere]), "another vendor's card"
    assert concerns(check([["out of memory"]], "opencl"), ("torch-rocm",), ("amd",)), "a stack that is not known"
    assert concerns(replace(check([["x"]]), signatures=()), ("torch-rocm",)), "a check of facts"


def test_words_of_any_program_are_marked_unless_the_text_speaks_of_the_stack() -> None:
    def distinct(text: str, asked: Check, shown: Facts | None) -> bool:
        lines = lines_of(text)
        (hit,) = hits_in(SearchedText(lines, Roles(lines)), [asked], STACKS, shown)["generic"]
        return hit.distinct

    common, own = check([["out of memory"]]), check([["cudnn_status_bad"]])
    nothing = Facts({})
    assert not distinct("error: out of memory", common, nothing)
    assert distinct("error: out of memory", common, SHOWN), "the text shows CUDA"
    assert distinct("error: out of memory", common, Facts({"text.vendors": Known(["nvidia"])}))
    assert not distinct("error: out of memory", common, Facts({"text.vendors": Known(["amd"]), "text.stacks": Known(["torch-rocm"])}))
    assert distinct("error: out of memory", common, None), "what a tool of a known machine says"
    assert distinct("error: cudnn_status_bad", own, nothing)


@pytest.mark.parametrize(
    ("signature", "own"),
    [
        (Signature(text=(("out of memory",),)), False),
        (Signature(text=(("out of memory",),), context=(("torch",),)), True),
        (Signature(text=(("x" * (A_SENTENCE - 1),),)), False),
        (Signature(text=(("x" * A_SENTENCE,),)), True),
        (Signature(text=(("algorithm not found",), ("the device list",))), True),
        (Signature(text=(("cudnn_status", "out of memory"),)), False),
        (Signature(text=(("out of memory",), ("libze_loader.so",))), True),
        (Signature(text=(("cuda12",),)), True),
        (Signature(text=(("at::native",),)), True),
    ],
)
def test_which_signatures_no_other_program_says(signature: Signature, own: bool) -> None:
    assert has_own_words(signature) is own


def test_the_places_that_prove_most_are_kept() -> None:
    text = "\n".join(["error: out of memory"] * 20 + ["error: out of memory in cudnn_status_bad"])
    lines = lines_of(text)
    asked = replace(
        check([["out of memory"]]), signatures=(Signature(text=(("out of memory",),)), Signature(text=(("cudnn_status_bad",),)))
    )
    hits = hits_in(SearchedText(lines, Roles(lines)), [asked])["generic"]
    assert [hit.line for hit in hits] == [21, *range(1, MOST_HITS)]
    assert hits_in(SearchedText(lines, Roles(lines)), [check([["never said"]])]) == {}


HEAD = {"id": "a", "for_each": None, "facts": ["gpu.count"]}
MESSAGE = {"proactive": False, "signature": [[["a b", "c"], ["d"]], [["e"]]]}


def test_a_check_without_a_message_speaks_by_facts_and_one_with_it_where_it_is_proactive() -> None:
    assert speaks_without_a_message(HEAD)
    assert not speaks_without_a_message({**HEAD, **MESSAGE}) and speaks_without_a_message({**HEAD, **MESSAGE, "proactive": True})


def test_a_check_may_speak_where_all_its_facts_are_known() -> None:
    items = {"gpus": "gpu"}
    assert may_speak_by_facts(Facts({"gpu.count": Known(1)}), items, HEAD)
    assert not may_speak_by_facts(Facts({"gpu.count": Absent()}), items, HEAD)
    assert not may_speak_by_facts(Facts({"gpu.count": Known(1)}), items, {**HEAD, **MESSAGE})
    each = {"id": "a", "for_each": "gpus", "facts": ["gpu.vendor", "os.id"]}
    cards = Known([{"vendor": "amd"}])
    assert may_speak_by_facts(Facts({"gpus": cards, "os.id": Known("arch")}), items, each), "fields are known when the records are"
    assert not may_speak_by_facts(Facts({"gpus": cards}), items, each)
    assert not may_speak_by_facts(Facts({"os.id": Known("arch")}), items, each)
    assert not may_speak_by_facts(Facts({"gpus": cards}), items, {**each, "facts": ["gpux.vendor"]})


@pytest.mark.parametrize(("text", "shows"), [("c and d", True), ("a b", False), ("A B\n\nD", True), ("e", True), ("x", False)])
def test_a_text_may_show_a_check_where_it_holds_all_literals_of_a_signature(text: str, shows: bool) -> None:
    assert may_show(SearchedText(lines_of(text)), MESSAGE) is shows


def test_any_word_of_a_stack_makes_the_message_of_another_program_its_own() -> None:
    cuda, rocm = STACKS
    several = [replace(cuda, names=StackNames(words=(r"\bcuda\b", r"\bcublas\b"))), rocm]
    for word, counts in (("cublas", True), ("cuda", True), ("rocm", False)):
        lines = lines_of(f"blender: error: out of memory in {word}")
        assert bool(hits_in(SearchedText(lines, Roles(lines)), [check([["out of memory"]])], several, SHOWN)) is counts


def test_of_a_paragraph_the_sentence_with_the_words_must_complain() -> None:
    asked = check([["runs on the cpu"]])
    before = "My report\n\n"
    assert said(before + "With torch 2.9 it runs on the CPU and never on the card. What can I do?", asked)
    assert said(before + "The RTX 3090 is idle. Everything runs on the CPU only, why?", asked)
    assert not said(before + "By design it runs on the CPU. I would skip the test where the GPU cannot be found.", asked)
