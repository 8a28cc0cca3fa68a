"""Words, commands and files in the syntax of bash. Every text is hostile: none of it may be evaluated."""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Sequence

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.plan import Command
from gpudoctor.reporters.shared.escape import visible

WIDTH = 100
"""The width from which commands are broken between arguments."""
_RESERVED = frozenset(
    "if then elif else fi for while until do done case esac in function time coproc select "
    "exit exec eval return break continue source alias export readonly local declare set unset shift trap".split()
)
_VARIABLE = lazy(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Unwritable(ValueError):
    """An act of the plan cannot be written in that language; the message names the act and the reason."""


def encoded(text: str) -> bytes:
    """The bytes of the text on the machine; bytes that were not valid UTF-8 are restored."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise Unwritable(f"a text is not Unicode: {visible(text)[:60]!r}") from None


def word(text: str) -> str:
    """One argument. Characters that a terminal might obey are written as escapes ($'\\x1b'), so that a reviewer sees them."""
    if "\0" in text:
        raise Unwritable(f"an argument holds a NUL character, which no command line can: {visible(text)[:60]!r}")
    if all(char.isprintable() or char == "\n" for char in text):
        return shlex.quote(text)
    return "$'" + "".join(_escaped(char) for char in text) + "'"


def flat(text: str) -> str:
    """The argument on one line, for a screen: line feeds are written as escapes too."""
    return "$'" + "".join(_escaped(char) for char in text) + "'" if "\n" in text else word(text)


def _escaped(char: str) -> str:
    if char in "'\\":
        return "\\" + char
    if char.isprintable():
        return char
    # Three octal digits: nothing that follows can be taken for a part of it.
    return "\\n" if char == "\n" else "".join(f"\\{byte:03o}" for byte in encoded(char))


def words(command: Command, *, sudo: str = "", one_line: bool = False) -> list[str]:
    """The words of a command line: `sudo` for a command of root, then `env` where variables are set."""
    quote = flat if one_line else word
    if not command.argv:
        raise Unwritable("a command without a name")
    bad = [name for name in command.env if not _VARIABLE.match(name)]
    if bad:
        raise Unwritable(f"{visible(bad[0])!r} is no name of a variable")
    name = command.argv[0]
    if not name or "=" in name:
        raise Unwritable(f"{visible(name)!r} is no name of a program")
    found = [sudo] if command.root and sudo else []
    if command.env or name in _RESERVED or not name.isprintable():  # `env` starts a program, never what is built into the shell
        found += ["env", *(f"{variable}={quote(value)}" for variable, value in command.env.items())]
    return [*found, *(quote(text) for text in command.argv)]


def typed(command: Command) -> str:
    """The command on one line, as a person would type it."""
    return " ".join(words(command, sudo="sudo", one_line=True))


def broken(parts: Sequence[str], *, indent: str = "  ", width: int = WIDTH) -> str:
    """The words on one line, or on several with a backslash at the end where they are too long."""
    lines: list[str] = []
    for before, part in zip(("", *parts), parts, strict=False):
        option = len(before) == 2 and before.startswith("-")  # stays with its value
        if lines and (option or len(lines[-1]) + len(part) + 1 <= width):
            lines[-1] += f" {part}"
        else:
            lines.append(indent + part if lines else part)
    return " \\\n".join(lines)


def comment(text: str, label: str = "", *, lead: str = "# ") -> str:
    """A one-line comment that no linter reads as a directive."""
    whole = " ".join(visible(f"{label}: {text}" if label else text).split())
    if re.match(r"(shellcheck|hadolint|syntax|escape|check)\b", whole):
        whole = f"text: {whole}"
    # A backslash at the end of a line is a continuation in some languages.
    return (lead + whole).rstrip("\\ ")


def delimiter(content: str, name: str = "END_OF_FILE") -> str:
    """A delimiter that is no line of `content`."""
    lines = set(content.splitlines()) | set(content.split("\n"))
    chosen, number = name, 1
    while any(line.strip() == chosen for line in lines):
        number += 1
        chosen = f"{name}_{number}"
    return chosen


def clean(content: str) -> bool:
    """Whether a heredoc holds the content exactly, and a reviewer sees all of it."""
    return content.endswith("\n") and all(char.isprintable() or char in "\n\t" for char in content)


def heredoc(command: str, content: str) -> str:
    """`command` with `content` as its standard input. Content that a heredoc cannot hold, or that a terminal might obey, is encoded as
    base64."""
    if clean(content):
        end = delimiter(content)
        return f"{command} <<'{end}'\n{content}{end}"
    if not content:
        return f"{command} </dev/null"
    coded = base64.b64encode(encoded(content)).decode()
    lines = "\n".join(coded[at : at + 76] for at in range(0, len(coded), 76))
    return f"base64 -d <<'END_OF_FILE' | {command}\n{lines}\nEND_OF_FILE"


def said(text: str) -> str:
    """A statement that prints the text on one line."""
    return "printf '%s\\n' " + word(" ".join(visible(text).split()))
