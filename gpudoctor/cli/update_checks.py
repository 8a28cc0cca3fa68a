"""`gpudoctor update-checks`: newer checks between two releases, from a signed source that the person names."""

from __future__ import annotations

import click

from gpudoctor.cli import OK, BadInput


@click.command("update-checks")
@click.argument("source", metavar="[SOURCE]", required=False)
@click.option("--trust", metavar="FILE", help="Root metadata (root.json) of the publisher; needed the first time.")
@click.option("--remove", is_flag=True, help="Return to the checks that came with gpudoctor.")
def command(source: str | None, trust: str | None, remove: bool) -> int:
    """Take newer checks from SOURCE: a .zip, or the https address of a published catalogue. Without SOURCE: say which checks are in use.

    The catalogue is verified by The Update Framework: signed by the publisher that you trusted first, not expired, and not older than the
    one before. Checks are data: no program of the source is run. Nothing is fetched unless you give an address.
    """
    from gpudoctor.knowledge.structure import DataError
    from gpudoctor.reporters.shared.escape import visible
    from gpudoctor.services import updating
    from gpudoctor.system.update_repository import UpdateError

    if remove and (source or trust):
        raise BadInput("--remove takes no source; it returns to the checks that came with gpudoctor")
    try:
        if remove:
            click.echo("The checks that came with gpudoctor are in use again." if updating.remove() else "There was nothing to remove.")
            return OK
        if source is None:
            if trust:
                raise BadInput("--trust goes with a source: gpudoctor update-checks SOURCE --trust root.json")
            found = updating.in_use()
        else:
            found = updating.update(updating.UpdateRequest(source=source, root=trust))
    except (UpdateError, DataError) as error:
        raise BadInput(str(error)) from error
    origin = f"of {found.made}, from {found.source}" if found.updated else "that came with gpudoctor"
    click.echo(visible(f"{found.checks} checks {origin} are in use ({found.version})."))
    if found.note:
        click.echo(visible(found.note))
    if not found.updated and not found.note:
        click.echo("Next: gpudoctor update-checks SOURCE takes newer ones from a publisher that you trust.")
    return OK
