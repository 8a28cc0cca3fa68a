"""download: one file from an address, with a known checksum."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.model.plan import FileChange
from gpudoctor.setup.file_change import checked_path, missing_folders
from gpudoctor.setup.packages.pip_command import address
from gpudoctor.setup.steps._step import Draft, Kind, Look, PlanError, Settings
from gpudoctor.system.writable_host import ActFailed, WritableHost


class Download:
    """settings: url, sha256, to, file (its path in an offline bundle, or '')."""

    name = "download"
    keys: Mapping[str, type | tuple[type, ...]] = {"address": str, "path": str, "sha256": str, "to": str}
    required: tuple[str, ...] = ("address", "path", "sha256", "to")

    def plan(self, given: Settings, look: Look) -> Draft:
        digest, below, to = str(given["sha256"]).lower(), str(given["path"]).strip("/"), checked_path(str(given["to"]))
        if not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise PlanError(f"sha256 = '{digest}' is no SHA-256; nothing is downloaded without one, this is a mistake in the recipe")
        if not below or ".." in below.split("/"):
            raise PlanError(f"path = '{below}' is no path below an address; this is a mistake in the recipe")
        # Plain http is allowed here, since the checksum is known.
        url = address(f"{given['address']}/{below}", look, checksum=True)
        bundle = str(look.options.get("bundle") or "").rstrip("/")
        file = f"{bundle}/downloads/{posixpath.basename(below)}" if bundle else ""
        settings: dict[str, Any] = {"url": url, "sha256": digest, "to": to, "file": file}
        act = FileChange(path=to, fetched_from=settings["file"] or url, sha256=digest)
        return Draft(settings=settings, changes=(f"downloads {posixpath.basename(below)} as {to}",), acts=(act,))

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        return {"sha256": _digest(settings["to"], machine), "folders": missing_folders(settings["to"], machine.look)}

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        to = settings["to"]
        there = _digest(to, machine)
        if there == settings["sha256"]:
            return
        if there and before["sha256"]:
            raise ActFailed(f"{to} is there and is another file", "move it away, then gpudoctor setup --resume")
        for folder in before["folders"]:
            machine.make_folder(folder)
        if not settings["file"]:
            machine.download(settings["url"], to, sha256=settings["sha256"])
            return
        if not machine.look.exists(settings["file"]):
            raise ActFailed(f"{settings['file']} is not in the bundle", "make the bundle again, on a machine with a network")
        if _digest(settings["file"], machine) != settings["sha256"]:
            raise ActFailed(f"{settings['file']} has another checksum than it must have", "make the bundle again")
        machine.run(["cp", "--", settings["file"], to])

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """A download continues where it stopped; an incomplete copy is removed."""
        if settings["file"] and not before["sha256"] and _digest(settings["to"], machine) != settings["sha256"]:
            machine.remove(settings["to"])

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        return {}

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        there = _digest(settings["to"], machine)
        if there == settings["sha256"]:
            return ""
        return f"{settings['to']} has another checksum than it must have" if there else f"{settings['to']} is not there"

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        to = settings["to"]
        if before["sha256"]:
            return ()
        there = _digest(to, machine)
        if there and there != settings["sha256"] and after is not None:
            return (f"{to} is kept: it was changed since; rm {to} removes it",)
        machine.remove(to)
        for folder in reversed(before["folders"]):
            machine.remove_empty_folder(folder)
        return ()


def _digest(path: str, machine: WritableHost) -> str:
    """The SHA-256 of a file; '' where there is none. Raises ActFailed where it cannot be read."""
    if not machine.look.exists(path):
        return ""
    done = machine.ask(["sha256sum", "--", path], limit=3600.0)
    found = re.match(r"\\?([0-9a-f]{64}) ", done.output)
    if done.rc != 0 or not found:
        raise ActFailed(f"{path} cannot be read", "see whose it is")
    return found[1]


KIND: Kind = Download()
