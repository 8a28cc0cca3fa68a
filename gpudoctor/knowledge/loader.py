"""Loads the catalogue: from the compiled one where it is current, else from the TOML files, plus further folders."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterable, Mapping
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec.json import decode
from msgspec.structs import replace

from gpudoctor.knowledge import paths
from gpudoctor.knowledge.compiled_catalogue import Bytes, CompiledCatalogue, Entry, compiled
from gpudoctor.knowledge.structure import DataError, check_from, choices_in, dates_as_text, stack_from
from gpudoctor.model.check import UPDATE, Catalogue, Check, Stack
from gpudoctor.model.package_data import data_bytes
from gpudoctor.rules.needed_facts import needed_by_check

if TYPE_CHECKING:
    from pathlib import Path

CACHED = 4
"""The number of compiled catalogues of checkouts that are kept, newest first."""


def load_catalogue(items: Mapping[str, str], extra: Iterable[str] = (), wanted: Iterable[Entry] | None = None) -> Catalogue:
    """The catalogue.

    `items` gives the name of an item for each fact of kind records. Of our own checks only the `wanted` entries are built; without it, all.
    Raises DataError for a file that cannot be used.
    """
    ours = our_catalogue(items)
    if wanted is None and not extra:
        if ours.whole is None:
            ours.whole = _catalogue_of(ours, ours.entries(), items)
        return ours.whole
    found = _catalogue_of(ours, ours.entries() if wanted is None else wanted, items)
    checks, stacks = list(found.checks), list(found.stacks)
    for folder in extra:
        from pathlib import Path  # imported late: few people have checks of their own

        more_checks, more_stacks = read_folder(Path(folder), items)
        checks, stacks = checks + more_checks, stacks + more_stacks
    ids = [check.id for check in checks]
    for name in {name for name in ids if ids.count(name) > 1} if len(set(ids)) < len(ids) else ():
        raise DataError(f"check '{name}' exists twice; ids are unique, rename the one in the further folder")
    return replace(found, checks=tuple(checks), stacks=tuple(stacks))


def _catalogue_of(ours: CompiledCatalogue, entries: Iterable[Entry], items: Mapping[str, str]) -> Catalogue:
    """These checks of ours. Each is built once in a process, since the server for assistants needs it repeatedly."""
    checks = []
    for entry in entries:
        name = entry["head"]["id"]
        if name not in ours.built:
            ours.built[name] = check_from(decode(entry["table"]), entry["file"], entry["topic"], items, trusted=True)
        checks.append(ours.built[name])
    stacks = (stack_from(decode(entry["table"]), entry["file"], items, trusted=True) for entry in ours.stacks)
    return Catalogue(checks=tuple(checks), stacks=tuple(stacks), version=ours.version, redirects=ours.redirects)


def read_folder(folder: Path, items: Mapping[str, str]) -> tuple[list[Check], list[Stack]]:
    """The checks and stacks of one folder <vendor>/<component>/<id>.toml, with their examples."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; a catalogue is a folder of <vendor>/<component>/<id>.toml files")
    closed = paths.closed_to_us(folder)
    if closed is not None:
        raise DataError(f"{closed}: no permission to read this folder of checks; make it readable, or leave out --checks")
    return _built(read_tables(folder), items)


def built_from(catalogue: CompiledCatalogue, items: Mapping[str, str]) -> int:
    """Builds and validates every check and stack of a foreign catalogue, and returns the number of checks. Raises DataError."""
    built = [check_from(decode(entry["table"]), entry["file"], entry["topic"], items) for entry in catalogue.entries()]
    for entry in catalogue.stacks:
        stack_from(decode(entry["table"]), entry["file"], items)
    return len(built)


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


def compile_folder(folder: Path) -> bytes:
    """The catalogue that the wheel carries, compiled from the files of a folder. Raises DataError, also for a folder without checks."""
    entries = read_tables(folder)
    if not any(not entry["stack"] for entry in entries):
        raise DataError(f"{folder} holds no checks: a wheel without knowledge must not be built")
    return _compiled(entries, read_redirects(folder))


def read_redirects(folder: Path) -> dict[str, str]:
    """The ids of removed checks with their successors (empty for none). Raises DataError."""
    path = folder / paths.REDIRECTS
    table = read_toml(path) if path.is_file() else {}
    for name, target in table.items():
        if not isinstance(target, str):
            raise DataError(f"{path.name}: {name}: expected the id of a check, or an empty text, found {target!r}")
    return table


def _compiled(entries: list[dict[str, Any]], redirects: Mapping[str, str], key: str = "") -> bytes:
    """The compiled catalogue: tables without examples, which only tests need, each as JSON text of its own, since few are used in a run."""
    for entry in entries:
        entry["table"].pop("example", None)
        entry["table"] = {name: _plain(value) for name, value in entry["table"].items()}
    import hashlib  # late: a wheel needs none

    digest = hashlib.sha256(json.dumps(entries, sort_keys=True, default=str).encode()).hexdigest()[:12]
    checks: list[Entry] = []
    stacks: list[Entry] = []
    for entry in entries:
        of_a_stack = entry.pop("stack")
        table = json.dumps(entry["table"], separators=(",", ":"))
        (stacks if of_a_stack else checks).append({**entry, "table": table, **({} if of_a_stack else {"head": head_of(entry["table"])})})
    return compiled(checks, stacks, redirects, f"{len(entries)} files, {digest}", key)


def _plain(value: Any) -> Any:
    """A table with its dates as text, which JSON can hold; other values are unchanged."""
    if isinstance(value, list):
        return [dates_as_text(entry) for entry in value]
    return dates_as_text(value) if isinstance(value, Mapping) else str(value) if isinstance(value, date) else value


def head_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a check that decides when it can have a finding.

    `id`, `for_each`, the `facts` that must be known where it speaks without a message; and of one that speaks by its message `proactive`
    and `signature`, of each the literals of its `text` in lower case (all of the outer ones, each by any of its inner ones).
    """
    head: dict[str, Any] = {"id": table.get("id"), "for_each": table.get("for_each"), "facts": needed_by_check(table)}
    if signatures := table.get("signature"):
        head |= {"proactive": bool(table.get("proactive")), "signature": [choices_in(signature["text"]) for signature in signatures]}
    return head


def our_catalogue(items: Mapping[str, str]) -> CompiledCatalogue:
    """Our own checks and stacks, compiled: those of the wheel, or of a checkout, where they are compiled again after a change of a file.
    Raises DataError for a file that cannot be used."""
    ready = compiled_before()
    if ready is not None:
        return ready
    folder = paths.checkout_checks()
    assert folder is not None  # else there is a compiled one
    entries = read_tables(folder)
    _built(entries, items)  # raises before a wrong catalogue is cached
    content = _compiled(entries, read_redirects(folder), _key_of(folder))
    _write_cache(paths.cached_catalogue(folder), content)
    return CompiledCatalogue(content)


def compiled_before() -> CompiledCatalogue | None:
    """The compiled catalogue of the wheel, or the one that a checkout has cached for unchanged files. None where it must still be
    compiled. Raises DataError for a damaged one of a wheel."""
    folder = paths.checkout_checks()
    if folder is not None:
        return _of_checkout(paths.cached_catalogue(folder), _key_of(folder))
    from gpudoctor.knowledge import updated_checks  # late: a checkout has its own

    return _of_wheel(*(updated_checks.current() or (paths.COMPILED, "")))


@lru_cache(maxsize=1)
def _of_wheel(path: str, made: str = "") -> CompiledCatalogue:
    """The catalogue of the program; with `made` (a date), the one that `update-checks` brought, whose version says so."""
    try:
        found = CompiledCatalogue(_mapped(path) if os.path.isfile(path) else data_bytes(os.path.basename(path)))
        found.version += f"{UPDATE}{made}" if made else ""
        return found
    except (OSError, ValueError, KeyError) as error:
        cure = "return to the checks of the release: gpudoctor update-checks --remove" if made else "reinstall gpudoctor"
        raise DataError(f"{path}: the compiled catalogue cannot be read ({error}); {cure}") from error


def _of_checkout(path: Path, key: str) -> CompiledCatalogue | None:
    try:
        return _kept(path, key)
    except (OSError, ValueError, KeyError):
        return None


@lru_cache(maxsize=1)
def _kept(path: Path, key: str) -> CompiledCatalogue:
    """The cached catalogue. Raises OSError, ValueError or KeyError where there is none for these files."""
    found = CompiledCatalogue(_mapped(path))
    if found.key != key:
        raise ValueError("made of other files")
    return found


def _mapped(path: str | Path) -> Bytes:
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@lru_cache(maxsize=1)
def _key_of(folder: Path) -> str:
    """A key of the names, sizes and times of all files; no file is read. Within one process it is computed once."""
    listed = [str(folder)]
    folders = [str(folder)]
    while folders:
        for entry in sorted(os.scandir(folders.pop()), key=lambda entry: entry.name):
            if entry.is_dir():
                folders.append(entry.path)
            elif entry.name.endswith(".toml"):
                stat = entry.stat()
                listed.append(f"{entry.path} {stat.st_size} {stat.st_mtime_ns}")
    import hashlib  # late: a wheel needs none

    return hashlib.sha256("\n".join(listed).encode()).hexdigest()


def _write_cache(path: Path, content: bytes) -> None:
    """Writes the cache atomically. Errors are ignored: without a writable home only time is lost."""
    import tempfile  # late: it costs more than all that a fresh cache needs

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix="catalogue-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
        for old in sorted(path.parent.glob("catalogue*"), key=lambda each: each.stat().st_mtime)[:-CACHED]:
            old.unlink()
    except OSError:
        pass
