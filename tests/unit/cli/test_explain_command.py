"""gpudoctor explain: a text, a report of ours, several texts, and what nobody knows."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from gpudoctor.cli import run
from gpudoctor.model.deadline import Deadline

TRACE = """I get this:
```
Traceback (most recent call last):
  File "train.py", line 2, in <module>
    import intel_extension_for_pytorch
  File "/opt/venv/lib/python3.9/site-packages/intel_extension_for_pytorch/__init__.py", line 3, in <module>
    from . import _C
ImportError: libmkl_sycl.so.3: cannot open shared object file: No such file or directory
```
"""
OLD_KERNEL = Path(__file__).parents[2] / "machines" / "arc-a750-old-kernel"


def explain(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = run(["explain", *words])
    return status, capsys.readouterr().out


def test_a_traceback_is_named_with_its_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text(TRACE)
    status, screen = explain(capsys, str(tmp_path / "log"))
    assert status == 1 and "libmkl_sycl.so.3" in screen and "setvars.sh" in screen
    status, document = explain(capsys, str(tmp_path / "log"), "--format", "json")
    report = json.loads(document)
    assert report["origin"] == "text" and report["schema"] == "gpudoctor.report/1"
    assert report["findings"][0]["severity"] == "error"


def test_nothing_known_is_an_answer_that_says_what_would_help(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text("Hello, my computer makes a noise.\n")
    status, screen = explain(capsys, str(tmp_path / "log"))
    assert status == 0 and "No known problem recognized" in screen and "collect_env" in screen


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_a_report_of_ours_is_judged_as_the_machine_was(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / f"report.{form}"
    assert run(["report", "--capture", str(OLD_KERNEL), "--format", form, "-o", str(file)]) in (0, 1)
    run(["check", "--capture", str(OLD_KERNEL), "--format", "json"])
    checked = json.loads(capsys.readouterr().out)
    _, document = explain(capsys, str(file), "--format", "json", "--all")
    assert [finding["id"] for finding in json.loads(document)["findings"]] == [finding["id"] for finding in checked["findings"]]


def test_several_texts_make_one_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one").write_text(TRACE)
    (tmp_path / "two").write_text("nothing of interest\n")
    status, screen = explain(capsys, str(tmp_path / "one"), str(tmp_path / "two"))
    assert status == 1 and "1 of 2 texts" in screen and "nothing known" in screen
    _, document = explain(capsys, str(tmp_path / "one"), str(tmp_path / "two"), "--format", "json")
    first, second = json.loads(document)["texts"]
    assert first["first"]["id"] in first["findings"] and second["first"] is None


def test_hostile_texts_end_in_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {
        "escapes": "\x1b]0;owned\x07ImportError: lib\x1b[31mfoo.so: cannot open shared object file\n",
        "nested": "[" * 100_000, "json": '{"schema": "gpudoctor.report/1", "facts": [' + "1," * 1000,
        "long": "RuntimeError: " + "out of memory " * 100_000, "empty": "", "binary": "\x00\xff\xfe" * 5000,
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8", errors="surrogateescape")
        status, screen = explain(capsys, str(tmp_path / name))
        assert status in ((2,) if name in ("empty", "binary") else (0, 1)) and "\x1b" not in screen, name


@pytest.mark.parametrize(
    ("text", "words"), [(TRACE, "yes said: a text shows its message"), ("all is well\n", "?   said: a text shows its message")]
)
def test_why_says_whether_the_text_shows_the_message(text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text(TRACE)
    first = json.loads(explain(capsys, str(tmp_path / "log"), "--format", "json")[1])["findings"][0]["id"]
    (tmp_path / "log").write_text(text)
    status, screen = explain(capsys, str(tmp_path / "log"), "--why", first)
    assert status == 0 and words in screen
    (told, *_) = json.loads(explain(capsys, str(tmp_path / "log"), "--why", first, "--format", "json")[1])["subjects"]
    assert (told["said"]["truth"] == "true") is (told["outcome"] == "problem")


OWN_CHECK = """
id = "ours-frobnicator-jammed"
title = "The frobnicator is jammed"
stacks = ["torch-cuda"]
layer = "runtime"
severity = "error"
explanation = "Oil is the blood of frobnicators."
[[signature]]
text = ["frobnicator_core jammed at rung"]
[advice]
do = "Oil it."
[[source]]
ref = "https://example.org/frobnicator"
read = 2026-01-05
"""


@pytest.mark.parametrize("lines", [10, 60_000])
def test_a_further_folder_speaks_of_texts_of_any_size(lines: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "checks" / "ours").mkdir(parents=True)
    (tmp_path / "checks" / "ours" / "ours-frobnicator-jammed.toml").write_text(OWN_CHECK)
    filler = "step 1 of many, nothing to be seen here\n" * lines
    (tmp_path / "log").write_text(f"{filler}ERROR: Frobnicator_Core JAMMED at rung 4\n{filler}")
    status, document = explain(capsys, str(tmp_path / "log"), "--checks", str(tmp_path / "checks"), "--format", "json")
    (finding,) = json.loads(document)["findings"]
    assert (status, finding["id"]) == (1, "ours-frobnicator-jammed") and f"line {lines + 1}" in json.dumps(finding), finding


def test_what_a_person_wrote_around_a_report_is_read_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "issue.md"
    assert run(["report", "--capture", str(OLD_KERNEL), "--format", "markdown", "-o", str(file)]) in (0, 1)
    capsys.readouterr()
    alone = {finding["id"] for finding in json.loads(explain(capsys, str(file), "--format", "json", "--all")[1])["findings"]}
    file.write_text(f"After the update:\n\n```\n{TRACE.splitlines()[-2]}\n```\n\n{file.read_text()}\nAny idea?\n")
    both = {finding["id"] for finding in json.loads(explain(capsys, str(file), "--format", "json", "--all")[1])["findings"]}
    assert alone < both and "mkl-library-missing" in both - alone


def test_what_is_left_out_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """On the screen, in JSON and in the table of several texts; the status is that of what was found."""
    monkeypatch.setattr("gpudoctor.services.explaining.Deadline", lambda: Deadline(0.0))
    log = tmp_path / "log.txt"
    log.write_text("RuntimeError: CUDA error: no kernel image is available for execution on the device\n")
    for words in ((), ("-q",)):
        status, said = explain(capsys, str(log), *words)
        assert status == 0 and "incomplete: this text takes too long to read" in " ".join(said.split())
    _, said = explain(capsys, str(log), "--format", "json")
    assert json.loads(said)["incomplete"]
    log.with_name("b.txt").write_text("nothing\n")
    _, said = explain(capsys, str(log), str(log.with_name("b.txt")))
    assert "incomplete: " in said
    _, said = explain(capsys, str(log), str(log.with_name("b.txt")), "--format", "json")
    assert [bool(text["incomplete"]) for text in json.loads(said)["texts"]] == [True, True]


@pytest.mark.parametrize(
    ("given", "said"),
    [("", "the argument is empty"), ("https://github.com/pytorch/pytorch/issues/1", "opens no connection")],
    ids=["empty", "address"],
)
def test_what_is_no_file_is_named_with_what_to_give(given: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", given]) == 2
    assert said in capsys.readouterr().err


def test_noise_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "noise").write_bytes(random.Random(7).randbytes(20000))
    assert run(["explain", str(tmp_path / "noise")]) == 2
    assert "binary data, not text" in capsys.readouterr().err


NO_KERNELS = """RuntimeError: CUDA error: no kernel image is available for execution on the device
UserWarning: NVIDIA GeForce RTX 5070 Ti with CUDA capability sm_120 is not compatible with the current PyTorch installation.
The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.
torch 2.5.1+cu124
"""
OTHER_CUDNN = """XlaRuntimeError: FAILED_PRECONDITION: DNN library initialization failed. Look at the errors above for more details.
E1203 12:00:01.1 cuda_dnn.cc:534] Loaded runtime CuDNN library: 8.9.2 but source was compiled with: 9.1.0.
"""
OTHER_TORCH = """ImportError: DLL load failed while importing torch_directml_native: The specified procedure could not be found.
Windows 11, RX 580, torch 2.5.0, torch-directml 0.2.5.dev240914
"""


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (NO_KERNELS, "torch-cuda-card-newer-than-wheel"),
        (OTHER_CUDNN, "tensorflow-cudnn-mismatch"),
        (OTHER_TORCH, "torch-directml-wrong-torch"),
    ],
    ids=["wheel", "cudnn", "directml"],
)
def test_messages_of_one_cause_give_one_advice(words: str, cause: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text(words)
    _, screen = explain(capsys, str(tmp_path / "log"))
    assert [line.split()[-1] for line in screen.splitlines() if line.startswith("   more ")] == [cause]
    assert len(screen.splitlines()) <= 24
