"""The Python environment that runs this: its kind, and what is installed in it, from the names of its folders."""

from __future__ import annotations

import re
import sys
from typing import Any

from gpudoctor.envtext.derived import DISTRIBUTIONS


def environment(door: Any) -> Any:
    """In the form of a capture's python.json."""
    prefix = sys.prefix.replace("\\", "/")
    installed: dict[str, Any] = {}
    for folder in dict.fromkeys(sys.path):
        here: Any = {}
        for name in door.listdir(folder) if folder else ():
            found = re.match(r"^(.+?)-([^-]+)\.dist-info$|^([^-]+)-([^-]+?)(-py\d[\d.]*)?(-[\w.]+)?\.egg(-info)?$", name)
            if found:
                here.setdefault(re.sub(r"[-_.]+", "-", found[1] or found[3]).lower(), set()).add(found[2] or found[4])
        for name, versions in here.items():
            if DISTRIBUTIONS.match(name) and name not in installed:
                installed[name] = sorted(versions) if len(versions) > 1 else min(versions)
    version = ".".join(map(str, sys.version_info[:3]))
    return {"version": version, "prefix": prefix, "kind": _kind(door, prefix), "distributions": installed}


def _kind(door: Any, prefix: str) -> str:
    marker = door.read(f"{prefix}/pyvenv.cfg").text
    if marker:
        return "uv" if re.search(r"^uv\s*=", marker, re.M) else "poetry" if "/pypoetry/" in prefix else "venv"
    if door.exists(f"{prefix}/conda-meta"):
        return "conda"
    return "pyenv" if "/.pyenv/versions/" in prefix else "uv" if "/uv/python/" in prefix else "system"
