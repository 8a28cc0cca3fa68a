"""gpudoctor guard: the screen, the exit status and refusals; an installer is replaced by its answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.cli import run
from gpudoctor.model import toml_text
from gpudoctor.reporters.shared.schema import complaints
from gpudoctor.system.host import Ran
from gpudoctor.system.local_host import LocalHost


@pytest.fixture
def environment(tmp_path: Path) -> str:
    """A folder that looks like an environment; nothing in it is run."""
    site = tmp_path / "v" / "lib" / "python3.11" / "site-packages"
    for name, version in (("torch", "2.13.0+cpu"), ("numpy", "2.4.0"), ("requests", "2.32.5")):
        folder = site / f"{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (tmp_path / "v" / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.9\n")
    (tmp_path / "v" / "bin").mkdir()
    (tmp_path / "v" / "bin" / "python").symlink_to("/usr/bin/python3")
    return str(tmp_path / "v")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], Any]]:
    """What pip answers, call by call; and then what it was asked, in the same place."""
    given: list[tuple[list[str], Any]] = []
    asked: list[list[str]] = []

    def run_child(self: LocalHost, argv: Sequence[str], **more: Any) -> Ran:
        asked.append(list(argv))
        _, answer = given[len(asked) - 1]
        if isinstance(answer, dict):
            rows = [{"metadata": {"name": name, "version": version}} for name, version in answer.items()]
            answer = Ran(tuple(argv), 0, json.dumps({"install": rows}))
        given[len(asked) - 1] = (list(argv), answer)
        return answer if isinstance(answer, Ran) else Ran(tuple(argv), 1, "", answer)

    monkeypatch.setattr(LocalHost, "run_child", run_child)
    return given


def guarded(capsys: pytest.CaptureFixture[str], environment: str, *words: str) -> tuple[int, dict[str, Any]]:
    status = run(["guard", "--python", environment, "--format", "json", "--", *words])
    document = json.loads(capsys.readouterr().out)
    assert not complaints(document, "guard")
    return status, document


def test_constraints_go_to_a_file_that_names_itself(environment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "keep.txt"
    assert run(["guard", "--python", environment, "-o", str(place)]) == 0
    assert [line for line in place.read_text().splitlines() if line[0] != "#"] == ["torch==2.13.0+cpu", "numpy==2.*"]
    assert f"-c {place}" in place.read_text()
    assert run(["guard", "--python", environment, "--format", "uv"]) == 0
    assert "constraint-dependencies" in toml_text.loads(capsys.readouterr().out)["tool"]["uv"]


def test_a_harmless_command_is_handed_back_as_it_is(environment: str, answers: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    answers += [([], {"einops": "0.8.2"})]
    status, document = guarded(capsys, environment, "pip", "install", "einops")
    assert (status, document["trial"]["outcome"], document["trial"]["safe"]) == (0, "kept", "pip install einops")


def test_a_command_that_replaces_torch_gets_the_constraints(
    environment: str, answers: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    answers += [([], {"torchvision": "0.30.0", "torch": "2.15.0"}), ([], {"torchvision": "0.28.0"})]
    status, document = guarded(capsys, environment, "pip", "install", "torchvision")
    assert status == 1 and document["trial"]["safe"] == "pip install -c constraints.txt torchvision"
    assert [change["name"] for change in document["trial"]["changes"] if change["breaks"]] == ["torch"]
    assert [change["new"] for change in document["trial"]["with_constraints"]] == ["0.28.0"]
    first, second = (argv for argv, _ in answers)
    assert "-c" not in first and "-c" in second and all("--dry-run" in argv for argv in (first, second))


def test_a_command_that_cannot_keep_torch_says_why(environment: str, answers: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    answers += [([], {"vllm": "1", "torch": "2.15.0"}), ([], "ERROR: ResolutionImpossible: for help visit …")]
    assert run(["guard", "--python", environment, "--", "pip", "install", "vllm"]) == 1
    said = capsys.readouterr().out
    assert "torch  2.13.0+cpu -> 2.15.0" in said and "It cannot keep them: pip finds no set of releases that go together" in said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("ERROR: No matching distribution found for nix==1", "pip finds no nix==1"),
        ("no such option: --report", "older than 22.2"),
        (Ran(("pip",), timed_out=True), "gave no answer within"),
        (Ran(("pip",), 0, "no report"), "status 0"),
    ],
)
def test_no_answer_is_neither_good_nor_bad(
    environment: str, answers: list[Any], answer: Any, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answers += [([], answer)]
    status, document = guarded(capsys, environment, "pip", "install", "nix==1")
    assert (status, document["trial"]["outcome"]) == (4, "unknown") and said in document["trial"]["reason"]


def test_an_environment_without_pip_is_looked_into_by_ours(
    environment: str, answers: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    answers += [([], "/v/bin/python: No module named pip"), ([], {"einops": "0.8.2"})]
    assert guarded(capsys, environment, "pip", "install", "einops")[0] == 0
    assert answers[1][0][1:4] == ["-m", "pip", "--python"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "conda", "install", "x"], "no command that can be tried"),
        (["--format", "uv", "--", "pip", "install", "x"], "is for constraints"),
        (["--capture", "x.tar.gz", "--", "pip", "install", "x"], "on this machine only"),
        (["--", "pip", "install", "."], "builds nothing"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["guard", *words]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_an_environment_without_a_framework(environment: str, capsys: pytest.CaptureFixture[str]) -> None:
    (next(Path(environment).rglob("torch-*")) / "METADATA").unlink()
    next(Path(environment).rglob("torch-*")).rmdir()
    assert run(["guard", "--python", environment]) == 2
    assert "nothing is kept" in capsys.readouterr().err
