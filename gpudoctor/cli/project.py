"""The project file gpudoctor.toml of the current folder: checks that a project leaves out, each with its reason."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gpudoctor.cli import BadInput

NAME = "gpudoctor.toml"


def ignored(given: Iterable[str], *, project_file: bool = True) -> dict[str, str]:
    """Ids to leave out and why. A recorded machine is judged without this folder's file."""
    reasons = _from_file() if project_file and os.path.isfile(NAME) else {}
    return {**reasons, **dict.fromkeys(given, "--ignore")}


def _from_file() -> dict[str, str]:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[import-not-found,no-redef]
    try:
        with open(NAME, "rb") as file:
            table = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{NAME}: no TOML: {error}") from error
    except OSError as error:
        raise BadInput(f"{NAME}: {error.strerror}") from error
    unknown = sorted(set(table) - {"ignore"})
    if unknown:
        raise BadInput(f"{NAME}: unknown key '{unknown[0]}'; it may hold [ignore] with id = \"reason\"")
    reasons = table.get("ignore", {})
    if not isinstance(reasons, dict) or not all(isinstance(reason, str) and reason.strip() for reason in reasons.values()):
        raise BadInput(f'{NAME}: [ignore] takes id = "reason", and no reason may be empty')
    return reasons
