"""`gpudoctor report`: the findings and the last measurements as one redacted file for a bug issue."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from gpudoctor.cli import OK, BadInput
from gpudoctor.cli.given_python import check_python

if TYPE_CHECKING:
    from gpudoctor.services.reporting import Made

SUFFIXES = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".html": "html", ".htm": "html", ".json": "json", ".zip": "zip"}


FORMS = {
    "markdown": "Markdown", "text": "plain text", "html": "one HTML page", "json": "gpudoctor.report/1",
    "zip": "the report and the recorded machine",
}  # fmt: skip
NEXT = {
    "markdown": "Next: paste it into the issue.",
    "text": "Next: paste it into the issue.",
    "html": "Next: open FILE in a browser, or attach it to the issue.",
    "json": "Next: attach it to the issue; to read it: gpudoctor explain FILE",
    "zip": "Next: attach it to the issue; the machine in it replays with: gpudoctor check --capture FILE",
}


@click.command("report")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "html", "json", "zip"]),
    help="Format; by default that of FILE's extension, else text on a terminal (at most 8 KB) and markdown in a pipe.",
)
@click.option("-o", "--output", metavar="FILE", help="Write to FILE; a .zip holds the report in three formats and the recorded machine.")
@click.option("--python", metavar="PATH", help="Interpreter or environment to examine; default: the active one, ./.venv, python3.")
@click.option("--capture", metavar="PATH", help="Report a recorded machine or an earlier report instead of this machine.")
@click.option("--stack", metavar="NAME", help="Put this stack first.")
@click.option("--checks", multiple=True, metavar="DIR", help="Additional folder of checks; may be repeated.")
@click.option("--ignore", multiple=True, metavar="ID", help="Leave out this check; with reasons: [ignore] in ./gpudoctor.toml.")
@click.option("--budget", type=click.FloatRange(min=0.1, max=3600), default=60.0, metavar="SECONDS", help="Time limit (60).")
@click.option("--replayable", is_flag=True, help="Markdown also on the screen or in a pipe with the packed facts that -o FILE has.")
@click.option("--raw", is_flag=True, help="Redact nothing: names, addresses, serial numbers and secrets stay in the report.")
@click.option("--show-redactions", is_flag=True, help="List what each pseudonym stands for, and write no report.")
@click.option("--to", metavar="OWNER/REPO", help="Open the form of a new issue there in the browser, filled in from the report.")
@click.option("--attach", metavar="OWNER/REPO#N", help="Comment on that issue after a question; or its URL (GitLab, Gitea, Forgejo).")
@click.option("--dry-run", is_flag=True, help="With --to or --attach: show what would be sent without sending it.")
@click.option("--yes", is_flag=True, help="With --attach: do not ask before posting.")
@click.option("--offline/--online", default=True, help="The network is used only for --to and --attach.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress and no summary on standard error.")
def command(**given: Any) -> int:
    """Make one redacted report for a bug issue: what check finds and what validate measured last.

    A terminal shows it as text; -o FILE writes it to a file. User and host names, addresses, serial numbers, secrets and project
    folders are replaced by pseudonyms, the same ones in every report; the list of what they stand for stays on this machine.
    """
    from gpudoctor.cli import report_to
    from gpudoctor.cli.progress import StatusLine
    from gpudoctor.cli.project import ignored
    from gpudoctor.services import checking, reporting

    check_python(given["python"], given["capture"])
    if given["capture"] is not None and not (given["to"] or given["attach"]):
        from gpudoctor.system.memory_limit import limited_memory

        click.get_current_context().with_resource(limited_memory())
    if given["show_redactions"] and given["capture"] is None:
        return _show(reporting.kept_pseudonyms())
    to = report_to.target(given)
    if given["replayable"] and (to or (given["form"] or _form(None, given["output"])) != "markdown"):
        raise BadInput("--replayable is for --format markdown; report.zip and report.json always replay")
    form = "markdown" if to else _form(given["form"], given["output"])
    if form == "zip" and given["output"] in (None, "-"):
        raise BadInput("--format zip needs a file: -o report.zip")
    reasons = ignored(given["ignore"], project_file=given["capture"] is None)
    check = checking.CheckRequest(
        capture=given["capture"], python=given["python"], budget=given["budget"], stack=given["stack"], checks=given["checks"],
        ignore=frozenset(reasons),
    )  # fmt: skip
    line = StatusLine(quiet=given["quiet"])
    try:
        made = reporting.make(reporting.ReportRequest(check=check, raw=given["raw"], ignored=reasons), line.looking)
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    finally:
        line.wipe()
    if given["show_redactions"]:
        return _show(made.replaced)
    if to:
        return report_to.send(made, to, given)
    _deliver(made, form, given["output"], given["replayable"])
    if not given["quiet"]:
        _say(made, form, given)
    return OK


def _form(given: str | None, output: str | None) -> str:
    extension = os.path.splitext(os.path.basename(output or ""))[1].lower()
    named = SUFFIXES.get(extension)
    if output and not given and extension and named is None and not os.path.exists(output):
        raise BadInput(f"-o {output}: no report format has the extension {extension}; use {', '.join(SUFFIXES)}, or give --format")
    if given and named and given != named:
        raise BadInput(f"--format {given} contradicts the extension of -o {output}; leave one of them out")
    shown = output in (None, "-") and sys.stdout.isatty()
    return given or named or ("text" if shown else "markdown")


def _deliver(made: Made, form: str, output: str | None, replayable: bool) -> None:
    from gpudoctor.cli.output import deliver, terminal, write_bytes
    from gpudoctor.services import reporting

    if form == "zip":
        assert output is not None
        write_bytes(reporting.archive(made, os.path.basename(output)), output)
    else:
        on_screen = output in (None, "-") and sys.stdout.isatty()
        width = min(100, terminal().width) if on_screen else 100
        deliver(reporting.render(made, form, width=width, replayable=replayable or output not in (None, "-")), output)


def _say(made: Made, form: str, given: Mapping[str, Any]) -> None:
    """Writes to standard error: what was replaced (on a terminal), remarks that are not part of the report, and how to get the whole
    report."""
    from gpudoctor.reporters.report.markdown_report import redaction_line
    from gpudoctor.reporters.shared.escape import visible

    written = given["output"] not in (None, "-") and os.path.isfile(given["output"])
    if written:
        click.echo(visible(f"Wrote {given['output']} ({_size(given['output'])}, {FORMS[form]})."), err=True)
        click.echo(visible(NEXT[form].replace("FILE", given["output"])), err=True)
    if sys.stderr.isatty():
        said = "Nothing was redacted (--raw): read the report before you send it." if given["raw"] else redaction_line(made.report)
        click.echo(visible(said or "There was nothing to redact."), err=True)
        if made.report.redactions and not given["raw"]:
            click.echo("Read it before you send it. To see what each pseudonym stands for: gpudoctor report --show-redactions", err=True)
    if made.note:
        click.echo(visible(made.note), err=True)
    if form == "text" and given["output"] in (None, "-") and sys.stdout.isatty():
        click.echo(f"The whole report, with the recorded machine: {_again(given)}", err=True)


def _size(path: str) -> str:
    size = os.path.getsize(path)
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(size // 1000, 1)} kB"


def _again(given: Mapping[str, Any]) -> str:
    """The command that writes the whole report on the same machine to a file."""
    words = ["gpudoctor", "report"]
    for name in ("capture", "python"):
        words += [f"--{name}", shlex.quote(given[name])] if given[name] else []
    return " ".join((*words, "-o", "report.zip"))


def _show(table: tuple[tuple[str, str, str], ...]) -> int:
    """Shows the table of pseudonyms, which only the owner may see: on a terminal, and nowhere else."""
    from gpudoctor.reporters.shared.escape import visible

    if not sys.stdout.isatty():
        raise BadInput("--show-redactions lists names and addresses, so it needs a terminal: they must not end in a log or file")
    if not table:
        click.echo("No report or capture of this machine has been redacted yet.")
    width = max((len(pseudonym) for _, pseudonym, _ in table), default=0)
    for _, pseudonym, original in table:
        click.echo(f"{pseudonym:<{width}}  {visible(original)}")
    return OK
