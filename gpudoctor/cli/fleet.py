"""`gpudoctor fleet`: many hosts, folded into what differs between them."""

from __future__ import annotations

import click

from gpudoctor.cli import Commands

FLEET_COMMANDS = {
    "run": ("gpudoctor.cli.fleet_run:command", "examine hosts by srun, ClusterShell, Dask, Ray or on this machine"),
    "show": ("gpudoctor.cli.fleet_show:command", "show what is broken, odd or slow, and hand it on"),
    "add": ("gpudoctor.cli.fleet_files:add", "take rows, or results of other programs, from files"),
    "prune": ("gpudoctor.cli.fleet_files:prune", "delete old rows"),
    "export": ("gpudoctor.cli.fleet_files:export", "write the rows as Parquet"),
}


class FleetCommands(Commands):
    """The commands of `gpudoctor fleet`."""

    table = FLEET_COMMANDS
    seldom = ()


@click.group("fleet", cls=FleetCommands)
def command() -> None:
    """\b
    Examine many hosts, and show which are not like the others.
    Start with: gpudoctor fleet run --hosts NODES
    """
