"""The PCI Express link of a card, from sysfs. It is read under load, since idle cards reduce its speed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gpudoctor.benchmark.monitors.monitor import Link, Seen
from gpudoctor.facts.probes.pci import DEVICES
from gpudoctor.facts.probes.pci_link import LinkHost, slot_port

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


class LinkWatch(Struct):
    """Samples the link. `address`: the card's; the link is read from the card's device that is in the slot."""

    host: LinkHost
    address: str
    _link: Link = field(default_factory=Link)
    _folder: str = ""

    def sample(self, now: float) -> None:
        if not self._folder:
            self._folder = slot_side(self.host, self.address)
            self._link = Link(gt_max=self._speed("max_link_speed"), width_max=self._width("max_link_width"))
        gt, width = self._speed("current_link_speed"), self._width("current_link_width")
        if gt is not None and gt >= (self._link.gt or 0.0):
            self._link = replace(self._link, gt=gt, width=width)

    def seen(self) -> Seen:
        return Seen(link=self._link if self._link.gt is not None else None)

    def _speed(self, name: str) -> float | None:
        """GT/s from '16.0 GT/s PCIe' or '8 GT/s'; None for 'Unknown'."""
        word = self.host.read(f"{self._folder}/{name}", limit=64).text.strip().partition(" ")[0]
        return float(word) if re.fullmatch(r"\d{1,3}(\.\d{1,2})?", word) else None

    def _width(self, name: str) -> int | None:
        """The number of lanes; None for 0 and 255, by which drivers mark an unknown width."""
        text = self.host.read(f"{self._folder}/{name}", limit=64).text.strip()
        return int(text) if text.isascii() and text.isdigit() and 0 < int(text) <= 32 else None


def slot_side(host: LinkHost, address: str) -> str:
    """The folder of the device whose link leads to the slot; the card's own where that is unknown."""
    return f"{DEVICES}/{slot_port(host, address) or address}"


def gpu_address(gpu: Mapping[str, Any] | None) -> str | None:
    """The link's sampler for a record of `gpus`; None where its address is not on a PCI bus (Windows, WSL, Apple)."""
    address = gpu.get("address") if gpu is not None else None
    return address if isinstance(address, str) and _ADDRESS.fullmatch(address) else None
