"""unpack: an archive into a folder of its own."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from gpudoctor.model.plan import Command
from gpudoctor.setup import environment_snapshot as listed
from gpudoctor.setup.file_change import checked_path, missing_folders
from gpudoctor.setup.steps._step import Draft, Kind, Look, Settings
from gpudoctor.setup.steps.person import matches
from gpudoctor.system.writable_host import ActFailed, WritableHost


class Unpack:
    name = "unpack"
    keys: Mapping[str, type | tuple[type, ...]] = {"archive": str, "to": str}
    required: tuple[str, ...] = ("archive", "to")

    def plan(self, given: Settings, look: Look) -> Draft:
        archive, to = checked_path(str(given["archive"])), checked_path(str(given["to"]))
        argv = ("unzip", archive, "-d", to) if archive.endswith(".zip") else ("tar", "-xf", archive, "-C", to)
        acts = (Command(argv=("mkdir", "-p", to)), Command(argv=argv))
        return Draft(settings={"archive": archive, "to": to}, changes=(f"unpacks {posixpath.basename(archive)} into {to}",), acts=acts)

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        to = settings["to"]
        if machine.look.listdir(to):
            raise ActFailed(f"{to} is there and is not empty", "move it away, then gpudoctor setup --resume")
        return {"folders": missing_folders(to, machine.look), "there": machine.look.exists(to)}

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        if machine.look.listdir(settings["to"]):
            return  # the folder appears only when it is complete
        found = matches(settings["archive"], machine.look)
        if len(found) != 1:
            raise ActFailed(
                f"{len(found) or 'no'} files are {settings['archive']}", "leave the one that is meant, then gpudoctor setup --resume"
            )
        for folder in before["folders"]:
            machine.make_folder(folder)
        machine.unpack(found[0], settings["to"])

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        machine.remove_tree(f"{settings['to']}.part")

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        return {"files": listed.packed(machine.list_tree(settings["to"]))}

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        return "" if machine.look.listdir(settings["to"]) else f"{settings['to']} is not there"

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        to = settings["to"]
        machine.remove_tree(f"{to}.part")
        ours = listed.unpacked(after["files"]) if after else None
        extra = listed.added(machine.list_tree(to), ours) if ours is not None else []
        if extra:
            return (f"{to} is kept: it holds what came since ({listed.described(extra)}); rm -r {to} removes it",)
        if machine.look.exists(to):
            machine.remove_tree(_leaving(to))
            machine.rename(to, _leaving(to))
        machine.remove_tree(_leaving(to))
        if before["there"]:
            machine.make_folder(to)
        for folder in reversed(before["folders"]):
            machine.remove_empty_folder(folder)
        return ()


def _leaving(to: str) -> str:
    return f"{to}.gpudoctor-gone"


KIND: Kind = Unpack()
