"""gpudoctor mcp, called by a real client of the official SDK over standard input and output."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.rotates("slow", member="assistants")

REPOSITORY = Path(__file__).resolve().parents[2]
MACHINES = REPOSITORY / "tests" / "machines"
CLIENT = Path(__file__).with_name("mcp_client.py")
HOSTILE: list[tuple[str, Any]] = [
    ("check", {"capture": "/etc/passwd"}), ("check", {"capture": "../../../etc/passwd"}), ("check", {"capture": "healthy/../healthy"}),
    ("check", {"capture": "healthy\x00"}), ("check", {"capture": ["healthy"]}), ("check", {"capture": "x" * 1_000_000}),
    ("check", {"python": "/tmp/evil"}), ("check", {"checks": ["/tmp"]}), ("check", {"stack": "no-such-stack"}),
    ("check", {"facts": ["x"] * 500}),
    ("check", {"quick": "yes"}), ("show", {}), ("show", {"id": "../../pyproject.toml"}), ("show", {"id": {"$ref": "file:///etc/passwd"}}),
    ("show", {"id": "\x1b]0;evil\x07"}), ("list", {"kind": "tokens"}), ("plan", {"recipe": "no-such-recipe"}),
    ("plan", {"recipe": "--undo"}),
    ("plan", {"recipe": "cuda", "env": "/etc"}), ("plan", {"recipe": "cuda", "yes": True}),
    ("plan", {"recipe": "cuda", "torch": "2; rm -rf /"}),
    ("plan", {"recipe": "cuda", "mirrors": ["pypi=http://evil"]}), ("diff", {"before": "/etc/hostname"}), ("diff", {"after": "healthy"}),
    ("diff", {"before": "@1"}), ("setup", {"name": "cpu"}), ("apply", {}), ("explain", {"text": 5}),
    ("explain", {"text": "x" * 300_000}), ("explain", {"file": "/etc/passwd"}), ("__import__", {}), ("", {}),
]  # fmt: skip
Calls = Callable[..., dict[str, Any]]


@pytest.fixture
def talk(environment: Callable[[str], Path], tmp_path: Path) -> Calls:
    python = environment("mcp") / "bin" / "python"
    places = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": str(tmp_path / "state")}
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), **places}
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()

    def run(calls: list[dict[str, Any]], *words: str) -> dict[str, Any]:
        argv = [str(python), str(CLIENT), str(python), "-m", "gpudoctor", "mcp", *words]
        folder = tmp_path / "work"
        done = subprocess.run(argv, input=json.dumps(calls), capture_output=True, text=True, timeout=300, env=variables, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return dict(json.loads(done.stdout))

    return run


@pytest.fixture
def machines(tmp_path: Path) -> list[str]:
    """Two recorded machines; the broken one belongs to somebody with a name, a token and a project."""
    shutil.copytree(MACHINES / "rtx4090-healthy", tmp_path / "healthy")
    broken = tmp_path / "broken"
    shutil.copytree(MACHINES / "rtx4090-stub-libcuda", broken)
    lines = [json.loads(line) for line in (broken / "commands.jsonl").read_text().splitlines()]
    for line in lines:
        if line["argv"] == ["id"]:
            line["stdout"] = line["stdout"].replace("(user)", "(adalovelace)")
    (broken / "commands.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for file in ("env.toml", "python.json"):
        path = broken / file
        path.write_text(path.read_text().replace("/home/user", "/home/adalovelace"))
    with (broken / "env.toml").open("a") as file:
        file.write('USER = "adalovelace"\nHF_TOKEN = "hf_abcdefghijklmnopqrstuvwxyz012345"\nCUDA_HOME = "/home/adalovelace/cuda"\n')
    return [str(tmp_path / name) for name in ("healthy", "broken")]


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def allow(paths: list[str]) -> list[str]:
    return [word for path in paths for word in ("--allow", path)]


def test_it_looks_and_says_what_is_broken(talk: Calls, machines: list[str]) -> None:
    said = talk(
        [
            call("list", kind="files"), call("check", capture="broken", facts=["gpus", "env"]),
            call("diff", before="healthy", after="broken"),
            call("show", id="cuda-stub-on-loader-path"), call("plan", recipe="cuda", capture="healthy"),
            call("list", kind="checks", search="stub"),
            call("check", facts=["kernel", "user", "env", "python"]),
            call("explain", text="RuntimeError: CUDA error: CUDA driver is a stub library, in /home/adalovelace/train.py"),
        ],
        *allow(machines),
    )  # fmt: skip
    assert all(tool["annotations"]["readOnlyHint"] and not tool["inputSchema"]["additionalProperties"] for tool in said["tools"])
    assert {tool["name"] for tool in said["tools"]} >= {"check", "show", "list", "plan", "diff"}
    assert not [answer["text"] for answer in said["answers"] if answer["error"]]
    files, check, diff, show, plan, listed, here, text = (json.loads(answer["text"]) for answer in said["answers"])
    assert [row["name"] for row in files["files"]] == ["broken", "healthy"]
    assert [finding["id"] for finding in check["findings"]][:1] == ["cuda-stub-on-loader-path"]
    assert check["facts"]["gpus"][0]["name"] == "GeForce RTX 4090"
    assert [finding["id"] for finding in diff["findings"] if finding["state"] == "new"] == ["cuda-stub-on-loader-path"]
    assert show["severity"] == "error" and plan["steps"] and "nothing was done" in plan["note"]
    assert "cuda-stub-on-loader-path" in [row["id"] for row in listed["checks"]]
    assert (here["origin"], text["origin"]) == ("live", "text")
    for answer in said["answers"]:
        assert len(answer["text"]) <= 60_000
        for private in ("adalovelace", "hf_abcdef", *([socket.gethostname()] if len(socket.gethostname()) > 6 else [])):
            assert private not in answer["text"]


def test_hostile_arguments_get_one_line_each_and_touch_nothing(talk: Calls, machines: list[str], tmp_path: Path) -> None:
    before = sorted(str(path) for path in Path(machines[0]).rglob("*"))
    calls = [{"tool": tool, "arguments": arguments} for tool, arguments in HOSTILE]
    said = talk([*calls, call("show", id="gpus")], *allow(machines))["answers"]
    for (tool, arguments), answer in zip(HOSTILE, said, strict=False):
        assert answer["error"], (tool, str(arguments)[:100], answer["text"][:300])
        text = answer["text"]
        assert "\n" not in text and len(text) < 1000 and "root:" not in text and "\x1b" not in text and "a bug" not in text, text
    assert not said[-1]["error"]
    assert sorted(str(path) for path in Path(machines[0]).rglob("*")) == before
    written = [path.name for path in (*(tmp_path / "work").rglob("*"), *(tmp_path / "home").rglob("*")) if path.is_file()]
    assert all(name.startswith("catalogue-") for name in written)  # the compiled checks, in ~/.cache


def test_a_file_that_is_no_capture_is_not_read_out(talk: Calls, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("the secret of the family")
    (tmp_path / "bent.json").write_text('{"schema": "gpudoctor.report/1", "facts": {"gpus": "the secret"}, "findings": []}')
    (tmp_path / "link").symlink_to("/etc/passwd")
    calls = [call(tool, **{key: name}) for name in ("notes.txt", "link") for tool, key in (("check", "capture"), ("diff", "before"))]
    words = allow([str(tmp_path / name) for name in ("notes.txt", "link", "bent.json")])
    said = talk([*calls, call("check", capture="bent.json")], *words)["answers"]
    for answer in said[:-1]:
        assert answer["error"] and "secret" not in answer["text"] and "root:" not in answer["text"]


def test_a_call_that_is_cancelled_ends_and_the_next_is_answered(talk: Calls) -> None:
    cancelled = {**call("check"), "cancel_after": 0.3}
    said = talk([cancelled, cancelled, call("list", kind="stacks"), call("check", quick=True)])["answers"]
    assert [answer.get("cancelled", False) for answer in said] == [True, True, False, False]
    assert said[0]["seconds"] < 5 and said[2]["seconds"] < 20
    assert not [answer["text"] for answer in said[2:] if answer["error"]]


def test_garbage_and_a_closed_pipe_end_it_quietly(environment: Callable[[str], Path], tmp_path: Path) -> None:
    python = environment("mcp") / "bin" / "python"
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY)}
    argv = [str(python), "-m", "gpudoctor", "mcp"]
    for garbage in (b"", b"not json\n", b"\xff\xfe\x00\n{}\n", b"[" * 10_000 + b"\n"):
        done = subprocess.run(argv, input=garbage, capture_output=True, timeout=60, env=variables)
        assert done.returncode == 0 and b"a bug in gpudoctor" not in done.stderr, done.stderr
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in done.stdout.splitlines())
