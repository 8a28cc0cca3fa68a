"""Planted slow links, cards and hosts are found with the end that is to blame. benchmarks/fleet_links.py does it over many seeds."""

from __future__ import annotations

from collections import Counter

import pytest
from synthetic_links import LinkFleet

from benchmarks.fleet_links import merged, score


@pytest.mark.parametrize("seed", range(2))
def test_every_slow_link_is_found_and_no_other_is_confirmed(seed: int) -> None:
    fleet, counts = LinkFleet(300, seed), Counter()
    score(fleet, merged(fleet), counts)
    planted = {name.removesuffix(" planted") for name in counts if name.endswith(" planted")}
    assert {"nvlink slow end", "nvlink slow link"} <= planted
    for name in planted:
        assert counts[f"{name} confirmed"] == counts[f"{name} planted"], name
    assert counts["healthy confirmed"] == 0 and counts["healthy suspect"] <= 2
