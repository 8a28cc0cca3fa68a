"""gpudoctor without a command, on a terminal: one screen, no question."""

from __future__ import annotations

import click

from gpudoctor.cli import BadInput


def show(capture: str | None = None) -> None:
    """`capture`: a recorded machine instead of this one."""
    from gpudoctor import app
    from gpudoctor.cli.output import terminal
    from gpudoctor.first_look import look
    from gpudoctor.reporters import first_look_text

    try:
        seen = look(capture)
    except app.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    click.echo(first_look_text.render(seen.report, seen.choice, terminal()), nl=False)
