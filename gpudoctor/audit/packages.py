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
    """What is known of a package on a backend; None where nothing is."""
    for each in row["on"]:
        if backend in each["backends"] and platform in each.get("platforms", (platform,)):
            return {**each, "use": [with_index(text) for text in each["use"]]} if "use" in each else dict(each)
    return None


def with_index(text: str) -> str:
    """{index.cuda} and its like with the address in its place."""
    return re.sub(r"\{(index\.\w+)\}", lambda found: newest()[found[1]], text)


def image_of(name: str) -> Mapping[str, Any] | None:
    """The family of a base image; registries and tags are looked through."""
    plain = name.lower().partition("@")[0]
    for host in ("docker.io/", "index.docker.io/", "ghcr.io/", "quay.io/"):
        plain = plain.removeprefix(host)
    bare = plain.rsplit(":", 1)[0] if ":" in plain.rsplit("/", 1)[-1] else plain
    for row in table(TABLE)["image"]:
        if fnmatchcase(plain if ":" in row["name"] else bare, row["name"]):
            return dict(row)
    return None
