"""Writes a recording as a capture: a .tar.gz, a .zip or a folder; whole or not at all, readable by its owner only."""

from __future__ import annotations

import io
import os
import posixpath
import re
import sys
from collections.abc import Collection, Mapping
from typing import Any

from msgspec.structs import replace

from gpudoctor.capture.recording_host import CHILD, DISTRUSTED, Recording, child_digest
from gpudoctor.capture.redacted_capture import redact_entries
from gpudoctor.capture.tables import json_line, json_table, toml
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.privacy.redactor import Redactor
from gpudoctor.system.host import CaptureError, Ran
from gpudoctor.system.system_names import of_this_machine

_LIBRARY = lazy(r"\.so(\.|$)|\.(dll|dylib)$", re.IGNORECASE)


def write_capture(
    recording: Recording,
    path: str,
    python_json: Mapping[str, Any] | None,
    *,
    raw: bool = False,
    platform: str = "linux",
    keep_env: Collection[str] = (),
    redactor: Redactor | None = None,
    recorder: str = "gpudoctor",
    host: str = "linux",
    target: str | None = None,
) -> dict[str, int]:
    """Writes the capture, and returns the number of replacements of each kind. Raises CaptureError where it cannot be written.

    Not raw: every text goes through the redactor, and of the environment only `keep_env` keeps its values.
    """
    hide = redactor or Redactor(of_this_machine())
    entries = capture_entries(recording, python_json, platform=platform, recorder=recorder, host=host, target=target)
    if not raw:
        entries = redact_entries(entries, hide, frozenset(keep_env))
    write_entries(entries, path)
    return {} if raw else dict(hide.counts)


def write_entries(entries: Mapping[str, bytes], path: str) -> None:
    """Writes a folder, a .zip or a .tar.gz, by the suffix of `path`. Raises CaptureError."""
    try:
        if path.endswith("/") or os.path.isdir(path):
            _write_folder(path.rstrip("/") or "/", entries)
        elif path.lower().endswith(".zip"):
            _write_file(path, zipped(entries))
        else:
            _write_file(path, _tar(entries))
    except OSError as error:
        raise CaptureError(f"{path}: cannot be written: {error.strerror or error}") from None


def check_output(path: str) -> None:
    """Raises CaptureError where `path` cannot be written. Called before the examination, which takes long."""
    folder = os.path.dirname(os.path.abspath(path.rstrip("/") or "/"))
    if os.path.isdir(path) and os.listdir(path):
        raise CaptureError(f"{path}: folder is not empty (expected a new one, or a name that ends in .tar.gz or .zip)")
    if not os.path.isdir(folder):
        raise CaptureError(f"{path}: cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise CaptureError(f"{path}: cannot be written: no permission for {folder}")
    if os.path.exists(path) and not os.path.isdir(path) and not os.path.isfile(path):
        raise CaptureError(f"{path}: not a regular file")


def capture_entries(
    recording: Recording,
    python_json: Mapping[str, Any] | None,
    *,
    platform: str = "linux",
    recorder: str = "gpudoctor",
    host: str = "linux",
    target: str | None = None,
    door: Mapping[str, Any] | None = None,
) -> dict[str, bytes]:
    """The files of the capture by relative name, sorted, with everything that was recorded; capture.redacted_capture redacts them."""
    tables = _Tables(platform)
    for path, text in sorted(recording.texts.items()):
        tables.text(path, text.text if text.ok else None, text.problem)
    for path, there in sorted(recording.there.items()):
        if there:
            tables.node(path, (recording.modes.get(path) or _NO_MODE).mode[:1])
        else:
            tables.absent.add(tables.path(path))
    for path, mode in sorted(recording.modes.items()):
        if mode is not None:
            entry: dict[str, Any] = {"mode": mode.mode, "owner": mode.owner, "group": mode.group}
            entry.update({key: value for key, value in (("uid", mode.uid), ("gid", mode.gid)) if value is not None})
            tables.modes[tables.path(path)] = entry
    for path, allowed in sorted(recording.opens.items()):
        if allowed is not None:
            tables.modes.setdefault(tables.path(path), {})["may_open"] = allowed
    folders = {tables.path(path): list(names) for path, names in sorted(recording.folders.items())}
    links = {tables.path(path): target for path, target in sorted(recording.links.items())}
    reals = {tables.path(path): real for path, real in sorted(recording.reals.items())}
    tables.unreadable |= {tables.path(path): f"{DISTRUSTED} {why}" for path, why in sorted(recording.distrusted.items())}
    files = tables.files()
    machine = {"format": 1, "complete": True, "recorder": recorder, "title": "recorded by gpudoctor", "platform": platform, "host": host}
    if target:
        machine["target"] = target
    if door:
        machine["door"] = dict(door)
    children = [replace(ran, argv=(CHILD, child_digest(argv, stdin_text))) for (argv, stdin_text), ran in recording.children.items()]
    commands = sorted([*recording.commands.values(), *children], key=lambda ran: ran.argv)
    wanted: list[tuple[str, bytes | None]] = [
        ("machine.toml", toml(machine)),
        ("absent.toml", toml({"paths": sorted(tables.absent - set(tables.modes))}) if tables.absent else None),
        ("commands.jsonl", b"".join(json_line(_command(ran)) for ran in commands)),
        ("env.toml", toml(recording.environment)),
        ("folders.toml", toml(folders) if folders else None),
        ("links.toml", toml(links) if links else None),
        ("modes.toml", toml(tables.modes) if tables.modes else None),
        ("python.json", None if python_json is None else json_table(dict(python_json))),
        ("realpaths.toml", toml(reals) if reals else None),
        ("unreadable.toml", toml(tables.unreadable) if tables.unreadable else None),
    ]
    entries = {name: content for name, content in wanted if content is not None}
    entries.update(sorted(files.items()))
    return entries


class _NoMode:
    mode = ""


_NO_MODE = _NoMode()


class _Tables:
    """Collects paths and contents in the tables of a capture."""

    def __init__(self, platform: str) -> None:
        self._windows = platform == "windows"
        self._contents: dict[str, str] = {}
        self.modes: dict[str, dict[str, Any]] = {}
        self.unreadable: dict[str, str] = {}
        self.absent: set[str] = set()

    def path(self, path: str) -> str:
        path = path.replace("\\", "/") if self._windows else path
        return posixpath.normpath(path) if path.startswith("/") else path

    def text(self, path: str, content: str | None, problem: str) -> None:
        normal = self.path(path)
        if content is not None:
            self._contents[normal] = content
        elif problem == "missing":
            self.absent.add(normal)
        else:
            self.unreadable[normal] = problem

    def node(self, path: str, kind: str) -> None:
        """Adds a path that exists and was not read: nodes and libraries as empty files; for others, the entry in modes.toml suffices."""
        normal = self.path(path)
        if normal not in self._contents and normal not in self.unreadable and (kind in ("b", "c", "") or _LIBRARY.search(normal)):
            self._contents[normal] = ""

    def files(self) -> dict[str, bytes]:
        """The contents of files/. A path that is also the folder of another one has only an entry in modes.toml."""
        parents = {parent for path in self._contents for parent in _parents(path)}
        found: dict[str, bytes] = {}
        for path, content in self._contents.items():
            relative = path.lstrip("/")
            if path in parents or "\x00" in path or ".." in relative.split("/") or not relative:
                self.modes.setdefault(path, {"mode": "drwxr-xr-x", "owner": "root", "group": "root"})
                continue
            found[f"files/{relative}"] = content.encode("utf-8", "replace")
        return found


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _command(ran: Ran) -> dict[str, Any]:
    entry: dict[str, Any] = {"argv": list(ran.argv)}
    if ran.missing:
        entry["missing"] = True
    elif ran.timed_out:
        entry["timed_out"] = True
    elif ran.signal is not None:
        entry["signal"] = ran.signal
    elif ran.rc is not None:
        entry["rc"] = ran.rc
    if ran.truncated:
        entry["truncated"] = True
    if not ran.missing:
        entry.update(stdout=ran.stdout, stderr=ran.stderr, seconds=round(ran.seconds, 3))
    return entry


# writing


def _tar(entries: Mapping[str, bytes]) -> bytes:
    import gzip
    import tarfile

    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, content in entries.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o600
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def zipped(entries: Mapping[str, bytes]) -> bytes:
    """The bytes of a .zip; equal for equal entries."""
    import zipfile

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            member = zipfile.ZipInfo(name)
            member.external_attr, member.compress_type = 0o600 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
    return packed.getvalue()


def _write_file(path: str, content: bytes) -> None:
    """Writes a temporary file and renames it, so that an interruption leaves the old file or none."""
    import tempfile

    descriptor, temporary = tempfile.mkstemp(prefix=".gpudoctor-", dir=os.path.dirname(os.path.abspath(path)))
    try:
        with os.fdopen(descriptor, "wb") as handle:  # mkstemp makes it 0600
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _write_folder(path: str, entries: Mapping[str, bytes]) -> None:
    import shutil
    import tempfile

    check_output(path)
    temporary = tempfile.mkdtemp(prefix=".gpudoctor-", dir=os.path.dirname(os.path.abspath(path)))
    try:
        for name, content in entries.items():
            if sys.platform == "win32":
                name = re.sub(r"^files/([A-Za-z]):/", r"files/\1/", name)
            target = os.path.join(temporary, name)
            os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
            with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
                handle.write(content)
        if os.path.isdir(path):
            os.rmdir(path)
        os.rename(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
