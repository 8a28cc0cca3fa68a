"""Whether proposed lines resolve: what they ask for, whatever the file's language, and pip's answer in a dry run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement

_INDEX = {"--index-url": "--index-url", "-i": "--index-url", "--extra-index-url": "--extra-index-url", "-f": "-f", "--find-links": "-f"}
_URL = re.compile(r"""\s*url\s*=\s*["']([^"']+)["']""")
_LACKING = re.compile(r"No matching distribution found for (\S+)|ResolutionImpossible|conflicting dependencies|requires a different Python")
_FOUND = re.compile(r"from versions: ([^)]*)\)")
PIP = (
    "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--only-binary=:all:", "--no-input",
    "--disable-pip-version-check",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """What proposed lines would have an installer fetch."""

    requirements: tuple[str, ...]
    options: tuple[str, ...] = ()


def asked(lines: Sequence[str]) -> Asked:
    """Comments and commands that fetch nothing ask for nothing."""
    requirements: list[str] = []
    options: list[str] = []
    for line in lines:
        url = _URL.match(line)
        if url:
            options += ["--extra-index-url", url[1]]
        elif not line.lstrip().startswith(("#", "[", "name", "explicit", "include")) and "uninstall" not in line and " remove " not in line:
            _words(line, requirements, options)
    return Asked(tuple(dict.fromkeys(requirements)), tuple(options))


def _words(line: str, requirements: list[str], options: list[str]) -> None:
    try:
        words = shlex.split(line.strip().removeprefix("- ").rstrip(","))
    except ValueError:
        return
    while words:
        word = words.pop(0)
        if word in _INDEX and words:
            options += [_INDEX[word], words.pop(0)]
        elif re.search(r"[=<>~]=|[<>]", word) or (not words and not requirements and re.fullmatch(r"[\w.-]+(\[[\w.,-]+\])?", word)):
            try:
                requirements.append(str(Requirement(word)))
            except InvalidRequirement:
                continue


def refusal(given: Asked, python: str, folder: str, run: Callable[[Sequence[str]], tuple[int | None, str]]) -> str | None:
    """'' where pip resolves it, why not where it says so, None where nothing was learnt (no network, no pip)."""
    target = ["--target", folder, *(["--python-version", python] if python else [])]
    status, said = run([*PIP, *target, *given.options, *given.requirements])
    if status == 0:
        return ""
    lacking = _LACKING.search(said)
    if lacking is None:
        return None
    offered = _FOUND.search(said)
    newest = f"; the newest there is {offered[1].rpartition(', ')[2]}" if offered and offered[1] not in ("", "none") else ""
    return f"pip finds no {lacking[1]}{newest}" if lacking[1] else "pip finds no set of releases that go together"
