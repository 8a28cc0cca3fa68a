"""The Pythons and tools with which an environment can be made, by names of files alone: nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

SYSTEM = ("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
_NAME = lazy(r"^python(3\.\d+)$")
_PYENV = lazy(r"^(3\.\d+)\.\d+$")
_WINDOWS = lazy(r"^Python(3)(\d\d?)$", re.I)
_UV = lazy(r"^cpython-(3\.\d+)\.\d+-")
TOOLS = {"uv": ("{home}/.local/bin", "{home}/.cargo/bin"), "sudo": (), "conda": ("{home}/miniforge3/bin", "{home}/miniconda3/bin")}
"""Tools, and the folders that hold them even where PATH does not name these."""


def collect(host: Host, facts: Facts) -> Collected:
    if host.platform == "windows":
        yield from _on_windows(host)
        return
    home = (host.env("HOME") or "").rstrip("/")
    there = [*_system(host), *_versions(host, f"{home}/.pyenv/versions", _PYENV), *_uv_pythons(host, home)]
    found = [one for one in there if not host.distrust(one["path"])]
    looked = host.origin == "live" or bool(found)
    left_out = [one["path"] for one in there if one not in found]
    yield "python.interpreters_left_out", Known(left_out, "names of files") if looked else Unknown("not recorded")
    yield "python.interpreters", Known(found, "names of files") if looked else Unknown("not recorded")
    yield "python.venv_module", _venv_module(host, found)
    for tool, folders in TOOLS.items():
        yield f"tools.{tool}", _tool(host, tool, [folder.format(home=home) for folder in folders] if home else [])


def _on_windows(host: Host) -> Collected:
    """The Pythons of python.org's installer, which puts each release into a folder of its own. The alias of the Store is no Python."""
    home, local = (str(host.env(name) or "").replace("\\", "/") for name in ("USERPROFILE", "LOCALAPPDATA"))
    folders = [folder for folder in (f"{local}/Programs/Python" if local else "", "C:/Program Files", "C:/") if folder]
    found = [
        {"path": f"{folder.rstrip('/')}/{name}/python.exe", "minor": f"{match[1]}.{match[2]}", "venv": True}
        for folder in folders for name in sorted(host.listdir(folder))
        if (match := _WINDOWS.match(name)) and host.exists(f"{folder.rstrip('/')}/{name}/python.exe")
    ]  # fmt: skip
    yield "python.interpreters", Known(found, "names of files") if found or host.origin == "live" else Unknown("not recorded")
    uv = f"{home}/.local/bin/uv.exe"
    missing = Absent("PATH") if host.origin == "live" else Unknown("not recorded")
    yield "tools.uv", Known(uv, "PATH") if home and host.exists(uv) else missing


def _record(host: Host, path: str, minor: str) -> dict[str, Any]:
    """The record of python.interpreters for an interpreter. `venv` is unknown in a recording that does not show the standard library."""
    prefix = path.rpartition("/bin/")[0]
    module = f"{prefix}/lib/python{minor}/ensurepip/__init__.py"
    # Fedora keeps the standard library in lib64.
    there = host.exists(module) or host.exists(module.replace("/lib/", "/lib64/", 1))
    known = there or host.origin == "live" or host.knows(module)
    return {"path": path, "minor": minor, "venv": there if known else Unknown("not recorded")}


def _system(host: Host) -> Iterator[dict[str, Any]]:
    for folder in SYSTEM:
        for name in sorted(host.listdir(folder)):
            match = _NAME.match(name)
            # Debian may leave the name of an interpreter that is gone: the link leads nowhere.
            if match and host.exists(f"{folder}/{name}"):
                yield _record(host, f"{folder}/{name}", match[1])


def _versions(host: Host, folder: str, pattern: re.Pattern[str]) -> Iterator[dict[str, Any]]:
    """The interpreters in folders that are named by version."""
    for name in sorted(host.listdir(folder)):
        match = pattern.match(name)
        path = f"{folder}/{name}/bin/python{match[1]}" if match else ""
        if match and host.exists(path):
            yield _record(host, path, match[1])


def _uv_pythons(host: Host, home: str) -> Iterator[dict[str, Any]]:
    chosen = host.env("UV_PYTHON_INSTALL_DIR") or ""
    data = host.env("XDG_DATA_HOME") or f"{home}/.local/share"
    return _versions(host, chosen.rstrip("/") or f"{data.rstrip('/')}/uv/python", _UV)


def _venv_module(host: Host, found: list[dict[str, Any]]) -> Fact:
    """Whether the Python behind /usr/bin/python3 can make environments. On Debian and Ubuntu ensurepip is in the package python3-venv."""
    link = (host.readlink("/usr/bin/python3") or "").rpartition("/")[2]
    system = [one for one in found if one["path"].startswith("/usr/bin/")]
    own = [one for one in system if one["path"] == f"/usr/bin/{link}"] or system[-1:]
    if not own:
        return Known(False, "/usr/bin") if host.origin == "live" else Unknown("not recorded")
    said = own[0]["venv"]
    return said if isinstance(said, Unknown) else Known(said, own[0]["path"])


def _tool(host: Host, name: str, more: list[str]) -> Fact:
    folders = [folder for folder in (host.env("PATH") or "/usr/local/bin:/usr/bin:/bin").split(":") if folder.startswith("/")]
    for folder in (*folders, *more):
        path = f"{folder.rstrip('/')}/{name}"
        if not folder.startswith("/mnt/") and host.exists(path) and not host.distrust(path):
            return Known(path, "PATH")
    return Absent("PATH") if host.origin == "live" else Unknown("not recorded")


PROBE = Probe(
    "interpreters",
    (
        FactSpec(
            "python.interpreters", "records", "Pythons that an environment can be made with", item="python_found", privacy="identifying",
            fields={"path": "text", "minor": "dotted", "venv": "bool"},
        ),
        FactSpec(
            "python.interpreters_left_out", "list", "Pythons that no environment is made with, since another user could change them",
            privacy="identifying",
        ),
        FactSpec("python.venv_module", "bool", "whether the system's Python can make environments with pip (on Debian: python3-venv)"),
        FactSpec("tools.uv", "text", "path of uv", privacy="identifying"),
        FactSpec("tools.sudo", "text", "path of sudo"),
        FactSpec("tools.conda", "text", "path of conda", privacy="identifying"),
    ),
    collect,
)  # fmt: skip
