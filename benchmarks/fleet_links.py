"""Whether slow links are found among the links of a fleet, with the end that is to blame, and nobody else is accused.

    python benchmarks/fleet_links.py --hosts 400 --seeds 20

Two runs of rows go through the store's reader into the merge. Counted are planted slow links, cards and hosts that the second run confirms,
by kind, and what is accused although nothing was planted there, with the 95 % interval of the rate. What is planted says
tests/synthetic_links.py.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from synthetic_links import TIMES, LinkFleet

from benchmarks.fleet import wilson
from gpudoctor.fleet.merging import merge
from gpudoctor.model.fleet_view import CONFIRMED, SUSPECT, FleetView
from gpudoctor.system.fleet_store import decode

EARLIER, NOW = TIMES
VIEWED = "2026-11-20T10:04:00Z"


def merged(fleet: LinkFleet) -> FleetView:
    rows = map(decode, fleet.rows(NOW))
    return merge(rows, run=NOW, created=VIEWED, earlier=[map(decode, fleet.rows(EARLIER))])


def score(fleet: LinkFleet, shown: FleetView, counts: Counter[str]) -> None:
    """Adds what was found and what was accused to the counts."""
    planted = fleet.planted
    for life in (SUSPECT, CONFIRMED):
        accused = {(each.host, each.card) for each in shown.suspicions if each.life == life}
        counts[f"healthy {life}"] += sum(place not in planted.factors and not fleet.touched(*place) for place in accused)
        for name, places in (("slow link", planted.links), ("slow end", planted.ends)):
            for place, kind in places.items():
                counts[f"{kind} {name} {life}"] += place in accused
    for name, places in (("slow link", planted.links), ("slow end", planted.ends)):
        for kind in places.values():
            counts[f"{kind} {name} planted"] += 1
    counts["healthy"] += fleet.links - len(planted.factors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    seconds = 0.0
    for seed in range(given.first, given.first + given.seeds):
        fleet = LinkFleet(given.hosts, seed)
        began = time.process_time()
        shown = merged(fleet)
        seconds += time.process_time() - began
        score(fleet, shown, counts)
        print(".", end="", flush=True)  # noqa: T201
    print(f"\n{given.seeds} fleets of {given.hosts} hosts, {seconds / given.seeds:.1f} s of CPU each")  # noqa: T201
    for name, count in sorted(counts.items()):
        low, high = wilson(count, counts["healthy"]) if name.startswith("healthy ") else (0.0, 0.0)
        print(f"{name:40} {count:8}" + (f"   {100 * low:.5f} to {100 * high:.5f} %" if high else ""))  # noqa: T201


if __name__ == "__main__":
    main()
