"""The services of `fleet add`, `fleet prune` and `fleet export`: rows from files into the store, and out of it."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from gpudoctor.fleet.others import documents
from gpudoctor.fleet.others.result import Result
from gpudoctor.model.fleet_row import FleetRow, RowCard, RowFinding, RowMeasurement, RowVerdict
from gpudoctor.services import row_making
from gpudoctor.system import json_text
from gpudoctor.system.fleet_store import FleetStore, RowRefused

MOST_FILES = 2_000_000
LARGEST_DOCUMENT = 8 * 2**20
"""Bytes of a document, or of one of its lines, that are read. A row is smaller; the result of another program may be a table of nodes."""
AT_ONCE = 20_000
"""Lines of a table that are kept in memory before they are written."""
OF_A_HOST = ("host", "run", "created")
"""The columns that each table begins with."""


class HostLine(Struct, frozen=True):
    """A line of the table `rows`; labels, groups and values are JSON, since their keys differ between hosts."""

    tool: str
    catalogue: str
    failed: str
    cards: int
    labels: str
    groups: str
    values: str


TABLES = {"rows": HostLine, "cards": RowCard, "findings": RowFinding, "measurements": RowMeasurement, "verdicts": RowVerdict}
"""The tables of an export, with the type of their lines."""
Progress = Callable[[str], None]
_ROW = b'"gpudoctor.row/'


class ExportError(ValueError):
    """Rows that cannot be exported: why, and what to do."""


class AddedFiles(Struct, frozen=True):
    """What became of files: `new` rows were added, `known` ones were there already; `refused` gives the reason by place."""

    new: int
    known: int
    refused: dict[str, str]


class Naming(Struct, frozen=True):
    """How rows are named that are made of results of other programs: `host` where the document names none, else the name of its file;
    `run`, else the day of the result."""

    host: str = ""
    run: str = ""


def add(store: FleetStore, paths: Sequence[str], progress: Progress | None = None, naming: Naming | None = None) -> AddedFiles:
    """Takes the rows of files, and of all files below folders. A file holds one row, or one on each line. Links are not followed.

    A result of another program becomes a row with its verdicts for each host that it names. What is neither is refused with a reason and
    stops nothing. Raises OSError where a given path cannot be read, or the store not written.
    """
    new = known = 0
    refused: dict[str, str] = {}
    for path in _files(paths):
        for place, content in _parts(path):
            for one, row in _rows(place, content, path, naming or Naming()):
                try:
                    if store.add(row, one).new:
                        new += 1
                    else:
                        known += 1
                except RowRefused as error:
                    refused[one] = str(error)
        if progress is not None:
            progress(f"{new + known} rows, {len(refused)} refused")
    return AddedFiles(new, known, refused)


def _rows(place: str, content: bytes, path: str, naming: Naming) -> Iterator[tuple[str, bytes]]:
    """The rows in a document, each with its place: itself, or those of a result of another program. What is neither is given as it is."""
    results = None if _ROW in content or len(content) > LARGEST_DOCUMENT else _results(content)
    if not results:
        yield place, content
        return
    day = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(os.stat(path).st_mtime))
    name = os.path.basename(path).removesuffix(".json").removesuffix(".jsonl")
    for each in results:
        host = each.host or naming.host or name
        yield f"{place} ({host})" if len(results) > 1 else place, row_making.encode(_row(each, host, day, naming.run))


def _results(content: bytes) -> tuple[Result, ...] | None:
    try:
        return documents.read(json_text.loads(content.decode("utf-8")))
    except (ValueError, RecursionError):
        return None


def _row(result: Result, host: str, written: str, run: str) -> FleetRow:
    """A row with the verdicts of another program. `written`: when its document was written, where it does not say it."""
    created = result.created or written
    tool = f"{result.program} {result.version}".strip()
    return FleetRow(host=host, run=run or row_making.named_run(created), created=created, tool=tool, verdicts=result.verdicts)


def _files(paths: Sequence[str]) -> Iterator[str]:
    number = 0
    for given in paths:
        if not os.path.isdir(given):
            os.stat(given)  # raises for a path that is not there
            yield given
            continue
        for folder, folders, names in os.walk(given, followlinks=False, onerror=_raise):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.endswith((".json", ".jsonl")) and not name.startswith(".") and not os.path.islink(path) and os.path.isfile(path):
                    number += 1
                    if number > MOST_FILES:
                        return
                    yield path


def _raise(error: OSError) -> None:
    raise error


def _parts(path: str) -> Iterator[tuple[str, bytes]]:
    """The texts of the rows in a file, each with its place: the file itself, or each of its lines where the first one is a whole object."""
    with open(path, "rb") as file:
        first = file.readline(LARGEST_DOCUMENT + 2)
        if not first.rstrip().endswith(b"}") or not first.lstrip().startswith(b"{"):
            yield path, (first + file.read(LARGEST_DOCUMENT + 2 - len(first))).strip()
            return
        number, line = 1, first
        while line:
            if line.strip():
                yield (path if number == 1 and first.strip() and not file.peek(1) else f"{path}:{number}"), line.strip()
            number, line = number + 1, file.readline(LARGEST_DOCUMENT + 2)


def export(store: FleetStore, folder: str) -> dict[str, int]:
    """Writes all rows as TABLES in Parquet, one file each, and returns their numbers of lines. Raises ExportError, OSError."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ExportError("writing Parquet needs pyarrow; in the environment of gpudoctor: pip install pyarrow") from error
    os.makedirs(folder, exist_ok=True)
    schemas = {name: pyarrow.schema([(column, _column(pyarrow, hint)) for column, hint in _columns(kind)]) for name, kind in TABLES.items()}
    counts = dict.fromkeys(TABLES, 0)
    with contextlib.ExitStack() as open_files:
        writers = {
            name: open_files.enter_context(parquet.ParquetWriter(os.path.join(folder, f"{name}.parquet.new"), schema))
            for name, schema in schemas.items()
        }
        waiting: dict[str, list[dict[str, object]]] = {name: [] for name in TABLES}

        def write(name: str) -> None:
            writers[name].write_table(pyarrow.Table.from_pylist(waiting[name], schema=schemas[name]))
            waiting[name].clear()

        for row in store.every():
            for name, record in _records(row):
                waiting[name].append(record)
                counts[name] += 1
                if len(waiting[name]) >= AT_ONCE:
                    write(name)
        for name in TABLES:
            write(name)
    for name in TABLES:
        os.replace(os.path.join(folder, f"{name}.parquet.new"), os.path.join(folder, f"{name}.parquet"))
    return counts


def _columns(kind: type) -> Iterator[tuple[str, Any]]:
    """The columns of a table with the types of their fields."""
    yield from ((name, str) for name in OF_A_HOST)
    yield from get_type_hints(kind).items()


def _column(pyarrow: Any, hint: Any) -> Any:
    """The type of a column: text, whole number, number, or a list of one of these."""
    inner = [each for each in get_args(hint) if each not in (type(None), ...)]
    if get_origin(hint) is tuple:
        return pyarrow.list_(_column(pyarrow, inner[0]))
    return {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}[inner[0] if inner else hint]


def _records(row: FleetRow) -> Iterator[tuple[str, dict[str, object]]]:
    """The lines of the tables that one row gives, each with the name of its table."""
    whole = msgspec.to_builtins(row)
    of = {name: whole[name] for name in OF_A_HOST}
    for name in ("cards", "findings", "measurements", "verdicts"):
        for item in whole[name]:
            yield name, {**of, **item}
    texts = {name: json.dumps(whole[name]) for name in ("labels", "groups", "values")}
    yield "rows", {**of, "tool": row.tool, "catalogue": row.catalogue, "failed": row.failed, "cards": len(row.cards), **texts}
