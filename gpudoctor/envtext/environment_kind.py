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
    installed, several, others = {}, {}, 0  # type: dict[str, str], dict[str, list[str]], int
    for folder in dict.fromkeys(entry for entry in sys.path if entry and os.path.isdir(entry)):
        here: Any = {}
        for name in _names(folder):
            found = re.match(r"^(.+?)-([^-]+)\.dist-info$", name) or re.match(
                r"^([^-]+)-([^-]+?)(?:-py\d[\d.]*)?(?:-[\w.]+)?\.egg(?:-info)?$", name
            )
            if found:
                here.setdefault(re.sub(r"[-_.]+", "-", found[1]).lower(), []).append(found[2])
        for name, versions in here.items():
            if not DISTRIBUTIONS.match(name):
                others += 1
            elif name not in installed:
                installed[name] = versions[0]
                if len(set(versions)) > 1:
                    several[name] = sorted(set(versions))
    return {
        "executable": sys.executable.replace("\\", "/"), "version": ".".join(map(str, sys.version_info[:3])), "prefix": prefix,
        "kind": _kind(prefix), "distributions": {**installed, **several}, "others": others,
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
