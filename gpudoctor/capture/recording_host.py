"""A host that records every question and its answer, so that a replay can answer the same questions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host, Mode, Ran, Text

CHILD = "gpudoctor-child"
_OPEN_FILES = lazy(r"/proc/\d{1,10}/fd(?:/\d{1,10})?")
"""The files that other processes have open: their names are private, except for the nodes of GPUs and NPUs."""
_GPU_NODES = ("/dev/dri/", "/dev/accel/")


def child_digest(argv: Sequence[str], stdin_text: str) -> str:
    """A digest of one of our own children by its arguments and input, independent of the paths of its interpreter and our payloads."""
    from hashlib import sha256

    words = [re.sub(r"^.*[\\/]payloads[\\/]", "", word) for word in argv[1:]]
    return sha256("\0".join([*words, stdin_text]).encode("utf-8", "replace")).hexdigest()[:32]


class Recording(Struct):
    """Answers by question. None and False are answers, too: the place was looked at."""

    commands: dict[tuple[str, ...], Ran] = field(default_factory=dict)
    texts: dict[str, Text] = field(default_factory=dict)
    there: dict[str, bool] = field(default_factory=dict)
    folders: dict[str, list[str]] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    reals: dict[str, str] = field(default_factory=dict)
    modes: dict[str, Mode | None] = field(default_factory=dict)
    opens: dict[str, bool | None] = field(default_factory=dict)
    children: dict[tuple[tuple[str, ...], str], Ran] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    distrusted: dict[str, str] = field(default_factory=dict)


DISTRUSTED = "distrusted"
"""Begins an entry of unreadable.toml that says why something was not run (Host.distrust); it may well have been read."""


class RecordingHost:
    """A host that passes questions to `inner` and keeps the answers in `recording`. Thread-safe: each answer is one assignment."""

    def __init__(self, inner: Host) -> None:
        self._inner = inner
        self.recording = Recording()
        self.origin: Literal["live", "capture"] = inner.origin
        self.platform = inner.platform
        self.complete = inner.complete
        self.quick = inner.quick
        self.target_python = inner.target_python
        self.own_environment = getattr(inner, "own_environment", "")
        self.door = getattr(inner, "door", None)
        self.engine = getattr(inner, "engine", None)
        self.in_container = getattr(inner, "in_container", False)
        self.not_python = getattr(inner, "not_python", "")
        self.target_why = getattr(inner, "target_why", "--python")

    def run(self, argv: Sequence[str], *, timeout: float = 5.0, limit: int = 4_000_000) -> Ran:
        ran = self._inner.run(argv, timeout=timeout, limit=limit)
        if not ran.not_recorded:
            self.recording.commands[ran.argv] = ran
        return ran

    def run_child(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], stdin_text: str = "", niced: bool = True
    ) -> Ran:
        ran = self._inner.run_child(argv, timeout=timeout, limit=limit, env=env, stdin_text=stdin_text, niced=niced)
        if not ran.not_recorded:
            self.recording.children[tuple(argv), stdin_text] = ran
        return ran

    def python_environment(self) -> dict[str, Any] | None:
        return self._inner.python_environment()

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        text = self._inner.read(path, limit=limit)
        earlier = self.recording.texts.get(path)
        if text.problem != "not-recorded" and (earlier is None or not earlier.ok):
            self.recording.texts[path] = text
        if text.problem == "io-error" and not self._inner.exists(path):  # a loop of links
            self.recording.there[path] = False
        elif text.problem not in ("missing", "not-recorded"):
            self._note_mode(path)
        return text

    def exists(self, path: str) -> bool:
        found = self._inner.exists(path)
        if found or self._inner.knows(path):
            self.recording.there[path] = found
        if found:
            self._note_mode(path)
        return found

    def knows(self, path: str) -> bool:
        return self._inner.knows(path)

    def listdir(self, path: str) -> list[str]:
        names = self._inner.listdir(path)
        if _OPEN_FILES.fullmatch(path):
            return names
        if names or self._inner.exists(path):
            self.recording.folders[path] = names
        elif self._inner.knows(path):
            self.recording.there[path] = False
        return names

    def readlink(self, path: str) -> str | None:
        target = self._inner.readlink(path)
        if target is not None and (target.startswith(_GPU_NODES) or not _OPEN_FILES.fullmatch(path)):
            self.recording.links[path] = target
        return target

    def realpath(self, path: str) -> str:
        real = self._inner.realpath(path)
        if real != path:
            self.recording.reals[path] = real
        return real

    def _note_mode(self, path: str) -> Mode | None:
        if path not in self.recording.modes:
            self.recording.modes[path] = self._inner.mode(path)
        return self.recording.modes[path]

    def mode(self, path: str) -> Mode | None:
        mode = self._note_mode(path)
        if mode is None and not self._inner.exists(path) and self._inner.knows(path):
            self.recording.there[path] = False
        return mode

    def may_open(self, path: str) -> bool | None:
        allowed = self._inner.may_open(path)
        if self.exists(path):
            self.recording.opens[path] = allowed
        return allowed

    def distrust(self, path: str, *, lies_here: bool = False) -> str:
        why = self._inner.distrust(path, lies_here=lies_here)
        if why:
            self.recording.distrusted[path] = why
        return why

    def env(self, name: str) -> str | None:
        value = self._inner.env(name)
        if value is not None:
            self.recording.environment[name] = value
        return value

    def env_names(self, prefix: str) -> list[str]:
        names = self._inner.env_names(prefix)
        for name in names:
            self.env(name)
        return names

    def remaining(self) -> float:
        return self._inner.remaining()
