"""Commands that install into an environment, as a dry run: the arguments to run, and the installer's output parsed."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from msgspec import Struct
from packaging.utils import canonicalize_name

_NO_WHEEL_HERE = re.compile(r"^(?:[./~]|git\+|hg\+|svn\+|bzr\+|file:)|\.(?:tar\.gz|zip|tgz)$")
_UV_LINE = re.compile(r"^ ([+-~]) ([A-Za-z0-9][\w.-]*)==(\S+)")
_OURS = ("--dry-run", "--quiet", "-q")
FORMS = "pip install …, python -m pip install … or uv pip install …"


class CommandRefused(ValueError):
    """A command that cannot be tried without running or installing something. The message is one line."""


class InstallCommand(Struct, frozen=True):
    """`tool`: pip or uv; `words`: the arguments after `install`; `given`: the command as a person wrote it, up to `install`."""

    tool: str
    given: tuple[str, ...]
    words: tuple[str, ...]

    def shown(self, *more: str) -> str:
        return shlex.join([*self.given, *more, *self.words])


class Planned(Struct, frozen=True):
    """`packages`: (version, host of its address) of each package to be installed, by name; `removed`: packages to be uninstalled."""

    packages: Mapping[str, tuple[str, str]]
    removed: tuple[str, ...] = ()


def read(words: Sequence[str]) -> InstallCommand:
    """Raises CommandRefused."""
    head = [os.path.basename(word) for word in words[:4]]
    count = next(
        (
            len(form)
            for form in (("uv", "pip", "install"), ("python", "-m", "pip", "install"), ("pip", "install"))
            if len(head) >= len(form) and re.fullmatch(rf"{form[0]}[\d.]*", head[0]) and tuple(head[1 : len(form)]) == form[1:]
        ),
        0,
    )
    if not count:
        raise CommandRefused(f"'{shlex.join(words)[:80]}' is no command that can be tried; give {FORMS}")
    rest = _without_report(words[count:])
    if not rest:
        raise CommandRefused(f"'{shlex.join(words)[:80]}' names no package to install")
    for before, word in zip(["", *rest], rest, strict=False):
        if word in ("-e", "--editable") or (_NO_WHEEL_HERE.search(word) and not before.startswith("-")):
            raise CommandRefused(
                f"'{word[:80]}' would be built to learn what it needs, and guard builds nothing; give the packages that it needs"
            )
    return InstallCommand("uv" if head[0].startswith("uv") else "pip", tuple(words[:count]), tuple(rest))


def _without_report(words: Sequence[str]) -> list[str]:
    """The arguments without those that control the installer's output, which guard sets itself."""
    pairs = zip(["", *words], words, strict=False)
    return [
        word for before, word in pairs if word not in (*_OURS, "--report") and before != "--report" and not word.startswith("--report=")
    ]


def pip_words(command: InstallCommand, constraints: str | None) -> list[str]:
    """The arguments after `python -m pip`. pip resolves from wheels alone, so that no foreign package's build code is run."""
    words = ["install", "--dry-run", "--quiet", "--report", "-", "--no-input", "--disable-pip-version-check"]
    return [*words, "--only-binary=:all:", *(["-c", constraints] if constraints else []), *command.words]


def uv_words(command: InstallCommand, python: str, constraints: str | None) -> list[str]:
    words = ["pip", "install", "--dry-run", "--color", "never", "--no-build", "--python", python]
    return [*words, *(["-c", constraints] if constraints else []), *command.words]


def pip_plan(stdout: str) -> Planned | None:
    """The plan from pip's report (JSON); None where the output is no such report."""
    found: dict[str, tuple[str, str]] = {}
    try:
        for row in json.loads(stdout)["install"]:
            name = canonicalize_name(row["metadata"]["name"])
            found[name] = (str(row["metadata"]["version"]), _host(row.get("download_info", {}).get("url", "")))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return Planned(found)


def uv_plan(output: str) -> Planned:
    """The plan from uv's lines: ' - torch==2.8.0' is uninstalled, ' + torch==2.9.0' installed."""
    come: dict[str, tuple[str, str]] = {}
    gone: list[str] = []
    for line in output.splitlines():
        if found := _UV_LINE.match(line):
            sign, name, version = found.groups()
            if sign == "-":
                gone.append(canonicalize_name(name))
            else:
                come[canonicalize_name(name)] = (version, "")
    return Planned(come, tuple(name for name in gone if name not in come))


def _host(address: object) -> str:
    try:
        return urlsplit(str(address)).hostname or ""
    except ValueError:
        return ""
