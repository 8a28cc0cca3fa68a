"""Hosts that should be alike meet in one cohort, and hosts that should not do not."""

from __future__ import annotations

from fleet_rows import GIB, cards, cohort, name, odd, row, rows, view


def names(now: list) -> list[tuple[str, int]]:
    return [(each.name, each.hosts) for each in view(now).cohorts]


def test_cards_and_labels_divide() -> None:
    now = [row(f"a{n}", cards=cards(8), labels={"role": "train"}) for n in range(5)]
    now += [row(f"b{n}", cards=cards(8), labels={"role": "serve", "image": "v2"}) for n in range(4)]
    now += [row(f"c{n}", cards=cards(4, "A100", 40 * GIB)) for n in range(3)]
    now += [row(f"d{n}", cards=cards(4, "A100", 80 * GIB)) for n in range(3)]
    assert names(now) == [
        ("8 × H100 80 GB, role train", 5), ("8 × H100 80 GB, role serve, image v2", 4), ("4 × A100 40 GB", 3), ("4 × A100 80 GB", 3),
    ]  # fmt: skip


def test_a_rack_does_not_divide() -> None:
    assert names([row(name(n), labels={"rack": f"r{n // 2}"}) for n in range(12)]) == [("2 × H100 80 GB", 12)]


def test_two_drivers_that_report_the_memory_differently_leave_one_cohort() -> None:
    now = rows(8, cards=cards(8, memory=81_920 * 2**20)) + [row(f"new{n}", cards=cards(8, memory=81_251 * 2**20)) for n in range(3)]
    assert names(now) == [("8 × H100 80 GB", 11)]


def test_an_unknown_size_is_the_only_known_one() -> None:
    assert names([*rows(3), row("old", cards=cards(memory=None))]) == [("2 × H100 80 GB", 4)]


def test_a_host_that_lost_a_card_stays_and_is_odd() -> None:
    found = cohort([*rows(20, cards=cards(8)), row("lost", cards=cards(7)), row("none", cards=(), labels={})][:-1])
    assert odd(found) == {"lost": {"cards": ("7 × H100 80 GB", "8 × H100 80 GB")}}


def test_a_host_that_lost_all_cards_stays_where_its_role_says_what_it_had() -> None:
    found = cohort([*rows(20, labels={"role": "train"}), row("lost", cards=(), labels={"role": "train"})])
    assert odd(found) == {"lost": {"cards": ("no cards", "2 × H100 80 GB")}}
    assert len(view([*rows(20), row("login", cards=())]).cohorts) == 2


def test_two_designs_with_different_numbers_of_cards_are_two_cohorts() -> None:
    assert names(rows(12, cards=cards(8)) + [row(f"small{n}", cards=cards(4)) for n in range(6)]) == [
        ("8 × H100 80 GB", 12), ("4 × H100 80 GB", 6),
    ]  # fmt: skip
