"""Faults of links, and the end that is to blame."""

from __future__ import annotations

import itertools
import random

import pytest
from fleet_rows import cards, measured, name, row, view
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.fleet.slow_cards import Sample
from gpudoctor.fleet.slow_links import BETWEEN_HOSTS, blamed, placed
from gpudoctor.model.fleet_row import FleetRow


def fleet(slow: set[tuple[str, int, int]], hosts: int = 12, count: int = 4) -> list[FleetRow]:
    """Hosts with all pairs of their cards; 0-1 and 2-3 are bridged and three times as fast."""
    generator = random.Random(5)
    found = []
    for number in range(hosts):
        links = []
        for one, other in itertools.combinations(range(count), 2):
            speed = (150 if one // 2 == other // 2 else 50) * generator.gauss(1, 0.005)
            factor = 0.6 if (name(number), one, other) in slow else 1.0
            place = f"0000:{one:02x}:00.0 0000:{other:02x}:00.0"
            links.append(measured(speed * factor, place, "all_reduce link", unit="GB/s"))
        found.append(row(name(number), cards=cards(count), measurements=tuple(links)))
    return found


def test_positions_that_are_built_otherwise_are_not_compared() -> None:
    assert view(fleet(set())).suspicions == ()


def test_one_slow_link_is_a_matter_of_the_link() -> None:
    (one,) = view(fleet({("gpu004", 0, 2)})).suspicions
    assert (one.host, one.card) == ("gpu004", "gpu004:0000:00:00.0-gpu004:0000:02:00.0")
    assert one.below_percent == pytest.approx(40, abs=3)


def test_a_card_all_of_whose_links_are_slow_is_to_blame() -> None:
    (one,) = view(fleet({("gpu004", 0, 1), ("gpu004", 1, 2), ("gpu004", 1, 3)})).suspicions
    assert (one.host, one.card) == ("gpu004", "0000:01:00.0")


def test_links_between_hosts_blame_the_host() -> None:
    generator = random.Random(6)
    now = []
    for number in range(10):
        far = [other for other in range(10) if other > number]
        slow = [0.5 if 7 in (number, other) else 1 for other in far]
        links = tuple(
            measured(40 * generator.gauss(1, 0.004) * factor, f"cuda:0 {name(other)}:cuda:0", "all_reduce link")
            for other, factor in zip(far, slow, strict=True)
        )
        now.append(row(name(number), measurements=links))
    assert [(each.host, each.card) for each in view(now).suspicions] == [("gpu007", "")]


def compact(slow: dict[str, float], hosts: int = 12) -> list[FleetRow]:
    """Hosts of four cards whose links are entries of one measurement; `slow` are factors of cards, as 'gpu004/1'."""
    generator = random.Random(7)
    found = []
    for number in range(hosts):
        factors = [slow.get(f"{name(number)}/{card}", 1.0) for card in range(4)]
        pairs = itertools.combinations(range(4), 2)
        links = {f"cuda:{one} cuda:{other}": 50 * generator.gauss(1, 0.012) * min(factors[one], factors[other]) for one, other in pairs}
        found.append(row(name(number), cards=cards(4), measurements=(measured(90.0, "cuda:0", "all_reduce", unit="GB/s", links=links),)))
    return found


def test_links_that_are_not_slow_enough_each_blame_their_end() -> None:
    (one,) = view(compact({"gpu004/1": 0.94})).suspicions
    assert (one.host, one.card, one.workload, one.unit) == ("gpu004", "cuda:1", "all_reduce link float32 by torch", "GB/s")
    assert one.below_percent == pytest.approx(6, abs=2) and one.z < -3.5 and one.samples > 40


def test_two_bad_cards_of_a_host_do_not_accuse_the_others() -> None:
    found = view(compact({"gpu004/1": 0.6, "gpu004/2": 0.7})).suspicions
    assert sorted((each.host, each.card) for each in found) == [("gpu004", "cuda:1"), ("gpu004", "cuda:2")]


@pytest.mark.parametrize(
    ("end", "is_far"),
    [("cuda:0", False), ("0000:81:00.0", False), ("mlx5_0", False), ("gpu02:mlx5_0", True), ("gpu02:cuda:0", True),
     ("gpu02:0000:81:00.0", True)],
)  # fmt: skip
def test_an_end_of_another_host_is_seen_by_its_name(end: str, is_far: bool) -> None:
    found = placed(Sample("gpu01", f"cuda:3 {end}", "", ("link",), 1.0, ()), ["0000:81:00.0"])
    assert (found.metric[-1] == BETWEEN_HOSTS) is is_far
    assert set(found.card.split(" ")) == {"gpu01:cuda:3", end if is_far else f"gpu01:{end}"}


@given(st.integers(5, 12), st.data())
def test_the_bad_ends_are_blamed_and_no_others(count: int, data: st.DataObject) -> None:
    bad = data.draw(st.sets(st.integers(0, count - 1), max_size=(count - 1) // 3))
    links = [(str(one), str(other)) for one, other in itertools.combinations(range(count), 2)]
    slow = {link for link in links if {int(end) for end in link} & bad}
    assert blamed(links, slow) == {str(each) for each in bad}


def test_a_host_with_a_hundred_thousand_links_takes_no_time() -> None:
    links = [("hub", str(number)) for number in range(100_000)]
    assert blamed(links, set(links)) == {"hub"}
