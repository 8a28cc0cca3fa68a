"""gpudoctor lint: mistakes in check and recipe files, and the effect of a changed catalogue on recorded machines."""

from __future__ import annotations

import click

from gpudoctor.cli import FINDINGS, OK, BadInput


@click.group("lint")
def command() -> None:
    """Find mistakes in checks and recipes (for authors)."""


@command.command("checks")
@click.argument("check_id", metavar="[ID]", required=False)
@click.option("--checks", multiple=True, metavar="DIR", help="Additional folder of checks; may be repeated.")
@click.option("--stale", is_flag=True, help="List the checks whose review date has passed.")
@click.option("--twins", is_flag=True, help="List the messages that several checks share.")
def checks(check_id: str | None, checks: tuple[str, ...], stale: bool, twins: bool) -> int:
    """Check the names, sources, conditions and examples of every check or one; exits 1 on a mistake."""
    from datetime import date

    from gpudoctor.services import authoring, checking

    try:
        if stale:
            problems = authoring.stale_checks(authoring.ReviewRequest(checks=checks, today=date.today().isoformat()))
        elif twins:
            problems = authoring.shared_messages(authoring.LintRequest(checks=checks))
        else:
            problems = authoring.lint_folders(authoring.LintRequest(checks=checks, only=check_id))
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    for line in problems:
        click.echo(line)
    return FINDINGS if problems else OK


@command.command("mutants")
@click.argument("check_id", metavar="[ID]", required=False)
@click.option("--checks", multiple=True, metavar="DIR", help="Additional folder of checks; may be repeated.")
def mutants(check_id: str | None, checks: tuple[str, ...]) -> int:
    """List the parts of checks that no example covers; exits 1 if there are any."""
    from gpudoctor.services import authoring, checking

    try:
        found = authoring.surviving_mutants(authoring.LintRequest(checks=checks, only=check_id))
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    total = survived = 0
    for name, count, left in found:
        total, survived = total + count, survived + len(left)
        for part in left:
            click.echo(f"{name}: no example needs {part}")
    click.echo(f"{survived} of {total} mutants survive ({100 * survived / max(total, 1):.1f} %)")
    return FINDINGS if survived else OK


@command.command("recipes")
def recipes() -> int:
    """Check the names, URLs, sources, settings and example plans of every recipe; exits 1 on a mistake."""
    from gpudoctor.services import authoring, checking

    try:
        problems = authoring.lint_recipes()
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    for line in problems:
        click.echo(line)
    return FINDINGS if problems else OK


@command.command("machines")
@click.option("--machines", required=True, metavar="DIR", help="Folder of recorded machines (folders with machine.toml, .tar.gz or .zip).")
@click.option("--base", required=True, metavar="DIR", help="Folder with the earlier checks: <topic>/<id>.toml.")
@click.option("--checks", multiple=True, metavar="DIR", help="Additional folder of checks beside the current ones.")
def machines(machines: str, base: str, checks: tuple[str, ...]) -> int:
    """List the findings that changed on recorded machines; exits 1 if any did."""
    from gpudoctor.reporters.shared.escape import visible
    from gpudoctor.services import authoring, checking

    changed = total = 0
    try:
        request = authoring.MachinesRequest(machines=machines, base=base, checks=checks)
        for one in authoring.compare_machines(request):
            total += 1
            lines = [f"  + {key}" for key in one.appear] + [f"  - {key}" for key in one.vanish]
            if one.first_before != one.first_now:
                lines.append(f"  first broken: {one.first_before or 'nothing'}, now {one.first_now or 'nothing'}")
            if lines:
                changed += 1
                click.echo(visible("\n".join([one.machine, *lines]), multiline=True))
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    click.echo(f"{changed} of {total} recorded machines change", err=True)
    return FINDINGS if changed else OK
