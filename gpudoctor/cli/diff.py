"""gpudoctor diff: what changed between two reports or captures, or since this environment was last healthy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from gpudoctor.cli import FINDINGS, OK, BadInput
from gpudoctor.cli.given_python import check_python

if TYPE_CHECKING:
    from gpudoctor.model.change import Diff
    from gpudoctor.model.report import Report


@click.command("diff")
@click.argument("sides", metavar="[BEFORE [AFTER]]", nargs=-1)
@click.option("--history", is_flag=True, help="List the saved runs of check on this machine, newest first.")
@click.option("--python", metavar="PATH", help="Interpreter or environment to examine now; default: as in check.")
@click.option(
    "--fail-on", type=click.Choice(["error", "warning", "never"]), default="error",
    help="Lowest severity of a new finding that exits 1 (error).",
)  # fmt: skip
@click.option("--format", "form", type=click.Choice(["text", "json", "html"]), default="text", help="Output format.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option("--checks", multiple=True, metavar="DIR", help="Additional folder of checks; may be repeated.")
@click.option("--ignore", multiple=True, metavar="ID", help="Skip this check.")
@click.option("--no-color", is_flag=True, help="Disable colour, as NO_COLOR does.")
@click.option("-v", "--verbose", is_flag=True, help="Show every change, including noise and consequences.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def command(sides: Sequence[str], **given: Any) -> int:
    """Compare two reports or machines: what changed, and which findings the changes explain.

    BEFORE and AFTER are reports (check --format json, report.zip), captures, or @N of --history. Without AFTER it is this machine now;
    without both, this machine now against the last run of the same environment that found no error.
    """
    from gpudoctor.cli.check import remember
    from gpudoctor.cli.progress import StatusLine
    from gpudoctor.cli.project import ignored
    from gpudoctor.services import checking, diffing

    if given["history"]:
        if given["form"] == "html":
            raise BadInput("--history: the formats are text and json")
        if sides:
            raise BadInput("--history takes no other argument; to compare with a listed run: gpudoctor diff @1")
        return _history(given)
    if len(sides) > 2:
        raise BadInput("too many arguments: expected gpudoctor diff BEFORE AFTER")
    if given["python"] and len(sides) == 2:
        raise BadInput("--python applies to this machine; leave it out when both BEFORE and AFTER are given")
    check_python(given["python"])
    reasons = ignored(given["ignore"], project_file=len(sides) < 2)
    before, after = (*sides, None, None)[:2]
    request = diffing.DiffRequest(before=before, after=after, python=given["python"], checks=given["checks"], ignore=frozenset(reasons))
    line = StatusLine(quiet=given["quiet"])
    looked: list[Report] = []
    try:
        return _say(diffing.diff(request, line.looking, looked.append).diff, given)
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    finally:
        line.wipe()
        for report in looked:
            remember(report, reasons)


def _say(found: Diff, given: Mapping[str, Any]) -> int:
    from gpudoctor.cli.output import deliver, terminal
    from gpudoctor.diagnosis.changes import worse

    if given["form"] == "json":
        from gpudoctor.reporters.diff import diff_json
        from gpudoctor.reporters.report.json_report import dumps

        text = dumps(diff_json.document(found))
    elif given["form"] == "html":
        import time

        from gpudoctor import __version__
        from gpudoctor.reporters.report.html_report import comparison_page

        text = comparison_page(__version__, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), diff=found)
    else:
        from gpudoctor.reporters.diff import diff_text

        place = terminal(given["no_color"], to_file=given["output"] not in (None, "-"))
        text = diff_text.render(found, place, verbose=given["verbose"])
    deliver(text, given["output"])
    return FINDINGS if given["fail_on"] != "never" and worse(found, given["fail_on"]) else OK


def _history(given: Mapping[str, Any]) -> int:
    from gpudoctor.cli.output import deliver
    from gpudoctor.cli.project import keeps_history
    from gpudoctor.reporters.report.json_report import dumps
    from gpudoctor.reporters.shared.escape import visible
    from gpudoctor.services import diffing
    from gpudoctor.system.state_folder import switched_off

    rows = diffing.history()
    if given["form"] == "json":
        listed = [
            {
                "number": row.number, "created": row.kept.created, "healthy": row.kept.healthy, "errors": row.errors,
                "warnings": row.warnings, "python": row.python, "file": str(row.kept.path),
            }
            for row in rows
        ]  # fmt: skip
        deliver(dumps({"history": listed}), given["output"])
        return OK
    lines = [
        f"@{row.number:<3} {row.kept.created.replace('T', ' ').rstrip('Z')} UTC  "
        f"{'healthy' if row.kept.healthy else f'{row.errors} errors' if row.errors != 1 else '1 error':<9}  {visible(row.python) or '-'}"
        for row in rows
    ]
    off = "" if keeps_history() and not switched_off() else "; new runs are not kept (GPUDOCTOR_HISTORY=0, or keep = false in config.toml)"
    if not rows:
        lines = [f"No run is kept in {diffing.history_folder()}{off}; `gpudoctor check` keeps each whole look at this machine."]
    deliver("\n".join(lines) + "\n", given["output"])
    if rows:
        click.echo(f"in {diffing.history_folder()}{off}", err=True)
    return OK
