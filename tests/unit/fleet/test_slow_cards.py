"""Slow cards are found by the stated rule, card by card; healthy ones are left alone."""

from __future__ import annotations

import random
import statistics

import pytest
from fleet_rows import RUN, cohort, kinds, measured, name, row, state, view

from gpudoctor.model.fleet_row import FleetRow
from gpudoctor.model.fleet_view import FleetView


def fleet(
    speeds: dict[str, float], *, hosts: int = 16, seed: int = 1, run: str = RUN, processes: int = 3, **fields: object
) -> list[FleetRow]:
    """Hosts with two cards; `speeds` are factors of single cards, as 'gpu003/1'."""
    generator = random.Random(run)
    found = []
    for number in range(hosts):
        one = []
        for card in range(2):
            each = [500 * speeds.get(f"{name(number)}/{card}", 1.0) * generator.gauss(1, 0.006) for _ in range(processes)]
            one.append(measured(statistics.median(each), card, samples=tuple(each) if processes > 1 else ()))
        found.append(row(name(number), run=run, measurements=tuple(one)))
    return found


def accused(shown: FleetView) -> list[tuple[str, str, str]]:
    return [(each.host, each.card, each.life) for each in shown.suspicions]


def test_the_slow_card_is_named_and_not_its_neighbour() -> None:
    shown = view(fleet({"gpu003/1": 0.9}))
    assert accused(shown) == [("gpu003", "0000:01:00.0", "suspect")]
    (one,) = shown.suspicions
    assert one.below_percent == pytest.approx(10, abs=1.5) and one.z < -3.5 and one.median == pytest.approx(500, rel=0.01)
    assert (one.workload, one.unit, one.samples, one.runs) == ("matmul float32 by torch", "TFLOP/s", 31, 1)
    assert state(shown, "gpu003").usable is True  # one run makes a suspect, no more


def test_thirty_per_cent_of_bad_hosts_do_not_hide_each_other() -> None:
    """First proof: mean - 2 sigma sees none of them."""
    bad = {f"{name(number)}/{card}": 0.9 for number in range(12) for card in range(2)}
    now = fleet(bad, hosts=40)
    assert {(host, int(card[5:7])) for host, card, _ in accused(view(now))} == {(key[:6], int(key[-1])) for key in bad}
    values = [each.value for one in now for each in one.measurements if each.value is not None]
    assert not [value for value in values if value < statistics.fmean(values) - 2 * statistics.stdev(values)]


def test_two_groups_are_named_and_nobody_is_accused() -> None:
    slower = {f"{name(number)}/{card}": 0.9 for number in range(16) for card in range(2)}
    now = fleet({**slower, "gpu020/0": 0.75}, hosts=40)
    assert accused(view(now)) == [("gpu020", "0000:00:00.0", "suspect")]  # far below either group
    found = cohort(now)
    assert found.kind == "several" and kinds(found) == ["gpu[016-039]", "gpu[000-015]"]
    assert found.groups[1].differences[0].fact == "measured:matmul float32 by torch"


def test_fewer_than_eight_cards_accuse_nobody() -> None:
    assert accused(view(fleet({"gpu001/1": 0.5}, hosts=3))) == []
    assert accused(view(fleet({"gpu001/1": 0.5}, hosts=4))) != []


def test_equal_values_do_not_make_the_smallest_step_an_outlier() -> None:
    now = [row(name(n), measurements=(measured(97.0 if n == 3 else 90.0 if n == 4 else 100.0),)) for n in range(20)]
    assert [host for host, _, _ in accused(view(now))] == ["gpu004"]


def test_one_slow_process_of_three_is_no_repetition() -> None:
    def now(processes: tuple[float, ...]) -> list[FleetRow]:
        return [
            row(name(n), measurements=(measured(90.0, samples=processes) if n == 3 else measured(100 + n / 20),)) for n in range(20)
        ]  # fmt: skip

    assert accused(view(now((90.0, 99.0, 100.0)))) == []
    assert accused(view(now((90.0, 89.0, 100.0)))) != []


def test_a_card_is_compared_with_its_cohort_alone() -> None:
    slower = [row(f"serve{n}", labels={"role": "serve"}, measurements=(measured(400 + n / 9),)) for n in range(9)]
    assert accused(view([*fleet({}), *slower])) == []


def test_metrics_are_not_mixed() -> None:
    now = [
        row(name(n), measurements=(measured(500 + n % 5), measured(5 + n % 5 / 100, dtype="float64"), measured(None, status="failed")))
        for n in range(20)
    ]
    assert accused(view(now)) == []


def test_a_disturbed_measurement_is_no_evidence() -> None:
    def now(disturbed: str) -> list[FleetRow]:
        return [
            row(name(n), measurements=(measured(50.0, disturbed=disturbed) if n == 3 else measured(100 + n / 20),)) for n in range(20)
        ]  # fmt: skip

    assert accused(view(now(""))) != []
    assert accused(view(now("python (pid 4)"))) == []


def test_repeating_a_measurement_in_a_row_does_not_outvote_the_others() -> None:
    now = [row("liar", measurements=(measured(900.0),) * 300), *fleet({"gpu003/1": 0.9})]
    assert [host for host, _, _ in accused(view(now))] == ["gpu003"]


def test_zeros_and_absurd_numbers_do_no_harm() -> None:
    for value in (0.0, 1e308, float("inf"), float("nan")):
        view([row(name(n), measurements=(measured(value), measured(100.0, 1, samples=(value, value)))) for n in range(20)])
