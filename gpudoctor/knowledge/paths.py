"""The location of the knowledge base: next to the package in a checkout; inside it, compiled, in a wheel."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imported late at run time: a wheel does not need pathlib, which loads ten modules
    from pathlib import Path

REDIRECTS = "redirects.toml"
"""The file, in a folder of checks, with the successors of removed ids."""
PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
COMPILED = os.path.join(PACKAGE, "data", "catalogue")
RECIPE_BUNDLE = "recipes.json"
"""The name, among the files of gpudoctor/data, of all recipes of a wheel."""


def checkout_checks() -> Path | None:
    """The folder `checks/` of a checkout or editable install; None in a wheel."""
    return _of_checkout("checks")


def checkout_recipes() -> Path | None:
    """The folder `recipes/` of a checkout or editable install; None in a wheel."""
    return _of_checkout("recipes")


def _of_checkout(name: str) -> Path | None:
    root = os.path.dirname(PACKAGE)
    folder = os.path.join(root, name)
    if not os.path.isdir(folder) or not os.path.isfile(os.path.join(root, "pyproject.toml")):
        return None
    from pathlib import Path

    return Path(folder)


def cached_catalogue(folder: Path) -> Path:
    """The path of the compiled catalogue of an editable install; each checkout has a file of its own."""
    import hashlib  # imported late: a wheel does not need it
    from pathlib import Path

    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(root) / "gpudoctor" / f"catalogue-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]}"


def files_of(folder: Path) -> list[Path]:
    """Every data file in the subfolders of a catalogue, at any depth; files beside those folders are not included."""
    return sorted(path for path in folder.glob("*/**/*.toml"))


def closed_to_us(folder: Path) -> Path | None:
    """The first folder of a catalogue without read permission: its content would be skipped silently."""
    return next((path for path in (folder, *folder.glob("**/")) if not os.access(path, os.R_OK | os.X_OK)), None)
