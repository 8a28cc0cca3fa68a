"""TOML: pyproject.toml, Pipfile, and the lock files uv.lock, poetry.lock, pdm.lock, pylock.toml."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from gpudoctor.audit.entries import MOST, named, of_address, pep440, requirement, without_secret
from gpudoctor.model.audit import AskedPackage, FormatError, Manifest

_OF_UV = ("dev-dependencies", "constraint-dependencies", "override-dependencies")
_HEADER = re.compile(r"\s*\[\[?\s*([^\]#]{1,200}?)\s*\]\]?\s*(?:#.*)?$")
_STRING = re.compile(r""""([^"\n]{1,2000})"|'([^'\n]{1,2000})'""")
_KEY = re.compile(r"""\s*["']?([A-Za-z0-9._-]{1,100})["']?\s*=""")
_PACKAGE = re.compile(r"\s*\[\[packages?\]\]")
_LOCKED_NAME = re.compile(r"""\s*name\s*=\s*["']""")


class Lines:
    """Line numbers of texts in a TOML file, which TOML parsers do not give."""

    def __init__(self, text: str) -> None:
        self._rows = text.splitlines()
        self._strings: dict[str, list[tuple[int, str]]] = {}
        self._single: set[str] = set()
        self._keys: dict[tuple[str, str], int] = {}
        self._headers: dict[str, int] = {}
        section = ""
        for number, row in enumerate(self._rows, 1):
            header = _HEADER.match(row)
            if header and not row.startswith((" ", "\t")):
                section = header[1].replace('"', "").replace("'", "")
                self._headers.setdefault(section, number)
                continue
            for one, other in _STRING.findall(row):
                self._strings.setdefault(one or other, []).append((number, section))
                if other:
                    self._single.add(other)
            key = _KEY.match(row)
            if key:
                self._keys.setdefault((section, key[1]), number)
        for places in self._strings.values():
            places.reverse()

    def of_text(self, text: str, section: str) -> int | None:
        """The next line of the section that holds this string in quotes; else the line of the section's head."""
        places = self._strings.get(text, [])
        while places:
            number, place = places.pop()
            if place.startswith(section):
                return number
        return self._headers.get(section)

    def quote(self, text: str) -> str:
        return "'" if text in self._single else '"'

    def of_key(self, key: str, section: str) -> int | None:
        return self._keys.get((section, key)) or self._headers.get(f"{section}.{key}")

    def of_packages(self) -> list[int]:
        """The line of the name in each [[package]], in order."""
        found, open_at = [], 0
        for number, row in enumerate(self._rows, 1):
            if _PACKAGE.match(row):
                if open_at:
                    found.append(open_at)
                open_at = number
            elif open_at and _LOCKED_NAME.match(row):
                found.append(number)
                open_at = 0
        return found + ([open_at] if open_at else [])


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def pyproject(data: Mapping[str, Any], text: str, file: str) -> Manifest:
    """Requirements of pyproject.toml: of PEP 621 and PEP 735, Poetry, uv and PDM. Raises FormatError."""
    found, lines = Manifest(file=file, kind="pyproject"), Lines(text)
    project, tool = _table(data.get("project")), _table(data.get("tool"))
    found.python = _text(project.get("requires-python"))
    groups = {"project": {"": project.get("dependencies")}, "project.optional-dependencies": project.get("optional-dependencies")}
    groups["dependency-groups"] = data.get("dependency-groups")
    uv, pdm = _table(tool.get("uv")), _table(tool.get("pdm"))
    groups["tool.uv"] = {"": [text_of_one for key in _OF_UV for text_of_one in _list(uv.get(key))]}
    groups["tool.pdm.dev-dependencies"] = pdm.get("dev-dependencies")
    sources = _uv(uv, found)
    for source in _list(pdm.get("source")):
        _index(found, _table(source).get("url"))
    for section, group in groups.items():
        for listed in _table(group).values():
            if listed is not None and not isinstance(listed, list):
                raise FormatError(f'{file}: [{section}] holds no list of requirements; expected ["name>=1"]')
            for text_of_one in listed or ():
                if isinstance(text_of_one, str) and len(found.wanted) <= MOST:
                    package = requirement(text_of_one, file, lines.of_text(text_of_one, section), form=lines.quote(text_of_one))
                    found.wanted.append(_from(package, sources))
    _poetry(_table(tool.get("poetry")), found, lines)
    return found


def _from(package: AskedPackage, sources: Mapping[str, str]) -> AskedPackage:
    index = sources.get(package.name)
    if not index or package.index:
        return package
    return replace(package, index=index)


def _index(found: Manifest, url: Any) -> None:
    if isinstance(url, str) and url:
        found.indexes.append(without_secret(url))


def _uv(uv: Mapping[str, Any], found: Manifest) -> dict[str, str]:
    """The index of each package that [tool.uv.sources] assigns. Indexes marked `explicit` serve only those packages."""
    urls: dict[str, str] = {}
    for each in map(_table, _list(uv.get("index"))):
        urls[_text(each.get("name"))] = without_secret(_text(each.get("url")))
        found.tables.append(f"tool.uv.index:{_text(each.get('name'))}")
        if each.get("explicit") is not True:
            _index(found, each.get("url"))
    for url in (uv.get("index-url"), *_list(uv.get("extra-index-url")), *_list(uv.get("find-links"))):
        _index(found, url)
    pinned: dict[str, str] = {}
    found.tables += ["tool.uv.sources"] if isinstance(uv.get("sources"), Mapping) else []
    for name, source_tables in _table(uv.get("sources")).items():
        for source in map(_table, source_tables if isinstance(source_tables, list) else [source_tables]):
            address = urls.get(_text(source.get("index")), "") or _text(source.get("url")) or _text(source.get("git"))
            if address:
                pinned[canonicalize_name(name)] = f"{pinned.get(canonicalize_name(name), '')} {without_secret(address)}".strip()
    return pinned


def _poetry(poetry: Mapping[str, Any], found: Manifest, lines: Lines) -> None:
    urls = {_text(_table(s).get("name")): without_secret(_text(_table(s).get("url"))) for s in _list(poetry.get("source"))}
    found.tables += [f"tool.poetry.source:{name}" for name in urls]
    explicit = {_text(_table(s).get("name")) for s in _list(poetry.get("source")) if _table(s).get("priority") == "explicit"}
    found.indexes += [url for name, url in urls.items() if url and name not in explicit]
    tables = {"tool.poetry.dependencies": poetry.get("dependencies"), "tool.poetry.dev-dependencies": poetry.get("dev-dependencies")}
    for group, entry in _table(poetry.get("group")).items():
        tables[f"tool.poetry.group.{group}.dependencies"] = _table(entry).get("dependencies")
    for section, table in tables.items():
        for name, entry in _table(table).items():
            if name == "python":
                found.python = found.python or pep440(_text(entry))
                continue
            found.wanted += _keyed(name, entry, found, lines.of_key(name, section), urls)


def _keyed(name: str, entry: Any, found: Manifest, line: int | None, urls: Mapping[str, str]) -> Iterator[AskedPackage]:
    """The packages of one key: name = "^2" | {version = …, source = …, url = …, markers = …} | a list of those."""
    for variant in entry if isinstance(entry, list) else [entry]:
        if isinstance(variant, str):
            yield named(name, variant, found.file, line, form="table")
            continue
        table = _table(variant)
        address = _text(table.get("url")) or _text(table.get("path")) or _text(table.get("file")) or _text(table.get("git"))
        index = without_secret(address) or urls.get(_text(table.get("source")), "") or urls.get(_text(table.get("index")), "")
        version = of_address(address)[1] or _text(table.get("version"))
        yield named(name, version, found.file, line, index=index, marker=_text(table.get("markers")), form="table")


def pipfile(data: Mapping[str, Any], text: str, file: str) -> Manifest:
    found, lines = Manifest(file=file, kind="Pipfile"), Lines(text)
    urls = {_text(_table(s).get("name")): without_secret(_text(_table(s).get("url"))) for s in _list(data.get("source"))}
    found.indexes += [url for url in urls.values() if url]
    version = _text(_table(data.get("requires")).get("python_version"))
    found.python = f"=={version}.*" if re.fullmatch(r"\d+\.\d+", version) else ""
    for section, table in data.items():
        if section not in ("source", "requires", "scripts", "pipenv"):
            for name, entry in _table(table).items():
                found.wanted += _keyed(name, entry, found, lines.of_key(name, section), urls)
    return found


def locked(data: Mapping[str, Any], text: str, file: str, kind: str) -> Manifest:
    """The packages of uv.lock, poetry.lock and pdm.lock ([[package]]), or pylock.toml ([[packages]]). Raises FormatError."""
    found, package_lines = Manifest(file=file, kind=kind), Lines(text).of_packages()
    packages = data.get("packages" if kind == "pylock" else "package")
    if packages is None and kind != "pylock":
        packages = []
    if not isinstance(packages, list):
        raise FormatError(f"{file}: no [[package]] tables; expected a lock file of the kind {kind}")
    metadata = _table(data.get("metadata"))
    demanded = pep440(_text(metadata.get("python-versions"))) or _text(metadata.get("requires_python"))  # Poetry, PDM
    found.python = _text(data.get("requires-python")) or demanded
    for number, entry in enumerate(map(_table, packages)):
        source = _table(entry.get("source"))
        if {"virtual", "editable", "directory"} & set(source) or not entry.get("version"):
            continue  # the project itself
        index = next((_text(source.get(k)) for k in ("registry", "url", "git") if source.get(k)), "") or _text(entry.get("index"))
        marker = _text(entry.get("marker")) or _text(entry.get("markers"))
        line = package_lines[number] if len(package_lines) == len(packages) else None
        found.wanted.append(named(
            _text(entry.get("name")), f"=={_text(entry.get('version'))}", file, line, index=without_secret(index), marker=marker,
            locked=True,
        ))  # fmt: skip
    return found
