"""environment.yml and conda-lock.yml."""

from __future__ import annotations

import re

from gpudoctor.audit.entries import named, without_secret
from gpudoctor.audit.requirements_txt import take
from gpudoctor.audit.yaml_lines import Row, flow_list, rows
from gpudoctor.model.audit import FormatError, Manifest

_MATCH = re.compile(
    r"(?:(?P<channel>[^\s:]{1,200})::)?(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]{0,98})\s*(?P<rest>[=<>!~\s].{0,200}|\[.{0,200})?$"
)
_FLAVOURS = {"pytorch-cuda": "cuda", "cudatoolkit": "cuda", "cuda-version": "cuda", "cpuonly": "cpu"}
NAMES = {"pytorch": "torch", "pytorch-gpu": "torch", "pytorch-cpu": "torch", "tensorflow-base": "tensorflow", "py-xgboost": "xgboost"}
"""Names of conda-forge and of the channel pytorch, and the name on PyPI of the same."""


def environment(text: str, file: str) -> Manifest:
    """Raises FormatError where `dependencies` is written in a way that is not read."""
    found = Manifest(file=file, kind="environment")
    seen = False
    for row in rows(text, file):
        listed = flow_list(row.value) if row.key in ("channels", "dependencies", "pip") else None
        if row.key == "dependencies" and not row.path:
            seen = True
        if listed is not None:
            for value in listed:
                _entry(Row(row.line, (*row.path, row.key), True, "", value), found)
        elif row.key in ("dependencies", "pip") and row.value:
            raise FormatError(f"{file}:{row.line}: '{row.key}: {row.value[:40]}' is not read; write one '- package' a line")
        elif row.key == "" or row.path[-1:] == ("dependencies",) or row.path[-2:] == ("dependencies", "pip"):
            _entry(row, found)
    if not seen:
        raise FormatError(f"{file}: no 'dependencies:'; expected an environment file of conda")
    return found


def _entry(row: Row, found: Manifest) -> None:
    value = row.value if not row.key else f"{row.key}:{row.value}"
    if row.path == ("channels",):
        found.indexes.append(without_secret(value))
    elif row.path[:2] == ("dependencies", "pip"):
        found.tables.append("- pip:")
        take(value if not row.key else f"{row.key}: {row.value}", row.line, found, form=row.quote)
    elif row.path == ("dependencies",) and row.key != "pip":
        if not row.key:
            conda(value, row.line, found, form=row.quote)


def conda(said: str, line: int, found: Manifest, *, form: str = "") -> None:
    """A match specification: channel::name version build, name=version=build, name[version='>=2']. Raises FormatError."""
    match = _MATCH.match(said)
    if match is None or not said:
        raise FormatError(f"{found.file}:{line}: '{said[:80]}' is no package of conda; expected name, name=version or name>=version")
    name, rest = match["name"].lower(), (match["rest"] or "").strip()
    if rest.startswith("["):
        inner = re.search(r"version\s*=\s*['\"]?([^'\",\]]{1,100}(?:,[<>=!][^'\",\]]{1,100})*)", rest)
        version, build = (inner[1] if inner else ""), ""
    else:
        words = rest.split() if not rest.startswith("=") else [part for part in rest.split("=") if part.strip()]
        version, build = (words[0] if words else ""), (words[1] if len(words) > 1 else "")
        if rest.startswith("==") or (rest.startswith("=") and version):
            version = f"={version.strip()}" if not rest.startswith("==") else f"=={version.strip()}"
    if name == "python":
        specifier = named(name, version, found.file, line).specifier
        found.python = found.python or specifier
        return
    one = named(NAMES.get(name, name), version, found.file, line, index=match["channel"] or "", conda=True)
    text = f"{said} ({_FLAVOURS[name]})" if name in _FLAVOURS else said
    local = next((flavour for flavour in ("cuda", "cpu", "xpu", "rocm") if flavour in build.lower()), "")
    found.wanted.append(type(one)(
        name=one.name, file=one.file, line=line, text=text, specifier=one.specifier, conda=True, form=form,
        index=" ".join(filter(None, (one.index, f"build={local}" if local else ""))),
    ))  # fmt: skip


def lock(text: str, file: str) -> Manifest:
    """conda-lock.yml: `package:` with one entry a package and platform; a package of several platforms counts once."""
    found = Manifest(file=file, kind="conda-lock")
    entry: dict[str, tuple[str, int]] = {}
    done: set[tuple[str, str, str]] = set()
    seen = False

    def close() -> None:
        name, version, manager = (entry.get(key, ("", 0))[0] for key in ("name", "version", "manager"))
        if not name or not version or (name, version, manager) in done:
            return
        done.add((name, version, manager))
        line, from_conda = entry["name"][1], manager != "pip"
        if name == "python" and from_conda:
            found.python = f"=={version}"
            return
        address = without_secret(entry.get("url", ("", 0))[0])
        found.wanted.append(named(
            NAMES.get(name, name) if from_conda else name, f"=={version}", file, line, index=address, conda=from_conda, locked=True,
        ))  # fmt: skip

    for row in rows(text, file):
        seen = seen or (not row.path and row.key == "package")
        if row.path == ("metadata", "channels") and row.key == "url":
            found.indexes.append(without_secret(row.value))
        if row.path != ("package",):
            continue
        if row.item:
            close()
            entry = {}
        entry.setdefault(row.key, (row.value, row.line))
    close()
    if not seen:
        raise FormatError(f"{file}: no 'package:'; expected a lock file of conda-lock")
    return found
