"""The version tables of gpudoctor/data, read when first asked for."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gpudoctor.model.package_data import data_table


@lru_cache(maxsize=64)
def table(name: str) -> dict[str, Any]:
    """The content of gpudoctor/data/<name>.toml."""
    return data_table(name)
