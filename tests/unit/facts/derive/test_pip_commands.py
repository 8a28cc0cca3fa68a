"""Commands of pip name the interpreter that was examined, so that they do not change another environment."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from gpudoctor.cli import run
from gpudoctor.facts.derive.pip_commands import examined, here, in_words, quoted_for
from gpudoctor.model.facts import Facts, Known

MACHINES = Path(__file__).parents[3] / "machines"


def told(command: str, path: str = "/home/me/venv/bin/python", **facts: object) -> str:
    named = {name.replace("__", "."): Known(value) for name, value in facts.items()}
    return here([command], examined(Facts({"python.executable": Known(path), **named})))[0]


@pytest.mark.parametrize(
    ("bare", "full"),
    [
        ("pip install torch", "PY -m pip install torch"),
        ("pip3 install -U torch", "PY -m pip install -U torch"),
        ("python -m pip install 'torch<2'", "PY -m pip install 'torch<2'"),
        ("PY -m pip install torch", "PY -m pip install torch"),
        ("pip uninstall -y triton && pip install triton-xpu", "PY -m pip uninstall -y triton && PY -m pip install triton-xpu"),
        ('CMAKE_ARGS="-DX=on -DY=1" pip install llama-cpp-python', 'CMAKE_ARGS="-DX=on -DY=1" PY -m pip install llama-cpp-python'),
        ("python --version; pip list | grep -i torch", "python --version; PY -m pip list | grep -i torch"),
        ("~/dml/bin/pip install torch-directml", "~/dml/bin/pip install torch-directml"),
        ("conda run -n tf pip install x", "conda run -n tf pip install x"),
        ("uv pip install torch", "uv pip install torch"),
        ("sudo apt install python3-pip", "sudo apt install python3-pip"),
    ],
)
def test_a_bare_pip_becomes_that_of_the_examined_interpreter(bare: str, full: str) -> None:
    python = "/home/me/venv/bin/python"
    assert told(bare.replace("PY", python)) == full.replace("PY", python)


def test_where_no_interpreter_is_known_or_it_is_gone_commands_stay() -> None:
    assert here(["pip install torch"], examined(Facts({}))) == ("pip install torch",)
    assert told("pip install torch", python__error="the interpreter is gone") == "pip install torch"
    assert told("pip install torch", "C:/x & calc/python.exe", platform__kind="windows") == "pip install torch"


@pytest.mark.parametrize("path", ["/home/me/my envs/v 1/bin/python", "/tmp/$(reboot)/python", "/tmp/a'b;c/python"])
def test_any_path_is_one_word_of_the_shell(path: str) -> None:
    assert shlex.split(told("pip install torch", path)) == [path, "-m", "pip", "install", "torch"]


def test_windows_takes_its_own_slashes_and_quotes() -> None:
    assert told("pip list", "C:/envs/v/Scripts/python.exe", platform__kind="windows") == "C:\\envs\\v\\Scripts\\python.exe -m pip list"
    assert told("pip list", "C:/My Envs/v/python.exe", platform__kind="windows") == '"C:\\My Envs\\v\\python.exe" -m pip list'


def test_an_environment_of_uv_without_pip_is_changed_by_uv() -> None:
    assert told("pip uninstall -y torch", python__kind="uv") == "uv pip uninstall --python /home/me/venv/bin/python torch"
    assert told("/home/me/venv/bin/python -m pip install x", python__kind="uv") == "uv pip install --python /home/me/venv/bin/python x"
    has_pip = {"python__kind": "uv", "python__distributions__pip": "25.0"}
    assert told("pip install x", **has_pip) == "/home/me/venv/bin/python -m pip install x"


@pytest.mark.parametrize("enters", ["python3.12 -m venv ~/new", "uv venv --python 3.12", "conda activate gpu", ". ~/new/bin/activate"])
def test_what_follows_another_environment_is_meant_for_it(enters: str) -> None:
    python = examined(Facts({"python.executable": Known("/v/bin/python")}))
    commands = ("pip freeze > keep.txt", enters, "pip install torch")
    assert here(commands, python) == ("/v/bin/python -m pip freeze > keep.txt", enters, "pip install torch")


def test_a_sentence_that_repeats_the_command_follows() -> None:
    assert in_words("Run pip install x.", ["pip install x"], ["P -m pip install x"]) == "Run P -m pip install x."
    assert in_words("Run P -m pip install x.", ["pip install x"], ["P -m pip install x"]) == "Run P -m pip install x."


def test_screens_and_exports_say_it(capsys: pytest.CaptureFixture[str]) -> None:
    machine = str(MACHINES / "rtx4090-ort-two-wheels")
    wanted = "/home/user/venv/bin/python -m pip install onnxruntime-gpu"
    for words in ([], ["--format", "junit"], ["--format", "json"], ["--format", "sarif"]):
        run(["check", "--capture", machine, *words])
        said = capsys.readouterr().out
        assert wanted in said and '"pip install' not in said and "$ pip install" not in said, words
    json.loads(said)


def test_a_pasted_text_names_no_program_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The interpreter in a text is somebody else's, and perhaps an attacker's."""
    text = 'Traceback (most recent call last):\n  File "/tmp/evil/lib/python3.11/site-packages/x.py", line 1, in <module>\n'
    text += "Python 3.11.9 at /tmp/evil/bin/python\nAssertionError: Torch not compiled with CUDA enabled\n"
    (tmp_path / "log.txt").write_text(text)
    run(["explain", str(tmp_path / "log.txt"), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert report["findings"] and not [c for f in report["findings"] for c in f["advice"]["commands"] if "evil" in c]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("pip install 'numpy<2'", 'pip install "numpy<2"'),
        ("python -m pip install -U 'jax[cuda12]>=0.5' 'torch==2.9.*'", 'python -m pip install -U "jax[cuda12]>=0.5" "torch==2.9.*"'),
        ("uv pip install 'torch<2.15'", 'uv pip install "torch<2.15"'),
        ("python -c 'import torch'", "python -c 'import torch'"),
        ("pip install torch && python -c \"print('x')\"", "pip install torch && python -c \"print('x')\""),
    ],
)
def test_cmd_takes_double_quotes_alone(command: str, said: str) -> None:
    assert quoted_for("windows", [command]) == (said,)
    assert quoted_for("linux", [command]) == (command,)
