"""Finds the rows of device-ceilings.toml for a device: by PCI ID, by its names, by the size of its memory."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpudoctor.benchmark.reference_rows import DeviceRow

_NOISE = r"\((?:r|tm|c)\)|®|™|\b(?:nvidia|amd|intel|graphcore|corporation)\b"
_OTHER_PRODUCT = r"(?! (?:ti|super|xt|xtx|gre|d|m|laptop|mobile|max|pro|ultra|ada)\b)"
"""Suffixes that make a name that of another product."""


def identify(gpu: Mapping[str, Any], said: str | None, rows: Iterable[DeviceRow]) -> tuple[DeviceRow, ...]:
    """The rows that may be this device, the fastest first; more than one where products share a PCI id and no name tells them apart.

    `gpu` is a record of the fact `gpus` (vendor, pci_id, name, memory_bytes); `said` is what the framework calls the device.
    """
    vendor, _, device_id = str(gpu.get("pci_id") or "").lower().partition(":")
    ours = [row for row in rows if row.vendor == gpu.get("vendor")]
    by_id = [row for row in ours if device_id in row.ids] if vendor and device_id else []
    texts = [text for text in (said, gpu.get("name")) if isinstance(text, str) and "/" not in text]  # 'RX 6600 / 6600 XT' names nothing
    pool = _named(by_id or ours, texts) or by_id
    memory = gpu.get("memory_bytes")
    if isinstance(memory, int) and memory > 0 and len(pool) > 1:
        away = {index: abs(math.log(memory / 2**30 / row.gb)) for index, row in enumerate(pool) if row.gb}
        if away:
            pool = [pool[index] for index in away if away[index] <= min(away.values()) + 1e-9]
    return tuple(sorted(pool, key=lambda row: -row.vector.get("fp32", 0.0)))


def _named(rows: Sequence[DeviceRow], texts: Sequence[str]) -> list[DeviceRow]:
    """The rows whose name occurs in the first text that holds any; of several names, the longest counts."""
    for text in texts:
        wanted = plain(text)
        fitting = [row for row in rows if re.search(rf"\b{re.escape(plain(row.name))}\b{_OTHER_PRODUCT}", wanted)]
        if fitting:
            longest = max(len(row.name) for row in fitting)
            return [row for row in fitting if len(row.name) == longest]
    return []


def plain(name: str) -> str:
    """The name normalised for comparison: 'a100 sxm4 80gb' from 'NVIDIA A100-SXM4-80GB'."""
    return re.sub(r"[\s\-_]+", " ", re.sub(_NOISE, " ", name.lower())).strip()
