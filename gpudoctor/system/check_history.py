"""The last reports of `check` on this machine: a few small private files, which are written atomically."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.state_folder import state_folder, write_private

MOST = 40
MOST_BYTES = 8_000_000
LARGEST = 64_000_000
"""The most bytes of one report when unpacked: a larger file was not written here."""
_NAME = lazy(r"(\d{8}T\d{6})Z-([0-9a-f]{12})-(healthy|unhealthy)-([0-9a-f]{8})\.json\.gz")


class Kept(Struct, frozen=True):
    """One run. `target`: the environment and machine (`target_of`); `healthy`: no error was found and nothing was left out."""

    path: Path
    created: str
    """The time of the run (UTC): 2026-11-20T10:00:00Z."""
    target: str
    healthy: bool
    size: int


class History:
    """The folder `history` of the state folder. Errors of the disk are never raised, since a check works without a history."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or state_folder() / "history"

    def keep(self, report: Mapping[str, Any], *, target: str, healthy: bool) -> bool:
        """Writes a report (JSON values) and returns whether it could. A run that found the same as the last one of its target replaces
        it."""
        stamp, digest = str(report.get("created", "")), _digest(report)
        moment = re.sub(r"[-:]", "", stamp).rstrip("Z")
        name = f"{moment}Z-{target}-{'healthy' if healthy else 'unhealthy'}-{digest}.json.gz"
        if not _NAME.fullmatch(name):
            return False
        import gzip  # imported here, since a quick check keeps nothing

        try:
            write_private(self.folder / name, gzip.compress(json.dumps(report).encode(), 3, mtime=0))
        except OSError:
            return False
        same = [kept for kept in self.list() if kept.target == target and kept.path.name != name]
        if same and f"-{digest}." in same[0].path.name and same[0].healthy == healthy:
            _remove(same[0].path)
        self._prune()
        return True

    def list(self) -> list[Kept]:
        """The reports that are kept, the newest first."""
        found = []
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder):
                parts = _NAME.fullmatch(entry.name)
                if parts is None or not entry.is_file(follow_symlinks=False):
                    continue
                with contextlib.suppress(OSError):
                    size = entry.stat(follow_symlinks=False).st_size
                    found.append(Kept(Path(entry.path), _moment(parts[1]), parts[2], parts[3] == "healthy", size))
        return sorted(found, key=lambda kept: kept.path.name, reverse=True)

    def read(self, kept: Kept) -> dict[str, Any] | None:
        """The report of a run; None where its file is damaged or missing."""
        import gzip

        try:
            with gzip.open(kept.path, "rb") as file:
                content = file.read(LARGEST + 1)
            found = json.loads(content) if len(content) <= LARGEST else None
        except (OSError, ValueError, EOFError, zlib.error, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def last_healthy(self, target: str) -> tuple[Kept, dict[str, Any]] | None:
        for kept in self.list():
            if kept.target == target and kept.healthy and (report := self.read(kept)) is not None:
                return kept, report
        return None

    def _prune(self) -> None:
        """Removes the oldest runs, but the last healthy run of each target only after all others, since comparisons need it."""
        kept = self.list()
        healthy: dict[str, Kept] = {}
        for each in kept:
            if each.healthy:
                healthy.setdefault(each.target, each)
        dear = {each.path for each in healthy.values()}
        order = sorted(kept, key=lambda each: each.path not in dear)  # the sort is stable: both groups keep the newest first
        whole = 0
        for number, each in enumerate(order, 1):
            whole += each.size
            if number > MOST or whole > MOST_BYTES:
                _remove(each.path)
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder):  # a run that was killed while it wrote has left these files
                if entry.name.startswith(".new-") and time.time() - entry.stat(follow_symlinks=False).st_mtime > 3600:
                    _remove(Path(entry.path))


def target_of(executable: str) -> str:
    """The name of an environment of this machine. It depends on the host name too, since machines may share a home folder."""
    return hashlib.sha256(f"{platform.node()}\0{executable}".encode("utf-8", "replace")).hexdigest()[:12]


_FLEETING = ("disk", "memory", "cwd", "mounts", "dataset")


def _digest(report: Mapping[str, Any]) -> str:
    """A checksum of what a report found, without facts that differ at each run (_FLEETING)."""
    facts = report.get("facts")
    steady = {name: value for name, value in facts.items() if name not in _FLEETING} if isinstance(facts, Mapping) else {}
    keys = [finding.get("key") for finding in report.get("findings") or () if isinstance(finding, Mapping)]
    words = json.dumps([steady, keys, report.get("catalogue"), report.get("incomplete")], sort_keys=True, default=str)
    return hashlib.sha256(words.encode()).hexdigest()[:8]


def _moment(text: str) -> str:
    return f"{text[:4]}-{text[4:6]}-{text[6:8]}T{text[9:11]}:{text[11:13]}:{text[13:15]}Z"


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
