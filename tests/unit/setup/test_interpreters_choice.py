"""Which Python an environment is made from, on machines of all sorts."""

from __future__ import annotations

from typing import Any

import pytest
from stepping import facts, look

from gpudoctor.model.facts import Facts, Unknown
from gpudoctor.setup.interpreters import InterpreterChoice, choose, system_minor
from gpudoctor.setup.steps._step import PlanError

UBUNTU = {"os__id": "ubuntu", "os__version": "24.04"}


def python(path: str, minor: str, venv: bool = True) -> dict[str, Any]:
    return {"path": path, "minor": minor, "venv": venv}


SYSTEM, DEADSNAKES = python("/usr/bin/python3.12", "3.12"), python("/usr/bin/python3.10", "3.10")
PYENV, BARE = python("/home/u/.pyenv/versions/3.11.9/bin/python3.11", "3.11"), python("/usr/bin/python3.12", "3.12", False)


@pytest.mark.parametrize(
    ("found", "specifier", "path"),
    [
        ([DEADSNAKES, PYENV, SYSTEM], ">=3.10", SYSTEM["path"]),
        ([DEADSNAKES, PYENV, SYSTEM], ">=3.10,<3.12", DEADSNAKES["path"]),
        ([PYENV, SYSTEM], ">=3.10,<3.12", PYENV["path"]),
        ([PYENV, BARE], ">=3.10", BARE["path"]),  # python3-venv comes with a step before
        ([PYENV], ">=3.10", "/usr/bin/python3.12"),  # so does Python itself
        ([PYENV, python("/usr/bin/python3.10", "3.10", False)], "==3.10.*", None),
    ],
)
def test_the_systems_own_first(found: list[dict[str, Any]], specifier: str, path: str | None) -> None:
    seen = look("/e", known=facts(python__interpreters=found, **UBUNTU))
    if path is None:
        with pytest.raises(PlanError, match=r"found: 3\.10, 3\.11.*uv.*conda create -p /e 'python==3\.10"):
            choose(specifier, seen)
    else:
        assert choose(specifier, seen).path == path


def test_what_nobody_recorded_is_taken_from_the_table() -> None:
    known = facts(**UBUNTU)
    known.set("python.interpreters", Unknown("not recorded"))
    assert choose(">=3.10", look("/e", known=known)) == InterpreterChoice("/usr/bin/python3.12", "3.12", assumed=True)
    assert system_minor(look("/e", known=Facts())) == ""


def test_uv_fetches_what_is_not_here() -> None:
    known = facts(python__interpreters=[SYSTEM], tools__uv="/u/uv", **UBUNTU)
    assert choose("<3.9", look("/e", known=known)) == InterpreterChoice("", "3.8", "/u/uv")
    assert choose(">=3.10", look("/e", known=known)) == InterpreterChoice("/usr/bin/python3.12", "3.12", "/u/uv")
    with pytest.raises(PlanError, match="install uv"):
        choose("<3.9", look("/e", known=known, uv=False))
    with pytest.raises(PlanError):  # a bundle holds no interpreters
        choose("<3.9", look("/e", known=known, bundle="/b"))


def test_python_version_narrows() -> None:
    known = facts(python__interpreters=[SYSTEM, DEADSNAKES], **UBUNTU)
    assert choose(">=3.9,<3.14", look("/e", known=known, python_version="3.10")).minor == "3.10"
    assert choose(">=3.9,<3.14", look("/e", known=known, python_version="3.10.14")).minor == "3.10"
    with pytest.raises(PlanError, match=r"Python 3\.8 was asked for, and this recipe needs >=3\.9,<3\.14"):
        choose(">=3.9,<3.14", look("/e", known=known, python_version="3.8"))
    with pytest.raises(PlanError, match="no version specifier"):
        choose("three", look("/e", known=known))
