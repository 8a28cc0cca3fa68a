"""What pip installed, by its reports: each package with its origin and its checksum, for the journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from packaging.version import InvalidVersion, Version

from gpudoctor.setup.packages.pip_lock import rows
from gpudoctor.system.writable_host import WritableHost


def reports(distributions: Mapping[str, Any]) -> bool:
    """Whether the pip of an environment writes such reports: it does from 23.0 on, which fixed their format."""
    try:
        return Version(str(distributions.get("pip"))) >= Version("23.0")
    except InvalidVersion:
        return False


def installed_from(folder: str, machine: WritableHost) -> list[dict[str, str]]:
    """name, version, sha256 and from (the address without its query) of each package in the reports of a folder; [] without reports."""
    names = (name for name in sorted(machine.look.listdir(folder)) if name.endswith(".json"))
    return [origin for name in names for row in rows(f"{folder}/{name}", machine) if (origin := _origin(row))]


def _origin(row: Any) -> dict[str, str]:
    """The origin of a package in a report; {} for a row of another form."""
    table = row if isinstance(row, dict) else {}
    metadata, download = table.get("metadata"), table.get("download_info")
    if not isinstance(metadata, dict) or not isinstance(download, dict):
        return {}
    archive = download.get("archive_info")
    hashes = archive.get("hashes") if isinstance(archive, dict) else None
    digest = hashes.get("sha256") if isinstance(hashes, dict) else ""
    return {
        "name": str(metadata.get("name"))[:200], "version": str(metadata.get("version"))[:200], "sha256": str(digest or "")[:64],
        "from": _plain(str(download.get("url") or "")),
    }  # fmt: skip


def _plain(url: str) -> str:
    """The address without name, password and query, which may hold secrets of a mirror."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()[:1_000]
