"""environment.yml and conda-lock.yml."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.audit import yaml_values
from gpudoctor.audit.entries import MOST, named, without_secret
from gpudoctor.audit.requirements_txt import take
from gpudoctor.audit.yaml_values import Value
from gpudoctor.model.audit import FormatError, Manifest

_MATCH = re.compile(
    r"(?:(?P<channel>[^\s:]{1,200})::)?(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]{0,98})\s*(?P<rest>[=<>!~\s].{0,200}|\[.{0,200})?$"
)
_FLAVOURS = {"pytorch-cuda": "cuda", "cudatoolkit": "cuda", "cuda-version": "cuda", "cpuonly": "cpu"}
NAMES = {"pytorch": "torch", "pytorch-gpu": "torch", "pytorch-cpu": "torch", "tensorflow-base": "tensorflow", "py-xgboost": "xgboost"}
"""Names of conda-forge and of the channel pytorch, and the name on PyPI of the same."""


def environment(text: str, file: str) -> Manifest:
    """Reads environment.yml. Raises FormatError where `dependencies` is missing or no list."""
    found, top = Manifest(file=file, kind="environment"), yaml_values.read(text, file)
    for channel in _listed(top, "channels", found):
        found.indexes.append(without_secret(channel.line_of_text()))
    if top.get("dependencies") is None:
        raise FormatError(f"{file}: no 'dependencies:'; expected an environment file of conda")
    for each in _listed(top, "dependencies", found):
        if each.text is not None:
            conda(each.line_of_text(), each.line, found, form=each.quote)
        elif each.get("pip") is not None:
            found.tables.append("- pip:")
            for entry in _listed(each, "pip", found):
                take(entry.line_of_text(), entry.line, found, form=entry.quote)
        else:
            found.notes.append(f"{file}:{each.line}: this entry was not read; expected '- package' or '- pip:'")
    return found


def _listed(table: Value, key: str, found: Manifest) -> Iterator[Value]:
    """The entries of a list: texts, and for `dependencies` also tables. Empty where the key is empty or missing."""
    value = table.get(key)
    if value is None or value.text == "":
        return
    if value.items is None:
        raise FormatError(f"{found.file}:{value.line}: '{key}' is no list; write one '- package' a line")
    for each in value.items:
        if each.text is None and (key != "dependencies" or each.entries is None):
            raise FormatError(f"{found.file}:{each.line}: an entry of '{key}' is no text; write one '- package' a line")
        if len(found.wanted) + len(found.notes) + len(found.includes) + len(found.indexes) > MOST:  # an alias may repeat a list many times
            raise FormatError(f"{found.file}:{each.line}: more than {MOST} entries; no environment has so many")
        yield each


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
    """Reads conda-lock.yml: `package:` has an entry for each package and platform; a package of several platforms counts once."""
    found, top = Manifest(file=file, kind="conda-lock"), yaml_values.read(text, file)
    packages, metadata = top.get("package"), top.get("metadata")
    if packages is None:
        raise FormatError(f"{file}: no 'package:'; expected a lock file of conda-lock")
    channels = metadata.get("channels") if metadata is not None else None
    for channel in (channels.items or ()) if channels is not None else ():
        if url := channel.line_of_text("url"):
            found.indexes.append(without_secret(url))
    done: set[tuple[str, str, str]] = set()
    for entry in packages.items or ():
        name, version, manager = (entry.line_of_text(key) for key in ("name", "version", "manager"))
        if not name or not version or (name, version, manager) in done:
            continue
        done.add((name, version, manager))
        from_conda = manager != "pip"
        if name == "python" and from_conda:
            found.python = f"=={version}"
            continue
        said = entry.get("name")
        found.wanted.append(named(
            NAMES.get(name, name) if from_conda else name, f"=={version}", file, said.line if said is not None else entry.line,
            index=without_secret(entry.line_of_text("url")), conda=from_conda, locked=True,
        ))  # fmt: skip
    return found
