"""Dockerfile and compose file: the base image and the lines that install packages."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from gpudoctor.audit import yaml_values
from gpudoctor.audit.conda_files import conda
from gpudoctor.audit.entries import without_secret
from gpudoctor.audit.requirements_txt import take
from gpudoctor.model.audit import FormatError, Image, Manifest

_FROM = re.compile(r"FROM\s+(?:--platform=\S+\s+)?(\S+)(?:\s+AS\s+(\S+))?", re.I)
_ARG = re.compile(r"(?:ARG|ENV)\s+([A-Za-z_]\w{0,99})[= ](.*)$", re.I)
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w{0,99})(?::-([^}$]{0,200}))?\}?")
_BREAK = {"&&", "||", ";", "|"}
_OF_PIP = {"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-r", "--requirement", "-c", "--constraint"}
_TAKES_VALUE = _OF_PIP | {
    "-t", "--target", "--platform", "--python-version", "--cache-dir", "--trusted-host", "--timeout", "--retries", "--prefix", "--root",
    "--index", "--index-strategy", "--torch-backend", "--python", "-p", "--proxy", "--implementation", "--abi", "--no-binary",
    "--only-binary", "--progress-bar", "-n", "--name",
}  # fmt: skip


def dockerfile(text: str, file: str) -> Manifest:
    """Reads a Dockerfile. Raises FormatError where it has no FROM."""
    found, values, stages = Manifest(file=file, kind="Dockerfile"), dict[str, str](), set[str]()
    for number, line in _logical(text):
        argument = _ARG.match(line)
        if argument:
            values[argument[1]] = _filled(argument[2].strip().strip("\"'"), values)[:500]
            if argument[1].upper() in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"):
                found.indexes += [without_secret(url) for url in values[argument[1]].split()]
        start = _FROM.match(line)
        if start:
            image = _filled(start[1], values)
            if image.lower() not in stages and image.lower() != "scratch":
                found.images.append(Image(name=image, file=file, line=number))
            if start[2]:
                stages.add(start[2].lower())
        elif re.match(r"RUN\s", line, re.I):
            _run(line[4:], number, found, values)
    if not found.images:
        raise FormatError(f"{file}: no FROM; expected a Dockerfile")
    return found


def _filled(text: str, values: dict[str, str]) -> str:
    return _VARIABLE.sub(lambda match: values.get(match[1], match[2] or ""), text[:2000])[:4000]


def _logical(text: str) -> Iterator[tuple[int, str]]:
    start, parts = 0, []
    for number, raw in enumerate(text.splitlines(), 1):
        if raw.strip().startswith("#"):
            continue
        start = start or number
        if raw.rstrip().endswith("\\"):
            parts.append(raw.rstrip()[:-1])
            continue
        line = " ".join([*parts, raw]).strip()
        if line:
            yield start, line
        start, parts = 0, []
    if parts:
        yield start, " ".join(parts).strip()


def _run(command: str, number: int, found: Manifest, values: dict[str, str]) -> None:
    if "install" not in command:
        return
    command = re.sub(r"^(?:--\w+=\S+\s+)+", "", command.strip())
    try:
        words = shlex.split(_filled(command, values).replace(";", " ; "), comments=False) if len(command) <= 100_000 else []
    except ValueError:
        words = []
    if not words:
        found.notes.append(f"{found.file}:{number}: this command was not read")
        return
    first = len(found.wanted)
    pieces: list[list[str]] = [[]]
    for word in words:
        if word in _BREAK:
            pieces.append([])
        else:
            pieces[-1].append(word)
    for piece in pieces:
        _installs(piece, number, found)
    mine = found.wanted[first:]
    if len(mine) > 1 or sum(1 for piece in pieces if piece) > 1:
        found.wanted[first:] = [replace(each, among_others=True) for each in mine]


def _installs(words: Sequence[str], number: int, found: Manifest) -> None:
    if "install" not in words:
        return
    at = words.index("install")
    before = [word.rsplit("/", 1)[-1] for word in words[:at]]
    if any(re.fullmatch(r"pip\d?(\.\d+)?", word) for word in before):
        _pip(words[at + 1 :], number, found)
    elif any(word in ("conda", "mamba", "micromamba") for word in before):
        _conda(words[at + 1 :], number, found)


def _pip(words: Sequence[str], number: int, found: Manifest) -> None:
    skip = False
    for place, word in enumerate(words):
        if skip:
            skip = False
            continue
        name, sign, value = word.partition("=")
        if word.startswith("-"):
            if name in _OF_PIP:
                skip = not sign
                given = value if sign else words[place + 1] if place + 1 < len(words) else ""
                take(f"{name} {given}", number, found)
            else:
                skip = not sign and name in _TAKES_VALUE
            continue
        try:
            take(word, number, found)
        except FormatError:
            found.notes.append(f"{found.file}:{number}: '{word[:60]}' was not read")


def _conda(words: Sequence[str], number: int, found: Manifest) -> None:
    skip = False
    for place, word in enumerate(words):
        if skip:
            skip = False
        elif word in ("-c", "--channel"):
            skip = True
            found.indexes += [without_secret(words[place + 1])] if place + 1 < len(words) else []
        elif word.startswith("-"):
            skip = word in _TAKES_VALUE
        else:
            try:
                conda(word, number, found)
            except FormatError:
                found.notes.append(f"{found.file}:{number}: '{word[:60]}' was not read")


def compose(text: str, file: str) -> Manifest:
    """Reads the images of a compose file's services. For a service that is built, a note names the Dockerfile, which must be given, too."""
    found, services = Manifest(file=file, kind="compose"), yaml_values.read(text, file).get("services")
    if services is None:
        raise FormatError(f"{file}: no 'services:'; expected a compose file")
    for key, service in (services.entries or {}).values():
        image, build = service.get("image"), service.get("build")
        if image is not None and (name := image.line_of_text()):
            found.images.append(Image(name=_VARIABLE.sub(lambda match: match[2] or "", name), file=file, line=image.line))
        if build is not None:
            name = key.line_of_text()[:60]
            found.notes.append(f"{file}:{build.line}: the Dockerfile that {name} is built from was not read; give it too")
    return found
