"""The catalogue that `gpudoctor update-checks` installed, and whether it is used instead of the program's own.

It lies in the user's data folder: current.json names the compiled catalogue beside it, whose signature was verified when it was written.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from gpudoctor import __version__
from gpudoctor.knowledge.compiled_catalogue import FORMAT

RECORD = "current.json"
TARGET = f"catalogue-{FORMAT}"
"""The name of what is published: a gpudoctor that reads another format asks for another name."""
_FILE = re.compile(r"[0-9a-f]{16}\.catalogue")


def updates_folder() -> str:
    """The platform's place for a user's data: XDG_DATA_HOME, else ~/.local/share; LOCALAPPDATA on Windows."""
    chosen = os.environ.get("XDG_DATA_HOME")
    if chosen and os.path.isabs(chosen):
        return os.path.join(chosen, "gpudoctor", "checks")
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~"), "gpudoctor", "checks")
    return os.path.join(os.path.expanduser("~"), ".local", "share", "gpudoctor", "checks")


def record() -> Mapping[str, Any] | None:
    """The record of the last update: file, version, made (a date), gpudoctor (the release that made it), source. None where there is none,
    or where it is damaged."""
    try:
        with open(os.path.join(updates_folder(), RECORD), "rb") as file:
            content = file.read(10_000)
    except OSError:
        return None
    from msgspec import DecodeError
    from msgspec.json import decode

    try:
        found = decode(content)
    except DecodeError:
        return None
    known = isinstance(found, dict) and all(isinstance(found.get(key), str) for key in ("file", "version", "made", "gpudoctor", "source"))
    return found if known and _FILE.fullmatch(found["file"]) else None


def current() -> tuple[str, str] | None:
    """The path of the compiled catalogue to use, and when it was made; None where that of the program is newer, or where nothing was
    brought."""
    found = record()
    if found is None or is_older(found["gpudoctor"]):
        return None
    path = os.path.join(updates_folder(), found["file"])
    return (path, found["made"]) if os.path.isfile(path) else None


def is_older(release: str) -> bool:
    """Whether a catalogue made with this release of gpudoctor is older than the program, which then has newer checks itself."""
    return _numbers(release) < _numbers(__version__)


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,6}", release.partition("+")[0])[:4])
