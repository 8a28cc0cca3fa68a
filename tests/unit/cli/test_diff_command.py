"""gpudoctor diff as a person calls it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpudoctor import cli
from gpudoctor.reporters.shared import schema

MACHINES = Path(__file__).parents[2] / "machines"
HEALTHY, STUB = str(MACHINES / "rtx4090-healthy"), str(MACHINES / "rtx4090-stub-libcuda")


def run(*words: str) -> int:
    return cli.run(list(words))


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("GPUDOCTOR_HISTORY", raising=False)
    return tmp_path / "state" / "gpudoctor" / "history"


def test_a_new_error_is_exit_1_and_stands_before_what_it_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("diff", HEALTHY, STUB) == 1
    out = capsys.readouterr().out
    assert "cuda-stub-on-loader-path" in out and "torch-cuda ok → broken" in out
    assert out.index("New findings") < out.index("stubs/libcuda.so.1") < out.index("What changed")


def test_the_way_back_is_exit_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("diff", STUB, HEALTHY) == 0
    assert "No new finding." in (out := capsys.readouterr().out) and "Gone (1): cuda-stub-on-loader-path" in out


def test_json_is_as_the_schema_says_for_reports_archives_and_captures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tmp_path / "before.json"
    assert run("check", "--capture", HEALTHY, "--format", "json", "-o", str(before)) == 0
    archive = tmp_path / "report.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(before, "report.json")
    for side in (str(before), str(archive)):
        assert run("diff", side, STUB, "--format", "json") == 1
        found = json.loads(capsys.readouterr().out)
        assert schema.complaints(found, "diff") == []
        assert [finding["id"] for finding in found["findings"] if finding["state"] == "new"] == ["cuda-stub-on-loader-path"]
        assert found["changes"][0]["new"] == ["cuda-stub-on-loader-path"]
    assert run("diff", str(before), HEALTHY) == 0
    assert "Nothing that can break a GPU stack has changed." in capsys.readouterr().out


def test_a_report_of_earlier_checks_is_judged_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.json"
    assert run("check", "--capture", STUB, "--format", "json", "-o", str(old)) == 1
    document = json.loads(old.read_text())
    document["catalogue"]["version"], document["findings"], document["created"] = "1 file, 000", [], "2025-01-01T00:00:00Z"
    old.write_text(json.dumps(document))
    assert run("diff", str(old), STUB) == 0
    out = capsys.readouterr().out
    assert "Still there (1): cuda-stub-on-loader-path" in out and "2025-01-01" in out and "different sets of checks" not in out
    del document["unknown"]  # an earlier format: it cannot be judged again, and that is said
    old.write_text(json.dumps(document))
    assert run("diff", str(old), STUB) == 1
    assert "different sets of checks" in " ".join(capsys.readouterr().out.split())


def test_a_page_of_the_changes(tmp_path: Path) -> None:
    assert run("diff", HEALTHY, STUB, "--format", "html", "-o", str(tmp_path / "diff.html")) == 1
    page = (tmp_path / "diff.html").read_text()
    assert page.startswith("<!") and "The loader finds a stub libcuda" in page


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", b"{", "no JSON"), ("a.json", b'{"a": 1}', "names no schema"),
        ("a.json", b'{"schema": "gpudoctor.plan/1"}', "gpudoctor.plan/1"),
        ("a.json", b'{"schema": "gpudoctor.report/1"}', "a.json: tool: is missing; expected a table"),
        ("a.json", b'{"a":' * 100_000, "no JSON"),
        ("a.zip", b"PK\x03\x04 broken", "a.zip"), ("a.txt", b"text", "not a capture"),
    ],
)  # fmt: skip
def test_unreadable_input_is_one_line_and_exit_2(
    tmp_path: Path, name: str, content: bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    assert run("diff", str(tmp_path / name), HEALTHY) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_escapes_in_a_report_reach_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = "\x1b]0;x\x07\x1b[31m\u202eevil"
    facts = {"kernel": {"release": bad}, "gpus": [{"address": bad, "name": bad}], "env": {bad: bad}}
    path = tmp_path / "r.json"
    assert run("check", "--capture", STUB, "--format", "json", "-o", str(path)) == 1
    document = json.loads(path.read_text())
    document["findings"][0] |= {"key": bad, "title": bad}
    document["stacks"][0] |= {"title": bad}
    document["tool"]["version"], document["catalogue"]["version"] = bad, bad
    path.write_text(json.dumps({**document, "facts": facts}))
    for form in ("text", "json"):
        run("diff", HEALTHY, str(path), "--format", form, "-v")
        out = capsys.readouterr().out
        assert "\x1b" not in out and "\u202e" not in out and "\x07" not in out


Capture = pytest.CaptureFixture[str]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Recorded machines that `check` takes for this one, in turn."""
    from gpudoctor.model.report import Report
    from gpudoctor.services import checking

    waiting: list[str] = []

    def look(request: checking.CheckRequest, progress: object = None) -> Report:
        report = real(checking.CheckRequest(capture=request.capture or waiting.pop(0)))
        return replace(report, origin="capture" if request.capture else "live")

    real = checking.check
    monkeypatch.setattr(checking, "check", look)
    return waiting


def test_check_keeps_whole_looks_at_this_machine_only(
    state: Path, looks: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("check", "--capture", HEALTHY) == 0
    looks += [HEALTHY] * 5
    run("check", "--quick")
    monkeypatch.setenv("GPUDOCTOR_HISTORY", "0")
    run("check")
    monkeypatch.delenv("GPUDOCTOR_HISTORY")
    config = Path(state.parents[2]) / "config" / "gpudoctor" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[history]\nkeep = false\n")
    run("check")
    capsys.readouterr()
    config.write_text("[history]\nkeep = 'no'\n")
    assert run("check") == 0
    assert not state.exists() and "not kept" in capsys.readouterr().err
    config.write_text("[history]\nkeep = true\n")
    assert run("check") == 0
    assert len(list(state.iterdir())) == 1


def test_alone_it_compares_with_the_last_healthy_run(state: Path, looks: list[str], capsys: Capture) -> None:
    looks += [HEALTHY, HEALTHY, STUB, STUB]
    assert run("diff") == 2
    assert "no healthy run" in capsys.readouterr().err
    assert run("diff") == 0  # the run before was kept
    assert run("diff") == 1
    assert run("diff") == 1  # a broken run is kept too, and is no measure
    assert capsys.readouterr().out.count("gpudoctor show cuda-stub-on-loader-path") == 2
    assert run("diff", "--history") == 0
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines()] == ["@1", "@2"] and "1 error" in listed.splitlines()[0]
    assert run("diff", "@2", "@1") == 1
    assert run("diff", "@9", "@1") == 2


def test_what_does_not_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("diff", "a", "b", "c") == 2
    assert run("diff", "--history", "a") == 2
    assert run("diff", "/nowhere", HEALTHY) == 2
    assert "/nowhere: no such file" in capsys.readouterr().err
