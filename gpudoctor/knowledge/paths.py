"""Where the knowledge base lies: beside the package in a checkout, inside it, compiled, in a wheel."""

from __future__ import annotations

import os
from pathlib import Path

REDIRECTS = "redirects.toml"
"""The file, in a folder of checks, with the successors of removed ids."""
PACKAGE = Path(__file__).resolve().parent.parent
COMPILED = PACKAGE / "data" / "catalogue"
RECIPE_BUNDLE = PACKAGE / "data" / "recipes.json"


def checkout_checks() -> Path | None:
    """The folder `checks/` of a checkout or editable install; None in a wheel."""
    return _of_checkout("checks")


def checkout_recipes() -> Path | None:
    """The folder `recipes/` of a checkout or editable install; None in a wheel."""
    return _of_checkout("recipes")


def _of_checkout(name: str) -> Path | None:
    folder = PACKAGE.parent / name
    return folder if folder.is_dir() and (PACKAGE.parent / "pyproject.toml").is_file() else None


def cached_catalogue(folder: Path) -> Path:
    """The path of the compiled catalogue of an editable install; each checkout has a file of its own."""
    import hashlib  # late: a wheel needs none

    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(root) / "gpudoctor" / f"catalogue-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]}"


def files_of(folder: Path) -> list[Path]:
    """Every data file in the subfolders of a catalogue, at any depth; files beside those folders are not included."""
    return sorted(path for path in folder.glob("*/**/*.toml"))


def closed_to_us(folder: Path) -> Path | None:
    """The first folder of a catalogue without read permission: its content would be skipped silently."""
    return next((path for path in (folder, *folder.glob("**/")) if not os.access(path, os.R_OK | os.X_OK)), None)
