"""Files made to crash, to hang or to fill the memory of whoever reads them: each ends in one line and a status that says so."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_runner import CommandRunner

from gpudoctor import cli
from gpudoctor.system.memory_limit import MOST, limited_memory

MACHINE = b'format = 1\nplatform = "linux"\n'
NINES = "9" * 400


def capture(folder: Path, files: dict[str, str | bytes]) -> str:
    path = folder / "machine.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in {"machine.toml": MACHINE, **files}.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return str(path)


def report(folder: Path, facts: object, **more: object) -> str:
    path = folder / "report.json"
    whole = {
        "schema": "gpudoctor.report/1", "tool": {"name": "gpudoctor", "version": "1"}, "created": "2026-11-20T10:00:00Z", "origin": "live",
        "facts": facts, "stacks": [], "findings": [], "measurements": [], "redactions": {},
        "summary": {"errors": 0, "warnings": 0, "infos": 0, "unknown": 0, "first_broken": None},
    }  # fmt: skip
    path.write_text(json.dumps({**whole, **more}))
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    return cli.run(list(words)), capsys.readouterr().err


HOSTILE_CAPTURES: list[tuple[str, dict[str, str | bytes]]] = [
    ("a key has 60001 parts", {"env.toml": "a" + ".a" * 60_000 + " = 'x'\n"}),
    ("nested", {"links.toml": "a = " + "[" * 40_000}),
    ("at most 4096 are read", {"folders.toml": f'"{"/a" * 20_000}" = ["x"]\n'}),
    ("at most 4096 are read", {"files" + "/a" * 20_000: "x"}),
    ("folders deep", {"absent.toml": 'paths = ["x"]\n', "links.toml": f'"{"/a" * 200}" = "/x"\n'}),
    ("expected text", {"folders.toml": '"/dev/dri" = [1, 2]\n'}),
    ("expected text", {"absent.toml": "paths = [1979-05-27]\n"}),
    ("expected text", {"realpaths.toml": '"/x" = ["y"]\n'}),
    ("expected TOML", {"notes.toml": "this is = no = toml"}),
    ("400 digits", {"commands.jsonl": '{"argv": ["id"], "rc": 0, "seconds": ' + NINES + "}\n"}),
    ("nested", {"python.json": "[" * 3000 + "]" * 3000}),
    ("nested", {"commands.jsonl": '{"argv": ' + "[" * 960 + "]" * 960 + "}\n"}),
]


@pytest.mark.timeout(30)
@pytest.mark.parametrize(("said", "files"), HOSTILE_CAPTURES)
@pytest.mark.parametrize("command", ["check", "report"])
def test_a_hostile_capture_is_one_line(
    command: str, said: str, files: dict[str, str | bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, error = run(capsys, command, "--capture", capture(tmp_path, files))
    assert code == 2 and said in error and error.count("\n") == 1


def test_numbers_of_400_digits_in_what_tools_said_are_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = capture(tmp_path, {"files/proc/meminfo": f"MemTotal: {NINES} kB\n", "files/proc/cpuinfo": f"cpu MHz : {NINES}\n"})
    assert run(capsys, "check", "--capture", there)[0] in (0, 1)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"summary": 5}, "summary: expected a table, found 5"), ({"summary": {"errors": "x"}}, "summary.errors: expected a whole number"),
        ({"measurements": [{"latency_ms": {"median": "x"}, "batch": None}, 5]}, "measurements[0].latency_ms.median: expected a number"),
        ({"unknown": [1]}, "unknown: expected a table, found a list"),
        ({"tool": "x", "stacks": {}}, "tool: expected a table, found a text"),
        ({"stacks": {}}, "stacks: expected a list, found a table"), ({"catalogue": [], "unknown": {}}, "catalogue: expected a table"),
        ({"findings": [{"id": "\x1b[31m"}]}, "findings[0].id: expected a text that matches"),
    ],
)  # fmt: skip
def test_a_report_with_odd_parts_is_one_line_with_file_and_key(
    more: dict[str, object], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = report(tmp_path, {"gpus": []}, **more)
    for words in (
        ["check", "--capture", odd],
        ["report", "--capture", odd],
        ["diff", odd, odd],
        ["explain", odd],
        ["audit", "--capture", odd],
    ):
        status, error = run(capsys, *words)
        assert status == 2 and f"{odd}: {said}" in error and error.count("\n") == 1 and "\x1b" not in error, words


def test_absurd_numbers_in_a_report_do_not_crash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = report(tmp_path, {"gpus": [{"memory_bytes": 10**29}], "memory": {"total_bytes": 10**29}})
    for words in (["check", "--capture", odd], ["report", "--capture", odd], ["diff", odd, odd]):
        assert run(capsys, *words)[0] in (0, 1)


def test_explain_reads_a_report_that_is_cut_off_as_a_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = Path(report(tmp_path, {"gpus": []}, unknown={"a": "CUDA error: no kernel image is available for execution on the device"}))
    cut.write_text(cut.read_text()[:-1])
    assert run(capsys, "explain", str(cut))[0] in (0, 1)


def test_a_policy_3000_deep_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[demand]]\nname = "x"\nthat = ' + "{ not = " * 3000 + "{}" + "}" * 3000 + "\n")
    code, error = run(capsys, "check", "--capture", capture(tmp_path, {}), "--expect", str(policy))
    assert code == 2 and "nested more than 100 deep" in error and error.count("\n") == 1


def test_a_measurement_of_400_digits_that_was_kept_is_passed_over(tmp_path: Path) -> None:
    from gpudoctor.facts.measurement_store import last_measurements
    from gpudoctor.model.facts import Facts, Known

    folder = tmp_path / "measurements"
    folder.mkdir()
    row = '{"workload": "x", "task": "training", "framework": "torch", "latency_ms": {"median": ' + NINES + "}}"
    for number, content in enumerate((f'{{"format": 1, "measurements": [{row}]}}', "[" * 5000, '{"format": 1, "measurements": [5]}')):
        (folder / f"{number}.json").write_text(content)
    assert last_measurements(Facts({"python.executable": Known("/usr/bin/python3")}), tmp_path) == ()


# Memory


def many_tables(megabytes: int) -> str:
    return "[" + "{}," * (megabytes * 350_000) + "{}]"


def _gigabyte(folder: Path) -> list[str]:
    return ["check", "--capture", capture(folder, {"files/x": bytes(90 << 20), "files/y": bytes(90 << 20)})]


BOMBS: list[Callable[[Path], list[str]]] = [
    lambda folder: ["audit", "--backend", "cpu", _file(folder, "pyproject.toml", "a" + ".a" * 60_000 + " = 1")],
    lambda folder: ["audit", "--backend", "cpu", _file(folder, "pyproject.toml", "a = [" + "[]," * 5_000_000 + "]")],
    lambda folder: ["audit", "--backend", "cpu", _file(folder, "Pipfile.lock", '{"_meta": {}, "x": ' + many_tables(6) + "}")],
    lambda folder: ["audit", "--backend", "cpu", _file(folder, "setup.py", "setup(x=" + "1+" * 500_000 + "1)")],
    lambda folder: ["audit", "--backend", "cpu", _file(folder, "requirements.txt", "torch\n" * 290_000)],
    lambda folder: ["check", "--capture", capture(folder, {"python.json": '{"distributions": ' + many_tables(25) + "}"})],
    lambda folder: ["check", "--capture", capture(folder, {"commands.jsonl": '{"argv": ' + many_tables(25) + "}"})],
    lambda folder: ["check", "--capture", capture(folder, {"folders.toml": '"/x" = [' + '"",' * 290_000 + "]"})],
    _gigabyte,
    lambda folder: ["check", "--capture", report(folder, {"x": [[] for _ in range(3_000_000)]})],
    lambda folder: ["explain", _file(folder, "log.txt", "RuntimeError: " + "x" * 20_000_000)],
    lambda folder: ["explain", _file(folder, "log.txt", "torch 2.8.0\n" * 2_000_000)],
    lambda folder: ["explain", _file(folder, "log.txt", "\n" * 1_000_000)],
    lambda folder: ["diff", *[report(folder, {"x": [[] for _ in range(3_000_000)]})] * 2],
    lambda folder: ["diff", *[capture(folder, {"python.json": '{"distributions": ' + many_tables(25) + "}"})] * 2],
    lambda folder: ["report", "--capture", capture(folder, {"python.json": '{"distributions": ' + many_tables(25) + "}"})],
    lambda folder: ["report", "--capture", capture(folder, {"files/var/log/x": "10.1.2.3 /home/x\n" * 400_000})],
    lambda folder: ["setup", "cuda", "--plan", "--capture", capture(folder, {"python.json": '{"distributions": ' + many_tables(25) + "}"})],
    lambda folder: ["list", "devices", "--capture", capture(folder, {"commands.jsonl": '{"argv": ' + many_tables(25) + "}"})],
    lambda folder: ["validate", *["--compare", report(folder, {"x": [[] for _ in range(3_000_000)]})] * 2],
]  # fmt: skip


def _file(folder: Path, name: str, content: str) -> str:
    (folder / name).write_text(content)
    return str(folder / name)


@pytest.fixture(scope="module")
def runner() -> Iterator[CommandRunner]:
    with CommandRunner() as begun:
        yield begun


@pytest.mark.starts_processes("memory is limited and measured in a process that holds nothing else")
@pytest.mark.skipif(sys.platform != "linux", reason="no other system has this limit")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("make", BOMBS)
def test_reading_takes_at_most_300_megabytes(make: Callable[[Path], list[str]], tmp_path: Path, runner: CommandRunner) -> None:
    ran = runner.run(tmp_path, make(tmp_path))
    assert (ran.signal, ran.status) in ((0, 0), (0, 1), (0, 2)), ran.error[-500:]
    assert ran.most <= MOST, f"{ran.most >> 20} MiB"


@pytest.mark.starts_processes("memory is limited and measured in a fresh Python")
@pytest.mark.skipif(sys.platform != "linux", reason="no other system has this limit")
def test_the_limit_holds_and_ends_with_its_block() -> None:
    code = (
        "from gpudoctor.system.memory_limit import limited_memory\n"
        "with limited_memory():\n"
        "    try:\n        bytearray(400_000_000)\n    except MemoryError:\n        print('refused')\n"
        "print(len(bytearray(400_000_000)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ})
    assert done.stdout.split() == ["refused", "400000000"]
    with limited_memory(), limited_memory(10**15):
        pass
