"""How long the merge of many hosts takes, how much memory it needs, and whether it finds what is planted and accuses nobody else.

    python benchmarks/fleet.py time 1000 3000 10000      seconds and memory of reading and merging, each size in a process of its own
    python benchmarks/fleet.py found --hosts 1000 --seeds 20

`time` puts the bytes of every row into a store as a collector does (every value is checked, one file each), and shows the store in another
process, as `fleet show` does: after the first run, and after the second, which is merged beside the first. `found` counts, over seeds:
planted faults that were found, healthy hosts and cards that were accused with the 95 % interval of the rate, and the same for two rules in
wide use, on the same numbers: mean - 2 sigma, and 5 % below the mean. What is planted says tests/synthetic_fleet.py.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from synthetic_fleet import RUNS, VIEWED, Bases, Fleet, bases

from gpudoctor.fleet.merging import merge
from gpudoctor.model.fleet_row import FleetRow
from gpudoctor.model.fleet_view import FleetView
from gpudoctor.services.fleet_showing import ShowRequest, show
from gpudoctor.system.fleet_store import FleetStore, RowRefused, decode

Z = 1.96


def read(fleet: Fleet, run: str) -> tuple[list[FleetRow], dict[str, str], int]:
    """The rows of a run, what was refused, and the bytes."""
    rows, refused, size = [], {}, 0
    for host, content in fleet.rows(run):
        size += len(content)
        try:
            rows.append(decode(content))
        except RowRefused as error:
            refused[host] = str(error)
    return rows, refused, size


def merged(fleet: Fleet) -> tuple[FleetView, list[FleetRow]]:
    rows, refused, _ = read(fleet, RUNS[1])
    earlier, _, _ = read(fleet, RUNS[0])
    known = {row.host: row.created for row in earlier}
    return merge(rows, run=RUNS[1], created=VIEWED, earlier=[earlier], expected=fleet.hosts, refused=refused, known=known), rows


def score(fleet: Fleet, shown: FleetView, counts: Counter[str]) -> None:
    """Adds what was found and who was accused to the counts."""
    planted = fleet.planted
    states = {each.host: each for each in shown.hosts}
    for answer, hosts in (("silent", planted.silent), ("failed", planted.failed), ("refused", planted.broken), ("stale", planted.stale)):
        # a host with garbage now and a row of the former run is refused; a stale one has only the row
        counts[f"{answer} planted"] += len(hosts)
        counts[f"{answer} found"] += sum(states[host].answer == answer for host in hosts)
    counts["faults planted"] += len(planted.faults)
    counts["faults found"] += sum(states[host].usable is False for host in planted.faults)
    odd = {
        host: {one.fact for one in group.differences}
        for each in shown.cohorts
        for group in each.groups
        if group.odd
        for host in group.hosts
    }
    counts["drift planted"] += len(planted.drift)
    counts["drift found"] += sum(bool({"nvidia.driver.version", "kernel.release"} & odd.get(host, set())) for host in planted.drift)
    counts["lost cards planted"] += len(planted.lost)
    counts["lost cards found"] += sum("cards" in odd.get(host, set()) for host in planted.lost)
    for life in ("suspect", "confirmed"):
        accused = {(each.host, each.card) for each in shown.suspicions if each.life == life}
        counts[f"slow cards {life}"] += len(accused & planted.slow.keys())
        counts[f"healthy cards {life}"] += len(accused - planted.slow.keys())
    counts["slow cards planted"] += len(planted.slow)
    healthy = {host for host in fleet.hosts if planted.answering(host)} - {host for host, _ in planted.slow} - planted.faults.keys()
    counts["healthy hosts"] += len(healthy)
    counts["healthy hosts unusable"] += sum(states[host].usable is not True for host in healthy)
    alike = healthy - planted.drift - planted.lost
    counts["healthy hosts odd"] += sum(host in odd for host in alike)
    counts["cohorts of two groups planted"] += 1
    counts["cohorts of two groups found"] += sum(each.kind == "several" for each in shown.cohorts if "two-groups" in each.name)
    counts["cohorts of two groups elsewhere"] += sum(each.kind == "several" for each in shown.cohorts if "two-groups" not in each.name)


def by_the_mean(fleet: Fleet, rows: list[FleetRow], counts: Counter[str]) -> None:
    """The same numbers of one run by two rules that take the mean."""
    values: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for row in rows:
        for each in row.measurements:
            if each.value is not None:
                values.setdefault((fleet.design[row.host].machine, each.workload), {})[row.host, each.card] = each.value
    accused: dict[str, set[tuple[str, str]]] = {"mean - 2 sigma": set(), "5 % below the mean": set()}
    cards: set[tuple[str, str]] = set()
    for of_card in values.values():
        mean, sigma = statistics.fmean(of_card.values()), statistics.stdev(of_card.values())
        limits = {"mean - 2 sigma": mean - 2 * sigma, "5 % below the mean": 0.95 * mean}
        cards |= of_card.keys()
        for rule, limit in limits.items():
            accused[rule] |= {card for card, value in of_card.items() if value < limit}
    counts["healthy cards"] += len(cards - fleet.planted.slow.keys())
    for rule, found in accused.items():
        counts[f"{rule}: slow cards"] += len(found & fleet.planted.slow.keys())
        counts[f"{rule}: healthy cards"] += len(found - fleet.planted.slow.keys())


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    share, square = hits / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    reach = Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return max(middle - reach, 0.0), middle + reach


def found(hosts: int, seeds: range) -> None:
    counts: Counter[str] = Counter()
    of_recordings: Bases = bases()
    for seed in seeds:
        fleet = Fleet(hosts, seed, of_recordings)
        shown, rows = merged(fleet)
        score(fleet, shown, counts)
        by_the_mean(fleet, rows, counts)
        print(".", end="", flush=True)  # noqa: T201
    print()  # noqa: T201
    for name, count in sorted(counts.items()):
        total = "healthy cards" if "healthy cards" in name else "healthy hosts" if name.startswith("healthy hosts ") else ""
        low, high = wilson(count, counts[total]) if total and name != total else (0.0, 0.0)
        print(f"{name:40} {count:8}" + (f"   {100 * low:.4f} to {100 * high:.4f} %" if high else ""))  # noqa: T201


def one_size(hosts: int) -> None:
    """Times the store with the rows of two runs, and then `fleet show` of it in a process of its own, without and with the former run."""
    fleet, size, seconds = Fleet(hosts, 1, bases()), [], dict.fromkeys(RUNS, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        store = FleetStore(Path(folder))
        for run in RUNS:
            for host, content in fleet.rows(run):
                size.append(len(content))
                began = time.process_time()
                with contextlib.suppress(RowRefused):
                    store.add(content, host)
                seconds[run] += time.process_time() - began
            began = time.process_time()
            store.runs()  # takes the rows into the index
            seconds[run] += time.process_time() - began
            print(f"{hosts} hosts, {statistics.fmean(size):.0f} bytes a row, {run} into the store {seconds[run]:.2f} s of CPU; ", end="")  # noqa: T201
            sys.stdout.flush()
            subprocess.run([sys.executable, __file__, "show", folder], check=True)


def show_one(folder: str) -> None:
    """What `fleet show` does before it writes, in this process."""
    before, began = _peak(), (time.perf_counter(), time.process_time())
    shown = show(ShowRequest(store=Path(folder)))
    wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
    print(f"show {cpu:.2f} s of CPU, {wall:.2f} s; {_peak():.0f} MB, {before:.0f} of them before it began; {len(shown.hosts)} hosts")  # noqa: T201


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("time").add_argument("hosts", type=int, nargs="+")
    commands.add_parser("show").add_argument("folder")
    counted = commands.add_parser("found")
    counted.add_argument("--hosts", type=int, default=1000)
    counted.add_argument("--seeds", type=int, default=20)
    counted.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    if given.command == "found":
        found(given.hosts, range(given.first, given.first + given.seeds))
    elif given.command == "show":
        show_one(given.folder)
    elif len(given.hosts) == 1:
        one_size(given.hosts[0])
    else:
        for hosts in given.hosts:
            subprocess.run([sys.executable, __file__, "time", str(hosts)], check=True)


if __name__ == "__main__":
    main()
