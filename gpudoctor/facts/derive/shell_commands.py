"""Commands of checks, which are written for a POSIX shell, in the syntax of cmd on Windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudoctor.model.lazy_pattern import lazy

_ASSIGNED = lazy(r"(?P<name>[A-Za-z_]\w*)=(?P<value>\"[^\"]*\"|'[^']*'|[^\s\"']*)(?: +|$)")
_PLAIN = lazy(r"[\w.:,*/+=@-]*")
_POSIX_PATH = lazy(r"(?:^|[\s=:\"'])/(?:dev|etc|lib|opt|proc|sys|usr|var)\b")
_SHELL_ONLY = lazy(r"\$|\| (?:grep|head|tail|sort|awk|sed)\b|(?:^|\s)\./")
_OTHER_SHELL = ("wsl", "ssh ", "powershell", "$env:")
"""Beginnings of commands that another shell reads."""
_INTO_CONTAINER = ("docker ", "podman ")
"""Programs whose paths are those of a container, or of the system that runs it."""
_ONEAPI = "/opt/intel/oneapi/setvars.sh"
_ONEAPI_ON_WINDOWS = r'"C:\Program Files (x86)\Intel\oneAPI\setvars.bat"'
_WITHOUT_MEANING = ("LD_LIBRARY_PATH", "LD_PRELOAD")
"""Variables of the dynamic linker of Linux."""


def for_shell(platform: str, commands: Iterable[str]) -> tuple[str, ...]:
    """The commands; on Windows with variables set as cmd does it, and without those that need a POSIX shell, its paths or sudo."""
    if platform != "windows":
        return tuple(commands)
    return tuple(said for command in commands for said in _in_cmd(command))


def _in_cmd(command: str) -> Iterator[str]:
    word, _, rest = command.partition(" ")
    if word == "unset":
        yield from (f"set {name}=" for name in rest.split() if name not in _WITHOUT_MEANING)
        return
    if word in ("source", "."):
        if rest == _ONEAPI:
            yield _ONEAPI_ON_WINDOWS
        return
    assigned, last = _assignments(rest if word == "export" else command)
    values = [value for _, value in assigned]
    if word == "sudo" or (word == "export" and last):
        return
    if any(_foreign(each) for each in (last, *values)) or any(name in _WITHOUT_MEANING for name, _ in assigned):
        return
    yield from (f"set {name}={value}" if _PLAIN.fullmatch(value) else f'set "{name}={value}"' for name, value in assigned)
    if last:
        yield last


def _foreign(text: str) -> bool:
    """Whether a command, or the value of a variable, needs a POSIX shell or a path of Linux."""
    if text.startswith(_OTHER_SHELL):
        return False
    return bool(_SHELL_ONLY.search(text) or (_POSIX_PATH.search(text) and not text.startswith(_INTO_CONTAINER)))


def _assignments(text: str) -> tuple[list[tuple[str, str]], str]:
    """The assignments at the beginning of a command, as (name, value without its quotes), and what comes after them."""
    found, begin = [], 0
    while match := _ASSIGNED.match(text, begin):
        value = match["value"]
        found.append((match["name"], value[1:-1] if value[:1] in ("'", '"') else value))
        begin = match.end()
    return found, text[begin:]
