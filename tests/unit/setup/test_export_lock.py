"""The packages of an export with their checksums: what uv is asked, what becomes of its answer, and what is said where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpudoctor.model.plan import Command, FileChange, Plan
from gpudoctor.reporters.plan import plan_ansible, plan_dockerfile, plan_shell
from gpudoctor.services.setup_planning import SetupRequest, plan_setup
from gpudoctor.setup.export_lock import NOT_LOCKED, LockError, LockPlatform, locked, requirements

MACHINES = Path(__file__).parents[2] / "machines"
EXPORTS = {"sh": plan_shell, "dockerfile": plan_dockerfile, "ansible": plan_ansible}
A, B = "a" * 64, "b" * 64
ANSWER = f"""
lock-version = "1.0"
[[packages]]
name = "openvino"
version = "2026.4.1"
wheels = [{{ url = "https://files.example/openvino-2026.4.1-cp311.whl", hashes = {{ sha256 = "{A}" }} }}]
[[packages]]
name = "Open_Vino.extra"
version = "1.0+xpu"
wheels = [{{ url = "https://files.example/x-1.0.whl", hashes = {{ sha256 = "{B}" }} }}]
"""
LINES = f"openvino==2026.4.1 --hash=sha256:{A}\nopen-vino-extra==1.0+xpu --hash=sha256:{B}\n"
HERE = LockPlatform("linux", "x86_64")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_setup(SetupRequest(name="openvino", capture=str(MACHINES / "arc-a770-whole-slot"), fresh=True)).plan


def pip_acts(plan: Plan) -> list[Command | FileChange]:
    return [act for step in plan.steps if step.kind == "pip" for act in step.acts if isinstance(act, (Command, FileChange))]


def test_an_export_installs_from_the_list_and_from_nothing_else(plan: Plan) -> None:
    asked: list[tuple[list[str], str]] = []

    def run(words: Sequence[str], text: str) -> tuple[int, str, str]:
        asked.append((list(words), text))
        return 0, ANSWER, ""

    made = locked(plan, LockPlatform("linux", "aarch64"), run)
    ((words, text),) = asked
    assert text == "openvino==2026.4.1\n" and words[words.index("--python-platform") + 1] == "aarch64-manylinux_2_28"
    venv = next(step for step in plan.steps if step.kind == "venv")
    assert words[words.index("--python-version") + 1] == venv.settings["minor"]
    assert words[words.index("--default-index") + 1] == "https://pypi.org/simple"
    file, command = pip_acts(made)
    assert isinstance(file, FileChange) and file.content.endswith(LINES) and file.root
    assert isinstance(command, Command) and command.root
    assert command.argv[-4:] == ("--no-deps", "--require-hashes", "--requirement", file.path)
    for form, module in EXPORTS.items():
        text = module.render(made, version="0.1.0", date="2026-11-23")
        assert f"openvino==2026.4.1 --hash=sha256:{A}" in text and "--require-hashes" in text, form
    assert plan.remarks[:-1] == made.remarks[: len(plan.remarks) - 1]


def test_an_export_without_checksums_says_why(plan: Plan) -> None:
    assert NOT_LOCKED in plan.remarks and "--online" in NOT_LOCKED
    answers = {
        "install uv": (None, "", ""), "the index did not answer": (2, "", "error: Request failed after 3 retries\n  Caused by: dns"),
        "uv finds no releases that go together (No solution found": (1, "", "  × No solution found when resolving\n  ╰─▶ Because a"),
        "no checksum of openvino": (0, ANSWER.replace(A, "?"), ""), "no list of packages": (0, "<html>", ""),
    }  # fmt: skip
    for words, answer in answers.items():
        made = locked(plan, HERE, lambda *_, answer=answer: answer)
        assert words in made.remarks[-1] and made.steps == plan.steps


def test_a_step_of_two_indexes_is_not_resolved_from_one(plan: Plan) -> None:
    steps = tuple(replace(step, settings={**step.settings, "first": ["torch"]}) if step.kind == "pip" else step for step in plan.steps)

    def never(*_: object) -> tuple[int, str, str]:
        raise AssertionError

    assert "two indexes" in locked(replace(plan, steps=steps), HERE, never).remarks[-1]


def test_what_comes_from_an_address_keeps_it() -> None:
    archive = f'archive = {{ url = "https://e.org/x-1.whl#sha256={A}", hashes = {{ sha256 = "{A}" }} }}'
    direct = f'[[packages]]\nname = "x"\nversion = "1"\n{archive}\n'
    assert requirements(direct) == f"x @ https://e.org/x-1.whl --hash=sha256:{A}\n"
    with pytest.raises(LockError, match="address"):
        requirements(direct.replace("https://e.org/x", "https://e.org/ --index-url http://evil.org/x"))
