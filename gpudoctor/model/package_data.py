"""The files of gpudoctor/data, from a folder or from a zip archive. `importlib.resources` does the same and loads thirty modules."""

from __future__ import annotations

import pkgutil
from typing import Any

from msgspec.json import decode

COMPILED = "compiled_tables"
"""The folder, below data, in which a wheel has each table as JSON: reading TOML takes ten times as long."""


def data_bytes(name: str) -> bytes:
    """The content of gpudoctor/data/<name>. Raises OSError where it is missing."""
    content = pkgutil.get_data("gpudoctor", f"data/{name}")
    assert content is not None  # every loader that Python has can read data
    return content


def data_text(name: str) -> str:
    """The text of gpudoctor/data/<name>. Raises OSError where it is missing."""
    return data_bytes(name).decode("utf-8")


def data_table(name: str) -> dict[str, Any]:
    """The content of gpudoctor/data/<name>.toml, with dates as text (YYYY-MM-DD). Raises OSError where it is missing."""
    try:
        compiled = data_text(f"{COMPILED}/{name}.json")
    except OSError:
        compiled = compiled_table(data_text(f"{name}.toml"))
    table: dict[str, Any] = decode(compiled)
    return table


def compiled_table(text: str) -> str:
    """A table of our own package, which is TOML, as JSON."""
    import json

    from gpudoctor.model.toml_text import loads_ours  # late: a wheel has them so

    return json.dumps(loads_ours(text), default=str, separators=(",", ":"), ensure_ascii=False)
