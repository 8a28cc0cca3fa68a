"""gpudoctor setup: shows the plan, asks once, carries it out and verifies it; resume, undo, history; recommends without a name."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from gpudoctor.cli import FINDINGS, OK, BadInput

if TYPE_CHECKING:
    from gpudoctor.model.plan import Plan, PlannedStep
    from gpudoctor.services.setup_planning import Planned, SetupRequest
    from gpudoctor.services.setup_running import Outcome

ENDS = {"done": "verified", "unverified": "not-verified", "kept": "undone"}
"""The states of setup_running.Outcome in the words of reporters.plan.run_text."""
EXPORTS = ("sh", "dockerfile", "ansible")
FORMATS = ("text", "json", *EXPORTS)


@click.command("setup")
@click.argument("name", metavar="[STACK]", required=False)
@click.option("--plan", "only_plan", is_flag=True, help="Show the plan and stop; change nothing.")
@click.option("--yes", is_flag=True, help="Apply without asking.")
@click.option("--env", metavar="PATH", help="Create or use this Python environment (default: ~/gpudoctor/STACK; in exports: /opt/venv).")
@click.option("--torch", metavar="VERSION", help="Install this release of torch (or IPEX) instead of the recommended one.")
@click.option("--python-version", metavar="VERSION", help="Use this Python for the new environment, such as 3.12.")
@click.option(
    "--for",
    "purpose",
    type=click.Choice(["training", "inference", "torch", "tensorflow", "onnxruntime"]),
    help="Purpose of the environment.",
)
@click.option("--folder", metavar="DIR", help="Folder with files that only you can download (such as an SDK behind a login).")
@click.option("--resume", is_flag=True, help="Continue the run that stopped: after a reboot, a crash or a network failure.")
@click.option("--undo", is_flag=False, flag_value="last", metavar="[RUN]", help="Undo a run (default: the last one).")
@click.option("--history", is_flag=True, help="List the runs on this machine.")
@click.option(
    "--mirror", multiple=True, metavar="NAME=URL", help="Use a mirror of a repository or index; also [mirrors] in a configuration file."
)
@click.option("--make-bundle", metavar="DIR", help="Download everything the plan needs into DIR, for a machine without a network.")
@click.option("--allow-http", is_flag=True, help="Do not ask about plain-http mirrors, whose packages are not authenticated.")
@click.option("--bundle-sha256", metavar="HEX", default="", help="Checksum that --make-bundle printed; needed to install its wheels.")
@click.option("--offline-bundle", metavar="DIR", help="Install from the folder of --make-bundle, without a network.")
@click.option("--allow-removal", is_flag=True, help="Allow steps to remove conflicting packages (the plan names them).")
@click.option("--capture", metavar="PATH", help="Plan for a recorded machine (with --plan or --format).")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", help="Write the plan in this format (all but text only write it)."
)
@click.option("--offline/--online", default=True, help="--online: have uv resolve an export's packages, and pin each with its SHA-256.")
@click.option("-o", "--output", metavar="FILE", help="Write the plan to FILE instead of standard output.")
@click.option("--no-color", is_flag=True, help="No colour, as with NO_COLOR set or in a pipe.")
@click.option("-v", "--verbose", is_flag=True, help="Show every command of every step.")
@click.option("-q", "--quiet", is_flag=True, help="Show only the result.")
def command(**given: Any) -> int:
    """Install a stack, verify it, and undo it.

    Without STACK: recommend the best one for this machine. STACK is one of ipex, torch-xpu, intel-driver, directml, opencl,
    torch-opencl, poplar, openvino, onnxruntime, cuda, rocm, tensorflow, jax, mps, cpu.
    """
    from gpudoctor.services import checking

    chosen = [name for name in ("resume", "undo", "history") if given[name]]
    if len(chosen) > 1 or (chosen and given["name"]):
        raise BadInput(f"--{chosen[0]} stands alone; a STACK or a second of --resume, --undo, --history does not go with it")
    screen = RunScreen(given)
    try:
        if given["history"]:
            return _history(given)
        if given["resume"]:
            return _resume(screen)
        if given["undo"]:
            return _undo(given, screen)
        return _set_up(given, screen) if given["name"] else _recommend(given, screen)
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    except KeyboardInterrupt:
        screen.stopped()
        raise
    finally:
        screen.clear()


def _request(given: Mapping[str, Any]) -> SetupRequest:
    from gpudoctor.cli.project import mirrors
    from gpudoctor.services.setup_planning import SetupRequest

    for name in ("torch", "python_version"):
        if given[name] and not all(part.isdigit() for part in given[name].split("+")[0].split(".")):
            raise BadInput(f"--{name.replace('_', '-')} {given[name]}: expected a version such as {'2.8' if name == 'torch' else '3.12'}")
    if not given["offline"] and given["form"] not in EXPORTS:
        raise BadInput("--online resolves the packages of an export; add --format sh, dockerfile or ansible")
    folder = os.path.abspath(os.path.expanduser(given["folder"])) if given["folder"] and not given["capture"] else given["folder"]
    return SetupRequest(
        name=given["name"], capture=given["capture"], torch=given["torch"], python_version=given["python_version"],
        purpose=given["purpose"], folder=folder, env=given["env"], bundle=given["offline_bundle"],
        bundle_sha256=given["bundle_sha256"], mirrors=given["mirror"],
        mirror_config=mirrors(), allow_removal=given["allow_removal"], fresh=given["form"] in EXPORTS,
        locked=not given["offline"],
    )  # fmt: skip


def _set_up(given: Mapping[str, Any], screen: RunScreen) -> int:
    from gpudoctor.services import setup_planning

    if given["capture"] and not (given["only_plan"] or given["form"] != "text"):
        raise BadInput("a recorded machine can be planned for, not changed; add --plan, or --format sh, dockerfile, ansible or json")
    if given["capture"]:
        from gpudoctor.system.memory_limit import limited_memory

        click.get_current_context().with_resource(limited_memory())
    request = _request(given)
    planned = setup_planning.plan_setup(request, screen.looking)
    screen.clear()
    if given["form"] != "text" or given["only_plan"]:
        return _write_plan(planned, given, screen)
    screen.show_plan(planned.plan, whole=not given["yes"] and not given["make_bundle"])
    if planned.plan.refusals:
        return FINDINGS
    if given["make_bundle"]:
        from gpudoctor.services.setup_running import BundleRequest, fill_bundle

        bundle = BundleRequest(plan=planned.plan, addresses=planned.look.addresses, folder=given["make_bundle"])
        screen.say_line(fill_bundle(bundle, screen))
        return OK
    return _apply(planned, request, given, screen)


def _apply(planned: Planned, request: SetupRequest, given: Mapping[str, Any], screen: RunScreen) -> int:
    from gpudoctor.services import setup_planning, setup_running

    ahead = setup_planning.look_ahead(planned, request, screen.says)
    screen.clear()
    if ahead.problems:
        screen.show_problems(f"{row.what}: {row.detail}; {row.advice}" for row in ahead.problems)
        return FINDINGS
    screen.show_notes(ahead.notes)
    if planned.plan.todo and planned.unauthenticated and not given["allow_http"] and not screen.accept(planned.unauthenticated):
        screen.say_line("Nothing was changed.")
        return OK
    if planned.plan.todo and not given["yes"] and not screen.confirm(planned.plan):
        screen.say_line("Nothing was changed.")
        return OK
    return screen.end(setup_running.apply(setup_running.ApplyRequest(plan=planned.plan, offline=bool(request.bundle)), screen))


def _write_plan(planned: Planned, given: Mapping[str, Any], screen: RunScreen) -> int:
    from gpudoctor import __version__
    from gpudoctor.cli.output import deliver

    form, plan = given["form"], planned.plan
    today = time.strftime("%Y-%m-%d", time.gmtime())
    if form == "text":
        text = screen.plan_text(plan)
    elif form == "json":
        from gpudoctor.reporters.plan import plan_json

        text = plan_json.render(plan, version=__version__, created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    else:
        from importlib import import_module

        system = planned.look.host.platform
        if system == "windows" or (system == "macos" and form == "dockerfile"):
            title = {"windows": "Windows", "macos": "macOS"}[system]
            raise BadInput(f"--format {form} does not serve {title}, which this plan is for; use --format json, or --plan")
        name = {"sh": "plan_shell", "dockerfile": "plan_dockerfile", "ansible": "plan_ansible"}[form]
        try:
            text = import_module(f"gpudoctor.reporters.plan.{name}").render(plan, version=__version__, date=today)
        except ValueError as error:  # shell_text.Unwritable: an act that no script can hold
            raise BadInput(f"the plan cannot be written as {form}: {error}; --format json holds all of it") from error
    deliver(text, given["output"])
    return FINDINGS if plan.refusals else OK


def _resume(screen: RunScreen) -> int:
    from gpudoctor.services import setup_running

    return screen.end(setup_running.resume(screen))


def _undo(given: Mapping[str, Any], screen: RunScreen) -> int:
    from gpudoctor.services import setup_running

    if given["undo"] != "last" and not given["undo"].isdigit():
        raise BadInput(f"--undo {given['undo']}: expected the number of a run; gpudoctor setup --history lists them")
    request = setup_running.UndoRequest(run=None if given["undo"] == "last" else int(given["undo"]))
    return screen.end(setup_running.undo(request, screen))


def _history(given: Mapping[str, Any]) -> int:
    from gpudoctor.cli.output import deliver, terminal
    from gpudoctor.reporters.plan import run_text
    from gpudoctor.reporters.report.json_report import dumps
    from gpudoctor.services import setup_running

    runs = [
        {
            "id": row.id, "name": row.name, "started": row.started, "status": row.state, "note": row.note, "env": row.plan.env,
            "steps": [(step.title, done.state) for step, done in zip(row.plan.steps, row.steps, strict=True)],
            "kept": [step.note for step in row.steps if step.state == "kept"],
        }
        for row in reversed(setup_running.history())
    ]  # fmt: skip
    if given["form"] == "json":
        deliver(dumps({"runs": runs}), given["output"])
    else:
        place = terminal(given["no_color"], to_file=given["output"] not in (None, "-"))
        deliver(place.draw(run_text.history(runs, place.width)), given["output"])
    return OK


def _recommend(given: Mapping[str, Any], screen: RunScreen) -> int:
    from gpudoctor.cli.output import deliver, terminal
    from gpudoctor.reporters.plan import recommendation_text
    from gpudoctor.reporters.report.json_report import dumps
    from gpudoctor.services import setup_planning

    if given["capture"]:
        from gpudoctor.system.memory_limit import limited_memory

        click.get_current_context().with_resource(limited_memory())
    request = setup_planning.RecommendRequest(capture=given["capture"], purpose=given["purpose"])
    recommended = setup_planning.recommend_stack(request, screen.looking)
    found = recommended.choice
    screen.clear()
    if given["form"] == "json":
        from msgspec import to_builtins

        deliver(dumps(to_builtins(found)), given["output"])
    else:
        place = terminal(given["no_color"], to_file=given["output"] not in (None, "-"))
        deliver(recommendation_text.render(found, place, machine=recommended.machine), given["output"])
    return OK if found.first else FINDINGS


def _typed(given: Mapping[str, Any]) -> str:
    """The command that applies the plan: the options that were given, without those that only show."""
    import shlex

    words = ["gpudoctor", "setup", given["name"]]
    for option, key in (("torch", "torch"), ("python-version", "python_version"), ("for", "purpose"), ("env", "env"), ("folder", "folder")):
        words += [f"--{option}", given[key]] if given[key] else []
    for entry in given["mirror"]:
        words += ["--mirror", entry]
    words += ["--offline-bundle", given["offline_bundle"]] if given["offline_bundle"] else []
    words += ["--bundle-sha256", given["bundle_sha256"]] if given["bundle_sha256"] else []
    words += ["--allow-removal"] if given["allow_removal"] else []
    return shlex.join(words)


class RunScreen:
    """The output during a run (setup.runner.RunListener): a status line on a terminal, which a pipe does not get."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        from gpudoctor.cli.output import terminal
        from gpudoctor.cli.progress import StatusLine

        self._given = given
        self._line = StatusLine(quiet=given["quiet"])
        self._place = terminal(given["no_color"], to_file=given["output"] not in (None, "-"))
        self._quiet = given["quiet"]
        self._began = False

    # progress

    def looking(self, name: str) -> None:
        self._line.looking(name)

    def says(self, text: str) -> None:
        self._line.says(text)

    def clear(self) -> None:
        self._line.wipe()

    # steps

    def begins(self, step: PlannedStep, total: int) -> None:
        self._began = True
        if not self._quiet:
            from gpudoctor.reporters.plan import run_text

            self._draw(run_text.step_begins(step, total, self._place.width))

    def ends(self, step: PlannedStep, seconds: float) -> None:
        if not self._quiet:
            from gpudoctor.reporters.plan import run_text

            self._draw(run_text.step_done(step, seconds, self._place.width))

    def undoes(self, step: PlannedStep, total: int) -> None:
        from msgspec.structs import replace

        self.begins(replace(step, title=f"undo: {step.title}"), total)

    def stopped(self) -> None:
        if self._began:
            self.say_line("Stopped. gpudoctor setup --resume continues where it stopped, gpudoctor setup --undo reverts what was done.")

    def end(self, outcome: Outcome) -> int:
        """Shows the end of a run, and returns the exit status."""
        from gpudoctor.reporters.plan import run_text

        width = self._place.width
        if outcome.step is not None and outcome.state == "waiting":
            self._draw(run_text.waiting(outcome.step, outcome.text, outcome.commands, width))
        elif outcome.step is not None:
            self._draw(run_text.step_failed(outcome.step, outcome.text, outcome.advice, outcome.tail, width))
        elif outcome.plan is None:
            self.say_line(outcome.text)
        else:
            run = str(outcome.run)
            ended = ENDS.get(outcome.state, outcome.state)
            self._draw(run_text.finished(outcome.plan, ended, reason=outcome.text, run=run, kept=outcome.kept, width=width))
            if outcome.state == "failed" and outcome.advice:
                self.say_line(outcome.advice)
        return OK if outcome.succeeded else FINDINGS

    # plans

    def plan_text(self, plan: Plan, *, whole: bool = False) -> str:
        from gpudoctor.reporters.plan import plan_text

        return plan_text.render(plan, self._place, verbose=whole or self._given["verbose"], command=_typed(self._given), asks=whole)

    def show_plan(self, plan: Plan, *, whole: bool) -> None:
        """Shows the plan. `whole`: with every command and file, before the question whether to apply it."""
        if whole or not self._quiet:
            click.echo(self.plan_text(plan, whole=whole), nl=False)

    def show_notes(self, notes: Iterable[str]) -> None:
        for note in () if self._quiet else notes:
            self.say_line(f"note: {note}")

    def show_problems(self, problems: Iterable[str]) -> None:
        for problem in problems:
            self.say_line(f"cannot start: {problem}")
        self.say_line("Nothing was changed.")

    def accept(self, mirrors: Iterable[str]) -> bool:
        """Whether the person accepts mirrors without authentication; --yes does not include this."""
        said = "; ".join(mirrors)
        if not sys.stdin.isatty():
            raise BadInput(f"{said}; give a mirror with https, or --allow-http to use this one anyway")
        self.say_line(said)
        return click.confirm("Use it anyway?", default=False)

    def confirm(self, plan: Plan) -> bool:
        if not sys.stdin.isatty():
            raise BadInput("cannot ask for confirmation without a terminal; add --yes to apply this plan, or --plan to show it")
        root = sum(step.root for step in plan.todo)
        steps = f"{len(plan.todo)} step{'s' * (len(plan.todo) != 1)}"
        return click.confirm(f"Apply {steps}{f', {root} of them as root' if root else ''}?", default=False)

    def say_line(self, text: str) -> None:
        from gpudoctor.reporters.shared.escape import visible

        self.clear()
        click.echo(visible(text))

    def _draw(self, lines: Any) -> None:
        self.clear()
        click.echo(self._place.draw(lines), nl=False)
        sys.stdout.flush()
