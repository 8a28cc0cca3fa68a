"""The service of `guard`: what keeps an environment working, and what a command would do to it. Nothing is installed."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor import __version__
from gpudoctor.audit import installer_commands
from gpudoctor.audit.guarding import constraints, indexes, judged, kept, new_conflicts
from gpudoctor.audit.installer_commands import InstallCommand, Planned
from gpudoctor.audit.judging import AuditTarget
from gpudoctor.audit.resolving import reason
from gpudoctor.facts.derive.torch_build import one_version
from gpudoctor.facts.probes.frameworks import refused
from gpudoctor.model.facts import Facts
from gpudoctor.model.guard import Guard, KeptPackage, Trial
from gpudoctor.services import auditing, checking
from gpudoctor.system.local_host import LocalHost, find_program

LIMIT = 300.0
"""Seconds for an installer to answer; it may have to ask several indexes for many packages."""


_NO_PIP = "No module named pip"


class GuardRequest(Struct, frozen=True, kw_only=True):
    """`command`: the words of an installing command that is to be tried; without it only the constraints are made."""

    python: str | None = None
    capture: str | None = None
    command: Sequence[str] = ()


def guard(request: GuardRequest, progress: Callable[[str], None] | None = None) -> Guard:
    """Raises checking.BAD_INPUT, and installer_commands.CommandRefused for a command that is none of an installer."""
    command = installer_commands.read(request.command) if request.command else None
    check = checking.CheckRequest(capture=request.capture, python=request.python, quick=True)
    facts = checking.gather_machine(checking.open_for(check), "guard", progress, live=False).gathered.facts
    executable = str(facts.value("python.executable") or "")
    distributions = facts.value("python.distributions")
    if not isinstance(distributions, dict):
        raise checking.RequestError("no Python environment could be read; give one with --python PATH")
    installed = {str(name): one_version(value) for name, value in distributions.items()}
    conda = [str(name) for name, value in distributions.items() if isinstance(value, dict) and value.get("installer") == "conda"]
    packages = kept(installed, conda)
    if not packages:
        raise checking.RequestError(f"{executable or 'the environment'} holds no package that is built for a device; nothing is kept")
    found = Guard(tool=__version__, python=executable, kept=packages, indexes=indexes(packages))
    if command is None:
        return found
    if refused(facts):
        raise checking.RequestError(f"{executable} is not run, since other users may change it; name it with --python to have it run")
    if progress:
        progress(f"{command.tool}, in a dry run")
    return replace(found, trial=_tried(command, executable, installed, packages, _target(facts)))


def constraints_text(found: Guard, form: str, where: str) -> str:
    """The constraints for one tool. `where`: how a person names the file that they are written to."""
    return constraints(found.kept, form, where, found.python)


def _target(facts: Facts) -> AuditTarget:
    try:
        backend = auditing.choose(facts).name
    except auditing.BackendUnknown:
        backend = "cpu"
    return AuditTarget(backend=backend, platform=auditing.platform_of(backend, facts), python=str(facts.value("python.version") or ""))


def _tried(command: InstallCommand, python: str, installed: dict[str, str], packages: Sequence[KeptPackage], target: AuditTarget) -> Trial:
    shown, host = command.shown(), LocalHost(budget=2 * LIMIT)
    plan = _dry_run(host, command, python, None)
    if isinstance(plan, str):
        return Trial(command=shown, outcome="unknown", reason=plan)
    changes = judged(plan.packages, plan.removed, installed, packages)
    clashes = new_conflicts(changes, installed, packages, target)
    if not clashes and not any(change.breaks for change in changes):
        return Trial(command=shown, outcome="kept", changes=changes, safe=shown)
    with tempfile.TemporaryDirectory(prefix="gpudoctor-guard-") as folder:
        path = os.path.join(folder, "constraints.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(constraints(packages, "pip", path, python))
        careful = _dry_run(host, command, python, path)
    if isinstance(careful, str):
        return Trial(command=shown, outcome="breaks", changes=changes, conflicts=clashes, reason=careful)
    kind = judged(careful.packages, careful.removed, installed, packages)
    left = new_conflicts(kind, installed, packages, target)
    if left:
        return Trial(command=shown, outcome="breaks", changes=changes, conflicts=clashes, with_constraints=kind, reason=left[0].says)
    safe = command.shown("-c", "constraints.txt")
    return Trial(command=shown, outcome="breaks", changes=changes, conflicts=clashes, with_constraints=kind, safe=safe)


def _dry_run(host: LocalHost, command: InstallCommand, python: str, constraints_file: str | None) -> Planned | str:
    """The installer's plan, or a sentence that says why there is none."""
    if command.tool == "uv":
        program = find_program("uv", os.environ.get("PATH", os.defpath))
        if program is None:
            return "uv is not on the PATH"
        ran = host.run_child(
            [program, *installer_commands.uv_words(command, python, constraints_file)], timeout=LIMIT, limit=4_000_000, env={}
        )
        if ran.rc == 0:
            return installer_commands.uv_plan(f"{ran.stdout}\n{ran.stderr}")
    else:
        words = installer_commands.pip_words(command, constraints_file)
        ran = host.run_child([python, "-m", "pip", *words], timeout=LIMIT, limit=40_000_000, env={"PIP_RETRIES": "1"})
        if _NO_PIP in ran.stderr:  # uv's environments have no pip; our own pip, if there is one, can resolve for them
            ran = host.run_child(
                [sys.executable, "-m", "pip", "--python", python, *words], timeout=LIMIT, limit=40_000_000, env={"PIP_RETRIES": "1"}
            )
        plan = installer_commands.pip_plan(ran.stdout) if ran.rc == 0 else None
        if plan is not None:
            return plan
    if ran.timed_out:
        return f"{command.tool} gave no answer within {LIMIT:.0f} s"
    output = f"{ran.stdout}\n{ran.stderr}"
    if _NO_PIP in output:
        return "this environment has no pip; try: gpudoctor guard -- uv pip install …"
    if "no such option: --report" in output or "no such option: --dry-run" in output:
        return "its pip is older than 22.2 and has no dry run; try: gpudoctor guard -- uv pip install …"
    return reason(output) or _last(ran.stderr) or f"{command.tool} ended with status {ran.rc}"


def _last(text: str) -> str:
    """The last line that names an error, else the last line; at most 300 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if line.lower().startswith(("error", "×"))), lines[-1] if lines else "")[:300]
