"""What the exports (script, Dockerfile, playbook) have in common: the steps that they contain, and the meaning of their acts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from gpudoctor.model.plan import DONE, IMPOSSIBLE, Command, FileChange, Plan, PlannedStep, Word
from gpudoctor.reporters.shared.shell_text import Unwritable

RESTARTS = {
    "login": "Log out and log in again, so that the new groups hold.",
    "reboot": "Reboot the machine.",
    "wsl": "In PowerShell run: wsl --shutdown; then open the distribution again.",
}


def is_person(step: PlannedStep) -> bool:
    """Whether only a person can do the step."""
    return step.kind == "person"


def obstacles(plan: Plan) -> list[str]:
    """Why an export of this plan does nothing: refusals, and steps that are impossible on this machine."""
    lines = [f"{refusal.title}. {refusal.advice}" for refusal in plan.refusals]
    return lines + [f"Step {step.number} cannot be done: {step.title}. {step.note}" for step in plan.steps if step.state == IMPOSSIBLE]


def to_be_told(plan: Plan) -> Iterator[tuple[str, str]]:
    """The remarks at the head of every export: the kind (archived, warning, remark or source) and the text."""
    yield from (("archived", text) for text in (plan.archived,) if text)
    yield from (("warning", text) for text in plan.warnings)
    yield from (("remark", text) for text in plan.remarks)
    yield from (("source", text) for text in plan.sources)


def restart_of(step: PlannedStep) -> str:
    what = step.settings.get("what")
    return step.restart or (str(what) if step.kind == "reboot" and what in RESTARTS else "")


def groups_of(step: PlannedStep) -> str:
    """The groups that the step adds a person to, such as 'render,video'. An export adds the person who runs it and not the one who
    planned it."""
    groups = step.settings.get("groups") if step.kind == "group" else None
    return ",".join(str(group) for group in groups) if isinstance(groups, (list, tuple)) and step.acts else ""


def own_repository(step: PlannedStep) -> tuple[str, str, str]:
    """The address, the suite and the file of an apt repository; empty texts for other steps. apt refuses a repository that is listed
    twice with different keys."""
    url, suite, path = (str(step.settings.get(name) or "") for name in ("url", "suite", "sources"))
    return (url, suite, path) if step.kind == "apt.repository" and url and suite and path else ("", "", "")


def words_of(step: PlannedStep) -> list[str]:
    return [act.text for act in step.acts if isinstance(act, Word)]


def commands_of(step: PlannedStep) -> list[Command]:
    return [act for act in step.acts if isinstance(act, Command)]


def files_of(step: PlannedStep) -> list[FileChange]:
    return [act for act in step.acts if isinstance(act, FileChange)]


def ready_path(step: PlannedStep) -> str:
    """A path that exists once a person has done what the step asks; empty where there is none."""
    path = step.settings.get("ready_path")
    return path if isinstance(path, str) else ""


def venv_python(plan: Plan, step: PlannedStep) -> str:
    """The interpreter that the venv step creates."""
    path = step.settings.get("path") or step.settings.get("env") or plan.env
    return f"{path}/bin/python" if step.kind == "venv" and isinstance(path, str) and path else ""


ENV_FILE = "gpudoctor-env.sh"
"""The file of an environment step, in the folder of the environment."""


def activation(plan: Plan) -> list[str]:
    """The scripts that must be sourced before the environment is used."""
    if not plan.env:
        return []
    own = f"{plan.env}/{ENV_FILE}"
    written = {file.path for step in plan.steps for file in files_of(step)}
    return [f"{plan.env}/bin/activate", *([own] if own in written and f"{plan.env}/bin/activate" not in written else [])]


def carried(plan: Plan) -> Iterator[PlannedStep]:
    return (step for step in plan.steps if step.state != DONE)


def fingerprint(change: FileChange) -> str:
    """The 40 (or 64) hexadecimal digits of a key, in upper case; empty where the file has no fingerprint."""
    digits = change.fingerprint.replace(" ", "").upper()
    if digits and not re.fullmatch(r"[0-9A-F]{40}|[0-9A-F]{64}", digits):
        raise Unwritable(f"the fingerprint for {change.path} is not 40 hexadecimal digits")
    return digits


def checksum(change: FileChange) -> str:
    digits = change.sha256.strip().lower()
    if digits and not re.fullmatch(r"[0-9a-f]{64}", digits):
        raise Unwritable(f"the SHA-256 for {change.path} is not 64 hexadecimal digits")
    return digits


def pinned(change: FileChange) -> None:
    """Raises Unwritable where a downloaded file has neither a checksum nor a fingerprint."""
    if change.fetched_from and not fingerprint(change) and not checksum(change):
        raise Unwritable(f"{change.path} would be fetched with no fingerprint and no checksum to verify it")


_IGNORED = frozenset({"-y", "--yes", "--assume-yes", "-q", "-qq", "--quiet", "--no-remove", "--install-recommends"})
"""Options of apt-get that do not change what is installed."""


class Apt(Struct, frozen=True):
    """An `apt-get` command all of whose options are understood."""

    action: str
    """install, remove, purge or update."""
    packages: tuple[str, ...] = ()
    recommends: bool = True


def apt(command: Command) -> Apt | None:
    """The parsed command; None for other programs, and for a command with an unknown option."""
    if not command.argv or command.argv[0].rsplit("/", 1)[-1] != "apt-get":
        return None
    rest, action, recommends = list(command.argv[1:]), "", True
    packages: list[str] = []
    while rest:
        text = rest.pop(0)
        if text == "-o" and rest:
            rest.pop(0)
        elif text == "--no-install-recommends":
            recommends = False
        elif text in _IGNORED or text.startswith("-o"):
            continue
        elif not action and text in ("install", "remove", "purge", "update"):
            action = text
        elif not action or text.startswith("-"):
            return None
        else:
            packages.append(text)
    files = any("/" in name for name in packages)  # a .deb of a folder, or package/release
    if not action or files or (not packages and action != "update"):
        return None
    return Apt(action, tuple(packages), recommends)
