"""Redacts a capture, file by file, such that it replays like the original."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Collection, Mapping
from typing import Any

from gpudoctor.capture.capture_store import Store
from gpudoctor.capture.recording_host import CHILD
from gpudoctor.capture.tables import json_line, json_table, toml
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.toml_text import loads
from gpudoctor.privacy.redactor import Redactor
from gpudoctor.system.system_names import Names, of_recording

_MACHINE = ("format", "complete", "recorder", "title", "platform", "host", "target", "door", "synthetic")
_PUBLIC_FILES = frozenset({"files/proc/cpuinfo", "files/proc/modules", "files/proc/meminfo"})
"""Long files without anything personal."""
_DPKG = "files/var/lib/dpkg/status"
_DPKG_DROPPED = lazy(r"^(?:Maintainer|Original-Maintainer|Homepage|Bugs|Description|Conffiles|Uploaders):.*\n(?:[ \t].*\n)*", re.MULTILINE)
"""Maintainer and description of Debian packages: thousands of lines that no probe reads."""
_METADATA = lazy(r"\.(?:dist-info/METADATA|egg-info/PKG-INFO)$")
_METADATA_KEPT = lazy(r"^(?:Metadata-Version|Name|Version|Requires-Python|Requires-Dist|Provides-Extra|Platform):.*\n", re.MULTILINE)
"""The fields of a distribution's metadata that installers read; not its authors, their addresses or the description."""
_TYPED = frozenset(
    """amd-smi clinfo cmd dkms dpkg-query file gc-info gc-inventory gc-monitor id ldconfig ls lsmod lspci modinfo modprobe nvcc
    nvidia-smi pacman popc powershell prime-select rocm-smi rocminfo rpm sw_vers sycl-ls system_profiler systemd-detect-virt uname
    vipu vulkaninfo xpu-smi""".split()
)
"""Programs whose answers a probe reads field by field."""
_OF_A_SYSTEM = lazy(
    r"files/(?:usr|opt|lib\w*|bin|dev|boot|sys(?!.*/node_desc$)|run|snap|nix|System|Library|Applications|var/lib)/|files/proc/(?!cmdline$|\d|self/|mounts$)"
    r"|files/etc/(?:os-release|lsb-release|group|passwd|hosts|ld\.so\.conf|OpenCL/|vulkan/|nvidia-container|alternatives/)"
    r"|.*/(?:(?:site|dist)-packages/|conda-meta/|pyvenv\.cfg$|(?:Program Files|Windows)\b)"
)
"""Files that the kernel or a package wrote. People write the others: settings, and what a process was given."""
_ATTRIBUTE = lazy(r"files/sys/.*/(serial|serial_number|unique_id|\w+_serial|\w*asset_tag)$")
"""Files below /sys whose name says what the number in them is."""
_PATH_TABLES = ("links.toml", "realpaths.toml")


def entries_of(store: Store) -> dict[str, bytes]:
    """Everything that can be read in a capture, links as links.toml has them."""
    entries: dict[str, bytes] = {}
    for name in store.names():
        content = store.read(name, max(store.size(name), 0) + 1)
        if content is not None:
            entries[name] = content
    links = {f"/{name[6:]}": target for name, target in store.links().items() if name.startswith("files/")}
    if links:
        written = loads(entries.get("links.toml", b"").decode("utf-8", "replace"))
        entries["links.toml"] = toml({**links, **written})
    return entries


def names_in(entries: Mapping[str, bytes]) -> Names:
    """Names of the recorded system (its people and host), from the recording."""
    outputs = {tuple(entry["argv"]): str(entry.get("stdout") or "") for entry in _commands(entries)}
    environment = {name: str(value) for name, value in _table(entries, "env.toml").items()}
    python = _json(entries.get("python.json"))
    paths = [str(python.get(key) or "") for key in ("prefix",)] if isinstance(python, dict) else []

    def read(path: str) -> str:
        return entries.get("files" + path, b"").decode("utf-8", "replace")

    return of_recording(read, environment, lambda argv: outputs.get(argv, ""), paths)


def redact_entries(entries: Mapping[str, bytes], hide: Redactor, keep_env: Collection[str] | None = None) -> dict[str, bytes]:
    """The same capture, redacted. `keep_env`: the variables that keep their values; None: all.

    Everything is looked at twice: a number or name that is known by its place in one answer is then found in all of them.
    """
    for name, content in entries.items():
        if name.startswith("files/") and name not in _PUBLIC_FILES and name != _DPKG:
            hide.text(_short(name, content))
    for entry in _commands(entries):
        hide.text(str(entry.get("stdout") or "")), hide.text(str(entry.get("stderr") or ""))
    hide.counts.clear()
    redacted: dict[str, bytes] = {}
    for name, content in entries.items():
        new = _entry(name, content, hide, keep_env)
        if new is not None:
            redacted[new[0]] = new[1]
    return redacted


def _entry(name: str, content: bytes, hide: Redactor, keep_env: Collection[str] | None) -> tuple[str, bytes] | None:
    """The new name and content; None for what does not belong into a capture."""
    if name.startswith("files/"):
        return "files" + path_of(hide, name[5:]), _file(name, content, hide)
    if name == "commands.jsonl":
        return name, b"".join(json_line(_command(entry, hide)) for entry in _commands({name: content}))
    if name in ("python.json", "measurements.json", "beside.json"):
        return name, json_table(hide.value(_json(content)))
    if not name.endswith(".toml") or "/" in name:
        return None
    table = loads(content.decode("utf-8", "replace"))
    if name == "machine.toml":
        if isinstance(table.get("door"), dict):
            table["door"] = _door(table["door"])
        return name, toml({key: hide.value(table[key]) for key in _MACHINE if key in table})
    if name == "env.toml":
        return name, toml(
            {key: hide.keyed(key, str(value), hide.free) for key, value in table.items() if keep_env is None or key in keep_env}
        )
    if name == "absent.toml":
        return name, toml({"paths": sorted({path_of(hide, path) for path in table.get("paths", [])})})
    if name == "folders.toml":
        return name, toml({path_of(hide, path): [_child(hide, path, each) for each in names] for path, names in table.items()})
    if name in _PATH_TABLES:
        return name, toml({path_of(hide, path): hide.path(str(target)) for path, target in table.items()})
    if name == "modes.toml":
        return name, toml({path_of(hide, path): _mode(mode, hide) for path, mode in table.items()})
    return (name, toml({path_of(hide, path): why for path, why in table.items()})) if name == "unreadable.toml" else None


def _door(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table `door`, without the names that a person gave: the address of ssh, a folder, a command line."""
    kind, number = table.get("kind"), str(table.get("name") or "")
    plain = {"host": ("", "another machine, by ssh"), "root": ("", "a root folder"), "process": (number, f"process {number}")}
    named = plain.get(str(kind))
    return {**table, "name": named[0], "title": named[1]} if named else dict(table)


def path_of(hide: Redactor, path: str) -> str:
    return posixpath.normpath(hide.path(path)) if path.startswith("/") else hide.path(path)


def _child(hide: Redactor, folder: str, name: str) -> str:
    """The name in a listing, as the whole path would be redacted (/home/alice)."""
    return path_of(hide, posixpath.join(folder, name)).rpartition("/")[2]


def _file(name: str, content: bytes, hide: Redactor) -> bytes:
    if name in _PUBLIC_FILES or not content:
        return content
    text = _short(name, content)
    attribute = _ATTRIBUTE.match(name)
    if attribute:
        return hide.keyed(attribute[1], text).encode("utf-8", "replace")
    return (text if name == _DPKG else hide.text(text, _OF_A_SYSTEM.match(name) is None)).encode("utf-8", "replace")


def _short(name: str, content: bytes) -> str:
    """The text without the parts that no probe reads."""
    text = content.decode("utf-8", "replace")
    if name == _DPKG:
        return _DPKG_DROPPED.sub("", text)
    if _METADATA.search(name):
        return "".join(_METADATA_KEPT.findall(text.replace("\r\n", "\n").partition("\n\n")[0] + "\n"))
    return text


def _command(entry: Mapping[str, Any], hide: Redactor) -> dict[str, Any]:
    argv = [str(word) for word in entry["argv"]]
    redacted = {
        key: hide.text(str(entry[key]), key == "stderr" or not _is_typed(argv))
        for key in ("stdout", "stderr")
        if entry.get(key) is not None
    }
    return {**entry, "argv": [hide.path(word) for word in argv], **redacted}


def _is_typed(argv: Collection[str]) -> bool:
    """Whether a command's output has fields of known types: devices, versions, packages. A log, a list of processes or an unknown
    program has none."""
    if any(word.startswith(("--query-compute-apps", "--showpid", "pmon")) for word in argv):
        return False
    program = next(iter(argv), "").replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
    return program in _TYPED or program == CHILD or (program.startswith("python") and "--version" in argv)


def _mode(mode: Any, hide: Redactor) -> Any:
    if not isinstance(mode, Mapping):
        return mode
    people = {"owner": hide.name, "group": hide.group}
    return {key: people[key](str(value)) if key in people else value for key, value in mode.items()}


def _commands(entries: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """The valid entries of commands.jsonl. Invalid ones are left out: reading the capture has refused them before."""
    found = []
    for line in entries.get("commands.jsonl", b"").split(b"\n"):
        entry = _json(line) if line.strip() else None
        if isinstance(entry, dict) and isinstance(entry.get("argv"), list):
            found.append(entry)
    return found


def _table(entries: Mapping[str, bytes], name: str) -> dict[str, Any]:
    return loads(entries.get(name, b"").decode("utf-8", "replace"))


def _json(content: bytes | None) -> Any:
    try:
        return json.loads((content or b"null").decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
