"""`gpudoctor fleet add`, `prune` and `export`: rows of hosts from files, old rows away, all rows as Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gpudoctor.cli import OK, USAGE, BadInput

if TYPE_CHECKING:
    from pathlib import Path

STORE = click.option("--store", metavar="DIR", help="Folder of the rows (GPUDOCTOR_FLEET, else in the state folder).")
SHOWN = 10
"""The refused files that are named on the screen."""


@click.command("add")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--host", metavar="HOST", help="The host of results of other programs that name none (the name of the file).")
@click.option("--run", metavar="RUN", help="The run that results of other programs belong to (their day).")
@STORE
def add(paths: tuple[str, ...], host: str | None, run: str | None, store: str | None) -> int:
    """Take rows of hosts from files and folders: what `gpudoctor check --format row` wrote, one row for each file or line.

    Results of other programs are taken beside them: dcgmi diag -j, sb result diagnosis, NVIDIA Health Validation and the node smoke test
    of AMD Primus. Other files are refused with the reason, and the rest is taken. Exit status 2: nothing could be taken.
    """
    from gpudoctor.cli.progress import StatusLine
    from gpudoctor.reporters.shared.escape import visible
    from gpudoctor.services import fleet_files
    from gpudoctor.system.fleet_store import HOST_NAME, RUN_NAME, FleetStore, store_folder

    for option, name, pattern in (("--host", host, HOST_NAME), ("--run", run, RUN_NAME)):
        if name is not None and not pattern.fullmatch(name):
            raise BadInput(f"{option} {visible(name)}: expected letters, digits, '.', '_' and '-', beginning with a letter or digit")
    line = StatusLine(quiet=False)
    place = store_folder(store)
    try:
        done = fleet_files.add(FleetStore(place), paths, line.looking, fleet_files.Naming(host or "", run or ""))
    except OSError as error:
        raise BadInput(f"{error.filename or place}: {error.strerror or error}") from error
    finally:
        line.wipe()
    for name, why in list(done.refused.items())[:SHOWN]:
        click.echo(f"gpudoctor: {visible(name)}: refused: {visible(why)}", err=True)
    if len(done.refused) > SHOWN:
        click.echo(f"gpudoctor: {len(done.refused) - SHOWN} more were refused; gpudoctor fleet show --format json names them", err=True)
    added = "1 row was" if done.new == 1 else f"{done.new} rows were"
    click.echo(f"{added} added to {visible(str(place))}; {done.known} were there already, {len(done.refused)} were refused.")
    return OK if done.new or done.known else USAGE


@click.command("prune")
@click.option("--days", type=click.FloatRange(min=0), required=True, help="Delete rows that arrived longer ago than this.")
@STORE
def prune(days: float, store: str | None) -> int:
    """Delete old rows. The newest row of each host is always kept."""
    from gpudoctor.system.fleet_store import FleetStore

    place = _existing(store)
    try:
        gone = FleetStore(place).prune(days)
    except OSError as error:
        raise BadInput(f"{error.filename or place}: {error.strerror or error}") from error
    click.echo("1 row was deleted." if gone == 1 else f"{gone} rows were deleted.")
    return OK


@click.command("export")
@click.option("-o", "--output", metavar="DIR", required=True, help="Folder for rows.parquet, cards.parquet, findings.parquet and others.")
@STORE
def export(output: str, store: str | None) -> int:
    """Write all rows as Parquet, for DuckDB, pandas and others. Needs pyarrow."""
    from gpudoctor.reporters.shared.escape import visible
    from gpudoctor.services import fleet_files
    from gpudoctor.system.fleet_store import FleetStore

    place = _existing(store)
    try:
        counts = fleet_files.export(FleetStore(place), output)
    except fleet_files.ExportError as error:
        raise BadInput(str(error)) from error
    except OSError as error:
        raise BadInput(f"{error.filename or output}: {error.strerror or error}") from error
    click.echo(f"Written to {visible(output)}: {', '.join(f'{number} {name}' for name, number in counts.items())}.")
    return OK


def _existing(store: str | None) -> Path:
    from gpudoctor.system.fleet_store import store_folder

    place = store_folder(store)
    if not (place / "rows").is_dir():
        raise BadInput(f"{place}: it holds no rows; begin with gpudoctor fleet run --hosts NODES, or gpudoctor fleet add FILES")
    return place
