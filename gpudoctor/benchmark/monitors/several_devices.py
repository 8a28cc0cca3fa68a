"""Monitors several devices at once while replicas run on them, each device once, and adds up their power."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.monitors.energy import Joules
from gpudoctor.benchmark.monitors.monitor import Seen, ToolHost, Watching
from gpudoctor.benchmark.monitors.monitor_choice import watching_for
from gpudoctor.model.facts import Facts


class TeamWatching:
    """A Watching for the devices of `peers`. `pids`: the processes whose load is the measurement; the list may grow until it begins."""

    def __init__(self, host: ToolHost, facts: Facts, peers: Sequence[MeasurementTarget], pids: Sequence[int | str]) -> None:
        places = {peer.device: peer for peer in peers}
        self._boards_unknown = len(places) > 1 and peers[0].backend == "ipu"
        self._all: list[Watching] = [watching_for(host, facts, peer, pids) for peer in places.values()]

    def begin(self) -> None:
        for each in self._all:
            each.begin()

    def end(self) -> None:
        for each in self._all:
            each.end()

    def seen(self) -> Seen:
        """The observations on the first device, with the disturbances of all of them."""
        parts = [each.seen() for each in self._all]
        return replace(
            parts[0], throttled="; ".join(dict.fromkeys(part.throttled for part in parts if part.throttled)),
            others="; ".join(dict.fromkeys(part.others for part in parts if part.others)),
        )  # fmt: skip

    def total(self, least_seconds: float) -> tuple[Joules | None, str]:
        """(joules of all devices in the first one's seconds, why there are none). `least_seconds`: shorter runs have no value."""
        found = [each.meter.total() for each in self._all]
        joules = [each for each in found if each is not None]
        if len(joules) < len(found):
            return None, next(each.meter.why_not for each, one in zip(self._all, found, strict=True) if one is None)
        if self._boards_unknown:
            return None, "two IPUs may share a board, and its power would be counted twice"
        first = joules[0]
        if first.seconds < least_seconds - 1:  # since the counter is read once a second
            return None, f"{first.seconds:.0f} s are too short for it: --full, or --duration {least_seconds:.0f}"
        watts = sum(each.watts for each in joules)
        return Joules(watts * first.seconds, first.seconds, first.boundary, first.source), ""
