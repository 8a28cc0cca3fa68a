"""What a step that makes an environment plans and refuses; tests/real/test_venv_steps.py makes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from stepping import MINOR, facts, look, machine, plan

from gpudoctor.model.plan import DONE
from gpudoctor.setup.steps._step import PlanError
from gpudoctor.system.writable_host import ActFailed

HERE = f"=={MINOR}.*"


def bare(path: Path) -> Path:
    """An environment as people have it, made without pip: fast."""
    import venv

    venv.create(path, with_pip=False, symlinks=True)
    return path


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


@pytest.mark.starts_processes("a stand-in of a Python without ensurepip")
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
