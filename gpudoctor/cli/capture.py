"""`gpudoctor capture -o FILE`: records this machine, so that `check --capture FILE` gives the same findings elsewhere."""

from __future__ import annotations

from typing import Any

import click

from gpudoctor.cli import BadInput
from gpudoctor.cli.door_options import door_options, wanted


@click.command("capture")
@click.option("-o", "--output", required=True, metavar="FILE", help="Write to NAME.tar.gz, NAME.zip, or a folder (a name that ends in /).")
@click.option("--raw", is_flag=True, help="Do not redact names, addresses, serial numbers and secrets.")
@click.option("--python", metavar="PATH", help="Interpreter or environment to record; default: the active one, ./.venv, python3.")
@door_options
@click.option(
    "--budget", type=click.FloatRange(min=0.1), default=60.0, show_default=True, metavar="SECONDS", help="Time limit for all probes."
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
def command(output: str, raw: bool, python: str | None, budget: float, quiet: bool, **door: Any) -> None:
    """Record this machine, so that check --capture FILE can examine it elsewhere.

    Without --raw, user and host names, addresses, serial numbers, tokens and passwords are replaced.
    """
    from gpudoctor.services import capturing, checking

    behind = wanted({**door, "python": python})
    try:
        done = capturing.capture(capturing.CaptureRequest(output=output, python=python, budget=budget, raw=raw, door=behind))
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    if not quiet:
        what = ", ".join(f"{count} {name}" for name, count in sorted(done.replaced.items())) or "nothing"
        click.echo(f"{output}: {done.commands} commands, {done.files} files" + ("" if raw else f"; replaced: {what}"), err=True)
        if done.not_kept:
            click.echo(f"the list of what each pseudonym stands for was not saved: {done.not_kept}", err=True)
