"""gpudoctor without a command, on a terminal: one screen, without a prompt."""

from __future__ import annotations

import click

from gpudoctor.cli import BadInput


def show(capture: str | None = None) -> None:
    """Shows the screen. `capture`: a recorded machine instead of this one."""
    from gpudoctor.cli.output import terminal
    from gpudoctor.reporters.report import overview_text
    from gpudoctor.services import checking
    from gpudoctor.services.overview import OverviewRequest, look

    try:
        seen = look(OverviewRequest(capture=capture))
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    click.echo(overview_text.render(seen.report, seen.choice, terminal()), nl=False)
