"""Whose message a line is: generic words of a program that computes nothing on a GPU speak for no check."""

from __future__ import annotations

import pytest

from gpudoctor.diagnosis.messages import hits_in
from gpudoctor.facts.text.cleaning import lines_of
from gpudoctor.facts.text.roles import Roles
from gpudoctor.knowledge.structure import check_from, stack_from
from gpudoctor.model.check import Check, Stack
from gpudoctor.model.facts import Facts, Known
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


def test_of_a_paragraph_the_sentence_with_the_words_must_complain() -> None:
    asked = check([["runs on the cpu"]])
    before = "My report\n\n"
    assert said(before + "With torch 2.9 it runs on the CPU and never on the card. What can I do?", asked)
    assert said(before + "The RTX 3090 is idle. Everything runs on the CPU only, why?", asked)
    assert not said(before + "By design it runs on the CPU. I would skip the test where the GPU cannot be found.", asked)
