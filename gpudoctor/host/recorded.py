"""A recorded machine (capture v1) behind the same door as a live one. Nothing in it is executed or followed outside.

Beside the files of the contract, captures that gpudoctor itself made may hold (all optional, all about being exact):
`absent.toml`   `paths = [...]`: somebody looked there, and nothing was there;
`folders.toml`  `"/dev/dri" = ["card0", "renderD128"]`: the whole listing of a folder that was asked for;
`realpaths.toml` `"/asked/path" = "/where/it/leads"`;
`modes.toml`    an entry may say `may_open = true`, what the kernel answered (ACLs included).
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gpudoctor.host.access import acl_marked, listed_modes, may_open_by_mode, parse_id
from gpudoctor.host.base import Mode, Problem, Ran, Text
from gpudoctor.host.stores import MAX_FILE, CaptureError, Store, open_store

__all__ = ["CaptureError", "RecordedHost", "open_recorded"]

PLATFORMS = ("linux", "wsl2", "windows", "macos", "container")
_MAX_HOPS = 40
_PROBLEMS: dict[str, Problem] = {"denied": "denied", "io-error": "io-error", "too-large": "too-large", "missing": "missing"}
_DRIVE = re.compile(r"^/?([A-Za-z]):(?=/|$)")


def open_recorded(path: str, *, quick: bool = False, budget: float = 30.0) -> RecordedHost:
    """The machine in a folder, .tar.gz or .zip. Raises CaptureError with one line where it cannot be read."""
    return RecordedHost(open_store(path), quick=quick, budget=budget)


class RecordedHost:
    """Answers from a capture. Complete captures say 'not recorded' for what they lack; others say 'not there'."""

    origin: Literal["live", "capture"] = "capture"

    def __init__(self, store: Store, *, quick: bool = False, budget: float = 30.0) -> None:
        self._store = store
        self.quick = quick
        self._budget = budget
        machine = _toml(store, "machine.toml", required=True)
        if machine.get("format") != 1:
            raise CaptureError(f"{store.where}: machine.toml: format is {machine.get('format')!r}, expected 1")
        self.machine: Mapping[str, Any] = machine
        self.complete = _typed(store, "machine.toml", "complete", machine.get("complete", False), bool)
        self.platform = _typed(store, "machine.toml", "platform", machine.get("platform", "linux"), str)
        if self.platform not in PLATFORMS:
            raise CaptureError(f"{store.where}: machine.toml: platform is {self.platform[:40]!r}, expected one of {', '.join(PLATFORMS)}")
        self.title = str(machine.get("title", ""))
        self.python: dict[str, Any] | None = _python(store)
        self._commands = _commands(store)
        self._env = {name: _typed(store, "env.toml", name, value, str) for name, value in _toml(store, "env.toml").items()}
        self._files: dict[str, str] = {}
        self._unreadable: dict[str, str] = {}
        self._folded: dict[str, str] = {}
        self._children: dict[str, set[str]] = {"/": set()}
        self._holds_files: set[str] = set()
        self._index()
        user = self._commands.get(("id",))
        self._who = parse_id(user.stdout) if user is not None and user.rc == 0 else None
        self._listed: dict[str, Mode] | None = None

    def _index(self) -> None:
        store = self._store
        links = {self._norm(k): _typed(store, "links.toml", k, v, str) for k, v in _toml(store, "links.toml").items()}
        for name, target in store.links().items():
            if name.startswith("files/"):
                links.setdefault(self._norm(name[5:]), target)
        for name in store.names():
            if name.startswith("files/"):
                self._files[self._norm(name[5:])] = name
        self._links = links
        self._modes: dict[str, Mapping[str, Any]] = {}
        for key, value in _toml(store, "modes.toml").items():
            self._modes[self._norm(key)] = _typed(store, "modes.toml", key, value, dict)
        for key, value in _toml(store, "unreadable.toml").items():
            self._unreadable[self._norm(key)] = _typed(store, "unreadable.toml", key, value, str)
        self._folders: dict[str, list[str]] = {}
        for key, value in _toml(store, "folders.toml").items():
            listing = _typed(store, "folders.toml", key, value, list)
            self._folders[self._norm(key)] = [str(name) for name in listing]
        absent = _typed(store, "absent.toml", "paths", _toml(store, "absent.toml").get("paths", []), list)
        self._absent = {self._norm(str(path)) for path in absent}
        self._realpaths = {self._norm(k): str(v) for k, v in _toml(store, "realpaths.toml").items()}
        for path in (*self._files, *links, *self._modes):
            self._adopt(path)
        for path in self._unreadable:
            if self._unreadable[path] != "missing":
                self._adopt(path)
        for path in self._folders:
            self._adopt(posixpath.join(path, "."), leaf=False)

    def _adopt(self, path: str, leaf: bool = True) -> None:
        """Make the path a child of its folder, and its folders folders."""
        folder, _, name = path.rpartition("/")
        folder = folder or "/"
        if leaf:
            self._children.setdefault(folder, set()).add(name)
            self._holds_files.add(folder)
            if self.platform == "windows":
                self._folded.setdefault(path.lower(), path)
        while folder != "/":
            self._children.setdefault(folder, set())
            if self.platform == "windows":
                self._folded.setdefault(folder.lower(), folder)
            folder, _, name = folder.rpartition("/")
            folder = folder or "/"
            siblings = self._children.setdefault(folder, set())
            if name in siblings:
                break
            siblings.add(name)

    def _norm(self, path: str) -> str:
        """One spelling: absolute, no '..', drives as `/C:/…`; on Windows `files/C/…` is the drive C."""
        if self.platform == "windows" or _DRIVE.match(path):
            path = path.replace("\\", "/")
        path = posixpath.normpath("/" + path.lstrip("/"))
        drive = _DRIVE.match(path)
        if drive:
            return f"/{drive[1].upper()}:{path[drive.end() :]}"
        if self.platform == "windows" and re.match(r"^/[A-Za-z](/|$)", path):
            return f"/{path[1].upper()}:{path[2:]}"
        return path

    def _resolve(self, path: str) -> str | None:
        """Where a path leads; None for a loop. What is recorded under the very path wins over following its links."""
        path = self._norm(path)
        for _ in range(_MAX_HOPS):
            if path in self._files or path in self._unreadable or path in self._folders or self._children.get(path):
                return path
            followed = self._follow_one(path)
            if followed is None:
                return self._folded.get(path.lower(), path) if self.platform == "windows" else path
            if len(followed) > 65536:
                return None
            path = followed
        return None

    def _follow_one(self, path: str) -> str | None:
        at = 0
        while at >= 0:
            at = path.find("/", at + 1)
            prefix = path if at < 0 else path[:at]
            target = self._links.get(prefix)
            if target is not None:
                rest = "" if at < 0 else path[at:]
                start = target if target.startswith("/") or _DRIVE.match(target) else posixpath.join(posixpath.dirname(prefix), target)
                return self._norm(start + rest)
        return None

    def _is_there(self, resolved: str | None) -> bool:
        if resolved is None or resolved in self._absent:
            return False
        return resolved in self._files or resolved in self._children or resolved in self._modes or resolved in self._blocked()

    def _blocked(self) -> dict[str, str]:
        return {path: why for path, why in self._unreadable.items() if why != "missing"} if self._unreadable else {}

    def _knows_missing(self, resolved: str) -> bool:
        """Whether 'it is not there' may be believed of a path that nothing records."""
        if resolved in self._absent:
            return True
        folder = posixpath.dirname(resolved)
        if folder in self._folders or (not self.complete and self._children.get(folder)):
            return True
        # A folder above it that holds recorded files, and not the next step of this path.
        while folder != "/":
            folder = posixpath.dirname(folder)
            if folder in self._children:
                return folder in self._folders or (not self.complete and folder in self._holds_files)
            if folder in self._absent:
                return True
        return any(resolved.startswith(path.rstrip("/") + "/") for path in self._absent)

    # what a Host answers

    def run(self, argv: Sequence[str], *, timeout: float = 5.0, limit: int = 4_000_000) -> Ran:
        key = tuple(argv)
        if self.quick:
            return Ran(key, not_recorded=True)
        found = self._commands.get(key)
        if found is None:
            return Ran(key, not_recorded=True) if self.complete else Ran(key, missing=True)
        if len(found.stdout) > limit:
            return Ran(key, rc=None, stdout=found.stdout[:limit], stderr=found.stderr, truncated=True, seconds=found.seconds)
        return found

    def run_child(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], stdin_text: str = "", niced: bool = True
    ) -> Ran:
        """A recorded machine runs nothing; what its frameworks said is in `python_environment()`."""
        return Ran(tuple(argv), not_recorded=True)

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        resolved = self._resolve(path)
        if resolved is None:
            return Text(problem="io-error")
        why = self._unreadable.get(resolved)
        if why is not None:
            return Text(problem=_PROBLEMS.get(why, "io-error"))
        name = self._files.get(resolved)
        if name is None:
            if self._is_there(resolved):
                return Text(problem="io-error" if resolved in self._children else "not-recorded")
            return Text(problem="missing" if self._knows_missing(resolved) else "not-recorded")
        size = self._store.size(name)
        if size < 0:
            return Text(problem="io-error")
        if size > limit:
            return Text(problem="too-large")
        content = self._store.read(name, limit + 1)
        return Text(problem="io-error") if content is None else Text(content.decode("utf-8", "replace"))

    def exists(self, path: str) -> bool:
        return self._is_there(self._resolve(path))

    def knows(self, path: str) -> bool:
        """False where `exists`, `listdir` and `mode` say no only because nobody recorded it."""
        resolved = self._resolve(path)
        return resolved is not None and (self._is_there(resolved) or self._knows_missing(resolved))

    def listdir(self, path: str) -> list[str]:
        resolved = self._resolve(path)
        if resolved is None:
            return []
        if resolved in self._folders:
            return sorted(self._folders[resolved])
        return sorted(self._children.get(resolved, ()))

    def readlink(self, path: str) -> str | None:
        normal = self._norm(path)
        if normal in self._links:
            return self._links[normal]
        folder = self._resolve(posixpath.dirname(normal))
        return None if folder is None else self._links.get(posixpath.join(folder, posixpath.basename(normal)))

    def realpath(self, path: str) -> str:
        said = self._realpaths.get(self._norm(path))
        if said is not None:
            return said
        resolved = self._resolve(path)
        if resolved is None:
            return path
        return resolved[1:] if _DRIVE.match(resolved) else resolved

    def mode(self, path: str) -> Mode | None:
        resolved = self._resolve(path)
        entry = self._modes.get(resolved or "")
        if entry is None:
            return self._from_listings().get(resolved or "")
        uid, gid = entry.get("uid"), entry.get("gid")
        return Mode(
            str(entry.get("mode", "")),
            str(entry.get("owner", "")),
            str(entry.get("group", "")),
            uid if isinstance(uid, int) else None,
            gid if isinstance(gid, int) else None,
        )

    def _from_listings(self) -> dict[str, Mode]:
        if self._listed is None:
            self._listed = listed_modes(self._commands.values())
        return self._listed

    def may_open(self, path: str) -> bool | None:
        resolved = self._resolve(path)
        if resolved is None or not self._is_there(resolved):
            return None
        said = self._modes.get(resolved, {}).get("may_open")
        if isinstance(said, bool):
            return said
        mode = self.mode(resolved)
        if mode is None:
            return None
        listed = self._from_listings().get(resolved)
        return may_open_by_mode(mode, self._who, acl=acl_marked(mode) or (listed is not None and acl_marked(listed)))

    def env(self, name: str) -> str | None:
        if self.platform == "windows":
            return {key.upper(): value for key, value in self._env.items()}.get(name.upper())
        return self._env.get(name)

    def env_names(self, prefix: str) -> list[str]:
        if self.platform == "windows":
            return sorted(name for name in self._env if name.upper().startswith(prefix.upper()))
        return sorted(name for name in self._env if name.startswith(prefix))

    def remaining(self) -> float:
        return self._budget

    def python_environment(self) -> dict[str, Any] | None:
        """What the capture says of the target environment (python.json)."""
        return self.python


def _bytes(store: Store, name: str, required: bool = False) -> bytes | None:
    if name in store.links():
        raise CaptureError(f"{store.where}: {name} is a link, expected a file")
    if store.size(name) < 0:
        if required:
            raise CaptureError(f"{store.where}: not a capture: {name} is missing")
        return None
    content = store.read(name, MAX_FILE + 1)
    if content is None:
        raise CaptureError(f"{store.where}: {name} cannot be read")
    if len(content) > MAX_FILE:
        raise CaptureError(f"{store.where}: {name} is larger than {MAX_FILE >> 20} MiB")
    return content


def _toml(store: Store, name: str, required: bool = False) -> dict[str, Any]:
    content = _bytes(store, name, required)
    if content is None:
        return {}
    from gpudoctor.host._toml import loads

    try:
        return loads(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"{store.where}: {name}: {(str(error).splitlines() or ['not TOML'])[0][:200]} (expected TOML)") from None


def _json(store: Store, name: str, text: str, at: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = (str(error).splitlines() or ["not JSON"])[0][:200]
        raise CaptureError(f"{store.where}: {name}{at}: {reason} (expected JSON)") from None


def _python(store: Store) -> dict[str, Any] | None:
    content = _bytes(store, "python.json")
    if content is None:
        return None
    value = _printable(_json(store, "python.json", content.decode("utf-8", "replace"), ""))
    if value is not None and not isinstance(value, dict):
        raise CaptureError(f"{store.where}: python.json: a {type(value).__name__}, expected an object")
    return value


def _commands(store: Store) -> dict[tuple[str, ...], Ran]:
    content = _bytes(store, "commands.jsonl")
    found: dict[tuple[str, ...], Ran] = {}
    for number, line in enumerate((content or b"").split(b"\n"), 1):
        if not line.strip():
            continue
        at = f" line {number}"
        entry = _printable(_json(store, "commands.jsonl", line.decode("utf-8", "replace"), at))
        ran = _ran(entry)
        if isinstance(ran, str):
            raise CaptureError(f"{store.where}: commands.jsonl{at}: {ran}")
        found[ran.argv] = ran
    return found


def _ran(entry: Any) -> Ran | str:
    """The command of one line, or what is wrong with the line."""
    if not isinstance(entry, dict):
        return f"a {type(entry).__name__}, expected an object"
    argv = entry.get("argv")
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
        return "argv is not a list of text"
    for key, kinds in (("rc", int), ("signal", int), ("stdout", str), ("stderr", str), ("seconds", (int, float))):
        if entry.get(key) is not None and (not isinstance(entry[key], kinds) or isinstance(entry[key], bool)):
            return f"{key} is {str(entry[key])[:40]!r}, expected {'a number' if kinds is not str else 'text'}"
    missing, timed_out, signal = entry.get("missing") is True, entry.get("timed_out") is True, entry.get("signal")
    rc = None if missing or timed_out or signal is not None else entry.get("rc")
    if rc is None and not missing and not timed_out and signal is None and entry.get("truncated") is not True:
        return "neither rc nor missing, timed_out or signal"
    return Ran(
        tuple(argv),
        rc=rc,
        stdout=entry.get("stdout") or "",
        stderr=entry.get("stderr") or "",
        missing=missing,
        timed_out=timed_out,
        signal=signal,
        truncated=entry.get("truncated") is True,
        seconds=float(entry.get("seconds") or 0.0),
    )


def _printable(value: Any) -> Any:
    """The same without lone surrogates, which JSON can hold and nothing can print."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_printable(item) for item in value]
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    return value


def _typed(store: Store, name: str, key: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        words = {bool: "true or false", str: "text", dict: "a table", list: "a list"}
        raise CaptureError(f"{store.where}: {name}: {key[:120]} is {str(value)[:40]!r}, expected {words[kind]}")
    return value
