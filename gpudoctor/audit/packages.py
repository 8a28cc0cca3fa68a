"""The table of packages (data/audit-packages.toml), by name and backend."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from gpudoctor.facts.derive._indexes import newest
from gpudoctor.facts.derive._tables import table

TABLE = "audit-packages"


@lru_cache(maxsize=4096)
def row_of(name: str) -> Mapping[str, Any] | None:
    """The package's row: by its exact name before a pattern. `name` as PyPI normalises it."""
    packages = table(TABLE)["package"]
    for row in packages:
        if name in (row["name"], *row.get("also", ())):
            return dict(row)
    for row in packages:
        if any("*" in pattern and fnmatchcase(name, pattern) for pattern in (row["name"], *row.get("also", ()))):
            return dict(row)
    return None


def fate(row: Mapping[str, Any], backend: str, platform: str) -> Mapping[str, Any] | None:
    """The status and advice for a package on a backend, from its row; None where the row says nothing about it."""
    for variant in row["on"]:
        if backend in variant["backends"] and platform in variant.get("platforms", (platform,)):
            return {**variant, "use": [with_index(text) for text in variant["use"]]} if "use" in variant else dict(variant)
    return None


def with_index(text: str) -> str:
    """The text with {index.cuda} and similar fields replaced by the address."""
    return re.sub(r"\{(index\.\w+)\}", lambda found: newest()[found[1]], text)


def image_of(name: str) -> Mapping[str, Any] | None:
    """The row of a base image; its registry and, where the row names none, its tag do not count."""
    plain = name.lower().partition("@")[0]
    for host in ("docker.io/", "index.docker.io/", "ghcr.io/", "quay.io/"):
        plain = plain.removeprefix(host)
    bare = plain.rsplit(":", 1)[0] if ":" in plain.rsplit("/", 1)[-1] else plain
    for row in table(TABLE)["image"]:
        if fnmatchcase(plain if ":" in row["name"] else bare, row["name"]):
            return dict(row)
    return None
