"""gpudoctor audit from files and recorded machines to verdicts, lines and exit statuses."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.audit.packages import TABLE
from gpudoctor.cli import run
from gpudoctor.facts.derive._tables import table
from gpudoctor.model.audit import BACKENDS
from gpudoctor.reporters.shared.schema import complaints
from gpudoctor.system.host import Ran
from gpudoctor.system.local_host import LocalHost


def audit(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    status = run(["audit", *words, "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert not complaints(document, "audit")
    return status, document


def verdicts(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(row["package"], row["verdict"]) for file in document["files"] for row in file["packages"]]


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def row(document: dict[str, Any], package: str) -> dict[str, Any]:
    return next(row for file in document["files"] for row in file["packages"] if row["package"] == package)


@pytest.mark.parametrize(
    ("backend", "line", "verdict", "use"),
    [
        ("cuda", "torch==2.8.0", "ok", None),
        ("cuda", "torch==2.8.0+cpu", "error", "download.pytorch.org/whl/cu"),
        ("xpu", "torch==2.8.0", "error", "torch==2.8.0+xpu"),
        ("xpu", "torch==2.8.0+xpu", "ok", None),
        ("xpu", "torch==2.3.0", "error", "torch>=2.5"),
        ("xpu", "torch<2.5", "error", "torch>=2.5"),
        ("rocm", "torch==2.8.0", "error", "torch==2.8.0+rocm6.4"),
        ("cpu", "torch==2.8.0", "ok", None),
        ("directml", "torch==2.4.1", "error", "torch-directml"),
        ("xpu", "bitsandbytes==0.43.1", "error", "bitsandbytes>=0.48.0"),
        ("xpu", "bitsandbytes>=0.40", "ok", None),
        ("xpu", "bitsandbytes~=0.43.0", "error", "bitsandbytes>=0.48.0"),
        ("rocm", "flash-attn", "ok", None),
        ("xpu", "flash-attn", "error", None),
        ("openvino", "onnxruntime-gpu", "error", "onnxruntime-openvino"),
        ("rocm", "cupy-cuda12x", "error", "cupy"),
        ("xpu", "nvidia-cublas-cu12", "info", None),
        ("cuda", "requests", "unlisted", None),
        ("rocm", "detectron2", "unverified", None),
        ("cuda", "torch; sys_platform == 'darwin'", "skipped", None),
        ("cuda", "jax[cuda12]", "ok", None),
        ("xpu", "jax[oneapi]", "ok", None),
        ("rocm", "jax[oneapi]", "error", None),
        ("rocm", "jax", "error", "jax[rocm7-local]"),
        ("rocm", "onnxruntime-rocm==1.22.2.post3", "ok", None),
        ("cpu", "onnxruntime-gpu", "warning", "onnxruntime"),
        ("cuda", "tensorflow-gpu", "error", "tensorflow[and-cuda]"),
        ("cuda", "tensorflow-gpu==2.10.1", "ok", None),
        ("xpu", "tensorflow-gpu==2.10.1", "error", "intel-extension-for-tensorflow"),
        ("cuda", "apex", "warning", "github.com/NVIDIA/apex"),
        ("cuda", "apex @ git+https://github.com/NVIDIA/apex.git", "ok", None),
        ("xpu", "ipex-llm", "info", None),
        ("directml", "pytorch-directml==1.8.0a0.dev220506", "error", "torch-directml"),
        ("xpu", "pytorch-directml==1.8.0a0.dev220506", "error", "--extra-index-url https://download.pytorch.org/whl/xpu"),
        ("rocm", "torch-directml", "error", "--extra-index-url https://download.pytorch.org/whl/rocm"),
        ("cuda", "jax", "error", "jax[cuda13]"),
        ("xpu", "tensorflow[and-cuda]==2.15.0", "error", None),
    ],
)  # fmt: skip
def test_one_package_on_one_backend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], backend: str, line: str, verdict: str, use: str | None
) -> None:
    status, document = audit(capsys, write(tmp_path, "requirements.txt", f"# one\n{line}\n"), "--backend", backend)
    (found,) = document["files"][0]["packages"]
    assert (found["verdict"], found["line"]) == (verdict, 2)
    assert use is None or any(use in each for each in found["use"]), found
    assert status == (1 if verdict == "error" else 0)


def test_the_index_of_the_file_counts_and_one_of_its_own_counts_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = "--extra-index-url https://download.pytorch.org/whl/xpu\n"
    assert audit(capsys, write(tmp_path, "requirements.txt", f"{index}torch>=2.6\n"), "--backend", "xpu")[0] == 0
    for place, status in (("nightly/xpu", 0), ("0.33.0/xpu", 0), ("rocm/", 1)):
        text = f"--extra-index-url https://wheels.vllm.ai/{place}\nvllm\n"
        assert audit(capsys, write(tmp_path, "requirements.txt", text), "--backend", "xpu")[0] == status, place
    cpu = "--index-url https://download.pytorch.org/whl/cpu\ntorch\n"
    assert audit(capsys, write(tmp_path, "requirements.txt", cpu), "--backend", "cuda")[0] == 1
    lock = '[[package]]\nname = "torch"\nversion = "2.8.0"\nsource = { registry = "https://pypi.org/simple" }\n'
    status, document = audit(capsys, write(tmp_path, "uv.lock", lock), "--backend", "xpu")
    assert status == 1 and 'url = "https://download.pytorch.org/whl/xpu"' in row(document, "torch")["use"]


@pytest.mark.parametrize(
    ("backend", "text", "package", "says"),
    [
        ("cuda", "torch==2.8.0\ntorchvision==0.22.0\n", "torchvision", "another torch"),
        ("cuda", "torch>=2.7,<2.8\ntorchaudio==2.4.0\n", "torchaudio", "no release"),
        ("cuda", "torch==2.6.0+cu118\ntorchvision==0.21.0+cu124\n", "torchvision", "+cu124 beside"),
        ("cuda", "torch==2.8.0\nxformers==0.0.30\n", "xformers", "another torch"),
        ("cuda", "torch==2.8.0\ntriton==3.1.0\n", "triton", "demands triton 3.4.0"),
        ("cuda", "torch==2.1.0\nnumpy==2.0.1\n", "numpy", "built for NumPy 1"),
        ("cpu", "torch==2.13.0\nintel-extension-for-pytorch==2.8.0\n", "intel-extension-for-pytorch", "built for torch 2.8"),
        ("directml", "torch==2.6.0\ntorch-directml==0.2.5.dev240914\n", "torch", "(FILE:2) demands torch 2.4.1"),
        ("ipu", "torch==2.1.0\npoptorch==3.4.0\n", "torch", "poptorch 3.4.0 (FILE:2) demands torch 2.0.1"),
        ("cpu", "onnxruntime==1.24.1\nonnxruntime-openvino==1.24.1\n", "onnxruntime", "overwrites the files"),
    ],
)  # fmt: skip
def test_versions_that_exclude_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], backend: str, text: str, package: str, says: str
) -> None:
    status, document = audit(capsys, write(tmp_path, "requirements.txt", text), "--backend", backend)
    assert status == 1
    rows = [each for each in document["files"][0]["packages"] if each["package"] == package and each["verdict"] == "error"]
    assert any(says.replace("FILE", str(tmp_path / "requirements.txt")) in each["says"] for each in rows), document["files"]


@pytest.mark.parametrize(
    ("backend", "text", "package", "use"),
    [
        ("cuda", "torch==2.6.0\nxformers==0.0.29\n", "xformers", ["xformers==0.0.29.post3"]),
        ("cuda", "torch==2.5.1\nxformers==0.0.29.post2\n", "xformers", ["xformers==0.0.29.post1"]),
        ("cuda", "vllm==0.6.6\ntorch==2.6.0\n", "torch", ["torch==2.5.1"]),
        # XPU builds begin with 2.5: before them Intel's own index has the torch of IPEX
        ("xpu", "torch==2.1.0\nintel-extension-for-pytorch==2.1.10\n", "torch",
         ["--extra-index-url https://download.pytorch.org/whl/xpu", "torch>=2.5"]),
        ("xpu", "torch==2.1.0\nintel-extension-for-pytorch==2.1.10+xpu\n", "torch",
         ["--extra-index-url https://pytorch-extension.intel.com/release-whl/stable/xpu/us/", "torch==2.1.0a0"]),
        # torch for XPU brings its own Triton, and PyPI has no triton-xpu
        ("xpu", "torch==2.8.0\ntriton==3.4.0\n", "triton", []),
    ],
)  # fmt: skip
def test_what_is_proposed_exists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], backend: str, text: str, package: str, use: list[str]
) -> None:
    status, document = audit(capsys, write(tmp_path, "requirements.txt", text), "--backend", backend)
    rows = [each for each in document["files"][0]["packages"] if each["package"] == package and each["verdict"] == "error"]
    assert status == 1 and [each["use"] for each in rows] == [use]


@pytest.mark.parametrize("backend", ["xpu", "rocm", "cpu"])
def test_no_index_of_nightly_builds_is_proposed(tmp_path: Path, capsys: pytest.CaptureFixture[str], backend: str) -> None:
    _, document = audit(capsys, write(tmp_path, "requirements.txt", "vllm==0.11.0\n"), "--backend", backend)
    (line,) = row(document, "vllm")["use"]
    assert line.startswith("# ") and "nightly" not in line


def test_no_table_is_proposed_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '[project]\nname = "x"\nversion = "1"\ndependencies = [\n"torch==2.8.0",\n"torchvision==0.23.0",\n]\n'
    _, document = audit(capsys, write(tmp_path, "pyproject.toml", text), "--backend", "xpu")
    lines = [line for each in document["files"][0]["packages"] for line in each["use"]]
    assert lines.count("[tool.uv.sources]") == lines.count("[[tool.uv.index]]") == 1
    _, document = audit(capsys, write(tmp_path, "pyproject.toml", text + '[tool.uv.sources]\nfoo = { path = "x" }\n'), "--backend", "xpu")
    lines = [line for each in document["files"][0]["packages"] for line in each["use"]]
    assert "[tool.uv.sources]" not in lines and any("torchvision = {" in line for line in lines)


def test_two_releases_of_torch_in_one_image_are_one_conflict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "requirements.txt", "torch==2.7.1\ntorchvision==0.22.1\n")
    text = "FROM python:3.12\nCOPY requirements.txt .\nRUN pip install torch==2.6.0\nRUN pip install -r requirements.txt\n"
    status, document = audit(capsys, write(tmp_path, "Dockerfile", text), "--backend", "cuda")
    wrong = {(file["file"].rpartition("/")[2], each["package"]): each for file in document["files"] for each in file["packages"]
             if each["verdict"] == "error"}  # fmt: skip
    assert status == 1 and list(wrong) == [("Dockerfile", "torch")]
    assert wrong["Dockerfile", "torch"]["use"] == ["RUN pip install torch==2.7.1"]


@pytest.mark.parametrize(
    "text",
    [
        "torch==2.8.0\ntorchvision==0.23.0\ntriton==3.4.0\nnumpy==2.1.0\n",
        "torch>=2.1\ntorchvision\nnumpy\n",
        "torch~=2.7\ntorchvision>=0.22\n",
    ],
)
def test_what_goes_together_is_not_blamed(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    status, document = audit(capsys, write(tmp_path, "requirements.txt", text), "--backend", "cuda")
    assert status == 0 and {verdict for _, verdict in verdicts(document)} == {"ok"}


def test_a_torch_without_wheels_for_the_projects_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '[project]\nrequires-python = ">=3.13"\ndependencies = ["torch==2.1.0"]\n'
    status, document = audit(capsys, write(tmp_path, "pyproject.toml", text), "--backend", "cuda")
    assert status == 1 and "Python 3.8 to 3.11" in row(document, "torch")["says"]


def test_base_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "Dockerfile", "FROM docker.io/pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime\nRUN pip install vllm\n")
    status, document = audit(capsys, path, "--backend", "rocm")
    assert status == 1 and ("FROM rocm/pytorch" in document["files"][0]["packages"][0]["use"])
    assert audit(capsys, path, "--backend", "cuda")[0] == 0


@pytest.mark.parametrize(
    ("image", "backend", "verdict"),
    [
        ("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", "cpu", "warning"),
        ("vllm/vllm-openai:v0.33.0", "cpu", "error"),
        ("nvcr.io/nvidia/cuda:13.0.0-base-ubuntu24.04", "rocm", "warning"),
        ("nvcr.io/nvidia/pytorch:25.10-py3", "rocm", "error"),
        ("intel/intel-optimized-pytorch:2.8.10-xpu-pip-base", "xpu", "ok"),
        ("intel/intel-optimized-pytorch:2.8.0-pip-base", "xpu", "error"),
        ("vllm/vllm-openai-xpu:latest", "xpu", "ok"),
        ("graphcore/pytorch:3.3.0", "cpu", "error"),
    ],
)
def test_one_base_image_on_one_backend(tmp_path: Path, capsys: pytest.CaptureFixture[str], image: str, backend: str, verdict: str) -> None:
    _, document = audit(capsys, write(tmp_path, "Dockerfile", f"FROM {image}\n"), "--backend", backend)
    assert verdicts(document)[0][1] == verdict, document["files"]


def test_includes_stay_in_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inside, outside = tmp_path / "project", tmp_path / "outside.txt"
    inside.mkdir()
    outside.write_text("flash-attn\n")
    (inside / "link.txt").symlink_to(outside)
    write(inside, "base.txt", "-r requirements.txt\nxformers\n")
    text = "-r base.txt\n-r ../outside.txt\n-c link.txt\n-r https://x.example/r.txt\n"
    status, document = audit(capsys, write(inside, "requirements.txt", text), "--backend", "xpu")
    assert status == 1 and verdicts(document) == [("xformers", "error")]
    assert len(document["notes"]) == 3


def test_bad_input_is_one_line_and_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "requirements-pipe.txt")
    (tmp_path / "requirements-utf.txt").write_bytes(b"torch\n\xff\xfe\xfa")
    for words in (
        [str(tmp_path)], [str(tmp_path / "none.txt")], [str(tmp_path / "requirements-pipe.txt")], [str(tmp_path / "requirements-utf.txt")],
        [write(tmp_path, "requirements.txt", "a b c\n")], ["--backend", "cuba"], ["--backend", "tensorflow"],
    ):  # fmt: skip
        assert run(["audit", *words, *([] if "--backend" in words else ["--backend", "cuda"])]) == 2
        said = capsys.readouterr()
        assert said.out == "" and said.err.count("\n") == 1


def test_nothing_hostile_reaches_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "requirements.txt", "./\x1b]0;owned\x07x.whl\nflash-attn @ https://x.example/\x1b[31m\u202e.whl\n")
    assert run(["audit", path, "--backend", "xpu"]) in (1, 2)
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err and "\u202e" not in said.out + said.err


def test_text_says_file_line_sign_word_and_replacement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "requirements.txt", "torch==2.8.0\nonnxruntime-gpu\n")
    assert run(["audit", path, "--backend", "xpu"]) == 1
    out = capsys.readouterr().out
    assert "x error" in out and "2: onnxruntime-gpu" in out and "write  onnxruntime-openvino" in out
    assert out.rstrip().endswith("Does not run on xpu as written: 2 errors.")
    assert run(["audit", path, "--backend", "xpu", "--fail-on", "never", "-q"]) == 0


def test_annotations_and_sarif_name_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "requirements.txt", "numpy\nonnxruntime-gpu\n")
    assert run(["audit", path, "--backend", "xpu", "--format", "github"]) == 1
    assert f"::error file={path},line=2," in capsys.readouterr().out
    assert run(["audit", path, "--backend", "xpu", "--format", "sarif"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 2


def test_the_table_is_sound() -> None:
    packages = table(TABLE)["package"]
    names = [name for each in packages for name in (each["name"], *each.get("also", ()))]
    assert len(names) == len(set(names))
    for each in packages:
        for on in each["on"]:
            assert set(on["backends"]) <= set(BACKENDS) and on["source"] and on["date"]
            assert on["status"] in ("works", "index", "replace", "partner", "build", "cpu", "none", "useless", "unverified"), each["name"]
            assert on["status"] != "index" or (on["indexes"] and on["flavour"] and on["use"][0].startswith(("https://", "{index.")))
            assert on["status"] != "replace" or on.get("use") or on["note"].endswith(": remove it"), each["name"]


MACHINES = Path(__file__).parents[2] / "machines"


@pytest.mark.parametrize(
    ("machine", "backend"),
    [("arc-a750-old-kernel", "xpu"), ("mi300x-healthy", "rocm"), ("rtx4090-healthy", "cuda"), ("ipu-healthy", "ipu"),
     ("macos-m3-healthy", "mps"), ("windows-rx7900-directml", "directml"), ("wsl2-b580", "xpu"), ("vm-virtio-only", "cpu")],
)  # fmt: skip
def test_the_backend_of_a_recorded_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str], machine: str, backend: str) -> None:
    path = write(tmp_path, "requirements.txt", "numpy\n")
    status, document = audit(capsys, path, "--capture", str(MACHINES / machine))
    assert (status, document["backend"]["name"]) == (0, backend)


def test_a_machine_that_does_not_say_what_it_has_is_exit_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = tmp_path / "machine"
    capture.mkdir()
    write(capture, "machine.toml", 'format = 1\ncomplete = true\nplatform = "linux"\n')
    assert run(["audit", write(tmp_path, "requirements.txt", "torch\n"), "--capture", str(capture)]) == 4
    said = capsys.readouterr()
    assert said.out == "" and "--backend" in said.err and said.err.count("\n") == 1


def test_the_installed_packages_of_a_recorded_machine(capsys: pytest.CaptureFixture[str]) -> None:
    status, document = audit(capsys, "--capture", str(MACHINES / "rtx4090-ort-two-wheels"))
    assert status == 1 and document["files"][0]["kind"] == "installed"
    assert row(document, "onnxruntime")["trouble"] == "same-files" and row(document, "onnxruntime")["line"] is None


INDEX = "https://download.pytorch.org/whl/xpu"
LOCK = """
[[package]]
name = "torch"
version = "2.6.0"
[[package]]
name = "torchvision"
version = "0.20.0"
[[package]]
name = "onnxruntime-gpu"
version = "1.20.0"
"""
PIPFILE_LOCK = """{"_meta": {}, "develop": {}, "default": {
  "torch": {"version": "==2.6.0"}, "torchvision": {"version": "==0.20.0"}, "onnxruntime-gpu": {"version": "==1.20.0"}}}
"""
CONDA_LOCK = """version: 1
package:
- name: pytorch
  version: 2.6.0
  manager: conda
- name: torchvision
  version: 0.20.0
  manager: conda
- name: onnxruntime-gpu
  version: 1.20.0
  manager: pip
"""


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("poetry.lock", LOCK, ["poetry add --source pytorch-xpu torchvision==0.21.0", "poetry add onnxruntime-openvino"]),
        ("uv.lock", LOCK, ["# in pyproject.toml:", '"torchvision==0.21.0",', "uv add onnxruntime-openvino", "# then: uv lock"]),
        ("pdm.lock", LOCK, ["# in pyproject.toml:", '"torchvision==0.21.0",', "pdm add onnxruntime-openvino", "# then: pdm lock"]),
        ("Pipfile.lock", PIPFILE_LOCK, [f"pipenv install --index {INDEX} torchvision==0.21.0+xpu", "pipenv install onnxruntime-openvino"]),
        ("conda-lock.yml", CONDA_LOCK, ["# in environment.yml:", "  - torchvision==0.21.0+xpu", "  - onnxruntime-openvino"]),
    ],
)  # fmt: skip
def test_a_lock_file_is_not_edited(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, wanted: list[str]) -> None:
    """What is proposed is a command of its tool, or lines of the file that it is made of, each table once."""
    _, document = audit(capsys, write(tmp_path, name, text), "--backend", "xpu")
    lines = [line for each in document["files"][0]["packages"] for line in each["use"]]
    assert [line for line in wanted if line not in lines] == []
    commands = re.compile(r"(?:poetry|uv|pdm|pipenv) \w+ |# |[\[\"]|[a-z_]+ = |- pip:|  - ")
    assert [line for line in lines if not commands.match(line)] == []
    tables = [line for line in lines if line.startswith(("[", "- pip:", "poetry source", "  - --extra"))]
    assert len(tables) == len(set(tables)), lines


@pytest.mark.parametrize(
    ("name", "text", "backend", "wanted"),
    [
        ("pyproject.toml", "[project]\ndependencies = ['torch==2.6.0']\n", "xpu", "'torch==2.6.0',"),
        ("pyproject.toml", "[project]\ndependencies = ['tensorflow[and-cuda]==2.17.0']\n", "cpu", "'tensorflow==2.17.0',"),
        ("pyproject.toml", '[tool.poetry.dependencies]\nonnxruntime-gpu = "^1.2"\n', "xpu", 'onnxruntime-openvino = "*"'),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "2.6.0"\n', "xpu",
         'torch = { version = "==2.6.0", source = "pytorch-xpu" }'),
        ("Pipfile", '[packages]\nonnxruntime-gpu = "*"\n', "xpu", 'onnxruntime-openvino = "*"'),
        ("environment.yml", "dependencies:\n- pip:\n  - 'onnxruntime-gpu'\n", "xpu", "- 'onnxruntime-openvino'"),
        ("environment.yml", 'dependencies:\n- pytorch==2.5.1\n- "torchvision==0.19.0"\n', "cuda", '- "torchvision=0.20.1"'),
        ("environment.yml", "dependencies:\n- pytorch==2.1.0\n- pip:\n  - torch-directml\n", "directml", "- pytorch=2.4.1"),
        ("setup.cfg", "[options]\ninstall_requires =\n  torch==2.6.0\n  torchvision==0.20.0\n", "xpu", "torchvision==0.21.0"),
        ("setup.py", "setup(install_requires=['onnxruntime-gpu'])\n", "xpu", '"onnxruntime-openvino",'),
        ("compose.yaml", "services:\n  a:\n    image: nvidia/cuda:12.4.1-base-ubuntu22.04\n", "xpu", "image: ubuntu:24.04"),
        ("requirements.txt", "pytorch==2.6.0\n", "cuda", "torch==2.6.0"),
    ],
)  # fmt: skip
def test_a_line_is_proposed_as_the_file_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, backend: str, wanted: str
) -> None:
    _, document = audit(capsys, write(tmp_path, name, text), "--backend", backend)
    assert wanted in [line for each in document["files"][0]["packages"] for line in each["use"]], document["files"]


def test_the_line_of_torch_is_what_an_extension_of_it_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "torch-directml==0.2.5.dev240914\ntorch==2.1.0\n"
    _, document = audit(capsys, write(tmp_path, "requirements.txt", text), "--backend", "directml")
    assert [each["line"] for each in document["files"][0]["packages"] if "torch==2.4.1" in each["use"]] == [2]
    _, document = audit(capsys, write(tmp_path, "requirements.txt", text), "--backend", "cuda")
    gone = row(document, "torch-directml")
    assert gone["use"] == [] and "remove it, torch is here already" in gone["says"]


def test_a_package_that_keeps_numpy_2_away_by_itself_is_not_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line, verdict in (("tensorflow[and-cuda]==2.17.0", "ok"), ("tensorflow[and-cuda]==2.14.0", "warning")):
        _, document = audit(capsys, write(tmp_path, "requirements.txt", f"{line}\n"), "--backend", "cuda")
        assert [each["verdict"] for each in document["files"][0]["packages"]] == [verdict], line


def test_a_partner_of_a_torch_that_is_too_old_itself_is_not_fitted_to_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "requirements.txt", "torch==2.1.0\ntorchvision==0.17.0\n")
    _, document = audit(capsys, path, "--backend", "xpu")
    assert [each["use"][-1] for each in document["files"][0]["packages"]] == ["torch>=2.5", "torchvision>=0.20"]


def test_partners_fit_the_torch_that_is_proposed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "requirements.txt", "torch==2.6.0\ntorchvision==0.21.0\nvllm==0.6.6\n")
    _, document = audit(capsys, path, "--backend", "cuda")
    assert [each["use"] for each in document["files"][0]["packages"]] == [["torch==2.5.1"], ["torchvision==0.20.1"], []]


def _answered(monkeypatch: pytest.MonkeyPatch, answer: Callable[[list[str]], tuple[int, str]]) -> list[list[str]]:
    """pip as it would answer; what it was asked, each time."""
    asked: list[list[str]] = []

    def run_child(self: object, argv: list[str], **_: object) -> Ran:
        words = [word for word in argv if "==" in word or word[:1].isalpha()][3:]
        asked.append(words)
        rc, said = answer(words)
        return Ran(tuple(argv), rc=rc, stderr=said)

    monkeypatch.setattr(LocalHost, "run_child", run_child)
    return asked


def test_proposals_are_resolved_with_the_rest_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "requirements.txt", "torch==2.6.0\ntorchvision==0.20.1\nonnxruntime-gpu\nflask==3.0.0 ; python_version > '3'\n")

    def clash(words: list[str]) -> tuple[int, str]:
        said = "ERROR: Cannot install torchvision==0.21.0+xpu and flask==3.0.0 because these package versions have conflicting"
        return (1, f"{said} dependencies.\nERROR: ResolutionImpossible: for help visit") if "flask==3.0.0" in words else (0, "")

    asked = _answered(monkeypatch, clash)
    _, document = audit(capsys, path, "--backend", "xpu", "--online")
    assert {"torch==2.6.0+xpu", "torchvision==0.21.0+xpu", "onnxruntime-openvino", "flask==3.0.0"} <= set(asked[-1])
    assert not {"torch==2.6.0", "torchvision==0.20.1", "onnxruntime-gpu"} & set(asked[-1])
    assert row(document, "torchvision")["use"][0] == f"# not certain: torchvision and flask exclude each other in {path}"
    assert not any("not certain" in line for name in ("torch", "onnxruntime-gpu") for line in row(document, name)["use"])
    assert "does not resolve as a whole" in document["resolution"]
    _answered(monkeypatch, lambda words: (0, ""))
    _, document = audit(capsys, path, "--backend", "xpu", "--online")
    assert document["resolution"] == f"3 proposals resolved with pip; {path} with these lines resolves as a whole"


def test_where_the_index_does_not_answer_nothing_is_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "requirements.txt", "torch==2.6.0\ntorchvision==0.20.1\n")
    _answered(monkeypatch, lambda words: (1, "Could not fetch URL: connection error"))
    _, document = audit(capsys, path, "--backend", "cuda", "--online")
    assert row(document, "torchvision")["use"] == ["torchvision==0.21.0"] and "was not resolved as a whole" in document["resolution"]


@pytest.mark.parametrize("demand", ["==2.3.0", "==2.3.*", "~=2.3.0"])
def test_a_line_of_releases_is_taken_from_the_index_that_has_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], demand: str) -> None:
    (index,) = table("rocm-torch")["index"]["2.3"]
    _, document = audit(capsys, write(tmp_path, "requirements.txt", f"torch{demand}\n"), "--backend", "rocm")
    assert row(document, "torch")["use"][0] == f"--extra-index-url https://download.pytorch.org/whl/rocm{index}"


def test_a_run_that_does_more_keeps_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "FROM python:3.12\nRUN apt-get update && pip install torch==2.7.1+cu128 numpy && rm -rf /tmp/x\nRUN pip install torch==2.8.0\n"
    file = write(tmp_path, "Dockerfile", text)
    rows = audit(capsys, file, "--backend", "xpu")[1]["files"][0]["packages"]
    index = "--index-url https://download.pytorch.org/whl/xpu"
    among, alone = (row["use"] for row in rows if row["package"] == "torch")
    assert among == ["# in this RUN, in place of torch==2.7.1+cu128; the rest of it stays:", f"pip install torch==2.7.1+xpu {index}"]
    assert alone == [f"RUN pip install torch==2.7.1+xpu {index}"]


def test_what_has_to_go_demands_no_torch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, "Dockerfile", "FROM python:3.10\nRUN pip install torch==2.1.0 vllm==0.6.6\n")
    lines = {backend: [line for each in audit(capsys, file, "--backend", backend)[1]["files"][0]["packages"] for line in each["use"]]
             for backend in ("directml", "cuda")}  # fmt: skip
    assert [line for line in lines["cuda"] if "torch==2.5.1" in line]
    assert not [line for line in lines["directml"] if "torch==" in line and line[0] != "#"], lines["directml"]


def test_no_build_is_invented_for_a_pinned_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, document = audit(capsys, write(tmp_path, "requirements.txt", "torch==2.6.0\nxformers==0.0.29.post3\n"), "--backend", "rocm")
    found = row(document, "xformers")
    assert (found["verdict"], found["use"]) == ("error", []) and "is not known" in found["says"]
