"""Mounted file systems, and the kinds on which the working folder and the data lie."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Absent, Facts, FactSpec, Known, Unknown
from gpudoctor.system.host import Host

DATA_VARIABLES = (
    "DATASET_DIR", "DATASET_PATH", "DATASET", "DATA_DIR", "DATA_PATH", "DATA_ROOT", "IMAGENET_DIR", "TFDS_DATA_DIR", "FIFTYONE_DATASET_DIR",
    "HF_DATASETS_CACHE", "HF_HOME", "TORCH_HOME", "KAGGLEHUB_CACHE", "KERAS_HOME",
)  # fmt: skip
NETWORK = (
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "ceph", "glusterfs", "fuse.glusterfs", "fuse.gcsfuse", "fuse.s3fs",
)  # fmt: skip


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def parse_mounts(text: str) -> list[dict[str, Any]]:
    """The mounts in /proc/mounts. A 9p mount that names drvfs is a Windows drive in WSL2."""
    found = []
    for line in text.splitlines():
        parts = line.split()
        if len(parts) < 4:
            continue
        kind, options = parts[2], parts[3]
        found.append({
            "path": _unescape(parts[1]), "filesystem": kind, "source": _unescape(parts[0]), "options": options,
            "windows": kind == "drvfs" or (kind in ("9p", "virtiofs") and ("aname=drvfs" in options or "drvfs" in parts[0])),
        })  # fmt: skip
    return found


def mount_of(mounts: list[dict[str, Any]], path: str) -> dict[str, Any] | None:
    """The mount on which a path lies: the deepest one above it, and the last one where several are mounted there; None without one."""
    path = posixpath.normpath(path)
    best: dict[str, Any] | None = None
    for mount in mounts:
        top = mount["path"].rstrip("/")
        if path == top or path.startswith(top + "/") or top == "":
            if best is None or len(top) >= len(best["path"].rstrip("/")):
                best = mount
    return best


def named_paths(host: Host, facts: Facts) -> list[tuple[str, str]]:
    """(variable, path) of the folders for data that the environment names."""
    found = []
    for name in DATA_VARIABLES:
        value = host.env(name)
        if value and value.startswith("/"):
            found.append((name, value))
    return found


def collect(host: Host, facts: Facts) -> Collected:
    if host.platform in ("windows", "macos"):
        return
    mounts = parse_mounts(host.read("/proc/mounts").text)
    if not mounts:
        for name in ("mounts", "cwd.filesystem", "dataset.filesystem"):
            yield name, Unknown("not recorded")
        return
    yield "mounts", Known(mounts, "/proc/mounts")
    cwd = host.env("PWD")
    here = mount_of(mounts, cwd) if cwd else None
    yield "cwd.path", Known(cwd, "PWD") if cwd else Unknown("not recorded")
    yield "cwd.filesystem", Known(here["filesystem"], "/proc/mounts") if here else Unknown("not recorded")
    yield "cwd.on_windows_drive", Known(bool(here["windows"]), "/proc/mounts") if here else Unknown("not recorded")
    data = [(name, path, mount_of(mounts, path)) for name, path in named_paths(host, facts)]
    # A folder on a slow file system is chosen before others, since one suffices to slow a training down.
    slow = [entry for entry in data if entry[2] and (entry[2]["windows"] or entry[2]["filesystem"] in NETWORK)]
    chosen = (slow or data)[:1]
    if chosen:
        name, path, mount = chosen[0]
        yield "dataset.path", Known(path, name)
        yield "dataset.filesystem", Known(mount["filesystem"], "/proc/mounts") if mount else Unknown("not recorded")
        yield "dataset.on_windows_drive", Known(bool(mount and mount["windows"]), "/proc/mounts")
    else:
        yield "dataset.path", Absent()
        yield "dataset.filesystem", Absent()
        yield "dataset.on_windows_drive", Known(False)
    home = host.env("HOME")
    said = host.run(["df", "-P", "-k", home]) if home and host.origin == "live" else None
    free = parse_df(said.stdout) if said else None
    yield "disk.free_bytes", Known(free, "df") if free is not None else Unknown("not recorded")
    if any(mount["windows"] for mount in mounts) and host.origin == "live":
        drive = next(mount["path"] for mount in mounts if mount["windows"])
        free = parse_df(host.run(["df", "-P", "-k", drive]).stdout)
        yield "windows.disk_free_bytes", Known(free, "df") if free is not None else Unknown("tool missing")
    else:
        free = parse_df(host.run(["df", "-P", "-k", "/mnt/c"]).stdout)
        yield "windows.disk_free_bytes", Known(free, "df") if free is not None else Unknown("not recorded")


def parse_df(text: str) -> int | None:
    """The free bytes in the last line of `df -P -k`; None for another output."""
    parts = text.splitlines()[-1].split() if text.strip() else []
    numbers = [part for part in parts if part.isdigit()]
    return int(numbers[2]) * 1024 if len(numbers) >= 3 else None


PROBE = Probe(
    "filesystems",
    (
        FactSpec(
            "mounts", "records", "what is mounted", item="mount", privacy="identifying",
            fields={"path": "text", "filesystem": "text", "source": "text", "options": "text", "windows": "bool"},
        ),
        FactSpec("cwd.path", "text", "the working folder", privacy="identifying"),
        FactSpec("cwd.filesystem", "text", "kind of file system of the working folder"),
        FactSpec("cwd.on_windows_drive", "bool", "whether the working folder lies on a Windows drive, seen from WSL"),
        FactSpec("dataset.path", "text", "a folder that the environment names for data", privacy="identifying"),
        FactSpec("dataset.filesystem", "text", "kind of file system of that folder"),
        FactSpec("dataset.on_windows_drive", "bool", "whether that folder lies on a Windows drive, seen from WSL"),
        FactSpec("disk.free_bytes", "int", "free space of the home folder"),
        FactSpec("windows.disk_free_bytes", "int", "free space of the Windows drive, seen from WSL"),
    ),
    collect,
)  # fmt: skip
