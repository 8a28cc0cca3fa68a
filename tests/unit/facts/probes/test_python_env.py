"""Reading a Python environment from its files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpudoctor.facts.probes import dist_info, frameworks, python_env
from gpudoctor.facts.probes.interpreter import find_target, parse_pyvenv, short_version
from gpudoctor.model.facts import Absent, Facts, Known
from gpudoctor.system.local_host import LocalHost

VERSION_PY = """from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']
__version__ = '2.7.1+cu126'
debug = False
cuda: Optional[str] = '12.6'
git_version = 'e2d141dbde55c2a4370fac5165b0561b6af4798b'
hip: Optional[str] = None
xpu: Optional[str] = None
"""


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment of files: torch, six and a second torchvision."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "env"
    site = root / "lib" / "python3.11" / "site-packages"
    (root / "bin").mkdir(parents=True)
    (site / "torch" / "lib").mkdir(parents=True)
    (root / "bin" / "python").symlink_to("/usr/bin/env")
    (root / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.7\n")
    (site / "torch" / "version.py").write_text(VERSION_PY)
    (site / "torch" / "lib" / "libtorch_cpu.so").write_bytes(b"x" * 100)
    info = site / "torch-2.7.1+cu126.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.7.1+cu126\nRequires-Python: >=3.9\n\nbody\nVersion: 9\n")
    (info / "INSTALLER").write_text("uv\n")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_28_x86_64\n")
    (info / "RECORD").write_text("torch/version.py,sha256=a,300\ntorch/lib/libtorch_cpu.so,sha256=b,100\n")
    for name in ("six-1.16.0.dist-info", "torchvision-0.22.1.dist-info", "torchvision-0.21.0.dist-info", "~orch-2.0.0.dist-info"):
        (site / name).mkdir()
    return root


def facts_of(root: Path) -> Facts:
    host = LocalHost(quick=True)
    host.target_python = str(root)
    facts = Facts()
    for name, fact in python_env.collect(host, facts):
        facts.set(name, fact)
    return facts


def test_contents(venv: Path) -> None:
    facts = facts_of(venv)
    assert facts.value("python.distributions") == {"six": "1.16.0", "torch": "2.7.1+cu126", "torchvision": ["0.21.0", "0.22.1"]}
    assert facts.value("python.version") == "3.11.7"
    assert facts.value("python.kind") == "venv"
    assert facts.value("python.leftovers") == ["~orch-2.0.0.dist-info"]
    assert facts.value("torch.version_file.cuda") == "12.6"
    assert facts.value("python.machine") == "x86_64"
    torch = next(p for p in facts.value("python.packages") if p["name"] == "torch")
    assert (torch["installer"], torch["local"], torch["damaged"]) == ("uv", "cu126", [])


def test_a_package_that_was_built_in_place(venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pytorch_ocl is a folder without metadata where somebody built it; a wheel of it has its own version."""
    (tmp_path / "build" / "pytorch_ocl").mkdir(parents=True)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "build"))
    assert facts_of(venv).value("python.distributions")["pytorch-ocl"] == ""
    (tmp_path / "build" / "pytorch_ocl-0.2.0+torch2.4.dist-info").mkdir()
    assert facts_of(venv).value("python.distributions")["pytorch-ocl"] == "0.2.0+torch2.4"


def test_damage(venv: Path) -> None:
    site = venv / "lib" / "python3.11" / "site-packages" / "torch"
    (site / "lib" / "libtorch_cpu.so").write_bytes(b"x" * 40)
    (site / "version.py").unlink()
    torch = next(p for p in facts_of(venv).value("python.packages") if p["name"] == "torch")
    assert torch["damaged"] == ["torch/version.py", "torch/lib/libtorch_cpu.so"]


def test_larger_library_is_no_damage(venv: Path) -> None:
    (venv / "lib" / "python3.11" / "site-packages" / "torch" / "lib" / "libtorch_cpu.so").write_bytes(b"x" * 140)
    torch = next(p for p in facts_of(venv).value("python.packages") if p["name"] == "torch")
    assert torch["damaged"] == []


def test_deleted_interpreter(venv: Path) -> None:
    (venv / "bin" / "python").unlink()
    (venv / "bin" / "python").symlink_to("python3")
    (venv / "bin" / "python3").symlink_to("/nowhere/python3.9")
    facts = facts_of(venv)
    assert "points to /nowhere/python3.9" in facts.value("python.error")
    assert facts.value("python.distributions.torch") == "2.7.1+cu126"


@pytest.mark.parametrize("name", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_active_environment(venv: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, str(venv))
    target = find_target(LocalHost(quick=True))
    assert target.prefix == str(venv) and name in target.why


def test_folder_here(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (venv / "bin" / "activate").write_text(f'VIRTUAL_ENV="{venv.parent / ".venv"}"\n')
    os.rename(venv, venv.parent / ".venv")
    monkeypatch.chdir(venv.parent)
    target = find_target(LocalHost(quick=True))
    assert target.why == ".venv in this folder" and target.prefix.endswith("/.venv")


def test_empty_folder_is_no_environment(tmp_path: Path) -> None:
    assert "holds no Python" in facts_of(tmp_path).value("python.error")


def test_healthy_has_no_error(venv: Path) -> None:
    assert isinstance(facts_of(venv).get("python.error"), Absent)


def test_small_parsers() -> None:
    assert parse_pyvenv("Home = /usr/bin\nuv = 0.5.1\nbroken")["uv"] == "0.5.1"
    assert short_version("3.12.0rc1.candidate") == "3.12.0rc1" and short_version("none") == ""
    assert dist_info.normalise("Typing_Extensions.x") == "typing-extensions-x"
    assert dist_info.parse_record('"a,b.so",sha256=x,5\nc.py,,\n') == [("a,b.so", 5), ("c.py", None)]
    assert dist_info.required_version(["numpy", "torch (==2.10.0)", "torch>=1; extra == 'x'"], "torch") == "==2.10.0"
    assert dist_info.parse_direct_url('{"url": "file:///x", "dir_info": {"editable": true}}') == ("file:///x", True)
    assert dist_info.parse_direct_url("[") == ("", False)
    found, left = dist_info.from_names("/s", ["numpy-1.26.4.dist-info", "old-1.0-py3.8.egg-info", "~umpy", "README"])
    assert [(d.name, d.version) for d in found] == [("numpy", "1.26.4"), ("old", "1.0")] and left == ["~umpy"]
    assert dist_info.conda_packages(["pytorch-2.1.0-py3.10_cuda12.1_0.json", "history"]) == {"pytorch": "2.1.0 py3.10_cuda12.1_0"}


def test_frameworks_of_distributions() -> None:
    assert frameworks.present({"torch", "onnxruntime-gpu", "six"}) == ["torch", "onnxruntime"]
    assert frameworks.present([]) == []


def test_known_is_complete(venv: Path) -> None:
    facts = facts_of(venv)
    assert isinstance(facts.get("python.distributions.tensorflow"), Absent)
    assert isinstance(facts.get("python.shadows"), Known)
