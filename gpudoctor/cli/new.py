"""gpudoctor new check: creates the file of a check from a template."""

from __future__ import annotations

import click

from gpudoctor.cli import OK, BadInput


@click.group("new")
def command() -> None:
    """Create the file of a new check (for authors)."""


@command.command("check")
@click.argument("check_id", metavar="ID")
@click.option("--topic", required=True, help="Folder under checks/ for the new file.")
@click.option("--stack", default="torch-cuda", show_default=True, help="Stack that the problem breaks.")
@click.option("--checks", metavar="DIR", help="Catalogue to write to; default: that of this checkout.")
def check(check_id: str, topic: str, stack: str, checks: str | None) -> int:
    """Create checks/TOPIC/ID.toml from a template. To test it: gpudoctor list checks --test ID"""
    from datetime import date

    from gpudoctor.services import authoring, checking

    request = authoring.NewCheckRequest(check=check_id, topic=topic, stack=stack, today=date.today().isoformat(), folder=checks)
    try:
        path = authoring.new_check(request)
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    except OSError as error:
        raise BadInput(f"{error.filename} cannot be written ({error.strerror}); give --checks another folder") from error
    click.echo(
        f"{path}\nNext: fill in what says TODO, then gpudoctor list checks --test {check_id}{f' --checks {checks}' if checks else ''}"
    )
    return OK
