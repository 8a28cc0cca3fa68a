"""Sound environments raise no error, broken ones the right one."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from environments import cut_off, linked_copy, site_packages

Report = dict[str, Any]
Environment = Callable[[str], Path]
Check = Callable[..., Report]


def ids(report: Report, severity: str = "") -> set[str]:
    return {finding["id"] for finding in report["findings"] if not severity or finding["severity"] == severity}


@pytest.fixture
def copy_of_torch(environment: Environment) -> Iterator[Path]:
    source = environment("torch-cpu")
    # beside the source, so that the files can be hard links
    target = source.with_name(f"copy-{time.time_ns()}")
    linked_copy(source, target)
    yield target
    import shutil

    shutil.rmtree(target, ignore_errors=True)


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize("name", ["torch-cpu", "onnxruntime", "openvino", "bare"])
def test_sound_environments_have_no_error(environment: Environment, check: Check, name: str) -> None:
    assert ids(check(environment(name)), "error") == set()


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize(("name", "module"), [("torch-cpu", "torch"), ("onnxruntime", "onnxruntime"), ("openvino", "openvino")])
def test_frameworks_are_inspected(environment: Environment, check: Check, name: str, module: str) -> None:
    said = check(environment(name))["facts"]["python"]["frameworks"][module]
    assert said["imported"] is True
    assert said["libraries"]


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("ipex-beside-torch", "ipex-torch-mismatch"),
        ("torchvision-of-another-torch", "torchvision-of-another-torch"),
        ("onnxruntime-twice", "onnxruntime-packages-overwrite-each-other"),
        ("torch-directml", "directml-outside-windows"),
    ],
)
def test_mixed_environments(environment: Environment, check: Check, name: str, wanted: str) -> None:
    assert wanted in ids(check(environment(name)), "error")


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize("name", ["torchvision-of-another-torch", "onnxruntime-twice", "ipex-beside-torch"])
def test_files_alone_prove_it(environment: Environment, check: Check, name: str) -> None:
    assert ids(check(environment(name), "--quick"), "error")


def test_cut_library(copy_of_torch: Path, check: Check) -> None:
    cut_off(site_packages(copy_of_torch) / "torch" / "lib" / "libtorch_cpu.so")
    report = check(copy_of_torch)
    assert next(f["id"] for f in report["findings"]) == "python-framework-files-damaged"


def test_missing_module_of_torch(copy_of_torch: Path, check: Check) -> None:
    (site_packages(copy_of_torch) / "torch" / "version.py").unlink()
    assert "python-framework-files-damaged" in ids(check(copy_of_torch), "error")


def test_deleted_interpreter(copy_of_torch: Path, check: Check) -> None:
    for name in ("python", "python3", "python3.11"):
        link = copy_of_torch / "bin" / name
        if link.is_symlink():
            link.unlink()
    (copy_of_torch / "bin" / "python").symlink_to("/nowhere/python3.9")
    report = check(copy_of_torch)
    assert "python-interpreter-gone" in ids(report, "error")


def test_folder_without_python_is_a_usage_error(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "gpudoctor", "check", "--python", str(tmp_path), "--format", "json"]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"--python {tmp_path}: this folder holds no Python interpreter" in ran.stderr


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize("name", ["torch-cpu", "openvino", "jax-cpu", "tensorflow-cpu"])
def test_nothing_is_left_in_the_home_folder(
    environment: Environment, check: Check, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = environment(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CI", "")
    check(target)
    ours = tmp_path / ".cache" / "gpudoctor"
    assert [path for path in tmp_path.rglob("*") if path.is_file() and ours not in path.parents] == []
