"""States of hosts, findings of the fleet, drift and clocks: what one view says of many rows."""

from __future__ import annotations

import pytest
from fleet_rows import GIB, cards, cohort, finding, measured, name, odd, row, rows, state, verdict, view
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.model.fleet_row import FleetRow

BAD = finding("driver-broken")


def answers(now: list[FleetRow], **options: object) -> dict[str, tuple[str, bool | None]]:
    return {each.host: (each.answer, each.usable) for each in view(now, **options).hosts}


def test_only_a_fresh_row_can_be_a_pass() -> None:
    now = [row("ok"), row("bad", findings=(BAD,)), row("dead", failed="no answer within 60 s"), row("old", run="run-1")]
    found = answers(now, known={"ok": "2026-11-19", "gone": "2026-11-19"}, expected=["mute", "noise", "gone"], refused={"noise": "no JSON"})
    assert found == {
        "ok": ("fresh", True), "bad": ("fresh", False), "dead": ("failed", None), "old": ("stale", None), "gone": ("stale", None),
        "mute": ("silent", None), "noise": ("refused", None),
    }  # fmt: skip


def test_a_host_without_a_card_is_no_pass() -> None:
    now = [row("bare", cards=()), row("unread", cards=(), incomplete=("the bus was not examined (15 s)",))]
    assert answers(now) == {"bare": ("fresh", False), "unread": ("fresh", None)}


def test_a_row_of_another_run_is_stale_whatever_its_clock_says() -> None:
    assert answers([row("ahead", run="run-1", created="2999-01-01T00:00:00Z")]) == {"ahead": ("stale", None)}
    assert answers([row("behind", created="1970-01-01T00:00:00Z")]) == {"behind": ("fresh", True)}


def test_hosts_that_only_former_runs_know_are_left_out_where_the_expected_ones_are_given() -> None:
    known = {"retired": "2026-11-19T10:00:00Z"}
    assert answers([row("a")], known=known) == {"a": ("fresh", True), "retired": ("stale", None)}
    assert "the last one is of 2026-11-19" in state(view([row("a")], known=known), "retired").reason
    assert answers([row("a")], known=known, expected=["a"]) == {"a": ("fresh", True)}


def test_a_result_counts_before_a_failure_and_the_newer_row_before_the_older() -> None:
    failure = row("a", failed="ssh: timed out", created="2026-11-20T10:09:00Z")
    assert answers([failure, row("a")]) == answers([row("a"), failure]) == {"a": ("fresh", True)}
    newer, older = row("a", created="2026-11-20T10:01:00Z"), row("a", findings=(BAD,))
    assert answers([newer, older]) == answers([older, newer]) == {"a": ("fresh", True)}


def test_a_refused_file_is_of_the_host_by_whose_name_it_is_called() -> None:
    shown = view([row("a")], expected=["b"], refused={"/drop/b.json": "cut off", "/drop/c.json": "cut off", "x" * 300: "?"})
    assert [(each.host, each.answer) for each in shown.hosts] == [("a", "fresh"), ("b", "refused")] and len(shown.refused) == 3
    assert "cut off" in state(shown, "b").reason


@pytest.mark.parametrize(
    ("fields", "usable", "reason"),
    [
        ({"findings": (finding("w", "warning"), BAD)}, False, "title of driver-broken"),
        ({"findings": (finding("w", "warning"),)}, True, ""),
        ({"findings": (finding("q", confidence="possible"),)}, True, ""),
        ({"verdicts": (verdict("memory", "fail", "row remap"),)}, False, "dcgm: memory failed: row remap"),
        ({"verdicts": (verdict("memory", "warn"), verdict("pcie", "skip"))}, True, ""),
        ({"measurements": (measured(None, status="failed"),)}, True, ""),
    ],
)
def test_what_counts_against_a_host(fields: dict[str, object], usable: bool, reason: str) -> None:
    found = state(view([*rows(5), row("one", **fields)]), "one")
    assert (found.usable, found.reason) == (usable, reason)


def test_a_finding_on_most_hosts_is_one_of_the_fleet_and_still_counts() -> None:
    shown = view([*rows(8, findings=(BAD,)), row("ok"), row("one", findings=(finding("alone"), finding("w", "warning")))])
    assert [(each.id, each.of_the_fleet, each.doubted, len(each.hosts)) for each in shown.findings] == [
        ("driver-broken", True, False, 8), ("alone", False, False, 1), ("w", False, False, 1),
    ]  # fmt: skip
    assert shown.findings[0].folded == "gpu[000-007]" and shown.findings[0].share == 0.8
    assert state(shown, "gpu000").usable is False


def test_a_check_that_fails_nearly_everywhere_is_doubted_and_excludes_nobody() -> None:
    other = [row(f"amd{n}", cards=cards(8, "MI300X", 192 * GIB), findings=(BAD,)) for n in range(4)]
    doubted = view([*rows(8, findings=(BAD,)), *other])
    assert doubted.findings[0].doubted and all(each.usable for each in doubted.hosts)
    half = view([*rows(8, findings=(BAD,)), *other[:2], row("amd2", cards=cards(8, "MI300X", 192 * GIB)), *other[3:]])
    assert not half.findings[0].doubted and state(half, "amd0").usable is False


def test_another_programs_test_that_fails_everywhere_excludes_nobody() -> None:
    bad = (verdict("nvlink", "fail"),)
    other = [row(f"amd{n}", cards=cards(8, "MI300X", 192 * GIB), verdicts=bad) for n in range(4)]
    assert all(each.usable for each in view([*rows(8, verdicts=bad), *other]).hosts)
    shown = view([*rows(8, verdicts=bad), row("ok", verdicts=(verdict("nvlink", "pass"),))])
    assert [(each.outcome, each.folded) for each in shown.verdicts] == [("fail", "gpu[000-007]"), ("pass", "ok")]


def test_the_texts_of_a_finding_are_those_that_most_hosts_have() -> None:
    now = [row(name(n), findings=(finding("x", do="reload it" if n else "odd words"),)) for n in range(4)]
    assert view(now).findings[0].do == "reload it"


def test_drift_is_folded_over_the_hosts_that_changed_alike() -> None:
    before = [row(name(n), run="run-1", groups={"driver": "a"}) for n in range(6)]
    new = {"nvidia.driver.version": "560"}
    now = [row(name(n), values=new, groups={"driver": "b"}, findings=(BAD,) if n == 5 else ()) for n in range(1, 6)]
    now[0] = row(name(1), groups={"driver": "c"}, cards=cards(1))
    shown = view([*now, row("fresh")], since=("tuesday", before))
    assert shown.since == "tuesday"
    assert [(each.folded, each.what, each.before, each.after) for each in shown.drift] == [
        ("gpu[002-005]", "nvidia.driver.version", "550.54", "560"),
        ("gpu001", "cards", "2 × H100", "1 × H100"),
        ("gpu005", "driver-broken", "", "error"),
        ("gpu001", "group:driver", "a", "c"),
    ]  # fmt: skip


def test_findings_that_did_not_fit_into_a_row_are_no_drift() -> None:
    before = [row("a", findings=(BAD,), run="run-1")]
    assert view([row("a", left_out={"findings": 1})], since=("x", before)).drift == ()


@pytest.mark.parametrize(
    ("created", "says"),
    [
        ("2026-11-20T13:00:00Z", "about 3 hours ahead"), ("2026-11-20T09:40:00Z", "about 20 minutes behind"),
        ("1970-01-01T00:00:00Z", "about 20777 days behind"), ("2026-11-20T10:04:00Z", None), ("9999-99-99T99:99:99Z", None),
    ],
)  # fmt: skip
def test_a_wrong_clock_is_a_difference_and_no_reason_against_the_host(created: str, says: str | None) -> None:
    now = [*rows(20), row("one", created=created)]
    assert odd(cohort(now)) == ({"one": {"clock": (says, "in step")}} if says else {})
    assert state(view(now), "one").usable is True


def test_a_run_of_hours_accuses_no_clock_but_one_that_is_ahead_of_now() -> None:
    now = [row(name(n), created=f"2026-11-20T{n:02}:00:00Z") for n in range(20)]
    assert odd(cohort(now, created="2026-11-20T23:00:00Z")) == {}
    found = odd(cohort([*now, row("one", created="2026-11-22T23:00:00Z")], created="2026-11-20T23:00:00Z"))
    assert found == {"one": {"clock": ("about 2 days ahead", "in step")}}


def test_versions_are_counted() -> None:
    assert view([*rows(3), row("old", tool="gpudoctor 0.0.9", catalogue="")]).versions == {
        "gpudoctor 0.0.9": 1, "gpudoctor 0.1.0, checks 2026.11.20": 3,
    }  # fmt: skip


def test_a_row_with_a_name_that_is_no_hosts_is_refused() -> None:
    shown = view([row("a b; reboot"), row("ok")])
    assert [each.host for each in shown.hosts] == ["ok"] and len(shown.refused) == 1


def test_no_rows_at_all_are_a_view() -> None:
    shown = view([], expected=["a"])
    assert shown.cohorts == () and [each.answer for each in shown.hosts] == ["silent"]


HOSTS = st.sampled_from(["a", "b", "gpu1", "gpu02", "x y"])
TEXTS = st.sampled_from(["", "1", "2", "\x1b[2J", "é" * 50])
ROWS = st.builds(
    lambda host, run, created, values, found, speed, labels, failed: row(
        host, run=run, created=created, values=values, findings=tuple(finding(each) for each in found),
        measurements=(measured(speed), measured(speed, "a b c"), measured(speed, "cuda:0 gpu1:cuda:0")), labels=labels, failed=failed,
    ),
    HOSTS, st.sampled_from(["run-1", "run-2"]), st.sampled_from(["2026-11-20T10:00:00Z", "0000-00-00T00:00:00Z"]),
    st.dictionaries(TEXTS, TEXTS), st.lists(TEXTS.filter(bool), max_size=3), st.floats(0),
    st.dictionaries(st.sampled_from(["role", "rack", ""]), TEXTS),
    st.sampled_from(["", "", "", "no answer"]),
)  # fmt: skip


@given(st.lists(ROWS, max_size=30), st.lists(ROWS, max_size=10))
def test_any_rows_make_a_view_with_each_host_once(now: list[FleetRow], earlier: list[FleetRow]) -> None:
    known = {each.host: each.created for each in earlier if each.host != "x y"}
    shown = view(now, earlier=[earlier], since=("then", earlier), known=known)
    hosts = [each.host for each in shown.hosts]
    assert len(hosts) == len(set(hosts)) == len({each.host for each in now + earlier} - {"x y"})
    fresh = {each.host for each in shown.hosts if each.answer == "fresh"}
    assert fresh == {host for each in shown.cohorts for group in each.groups for host in group.hosts}
    assert all(each.usable is None for each in shown.hosts if each.host not in fresh)
