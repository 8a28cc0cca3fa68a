"""Settings in files: gpudoctor.toml of the current folder (checks to leave out), config.toml of the site and of the person."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from gpudoctor.cli import BadInput

NAME = "gpudoctor.toml"
LARGEST = 1 << 20
SITE = "/etc/gpudoctor/config.toml"
_SETTINGS = ("mirrors", "history")


def ignored(given: Iterable[str], *, project_file: bool = True) -> dict[str, str]:
    """The ids to leave out, with the reasons. For a recorded machine the file of the current folder is not read."""
    reasons = _table(NAME).get("ignore", {}) if project_file else {}
    if not isinstance(reasons, dict) or not all(isinstance(reason, str) and reason.strip() for reason in reasons.values()):
        raise BadInput(f'{NAME}: [ignore] takes id = "reason", and no reason may be empty')
    return {**reasons, **dict.fromkeys(given, "--ignore")}


def mirrors() -> dict[str, Any]:
    """The table [mirrors] of the site's config.toml, then of the person's, which overrides it.

    The current folder is never read: a downloaded project must not decide where packages and their keys come from.
    """
    found: dict[str, Any] = {}
    for path in (SITE, _config()):
        table = _table(path, _SETTINGS).get("mirrors", {})
        if not isinstance(table, dict):
            raise BadInput(f'{path}: mirrors: expected a table [mirrors] with NAME = "url"')
        found.update(table)
    return found


def keeps_history() -> bool:
    """Whether `check` saves its runs for `diff`: `keep` of [history]; the person's setting overrides the site's."""
    keep = True
    for path in (SITE, _config()):
        table = _table(path, _SETTINGS).get("history", {})
        if not isinstance(table, dict) or not isinstance(table.get("keep", True), bool) or set(table) - {"keep"}:
            raise BadInput(f"{path}: [history] takes keep = true or false")
        keep = table.get("keep", keep)
    return keep


def _config() -> str:
    root = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(root, "gpudoctor", "config.toml")


def _table(path: str, keys: tuple[str, ...] = ("ignore",)) -> dict[str, Any]:
    """The content of a file; empty where it does not exist."""
    if not os.path.isfile(path):
        return {}
    from gpudoctor.model import toml_text

    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise BadInput(f"{path}: it is larger than {LARGEST >> 20} MiB, which no configuration of gpudoctor is; make it shorter")
        table = toml_text.loads(content.decode())
    except ValueError as error:
        raise BadInput(f"{path}: no TOML: {error}") from error
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error
    unknown = sorted(set(table) - set(keys))
    if unknown:
        form = '[ignore] with id = "reason"' if keys == ("ignore",) else '[mirrors] with NAME = "url", [history] with keep = false'
        raise BadInput(f"{path}: unknown key '{unknown[0]}'; it may hold {form}")
    return table
