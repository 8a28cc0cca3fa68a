"""gpudoctor.pyz, as packaging/pyz/build.py makes it, and the wheel as a zip archive that is never unpacked: each command runs from both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from environments import build, site_packages
from installed_doctor import wheel
from pyz_builder import PYTHON, clone, packed

Doctor = Callable[..., subprocess.CompletedProcess[str]]
BOTH = pytest.mark.parametrize("way", ["pyz", "wheel"])


@pytest.fixture(scope="session")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pyz")
    return packed(clone(place / "clone"), place / "gpudoctor.pyz")


@pytest.fixture(scope="session")
def zipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel(tmp_path_factory.mktemp("zipped"))


@pytest.fixture
def doctor(request: pytest.FixtureRequest, tmp_path: Path) -> Doctor:
    """Runs a command of gpudoctor in the way that the parameter `way` names, in an empty folder with an empty home."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV", "XDG_CACHE_HOME")}
    environment = {**kept, "HOME": str(home), "TMPDIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "80"}
    if request.getfixturevalue("way") == "pyz":
        start = [str(request.getfixturevalue("pyz"))]
        environment["PEX_ROOT"] = str(request.getfixturevalue("unpacked"))
    else:
        # "mcp" has the dependencies of gpudoctor and not gpudoctor itself
        start = [str(build("mcp") / "bin" / "python"), "-m", "gpudoctor"]
        environment["PYTHONPATH"] = str(request.getfixturevalue("zipped"))

    def run(*words: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
        argv = [*start, *(str(word) for word in words)]
        return subprocess.run(argv, cwd=home, env=environment, input=text, capture_output=True, text=True, timeout=300)

    return run


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("unpacked")


def left_in(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("gpudoctor-*")]


@BOTH
@pytest.mark.rotates("run without an installation", by="way")
def test_each_command_reads_its_data(way: str, doctor: Doctor, tmp_path: Path) -> None:
    assert doctor("--version").stdout.startswith("gpudoctor ")
    assert "validate" in doctor("--help").stdout
    quick = json.loads(doctor("check", "--quick", "--format", "json").stdout)
    assert quick["schema"] == "gpudoctor.report/1" and "incidents" not in quick.get("facts", {})
    explained = doctor("explain", "-", text="RuntimeError: CUDA error: no kernel image is available for execution on the device\n")
    assert explained.returncode == 1 and "do" in explained.stdout
    for name, beginning in (("r.md", ""), ("r.html", "<!doctype html>"), ("r.json", "{")):
        assert doctor("report", "-o", name).returncode == 0
        assert (tmp_path / "home" / name).read_text(encoding="utf-8").lower().startswith(beginning)
    plan = doctor("setup", "cpu", "--plan", "--env", tmp_path / "env")
    assert plan.returncode == 0 and "PyTorch on the processor" in plan.stdout, plan.stdout + plan.stderr
    assert left_in(tmp_path) == []


@BOTH
@pytest.mark.rotates("run without an installation", by="way")
def test_the_programs_reach_the_interpreter_of_the_target(way: str, doctor: Doctor, tmp_path: Path) -> None:
    target = build("torch-cpu")
    checked = json.loads(doctor("check", "--python", target, "--format", "json").stdout)
    torch = checked["facts"]["python"]["frameworks"]["torch"]
    assert torch["imported"] is True and torch["version"].startswith("2.13")
    done = doctor("validate", "--python", target, "--workload", "matmul", "--quick", "--duration", "1", "--format", "json")
    (row,) = json.loads(done.stdout)["measurements"]
    assert row["status"] == "ok" and row["correctness"]["passed"], done.stderr
    assert left_in(tmp_path) == []


@pytest.mark.rotates("run without an installation", member="pyz")
def test_it_does_not_look_like_the_environment_that_it_examines(pyz: Path, unpacked: Path, tmp_path: Path) -> None:
    """A shell with an active environment is what people have; the file's own Python must not take its place."""
    target = build("torch-cpu")
    environment = {**os.environ, "PEX_ROOT": str(unpacked), "VIRTUAL_ENV": str(target), "PATH": f"{target / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run([str(pyz), "check", "--quick", "--format", "json"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    facts = json.loads(done.stdout)["facts"]["python"]
    assert facts["executable"].startswith(str(target)) and "torch" in facts["distributions"]


@pytest.mark.rotates("run without an installation", member="pyz")
def test_a_python_that_it_holds_nothing_for_is_refused_in_words(pyz: Path, unpacked: Path) -> None:
    """No Python that fits on the PATH either: the reason, not a traceback."""
    other = another_python()
    if other is None:
        pytest.skip(f"needs a Python beside {PYTHON}, on the PATH or in a folder beside that of this one")
    environment = {**os.environ, "PEX_ROOT": str(unpacked), "PATH": "/nowhere"}
    done = subprocess.run([str(other), str(pyz), "--version"], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "No interpreter compatible" in done.stderr and "Traceback" not in done.stderr


def another_python() -> Path | None:
    """A Python of another release that runs: a shim of a version manager may not."""
    names = [f"python3.{minor}" for minor in range(8, 15) if minor != sys.version_info[1]]
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)] + list(Path(sys.base_prefix).parent.glob("3.*/bin"))
    for path in (folder / name for folder in folders for name in names):
        if os.access(path, os.X_OK) and subprocess.run([str(path), "-V"], capture_output=True).returncode == 0:
            return path
    return None


@pytest.mark.rotates("run without an installation", member="pyz")
def test_two_builds_have_the_same_bytes(pyz: Path, tmp_path: Path) -> None:
    again = packed(clone(tmp_path / "another-folder"), tmp_path / "gpudoctor.pyz")
    assert again.read_bytes() == pyz.read_bytes()


def test_the_dependencies_of_the_mcp_environment_do_not_hold_gpudoctor_itself() -> None:
    """Else the wheel on the path would prove nothing."""
    assert not list(site_packages(build("mcp")).glob("gpudoctor*"))
