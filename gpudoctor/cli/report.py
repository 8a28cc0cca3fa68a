"""`gpudoctor report`: check and the last validate as one redacted file for a bug issue."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from gpudoctor.cli import OK, BadInput
from gpudoctor.cli.given_python import check_python

if TYPE_CHECKING:
    from gpudoctor.reporting import Made

SUFFIXES = {".md": "markdown", ".markdown": "markdown", ".txt": "markdown", ".html": "html", ".htm": "html", ".json": "json", ".zip": "zip"}


@click.command("report")
@click.option(
    "--format", "form", type=click.Choice(["markdown", "html", "json", "zip"]),
    help="What to write; default: what FILE ends in, else markdown.",
)
@click.option("-o", "--output", metavar="FILE", help="Write there, whole or not at all; a .zip holds the three reports and the recording.")
@click.option("--python", metavar="PATH", help="The interpreter or environment to look at; default: the active one, ./.venv, python3.")
@click.option("--capture", metavar="PATH", help="Report a recorded machine, or an earlier report, instead of this machine.")
@click.option("--stack", metavar="NAME", help="Put this stack first.")
@click.option("--checks", multiple=True, metavar="DIR", help="A further folder of checks; may be repeated.")
@click.option("--ignore", multiple=True, metavar="ID", help="Leave out this check; with reasons: [ignore] in ./gpudoctor.toml.")
@click.option("--budget", type=click.FloatRange(min=0.1, max=3600), default=60.0, metavar="SECONDS", help="Time for everything (60).")
@click.option("--raw", is_flag=True, help="Replace nothing: names, addresses, serial numbers and secrets stay in.")
@click.option("--show-redactions", is_flag=True, help="Say which pseudonym stands for what; nothing else is done.")
@click.option("--to", metavar="OWNER/REPO", help="Open a new issue there in the browser, its form filled in as far as it goes.")
@click.option("--attach", metavar="OWNER/REPO#N", help="Comment on that issue, after asking; or its address (GitLab, Gitea, Forgejo).")
@click.option("--dry-run", is_flag=True, help="With --to or --attach: show what would be sent, and send nothing.")
@click.option("--yes", is_flag=True, help="With --attach: do not ask.")
@click.option("--offline/--online", default=True, help="report opens no socket either way, but for --to and --attach.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary on standard error.")
def command(**given: Any) -> int:
    """One file to attach to a bug issue: what check finds and validate measured.

    User and host names, addresses, serial numbers, secrets and folders of projects are replaced by pseudonyms that stay the same from
    report to report; which stands for what stays on this machine.
    """
    from gpudoctor import app, reporting
    from gpudoctor.cli import report_to
    from gpudoctor.cli.output import StatusLine
    from gpudoctor.cli.project import ignored

    check_python(given["python"], given["capture"])
    if given["capture"] is not None and not (given["to"] or given["attach"]):
        from gpudoctor.host.memory_limit import limited_memory

        click.get_current_context().with_resource(limited_memory())
    if given["show_redactions"] and given["capture"] is None:
        return _show(reporting.kept_pseudonyms())
    to = report_to.target(given)
    form = "markdown" if to else _form(given["form"], given["output"])
    if form == "zip" and given["output"] in (None, "-"):
        raise BadInput("a .zip needs a file to be written to: -o report.zip")
    reasons = ignored(given["ignore"], project_file=given["capture"] is None)
    check = app.CheckRequest(
        capture=given["capture"], python=given["python"], budget=given["budget"], stack=given["stack"], checks=given["checks"],
        ignore=frozenset(reasons),
    )  # fmt: skip
    line = StatusLine(quiet=given["quiet"])
    try:
        made = reporting.make(reporting.ReportRequest(check=check, raw=given["raw"], ignored=reasons), line.looking)
    except app.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    finally:
        line.wipe()
    if given["show_redactions"]:
        return _show(made.replaced)
    if to:
        return report_to.send(made, to, given)
    _deliver(made, form, given["output"])
    if not given["quiet"]:
        _say(made, given)
    return OK


def _form(given: str | None, output: str | None) -> str:
    named = SUFFIXES.get(os.path.splitext(output or "")[1].lower())
    if given and named and "zip" in (given, named) and given != named:
        raise BadInput(f"--format {given} and -o {output} do not fit; leave one of them out")
    return given or named or "markdown"


def _deliver(made: Made, form: str, output: str | None) -> None:
    from gpudoctor import reporting
    from gpudoctor.cli.output import deliver, write_bytes

    if form == "zip":
        assert output is not None
        write_bytes(reporting.archive(made, os.path.basename(output)), output)
    else:
        deliver(reporting.render(made, form), output)


def _say(made: Made, given: Mapping[str, Any]) -> None:
    """On standard error where that is a terminal: what was replaced. Besides, in any case, what the file itself cannot say."""
    from gpudoctor.reporters.escape import visible
    from gpudoctor.reporters.markdown_report import redaction_line

    if sys.stderr.isatty():
        name = f"{given['output']}: " if given["output"] not in (None, "-") else ""
        said = "Nothing was replaced (--raw): read it before you send it." if given["raw"] else redaction_line(made.report)
        click.echo(visible(f"{name}{said or 'There was nothing to replace.'}"), err=True)
        if made.report.redactions and not given["raw"]:
            click.echo("gpudoctor report --show-redactions says what stands for what; read the file before you send it.", err=True)
    if made.note:
        click.echo(visible(made.note), err=True)


def _show(table: tuple[tuple[str, str, str], ...]) -> int:
    """The mapping is for the owner's eyes: it goes to a terminal or nowhere."""
    from gpudoctor.reporters.escape import visible

    if not sys.stdout.isatty():
        raise BadInput("--show-redactions shows names and addresses on a terminal only, so that they end in no log or file")
    if not table:
        click.echo("Nothing has been replaced in a report or capture of this machine yet.")
    width = max((len(pseudonym) for _, pseudonym, _ in table), default=0)
    for _, pseudonym, original in table:
        click.echo(f"{pseudonym:<{width}}  {visible(original)}")
    return OK
