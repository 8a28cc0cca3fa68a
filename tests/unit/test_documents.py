"""README and guide: what they show is what the program does."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import click
import pytest

from gpudoctor.cli import group

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "screenshots"))
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "checks" / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
LINK = re.compile(r"!?\[[^\[\]]*\]\(([^()\s#]+)(?:#[^()\s]*)?\)")
FENCE = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.starts_processes("the screens of the documents come from the command line")
def test_the_screen_of_the_readme_is_what_check_prints() -> None:
    import terminal

    shown = terminal.SCREEN.search((ROOT / "README.md").read_text("utf-8"))
    assert shown and shown[2] == terminal.plain(), "run: python docs/screenshots/terminal.py"


@pytest.mark.starts_processes("the screens of the documents come from the command line")
def test_the_picture_holds_that_screen_and_loads_nothing() -> None:
    import terminal

    picture = terminal.PICTURE.read_text("utf-8")
    words = " ".join(re.sub(r"<[^>]*>", " ", picture.replace("&#160;", " ")).split())
    assert all(" ".join(line.split()) in words for line in terminal.plain().splitlines()), "run: python docs/screenshots/terminal.py"
    assert "url(http" not in picture and 'url("http' not in picture


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.parent.name + "/" + path.name)
def test_links_into_the_repository_lead_to_files(document: Path) -> None:
    targets = [target for target in LINK.findall(document.read_text("utf-8")) if not target.startswith("https://")]
    assert [target for target in targets if not (document.parent / target).exists()] == []


def examples(document: Path) -> list[list[str]]:
    """The words of each call of gpudoctor, in blocks of shell and in lines of prose."""
    text = document.read_text("utf-8")
    lines = [line.split("  #")[0] for block in FENCE.findall(text) for line in block.splitlines()]
    prose = re.findall(r"`(gpudoctor [^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    calls = (part.strip() for line in (*lines, *prose) for part in re.split(r"&&|;|\||\$\(", line))
    return [shlex.split(call.rstrip(")")) for call in calls if re.match(r"(\S*/)?gpudoctor\s", call)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.parent.name + "/" + path.name)
def test_commands_and_options_that_are_shown_exist(document: Path) -> None:
    context = click.Context(group)
    unknown = []
    for _, *words in examples(document):
        command = group.get_command(context, words[0]) if words else None
        if isinstance(command, click.Group) and len(words) > 1:
            command = command.get_command(context, words[1])
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)} if command else set()
        options = [word.partition("=")[0] for word in words[1:] if word.startswith("-") and word not in ("-", "--")]
        unknown += [" ".join(words)] if command is None or set(options) - known else []
    assert unknown == []


def test_the_readme_is_short() -> None:
    words = FENCE.sub("", re.sub(r"^```\n.*?^```", "", (ROOT / "README.md").read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)).split()
    assert len(words) <= 900


def test_nothing_advises_to_install_a_name_that_is_not_ours() -> None:
    """gpudoctor is not on PyPI: whoever registers the name there would get what a person types."""
    spoken = [*DOCUMENTS, *(ROOT / "gpudoctor").rglob("*.py"), *(ROOT / "checks").rglob("*.toml"), *(ROOT / "recipes").rglob("*.toml")]
    of_the_name = re.compile(r"(?:pip3? install|pipx (?:install|run)|uvx|uv (?:tool|pip) install)(?: -\S+)* ['\"]?gpudoctor\b(?!\.pyz)")
    assert [f"{path}: {found[0]}" for path in spoken if (found := of_the_name.search(path.read_text("utf-8")))] == []
