"""gpudoctor explain: the cause and the remedy from a text alone."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.cli import FINDINGS, OK, BadInput
from gpudoctor.cli.exit_status import status
from gpudoctor.cli.output import deliver, terminal
from gpudoctor.cli.progress import StatusLine

if TYPE_CHECKING:
    from gpudoctor.services.explaining import ExplainRequest, Explanation

AT_MOST = 3
PIECE = 1 << 20
TOO_LARGE = "only the first files of this archive were read; for others: --member and a part of their path"


@click.command("explain")
@click.argument("files", nargs=-1, metavar="[FILE…|-]")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Output format.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option("--all", "everything", is_flag=True, help=f"Show every finding, not only the first {AT_MOST}.")
@click.option("--stack", metavar="NAME", help="The stack that the text is about, if the text does not say.")
@click.option("--fail-on", type=click.Choice(["error", "warning", "never"]), default="error", help="Lowest severity that exits 1 (error).")
@click.option("--checks", multiple=True, metavar="DIR", help="Additional folder of checks; may be repeated.")
@click.option("--ignore", multiple=True, metavar="ID", help="Skip this check.")
@click.option("--member", default="", metavar="TEXT", help="Of an archive, read only the files of this host, or with TEXT in their path.")
@click.option("--why", metavar="ID", help="Show how this check was decided, instead of the findings.")
@click.option("--no-color", is_flag=True, help="Disable colour, as NO_COLOR does.")
@click.option("-v", "--verbose", is_flag=True, help="Show the evidence of each finding.")
@click.option("-q", "--quiet", is_flag=True, help="Show findings only.")
def command(files: Sequence[str], **given: Any) -> int:
    """Find what went wrong, and how to fix it, from a log, a traceback, pasted output or a whole issue text.

    Reads FILE (also .gz, .tar.gz and .zip, such as a vendor's bug report), a message in quotes, or standard input. Several files or
    a folder of them give one table, with what to ask for where a text does not show the machine; so does an archive with logs of several
    machines. This machine is not examined.
    """
    from gpudoctor.services import explaining
    from gpudoctor.system.memory_limit import limited_memory

    click.get_current_context().with_resource(limited_memory())
    request = explaining.ExplainRequest(
        text=(), checks=given["checks"], ignore=frozenset(given["ignore"]), stack=given["stack"], why=bool(given["why"])
    )
    names = _with_folders(files) or ("-",)
    if len(names) > 1 and not any(os.path.lexists(name) or name == "-" for name in names):
        raise BadInput(
            f"there is no file {' or '.join(names[:3])}{' …' if len(names) > 3 else ''}; "
            f"for a message put it in quotes: gpudoctor explain {shlex.quote(' '.join(names))}"
        )
    line = StatusLine(quiet=given["quiet"] or names == ("-",))
    explanations = {}
    try:
        job = _job(names) if len(names) > 1 else None
        if job is not None:
            explanations["the job"] = _explained(names[0], job, request, line)
        for number, name in enumerate(() if job else names, 1):
            line.says(f"Reading {name}" + (f" ({number} of {len(names)})" if len(names) > 1 else ""))
            for label, source in _sources(name, given["member"]):
                explanations[label] = _explained(name, source, request, line)
    finally:
        line.wipe()
    if job is None and (len(explanations) > 1 or any(os.path.isdir(name) for name in files)):
        return _triage(explanations, given)
    (explanation,) = explanations.values()
    if given["why"]:
        from gpudoctor.cli.why import show

        return show(explanation.report, given["why"], given["form"], given["output"])
    most = None if given["everything"] else AT_MOST
    if given["form"] == "json":
        from gpudoctor.reporters.report import json_report

        deliver(json_report.render(explanation.report, {}), given["output"])
    else:
        from gpudoctor.reporters.report import explanation_text

        place = terminal(given["no_color"], to_file=given["output"] not in (None, "-"))
        text = explanation_text.render(
            explanation.report,
            explanation.recognised,
            place,
            most=most,
            verbose=given["verbose"],
            quiet=given["quiet"],
            members=explanation.members,
        )
        deliver(text, given["output"])
    return FINDINGS if status(explanation.report, given["fail_on"], None) == FINDINGS else OK


def _with_folders(names: Sequence[str]) -> tuple[str, ...]:
    """The names, with the texts in a folder in its place. Raises BadInput for a folder without any."""
    from gpudoctor.system.text_files import texts_in

    found: list[str] = []
    for name in names:
        inside = texts_in(name) if os.path.isdir(name) else [name]
        if not inside:
            raise BadInput(f"{name}: no text file in this folder; give a folder of issue texts or logs, or a file")
        found += inside
    return tuple(found)


class _Source(Struct, frozen=True):
    """One text: its bytes; for an archive, also its files and the names of lines in them."""

    chunks: Iterable[bytes]
    members: tuple[str, ...] = ()
    place: Callable[[int], str] | None = None
    whole: bool = True


def _explained(name: str, source: _Source, request: ExplainRequest, line: StatusLine) -> Explanation:
    from gpudoctor.services import checking, explaining

    try:
        one = replace(request, text=source.chunks, place=source.place, name="standard input" if name == "-" else name)
        found = explaining.explain(one, lambda read: line.says(f"Reading {name}: {read >> 20} MB"))
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    late = found.report.incomplete if source.whole else (*found.report.incomplete, TOO_LARGE)
    return replace(found, members=source.members, report=replace(found.report, incomplete=late))


def _job(names: Sequence[str]) -> _Source | None:
    """The dumps of one job as one text; None where the files are something else."""
    from gpudoctor.system import text_archives
    from gpudoctor.system.text_files import NotText

    try:
        job = text_archives.of_one_job(names)
    except (NotText, OSError) as error:
        raise BadInput(f"{names[0]} and {len(names) - 1} more: {error}") from error
    return None if job is None else _Source(job.chunks(), tuple(names), job.place)


def _sources(name: str, part: str) -> Iterator[tuple[str, _Source]]:
    """The texts to explain, each with its label: one text, or each machine that the files of an archive come from."""
    from gpudoctor.system.text_files import NotText, may_be_archive

    bundle = None
    try:
        if may_be_archive(name):
            from gpudoctor.system import text_archives  # imported late: most texts are files of their own

            bundle = text_archives.read(name, part)
    except (NotText, OSError) as error:
        raise BadInput(f"{name}: {error}") from error
    if bundle is None:
        if part:
            raise BadInput(f"--member {part}: {name} is not an archive; leave the option out")
        yield name, _Source(_chunks(name))
        return
    if not bundle.machines:
        raise BadInput(f"--member {part}: no text file in {name} has this in its path; leave the option out to see them")
    for machine in bundle.machines:
        paths = tuple(member.path for member in machine.members)
        label = f"{name}: {machine.name}" if len(bundle.machines) > 1 else name
        yield label, _Source(machine.chunks(), paths, machine.place, bundle.whole)


def _triage(explanations: Mapping[str, Explanation], given: Mapping[str, Any]) -> int:
    """Several texts: the first cause of each in one table."""
    if given["why"]:
        raise BadInput("--why explains one text; give one FILE")
    from gpudoctor.reporters.report import triage_report

    reports = {name: explanation.report for name, explanation in explanations.items()}
    if given["form"] == "json":
        deliver(triage_report.render_json(reports), given["output"])
    else:
        place = terminal(given["no_color"], to_file=given["output"] not in (None, "-"))
        members = {name: explanation.members for name, explanation in explanations.items()}
        deliver(triage_report.render_text(reports, place, members), given["output"])
    return FINDINGS if any(status(report, given["fail_on"], None) == FINDINGS for report in reports.values()) else OK


def _chunks(name: str) -> Iterator[bytes]:
    """The text piece by piece, so that a log may be larger than memory."""
    from gpudoctor.system.text_files import NotText, checked, pieces

    if name == "-" and sys.stdin.isatty():
        click.echo("Paste the text, then press Ctrl-D on a line of its own:", err=True)
    try:
        if name == "-":
            yield from checked(iter(lambda: sys.stdin.buffer.read(PIECE), b""))
        elif _is_message(name):
            click.echo("gpudoctor: there is no such file, so the argument itself is read as the text", err=True)
            yield name.encode("utf-8", "surrogateescape")
        else:
            yield from pieces(name)
    except NotText as error:
        raise BadInput(f"{'standard input' if name == '-' else name}: {error}") from error
    except OSError as error:
        raise BadInput(_no_file(name, error)) from error


def _no_file(name: str, error: OSError) -> str:
    more = "give a text file, a message in quotes, or - for standard input"
    if not name.strip():
        return f"the argument is empty; {more}"
    if name.startswith(("https://", "http://")):
        return f"{name}: explain opens no connection; save the page as a file, or paste its text to gpudoctor explain -"
    return f"{name}: {error.strerror or error}; {more}: gpudoctor explain 'the message'"


def _is_message(name: str) -> bool:
    """Whether the argument is a message in quotes and not a file."""
    return len(name.split()) > 1 and not os.path.lexists(name)
