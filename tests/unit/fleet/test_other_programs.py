"""Rows of other programs in the merge: they stand beside the host's own row and never in its place."""

from __future__ import annotations

import pytest
from fleet_rows import RUN, finding, row, rows, state, verdict, view

from gpudoctor.model.fleet_row import FleetRow


def other(host: str, outcome: str, *, tool: str = "dcgm 4.2.3", created: str = "2026-11-20T11:00:00Z", run: str = RUN) -> FleetRow:
    return FleetRow(host=host, run=run, created=created, tool=tool, verdicts=(verdict("memory", outcome),))


def test_a_verdict_joins_the_hosts_own_row_whatever_the_order() -> None:
    own = rows(3)
    late, early = other("gpu001", "fail"), other("gpu001", "pass", tool="superbench", created="2020-01-01T00:00:00Z")
    for now in ([*own, late, early], [early, late, *own]):
        shown = view(now)
        assert [(each.host, each.usable) for each in shown.hosts] == [("gpu000", True), ("gpu001", False), ("gpu002", True)]
        assert [each.hosts for each in shown.cohorts] == [3]
        assert {each.outcome for each in shown.verdicts} == {"fail", "pass"}
        assert shown.versions == {"gpudoctor 0.1.0, checks 2026.11.20": 3}


def test_the_newest_row_of_each_program_counts() -> None:
    shown = view([*rows(1), other("gpu000", "pass"), other("gpu000", "fail", created="2026-11-19T00:00:00Z")])
    assert state(shown, "gpu000").usable is True


@pytest.mark.parametrize(("outcome", "usable"), [("pass", True), ("warn", True), ("fail", False), ("unknown", None), ("skip", None)])
def test_a_host_that_only_another_program_knows(outcome: str, usable: bool | None) -> None:
    shown = view([*rows(2), other("lone", outcome)])
    assert (state(shown, "lone").answer, state(shown, "lone").usable, state(shown, "lone").cohort) == ("fresh", usable, "")
    assert [each.hosts for each in shown.cohorts] == [2]


@pytest.mark.parametrize(("outcome", "answer", "usable"), [("pass", "failed", None), ("fail", "fresh", False)])
def test_a_pass_of_another_program_is_no_answer_of_the_host(outcome: str, answer: str, usable: bool | None) -> None:
    shown = view([row("dead", failed="no answer within 60 s"), other("dead", outcome)])
    assert (state(shown, "dead").answer, state(shown, "dead").usable) == (answer, usable)
    assert [each.outcome for each in shown.verdicts] == [outcome]


def test_of_another_program_only_verdicts_are_taken() -> None:
    liar = row("gpu000", tool="dcgm 4", findings=(finding("planted"),), values={"kernel.release": "1"})
    shown = view([*rows(1), liar])
    assert shown.findings == () and state(shown, "gpu000").usable is True


def test_a_result_of_another_run_is_stale() -> None:
    assert state(view([*rows(1), other("gone", "pass", run="run-1")]), "gone").answer == "stale"
