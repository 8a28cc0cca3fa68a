"""The steps that give one file another content: what it was is kept byte for byte, and what a person changed since is left alone.

Settings of such a step: path, root, after (triggers), and what its `content_of` needs.
"""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gpudoctor.model.plan import Act, Command
from gpudoctor.rules.conditions import did_you_mean
from gpudoctor.setup import triggers
from gpudoctor.setup.steps._step import Look, PlanError, Settings
from gpudoctor.setup.sudo_batch import together
from gpudoctor.system.host import Host
from gpudoctor.system.writable_host import NeedsRoot, WritableHost

ContentOf = Callable[[Settings, bytes | None], bytes | None]
"""The content that a file shall have, from what it has; None: no file."""


def kept(path: str, machine: WritableHost, root: bool) -> dict[str, Any]:
    """Content, mode and owner of a file, and which folders above it are missing. JSON."""
    content = machine.read(path, root=root)
    mode = machine.look.mode(path) if content is not None else None
    missing, folder = [], posixpath.dirname(path)
    while folder not in ("", "/") and not machine.look.exists(folder):
        missing.append(folder)
        folder = posixpath.dirname(folder)
    return {
        "content": None if content is None else base64.b64encode(content).decode(), "mode": bits(mode.mode) if mode else 0o644,
        "owner": f"{mode.uid}:{mode.gid}" if mode and mode.uid is not None else "", "folders": missing[::-1],
    }  # fmt: skip


def original(before: Settings) -> bytes | None:
    return None if before["content"] is None else base64.b64decode(before["content"])


def bits(mode: str) -> int:
    """The permission bits of a listed mode: 0o644 of '-rw-r--r--'."""
    value = 0
    for place, letter in enumerate(mode[1:10]):
        if letter not in "-ST":
            value |= 1 << (8 - place)
        if letter in "sStT":
            value |= {2: 0o4000, 5: 0o2000, 8: 0o1000}[place]
    return value


def put(path: str, content: bytes, before: Settings, machine: WritableHost, *, mode: int, root: bool) -> None:
    folders = [partial(machine.make_folder, folder, root=root) for folder in before["folders"]]
    together([*folders, lambda: machine.write(path, content, mode=mode, root=root)])


def put_back(path: str, before: Settings, machine: WritableHost, *, root: bool) -> None:
    was = original(before)
    if was is not None:
        owner = before["owner"] if before["owner"] and (root or machine.is_root) else None
        machine.write(path, was, mode=before["mode"], root=root, owner=owner)
        return
    folders = [partial(machine.remove_empty_folder, folder, root=root) for folder in reversed(before["folders"])]
    together([lambda: machine.remove(path, root=root), *folders])


class OneFile:
    """before, apply, recover, after, missing and undo of such a step. `content_of` is pure."""

    def __init__(self, content_of: ContentOf) -> None:
        self._content_of = content_of

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        return kept(settings["path"], machine, settings["root"])

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        path, root, was = settings["path"], settings["root"], original(before)
        wanted = self._content_of(settings, was)
        acts: list[Callable[[], object]] = [lambda: triggers.pull(settings["after"], machine)]
        if wanted is not None and machine.read(path, root=root) != wanted:
            mode = settings.get("mode", before["mode"])
            acts.insert(0, lambda: put(path, wanted, before, machine, mode=mode, root=root))
        together(acts)

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Files are replaced as a whole, and the triggers may be run again: nothing is in the way."""

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        return {}

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        path = settings["path"]
        now = machine.read(path, root=settings["root"])
        wanted = self._content_of(settings, now)
        if wanted == now:
            return ""
        return f"{path} is not there" if now is None else f"{path} is not as it should be"

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        path, root, was = settings["path"], settings["root"], original(before)
        now, ours = machine.read(path, root=root), self._content_of(settings, was)
        if now not in (was, ours):
            if now is None:
                return (f"{path} was removed since: it stays so",)
            remove = (
                f"sudo rm {path} removes it"
                if root and was is None
                else f"rm {path} removes it"
                if was is None
                else "see what is still needed of it"
            )
            return (f"{path} is kept: it was changed since; {remove}",)
        # The triggers run also where only they are left to do: an undo may have been cut off before them.
        settled = now == was and not any(machine.look.exists(folder) for folder in before["folders"])
        try:
            together([lambda: put_back(path, before, machine, root=root), lambda: triggers.pull(settings["after"], machine)])
        except NeedsRoot:
            if not settled:
                raise
            # A person did it by hand, and was told the triggers together with the file.
        return ()


def checked_after(given: Mapping[str, Any]) -> list[str]:
    """The key `after`. Raises PlanError for an unknown trigger."""
    names = [str(name) for name in given.get("after", ())]
    for name in names:
        if name not in triggers.NAMES:
            raise PlanError(f"after = '{name}' is none of {', '.join(triggers.NAMES)}{did_you_mean(name, triggers.NAMES)}; fix the recipe")
    return names


def checked_path(path: str) -> str:
    """Raises PlanError for a path that is not absolute or climbs."""
    if not path.startswith("/") or posixpath.normpath(path) != path:
        raise PlanError(f"'{path}' is no absolute path without '..'; this is a mistake in the recipe")
    return path


def needs_root(path: str, look: Look) -> bool:
    """Whether a file of the system is meant, not one of this person's."""
    home = (look.host.env("HOME") or "").rstrip("/")
    own = [folder for folder in (home, look.env.rstrip("/")) if folder]
    return not any(path.startswith(f"{folder}/") for folder in own)


def content_at(host: Host, path: str) -> str | None:
    """What a file holds; None where there is none, or nobody could look."""
    text = host.read(path, limit=4_000_000)
    return text.text if text.ok else None


def trigger_acts(after: list[str], host: Host) -> list[Act]:
    """For a plan: as far as it can be seen which programs are here."""
    return [Command(argv=command, root=True) for _, command in triggers.commands(after, host)]
