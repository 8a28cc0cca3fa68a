"""The tools of gpudoctor mcp without the SDK: arguments, sizes, what is allowed."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import cli
from gpudoctor.cli import BadInput
from gpudoctor.cli.assistant_tools import MOST, TOOLS, Allowed, AssistantTool, Cancelled, bounded, names_of
from gpudoctor.cli.mcp import answer

MACHINES = Path(__file__).parents[2] / "machines"


def ask(name: str, allowed: Allowed | None = None, **arguments: Any) -> tuple[str, bool]:
    return answer(name, arguments, allowed or Allowed(), threading.Event())


def test_files_are_named_by_what_the_person_gave_and_by_nothing_else(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder / "box").mkdir(parents=True)
    named = names_of([str(tmp_path / "a" / "box"), str(tmp_path / "b" / "box")])
    assert named == {"box": str(tmp_path / "a" / "box"), "box-2": str(tmp_path / "b" / "box")}
    allowed = Allowed(files=named)
    for name in ("a/box", str(tmp_path / "a" / "box"), "..", "", "BOX"):
        with pytest.raises(BadInput, match="was not given"):
            allowed.path(name)
    with pytest.raises(BadInput, match="no such file"):
        names_of([str(tmp_path / "nothing")])


def test_no_tool_takes_a_path_a_command_or_an_unknown_word() -> None:
    for tool in TOOLS:
        assert not {"python", "env", "folder", "path", "mirror", "checks", "command", "yes"} & set(tool.properties)
        assert ask(tool.name, extra=1)[1]


def test_a_recorded_machine_is_checked_and_only_asked_facts_are_given() -> None:
    allowed = Allowed(files=names_of([str(MACHINES / "rtx4090-stub-libcuda")]))
    text, failed = ask("check", allowed, capture="rtx4090-stub-libcuda", facts=["kernel.release", "no.such"])
    found = json.loads(text)
    assert not failed and found["findings"][0]["id"] == "cuda-stub-on-loader-path"
    assert found["facts"] == {"kernel.release": "6.8.0-51-generic", "no.such": "not known"}


def test_a_text_is_explained_and_people_are_taken_out() -> None:
    log = "/home/adalovelace/x.py\nRuntimeError: CUDA error: CUDA driver is a stub library\n" + "x" * 1000
    text, failed = ask("explain", text=log)
    assert not failed and json.loads(text)["origin"] == "text" and "adalovelace" not in text
    assert ask("explain", text="x" * 200_001)[1]


def test_a_plan_is_told_and_not_done() -> None:
    allowed = Allowed(files=names_of([str(MACHINES / "rtx4090-healthy")]))
    text, failed = ask("plan", allowed, recipe="cuda", capture="rtx4090-healthy")
    assert not failed and json.loads(text)["steps"]
    assert ask("plan", allowed, recipe="cuda", capture="rtx4090-healthy", torch="2.8;x")[1]


@pytest.mark.parametrize(
    "huge",
    [
        {"findings": [{"title": "t" * 500, "evidence": ["e" * 300] * 50} for _ in range(200)]},
        {"facts": {"libraries": {f"lib{number}": "/usr/lib/" + "x" * 100 for number in range(5000)}}},
        {"a": "x" * 10_000_000}, {"a": [[["x" * 1000] * 20] * 20] * 20}, {"k" * 100_000: "x" * 50_000},
        {f"key{number}": "v" * 500 for number in range(5000)},
    ],
)  # fmt: skip
def test_an_answer_keeps_its_size_and_says_what_is_missing(huge: dict[str, Any]) -> None:
    text = bounded(huge)
    assert len(text) <= MOST and "\x1b" not in text
    assert json.loads(text) is not None
    assert len(json.dumps(huge)) <= MOST or "too long" in text or " …" in text


def test_whoever_gives_up_stops_the_look_between_two_probes() -> None:
    stop = threading.Event()
    stop.set()
    assert answer("check", {"quick": True}, Allowed(), stop) == ("cancelled", True)


def test_a_bug_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> dict[str, Any]:
        raise RuntimeError("two\nlines \x1b[31m")

    tool = AssistantTool(name="broken", title="", description="", properties={}, run=broken)
    monkeypatch.setattr("gpudoctor.cli.assistant_tools.TOOLS", (tool,))
    text, failed = ask("broken")
    assert failed and text.endswith("RuntimeError: two lines") and "\n" not in text
    assert issubclass(Cancelled, Exception)


def test_without_the_sdk_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert cli.run(["mcp"]) == 2
    assert "-m pip install 'mcp>=2,<3'" in capsys.readouterr().err
