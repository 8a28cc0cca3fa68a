"""What pip says that it installed: each package with where it came from and its checksum, for the journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from packaging.version import InvalidVersion, Version

from gpudoctor.setup.packages.pip_lock import rows
from gpudoctor.system.writable_host import WritableHost


def reports(distributions: Mapping[str, Any]) -> bool:
    """Whether the pip of an environment writes such reports: from 23.0 on, when their form was settled."""
    try:
        return Version(str(distributions.get("pip"))) >= Version("23.0")
    except InvalidVersion:
        return False


def installed_from(folder: str, machine: WritableHost) -> list[dict[str, str]]:
    """name, version, sha256 and the address without its query, of every package in the reports of a folder; [] without any."""
    names = (name for name in sorted(machine.look.listdir(folder)) if name.endswith(".json"))
    return [origin for name in names for row in rows(f"{folder}/{name}", machine) if (origin := _origin(row))]


def _origin(row: Any) -> dict[str, str]:
    """Where a package came from; {} for a row that does not say."""
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
    """Without a name, a password or a query, in which a mirror may want a token."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()[:1_000]
