"""requirements.txt as pip reads it: comments, continued lines, options, includes, addresses, wheels beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.audit.entries import MOST, named, of_address, requirement, without_secret
from gpudoctor.model.audit import AskedPackage, Manifest

_COMMENT = re.compile(r"(^|\s)#.*$")
_OPTION = re.compile(r"(--?[A-Za-z][A-Za-z-]*)(?:[= ]\s*(.*))?$")
_TAIL = re.compile(r"\s--(?:hash|global-option|config-settings|install-option)\b")
_EGG = re.compile(r"#(?:[^#]{0,200}&)?egg=([A-Za-z0-9._-]{1,100})")
_LINKED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,98})(?:\[[^\]]{0,200}\])?\s*@\s")
_INDEX = {"-i", "--index-url", "--extra-index-url", "-f", "--find-links"}
_INCLUDE = {"-r", "--requirement", "-c", "--constraint"}


def read(text: str, file: str) -> Manifest:
    """Reads requirements.txt. Raises FormatError for a line that pip would refuse."""
    found = Manifest(file=file, kind="requirements")
    for number, line in _logical(text):
        take(line, number, found)
        if len(found.wanted) > MOST:
            break
    return found


def _logical(text: str) -> Iterator[tuple[int, str]]:
    start, parts = 0, []
    for number, raw in enumerate(text.splitlines(), 1):
        start = start or number
        if raw.endswith("\\") and not raw.lstrip().startswith("#"):
            parts.append(raw[:-1])
            continue
        line = _COMMENT.sub("", "".join([*parts, raw])).strip()
        if line:
            yield start, line
        start, parts = 0, []
    if parts and (line := _COMMENT.sub("", "".join(parts)).strip()):
        yield start, line


def take(line: str, number: int, found: Manifest, *, form: str = "") -> None:
    """Reads one logical line, continued lines joined."""
    option = _OPTION.match(line) if line.startswith("-") else None
    if line.startswith("-") and option is None and line[:2] in ("-r", "-c", "-f", "-i", "-e"):
        option = re.match(r"(-[rcfie])(.*)", line)  # -rother.txt
    if option is not None:
        name, value = option[1], (option[2] or "").strip().strip("\"'")
        if name in _INDEX and value:
            found.indexes.append(without_secret(value))
        elif name in _INCLUDE and value:
            found.includes.append((value, number))
        elif name in ("-e", "--editable") and value:
            found.wanted += _address(value, number, found)
        return
    cut = _TAIL.search(line)
    line = line[: cut.start()].strip() if cut else line
    if _is_address(line):
        found.wanted += _address(line, number, found)
    else:
        found.wanted.append(requirement(line, found.file, number, form=form))


def _is_address(line: str) -> bool:
    word = line.split(";")[0].strip()
    if _LINKED.match(word):
        return False
    path = word.startswith((".", "/", "~")) or re.match(r"\w:\\", word) is not None
    return path or "://" in word or word.endswith((".whl", ".tar.gz", ".zip"))


def _address(text: str, number: int, found: Manifest) -> Iterator[AskedPackage]:
    word, _, marker = text.partition(" ;")
    name, specifier = of_address(word.partition("#")[0])
    egg = _EGG.search(word)
    if not name and egg:
        name = egg[1]
    if not name:
        found.notes.append(f"{found.file}:{number}: what {without_secret(word)[:120]} holds was not read")
        return
    yield named(name, specifier, found.file, number, index=without_secret(word), marker=marker.strip())
