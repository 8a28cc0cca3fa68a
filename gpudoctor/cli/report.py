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

DEFAULT = "gpudoctor-report.md"
SUFFIXES = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".html": "html", ".htm": "html", ".json": "json", ".zip": "zip"}


@click.command("report")
@click.option(
    "--format", "form", type=click.Choice(["text", "markdown", "html", "json", "zip"]),
    help="What to write; default: by the extension of FILE, else markdown; text is at most 8 KB.",
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
    """Write one file to attach to a bug report: what check finds and what validate measured last.

    On a terminal it is written to gpudoctor-report.md, in a pipe to standard output. User and host names, addresses, serial numbers,
    secrets and project folders are replaced by pseudonyms, the same in every report; what they stand for stays on this machine.
    """
    from gpudoctor import app, reporting
    from gpudoctor.cli import report_to
    from gpudoctor.cli.progress import StatusLine
    from gpudoctor.cli.project import ignored

    check_python(given["python"], given["capture"])
    if given["capture"] is not None and not (given["to"] or given["attach"]):
        from gpudoctor.host.memory_limit import limited_memory

        click.get_current_context().with_resource(limited_memory())
    if given["show_redactions"] and given["capture"] is None:
        return _show(reporting.kept_pseudonyms())
    to = report_to.target(given)
    form = "markdown" if to else _form(given["form"], given["output"])
    if given["output"] is None and given["form"] is None and not to and sys.stdout.isatty():
        given["output"] = _unused(DEFAULT)  # a screen is no place for the facts that are packed into it
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
    extension = os.path.splitext(os.path.basename(output or ""))[1].lower()
    named = SUFFIXES.get(extension)
    if output and not given and extension and named is None and not os.path.exists(output):
        raise BadInput(f"-o {output}: no report format has the extension {extension}; use {', '.join(SUFFIXES)}, or give --format")
    if given and named and given != named:
        raise BadInput(f"--format {given} and -o {output} do not fit; leave one of them out")
    return given or named or "markdown"


def _unused(name: str) -> str:
    """The name, or the first with a number that no file has."""
    stem, extension = os.path.splitext(name)
    number = 1
    while os.path.lexists(name):
        number += 1
        name = f"{stem}-{number}{extension}"
    return name


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
        if given["output"] not in (None, "-"):
            click.echo(visible(f"Wrote {given['output']}. Attach it, or paste it into the issue."), err=True)
        said = "Nothing was redacted (--raw); read it before you send it." if given["raw"] else redaction_line(made.report)
        click.echo(visible(said or "There was nothing to redact."), err=True)
        if made.report.redactions and not given["raw"]:
            click.echo("Read it before you send it. gpudoctor report --show-redactions lists what each pseudonym stands for.", err=True)
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
