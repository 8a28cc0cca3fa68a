"""Environments are really made; what a person put into one is never deleted."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from stepping import MINOR, PYTHON, carry_out, facts, listing, look, machine, plan
from wheel_index import Wheel, WheelIndex

from gpudoctor.model.plan import DONE, Command
from gpudoctor.setup.environment_snapshot import MANIFEST

HERE = f"=={MINOR}.*"


def bare(path: Path) -> Path:
    """An environment as people have it, made without pip: fast."""
    import venv

    venv.create(path, with_pip=False, symlinks=True)
    return path


@pytest.mark.rotates("a step that makes an environment")
def test_made_used_and_deleted(tmp_path: Path) -> None:
    acting, env = machine(tmp_path), tmp_path / "home" / "gpudoctor" / "torch"
    (tmp_path / "home").mkdir()
    step = carry_out("venv", look(env), acting, python=HERE)
    assert (env / "bin" / "pip").exists()
    assert step.draft.acts == (Command(argv=(PYTHON, "-m", "venv", str(env))),)
    again = plan("venv", look(env), python=HERE)
    assert again.draft.state == DONE
    assert step.undo(acting) == ()
    assert listing(tmp_path / "home") == {}
    assert step.undo(acting) == ()


@pytest.mark.rotates("a step that makes an environment")
def test_compiled_files_are_nobodys(tmp_path: Path) -> None:
    acting, env = machine(tmp_path), tmp_path / "env"
    step = carry_out("venv", look(env), acting, python=HERE)
    acting.run([f"{env}/bin/python", "-c", "import pip._internal.cli.main"], env={"PYTHONDONTWRITEBYTECODE": ""})
    assert step.undo(acting) == ()
    assert not env.exists()


@pytest.mark.rotates("a step that makes an environment")
def test_what_came_since_keeps_it(tmp_path: Path) -> None:
    acting, env = machine(tmp_path), tmp_path / "made" / "env"
    step = carry_out("venv", look(env), acting, python=HERE)
    with WheelIndex([Wheel("flask", "3.1.0")]) as index:
        acting.run([f"{env}/bin/python", "-m", "pip", "--isolated", "install", "-q", "--index-url", index.url, "flask"])
    (env / "notes.txt").write_text("mine")
    (line,) = step.undo(acting)
    assert "flask 3.1.0, notes.txt" in line and f"rm -r {env}" in line
    assert (env / "notes.txt").read_text() == "mine"
    (env / "notes.txt").unlink()
    acting.run([f"{env}/bin/python", "-m", "pip", "--isolated", "uninstall", "-q", "-y", "flask"])
    assert step.undo(acting) == ()
    assert not env.parent.exists()


@pytest.mark.rotates("a step that makes an environment")
def test_an_empty_folder_stays_an_empty_folder(tmp_path: Path) -> None:
    acting, env = machine(tmp_path), tmp_path / "env"
    env.mkdir(0o750)
    step = carry_out("venv", look(env), acting, python=HERE)
    assert step.undo(acting) == ()
    assert listing(env) == {} and stat.S_IMODE(env.stat().st_mode) == 0o750


@pytest.mark.rotates("a step that makes an environment")
@pytest.mark.parametrize("left", ["nothing", "half an environment", "all but the list"])
def test_cut_off_then_resumed_or_undone(tmp_path: Path, left: str) -> None:
    acting, env = machine(tmp_path), tmp_path / "a" / "b" / "env"
    step = plan("venv", look(env), python=HERE).begin(acting)
    if left == "half an environment":
        (env / "bin").mkdir(parents=True)
        (env / "pyvenv.cfg").write_text("home = /nowhere\n")
    elif left == "all but the list":
        env.parent.mkdir(parents=True)
        bare(env)
    note = env.with_name("env.gpudoctor-making")
    if left != "nothing":
        note.touch()
    step.recover(acting).apply(acting)
    assert (env / MANIFEST).exists() and (env / "bin" / "pip").exists() and not note.exists()
    (env / MANIFEST).unlink()
    note.touch()
    step.after = None
    assert step.undo(acting) == ()
    assert not (tmp_path / "a").exists()


@pytest.mark.rotates("a step that makes an environment")
def test_undo_cut_off_in_the_middle_is_finished(tmp_path: Path) -> None:
    acting, env = machine(tmp_path), tmp_path / "env"
    step = carry_out("venv", look(env), acting, python=HERE)
    os.rename(env, f"{env}.gpudoctor-gone")
    (tmp_path / "env.gpudoctor-gone" / MANIFEST).unlink()
    assert step.undo(acting) == ()
    assert not list(tmp_path.glob("env*"))


@pytest.mark.rotates("a step that makes an environment")
def test_uv_fetches_a_python_beside_the_environment_and_undo_removes_it(tmp_path: Path) -> None:
    uv, env = tmp_path / "uv", tmp_path / "env"
    uv.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/said\nfor last; do :; done\n'
        f'mkdir -p "$UV_PYTHON_INSTALL_DIR"; touch "$UV_PYTHON_INSTALL_DIR/python"; exec {PYTHON} -m venv --without-pip "$last"\n'
    )
    uv.chmod(0o755)
    known = facts(python__interpreters=[], tools__uv=str(uv))
    acting = machine(tmp_path)
    step = plan("venv", look(env, known=known), python=HERE)
    assert step.draft.changes[1] == f"uv downloads Python {MINOR} into {env}.python"
    step.begin(acting).apply(acting)
    assert "--managed-python" in (tmp_path / "said").read_text() and (tmp_path / "env.python" / "python").exists()
    assert step.undo(acting) == ()
    assert not list(tmp_path.glob("env*"))
