"""gpudoctor check: examines this machine (or a recorded one), shows the report, and sets the exit status."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from gpudoctor.cli import FINDINGS, OK, UNKNOWN, BadInput
from gpudoctor.cli.door_options import door_options, wanted
from gpudoctor.cli.exit_status import status, unanswered
from gpudoctor.cli.formats import FORMATS
from gpudoctor.cli.given_python import check_python
from gpudoctor.knowledge.stack_names import stack_of

if TYPE_CHECKING:
    from gpudoctor.model.report import Report


@click.command("check")
@click.option("--quick", is_flag=True, help="Read files only: run no program, import no framework (3 s at most).")
@click.option("--budget", type=click.FloatRange(min=0.1, max=3600), metavar="SECONDS", help="Total time limit (30; 3 with --quick).")
@click.option("--python", metavar="PATH", help="Interpreter or environment to examine (default: the active one, ./.venv, python3).")
@click.option("--capture", metavar="PATH", help="Examine a recorded machine instead of this one.")
@door_options
@click.option("--stack", metavar="NAME", help="Check this stack only (cuda, rocm, xpu …); exit 1 if it has no device, 4 if undetermined.")
@click.option("--device", metavar="DEVICE", help="Only one line: can a job use cuda:0, a UUID, an address, or what it is 'assigned'?")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="Output format; json is gpudoctor.report/1.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option(
    "--fail-on", type=click.Choice(["error", "warning", "unknown", "never"]), default="error", help="Lowest severity that exits 1 (error)."
)
@click.option("--exit-style", type=click.Choice(["npd", "nagios", "slurm"]), help="Exit status and one line for that monitoring engine.")
@click.option("--expect", metavar="FILE", help="Check against a policy file; exit 4 if a demand cannot be decided.")
@click.option("--write-expect", metavar="FILE", help="Write a policy file from this machine.")
@click.option("--step-summary", is_flag=True, help="Also add to the summary of the GitHub Actions job.")
@click.option("--checks", multiple=True, metavar="DIR", help="Additional folder of checks; may be repeated.")
@click.option("--ignore", multiple=True, metavar="ID", help="Skip this check; with reasons: [ignore] in ./gpudoctor.toml.")
@click.option("--why", metavar="ID", help="Show how this check was decided, instead of the report.")
@click.option("--offline/--online", default=True, help="check never opens a socket.")
@click.option("--no-color", is_flag=True, help="Disable colour, as NO_COLOR does.")
@click.option("-v", "--verbose", is_flag=True, help="Show all stacks, all findings and the evidence.")
@click.option("-q", "--quiet", is_flag=True, help="Show findings only.")
def command(**given: Any) -> int:
    """Find what is broken on this machine, and how to fix it.

    Examines devices, drivers, permissions, runtimes and the frameworks of a Python environment, with your own rights.
    """
    given["stack"] = stack_of(given["stack"]) if given["stack"] else None
    if given["exit_style"] is None:
        return _check(given)
    from gpudoctor.cli.exit_style import not_checked

    try:
        return _check(given)
    except BadInput as error:
        return not_checked(given["exit_style"], error)


def _check(given: Mapping[str, Any]) -> int:
    from gpudoctor.cli.progress import StatusLine
    from gpudoctor.cli.project import ignored
    from gpudoctor.services import checking

    files_only = given["root"] is not None and not given["chroot"]
    if given["capture"] is not None or files_only:  # on this machine the limit would also hold for the frameworks that probes import
        from gpudoctor.system.memory_limit import limited_memory

        click.get_current_context().with_resource(limited_memory())
    if given["write_expect"]:
        _refuse_to_replace(given["write_expect"])
    if given["device"] and given["exit_style"]:
        raise BadInput("--device and --exit-style exclude each other: each sets the line and the exit status")
    door = wanted(given, given["capture"])
    here = given["capture"] is None and door is None
    if here:
        check_python(given["python"])
    reasons = ignored(given["ignore"], project_file=here)
    request = checking.CheckRequest(
        capture=given["capture"],
        door=door,
        python=given["python"],
        quick=given["quick"],
        budget=given["budget"],
        stack=given["stack"],
        checks=given["checks"],
        expect=given["expect"],
        ignore=frozenset(reasons),
        every_check=given["why"] is not None,
        every_trace=given["form"] == "junit",
    )
    line = StatusLine(quiet=given["quiet"] or given["quick"])
    try:
        report = checking.check(request, line.looking)
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    finally:
        line.wipe()
    if given["why"]:
        from gpudoctor.cli.why import show

        return show(report, given["why"], given["form"], given["output"])
    if given["write_expect"]:
        _write_policy(report, given["write_expect"])
        if given["write_expect"] == "-":
            return OK
    if given["step_summary"]:
        from gpudoctor.cli.formats import step_summary

        step_summary(report)
    code = _say(report, given, reasons) if given["device"] is None else _say_of_device(report, given)
    if here and not given["quick"]:  # a quick look leaves frameworks out, so that later runs could not be compared with it
        remember(report, reasons)
    return code


def _again(given: Mapping[str, Any]) -> str:
    """The command line that repeats this check, for the hints at the end of the screen."""
    import shlex

    named = ("capture", "pid", "container", "image", "root", "host", "python", "stack")
    options = [f"--{name} {shlex.quote(given[name])}" for name in named if given[name]] + ["--chroot"] * given["chroot"]
    return " ".join(("gpudoctor check", *options))


def remember(report: Report, ignored: Mapping[str, str]) -> None:
    """Saves this run for `gpudoctor diff`, after all output was written."""
    from gpudoctor.cli.project import keeps_history
    from gpudoctor.services import diffing

    try:
        if keeps_history():
            diffing.remember(report, ignored)
    except BadInput as error:
        click.echo(f"gpudoctor: {error.message}; this run is not kept for gpudoctor diff", err=True)


def _say(report: Report, given: Mapping[str, Any], ignored: Mapping[str, str]) -> int:
    from gpudoctor.cli.output import deliver, terminal

    if given["form"] != "text":
        from gpudoctor.cli.formats import render

        open_ones = unanswered(report, given["stack"])
        text = render(given["form"], report, ignored, fail_on=given["fail_on"], unanswered=open_ones, extra=given["checks"])
    else:
        from gpudoctor.reporters.report import console

        place = terminal(given["no_color"], to_file=given["output"] not in (None, "-"))
        text = console.render(
            report, place, verbose=given["verbose"], quiet=given["quiet"], stack=given["stack"], ignored=ignored, again=_again(given)
        )
    if given["exit_style"] is None:
        deliver(text, given["output"])
        return status(report, given["fail_on"], given["stack"])
    from gpudoctor.cli.exit_style import answer

    line, code = answer(report, given["exit_style"], given["fail_on"], given["stack"])
    if given["output"]:
        deliver(text, given["output"])
    elif given["form"] != "text":
        deliver(text, None)
    click.echo(line, err=given["form"] != "text" and not given["output"])
    return code


def _say_of_device(report: Report, given: Mapping[str, Any]) -> int:
    """One line on the device of a job, with the exit status: 0 it can be used, 1 it cannot, 4 not determined."""
    from gpudoctor.diagnosis.assigned_devices import answer
    from gpudoctor.reporters.shared.escape import visible

    found = answer(report.facts, given["device"])
    word = {True: "ready", False: "not ready", None: "not determined"}[found.ready]
    if given["form"] != "text" or given["output"]:
        _say(report, given, {})
    click.echo(f"{word}: {visible(found.says)}", err=given["form"] != "text" and not given["output"])
    return {True: OK, False: FINDINGS, None: UNKNOWN}[found.ready]


def _refuse_to_replace(path: str) -> None:
    if path != "-" and os.path.lexists(path) and os.path.isfile(path):
        raise BadInput(f"--write-expect {path}: this file exists, and may hold your own edits; give another name")


def _write_policy(report: Report, path: str) -> None:
    from gpudoctor.cli.output import deliver
    from gpudoctor.reporters.report import policy_toml

    deliver(policy_toml.render(report), path)
    if path != "-":
        click.echo(f"gpudoctor: {path} written from this machine. To check against it: gpudoctor check --expect {path}", err=True)
