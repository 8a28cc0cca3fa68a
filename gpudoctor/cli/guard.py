"""gpudoctor guard: keep a working environment when other packages are installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from gpudoctor.cli import FINDINGS, OK, UNKNOWN, BadInput
from gpudoctor.cli.given_python import check_python
from gpudoctor.cli.output import deliver, ensure_writable, terminal
from gpudoctor.cli.progress import StatusLine

NAMES = {"pip": "constraints.txt", "uv": "pyproject.toml", "pixi": "pixi.toml"}


@click.command("guard", options_metavar="[OPTIONS]")
@click.argument("words", nargs=-1, metavar="[-- COMMAND…]", type=click.UNPROCESSED)
@click.option("--python", metavar="PATH", help="The interpreter or environment to keep; default: as in check.")
@click.option("--capture", metavar="PATH", help="Use a recorded machine instead of this one (for constraints alone).")
@click.option(
    "--format", "form", type=click.Choice(["pip", "uv", "pixi", "text", "json"]), default=None,
    help="Constraints for pip, uv or pixi (pip); with COMMAND: text or json (text).",
)  # fmt: skip
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option("--no-color", is_flag=True, help="No colour, as with NO_COLOR set or in a pipe.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def command(words: Sequence[str], **given: Any) -> int:
    """Keep torch, its partners and what they load as they are: write constraints, or try a COMMAND against them.

    \b
    gpudoctor guard -o constraints.txt                  # then: pip install -c constraints.txt …
    gpudoctor guard --format uv                         # lines for pyproject.toml
    gpudoctor guard -- pip install xformers             # what would this break?

    COMMAND is pip install or uv pip install. The installer resolves it in a dry run, asks its package indexes and installs nothing;
    nothing is built. Exits 1 where it would replace a package that is kept, and 4 where the installer gives no answer.
    """
    from gpudoctor.audit.installer_commands import CommandRefused
    from gpudoctor.services import checking, guarding

    form = given["form"] or ("text" if words else "pip")
    if words and form in NAMES:
        raise BadInput(f"--format {form} is for constraints; with a command: text or json")
    if words and given["capture"]:
        raise BadInput("--capture: a command can be tried on this machine only; leave one of both out")
    check_python(given["python"], given["capture"])
    ensure_writable(given["output"])
    line = StatusLine(quiet=given["quiet"])
    try:
        guard = guarding.guard(guarding.GuardRequest(python=given["python"], capture=given["capture"], command=words), line.looking)
    except (*checking.BAD_INPUT, CommandRefused) as error:
        raise BadInput(str(error)) from error
    finally:
        line.wipe()
    if form == "json":
        from gpudoctor.reporters.audit import guard_json

        text = guard_json.render(guard)
    elif form == "text":
        from gpudoctor.reporters.audit import guard_text

        text = guard_text.render(guard, terminal(given["no_color"], to_file=given["output"] not in (None, "-")))
    else:
        where = given["output"] if given["output"] not in (None, "-") else NAMES[form]
        text = guarding.constraints_text(guard, form, where)
    deliver(text, given["output"])
    outcome = guard.trial.outcome if guard.trial is not None else "kept"
    return {"kept": OK, "breaks": FINDINGS}.get(outcome, UNKNOWN)
