"""`gpudoctor fleet show`: what is broken, odd or slow in a fleet; as a screen, a document, or work for a scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from gpudoctor.cli import FINDINGS, OK, UNKNOWN, BadInput
from gpudoctor.cli.fleet_files import STORE

if TYPE_CHECKING:
    from gpudoctor.model.fleet_view import FleetView

FORMATS = ("text", "json", "html", "prometheus", "slurm", "kubernetes", "nvsentinel", "otel")


@click.command("show")
@click.option("--diff", "since", metavar="SINCE", help="Also what changed since a run, a date, 3d, 12h or tuesday.")
@click.option("--host", metavar="HOST", help="One host: what speaks against it, and what differs from its cohort.")
@click.option("--run", metavar="RUN", help="Show this run instead of the newest.")
@click.option("--expect-hosts", metavar="NODES", help="The hosts that should have answered: gpu[01-64].")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="Output format; json is gpudoctor.fleet/1.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option("--exclude", is_flag=True, help="Print only the hosts that cannot be used, for srun --exclude.")
@click.option("--enough", type=click.IntRange(min=1), metavar="N", help="Exit 0 if at least N hosts can be used, else 1; 4 if not known.")
@click.option("--fail-on", type=click.Choice(["error", "warning", "never"]), default="error", help="Lowest severity that exits 1 (error).")
@click.option("--no-color", is_flag=True, help="Disable colour, as NO_COLOR does.")
@click.option("-v", "--verbose", is_flag=True, help="Show every line of each part.")
@STORE
def command(**given: Any) -> int:
    """Show which hosts cannot be used, which are not like the others, which cards are slow, and what the fleet has in common.

    Exit status: 0 nothing found, 1 findings or hosts that cannot be used, 4 hosts without a result and nothing worse.
    """
    from gpudoctor.cli.output import deliver, terminal
    from gpudoctor.services import fleet_showing
    from gpudoctor.system.fleet_store import store_folder

    if given["exclude"] and given["form"] != "text":
        raise BadInput("--exclude and --format exclude each other: --exclude prints one node set")
    request = fleet_showing.ShowRequest(
        store=store_folder(given["store"]), run=given["run"], since=given["since"], expected=given["expect_hosts"] or ""
    )
    try:
        view = fleet_showing.show(request)
    except fleet_showing.ShowError as error:
        raise BadInput(str(error)) from error
    place = terminal(given["no_color"], to_file=given["output"] not in (None, "-"))
    if given["exclude"]:
        from gpudoctor.reporters.fleet import host_lists

        text = host_lists.exclude(view)
    elif given["form"] != "text":
        text = _renderer(given["form"])(view)
    else:
        from gpudoctor.reporters.fleet import fleet_text

        try:
            text = (
                fleet_text.host(view, given["host"], place) if given["host"] else fleet_text.render(view, place, verbose=given["verbose"])
            )
        except KeyError:
            raise BadInput(f"--host {given['host']}: the run {view.run} and those before hold no such host") from None
    deliver(text, given["output"])
    return _enough(view, given["enough"]) if given["enough"] else _status(view, given)


def _renderer(form: str) -> Callable[[FleetView], str]:
    """The function that writes a format; its module is imported here."""
    if form == "slurm":
        from gpudoctor.reporters.fleet.host_lists import slurm

        return slurm
    from importlib import import_module

    found: Callable[[FleetView], str] = import_module(f"gpudoctor.reporters.fleet.fleet_{form}").render
    return found


def _enough(view: FleetView, wanted: int) -> int:
    usable = sum(each.usable is True for each in view.hosts)
    if usable >= wanted:
        return OK
    unknown = sum(each.usable is None for each in view.hosts)
    click.echo(f"gpudoctor: {usable} hosts can be used, {wanted} are wanted; {unknown} are not known", err=True)
    return UNKNOWN if usable + unknown >= wanted else FINDINGS


def _status(view: FleetView, given: Mapping[str, Any]) -> int:
    only = given["host"]
    hosts = [each for each in view.hosts if not only or each.host == only]
    severities = {each.severity for each in view.findings if not each.doubted and (not only or only in each.hosts)}
    bad = {"error": {"error"}, "warning": {"error", "warning"}, "never": set()}[given["fail_on"]] & severities
    if given["fail_on"] != "never" and (bad or any(each.usable is False for each in hosts)):
        return FINDINGS
    return UNKNOWN if any(each.usable is None for each in hosts) else OK
