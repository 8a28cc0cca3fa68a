"""The files of gpudoctor/data, from a folder or from a zip archive. `importlib.resources` does the same and loads thirty modules."""

from __future__ import annotations

import pkgutil


def data_text(name: str) -> str:
    """The text of gpudoctor/data/<name>. Raises OSError where it is missing."""
    content = pkgutil.get_data("gpudoctor", f"data/{name}")
    assert content is not None  # every loader that Python has can read data
    return content.decode("utf-8")
