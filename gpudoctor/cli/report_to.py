"""gpudoctor report --attach and --to: a comment on an issue, or a new issue in the browser. The text is shown before it is sent, and
never sent without consent."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from gpudoctor.cli import OK, UNKNOWN, BadInput

if TYPE_CHECKING:
    from gpudoctor.model.report import Report
    from gpudoctor.services.reporting import FilledForm, Made
    from gpudoctor.trackers.address import TrackerPlace

_ROOM = 200
"""Characters of a comment that are reserved for the marker."""
_SUMMARY = 1_800
BODY = "gpudoctor-issue.md"


class NotKnown(click.ClickException):
    """It is unknown whether the comment was written."""

    exit_code = UNKNOWN


class Destination(Struct, frozen=True, kw_only=True):
    """The tracker to send the report to. `token` is empty where the host has none."""

    place: TrackerPlace
    token: str
    online: bool = True


def target(given: Mapping[str, Any]) -> Destination | None:
    """The destination of --attach or --to; None without them. It is validated before the machine is examined, so that a typing error
    costs no time. Raises BadInput."""
    if not given["attach"] and not given["to"]:
        for name in ("dry_run", "yes"):
            if given[name]:
                raise BadInput(f"--{name.replace('_', '-')}: goes with --attach or --to")
        return None
    if given["attach"] and given["to"]:
        raise BadInput("--attach comments on an issue, --to opens a new one: give one of them")
    if given["raw"]:
        raise BadInput("--raw: names and secrets are not sent to a tracker; write a file (-o), read it, and attach it yourself")
    if given["form"] not in (None, "markdown") or (given["attach"] and given["output"]):
        raise BadInput("a tracker takes Markdown: leave --format and -o out (a .zip is attached by hand)")
    from gpudoctor.trackers.address import TrackerError, place_of
    from gpudoctor.trackers.posting import kind_of

    try:
        place = place_of(given["attach"] or given["to"], os.environ, issue=bool(given["attach"]))
        if _closed():
            return _without_network(place, given)
        if not (given["attach"] and given["dry_run"]):
            place = kind_of(_network(), place, os.environ)
    except TrackerError as error:
        raise BadInput(str(error)) from error
    token = "" if given["dry_run"] else _token(place)
    if given["attach"] and not given["dry_run"]:
        if not token:
            from gpudoctor.trackers.tokens import advice

            raise BadInput(f"there is no token for {place.host}: {advice(place)}")
        if not given["yes"] and not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise BadInput("nothing is posted unasked where nobody can be asked: add --yes, or --dry-run to see it")
    return Destination(place=place, token=token)


def _without_network(place: TrackerPlace, given: Mapping[str, Any]) -> Destination:
    """The destination of `--to PROJECT --dry-run --offline`, for which the stored profile of the project is enough. Raises BadInput."""
    from gpudoctor.services.reporting import has_profile

    if given["to"] and given["dry_run"] and place.kind == "github" and has_profile(place.path):
        return Destination(place=place, token="", online=False)
    raise BadInput(
        "--offline: a tracker is on the network; write a file with -o and attach it yourself, or give --to PROJECT --dry-run, which shows "
        "the form of a project whose profile comes with gpudoctor"
    )


def send(made: Made, to: Destination, given: Mapping[str, Any]) -> int:
    """Sends the report to a tracker and returns the exit status. Raises NotKnown where the tracker gave no answer."""
    from gpudoctor.trackers.address import TrackerError, Uncertain

    try:
        return _attach(made, to, given) if given["attach"] else _open(made, to, given)
    except Uncertain as error:
        raise NotKnown(str(error)) from error
    except TrackerError as error:
        raise BadInput(str(error)) from error


def _attach(made: Made, to: Destination, given: Mapping[str, Any]) -> int:
    from gpudoctor.reporters.report.markdown_report import LIMIT, markdown
    from gpudoctor.reporters.shared.escape import visible
    from gpudoctor.trackers import posting
    from gpudoctor.trackers.calls import marked

    body, mark = marked(markdown(made.report, ignored=made.ignored, limit=LIMIT - _ROOM), _about(made.report))
    if given["dry_run"]:
        click.echo(visible(body, multiline=True), nl=False)
        click.echo(f"--- this would be a comment on {to.place.name} ({len(body)} characters); nothing was posted", err=True)
        return OK
    network = _network()
    issue = posting.look(network, to.place, to.token, mark)
    if issue.already:
        click.echo(issue.already)
        click.echo("The same report is there already; nothing was posted.", err=True)
        return OK
    click.echo(visible(body, multiline=True), nl=False)
    state = f", {visible(issue.state)}" if issue.state else ""
    click.echo(f"--- above is the comment on {to.place.name}: {visible(issue.title)}{state} ({len(body)} characters)", err=True)
    if not given["yes"] and not click.confirm("Post it, for everybody who can see that issue?", default=False, err=True):
        click.echo("Nothing was posted.", err=True)
        return OK
    click.echo(posting.write(network, issue, to.token, body, mark))
    return OK


def _open(made: Made, to: Destination, given: Mapping[str, Any]) -> int:
    from gpudoctor.cli.output import write
    from gpudoctor.knowledge.tracker_profiles import OWN_FILE
    from gpudoctor.reporters.shared.escape import visible
    from gpudoctor.services.reporting import filled_form
    from gpudoctor.system.browser import open_page
    from gpudoctor.trackers.opening import prepare, profile_text, without_asking

    network = _network() if to.online else None
    form, about = filled_form(made, to.place.path, profile_text(network, to.place, to.token, OWN_FILE) if network else None)
    parts = _parts(made, form)
    prepared = prepare(network, to.place, to.token, parts) if network else without_asking(to.place, parts)
    say = [visible(note) for note in (about, prepared.note) if note]
    if prepared.template:
        say.append(f"Its form or template is {visible(prepared.template)}.")
    if prepared.left:
        say.append(f"Left to you: {visible('; '.join(prepared.left))}.")
    for answer in form.answers if form else ():
        if answer.command:
            say.append(f"For '{visible(answer.question.label)}', the project asks for the output of: {visible(answer.command)}")
    if given["dry_run"]:
        click.echo(visible(prepared.body, multiline=True), nl=False)
        say.append("Nothing was opened. The address:")
    elif not prepared.whole or given["output"]:
        file = given["output"] or _free(BODY)
        write(prepared.body, file)
        say.append(f"The whole text is in {file}: paste it, or attach the file.")
    for line in say:
        click.echo(line, err=True)
    if given["dry_run"] or not open_page(prepared.url):
        click.echo(prepared.url)
    else:
        click.echo(f"Opened a new issue of {to.place.name} in the browser; nothing is sent before you send it there.", err=True)
    return OK


def _parts(made: Made, form: FilledForm | None) -> Any:
    from gpudoctor.reporters.report import collect_env
    from gpudoctor.reporters.report.markdown_report import markdown, title
    from gpudoctor.reporters.shared.escape import visible
    from gpudoctor.trackers.forms import Parts

    report, head = made.report, made.report.headline
    framework = collect_env.at(report.facts, "torch.version")
    kernel = f"kernel {head.get('kernel', '')}"
    short = {
        "python": head.get("python", ""), "kernel": head.get("kernel", ""), "system": head.get("os", ""), "device": head.get("machine", ""),
        "framework": f"torch {framework}" if framework else "",
        "environment": ", ".join(word for word in (head.get("os", ""), kernel, head.get("machine", "")) if word),
    }  # fmt: skip
    return Parts(
        title=visible(title(report)), summary=markdown(report, ignored=made.ignored, packed=False, limit=_SUMMARY),
        environment=collect_env.block(report, 30), whole=markdown(report, ignored=made.ignored),
        short={key: visible(value) for key, value in short.items()},
        answers={each.question.id or each.question.label.lower(): each for each in form.answers} if form else {},
        filled=form.markdown if form else "", file=form.file if form else "",
    )  # fmt: skip


def _about(report: Report) -> str:
    """The content by which two reports are compared: machine, findings and measurements, without the time."""
    findings = [(finding.key, finding.title) for finding in report.findings]
    stacks = [(stack.stack, stack.verdict) for stack in report.stacks]
    measured = [(each.workload, each.task, each.dtype, each.status, each.device) for each in report.measurements]
    return json.dumps([sorted(report.headline.items()), findings, stacks, measured, report.tool_version], default=str)


def _token(place: TrackerPlace) -> str:
    """The access token from the environment, else from the login of gh or glab."""
    from gpudoctor.system.local_host import LocalHost
    from gpudoctor.trackers import tokens

    found = tokens.from_environment(place, os.environ)
    argv = tokens.login_command(place)
    if found or not argv:
        return found
    ran = LocalHost(budget=20.0).run_child(argv, timeout=15.0, limit=10_000, env=tokens.UNSET, niced=False)
    word = ran.stdout.strip()
    return word if ran.ok and word.isascii() and word.isprintable() and 8 <= len(word) <= 500 and " " not in word else ""


def _network() -> Any:
    from gpudoctor.system.http import HttpClient

    return HttpClient(online=True)


def _closed() -> bool:
    """Whether --offline was given explicitly; it is the default where no tracker is named."""
    context = click.get_current_context()
    return bool(context.params.get("offline")) and context.get_parameter_source("offline") == click.core.ParameterSource.COMMANDLINE


def _free(name: str) -> str:
    """A file name that does not exist yet."""
    stem, suffix = os.path.splitext(name)
    number = 1
    while os.path.lexists(name):
        number += 1
        name = f"{stem}-{number}{suffix}"
    return name
