"""Equal hosts are folded; odd ones are named with what differs, whether it matters and what it follows."""

from __future__ import annotations

from fleet_rows import cohort, finding, kinds, name, odd, row, rows
from hypothesis import given
from hypothesis import strategies as st

DRIVER = "nvidia.driver.version"
OLD = {DRIVER: "535.1"}


def test_equal_hosts_are_one_group() -> None:
    found = cohort(rows(64))
    assert found.kind == "one" and [each.folded for each in found.groups] == ["gpu[000-063]"]
    assert found.groups[0].differences == () and not found.groups[0].odd


def test_the_odd_ones_are_named_with_the_usual_value_and_the_unit() -> None:
    found = cohort([*rows(30), *(row(f"odd{n}", values=OLD) for n in range(2))])
    (one,) = [each for each in found.groups if each.odd]
    assert one.folded == "odd[0-1]"
    assert [(each.fact, each.value, each.usual) for each in one.differences] == [(DRIVER, "535.1", "550.54")]
    assert "driver package with its kernel module" in one.differences[0].unit


def test_many_hosts_with_one_odd_fact_each_leave_the_usual_values() -> None:
    facts = {f"fact{n}": "usual" for n in range(40)}
    now = [row(name(n), values={**facts, f"fact{n}": "odd"}) for n in range(40)]  # no two hosts are equal
    found = cohort(now)
    assert odd(found) == {name(n): {f"fact{n}": ("odd", "usual")} for n in range(40)} and found.kind == "one"


def test_a_cohort_in_two_halves_is_two_kinds_and_nobody_is_odd() -> None:
    found = cohort([*rows(30), *(row(f"new{n}", values={DRIVER: "560", "kernel.release": "6.8"}) for n in range(25))])
    assert found.kind == "several" and odd(found) == {} and kinds(found) == ["gpu[000-029]", "new[0-24]"]
    assert {each.fact: (each.value, each.usual) for each in found.groups[1].differences} == {DRIVER: ("560", "550.54")}


def test_a_host_between_two_kinds_is_odd_for_the_nearer_one() -> None:
    new = {DRIVER: "560", "kernel.release": "6.8", "cuda.version": "13"}
    old = {DRIVER: "550", "kernel.release": "6.1", "cuda.version": "12"}
    now = [*(row(f"a{n}", values=old) for n in range(30)), *(row(f"b{n}", values=new) for n in range(25))]
    found = cohort([*now, row("half", values={**new, "kernel.release": "6.1"})])
    assert odd(found) == {"half": {"kernel.release": ("6.1", "6.8")}} and len(kinds(found)) == 2


def test_thirty_per_cent_with_the_same_fault_are_odd_and_forty_are_a_kind() -> None:
    for count, kind in ((30, "one"), (40, "several")):
        found = cohort([*rows(100 - count), *(row(f"odd{n}", values=OLD) for n in range(count))])
        assert found.kind == kind and len(odd(found)) == (kind == "one")


def test_a_fact_that_each_host_has_for_itself_is_not_compared() -> None:
    found = cohort([row(name(n), groups={"access": f"hash{n}"}) for n in range(20)])
    assert [each.folded for each in found.groups] == ["gpu[000-019]"]


def test_what_a_row_does_not_say_is_no_difference() -> None:
    found = cohort([*rows(10), row("short", values={})])
    assert odd(found) == {} and found.groups[0].hosts[-1] == "short"


def test_the_hash_of_a_category_is_named_only_where_no_value_of_it_differs() -> None:
    now = [row(name(n), groups={"driver": "a", "kernel": "a"}) for n in range(10)]
    now += [row("one", values=OLD, groups={"driver": "b", "kernel": "a"}), row("two", groups={"driver": "a", "kernel": "b"})]
    assert {host: set(facts) for host, facts in odd(cohort(now)).items()} == {"one": {DRIVER}, "two": {"group:kernel"}}


def test_a_difference_matters_where_a_check_that_reads_it_speaks_there_and_not_elsewhere() -> None:
    objects, elsewhere, unrelated = finding("objects"), finding("elsewhere", "warning"), finding("unrelated")
    now = [row(name(n), findings=(elsewhere,)) for n in range(20)]
    now += [row(f"odd{n}", values=OLD, findings=(objects, elsewhere, unrelated)) for n in range(2)]
    reads = {"objects": frozenset({"nvidia.driver"}), "elsewhere": frozenset({DRIVER}), "unrelated": frozenset({"env"})}
    (one,) = [each for each in cohort(now, reads=reads.__getitem__).groups if each.odd]
    assert one.differences[0].matters == ("objects",)
    assert cohort(now).groups[-1].differences[0].matters == ()


def test_a_difference_without_an_objection_does_not_matter() -> None:
    now = [*rows(20), row("odd", values=OLD)]
    assert cohort(now, reads=lambda check: {DRIVER} if check == "objects" else ()).groups[-1].differences[0].matters == ()


def test_a_difference_that_follows_a_rack_names_it() -> None:
    def of(number: int) -> dict[str, str]:
        return {"rack": f"r{number // 8}", "switch": f"s{number % 3}"}

    now = [row(name(n), labels=of(n), values=OLD if n // 8 == 2 else {DRIVER: "550.54"}) for n in range(64)]
    (one,) = [each for each in cohort(now).groups if each.odd]
    assert one.differences[0].follows == "rack r2"
    scattered = [row(name(n), labels=of(n), values=OLD if n % 8 == 2 else {DRIVER: "550.54"}) for n in range(64)]
    assert {each.follows for group in cohort(scattered).groups for each in group.differences} == {""}


def test_hosts_with_a_finding_of_their_own_are_a_group_of_their_own() -> None:
    found = cohort([*rows(9), row("bad", findings=(finding("broken"),))])
    assert [(each.folded, each.findings, each.odd) for each in found.groups] == [("gpu[000-008]", (), False), ("bad", ("broken",), True)]


def test_two_hosts_that_differ_are_two_kinds() -> None:
    found = cohort([row("a"), row("b", values=OLD)])
    assert found.kind == "several" and odd(found) == {}


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1, max_size=30))
def test_every_host_is_in_one_group_whatever_they_say(values: list[dict[str, str]]) -> None:
    found = cohort([row(name(n), values=each) for n, each in enumerate(values)])
    hosts = [host for group in found.groups for host in group.hosts]
    assert sorted(hosts) == [name(n) for n in range(len(values))]
    for group in found.groups:
        for each in group.differences:
            assert each.value != each.usual
            assert all(values[int(host[3:])].get(each.fact) in (each.value, None) for host in group.hosts)
