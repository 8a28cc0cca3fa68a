"""What `diff` finds between two reports, and how it ranks and links it."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.diagnosis.change_ranks import category
from gpudoctor.diagnosis.changes import Knowledge, compare, worse
from gpudoctor.diagnosis.equivalence import same
from gpudoctor.model.change import Diff
from gpudoctor.model.facts import FactSpec

SPECS = {
    spec.name: spec
    for spec in (
        FactSpec("kernel.release", "text", ""), FactSpec("kernel.version", "dotted", ""), FactSpec("kernel.modules", "list", ""),
        FactSpec("nvidia.driver.version", "dotted", ""), FactSpec("nvidia.in_use", "dotted", ""), FactSpec("cuda.driver_ok", "bool", ""),
        FactSpec("gpus", "records", "", item="gpu", fields={"driver": "", "node": ""}), FactSpec("env", "map", ""),
        FactSpec("python.distributions", "map", ""), FactSpec("libraries", "map", ""), FactSpec("libraries.cached", "map", ""),
        FactSpec("disk.free_bytes", "int", ""), FactSpec("python.executable", "text", ""), FactSpec("setup.name", "text", ""),
    )
}  # fmt: skip
KNOWLEDGE = Knowledge(
    specs=SPECS, derived=frozenset({"nvidia.in_use", "cuda.driver_ok"}),
    reads={"no-driver": frozenset({"gpu.driver"}), "too-old": frozenset({"cuda.driver_ok"}), "no-gpu": frozenset({"gpus"})},
)  # fmt: skip


def document(facts: dict[str, Any], *findings: tuple[str, str]) -> dict[str, Any]:
    rows = [{"id": name, "key": f"{name}-1", "severity": severity, "layer": "device", "title": name} for name, severity in findings]
    return {
        "schema": "gpudoctor.report/1", "tool": {"name": "gpudoctor", "version": "1"}, "created": "", "facts": facts, "findings": rows,
        "stacks": [], "summary": {"errors": 0, "warnings": 0},
    }  # fmt: skip


def difference(before: Any, after: Any) -> Diff:
    return compare(before, after, KNOWLEDGE, ("a", "b"))


def names(found: Diff) -> list[str]:
    return [change.fact for change in found.changes]


def test_what_can_break_more_comes_first() -> None:
    before = {
        "kernel": {"release": "6.8.0-45", "version": "6.8.0"}, "nvidia": {"driver": {"version": "550.1"}}, "env": {"CUDA_HOME": "/a"},
        "python": {"distributions": {"torch": "2.5.1", "rich": "13", "nvidia-cudnn-cu12": "9.1"}}, "disk": {"free_bytes": 5},
    }  # fmt: skip
    after = {
        "kernel": {"release": "6.8.0-48", "version": "6.8.1"}, "nvidia": {"driver": {"version": None}}, "env": {},
        "python": {"distributions": {"torch": "2.6.0", "rich": "14", "nvidia-cudnn-cu12": "9.2"}}, "disk": {"free_bytes": 6},
    }  # fmt: skip
    assert names(difference(document(before), document(after))) == [
        "kernel.release", "nvidia.driver.version", "python.distributions.nvidia-cudnn-cu12", "python.distributions.torch", "env.CUDA_HOME",
        "python.distributions.rich", "disk.free_bytes",
    ]  # fmt: skip


def test_what_a_new_finding_reads_comes_before_the_kernel() -> None:
    before = {"kernel": {"release": "1"}, "gpus": [{"address": "0000:01:00.0", "driver": "nvidia", "node": "/dev/x"}]}
    after = {"kernel": {"release": "2"}, "gpus": [{"address": "0000:01:00.0", "driver": None, "node": "/dev/y"}]}
    found = difference(document(before), document(after, ("no-driver", "error"), ("no-gpu", "error")))
    assert names(found) == ["gpus[0000:01:00.0].driver", "kernel.release", "gpus[0000:01:00.0].node"]
    assert found.changes[0].new == ("no-driver",)  # who asks whether there is a GPU reads no field of it
    assert [(finding.id, finding.changes) for finding in found.findings] == [
        ("no-driver", ("gpus[0000:01:00.0].driver",)), ("no-gpu", ()),
    ]  # fmt: skip


def test_a_card_that_is_gone_is_what_both_kinds_of_condition_read() -> None:
    before, after = {"gpus": [{"address": "1", "name": "A"}]}, {"gpus": []}
    found = difference(document(before), document(after, ("no-driver", "error"), ("no-gpu", "error")))
    assert [(change.fact, change.before, change.after, change.new) for change in found.changes] == [
        ("gpus[1]", "A", None, ("no-driver", "no-gpu")),
    ]  # fmt: skip


def test_a_computed_fact_is_named_only_where_a_finding_reads_it() -> None:
    facts = ({"nvidia": {"in_use": "570"}, "cuda": {"driver_ok": True}}, {"nvidia": {"in_use": "470"}, "cuda": {"driver_ok": False}})
    plain = difference(document(facts[0]), document(facts[1]))
    assert (names(plain), plain.followed) == ([], 2)
    read = difference(document(facts[0]), document(facts[1], ("too-old", "error")))
    assert [(change.fact, change.derived) for change in read.changes] == [("cuda.driver_ok", True)]


def test_what_is_known_on_one_side_only_is_no_change() -> None:
    found = difference(document({"kernel": {"release": "1"}}), document({"nvidia": {"driver": {"version": None}}}))
    assert (found.changes, found.one_sided) == ((), ("kernel.release",))
    other_way = difference(document({"nvidia": {"driver": {"version": None}}}), document({"kernel": {"release": "1"}}))
    assert (other_way.changes, other_way.one_sided) == ((), ("kernel.release",))


def test_homes_orders_and_setup_are_no_difference() -> None:
    before = {"python": {"executable": "/home/ada/v/bin/python"}, "kernel": {"modules": ["a", "nvidia"]}, "setup": {"name": "x"}}
    after = {"python": {"executable": "/home/user/v/bin/python"}, "kernel": {"modules": ["nvidia", "a"]}, "setup": {"name": "y"}}
    assert difference(document(before), document(after)).changes == ()


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("/opt/folder-1/bin/python", "/opt/secret-project/bin/python", True), ("/opt/folder-1/bin/python", "/opt/x/bin/python3", False),
        (["docker", "user-1"], ["ada", "docker"], True), (["docker", "user-1"], ["ada", "video"], False),
        (["docker"], ["docker", "ada"], False),
        (["wheel", "user-1"], ["ada", "video"], False), ({"A": "<secret>"}, {"A": "hf_x"}, True), ("2.7.1", "2.7.2", False), (1, 1.0, True),
        ("user-1", "", False), (True, "True", False), ([{"a": "host-2"}], [{"a": "box"}], True), (None, "user-1", False),
    ],
)  # fmt: skip
def test_a_pseudonym_may_stand_for_anything(one: Any, other: Any, alike: bool) -> None:
    assert same(one, other) is same(other, one) is alike


def test_a_map_is_told_from_the_facts_below_its_name() -> None:
    before = {"libraries": {"libcuda.so.1": "/a", "cached": {"libm.so": "/a"}}}
    after = {"libraries": {"libcuda.so.1": "/b", "cached": {"libm.so": "/b"}}}
    assert names(difference(document(before), document(after))) == ["libraries.libcuda.so.1"]


def test_each_module_stands_for_itself() -> None:
    found = difference(document({"kernel": {"modules": ["nvidia", "usb"]}}), document({"kernel": {"modules": ["nouveau"]}}))
    assert [(change.fact, change.category) for change in found.changes] == [
        ("kernel.modules[nouveau]", "driver"), ("kernel.modules[nvidia]", "driver"), ("kernel.modules[usb]", "noise"),
    ]  # fmt: skip


def test_findings_stay_though_their_subjects_change_and_a_worse_severity_counts_as_new() -> None:
    before, after = document({}, ("a", "warning"), ("gone", "error")), document({}, ("a", "error"), ("b", "info"))
    after["findings"][0]["key"] = "a-2"
    found = difference(before, after)
    assert [(finding.id, finding.state, finding.was) for finding in found.findings] == [
        ("b", "new", None), ("gone", "gone", None), ("a", "stayed", "warning"),
    ]  # fmt: skip
    assert [[finding.id for finding in worse(found, level)] for level in ("error", "warning", "info")] == [["a"], [], ["b"]]


@pytest.mark.parametrize(
    "facts",
    [
        {}, {"kernel": {"modules": "x", "version": [1]}, "env": "x", "libraries": 5, "disk": None, "nvidia": [1]},
        {"gpus": [{}, {}, {"address": {"a": 1}}], "libraries": {"cached": {"a": 1}}, "env": {"A": {"b": [1]}}},
    ],
)  # fmt: skip
def test_facts_of_odd_shapes_do_no_harm(facts: dict[str, Any]) -> None:
    """The types of a report fix the shapes of a few facts; the others may be anything."""
    odd = document(facts)
    packages = {"distributions": {"torch": "1"}}
    whole = document({"gpus": [{"address": "1"}], "kernel": {"release": "1"}, "env": {"A": "b"}, "python": packages})
    for pair in ((odd, whole), (whole, odd), (odd, odd)):
        difference(*pair)


@pytest.mark.parametrize(
    ("path", "key", "rank"),
    [
        ("packages", "linux-image-6.8.0-48-generic", "kernel"), ("packages", "nvidia-driver-550", "driver"),
        ("packages", "linux-firmware", "firmware"), ("packages", "intel-opencl-icd", "runtime"), ("packages", "bash", "package"),
        ("gpus.driver", "", "driver"), ("gpus.access", "", "access"), ("intel.guc.version", "", "firmware"), ("env", "PWD", "noise"),
        ("env", "CUDA_HOME", "environment"),
        ("libraries", "libcuda.so.1", "runtime"), ("libraries", "libm.so.6", "noise"), ("kernel.modules", "xe", "driver"),
        ("kernel.modules", "usb", "noise"), ("python.distributions", "torch", "framework"), ("python.conda_packages", "tbb", "runtime"),
        ("python.conda_packages", "rich", "package"), ("a.fact.of.tomorrow", "", "machine"), ("cpu.flags.avx", "", "machine"),
    ],
)  # fmt: skip
def test_ranks(path: str, key: str, rank: str) -> None:
    assert category(path, key) == rank


def side_by_side(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(change.fact, change.before, change.after) for change in difference(document(before), document(after)).changes]


def test_both_values_of_a_change_are_told() -> None:
    assert side_by_side({"kernel": {"release": "1"}}, {"kernel": {"release": "2"}}) == [("kernel.release", "1", "2")]
    assert side_by_side({"kernel": {"modules": ["xe"]}}, {"kernel": {"modules": ["i915"]}}) == [
        ("kernel.modules[i915]", None, True), ("kernel.modules[xe]", True, None),
    ]  # fmt: skip


def test_a_distribution_is_told_by_its_version_and_maps_in_maps_are_told_apart() -> None:
    before = {"python": {"distributions": {"torch": {"version": "1", "from": "a"}, "jax": "1"}}, "env": {"A": {"b": "1", "c": "2"}}}
    after = {
        "python": {"distributions": {"torch": {"version": "2", "from": "b"}, "jax": {"version": "1"}}},
        "env": {"A": {"b": "9", "c": "2"}},
    }
    assert side_by_side(before, after) == [("python.distributions.torch", "1", "2"), ("env.A.b", "1", "9")]
    assert side_by_side({"env": {"A": {"version": "1"}}}, {"env": {"A": {"version": "2"}}}) == [("env.A.version", "1", "2")]


def test_a_map_that_is_nested_deeper_than_three_is_told_whole() -> None:
    deep = [{"env": {"a": {"b": {"c": {"d": value}}}}} for value in ("1", "2")]
    assert side_by_side(deep[0], deep[1]) == [("env.a.b.c", {"d": "1"}, {"d": "2"})]


def test_fields_of_a_card_that_one_side_does_not_know_are_no_change() -> None:
    before = {"gpus": [{"address": "1", "driver": "xe", "node": "/dev/a"}]}
    after = {"gpus": [{"address": "1", "driver": "i915", "memory": 5}]}
    assert side_by_side(before, after) == [("gpus[1].driver", "xe", "i915")]


def test_equal_cards_are_numbered_and_told_by_their_first_name() -> None:
    before = {
        "gpus": [{"name": "A"}, {"name": "A"}, {"name": "A"}, {"driver": "xe"}, {"address": "", "name": "B", "version": "3", "type": 4}]
    }
    assert side_by_side(before, {"gpus": []}) == [
        ("gpus[?]", "xe", None), ("gpus[A #2]", "A", None), ("gpus[A #3]", "A", None), ("gpus[A]", "A", None), ("gpus[B]", "B 3", None),
    ]  # fmt: skip
    assert side_by_side({"gpus": []}, {"gpus": [{"address": "1"}]}) == [("gpus[1]", None, "there")]


def test_a_fact_that_is_a_value_and_a_table_is_compared_by_its_value() -> None:
    specs = {**SPECS, "kernel": FactSpec("kernel", "text", "")}
    knowledge = Knowledge(specs=specs, derived=frozenset(), reads={})
    before, after = ({"kernel": {"value": value, "release": "1"}} for value in ("a", "b"))
    found = compare(document(before), document(after), knowledge, ("a", "b"))
    assert [(change.fact, change.before, change.after) for change in found.changes] == [("kernel", "a", "b")]
    assert compare(document({"kernel": {"release": "1"}}), document({"kernel": {"release": "1"}}), knowledge, ("a", "b")).one_sided == ()


def test_who_reads_a_fact_that_says_the_same_reads_the_one_that_changed() -> None:
    """nvidia.in_use follows from the kernel module; kernel.version says the release again."""
    knowledge = Knowledge(specs=SPECS, derived=frozenset(), reads={"old-kernel": frozenset({"kernel.version"})})
    before, after = ({"kernel": {"release": f"{number}-generic", "version": number}} for number in ("6.2", "6.8"))
    fresh = compare(document(before), document(after, ("old-kernel", "error")), knowledge, ("a", "b"))
    cured = compare(document(before, ("old-kernel", "error")), document(after), knowledge, ("a", "b"))
    assert ("kernel.release", ("old-kernel",), ()) in [(change.fact, change.new, change.gone) for change in fresh.changes]
    assert ("kernel.release", (), ("old-kernel",)) in [(change.fact, change.new, change.gone) for change in cured.changes]
    assert compare(document(before), document(after), knowledge, ("a", "b")).followed == 1


def test_a_finding_is_the_same_by_its_key_or_else_by_its_id() -> None:
    before, after = document({}, ("a", "error")), document({}, ("b", "error"))
    before["findings"].append({**before["findings"][0], "id": "old-name", "key": "moved-1", "severity": "warning"})
    after["findings"].append({**after["findings"][0], "id": "new-name", "key": "moved-1", "title": "moved", "layer": "runtime"})
    found = difference(before, after)
    assert [(each.id, each.state, each.was) for each in found.findings] == [
        ("b", "new", None), ("a", "gone", None), ("old-name", "gone", None), ("new-name", "stayed", "warning"),
    ]  # fmt: skip
    moved = found.findings[-1]
    assert (moved.key, moved.severity, moved.layer, moved.title) == ("moved-1", "error", "runtime", "moved")


def test_only_what_rises_to_a_level_is_worse() -> None:
    before = document({}, ("a", "warning"), ("b", "info"), ("c", "error"))
    found = difference(before, document({}, ("a", "error"), ("b", "warning"), ("c", "warning")))
    assert [(each.id, each.severity, each.was) for each in found.findings] == [
        ("a", "error", "warning"), ("b", "warning", "info"), ("c", "warning", "error"),
    ]  # fmt: skip
    assert [[each.id for each in worse(found, level)] for level in ("error", "warning")] == [["a"], ["b"]]


def test_verdicts_that_changed_are_told_with_their_title() -> None:
    before, after = document({}), document({})
    before["stacks"] = [{"stack": name, "title": name.upper(), "verdict": "ok"} for name in ("x", "y", "gone")]
    after["stacks"] = [
        {"stack": "x", "title": "X", "verdict": "broken"}, {"stack": "y", "title": "Y", "verdict": "ok"},
        {"stack": "new", "title": "N", "verdict": "ok"},
    ]  # fmt: skip
    found = difference(before, after).verdicts
    assert [(each.stack, each.title, each.before, each.after) for each in found] == [("x", "X", "ok", "broken")]


def test_each_side_is_named_with_its_machine_and_its_counts() -> None:
    facts = {"gpus": [{"name": "A770"}, {"name": "A770"}, {"vendor": "amd"}], "os": {"name": "Fedora"}, "kernel": {"release": "6.8"}}
    whole = {
        **document(facts), "created": "2026-11-23T10:00:00Z", "tool": {"version": "0.9"}, "catalogue": {"version": "c1"},
        "summary": {"errors": 2, "warnings": 3},
    }  # fmt: skip
    found = difference({**document({}), **whole}, document({"kernel": {"release": "6.8"}}))
    assert (found.before.name, found.after.name) == ("a", "b")
    assert (found.before.machine, found.before.created) == ("A770, GPU · Fedora · 6.8", "2026-11-23T10:00:00Z")
    assert (found.before.errors, found.before.warnings, found.before.tool, found.before.catalogue) == (2, 3, "0.9", "c1")
    assert (found.after.machine, found.after.created) == ("no GPU found · 6.8", "")
    assert (found.after.errors, found.after.warnings, found.after.tool, found.after.catalogue) == (0, 0, "1", "")


def test_a_list_of_more_than_200_unlike_items_is_not_held_against_pseudonyms() -> None:
    for count, alike in ((200, True), (201, False)):
        ours, theirs = ([f"{word}-{number}" for number in range(count)] for word in ("user", "name"))
        assert same(ours, theirs) is alike


def test_a_pseudonym_stands_for_at_least_one_letter_between_what_is_around_it() -> None:
    assert same("/opt/user-1/x", "/opt/a/x") and not same("/opt/user-1/x", "/opt//x") and not same("ab-user-1-bc", "ab-bc")


def test_a_finding_that_stayed_as_it_was_has_no_former_severity() -> None:
    (found,) = difference(document({}, ("a", "error")), document({}, ("a", "error"))).findings
    assert (found.state, found.was) == ("stayed", None)
    assert worse(difference(document({}, ("a", "error")), document({}, ("a", "error"))), "info") == []


def test_a_finding_that_stayed_is_linked_to_no_change() -> None:
    before, after = ({"gpus": [{"address": "1", "driver": driver}]} for driver in ("xe", "i915"))
    found = difference(document(before, ("no-driver", "error")), document(after, ("no-driver", "error")))
    assert [(change.fact, change.new, change.gone) for change in found.changes] == [("gpus[1].driver", (), ())]
    assert found.findings[0].changes == ()


def test_a_list_is_not_the_same_as_its_letters() -> None:
    assert not same(["a"], "a") and not same("a", ["a"]) and not same({"a": 1}, ["a"])


def test_a_card_that_went_is_told_by_what_it_is_called_and_runs_on() -> None:
    card = {"address": "1", "name": "A770", "version": "2", "driver": "xe", "type": "gpu", "backend": "level_zero", "memory": "much"}
    assert side_by_side({"gpus": [card]}, {"gpus": []}) == [("gpus[1]", "A770 2 xe gpu level_zero", None)]
