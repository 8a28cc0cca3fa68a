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
    ],
)  # fmt: skip
def test_ranks(path: str, key: str, rank: str) -> None:
    assert category(path, key) == rank
