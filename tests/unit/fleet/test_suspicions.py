"""The life of a suspicion over runs, and what it does to the host."""

from __future__ import annotations

import pytest
from fleet_rows import cards, measured, name, row, state, view

from gpudoctor.model.fleet_row import FleetRow

SLOW, FINE, BUSY, UNMEASURED = 90.0, 100.0, -90.0, None


def run(number: int, value: float | None, *, host: str = "gpu003", uuid: str = "") -> list[FleetRow]:
    """Twenty hosts, of which one has the value; a negative one was disturbed."""
    found = []
    for each in [name(n) for n in range(20) if n != 3] + [host]:
        speed = value if each == host else 100 + len(found) / 20
        fields = {"disturbed": "a job"} if speed is not None and speed < 0 else {}
        found.append(
            row(
                each, run=f"run-{number}", cards=cards(uuid=uuid and (uuid if each == host else each)),
                measurements=() if speed is None else (measured(abs(speed), **fields),),
            )
        )  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("values", "life", "runs"),
    [
        ([SLOW], "suspect", 1),
        ([SLOW, FINE], "suspect", 1),
        ([SLOW, SLOW], "confirmed", 2),
        ([SLOW, SLOW, SLOW, FINE, SLOW], "confirmed", 3),
        ([SLOW, UNMEASURED, SLOW], "confirmed", 2),
        ([SLOW, BUSY, SLOW], "confirmed", 2),
        ([FINE, SLOW], "cleared", 1),
        ([FINE, SLOW, SLOW], "cleared", 2),
        ([FINE, FINE, SLOW], "", 0),
        ([UNMEASURED, SLOW], "suspect", 1),
        ([UNMEASURED, SLOW, SLOW], "confirmed", 2),
        ([BUSY, SLOW, SLOW], "confirmed", 2),
        ([UNMEASURED, FINE, SLOW], "", 0),
        ([BUSY], "", 0),
        ([FINE], "", 0),
    ],
)
def test_life(values: list[float | None], life: str, runs: int) -> None:
    """The values are of the newest run first."""
    now, *earlier = [run(9 - place, value) for place, value in enumerate(values)]
    shown = view(now, run="run-9", earlier=earlier)
    assert [(each.host, each.life, each.runs) for each in shown.suspicions] == ([("gpu003", life, runs)] if life else [])


@pytest.mark.parametrize(
    ("values", "usable"),
    [
        ([SLOW, FINE], True),
        ([SLOW, SLOW], False),
        ([FINE, SLOW, SLOW], True),
        ([UNMEASURED, SLOW, SLOW], False),
        ([BUSY, SLOW, SLOW], None),
    ],
)
def test_only_a_confirmed_suspicion_counts_and_never_while_a_job_may_run(values: list[float | None], usable: bool | None) -> None:
    now, *earlier = [run(9 - place, value) for place, value in enumerate(values)]
    found = state(view(now, run="run-9", earlier=earlier), "gpu003")
    assert found.usable is usable and ("slower" in found.reason) == (usable is not True)


def test_a_card_is_followed_to_another_host_by_its_id() -> None:
    shown = view(run(9, SLOW, host="gpu077", uuid="GPU-a"), run="run-9", earlier=[run(8, SLOW, uuid="GPU-a")])
    assert [(each.host, each.life) for each in shown.suspicions] == [("gpu077", "confirmed")]


def test_an_id_that_two_hosts_claim_is_nobodys() -> None:
    now = run(9, SLOW, uuid="GPU-a")
    now.append(row("liar", run="run-9", cards=cards(uuid="GPU-a"), measurements=(measured(100.0),)))
    shown = view(now, run="run-9", earlier=[run(8, SLOW)])
    assert [(each.host, each.life) for each in shown.suspicions] == [("gpu003", "confirmed")]
