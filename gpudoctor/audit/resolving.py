"""Whether proposed lines resolve: their requirements, from any kind of file, and the result of pip's dry run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpudoctor.audit.judging import AuditTarget, applies
from gpudoctor.model.audit import Judged, Manifest

_INDEX = {"--index-url": "--index-url", "-i": "--index-url", "--extra-index-url": "--extra-index-url", "-f": "-f", "--find-links": "-f"}
_URL = re.compile(r"""\s*url\s*=\s*["']([^"']+)["']""")
_LACKING = re.compile(r"No matching distribution found for (\S+)|ResolutionImpossible|conflicting dependencies|requires a different Python")
_TOGETHER = re.compile(r"Cannot install (.{1,2000}?) because these package versions have conflicting")
_KEYED = re.compile(r"""\s*([A-Za-z0-9][\w.-]*) = (?:"([^"]*)"|\{ version = "([^"]*)"(?:, extras = \[([^\]]*)\])?.*\})$""")
_KEYS = ("name", "url", "explicit", "priority", "include_packages")
_FOUND = re.compile(r"from versions: ([^)]*)\)")
PIP = (
    "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--only-binary=:all:", "--no-input",
    "--disable-pip-version-check",
)  # fmt: skip


class InstallerRequest(Struct, frozen=True):
    """The requirements and index options that proposed lines pass to an installer."""

    requirements: tuple[str, ...]
    options: tuple[str, ...] = ()


def asked(lines: Sequence[str]) -> InstallerRequest:
    """The request of these lines. Comments, and commands that fetch nothing, add nothing to it."""
    requirements: list[str] = []
    options: list[str] = []
    for line in lines:
        url = _URL.match(line)
        if url:
            options += ["--extra-index-url", url[1]]
            continue
        keyed = _KEYED.match(line)
        if keyed and keyed[1] not in _KEYS:
            extras = f"[{keyed[4]}]".replace('"', "") if keyed[4] else ""
            version = keyed[2] if keyed[2] is not None else keyed[3]
            requirements.append(str(Requirement(f"{keyed[1]}{extras}{'' if version == '*' else version}")))
        elif not keyed and not line.lstrip().startswith(("#", "[", "include")) and "uninstall" not in line and " remove " not in line:
            if line.startswith("poetry source add "):
                options += ["--extra-index-url", line.rpartition(" ")[2]]
            else:
                _words(line, requirements, options)
    return InstallerRequest(tuple(dict.fromkeys(requirements)), tuple(options))


def _words(line: str, requirements: list[str], options: list[str]) -> None:
    try:
        words = shlex.split(line.strip().removeprefix("- ").rstrip(","))
    except ValueError:
        return
    while words:
        word = words.pop(0)
        if word in _INDEX and words:
            options += [_INDEX[word], words.pop(0)]
        elif word == "--index" and words:  # of Pipenv
            options += ["--extra-index-url", words.pop(0)]
        elif re.search(r"[=<>~]=|[<>]", word) or (not words and not requirements and re.fullmatch(r"[\w.-]+(\[[\w.,-]+\])?", word)):
            try:
                requirements.append(str(Requirement(word)))
            except InvalidRequirement:
                continue


_GONE = ("needs-another-backend", "needs-another-package", "same-files")
"""Kinds of trouble whose package has to go."""


def corrected(manifests: Sequence[Manifest], rows: Sequence[Judged], target: AuditTarget) -> InstallerRequest:
    """The files with every proposed line in its place: what an installer would be given."""
    mine = {manifest.file for manifest in manifests}
    errors = {(row.file, row.line, row.package) for row in rows if row.verdict == "error" and (row.use or row.id in _GONE)}
    proposed = [asked(row.use) for row in rows if row.file in mine]
    named = {canonicalize_name(Requirement(text).name) for each in proposed for text in each.requirements}
    requirements = [text for each in proposed for text in each.requirements]
    options = [word for manifest in manifests for index in manifest.indexes if "://" in index for word in ("--extra-index-url", index)]
    for manifest in manifests:
        for wanted in manifest.wanted:
            stays = (wanted.file, wanted.line, wanted.name) not in errors and wanted.name not in named
            if stays and not wanted.conda and not wanted.locked and applies(wanted, target) and not re.search(_FILE, wanted.index):
                extras = re.match(r"[\w.-]+\s*(\[[\w,. -]+\])", wanted.text)
                requirements.append(f"{wanted.name}{extras[1] if extras else ''}{wanted.specifier}")
                options += ["--extra-index-url", wanted.index] if "://" in wanted.index else []
    options += [word for each in proposed for word in each.options]
    pairs = dict.fromkeys(zip(options[::2], options[1::2], strict=True))
    return InstallerRequest(tuple(dict.fromkeys(requirements)), tuple(word for pair in pairs for word in pair))


_FILE = re.compile(r"git\+|\.git\b|\.whl|\.zip|\.tar\.gz|^file:|^[./]")


def clash(output: str) -> tuple[str, ...]:
    """The packages that pip names as conflicting; () where its output reports no conflict."""
    found = _TOGETHER.search(output)
    parts = re.split(r",\s*(?:and\s+)?|\s+and\s+", found[1]) if found else []
    names = [match[0] for part in parts if (match := re.match(r"[A-Za-z0-9][\w.-]*", part.strip()))]
    return tuple(dict.fromkeys(canonicalize_name(name) for name in names))


Run = Callable[[Sequence[str]], tuple[int | None, str]]
"""Maps the arguments after `python` to pip's exit status and output."""


def run_pip(given: InstallerRequest, python: str, folder: str, run: Run) -> tuple[int | None, str]:
    target = ["--target", folder, *(["--python-version", python] if python else [])]
    return run([*PIP, *target, *given.options, *given.requirements])


def refusal(given: InstallerRequest, python: str, folder: str, run: Run) -> str | None:
    """'' where pip resolves the request, its reason where it refuses, None where neither is known (no network, no pip)."""
    status, output = run_pip(given, python, folder, run)
    return "" if status == 0 else reason(output)


def reason(output: str) -> str | None:
    """Why pip refuses, from its output; None where the output gives no reason."""
    lacking = _LACKING.search(output)
    if lacking is None:
        return None
    offered = _FOUND.search(output)
    newest = f"; the newest there is {offered[1].rpartition(', ')[2]}" if offered and offered[1] not in ("", "none") else ""
    return f"pip finds no {lacking[1]}{newest}" if lacking[1] else "pip finds no set of releases that go together"
