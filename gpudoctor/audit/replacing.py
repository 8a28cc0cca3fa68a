"""The lines to write instead, in the language of the file that is audited."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from packaging.version import InvalidVersion, Version

from gpudoctor.audit.wording import AGAIN, IN_ENVIRONMENT, IN_PYPROJECT, TOOLS, quoted, run_of_image, written
from gpudoctor.facts.derive._indexes import ROOT, newest
from gpudoctor.facts.derive._tables import table
from gpudoctor.model.audit import AskedPackage, Manifest

_FAMILY = ("torch", "torchvision", "torchaudio")


def instead(wanted: AskedPackage, manifest: Manifest, use: Sequence[str], backend: str, *, keep: bool = False) -> list[str]:
    """Lines for other packages instead of this one, or in addition to it with `keep`. torch comes from the backend's own index, if any."""
    remove = [] if keep else _removed(wanted, manifest)
    if not use:
        return remove
    if list(use) == ["torch"] and backend in ("rocm", "xpu"):
        return [*remove, *from_index(replace(wanted, name="torch", specifier=""), manifest, backend)]
    return [*remove, *written(use, wanted, manifest)]


def _removed(wanted: AskedPackage, manifest: Manifest) -> list[str]:
    """The command that removes a package, where there is no line that could be replaced."""
    if manifest.kind == "installed":
        return [f"pip uninstall -y {wanted.name}"]
    tool = TOOLS.get(manifest.kind)
    return [f"{tool} {'uninstall' if tool == 'pipenv' else 'remove'} {wanted.name}  # or what asks for it"] if tool else []


def from_index(
    wanted: AskedPackage, manifest: Manifest, backend: str, known: Mapping[str, Any] | None = None, specifier: str = ""
) -> list[str]:
    """Lines that take the same package from the index of the backend."""
    version = _version(wanted)
    index = _index_of(wanted, backend, known, version)
    name, kind = wanted.name, manifest.kind
    if specifier:
        required, local = f"{name}{specifier}", ""
    elif version and not version.is_prerelease:
        local = _local(index)
        required = f"{name}=={version.public}"
    else:
        required, local = name + (wanted.specifier if version is None else ""), ""
    full = f"{required}+{local}" if local else required
    if kind == "pyproject" and wanted.form == "table":
        return _poetry_source(required, wanted, backend, index)
    if kind in ("pyproject", "uv.lock"):
        return _uv_source(required, wanted, manifest, backend, index)
    if kind == "poetry.lock":
        source = f"pytorch-{backend}"
        return [f"poetry source add --priority explicit {source} {index}", f"poetry add --source {source} {quoted(required)}"]
    if kind == "pdm.lock":
        return _pdm_source(required, wanted, backend, index)
    if kind in ("Pipfile", "Pipfile.lock"):
        return [f"pipenv install --index {index} {quoted(full)}"]
    if kind in ("environment", "conda-lock"):
        if kind == "environment" and not wanted.conda:
            return [f"- --extra-index-url {index}", *written([full], wanted, manifest)]
        lines = ["- pip:", f"  - --extra-index-url {index}", f"  - {full}"]
        return [IN_ENVIRONMENT, *lines, AGAIN[kind]] if kind == "conda-lock" else lines
    if kind in ("installed", "setup.cfg", "setup.py"):
        force = "--force-reinstall " if kind == "installed" else ""
        changed = written([required], wanted, manifest) if kind != "installed" and required not in wanted.text.replace(" ", "") else []
        return [*changed, f"pip install {force}{quoted(full)} --index-url {index}"]
    if kind == "Dockerfile":
        return run_of_image(f"{quoted(full)} --index-url {index}", wanted)
    return [f"--extra-index-url {index}", full]


def _uv_source(required: str, wanted: AskedPackage, manifest: Manifest, backend: str, index: str) -> list[str]:
    short = f"{wanted.name if wanted.name not in _FAMILY else 'pytorch'}-{_local(index) or backend}"
    locked = manifest.kind == "uv.lock"
    quote = wanted.form or '"'
    return [
        *([IN_PYPROJECT] if locked else []),
        f"{quote}{required}{quote},", "[tool.uv.sources]", f'{wanted.name} = {{ index = "{short}" }}',
        "[[tool.uv.index]]", f'name = "{short}"', f'url = "{index}"', "explicit = true",
        *([AGAIN["uv.lock"]] if locked else []),
    ]  # fmt: skip


def _poetry_source(required: str, wanted: AskedPackage, backend: str, index: str) -> list[str]:
    version = required.removeprefix(wanted.name) or "*"
    return [
        f'{wanted.name} = {{ version = "{version}", source = "pytorch-{backend}" }}',
        "[[tool.poetry.source]]", f'name = "pytorch-{backend}"', f'url = "{index}"', 'priority = "explicit"',
    ]  # fmt: skip


def _pdm_source(required: str, wanted: AskedPackage, backend: str, index: str) -> list[str]:
    names = (*_FAMILY, "*triton*") if wanted.name in _FAMILY else (wanted.name,)
    listed = ", ".join(f'"{name}"' for name in names)
    return [
        IN_PYPROJECT, f'"{required}",', "[[tool.pdm.source]]", f'name = "pytorch-{backend}"', f'url = "{index}"',
        f"include_packages = [{listed}]", AGAIN["pdm.lock"],
    ]  # fmt: skip


def in_words(requirement: str, option: str, index: str, wanted: AskedPackage, manifest: Manifest) -> list[str]:
    """One exact requirement from an index of its own (`option`: -f or --extra-index-url), in the syntax of this kind of file."""
    if manifest.kind == "requirements":
        return [f"{option} {index}", requirement]
    if manifest.kind == "Dockerfile":
        return run_of_image(f"{quoted(requirement)} {option} {index}", wanted)
    if manifest.kind in ("environment", "conda-lock"):
        place = "  - " if wanted.conda else "- "
        lines = [*(["- pip:"] if wanted.conda else []), f"{place}{option} {index}", f"{place}{requirement}"]
        return [IN_ENVIRONMENT, *lines, AGAIN["conda-lock"]] if manifest.kind == "conda-lock" else lines
    return [f"pip install {quoted(requirement)} {option} {index}"]


_TABLES = {"[[tool.uv.index]]": 4, "[[tool.poetry.source]]": 4, "[[tool.pdm.source]]": 4}
"""Tables of an index, and their lines; the second one is the name."""


def without_tables(use: Sequence[str], tables: list[str]) -> tuple[str, ...]:
    """The lines without tables and sources that the file or an earlier proposal has already. Adds the new ones to `tables`."""
    lines = list(use)
    if "[tool.uv.sources]" in lines:
        if "tool.uv.sources" in tables:
            at = lines.index("[tool.uv.sources]")
            lines[at : at + 2] = [f"# in [tool.uv.sources], for its line there:  {lines[at + 1]}"]
        else:
            tables.append("tool.uv.sources")
    for header, length in _TABLES.items():
        if header in lines:
            at = lines.index(header)
            _once(lines, at, length, f"{header.strip('[]')}:{lines[at + 1].split(chr(34))[1]}", tables)
    for line in [line for line in lines if line.startswith(("poetry source add ", "  - --extra-index-url "))]:
        _once(lines, lines.index(line), 1, line, tables)
    if "- pip:" in lines:
        if "- pip:" in tables:
            lines[lines.index("- pip:")] = "# in the list of - pip:"
        else:
            tables.append("- pip:")
    return tuple(lines)


def _once(lines: list[str], at: int, length: int, name: str, tables: list[str]) -> None:
    if name in tables:
        del lines[at : at + length]
    else:
        tables.append(name)


def _version(wanted: AskedPackage) -> Version | None:
    match = re.fullmatch(r"===?\s*([^,*\s]+)", wanted.specifier)
    try:
        return Version(match[1]) if match else None
    except InvalidVersion:
        return None


def _index_of(wanted: AskedPackage, backend: str, known: Mapping[str, Any] | None, version: Version | None) -> str:
    base = newest().get(f"index.{backend}", f"{ROOT}{backend}")
    if known and str((known.get("use") or [""])[0]).startswith("http"):
        base = str(known["use"][0])
    version = version or _line_of_releases(wanted)
    if backend == "rocm" and wanted.name in _FAMILY and version is not None:
        torch = version if wanted.name != "torchvision" else _torch_of_vision(version)
        lines = table("rocm-torch")["index"].get(f"{torch.major}.{torch.minor}") if torch else None
        return f"{ROOT}rocm{lines[0]}" if lines else base
    return base


def _line_of_releases(wanted: AskedPackage) -> Version | None:
    """'2.3' from '==2.3.*' or '~=2.3.0': all releases that they admit are on the same indexes."""
    match = re.fullmatch(r"==\s*(\d{1,4}\.\d{1,4})(?:\.\d{1,4})?\.\*|~=\s*(\d{1,4}\.\d{1,4})\.\d{1,4}", wanted.specifier)
    return Version(match[1] or match[2]) if match else None


def _torch_of_vision(version: Version) -> Version | None:
    for row in table("python-partners")["torch"]:
        if version.base_version in row.get("vision", ()):
            return Version(row["version"])
    return None


def _local(index: str) -> str:
    match = re.search(r"/whl/(?:nightly/|test/)?(xpu|cpu|cu\d+|rocm[\d.]+)/?$", index)
    return match[1] if match else ""
