"""Which programs use a card, and which of its engines: from /proc/*/fdinfo (the kernel's drm-usage-stats), and from AMD's KFD queues.

Both are readable without root for processes of one's own, and for those of other users where the system permits it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from gpudoctor.benchmark.monitors.energy import number
from gpudoctor.benchmark.monitors.monitor import OTHERS, Seen, ours
from gpudoctor.system.host import Text

NODES = ("/dev/dri/", "/dev/accel/")
LOOK_EVERY = 5
"""Samples: finding the files of all processes costs more than reading those that are known."""
KFD = "/sys/class/kfd/kfd"
SHOWN = 3
"""Other processes that are named."""


class ClientHost(Protocol):
    """The methods that reading fdinfo needs of a host."""

    def read(self, path: str, *, limit: int = 1_000_000) -> Text: ...
    def exists(self, path: str) -> bool: ...
    def listdir(self, path: str) -> list[str]: ...
    def readlink(self, path: str) -> str | None: ...


class _Use(Struct):
    """One engine of one client. `busy` in nanoseconds, or in cycles where `clock` (the engine's own) counts beside it."""

    capacity: int
    first: tuple[int, int]
    last: tuple[int, int]
    pids: set[int] = field(default_factory=set)

    def share(self, window: float) -> float:
        """The share of the engine that was used during `window` seconds; 1 is all of it."""
        busy, clock = (max(0, self.last[place] - self.first[place]) for place in (0, 1))
        whole = clock if clock else 0 if self.last[1] else window * 1e9
        return min(busy / whole / self.capacity, 1.0) if whole > 0 else 0.0


class ClientsWatch(Struct):
    """Samples the clients of the card at PCI `address`. `own`: processes whose work is the measurement."""

    host: ClientHost
    address: str
    own: Sequence[int | str] = ()
    _uses: dict[tuple[str, str], _Use] = field(default_factory=dict)
    _files: set[tuple[int, str]] = field(default_factory=set)
    _samples: int = 0
    _times: list[float] = field(default_factory=list)

    def sample(self, now: float) -> None:
        if self._samples % LOOK_EVERY == 0:
            self._files = set(self._open_files())
        self._samples += 1
        self._times = [*self._times[:1], now]
        for pid, descriptor in sorted(self._files):
            self._take(pid, self.host.read(f"/proc/{pid}/fdinfo/{descriptor}", limit=100_000).text)

    def _open_files(self) -> Iterator[tuple[int, str]]:
        for name in self.host.listdir("/proc"):
            if name.isascii() and name.isdigit():
                for descriptor in self.host.listdir(f"/proc/{name}/fd"):
                    if (self.host.readlink(f"/proc/{name}/fd/{descriptor}") or "").startswith(NODES):
                        yield int(name), descriptor

    def _take(self, pid: int, text: str) -> None:
        client = parse_client(text)
        if client is None or client.address.lower() != self.address.lower():
            return
        for engine, (busy, clock) in client.engines.items():
            use = self._uses.setdefault((client.client, engine), _Use(client.capacities.get(engine, 1), (busy, clock), (busy, clock)))
            use.last = max(use.last[0], busy), max(use.last[1], clock)  # a driver's counter may decrease for a while
            use.pids.add(pid)

    def seen(self) -> Seen:
        window = self._times[-1] - self._times[0] if len(self._times) > 1 else 0.0
        if window <= 0 or not self._uses:
            return Seen()
        whole: dict[str, float] = {}
        foreign: dict[str, float] = {}
        who: dict[int, float] = {}
        for (_, engine), use in self._uses.items():
            share = use.share(window)
            whole[engine] = whole.get(engine, 0.0) + share
            if not any(ours(self.host, pid, self.own) for pid in use.pids):
                foreign[engine] = foreign.get(engine, 0.0) + share
                who[min(use.pids)] = who.get(min(use.pids), 0.0) + share
        others = ""
        if foreign and max(foreign.values()) > OTHERS:
            engine = max(foreign, key=lambda name: foreign[name])
            names = [self._name(pid) for pid in sorted(who, key=lambda pid: -who[pid]) if who[pid] > OTHERS / 4][:SHOWN]
            others = f"other processes took {100 * foreign[engine]:.0f} % of its engine {engine} ({', '.join(names)})"
        engines = tuple((name, 100 * min(share, 1.0)) for name, share in sorted(whole.items(), key=lambda pair: -pair[1]) if share >= 0.005)
        return Seen(others=others, engines=engines, busy_percent=100 * min(max(whole.values()), 1.0))

    def _name(self, pid: int) -> str:
        return named(self.host, pid)


class Client(Struct, frozen=True):
    """One fdinfo. `engines`: (busy nanoseconds, 0), or (busy cycles, all cycles)."""

    address: str
    client: str
    engines: Mapping[str, tuple[int, int]]
    capacities: Mapping[str, int]


def parse_client(text: str) -> Client | None:
    """Parses a file of /proc/PID/fdinfo, as the kernel's Documentation/gpu/drm-usage-stats.rst describes it; None for other files."""
    values: dict[str, str] = {}
    for line in text.splitlines()[:500]:
        key, colon, value = line.partition(":")
        if colon and key.startswith("drm-"):
            values[key] = value.strip()
    if not values.get("drm-pdev") or not values.get("drm-client-id"):
        return None
    engines: dict[str, tuple[int, int]] = {}
    capacities: dict[str, int] = {}
    for key, value in values.items():
        digits = value.split()[0] if value else ""
        count = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 25 else None
        if count is None:
            continue
        if key.startswith("drm-engine-capacity-"):
            capacities[key[20:]] = max(count, 1)
        elif key.startswith("drm-engine-"):
            engines[key[11:]] = count, 0
        elif key.startswith("drm-cycles-"):
            total = values.get(f"drm-total-cycles-{key[11:]}", "")
            if total.isascii() and total.isdigit() and len(total) < 25:
                engines[key[11:]] = count, int(total)
    return Client(values["drm-pdev"], values["drm-client-id"], engines, capacities) if engines else None


class KfdWatch(Struct):
    """Compute queues of AMD's ROCm, which fdinfo does not count: /sys/class/kfd/kfd/proc."""

    host: ClientHost
    address: str
    own: Sequence[int | str] = ()
    _gpu: str | None = None
    _working: set[int] = field(default_factory=set)
    _waiting: set[int] = field(default_factory=set)

    def sample(self, now: float) -> None:
        if self._gpu is None:
            self._gpu = kfd_id(self.host, self.address)
        if not self._gpu:
            return
        for name in self.host.listdir(f"{KFD}/proc"):
            if not (name.isascii() and name.isdigit()) or not self._has_queue(name):
                continue
            occupied = number(self.host, f"{KFD}/proc/{name}/stats_{self._gpu}/cu_occupancy")
            (self._working if occupied else self._waiting).add(int(name))

    def _has_queue(self, process: str) -> bool:
        folder = f"{KFD}/proc/{process}/queues"
        return any(self.host.read(f"{folder}/{queue}/gpuid", limit=100).text.strip() == self._gpu for queue in self.host.listdir(folder))

    def seen(self) -> Seen:
        others, notes = strangers(self.host, self._working, self._waiting - self._working, self.own)
        return Seen(others=others, notes=notes)


def kfd_id(host: ClientHost, address: str) -> str:
    """The KFD's ID of the card at a PCI address; '' where it has none."""
    parts = address.replace(".", ":").split(":")
    try:
        domain, bus, device, function = (int(part, 16) for part in parts)
    except ValueError:
        return ""
    wanted = {"location_id": str(bus << 8 | device << 3 | function), "domain": str(domain)}
    for node in host.listdir(f"{KFD}/topology/nodes"):
        folder = f"{KFD}/topology/nodes/{node}"
        said = dict(line.split(" ", 1) for line in host.read(f"{folder}/properties", limit=100_000).text.splitlines() if " " in line)
        if all(said.get(name, "0").strip() == value for name, value in wanted.items()):
            found = host.read(f"{folder}/gpu_id", limit=100).text.strip()
            return found if found.isdigit() and found != "0" else ""
    return ""


def strangers(host: ClientHost, working: set[int], idle: set[int], own: Sequence[int | str]) -> tuple[str, tuple[str, ...]]:
    """(programs that worked on a device, notes on others that have it open), from a driver's lists of processes.

    In a container, a driver may list the machine's PIDs: where none of them is ours, one of them is assumed to be ours.
    """
    everybody = working | idle
    if not everybody:
        return "", ()
    known = {pid for pid in everybody if ours(host, pid, own)}
    if not known:
        more = len(working) - 1
        return (f"{more} other process{'es' if more > 1 else ''} worked on it" if more > 0 else ""), ()
    names = [named(host, pid) for pid in sorted(working - known)]
    holding = [named(host, pid) for pid in sorted(idle - known)]
    others = f"other processes worked on it: {', '.join(names[:SHOWN])}{' …' if len(names) > SHOWN else ''}" if names else ""
    notes = (f"held by other processes too, without work: {', '.join(holding[:SHOWN])}{' …' if len(holding) > SHOWN else ''}",)
    return others, notes if holding else ()


def named(host: ClientHost, pid: int) -> str:
    """'Xorg, process 812'. The name comes from another program: only printable characters are kept, and it is shortened."""
    name = "".join(letter for letter in host.read(f"/proc/{pid}/comm", limit=1000).text.strip() if letter.isprintable())[:40]
    return f"{name}, process {pid}" if name else f"process {pid}"
