"""A fleet of synthetic hosts with the rates of their links, some of which are slow: NVLink, PCIe, and RDMA between hosts.

Half of the hosts have eight cards that are joined by NVLink and measure every pair of them. The others have four cards on two PCIe
switches, so that pairs of one switch are faster by half. The hosts of a rack of sixteen measure RDMA in a ring, each to the four behind it.
A healthy link of one position is the same on all hosts but for a spread (of hosts, and of runs on top) that depends on its kind.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations

from msgspec import Struct, field

from gpudoctor.model.fleet_row import FleetRow, RowCard, RowMeasurement
from gpudoctor.services.row_making import encode

RACK = 16
NEIGHBOURS = 4
TIMES = {"run-1": "2026-11-19T10:00:00Z", "run-2": "2026-11-20T10:00:00Z"}
LINK, CARD, HOST = 0.0005, 0.002, 0.005
"""The rates: of links within a host that are slow by themselves, of cards all of whose links are slow, and of hosts whose RDMA is slow."""
SLOWEST, FASTEST = 0.5, 0.92
"""A slow link moves a share between these of what it should."""
SPREAD = {"nvlink": (0.005, 0.004), "pcie": (0.008, 0.008), "rdma": (0.015, 0.015)}
"""By kind: the relative deviation between links that are alike, and between runs of one link. Both have a long lower tail as well."""


class PlantedLinks(Struct):
    """What is slow, by its kind: single links as (host, 'a-b'), cards and hosts as (host, card); the card of a host is empty."""

    links: dict[tuple[str, str], str] = field(default_factory=dict)
    ends: dict[tuple[str, str], str] = field(default_factory=dict)
    factors: dict[tuple[str, str], float] = field(default_factory=dict)


class LinkFleet:
    """`hosts` in order; `planted` says which of their links are slow; `links` is the number of all links."""

    def __init__(self, count: int, seed: int) -> None:
        self._seed = seed
        generator = random.Random(seed)
        self.hosts = [f"node{number:05}" for number in range(count)]
        self.planted, self.links = PlantedLinks(), 0
        for number, host in enumerate(self.hosts):
            kind, cards = self._kind(number)
            self.links += cards * (cards - 1) // 2 + NEIGHBOURS
            for card in range(cards):
                if generator.random() < CARD:
                    self._plant(self.planted.ends, (host, _address(card)), kind, generator)
            for one, other in combinations(range(cards), 2):
                if generator.random() < LINK:
                    self._plant(self.planted.links, (host, f"{host}:{_address(one)}-{host}:{_address(other)}"), kind, generator)
            if generator.random() < HOST:
                self._plant(self.planted.ends, (host, ""), "rdma", generator)

    def _plant(self, where: dict[tuple[str, str], str], place: tuple[str, str], kind: str, generator: random.Random) -> None:
        where[place] = kind
        self.planted.factors[place] = generator.uniform(SLOWEST, FASTEST)

    def touched(self, host: str, place: str) -> bool:
        """Whether a link leads to an end that is slow."""
        ends = (end.partition(":") for end in place.split("-")) if "-" in place else ()
        return any((name, card) in self.planted.ends or ((name, "") in self.planted.ends and card == "mlx5_0") for name, _, card in ends)

    def _kind(self, number: int) -> tuple[str, int]:
        return ("nvlink", 8) if number < len(self.hosts) // 2 else ("pcie", 4)

    def rows(self, run: str) -> Iterator[bytes]:
        """What the hosts send."""
        for number, host in enumerate(self.hosts):
            generator = random.Random(f"{self._seed} {run} {host}")
            kind, count = self._kind(number)
            model = "H100" if kind == "nvlink" else "RTX 4090"
            cards = tuple(RowCard(address=_address(card), vendor="nvidia", model=model) for card in range(count))
            row = FleetRow(
                host=host, run=run, created=TIMES[run], tool="gpudoctor 0.1.0", cards=cards,
                measurements=(
                    _measured("all_reduce", 180.0, dict(self._inside(host, kind, count, generator))),
                    _measured("rdma", 45.0, dict(self._between(number, host, generator))),
                ),
            )  # fmt: skip
            yield encode(row)

    def _inside(self, host: str, kind: str, count: int, generator: random.Random) -> Iterator[tuple[str, float]]:
        for one, other in combinations(range(count), 2):
            usual = 150.0 if kind == "nvlink" else 24.0 if one // 2 == other // 2 else 16.0
            places = [(host, _address(one)), (host, _address(other)), (host, f"{host}:{_address(one)}-{host}:{_address(other)}")]
            yield f"{_address(one)} {_address(other)}", usual * self._rate(kind, host, f"{one}-{other}", places, generator)

    def _between(self, number: int, host: str, generator: random.Random) -> Iterator[tuple[str, float]]:
        first = RACK * (number // RACK)
        rack = self.hosts[first : first + RACK]
        for step in range(1, min(NEIGHBOURS, (len(rack) - 1) // 2) + 1):
            other = rack[(number - first + step) % len(rack)]
            places = [(host, ""), (other, "")]
            yield f"mlx5_0 {other}:mlx5_0", 45.0 * self._rate("rdma", host, other, places, generator)

    def _rate(self, kind: str, host: str, link: str, places: list[tuple[str, str]], generator: random.Random) -> float:
        """The share of the usual rate: that of the worst fault on the way, times what the link is by itself and what the run gives."""
        own = random.Random(f"{self._seed} {kind} {host} {link}")
        still, moving = SPREAD[kind]
        worst = min(self.planted.factors.get(place, 1.0) for place in places)
        return worst * _spread(still, own) * _spread(moving, generator)


def _spread(deviation: float, generator: random.Random) -> float:
    return 1 + deviation * (generator.gauss(0, 1) - 0.5 * generator.expovariate(1))


def _address(number: int) -> str:
    return f"0000:{number + 1:02x}:00.0"


def _measured(workload: str, value: float, links: dict[str, float]) -> RowMeasurement:
    return RowMeasurement(
        workload=workload, task="micro", framework="torch", backend="nccl", dtype="float32", batch=0, status="ok", value=value,
        unit="GB/s", links={ends: round(rate, 6) for ends, rate in links.items()},
    )  # fmt: skip
