"""Which device's PCI Express link leads from a card to the slot, and what that link says."""

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
"""A switch on the card is two bridges above it: one towards the card, one towards the slot."""
UNPLACED = Unknown("where the card sits on the bus is not recorded")


class LinkHost(Protocol):
    def read(self, path: str, *, limit: int = 1_000_000) -> Text: ...
    def realpath(self, path: str) -> str: ...


def slot_port(host: LinkHost, address: str) -> str | None:
    """The address of the device whose link leads to the slot; None where it cannot be told.

    Discrete cards of Intel, and of AMD since Vega, hold a switch. Behind it every link of AMD looks fast and wide, and every link of
    Intel says 2.5 GT/s and one lane. So the way goes upward from the card, through at most the two bridges of one switch, as long as they
    are of the card's maker and no root port.
    """
    vendor = host.read(f"{DEVICES}/{address}/vendor", limit=64).text.strip()
    parts = [part for part in host.realpath(f"{DEVICES}/{address}").split("/") if _ADDRESS.fullmatch(part)]
    if len(parts) < 2 or parts[-1] != address:  # a folder of links as in a recording made by hand: nothing stands above the card
        return None if vendor in _MAKERS_WITH_SWITCH and not address.startswith("0000:00:") else address
    chosen = address
    for part in reversed(parts[1:-1][-_PORTS:]):  # the first is the root port
        if host.read(f"{DEVICES}/{part}/vendor", limit=64).text.strip() != vendor:
            break
        chosen = part
    return chosen


def link_fields(host: LinkHost, address: str, kind: str | None) -> dict[str, Any]:
    """The fields of a GPU that tell of its link. An integrated GPU has none."""
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
    """'16.0 GT/s PCIe'; 'Unknown' and the like say nothing."""
    text = host.read(path, limit=64).text.strip()
    return text if re.match(r"\d", text) else Unknown("not recorded")


def _width(host: LinkHost, path: str) -> int | Unknown:
    """0 and 255 are how drivers say that they do not know."""
    text = host.read(path, limit=64).text.strip()
    return int(text) if re.fullmatch(r"[0-9]{1,2}", text) and 0 < int(text) <= 32 else Unknown("not recorded")
