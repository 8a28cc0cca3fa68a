"""What a stranger gets: a clean clone, its wheel and its editable install, each in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from gpudoctor.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
CLEAN = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")}


def run(*words: str | Path, cwd: Path, **more: str) -> str:
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, timeout=600, env={**CLEAN, **more})
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("clone") / "gpudoctor"
    run("git", "clone", "-q", "--no-local", ROOT, place, cwd=ROOT)
    return place


@pytest.fixture(scope="module")
def wheel(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", place, clone, cwd=place)
    return next(place.glob("*.whl"))


def fresh(place: Path) -> Path:
    venv.create(place, with_pip=True, symlinks=True)
    return place / "bin"


def checks_of(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*/*/*.toml") if path.name != "stack.toml"}


def listed(program: Path, place: Path) -> set[str]:
    return {
        row["id"] for row in json.loads(run(program, "list", "checks", "--format", "json", cwd=place, XDG_CACHE_HOME=str(place)))["checks"]
    }


def test_the_wheel_carries_the_compiled_catalogue_and_nothing_of_the_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "gpudoctor/data/catalogue" in names
    assert "gpudoctor/data/report.schema.json" in names
    assert not [name for name in names if name.startswith(("tests/", "checks/", "packaging/"))]


def test_the_wheel_carries_pages_for_man_and_completions(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        made = {name.partition("/data/")[2]: archive.read(name).decode() for name in archive.namelist() if "/data/share/" in name}
    assert {f"share/man/man1/gpudoctor-{name}.1" for name in COMMANDS} < made.keys()
    page = made["share/man/man1/gpudoctor.1"]
    assert all(says in page for _, says in COMMANDS.values()) and "1980-01-01" in page
    script = tmp_path / "gpudoctor"
    script.write_text(made["share/bash-completion/completions/gpudoctor"])
    words = 'COMP_WORDS=(gpudoctor gua); COMP_CWORD=1; _gpudoctor_completion gpudoctor; echo "${COMPREPLY[@]}"'
    ours = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    assert run("bash", "-c", f"source {script}; {words}", cwd=tmp_path, PATH=ours).strip() == "guard"
    assert "_GPUDOCTOR_COMPLETE=zsh_complete" in made["share/zsh/site-functions/_gpudoctor"]
    assert "_GPUDOCTOR_COMPLETE=fish_complete" in made["share/fish/vendor_completions.d/gpudoctor.fish"]


@pytest.mark.rotates("an installed package")
def test_the_wheel_installed_alone_knows_every_check(wheel: Path, clone: Path, tmp_path: Path) -> None:
    programs = fresh(tmp_path / "venv")
    run(programs / "pip", "install", "-q", wheel, cwd=tmp_path)
    assert listed(programs / "gpudoctor", tmp_path) == checks_of(clone / "checks")
    report = json.loads(run(programs / "gpudoctor", "check", "--quick", "--fail-on", "never", "--format", "json", cwd=tmp_path))
    assert report["schema"] == "gpudoctor.report/1"
    installed = json.loads(run(programs / "pip", "list", "--format", "json", cwd=tmp_path))
    assert len({row["name"] for row in installed} - {"pip", "setuptools", "wheel", "gpudoctor"}) <= 19


@pytest.mark.rotates("an installed package")
def test_an_editable_install_sees_a_new_check_at_once(clone: Path, tmp_path: Path) -> None:
    programs = fresh(tmp_path / "venv")
    run(programs / "pip", "install", "-q", "-e", clone, cwd=tmp_path)
    assert listed(programs / "gpudoctor", tmp_path) == checks_of(clone / "checks")
    run(programs / "gpudoctor", "new", "check", "demo-made-by-a-test", "--topic", "any/demo", cwd=clone)
    assert "demo-made-by-a-test" in listed(programs / "gpudoctor", tmp_path)
    run(programs / "gpudoctor", "list", "checks", "--test", "demo-made-by-a-test", cwd=clone)
