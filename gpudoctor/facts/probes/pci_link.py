"""The PCI Express link between a card and its slot: whose link that is, its speed and its width."""

from __future__ import annotations

import re
from typing import Any, Protocol

from gpudoctor.facts.probes.pci import DEVICES
from gpudoctor.model.facts import Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Text

_ADDRESS = lazy(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_MAKERS_WITH_SWITCH = ("0x8086", "0x1002")
_PORTS = 2
"""The number of bridges of a switch on the card: one towards the GPU, one towards the slot."""
UNPLACED = Unknown("where the card sits on the bus is not recorded")


class LinkHost(Protocol):
    """What is needed of a host to read a link."""

    def read(self, path: str, *, limit: int = 1_000_000) -> Text: ...
    def realpath(self, path: str) -> str: ...


def slot_port(host: LinkHost, address: str) -> str | None:
    """The address of the device whose link leads to the slot; None where a recording does not show it.

    Discrete cards of Intel, and of AMD since Vega, hold a switch. The link behind it always looks fast and wide on AMD's cards, and like
    2.5 GT/s with one lane on Intel's. The search therefore goes upward from the GPU, through at most the two bridges of one switch, as long
    as these are of the GPU's vendor and no root port.
    """
    vendor = host.read(f"{DEVICES}/{address}/vendor", limit=64).text.strip()
    parts = [part for part in host.realpath(f"{DEVICES}/{address}").split("/") if _ADDRESS.fullmatch(part)]
    if len(parts) < 2 or parts[-1] != address:  # a recording made by hand, without the bridges above the card
        return None if vendor in _MAKERS_WITH_SWITCH and not address.startswith("0000:00:") else address
    chosen = address
    for part in reversed(parts[1:-1][-_PORTS:]):  # the first part is the root port
        if host.read(f"{DEVICES}/{part}/vendor", limit=64).text.strip() != vendor:
            break
        chosen = part
    return chosen


def link_fields(host: LinkHost, address: str, kind: str | None) -> dict[str, Any]:
    """The fields of the fact gpus about the link of a GPU. For an integrated GPU they are those of its own address."""
    port = slot_port(host, address) if kind != "integrated" else address
    if port is None:
        return {"link_port": UNPLACED, **dict.fromkeys(("link_speed", "link_speed_max", "link_width", "link_width_max"), UNPLACED)}
    folder = f"{DEVICES}/{port}"
    return {
        "link_port": port,
        "link_speed": _speed(host, f"{folder}/current_link_speed"), "link_speed_max": _speed(host, f"{folder}/max_link_speed"),
        "link_width": _width(host, f"{folder}/current_link_width"), "link_width_max": _width(host, f"{folder}/max_link_width"),
    }  # fmt: skip


def _speed(host: LinkHost, path: str) -> str | Unknown:
    """The speed in a sysfs file, '16.0 GT/s PCIe'; unknown for 'Unknown' and other words."""
    text = host.read(path, limit=64).text.strip()
    return text if re.match(r"\d", text) else Unknown("not recorded")


def _width(host: LinkHost, path: str) -> int | Unknown:
    """The number of lanes in a sysfs file; unknown for 0 and 255, which drivers write where they do not know it."""
    text = host.read(path, limit=64).text.strip()
    return int(text) if re.fullmatch(r"[0-9]{1,2}", text) and 0 < int(text) <= 32 else Unknown("not recorded")
