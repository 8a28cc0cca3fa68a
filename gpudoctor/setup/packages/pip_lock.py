"""A lock of what pip resolved, from which it then installs: each package with the one version and the one checksum that are accepted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gpudoctor.system import json_text
from gpudoctor.system.writable_host import WritableHost

MOST = 2_000
LARGEST = 50_000_000
_SHA256 = re.compile(r"[0-9a-f]{64}")
_URL = re.compile(r"(?:https?|file)://[^\s;#]+")


class NoChecksum(Exception):
    """Raised for a package without a known checksum, with its name."""


def rows(path: str, machine: WritableHost) -> list[Mapping[str, Any]]:
    """The packages in a report of pip (`pip install --report`); [] where there is none."""
    try:
        said = json_text.loads((machine.read(path) or b"")[:LARGEST].decode("utf-8", "replace"))
    except ValueError:
        return []
    found = said.get("install") if isinstance(said, dict) else None
    return [row for row in (found if isinstance(found, list) else ())[:MOST] if isinstance(row, dict)]


def lock(found: list[Mapping[str, Any]]) -> str:
    """The text of a requirements file with one line for each package. Raises NoChecksum."""
    return "".join(f"{_line(row)}\n" for row in found)


def _line(row: Mapping[str, Any]) -> str:
    metadata, download = row.get("metadata"), row.get("download_info")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    download = download if isinstance(download, Mapping) else {}
    archive = download.get("archive_info")
    hashes = archive.get("hashes") if isinstance(archive, Mapping) else None
    digest = str(hashes.get("sha256") if isinstance(hashes, Mapping) else "")
    name, url = canonicalize_name(str(metadata.get("name"))), str(download.get("url") or "")
    try:
        version = str(Version(str(metadata.get("version"))))
    except InvalidVersion:
        raise NoChecksum(name) from None
    if not _SHA256.fullmatch(digest) or not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise NoChecksum(name)
    if not row.get("is_direct"):
        return f"{name}=={version} --hash=sha256:{digest}"
    address = _URL.match(url)
    if address is None:
        raise NoChecksum(name)
    return f"{name} @ {address[0]} --hash=sha256:{digest}"
