"""Which commands `guard` tries, and what it reads of an installer's answer."""

from __future__ import annotations

import json

import pytest

from gpudoctor.audit import installer_commands
from gpudoctor.audit.installer_commands import CommandRefused, pip_words, read, uv_plan, uv_words


@pytest.mark.parametrize(
    ("command", "tool", "words"),
    [
        ("pip install a b", "pip", ("a", "b")), ("pip3.11 install -U a", "pip", ("-U", "a")), ("/v/bin/pip install a", "pip", ("a",)),
        ("python3 -m pip install -r requirements.txt", "pip", ("-r", "requirements.txt")),
        ("uv pip install --dry-run a", "uv", ("a",)), ("pip install -q --report x.json a", "pip", ("a",)),
    ],
)  # fmt: skip
def test_commands_of_pip_and_uv_are_read(command: str, tool: str, words: tuple[str, ...]) -> None:
    found = read(command.split())
    assert (found.tool, found.words) == (tool, words)


@pytest.mark.parametrize(
    "command", ["conda install x", "rm -rf /", "pip", "pip install", "pip uninstall x", "uv add x", "pip download x", "python x.py"]
)
def test_other_commands_are_refused_with_those_that_can_be_tried(command: str) -> None:
    with pytest.raises(CommandRefused, match="pip install"):
        read(command.split())


@pytest.mark.parametrize("word", ["-e", ".", "./x", "../x", "/srv/x", "git+https://a/b", "a-1.0.tar.gz"])
def test_what_would_have_to_be_built_is_refused(word: str) -> None:
    with pytest.raises(CommandRefused, match="builds nothing"):
        read(["pip", "install", word, "other"])


def test_nothing_is_built_and_nothing_installed() -> None:
    command = read(["pip", "install", "a"])
    assert {"--dry-run", "--only-binary=:all:"} < set(pip_words(command, None))
    assert pip_words(command, "/t/c.txt")[-3:] == ["-c", "/t/c.txt", "a"]
    assert {"--dry-run", "--no-build"} < set(uv_words(command, "/v/bin/python", None))


def test_the_report_of_pip() -> None:
    row = {"metadata": {"name": "Torch", "version": "2.9.0"}, "download_info": {"url": "https://files.pythonhosted.org/x.whl"}}
    plan = installer_commands.pip_plan(json.dumps({"install": [row]}))
    assert plan is not None and plan.packages == {"torch": ("2.9.0", "files.pythonhosted.org")}


@pytest.mark.parametrize("said", ["", "no json", "[]", '{"install": [1]}', '{"install": [{"metadata": {}}]}', '{"install": null}'])
def test_what_is_no_report_is_no_plan(said: str) -> None:
    assert installer_commands.pip_plan(said) is None


def test_the_lines_of_uv() -> None:
    said = "Resolved 9 packages\nWould install 2 packages\n - torch==2.13.0+cpu\n + torch==2.15.0\n + pillow==13.0.0\n - triton==3.0\n"
    plan = uv_plan(said)
    assert plan.packages == {"torch": ("2.15.0", ""), "pillow": ("13.0.0", "")} and plan.removed == ("triton",)
