"""Checks that --python names an interpreter or an environment; anything else is a usage error and not a finding."""

from __future__ import annotations

import os
import re

from gpudoctor.cli import BadInput
from gpudoctor.model.lazy_pattern import lazy

_INTERPRETERS = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
_NAME = lazy(r"(python|pypy|graalpy)[\d.]*[a-z]*(\.exe)?$", re.IGNORECASE)


def check_python(given: str | None, capture: str | None = None) -> None:
    """Raises BadInput for a wrong path. A dangling link is accepted: it is a broken environment, which the diagnosis reports."""
    if not given or capture is not None:
        return
    path = os.path.expanduser(given)
    closed = closed_folder(path)
    if closed:
        raise BadInput(f"--python {given}: no permission to look into {closed}; give an interpreter that you may run")
    if not os.path.lexists(path):
        if os.sep in given or not _NAME.fullmatch(given):
            raise BadInput(f"--python {given}: no such file or folder; give an interpreter or an environment folder")
        return
    if os.path.isdir(path):
        if not any(os.path.lexists(os.path.join(path, name)) for name in _INTERPRETERS):
            raise BadInput(f"--python {given}: this folder holds no Python interpreter; give an environment's folder")
    elif os.path.exists(path) and not (os.access(path, os.X_OK) and _is_python(path)):
        raise BadInput(f"--python {given}: this file is not a Python interpreter; give one, or the folder of an environment")


def closed_folder(path: str) -> str:
    """The first folder of the path that may not be entered; empty where there is none."""
    parts = os.path.abspath(path).split(os.sep)
    ways = (os.sep.join(parts[:end]) or os.sep for end in range(1, len(parts) + 1))
    return next((way for way in ways if os.path.isdir(way) and not os.access(way, os.X_OK)), "")


def _is_python(path: str) -> bool:
    return any(_NAME.fullmatch(os.path.basename(name)) for name in (path, os.path.realpath(path)))
