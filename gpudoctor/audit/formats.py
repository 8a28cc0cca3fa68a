"""Recognises the kind of a dependency file and calls its reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from gpudoctor.audit import conda_files, container_files, requirements_txt, setup_files, toml_files
from gpudoctor.audit.entries import MOST, named
from gpudoctor.model import toml_text
from gpudoctor.model.audit import FormatError, Manifest
from gpudoctor.system import json_text

KNOWN = (
    "requirements*.txt", "pyproject.toml", "setup.cfg", "setup.py", "Pipfile", "Pipfile.lock", "uv.lock", "poetry.lock", "pdm.lock",
    "pylock.toml", "environment.yml", "conda-lock.yml", "Dockerfile", "compose.yaml",
)  # fmt: skip
MOST_INDEXES, MOST_LINES = 200, 300_000
_READERS: tuple[tuple[str, Callable[[str, str], Manifest]], ...] = (
    (r"pyproject\.toml", lambda text, file: toml_files.pyproject(_parsed_toml(text, file), text, file)),
    (r"pipfile", lambda text, file: toml_files.pipfile(_parsed_toml(text, file), text, file)),
    (r"pipfile\.lock", lambda text, file: _pipfile_lock(text, file)),
    (r"(?:uv|poetry|pdm)\.lock", lambda text, file: toml_files.locked(_parsed_toml(text, file), text, file, _base(file))),
    (r"pylock(?:\.[\w.-]+)?\.toml", lambda text, file: toml_files.locked(_parsed_toml(text, file), text, file, "pylock")),
    (r"setup\.cfg", setup_files.setup_cfg),
    (r"setup\.py", setup_files.setup_py),
    (r"(?:[\w.-]*[.-])?conda-lock\.ya?ml", conda_files.lock),
    (r"(?:docker-)?compose[\w.-]*\.ya?ml", container_files.compose),
    (r"[\w.-]*\.ya?ml", conda_files.environment),
    (r"(?:docker|container)file(?:[.-][\w.-]+)?|[\w.-]+\.(?:docker|container)file", container_files.dockerfile),
    (r"[^/]*\.(?:txt|in|pip)", requirements_txt.read),
)


def read(text: str, file: str) -> Manifest:
    """Reads a dependency file. Raises FormatError for a file of another kind, or a damaged one."""
    base = _base(file)
    if text.count("\n") + text.count("\r") > MOST_LINES:
        raise FormatError(f"{file}: more than {MOST_LINES} lines; no file of dependencies has so many")
    for pattern, reader in _READERS:
        if re.fullmatch(pattern, base):
            found = reader(text, file)
            if len(found.wanted) > MOST or len(found.indexes) > MOST_INDEXES:
                raise FormatError(f"{file}: more than {MOST} packages or {MOST_INDEXES} indexes; no project has so many")
            return found
    raise FormatError(f"{file}: no kind of file that is read; give one of {', '.join(KNOWN)}")


def _base(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1].lower()


def _parsed_toml(text: str, file: str) -> Mapping[str, Any]:
    try:
        return toml_text.loads(text)
    except ValueError as error:
        reason = " ".join(str(error).split())[:200]
        raise FormatError(f"{file}: no TOML that can be read ({reason})") from None


def _pipfile_lock(text: str, file: str) -> Manifest:
    found = Manifest(file=file, kind="Pipfile.lock")
    try:
        data = json_text.loads(text)
    except ValueError as error:
        reason = str(error)[:200]
        raise FormatError(f"{file}: no JSON that can be read ({reason})") from None
    if not isinstance(data, Mapping) or not isinstance(data.get("_meta"), Mapping):
        raise FormatError(f"{file}: no '_meta'; expected a lock file of Pipenv")
    sources = [each for each in data["_meta"].get("sources") or () if isinstance(each, Mapping)]
    urls = {str(each.get("name")): str(each.get("url")) for each in sources}
    found.indexes += urls.values()
    at: dict[str, int] = {}
    for number, row in enumerate(text.splitlines(), 1):
        key = re.match(r'\s*"([A-Za-z0-9._-]{1,100})":\s*\{', row)
        if key:
            at.setdefault(key[1], number)
    for section, packages in data.items():
        if section == "_meta" or not isinstance(packages, Mapping):
            continue
        for name, said in packages.items():
            table = said if isinstance(said, Mapping) else {}
            version, marker = str(table.get("version") or ""), str(table.get("markers") or "")
            index = urls.get(str(table.get("index")), "")
            found.wanted.append(named(name, version, file, at.get(name), index=index, marker=marker, locked=True))
    return found
