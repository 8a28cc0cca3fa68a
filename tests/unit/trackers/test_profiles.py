"""Profiles of issue trackers: what their forms ask, and what a recorded machine answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tracker_server import TrackerServer

from gpudoctor import cli
from gpudoctor.knowledge.structure import DataError
from gpudoctor.knowledge.tracker_profiles import ours, parse, profile_of
from gpudoctor.model.tracker_profile import SCHEMA, TrackerProfile
from gpudoctor.reporters.report.machine_answers import is_answer
from gpudoctor.services import checking, reporting

MACHINES = Path(__file__).parents[2] / "machines"
PROFILES = {profile.project: profile for profile in ours()}
OWN = f"""
schema = "{SCHEMA}"
project = "owner/repo"

[[form]]
file = "bug.yml"

[[form.question]]
label = "Card"
id = "gpu"
answer = "gpu_names"

[[form.question]]
label = "Log of the driver"
id = "log"
run = "sudo driver-log"
"""
FORM = """
name: Bug
title: "[Bug]"
body:
  - {type: input, id: gpu, attributes: {label: Which card}}
  - {type: input, id: python, attributes: {label: Python version}}
  - {type: textarea, id: log, attributes: {label: Log of the driver}, validations: {required: true}}
"""


@cache
def filled(machine: str, project: str) -> dict[str, str]:
    """What the form answers on a recorded machine, by label; a label twice would lose one."""
    check = checking.CheckRequest(capture=str(MACHINES / machine), checks=(), python=None, stack=None)
    form, _ = reporting.filled_form(reporting.make(reporting.ReportRequest(check=check)), project)
    assert form is not None
    found = {each.question.label: each.value for each in form.answers}
    assert len(found) == len(form.answers)
    return found


@pytest.mark.parametrize("project", sorted(PROFILES))
def test_each_profile_names_answers_that_exist_and_is_dated(project: str) -> None:
    profile = PROFILES[project]
    questions = [question for form in profile.form for question in form.question]
    assert [question.answer for question in questions if question.answer and not is_answer(question.answer)] == []
    assert any(question.answer for question in questions)
    assert profile.read >= "2026-11-23" and all(form.file for form in profile.form) == ("has no form" not in profile.note)


def test_a_project_is_found_under_its_earlier_names() -> None:
    assert profile_of("ComfyAnonymous/comfyui") == profile_of("Comfy-Org/ComfyUI") != None  # noqa: E711
    assert profile_of("nobody/nothing") is None


@pytest.mark.parametrize(
    ("project", "machine", "answers"),
    [
        ("intel/compute-runtime", "flex170-no-group", {
            "GPU Hardware": "Data Center GPU Flex 170 (8086:56c0)", "Linux Distribution": "Ubuntu 22.04 LTS",
            "DRI Devices Information": "/dev/dri/renderD128 -> 0000:4d:00.0, crw-rw----, render, may not be opened",
            "GPU Detailed Information (lspci output)": "kernel driver in use: i915", "Kernel Version & Boot Parameters": "Modules: i915",
            "Actual Behavior": "", "oneAPI Version (if applicable)": "",
        }),
        ("ROCm/ROCm", "mi300x-healthy", {"Operating System": "Ubuntu 22.04.4 LTS", "GPU": "Instinct MI300X (1002:74a1)"}),
        ("ollama/ollama", "rx6800-ollama-healthy", {"OS": "Linux", "GPU": "AMD", "What is the issue?": ""}),
        ("ollama/ollama", "wsl2-b580", {"OS": "Linux, WSL2", "GPU": "Intel", "Ollama version": ""}),
        ("ggml-org/llama.cpp", "rtx4090-llama-cpp-healthy", {
            "Operating systems": "Linux", "GGML backends": "CUDA", "Hardware": "GeForce RTX 4090 (10de:2684)", "Models": "",
        }),
        ("pytorch/pytorch", "rtx4090-healthy", {"Versions": "Is CUDA available: True", "🐛 Describe the bug": ""}),
        ("vllm-project/vllm", "mi300x-vllm-healthy", {"Your current environment": "Instinct MI300X"}),
        ("microsoft/onnxruntime", "rtx4090-ort-cuda13", {
            "Platform": "Linux", "OS Version": "Ubuntu 22.04.4 LTS", "Architecture": "X64", "Execution Provider Library Version": "CUDA 13",
        }),
        ("tensorflow/tensorflow", "rtx4090-healthy", {
            "OS platform and distribution": "Ubuntu 22.04.4 LTS", "Python version": "3.11.9", "GPU model and memory": "GeForce RTX 4090, 2",
            "Custom code": "", "TensorFlow version": "",
        }),
        ("openvinotoolkit/openvino", "macos-m3-healthy", {"Operating System": "macOS Systems for Apple Silicon"}),
        ("openvinotoolkit/openvino", "flex170-no-group", {"Operating System": "Other (Please specify in description)"}),
        ("Comfy-Org/ComfyUI", "windows-rx7900-comfyui-directml-missing", {"Other": "RX 7900 XTX", "Debug Logs": ""}),
        ("microsoft/DirectML", "windows-rx7900-directml", {"GPU and driver": "1002:744c, driver 32.0.12033.1030"}),
        ("artyom-beilis/pytorch_dlprim", "pocl-on-a-processor", {"OpenCL platforms and devices": "Portable Computing Language"}),
        ("NVIDIA/gpu-operator", "rtx4090-healthy", {"Kernel Version": "6.8.0-51-generic", "GPU Operator Version": ""}),
    ],
)  # fmt: skip
def test_a_form_is_answered_field_by_field(project: str, machine: str, answers: dict[str, str]) -> None:
    found = filled(machine, project)
    for label, value in answers.items():
        assert value in found[label] if value else found[label] == "", label


def test_the_form_of_the_system_is_taken() -> None:
    profile = PROFILES["intel/compute-runtime"]
    linux, windows = profile.form_for("linux"), profile.form_for("windows")
    assert linux and windows and linux.file != windows.file and profile.form_for("macos") is None
    assert "Windows Build Information" in {question.label for question in windows.question}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("schema = 'x'\nproject = 'a/b'\nform = []", "expected 'gpudoctor.tracker/1'"),
        (f"schema = '{SCHEMA}'\nproject = 'a/b/../c'\nform = []", "expected owner/name"),
        (f"schema = '{SCHEMA}'\nproject = 'a/b'\nform = 3", "form"), ("schema =", "own.toml: "),
        (OWN.replace('"gpu_names"', '"password"'), "no answer is called 'password'"),
        (OWN.replace("sudo driver-log", "a\\u001b[2Jb"), "expected lines of at most"),
        (OWN.replace('id = "gpu"', 'colour = "red"'), "colour"), ("x = '" + "a" * 100_000 + "'", "at most 100000"),
        (OWN.split("[[form.question]]")[0] + "[[form.question]]\nlabel = 'x'\n" * 101, "expected at most 100"),
    ],
)  # fmt: skip
def test_a_profile_of_somebody_else_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(DataError, match=r"^own\.toml: ") as error:
        parse(text, "own.toml", is_answer)
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[TrackerServer]:
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GH_HOST", "GITHUB_API_URL", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(tmp_path)
    with TrackerServer() as server:
        monkeypatch.setenv("GITHUB_SERVER_URL", server.url)
        yield server


def run(*words: str) -> int:
    return cli.run(["report", "--capture", str(MACHINES / "rtx4090-healthy"), *words])


def test_the_projects_own_profile_goes_before_a_guess(tracker: TrackerServer, capsys: pytest.CaptureFixture[str]) -> None:
    tracker.files = {".github/ISSUE_TEMPLATE/bug.yml": FORM.encode(), ".github/gpudoctor.toml": OWN.encode()}
    assert run("--to", "owner/repo") == 0
    said = capsys.readouterr()
    query = {key: values[0] for key, values in parse_qs(urlsplit(said.out.strip()).query).items()}
    assert query["gpu"] == "GeForce RTX 4090 (10de:2684)" and query["python"] == "3.11.9"  # by the profile; the form alone names this field
    assert "Log of the driver (required)" in said.err and "asks for the output of: sudo driver-log" in said.err


def test_a_broken_profile_of_a_project_is_named_and_not_used(tracker: TrackerServer, capsys: pytest.CaptureFixture[str]) -> None:
    tracker.files = {".github/ISSUE_TEMPLATE/bug.yml": FORM.encode(), ".github/gpudoctor.toml": b"schema = 7"}
    assert run("--to", "owner/repo") == 0
    said = capsys.readouterr()
    assert ".github/gpudoctor.toml of owner/repo: " in said.err and "GeForce%20RTX%204090" in said.out  # the form's own words still count


def test_a_known_form_is_shown_without_a_connection(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("GITHUB_SERVER_URL", raising=False)
    assert run("--to", "ollama/ollama", "--dry-run", "--offline") == 0
    said = capsys.readouterr()
    assert "### GPU\n\nNvidia\n" in said.out and "### What is the issue?\n\n_No response_\n" in said.out
    assert "https://github.com/ollama/ollama/issues/new?template=10_bug_report.yml" in said.out and "journalctl -u ollama" in said.err


def test_names_and_secrets_do_not_reach_a_form() -> None:
    text = str(filled("rtx4090-healthy", "pytorch/pytorch"))
    assert "/home/user/" not in text and "GPU-00000000" not in text


def test_an_answer_that_looks_like_markdown_stays_in_its_block() -> None:
    from gpudoctor.model.tracker_profile import code_block

    block = code_block("a\n```\n# heading\n````")
    assert block.startswith("`````text\n") and block.endswith("\n`````")


def test_every_project_of_the_list_has_one_profile() -> None:
    names = [name.lower() for profile in PROFILES.values() for name in (profile.project, *profile.aliases)]
    assert len(names) == len(set(names)) and all(isinstance(profile, TrackerProfile) for profile in PROFILES.values())
