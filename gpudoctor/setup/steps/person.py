"""person: what only a person can do, such as a download behind a login or a setting of the firmware. The run stops until it is done."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.model.plan import DONE, Word
from gpudoctor.rules.conditions import parse
from gpudoctor.rules.evaluate import evaluate
from gpudoctor.setup.present_facts import items, truth_of
from gpudoctor.setup.steps._step import Draft, Kind, Look, PlanError, Settings, Waiting
from gpudoctor.system.host import Host
from gpudoctor.system.writable_host import WritableHost

_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")
"""The beginning of an absolute path with slashes, also on Windows."""


def _line(command: str) -> str:
    """A command as a person types it; an address unchanged."""
    return command if command.startswith("https://") else f"$ {command}"


class ManualStep:
    name = "person"
    keys: Mapping[str, type | tuple[type, ...]] = {"text": str, "ready_path": str, "ready": Mapping, "commands": list}
    required: tuple[str, ...] = ("text",)

    def plan(self, given: Settings, look: Look) -> Draft:
        path, ready = str(given.get("ready_path") or ""), given.get("ready")
        if path and not _ABSOLUTE.match(path):
            raise PlanError(f"'{path}' is no absolute path; give the folder with --folder")
        commands = [str(command) for command in given.get("commands", ())]
        settings: dict[str, Any] = {"text": str(given["text"]), "ready_path": path, "ready": ready, "commands": commands}
        if path and matches(path, look.host):
            return Draft(settings=settings, state=DONE, note=f"{matches(path, look.host)[0]} is there")
        if not path and ready is not None and evaluate(parse(ready, "ready", items()), look.facts).truth == "true":
            return Draft(settings=settings, state=DONE, note="it is already done")
        words = (settings["text"], *map(_line, commands))
        return Draft(settings=settings, changes=(settings["text"],), acts=tuple(Word(text=text) for text in words))

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        return {}

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        if self.missing(settings, machine):
            raise Waiting("\n  ".join([settings["text"], *settings["commands"]]))

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Does nothing, since the person acts and not gpudoctor."""

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        return {}

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        """'' where the condition holds; a text without a condition is only meant to be read."""
        if settings["ready_path"]:
            return "" if matches(settings["ready_path"], machine.look) else f"{settings['ready_path']} is not there"
        if settings["ready"] is not None:
            return "" if truth_of(settings["ready"], machine.look) == "true" else "it is not done yet"
        return ""

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        return ()


def matches(pattern: str, host: Host) -> list[str]:
    """The existing paths that match a pattern with * in any of its parts, sorted."""
    found = ["/"]
    for part in pattern.strip("/").split("/"):
        if any(letter in part for letter in "*?["):
            found = [posixpath.join(at, name) for at in found for name in host.listdir(at) if fnmatch.fnmatchcase(name, part)]
        else:
            found = [posixpath.join(at, part) for at in found if host.exists(posixpath.join(at, part))]
    return sorted(found)


KIND: Kind = ManualStep()
