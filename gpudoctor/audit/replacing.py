"""The lines to write instead, in the language of the file that is audited."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from packaging.version import InvalidVersion, Version

from gpudoctor.derived._indexes import ROOT, newest
from gpudoctor.derived._tables import table
from gpudoctor.model.audit import Manifest, Wanted

_FAMILY = ("torch", "torchvision", "torchaudio")


def instead(wanted: Wanted, manifest: Manifest, use: Sequence[str], backend: str, *, keep: bool = False) -> list[str]:
    """Other packages in place of this one, or beside it with `keep`. torch comes from the index of the backend where it has its own."""
    if not use:
        return [f"pip uninstall -y {wanted.name}"] if manifest.kind == "installed" and not keep else []
    if list(use) == ["torch"] and backend in ("rocm", "xpu"):
        remove = [f"pip uninstall -y {wanted.name}"] if manifest.kind == "installed" else []
        return [*remove, *from_index(replace(wanted, name="torch", specifier=""), manifest, backend)]
    if manifest.kind == "installed":
        remove = [] if keep else [f"pip uninstall -y {wanted.name}"]
        return [*remove, f"pip install {' '.join(_quoted(each) for each in use)}"]
    if manifest.kind in ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"):
        tool = {"Pipfile.lock": "pipenv"}.get(manifest.kind, manifest.kind.partition(".")[0])
        verb = {"pipenv": ("uninstall", "install")}.get(tool, ("remove", "add"))
        remove = [] if keep else [f"{tool} {verb[0]} {wanted.name}  # or what asks for it"]
        return [*remove, f"{tool} {verb[1]} {' '.join(_quoted(each) for each in use)}"]
    if manifest.kind in ("environment", "conda-lock"):
        return ["- pip:", *(f"  - {each}" for each in use)]
    if manifest.kind in ("pyproject", "setup.py"):
        return [f'"{each}",' for each in use]
    if manifest.kind == "Dockerfile":
        return [f"RUN pip install {' '.join(_quoted(each) for each in use)}"]
    return list(use)


def from_index(wanted: Wanted, manifest: Manifest, backend: str, known: Mapping[str, Any] | None = None, specifier: str = "") -> list[str]:
    """The same package from the index of the backend."""
    version = _version(wanted)
    index = _index_of(wanted, backend, known, version)
    name = wanted.name
    if specifier:
        what, local = f"{name}{specifier}", ""
    elif version and not version.is_prerelease:
        local = _local(index)
        what = f"{name}=={version.public}"
    else:
        what, local = name + (wanted.specifier if version is None else ""), ""
    full = f"{what}+{local}" if local else what
    if manifest.kind in ("pyproject", "uv.lock"):
        short = f"{name if name not in _FAMILY else 'pytorch'}-{_local(index) or backend}"
        again = ["# then: uv lock"] if manifest.kind == "uv.lock" else []
        return [
            f'"{what}",', "[tool.uv.sources]", f'{name} = {{ index = "{short}" }}',
            "[[tool.uv.index]]", f'name = "{short}"', f'url = "{index}"', "explicit = true", *again,
        ]  # fmt: skip
    if manifest.kind == "poetry.lock":
        return [
            f"poetry source add --priority explicit pytorch-{backend} {index}",
            f"poetry add --source pytorch-{backend} {_quoted(what)}",
        ]
    if manifest.kind == "pdm.lock":
        return [
            "[[tool.pdm.source]]",
            f'name = "pytorch-{backend}"',
            f'url = "{index}"',
            f'include_packages = ["{name}"]',
            "# then: pdm lock",
        ]
    if manifest.kind in ("Pipfile", "Pipfile.lock"):
        return [f"pipenv install --index {index} {_quoted(full)}"]
    if manifest.kind in ("environment", "conda-lock"):
        return ["- pip:", f"  - --extra-index-url {index}", f"  - {full}"]
    if manifest.kind in ("installed", "setup.cfg", "setup.py"):
        force = "--force-reinstall " if manifest.kind == "installed" else ""
        return [f"pip install {force}{_quoted(full)} --index-url {index}"]
    if manifest.kind == "Dockerfile":
        return [f"RUN pip install {_quoted(full)} --index-url {index}"]
    return [f"--extra-index-url {index}", full]


def in_words(requirement: str, option: str, index: str, manifest: Manifest) -> list[str]:
    """One exact requirement from an index of its own (`option`: -f or --extra-index-url), as this kind of file says it."""
    if manifest.kind == "requirements":
        return [f"{option} {index}", requirement]
    if manifest.kind == "Dockerfile":
        return [f"RUN pip install {_quoted(requirement)} {option} {index}"]
    if manifest.kind in ("environment", "conda-lock"):
        return ["- pip:", f"  - {option} {index}", f"  - {requirement}"]
    return [f"pip install {_quoted(requirement)} {option} {index}"]


def worded(use: Sequence[str], manifest: Manifest) -> list[str]:
    """Plain requirements as this kind of file says them."""
    form = {"Dockerfile": "RUN pip install {}", "pyproject": '"{}",', "setup.py": '"{}",'}.get(manifest.kind, "{}")
    return [form.format(_quoted(each) if manifest.kind == "Dockerfile" else each) if _PLAIN_LINE.fullmatch(each) else each for each in use]


_PLAIN_LINE = re.compile(r"[A-Za-z0-9._-]+(\[[\w,.-]+\])?[=<>~!]=?[^\s;#]+")


def without_tables(use: Sequence[str], tables: list[str]) -> tuple[str, ...]:
    """Lines for pyproject.toml without the tables that the file or an earlier proposal has; what is proposed is added to `tables`."""
    lines = list(use)
    if "[tool.uv.sources]" in lines:
        if "tool.uv.sources" in tables:
            at = lines.index("[tool.uv.sources]")
            lines[at : at + 2] = [f"# in [tool.uv.sources], for its line there:  {lines[at + 1]}"]
        else:
            tables.append("tool.uv.sources")
    if "[[tool.uv.index]]" in lines:
        at = lines.index("[[tool.uv.index]]")
        named = "tool.uv.index:" + lines[at + 1].split('"')[1]
        if named in tables:
            del lines[at : at + 4]
        else:
            tables.append(named)
    return tuple(lines)


def _version(wanted: Wanted) -> Version | None:
    match = re.fullmatch(r"===?\s*([^,*\s]+)", wanted.specifier)
    try:
        return Version(match[1]) if match else None
    except InvalidVersion:
        return None


def _index_of(wanted: Wanted, backend: str, known: Mapping[str, Any] | None, version: Version | None) -> str:
    base = newest().get(f"index.{backend}", f"{ROOT}{backend}")
    if known and str((known.get("use") or [""])[0]).startswith("http"):
        base = str(known["use"][0])
    if backend == "rocm" and wanted.name in _FAMILY and version is not None:
        torch = version if wanted.name != "torchvision" else _torch_of_vision(version)
        lines = table("rocm-torch")["index"].get(f"{torch.major}.{torch.minor}") if torch else None
        return f"{ROOT}rocm{lines[0]}" if lines else base
    return base


def _torch_of_vision(version: Version) -> Version | None:
    for row in table("python-partners")["torch"]:
        if version.base_version in row.get("vision", ()):
            return Version(row["version"])
    return None


def _local(index: str) -> str:
    match = re.search(r"/whl/(?:nightly/|test/)?(xpu|cpu|cu\d+|rocm[\d.]+)/?$", index)
    return match[1] if match else ""


def _quoted(text: str) -> str:
    return f'"{text}"' if re.search(r"[<>\[\];\s!*]", text) else text
