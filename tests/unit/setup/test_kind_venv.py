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
from gpudoctor.setup.steps._step import PlanError
from gpudoctor.system.writable_host import ActFailed

HERE = f"=={MINOR}.*"


def bare(path: Path) -> Path:
    """An environment as people have it, made without pip: fast."""
    import venv

    venv.create(path, with_pip=False, symlinks=True)
    return path


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


def test_compiled_files_are_nobodys(tmp_path: Path) -> None:
    acting, env = machine(tmp_path), tmp_path / "env"
    step = carry_out("venv", look(env), acting, python=HERE)
    acting.run([f"{env}/bin/python", "-c", "import pip._internal.cli.main"], env={"PYTHONDONTWRITEBYTECODE": ""})
    assert step.undo(acting) == ()
    assert not env.exists()


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


def test_an_empty_folder_stays_an_empty_folder(tmp_path: Path) -> None:
    acting, env = machine(tmp_path), tmp_path / "env"
    env.mkdir(0o750)
    step = carry_out("venv", look(env), acting, python=HERE)
    assert step.undo(acting) == ()
    assert listing(env) == {} and stat.S_IMODE(env.stat().st_mode) == 0o750


def test_an_environment_that_serves_is_used(tmp_path: Path) -> None:
    env = bare(tmp_path / "env")
    draft = plan("venv", look(env), python=HERE).draft
    assert (draft.state, draft.acts) == (DONE, ())
    assert f"Python {MINOR}" in draft.note
    with pytest.raises(PlanError, match=f"is of Python {MINOR}, not ==2.7"):
        plan("venv", look(env), python="==2.7.*")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(PlanError, match="no Python environment; name another folder"):
        plan("venv", look(tmp_path), python=HERE)


def test_a_managed_python_is_no_target(tmp_path: Path) -> None:
    env = bare(tmp_path / "env")
    (env / "lib" / f"python{MINOR}" / "EXTERNALLY-MANAGED").write_text("[externally-managed]\n")
    with pytest.raises(PlanError, match="belongs to a package manager"):
        plan("venv", look(env), python=HERE)


def test_filled_between_plan_and_act(tmp_path: Path) -> None:
    acting, env = machine(tmp_path), tmp_path / "env"
    step = plan("venv", look(env), python=HERE).begin(acting)
    env.mkdir()
    (env / "mine").write_text("x")
    with pytest.raises(ActFailed, match="has been filled"):
        step.apply(acting)


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


def test_what_came_before_our_environment_is_nobody_s_to_delete(tmp_path: Path) -> None:
    """The run was cut off before the first act, and a person filled the folder before it went on, or was taken back."""
    acting, env = machine(tmp_path), tmp_path / "env"
    step = plan("venv", look(env), python=HERE).begin(acting)
    env.mkdir()
    (env / "mine").write_text("x")
    with pytest.raises(ActFailed, match="has been filled"):
        step.recover(acting).apply(acting)
    step.after = None
    assert len(step.undo(acting)) == 1
    assert (env / "mine").read_text() == "x"


def test_undo_cut_off_in_the_middle_is_finished(tmp_path: Path) -> None:
    acting, env = machine(tmp_path), tmp_path / "env"
    step = carry_out("venv", look(env), acting, python=HERE)
    os.rename(env, f"{env}.gpudoctor-gone")
    (tmp_path / "env.gpudoctor-gone" / MANIFEST).unlink()
    assert step.undo(acting) == ()
    assert not list(tmp_path.glob("env*"))


def test_a_python_without_ensurepip_is_said_so(tmp_path: Path) -> None:
    fake = tmp_path / "python3"
    fake.write_text("#!/bin/sh\necho 'The virtual environment was not created: ensurepip is not available.'; exit 1\n")
    fake.chmod(0o755)
    known = facts(python__interpreters=[{"path": str(fake), "minor": MINOR, "venv": True}])
    acting = machine(tmp_path)
    step = plan("venv", look(tmp_path / "env", known=known), python=HERE).begin(acting)
    with pytest.raises(ActFailed, match="cannot make environments") as failed:
        step.apply(acting)
    assert "python3-venv" in failed.value.advice


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
