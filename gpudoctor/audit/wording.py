"""Requirements in the syntax of the audited file, written like the line there: its quotes, its table, its list.

A lock file is made of another file: what is proposed is a command of its tool, or a line of that other file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from packaging.requirements import InvalidRequirement, Requirement

from gpudoctor.facts.derive._indexes import ROOT
from gpudoctor.model.audit import AskedPackage, Manifest

TOOLS = {"uv.lock": "uv", "poetry.lock": "poetry", "pdm.lock": "pdm", "Pipfile.lock": "pipenv"}
"""Lock files, and the program that writes them and the file that they are made of."""
IN_ENVIRONMENT, IN_PYPROJECT = "# in environment.yml:", "# in pyproject.toml:"
AGAIN = {"conda-lock": "# then: conda-lock", "uv.lock": "# then: uv lock", "pdm.lock": "# then: pdm lock"}
_PLAIN = re.compile(r"[A-Za-z0-9][\w.-]*(\[[\w,.-]+\])?([=<>~!]=?[^\s;#]+)?")


def written(requirements: Sequence[str], wanted: AskedPackage, manifest: Manifest) -> list[str]:
    """The lines that replace the line of `wanted`."""
    kind, quote = manifest.kind, wanted.form if wanted.form in ("'", '"') else ""
    if wanted.form == "table":
        return [_keyed(each) for each in requirements]
    if kind in TOOLS:
        verb = {"pipenv": "install"}.get(TOOLS[kind], "add")
        return [f"{TOOLS[kind]} {verb} {' '.join(map(quoted, requirements))}"]
    if kind in ("environment", "conda-lock"):
        lines = [line for each in requirements for line in _of_conda(each, wanted, quote)]
        return [IN_ENVIRONMENT, *lines, AGAIN[kind]] if kind == "conda-lock" else lines
    if kind in ("pyproject", "setup.py"):
        return [f"{quote or chr(34)}{each}{quote or chr(34)}," for each in requirements]
    if kind in ("Dockerfile", "installed"):
        local = next((found[1] for each in requirements if (found := re.search(r"\+(xpu|cpu|cu\d+|rocm[\d.]+)$", each))), "")
        words = " ".join(map(quoted, requirements)) + (f" --index-url {ROOT}{local}" if local else "")
        return run_of_image(words, wanted) if kind == "Dockerfile" else [f"pip install {words}"]
    return list(requirements)


def run_of_image(words: str, wanted: AskedPackage) -> list[str]:
    """pip's command in a Dockerfile. Where the instruction does more, only the arguments that replace this package."""
    if wanted.among_others:
        return [f"# in this RUN, in place of {wanted.text}; the rest of it stays:", f"pip install {words}"]
    return [f"RUN pip install {words}"]


def worded(use: Sequence[str], wanted: AskedPackage, manifest: Manifest) -> list[str]:
    """The lines, with bare requirements rewritten in this file's syntax; all others are final already."""
    lines: list[str] = []
    for each in use:
        lines += written([each], wanted, manifest) if _PLAIN.fullmatch(each) else [each]
    return lines


def _keyed(requirement: str) -> str:
    """'name = "==1.2"', as in the tables of Poetry and Pipenv."""
    try:
        value = Requirement(requirement)
    except InvalidRequirement:
        return requirement
    version = str(value.specifier) or "*"
    if value.extras:
        extras = ", ".join(f'"{extra}"' for extra in sorted(value.extras))
        return f'{value.name} = {{ version = "{version}", extras = [{extras}] }}'
    return f'{value.name} = "{version}"'


def _of_conda(requirement: str, wanted: AskedPackage, quote: str) -> list[str]:
    """A line of `dependencies`, or of the list `pip` in it, whichever the package stands in."""
    if not wanted.conda and not wanted.locked:
        return [f"- {quote}{requirement}{quote}"]
    exact = re.fullmatch(r"([\w.-]+)==([\w.]+)", requirement)
    if exact and wanted.conda and exact[1] == wanted.name:
        name = exact[1] if wanted.locked else wanted.text.partition("=")[0].strip()
        return [f"- {quote}{name}={exact[2]}{quote}"]
    if requirement.startswith("numpy") and wanted.conda:
        return [f"- {requirement}"]
    return ["- pip:", f"  - {requirement}"]


def quoted(text: str) -> str:
    """The text, quoted for a POSIX shell where necessary."""
    return f'"{text}"' if re.search(r"[<>\[\];\s!*]", text) else text
