"""A fleet of synthetic hosts with planted faults at known rates: rows of recorded machines, multiplied.

Of each host the cards, the labels and the measurements are made up; values, hashes and findings are those of recordings in
tests/machines. A healthy card is as fast as its model but for a spread of 0.6 % between cards (skewed: some are slower, none is much
faster) and 0.4 % between processes. A fleet has two runs; what is planted stays for both.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gpudoctor.model.fleet_row import FleetRow, RowFinding
from gpudoctor.services.checking import CheckRequest, check
from gpudoctor.services.row_making import encode, row_of

MACHINES = Path(__file__).parent / "machines"
RUNS = ("run-1", "run-2")
TIMES = {"run-1": "2026-11-19T10:00:00Z", "run-2": "2026-11-20T10:00:00Z"}
VIEWED = "2026-11-20T10:04:00Z"
METRICS = (("matmul", "float16", 700.0, "TFLOP/s"), ("memory bandwidth", "float32", 2500.0, "GB/s"))
PROCESSES = 3
GARBAGE = (b"", b"<html>502 Bad Gateway</html>", b'{"schema": "gpudoctor.row/1", "host": ', b"[" * 60_000, b'{"schema": "gpudoctor.row/1"}')
SLOW, FAULT, DRIFT, LOST, SILENT, BROKEN, FAILED, STALE = 0.005, 0.01, 0.01, 0.003, 0.01, 0.003, 0.003, 0.003
"""The rates: of cards that are slow (7 to 20 %), and of hosts with an error, with another driver, with a lost card, without an answer, with
garbage for an answer, with a reason for having none, and with a row of the former run only."""
BAD_HOSTS = 0.3
"""Of the hosts of the cohort 'bad': all of their cards are 10 % slow."""


class _Design(Struct, frozen=True):
    """A kind of host: the recording, its share of the fleet, its cards, and its role."""

    machine: str
    share: float
    cards: int
    role: str


DESIGNS = (
    _Design("h100-server-rdma", 0.55, 8, "train"), _Design("mi300x-healthy", 0.2, 8, "train"),
    _Design("rtx4090-healthy", 0.15, 4, "two-groups"), _Design("rx6800-healthy", 0.1, 2, "bad"),
)  # fmt: skip
WITH_ERRORS = ("rtx4090-stub-libcuda", "rx6800-ollama-not-in-render", "flex170-no-group")


class Planted(Struct):
    """What is wrong with a fleet, by host; `slow` has (host, address of the card)."""

    slow: dict[tuple[str, str], float] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    drift: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    stale: set[str] = field(default_factory=set)

    def answering(self, host: str) -> bool:
        return host not in self.silent | self.broken | self.failed | self.stale


class Bases(Struct):
    """Rows of the recordings."""

    rows: dict[str, FleetRow]
    errors: list[RowFinding]


def bases() -> Bases:
    """Replays the recordings; takes some seconds."""
    found = {machine: _row(machine) for machine in (*(each.machine for each in DESIGNS), *WITH_ERRORS)}
    errors = [each for machine in WITH_ERRORS for each in found[machine].findings if each.severity == "error"]
    return Bases({each.machine: replace(found[each.machine], findings=()) for each in DESIGNS}, errors)


def _row(machine: str) -> FleetRow:
    return row_of(check(CheckRequest(capture=str(MACHINES / machine))), host="host", run="run", labels={})


class Fleet:
    """`hosts` names in a fixed order; `planted` says what is wrong with them."""

    def __init__(self, count: int, seed: int, bases: Bases) -> None:
        self._seed, self._bases = seed, bases
        generator = random.Random(seed)
        self.hosts = [f"node{number:05}" for number in range(count)]
        self.planted = Planted()
        self.design: dict[str, _Design] = {}
        designs = [each for each in DESIGNS for _ in range(round(each.share * count))]
        for place, host in enumerate(self.hosts):
            design = designs[min(place, len(designs) - 1)]
            self.design[host] = design
            self._plant(host, design, generator, bad=design.role == "bad" and place % 10 < 10 * BAD_HOSTS)

    def _plant(self, host: str, design: _Design, generator: random.Random, bad: bool) -> None:
        planted = self.planted
        for share, hosts in ((SILENT, planted.silent), (BROKEN, planted.broken), (FAILED, planted.failed), (STALE, planted.stale)):
            if generator.random() < share:
                hosts.add(host)
                return
        if generator.random() < FAULT:
            planted.faults[host] = generator.choice(self._bases.errors).id
        if design.role == "train" and generator.random() < DRIFT:
            planted.drift.add(host)
        if design.cards > 2 and generator.random() < LOST:
            planted.lost.add(host)
        for number in range(design.cards - (host in planted.lost)):
            if bad or generator.random() < SLOW:
                planted.slow[host, _address(number)] = 0.9 if bad else generator.uniform(0.8, 0.93)

    def rows(self, run: str) -> Iterator[tuple[str, bytes]]:
        """Each host that answers in the run, with the bytes that it sends."""
        for place, host in enumerate(self.hosts):
            generator = random.Random(f"{self._seed} {run} {host}")
            now = run == RUNS[-1]
            if host in self.planted.silent or (host in self.planted.stale and now):
                continue
            if host in self.planted.broken and now:
                yield host, generator.choice(GARBAGE)
            elif host in self.planted.failed and now:
                document = {"schema": "gpudoctor.row/1", "host": host, "run": run, "created": TIMES[run], "tool": "gpudoctor 0.1.0"}
                yield host, json.dumps(document | {"failed": "no answer within 60 s"}).encode()
            else:
                yield host, encode(self._host(place, host, run, generator))

    def _host(self, place: int, host: str, run: str, generator: random.Random) -> FleetRow:
        design = self.design[host]
        base = self._bases.rows[design.machine]
        newer = design.role == "two-groups" and place % 20 < 9  # 45 % have another driver, and are 8 % faster
        values = dict(base.values)
        if newer or host in self.planted.drift:
            values["nvidia.driver.version" if newer or "nvidia.driver.version" in values else "kernel.release"] = "999.1"
        cards = tuple(
            replace(base.cards[0], address=_address(number), uuid=f"GPU-{host}-{number}")
            for number in range(design.cards - (host in self.planted.lost))
        )
        fault = self.planted.faults.get(host)
        measurements = [
            _measured(
                metric,
                card.address,
                (1.08 if newer else 1.0) * self.planted.slow.get((host, card.address), 1.0),
                f"{self._seed} {host}",
                generator,
            )
            for metric in METRICS
            for card in cards
        ]
        row = replace(
            base, host=host, run=run, created=TIMES[run], values=values, cards=cards,
            labels={"role": design.role, "rack": f"r{place // 16}"},
            findings=tuple(each for each in self._bases.errors if each.id == fault),
        )  # fmt: skip
        document = msgspec.to_builtins(row) | {"measurements": measurements}
        return msgspec.convert(document, FleetRow)


def _address(number: int) -> str:
    return f"0000:{number + 1:02x}:00.0"


def _measured(metric: tuple[str, str, float, str], address: str, factor: float, host: str, generator: random.Random) -> dict[str, Any]:
    """One card: what it is by itself (the same in every run) times what a process happens to get."""
    workload, dtype, speed, unit = metric
    own = random.Random(f"{host} {address} {workload}")
    speed *= factor * (1 + 0.006 * own.gauss(0, 1) - 0.003 * own.expovariate(1))
    processes = sorted(round(speed * generator.gauss(1, 0.004), 3) for _ in range(PROCESSES))
    return {
        "workload": workload, "task": "micro", "framework": "torch", "backend": "cuda", "dtype": dtype, "batch": 0, "status": "ok",
        "value": processes[PROCESSES // 2], "unit": unit, "card": address, "samples": processes,
    }  # fmt: skip
