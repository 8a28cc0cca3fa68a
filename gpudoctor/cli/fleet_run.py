"""`gpudoctor fleet run`: asks many hosts, and keeps what they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gpudoctor.cli import OK, UNKNOWN, BadInput
from gpudoctor.cli.fleet_files import STORE

if TYPE_CHECKING:
    from gpudoctor.services.fleet_collecting import Progress

SHOWN_WAITING = 3
SHOWN_REASONS = 12


@click.command("run")
@click.option("--hosts", metavar="NODESET", default="", help="Hosts as gpu[01-64], a,b,c or a group of ClusterShell (@gpu).")
@click.option("--engine", type=click.Choice(("clustershell", "srun", "dask", "ray", "local")), default=None, help="How hosts are reached.")
@click.option("--scheduler", metavar="ADDRESS", default="", help="With dask or ray: the address of the cluster (tcp://HOST:8786).")
@click.option("--validate", type=click.Choice(("quick",)), default=None, help="Measure too, as gpudoctor validate --quick does.")
@click.option("--timeout", metavar="SECONDS", type=click.FloatRange(min=1, max=86400), help="Time of one host; 90, or 300 with --validate.")
@click.option("--expect-hosts", "expect", metavar="NODESET", default="", help="Hosts that must be there; absent ones count as failed.")
@click.option("--deploy", metavar="PYZ", default="", help="Copy gpudoctor.pyz to each host, run it there and remove it.")
@click.option("--labels", metavar="K=V", multiple=True, help="What the hosts are, as role=train; instead of their own labels. Repeatable.")
@click.option("--command", "words", metavar="WORDS", default="", help="How gpudoctor is called on the hosts.")
@STORE
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def command(store: str | None, quiet: bool, **given: Any) -> int:
    """Examine many hosts, and keep a row of each.

    Nothing is installed on them. Without --engine they are reached by ClusterShell, or by srun inside an allocation of Slurm.
    A host that does not answer is kept with the reason, and stops no other. Exit status 4: some hosts did not answer.
    """
    from gpudoctor.cli.progress import StatusLine
    from gpudoctor.services import fleet_collecting
    from gpudoctor.system.fleet_store import FleetStore, store_folder

    wanted = fleet_collecting.Wanted(
        hosts=given["hosts"], engine=given["engine"] or "", validate=given["validate"] or "", timeout=given["timeout"],
        expect=given["expect"], deploy=given["deploy"], labels=given["labels"], command=given["words"], scheduler=given["scheduler"],
    )  # fmt: skip
    place = store_folder(store)
    line = StatusLine(quiet=quiet)
    seen: list[Progress] = []

    def watch(progress: Progress) -> None:
        seen[:] = [progress]
        line.says(_status(progress))

    try:
        done = fleet_collecting.collect(wanted, FleetStore(place), watch)
    except fleet_collecting.CollectError as error:
        raise BadInput(str(error)) from error
    except OSError as error:
        raise BadInput(f"{error.filename or place}: {error.strerror or error}") from error
    except KeyboardInterrupt:
        line.wipe()
        if seen:
            kept = len(seen[0].answered) + len(seen[0].failed)
            click.echo(f"gpudoctor: the rows of {kept} hosts were kept; {len(seen[0].waiting)} had not answered", err=True)
        raise
    finally:
        line.wipe()
    click.echo(_screen(done, store))
    return UNKNOWN if done.failed else OK


def _status(progress: Progress) -> str:
    waiting = list(progress.waiting)
    text = f"{len(progress.answered)} answered, {len(progress.failed)} failed, {len(waiting)} waiting"
    more = f" and {len(waiting) - SHOWN_WAITING} more" if len(waiting) > SHOWN_WAITING else ""
    return f"{text}: {', '.join(waiting[:SHOWN_WAITING])}{more}" if waiting else text


def _screen(done: Progress, store: str | None) -> str:
    """How many answered, and the others by their reasons, the most frequent first."""
    import shlex

    from gpudoctor.model.node_sets import fold
    from gpudoctor.reporters.shared.escape import visible

    number = len(done.answered) + len(done.failed)
    lines = [f"{len(done.answered)} of {number} host{'s' * (number != 1)} answered."]
    by_reason: dict[str, list[str]] = {}
    for host, why in done.failed.items():
        by_reason.setdefault(why, []).append(host)
    groups = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    if groups:
        lines += ["", "No result:"]
    for why, hosts in groups[:SHOWN_REASONS]:
        folded = fold(hosts)
        many = f" ({len(hosts)})" if len(hosts) > 1 else ""
        lines.append(f"  {visible(folded if len(folded) <= 200 else folded[:199] + '…')}{many}: {visible(why)}")
    if len(groups) > SHOWN_REASONS:
        rest = sum(len(hosts) for _, hosts in groups[SHOWN_REASONS:])
        lines.append(f"  {rest} more, for {len(groups) - SHOWN_REASONS} other reasons")
    where = f" --store {shlex.quote(store)}" if store else ""
    return "\n".join((*lines, "", f"Next: gpudoctor fleet show{where}"))
