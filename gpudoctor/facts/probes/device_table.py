"""The product, generation, compute capability, gfx target and first kernel of a PCI device id, from gpudoctor/data/devices-*.toml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.model.package_data import data_table

VENDORS = {"8086": "intel", "10de": "nvidia", "1002": "amd", "1d95": "graphcore", "106b": "apple", "1414": "microsoft"}
_TABLES = {"8086": "devices-intel", "10de": "devices-nvidia", "1002": "devices-amd", "1d95": "devices-graphcore"}


class DeviceRow(Struct, frozen=True):
    """A device of the tables; fields are None where they do not say."""

    name: str | None = None
    generation: str | None = None
    arch: str | None = None
    kind: str | None = None
    compute_capability: str | None = None
    gfx: str | None = None
    min_kernel: str | None = None
    memory_bytes: int | None = None
    drivers: tuple[str, ...] = ()


def lookup(vendor_id: str, device_id: str) -> DeviceRow | None:
    """The device with these PCI ids ('8086', '56a0'); None where no row covers them."""
    table = _TABLES.get(vendor_id.lower())
    if table is None:
        return None
    try:
        number = int(device_id, 16)
    except ValueError:
        return None
    exact, ranges = _index(table)
    row = exact.get(number)
    if row is not None:
        return row
    for first, last, device in ranges:
        if first <= number <= last:
            return device
    return None


def lookup_name(vendor: str, name: str) -> DeviceRow | None:
    """The device with a name as drivers print it, 'Intel(R) Arc(TM) A770 Graphics': the one with the longest name of the table within it;
    None where none fits."""
    table = next((_TABLES[vendor_id] for vendor_id, known in VENDORS.items() if known == vendor and vendor_id in _TABLES), None)
    if table is None:
        return None
    wanted = _plain(name)
    best: tuple[int, DeviceRow] | None = None
    for plain, device in _spellings(table):
        if len(plain) < 3 and plain != wanted:  # short names such as 'T4' and 'L4' count only where nothing else stands beside them
            continue
        if plain in wanted and (best is None or len(plain) > best[0]) and re.search(rf"\b{re.escape(plain)}\b", wanted):
            best = (len(plain), device)
    return best[1] if best else None


@lru_cache(maxsize=8)
def _spellings(table: str) -> tuple[tuple[str, DeviceRow], ...]:
    """(plain name, device) for each name in a table; 'RX 7900 XT/XTX/GRE' and 'RX 9070 / 9070 XT' are several names."""
    found: list[tuple[str, DeviceRow]] = []
    for device in _index(table)[0].values():
        first, *others = re.split(r"\s{0,4}/\s{0,4}", _plain(device.name or ""))
        stem = first.rpartition(" ")[0] if not re.match(r"\d", others[0] if others else "") else first.split(" ")[0]
        found += [(name, device) for name in (first, *(f"{stem} {other}".strip() for other in others)) if len(name) >= 2]
    for family in _rows(table):
        found += [(_plain(name), _common(family)) for name in family.get("also", ())]
    return tuple(found)


def _plain(name: str) -> str:
    brands = r"\((?:R|TM|C)\)|®|™|\b(?:NVIDIA|AMD|Intel|GeForce|Radeon|Arc|Graphics|Tesla)\b"
    plain = re.sub(r"\s+", " ", re.sub(brands, " ", name, flags=re.IGNORECASE)).strip().lower()
    return re.sub(r"\b(?:(rx)[ -]?)?(\d{3,4})(?: ?(xtx?|gre))?\b", _spaced, plain)


def _spaced(found: re.Match[str]) -> str:
    """The one spelling of 'RX6700XT', 'rx-6700 xt', '6700XT' and 'RX 6700 XT': 'rx 6700 xt'."""
    series, number, suffix = found.groups()
    return " ".join(part for part in (series or ("rx" if suffix else None), number, suffix) if part)


@lru_cache(maxsize=8)
def _rows(table: str) -> tuple[dict[str, Any], ...]:
    return tuple(data_table(table).get("family", ()))


def _common(family: Mapping[str, Any]) -> DeviceRow:
    """The fields that all devices of a family share."""
    said = {key: family[key] for key in ("generation", "arch", "kind", "compute_capability", "gfx", "min_kernel") if key in family}
    return DeviceRow(drivers=tuple(family.get("drivers", ())), **said)


@lru_cache(maxsize=8)
def _index(table: str) -> tuple[dict[int, DeviceRow], tuple[tuple[int, int, DeviceRow], ...]]:
    exact: dict[int, DeviceRow] = {}
    ranges: list[tuple[int, int, DeviceRow]] = []
    for family in _rows(table):
        common = _common(family)
        for device_id, name in family.get("devices", {}).items():
            gigabytes = family.get("memory_gb", {}).get(device_id)
            exact[int(device_id, 16)] = replace(common, name=name, memory_bytes=gigabytes * 2**30 if gigabytes else None)
        for device_id in family.get("ids", ()):
            exact.setdefault(int(device_id, 16), common)
        for first, last in family.get("ranges", ()):
            ranges.append((int(first, 16), int(last, 16), common))
    return exact, tuple(ranges)
