"""The steps that change the content of one file: the former bytes are kept, and what a person has changed since is left alone.

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
"""The content that a file should have, from the settings of its step and its present content; None for no file."""


def kept(path: str, machine: WritableHost, root: bool) -> dict[str, Any]:
    """Content, mode and owner of a file, and the folders above it that do not exist, as JSON."""
    content = machine.read(path, root=root)
    mode = machine.look.mode(path) if content is not None else None
    return {
        "content": None if content is None else base64.b64encode(content).decode(), "mode": bits(mode.mode) if mode else 0o644,
        "owner": f"{mode.uid}:{mode.gid}" if mode and mode.uid is not None else "", "folders": missing_folders(path, machine.look),
    }  # fmt: skip


def missing_folders(path: str, host: Host) -> list[str]:
    """The folders above a path that do not exist, the uppermost first: in this order they are made, and removed in the other."""
    missing, folder = [], posixpath.dirname(path)
    while folder not in ("", "/") and not host.exists(folder):
        missing.append(folder)
        folder = posixpath.dirname(folder)
    return missing[::-1]


def original(before: Settings) -> bytes | None:
    return None if before["content"] is None else base64.b64decode(before["content"])


def bits(mode: str) -> int:
    """The permission bits of a mode as `ls -l` lists it: 0o644 for '-rw-r--r--'."""
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
    """The methods of a kind of step that writes one file, all but `plan`. `content_of` must be a pure function."""

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
        """Does nothing: files are replaced as a whole, and the triggers may run again."""

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
        # The triggers run even where the file is restored already: an undo may have been interrupted before them.
        settled = now == was and not any(machine.look.exists(folder) for folder in before["folders"])
        try:
            together([lambda: put_back(path, before, machine, root=root), lambda: triggers.pull(settings["after"], machine)])
        except NeedsRoot:
            if not settled:
                raise
            # A person did it by hand, with the commands for the file and for the triggers.
        return ()


def checked_after(given: Mapping[str, Any]) -> list[str]:
    """The names in the key `after` of a step. Raises PlanError for an unknown trigger."""
    names = [str(name) for name in given.get("after", ())]
    for name in names:
        if name not in triggers.NAMES:
            raise PlanError(f"after = '{name}' is none of {', '.join(triggers.NAMES)}{did_you_mean(name, triggers.NAMES)}; fix the recipe")
    return names


def checked_path(path: str) -> str:
    """The path. Raises PlanError where it is not absolute or holds '..'."""
    if not path.startswith("/") or posixpath.normpath(path) != path:
        raise PlanError(f"'{path}' is no absolute path without '..'; this is a mistake in the recipe")
    return path


def needs_root(path: str, look: Look) -> bool:
    """Whether only root can write this file: it lies neither in the person's home folder nor in the environment."""
    home = (look.host.env("HOME") or "").rstrip("/")
    own = [folder for folder in (home, look.env.rstrip("/")) if folder]
    return not any(path.startswith(f"{folder}/") for folder in own)


def content_at(host: Host, path: str) -> str | None:
    """The text of a file; None where there is none or it cannot be read."""
    text = host.read(path, limit=4_000_000)
    return text.text if text.ok else None


def trigger_acts(after: list[str], host: Host) -> list[Act]:
    """The commands of the triggers as acts of a plan, by the programs that are seen here."""
    return [Command(argv=command, root=True) for _, command in triggers.commands(after, host)]
