"""Commands of pip rewritten for the interpreter that was examined, since a bare `pip` is whichever one the shell finds first."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from msgspec import Struct

from gpudoctor.model.facts import Facts
from gpudoctor.model.lazy_pattern import lazy

_BEGINS = r"(?P<before>(?:^|&& |; |\| )(?:[A-Z][A-Z0-9_]*=(?:\"[^\"]*\"|'[^']*'|[^\s\"']*) )*)"
"""The place where a command begins, with assignments of variables before it."""
_ELSEWHERE = lazy(r"(?:-m|uv|virtualenv) venv\b|\bvirtualenv |\bactivate\b|\bconda create\b")
"""A command that makes or enters another environment, for which the commands after it are meant."""
_OF_UV = ("install", "uninstall", "list", "freeze", "show", "check")
_IN_CMD = lazy(r"[\w.:\\+-]+")
_QUOTED_IN_CMD = lazy(r"[\w.:\\+ ()-]+")

_OF_PIP = lazy(r"\bpip3? (?:install|download)\b")
_SINGLE = lazy(r"(?<!\S)'([\w.\-\[\],<>=!~*+:/@]+)'(?!\S)")


class Interpreter(Struct, frozen=True):
    """An interpreter: its `path`, the path as one `word` of the system's shell, and whether uv made its environment without a pip."""

    path: str
    word: str
    uv: bool = False


def examined(facts: Facts) -> Interpreter | None:
    """The target interpreter; None where it is unknown, does not start, or has a path that cannot be written as one word of the shell."""
    path = facts.value("python.executable")
    if not isinstance(path, str) or not path or facts.known("python.error"):
        return None
    word = _windows_word(path) if facts.value("platform.kind") == "windows" else shlex.quote(path) if path.isprintable() else None
    uv = facts.value("python.kind") == "uv" and not facts.known("python.distributions.pip")
    return Interpreter(path, word, uv) if word else None


def _windows_word(path: str) -> str | None:
    path = path.replace("/", "\\")
    if _IN_CMD.fullmatch(path):
        return path
    return f'"{path}"' if _QUOTED_IN_CMD.fullmatch(path) else None


def here(commands: Iterable[str], python: Interpreter | None) -> tuple[str, ...]:
    """The commands; those of pip, up to one that enters another environment, run the examined interpreter instead."""
    commands = tuple(commands)
    if python is None or not any("pip" in command for command in commands):
        return commands
    entering = next((number for number, command in enumerate(commands) if _ELSEWHERE.search(command)), len(commands))
    pip = re.compile(rf"{_BEGINS}(?:pip3?|(?:python3?|{re.escape(python.path)}) -m pip) (?P<verb>[a-z]+)(?P<yes> -y)?(?= |$)")
    return (*(pip.sub(lambda found: _with(found, python), command) for command in commands[:entering]), *commands[entering:])


def quoted_for(platform: str, commands: Iterable[str]) -> tuple[str, ...]:
    """The commands; on Windows with requirements in double quotes, since cmd does not know single ones and reads 'numpy<2' as a
    redirection."""
    if platform != "windows":
        return tuple(commands)
    return tuple(_SINGLE.sub(r'"\1"', command) if _OF_PIP.search(command) else command for command in commands)


def in_words(text: str, before: Iterable[str], commands: Iterable[str]) -> str:
    """`text` in which each command of `before` is replaced by that of `commands` at the same place."""
    for old, new in zip(before, commands, strict=True):
        text = re.sub(rf"(?<!-m ){re.escape(old)}", lambda _, new=new: new, text) if old != new else text  # type: ignore[misc]
    return text


def _with(found: re.Match[str], python: Interpreter) -> str:
    before, verb = found["before"], found["verb"]
    if not python.uv:
        return f"{before}{python.word} -m pip {verb}{found['yes'] or ''}"
    if verb not in _OF_UV:
        return found[0]
    return f"{before}uv pip {verb} --python {python.word}"
