"""Loads the catalogue: from the compiled bundle where it is current, else from the TOML files, plus further folders."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpudoctor.knowledge import paths
from gpudoctor.knowledge.structure import DataError, check_from, choices_in, dates_as_text, stack_from
from gpudoctor.model.check import Catalogue, Check, Stack
from gpudoctor.rules.needed_facts import needed_by_check

FORMAT = 8
CACHED = 4
"""The number of compiled bundles of checkouts that are kept, newest first."""


def load_catalogue(
    items: Mapping[str, str], extra: Iterable[str] = (), wanted: Callable[[Mapping[str, Any]], bool] | None = None
) -> Catalogue:
    """The catalogue.

    `items` gives the name of an item for each fact of kind records. Of our own checks, only those are built whose head (`heads`) satisfies
    `wanted`; without it, all. Raises DataError for a file that cannot be used.
    """
    tables = _tables(items)
    entries = [entry for entry in tables["checks"] if wanted is None or wanted(entry["head"])]
    checks = [check_from(json.loads(entry["table"]), entry["file"], entry["topic"], items, trusted=True) for entry in entries]
    stacks = [stack_from(json.loads(entry["table"]), entry["file"], items, trusted=True) for entry in tables["stacks"]]
    for folder in extra:
        more_checks, more_stacks = read_folder(Path(folder), items)
        checks, stacks = checks + more_checks, stacks + more_stacks
    ids = [check.id for check in checks]
    for name in {name for name in ids if ids.count(name) > 1} if len(set(ids)) < len(ids) else ():
        raise DataError(f"check '{name}' exists twice; ids are unique, rename the one in the further folder")
    return Catalogue(checks=tuple(checks), stacks=tuple(stacks), version=tables["version"], redirects=tables["redirects"])


def heads(items: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """The heads of our own checks, without building any check.

    A head is the part of a table that decides whether the check can have a finding: `id`; `for_each`; the `facts` that must be known for a
    finding without a message; and, for a check with messages, `proactive` and `signature`, the literals of each `text` in lower case (all
    of the outer ones, each by any of its inner ones). Raises DataError for a file that cannot be used.
    """
    return [entry["head"] for entry in _tables(items)["checks"]]


def read_folder(folder: Path, items: Mapping[str, str]) -> tuple[list[Check], list[Stack]]:
    """The checks and stacks of one folder <vendor>/<component>/<id>.toml, with their examples."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; a catalogue is a folder of <vendor>/<component>/<id>.toml files")
    closed = paths.closed_to_us(folder)
    if closed is not None:
        raise DataError(f"{closed}: no permission to read this folder of checks; make it readable, or leave out --checks")
    return _built(read_tables(folder), items)


def _built(entries: Iterable[Mapping[str, Any]], items: Mapping[str, str]) -> tuple[list[Check], list[Stack]]:
    checks, stacks = [], []
    for entry in entries:
        if entry["stack"]:
            stacks.append(stack_from(entry["table"], entry["file"], items))
        else:
            checks.append(check_from(entry["table"], entry["file"], entry["topic"], items))
    return checks, stacks


def read_tables(folder: Path) -> list[dict[str, Any]]:
    """Every file of a catalogue folder as a raw table."""
    return [
        {
            "file": path.relative_to(folder).as_posix(),
            "topic": path.parent.relative_to(folder).as_posix(),
            "stack": path.name == "stack.toml",
            "table": read_toml(path),
        }
        for path in paths.files_of(folder)
    ]


def read_toml(path: Path) -> dict[str, Any]:
    """The table of a TOML file. Raises DataError for a file that cannot be read or parsed."""
    from gpudoctor.model.toml_text import loads  # late: the compiled catalogue needs no reader of TOML

    try:
        return loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path.parent.name}/{path.name}: no TOML: {error}") from error
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error


def compile_bundle(folder: Path) -> dict[str, Any]:
    """The content of the wheel: the tables without examples, which only tests need. Each is JSON text of its own, since few are used in
    a run."""
    return _bundle_of(read_tables(folder), read_redirects(folder))


def read_redirects(folder: Path) -> dict[str, str]:
    """The ids of removed checks with their successors (empty for none). Raises DataError."""
    path = folder / paths.REDIRECTS
    table = read_toml(path) if path.is_file() else {}
    for name, target in table.items():
        if not isinstance(target, str):
            raise DataError(f"{path.name}: {name}: expected the id of a check, or an empty text, found {target!r}")
    return table


def _bundle_of(entries: list[dict[str, Any]], redirects: Mapping[str, str]) -> dict[str, Any]:
    for entry in entries:
        entry["table"].pop("example", None)
        entry["table"] = {key: _plain(value) for key, value in entry["table"].items()}
    digest = hashlib.sha256(json.dumps(entries, sort_keys=True, default=str).encode()).hexdigest()[:12]
    for entry in entries:
        entry["head"] = _head(entry["table"])
        entry["table"] = json.dumps(entry["table"], separators=(",", ":"))
    return {
        "format": FORMAT,
        "version": f"{len(entries)} files, {digest}",
        "checks": [entry for entry in entries if not entry["stack"]],
        "stacks": [entry for entry in entries if entry["stack"]],
        "redirects": redirects,
    }


def _plain(value: Any) -> Any:
    """A table with its dates as text, which JSON can hold; other values are unchanged."""
    if isinstance(value, list):
        return [dates_as_text(entry) for entry in value]
    return dates_as_text(value) if isinstance(value, Mapping) else str(value) if isinstance(value, date) else value


def _head(table: Mapping[str, Any]) -> dict[str, Any]:
    head: dict[str, Any] = {"id": table.get("id"), "for_each": table.get("for_each"), "facts": needed_by_check(table)}
    if signatures := table.get("signature"):
        head |= {"proactive": bool(table.get("proactive")), "signature": [choices_in(signature["text"]) for signature in signatures]}
    return head


def _tables(items: Mapping[str, str]) -> dict[str, Any]:
    ready = our_bundle()
    if ready is not None:
        return ready
    folder = paths.checkout_checks()
    assert folder is not None  # else there is a bundle
    entries = read_tables(folder)
    _built(entries, items)  # raises before anything wrong is kept
    made = {**_bundle_of(entries, read_redirects(folder)), "key": _key_of(folder)}
    _write_cache(paths.cached_bundle(folder), made)
    return made


def our_bundle() -> dict[str, Any] | None:
    """The compiled catalogue of the wheel, or the one that a checkout has cached for unchanged files. None where it must still be
    compiled. Raises DataError for a damaged bundle of a wheel."""
    folder = paths.checkout_checks()
    return _of_wheel(paths.BUNDLE) if folder is None else _of_checkout(paths.cached_bundle(folder), _key_of(folder))


@lru_cache(maxsize=1)
def _of_wheel(bundle: Path) -> dict[str, Any]:
    return _read_bundle(bundle)


@lru_cache(maxsize=1)
def _kept(cache: Path, key: str) -> dict[str, Any]:
    """The cached bundle. Raises OSError or ValueError where there is none for these files."""
    bundle = json.loads(cache.read_text(encoding="utf-8"))
    if not isinstance(bundle, dict) or bundle.get("key") != key:
        raise ValueError("made of other files")
    return bundle


def _of_checkout(cache: Path, key: str) -> dict[str, Any] | None:
    try:
        return _kept(cache, key)
    except (OSError, ValueError):
        return None


def _read_bundle(path: Path) -> dict[str, Any]:
    try:
        bundle = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: the compiled catalogue cannot be read ({error}); reinstall gpudoctor") from error
    if not isinstance(bundle, dict) or bundle.get("format") != FORMAT:
        raise DataError(f"{path}: the compiled catalogue is of another version; reinstall gpudoctor")
    return bundle


def _key_of(folder: Path) -> str:
    """A key of the names, sizes and times of all files; no file is read."""
    listed = [str(FORMAT), str(folder)]
    folders = [str(folder)]
    while folders:
        for entry in sorted(os.scandir(folders.pop()), key=lambda entry: entry.name):
            if entry.is_dir():
                folders.append(entry.path)
            elif entry.name.endswith(".toml"):
                stat = entry.stat()
                listed.append(f"{entry.path} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(listed).encode()).hexdigest()


def _write_cache(path: Path, bundle: Mapping[str, Any]) -> None:
    """Writes the cache atomically. Errors are ignored: without a writable home only time is lost."""
    import tempfile  # late: it costs more than all that a fresh cache needs

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix="catalogue-", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(bundle, separators=(",", ":")))
        os.replace(temporary, path)
        for old in sorted(path.parent.glob("catalogue*"), key=lambda each: each.stat().st_mtime)[:-CACHED]:
            old.unlink()
    except OSError:
        pass
