"""The Python environment that runs this: its kind, and what is installed in it, from the names of its folders."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from gpudoctor.envtext.derived import DISTRIBUTIONS


def environment() -> Any:
    """In the form of a capture's python.json."""
    prefix = sys.prefix.replace("\\", "/")
    installed: dict[str, Any] = {}
    others = 0
    for folder in dict.fromkeys(entry for entry in sys.path if entry and os.path.isdir(entry)):
        here: Any = {}
        for name in _names(folder):
            found = re.match(r"^(.+?)-([^-]+)\.dist-info$|^([^-]+)-([^-]+?)(-py\d[\d.]*)?(-[\w.]+)?\.egg(-info)?$", name)
            if found:
                here.setdefault(re.sub(r"[-_.]+", "-", found[1] or found[3]).lower(), set()).add(found[2] or found[4])
        for name, versions in here.items():
            others += not DISTRIBUTIONS.match(name)
            if DISTRIBUTIONS.match(name) and name not in installed:
                installed[name] = sorted(versions) if len(versions) > 1 else min(versions)
    return {
        "executable": sys.executable.replace("\\", "/"), "version": ".".join(map(str, sys.version_info[:3])), "prefix": prefix,
        "kind": _kind(prefix), "distributions": installed, "others": others,
    }  # fmt: skip


def _names(folder: str) -> Any:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _kind(prefix: str) -> str:
    try:
        with open(f"{prefix}/pyvenv.cfg", encoding="utf-8", errors="replace") as file:
            marker = file.read(20_000)
        return "uv" if re.search(r"^uv\s*=", marker, re.M) else "poetry" if "/pypoetry/" in prefix else "venv"
    except OSError:
        pass
    if os.path.isdir(f"{prefix}/conda-meta"):
        return "conda"
    return "pyenv" if "/.pyenv/versions/" in prefix else "uv" if "/uv/python/" in prefix else "system"
