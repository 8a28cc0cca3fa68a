"""A Python package index: its page of one project (PEP 503 or PEP 691), and the files in it that fit a requirement.

The pages come from the network: they are read within limits, and entries of another form are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    NormalizedName,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from gpudoctor.system import json_text

PAGE_LIMIT = 30_000_000
"""The most bytes of a page that are read."""
MOST_FILES = 100_000
_LONGEST_ENTRY = 4_096
_END_OF_ENTRY = re.compile(r"</a\s*>", re.IGNORECASE)

Minor = tuple[int, int]


class IndexFile(Struct, frozen=True):
    """One file of a project. `tags` is empty for a source archive, which fits wherever it can be built."""

    name: str
    version: Version
    tags: frozenset[Tag]
    requires_python: str = ""
    yanked: bool = False


class Fit(Struct, frozen=True):
    """The result of a choice. `version`: the newest that fits. Where there is none, `nearest` is another version for this Python and
    machine, and `pythons` are those for which the version that was asked for has wheels."""

    version: Version | None = None
    nearest: Version | None = None
    matching: Version | None = None
    """The newest version that the requirement allows, although no file of it serves here."""
    pythons: tuple[Minor, ...] = ()


def page_url(index: str, project: str) -> str:
    return f"{index.rstrip('/')}/{canonicalize_name(project)}/"


def read_page(content: bytes, project: str) -> list[IndexFile]:
    """The files of `project` in a page, without those of other projects and names that are none of files."""
    wanted = canonicalize_name(project)
    text = content[:PAGE_LIMIT].decode("utf-8", "replace")
    entries = _of_json(text) if text.lstrip()[:1] == "{" else _of_html(text)
    found = []
    for number, (name, requires, yanked) in enumerate(entries):
        if number >= MOST_FILES:
            break
        one = _file(name, requires, yanked, wanted)
        if one is not None:
            found.append(one)
    return found


def choose(files: Iterable[IndexFile], requirement: Requirement, python: Minor | None, platforms: Sequence[str], pre: bool = False) -> Fit:
    """The version that pip would install for this Python (None for any) and machine. `platforms`: packaging.tags.platform_tags(), or empty
    for any."""
    listed = list(files)
    exact = any(one.operator in ("==", "===") and "*" not in one.version for one in requirement.specifier)
    usable = [one for one in listed if exact or not one.yanked]
    wanted_tags = _tags(python, platforms) if python and platforms else None
    here = [one for one in usable if _serves(one, python, wanted_tags)]
    fitting = _newest(here, requirement, pre)
    if fitting is not None:
        return Fit(version=fitting)
    matching = _newest(usable, requirement, pre)
    nearest = nearest_version(requirement, [one.version for one in here if not one.yanked])
    of_it = [one for one in usable if one.version == matching]
    pythons = {minor for one in of_it for minor in _minors(one) if platforms and _serves(one, minor, _tags(minor, platforms))}
    return Fit(nearest=nearest, matching=matching, pythons=tuple(sorted(pythons)))


def nearest_version(requirement: Requirement, versions: Iterable[Version]) -> Version | None:
    """The version nearest to that of a requirement: the next older or newer one, whichever shares more leading numbers with it; of the same
    build (+xpu) where there is one. None where there are no versions."""
    wanted = asked_version(requirement)
    known = sorted(set(versions))
    if wanted is None:
        return next((one for one in reversed(known) if not one.is_prerelease), known[-1] if known else None)
    if wanted.local:
        known = [one for one in known if one.local == wanted.local] or known
    known = [one for one in known if not one.is_prerelease] or known
    around = [max((one for one in known if one <= wanted), default=None), min((one for one in known if one > wanted), default=None)]
    return max((one for one in around if one is not None), key=lambda one: (_shared(one, wanted), one), default=None)


def asked_version(requirement: Requirement) -> Version | None:
    """The version that a requirement is about: 2.8 of ==2.8.*, ~=2.8 or >=2.8; None where it names none."""
    for one in sorted(requirement.specifier, key=lambda one: ("==", "===", "~=", ">=", ">", "<=", "<", "!=").index(one.operator)):
        if one.operator != "!=":
            try:
                return Version(one.version.removesuffix(".*"))
            except InvalidVersion:
                continue
    return None


def _shared(one: Version, wanted: Version) -> int:
    """The number of leading numbers that two versions share."""
    pairs = enumerate(zip((*one.release, 0, 0, 0), (*wanted.release, 0, 0, 0), strict=False))
    return next((number for number, (left, right) in pairs if left != right), 9)


def _newest(files: Iterable[IndexFile], requirement: Requirement, pre: bool) -> Version | None:
    allowed = list(requirement.specifier.filter({one.version for one in files}, prereleases=True if pre else None))
    return max(allowed, default=None)


def _tags(python: Minor, platforms: Sequence[str]) -> frozenset[Tag]:
    name = f"cp{python[0]}{python[1]}"
    abis = [name + "m"] if python < (3, 8) else [name]
    return frozenset([*cpython_tags(python, abis, platforms), *compatible_tags(python, name, platforms)])


def _serves(one: IndexFile, python: Minor | None, tags: frozenset[Tag] | None) -> bool:
    if tags is not None and one.tags and not one.tags & tags:
        return False
    if python is None or not one.requires_python:
        return True
    try:
        # The patch release of the Python is not known yet: the newest is the most likely.
        return SpecifierSet(one.requires_python).contains(f"{python[0]}.{python[1]}.99", prereleases=True)
    except InvalidSpecifier:
        return True


def _minors(one: IndexFile) -> Iterator[Minor]:
    """The CPython versions in the tags of a wheel."""
    for tag in one.tags:
        found = re.fullmatch(r"cp3(\d{1,2})", tag.interpreter)
        if found:
            yield 3, int(found[1])


def _file(name: str, requires: str, yanked: bool, wanted: NormalizedName) -> IndexFile | None:
    try:
        if name.endswith(".whl"):
            project, version, _, tags = parse_wheel_filename(name)
        elif name.endswith((".tar.gz", ".zip")):
            project, version = parse_sdist_filename(name)
            tags = frozenset()
        else:
            return None
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion, ValueError):
        return None
    return IndexFile(name, version, tags, requires, yanked) if project == wanted else None


def _of_json(text: str) -> Iterator[tuple[str, str, bool]]:
    try:
        table: Any = json_text.loads(text)
    except ValueError:
        return
    listed = table.get("files") if isinstance(table, dict) else None
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("filename"), str):
            requires = entry.get("requires-python")
            yield entry["filename"], requires if isinstance(requires, str) else "", entry.get("yanked", False) is not False


def _of_html(text: str) -> Iterator[tuple[str, str, bool]]:
    # Entry by entry, each of bounded length: on some broken markup the parser's time grows with the square of the length.
    for entry in _END_OF_ENTRY.split(text):
        links = _Links()
        links.feed(entry[-_LONGEST_ENTRY:])
        links.close()
        yield from links.found


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        href = said.get("href")
        if tag != "a" or not href:
            return
        try:
            path = urlsplit(href).path
        except ValueError:
            return
        self.found.append((unquote(path.rpartition("/")[2]), said.get("data-requires-python") or "", "data-yanked" in said))
