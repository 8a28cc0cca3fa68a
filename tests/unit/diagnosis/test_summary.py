"""What a report says of the facts: their tree, what is unknown, the machine in one line, what could not be looked at."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.diagnosis.summary import fact_tree, headline, not_looked_at, unknown_facts
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown

SPECS = {
    spec.name: spec
    for spec in (
        FactSpec("gpus", "records", "the GPUs: one per card"), FactSpec("token", "text", "a token", privacy="secret"),
        FactSpec("kernel.log", "list", "lines of the kernel's log, newest last"), FactSpec("user.name", "text", "", privacy="identifying"),
    )
}  # fmt: skip


def facts(**given: Any) -> Facts:
    """With __ for a dot."""
    of_a_kind: dict[str, Fact] = {
        name.replace("__", "."): fact if isinstance(fact, (Known, Absent, Unknown)) else Known(fact) for name, fact in given.items()
    }
    return Facts(of_a_kind)


def tree(**given: Any) -> dict[str, Any]:
    return fact_tree(facts(**given), SPECS)


def test_dotted_names_are_nested_tables() -> None:
    assert tree(kernel__release="6.8", kernel__modules=["xe"], os__id="ubuntu") == {
        "kernel": {"release": "6.8", "modules": ["xe"]}, "os": {"id": "ubuntu"},
    }  # fmt: skip


def test_absent_is_none_unknown_is_left_out_and_secrets_never_enter() -> None:
    assert tree(a=Absent(), b=Unknown("timeout"), token="s3cret", user__name="ada", c__d=Unknown()) == {"a": None, "user": {"name": "ada"}}


def test_a_fact_that_is_a_value_and_a_table_keeps_both() -> None:
    assert tree(libraries={"libm.so": "/a"}, libraries__cached={"libc.so": "/b"}) == {
        "libraries": {"libm.so": "/a", "cached": {"libc.so": "/b"}},
    }  # fmt: skip
    assert tree(wsl=True, wsl__kernel="5.15") == {"wsl": {"value": True, "kernel": "5.15"}}
    assert tree(a__b__c=1, a__b=2, a="x") == {"a": {"value": "x", "b": {"value": 2, "c": 1}}}


def test_values_become_plain_json() -> None:
    value = {1: Known("one"), "gone": Absent(), "open": Unknown(), "list": (1, Unknown(), {"x": None}), "none": None}
    assert tree(a=value) == {"a": {"1": "one", "gone": None, "list": [1, {"x": None}], "none": None}}
    assert tree(a=frozenset(["x"])) == {"a": ["x"]}


def test_unknown_facts_are_named_with_their_reason_those_in_maps_too() -> None:
    given = facts(a=Unknown("timeout: clinfo"), b=Unknown("not probed"), c=1, env={"X": Unknown("not recorded"), "Y": "1"}, d=Absent())
    assert unknown_facts(given) == {"a": "timeout: clinfo", "env.X": "not recorded"}


@pytest.mark.parametrize(
    ("given", "machine"),
    [
        ({}, "no GPU found"),
        ({"gpus": [{"name": "A770"}]}, "A770"),
        ({"gpus": [{"name": "A100"}, {"name": "A100"}, {"pci_id": "1002:744c"}, {}]}, "2 x A100, 1002:744c, GPU"),
        ({"gpus": ["odd", {"name": "A770"}]}, "A770"),
        ({"gpus": [], "poplar__present": True}, "Graphcore IPUs"),
        ({"gpus": [{"name": "A770"}], "poplar__present": True}, "A770"),
        ({"poplar__present": False, "bus__pci__visible": False}, "no PCI bus visible"),
        ({"bus__pci__visible": False, "pci__devices": [1, 2]}, "no PCI bus visible"),
        ({"gpus": [{"name": "A770"}], "bus__pci__visible": False}, "A770"),
        ({"bus__pci__visible": True, "pci__devices": [1]}, "no GPU on the PCI bus"),
        ({"pci__devices": [1, 2]}, "no GPU among the 2 devices of the PCI bus"),
        ({"gpus": [{"name": "A770"}], "pci__devices": [1, 2]}, "A770"),
        ({"pci__devices": Absent()}, "no GPU found"),
    ],
)
def test_the_machine_in_a_few_words(given: dict[str, Any], machine: str) -> None:
    assert headline(facts(**given))["machine"] == machine


@pytest.mark.parametrize(
    ("given", "system"),
    [
        ({"os__name": "Ubuntu 24.04 LTS", "os__version": "24.04"}, "Ubuntu 24.04 LTS"),
        ({"os__name": "Fedora Linux", "os__version": "41"}, "Fedora Linux 41"),
        ({"os__name": "Arch Linux", "os__id": "arch"}, "Arch Linux"),
        ({"os__version": "12"}, "12"),
        ({"os__id": "arch"}, "arch"),
        ({}, ""),
    ],
)
def test_a_system_is_named_with_its_version_once(given: dict[str, Any], system: str) -> None:
    assert headline(facts(**given))["os"] == system


def test_the_rest_of_the_head_is_as_the_facts_say_and_empty_where_they_say_nothing() -> None:
    known = {"platform__kind": "linux", "kernel__release": "6.8.0", "memory__total_bytes": 32 * 2**30, "python__version": "3.11.7",
             "python__executable": "/v/bin/python", "python__why": "VIRTUAL_ENV"}  # fmt: skip
    assert headline(facts(**known)) == {
        "looked_at": "", "machine": "no GPU found", "os": "", "platform": "linux", "kernel": "6.8.0", "memory": "32 GiB",
        "python": "3.11.7", "python_executable": "/v/bin/python", "python_why": "VIRTUAL_ENV",
    }  # fmt: skip
    empty = headline(facts(memory__total_bytes="much"))
    assert empty.pop("machine") == "no GPU found"
    assert set(empty.values()) == {""}


@pytest.mark.parametrize(("kind", "machine"), [("root", ""), ("image", ""), ("host", "no GPU found"), ("process", "no GPU found")])
def test_what_is_examined_in_place_of_this_machine_is_named(kind: str, machine: str) -> None:
    """The files of a system show no devices, so none is missing there."""
    head = headline(facts(looked_at__kind=kind, looked_at__title="this one"))
    assert (head["looked_at"], head["machine"]) == ("this one", machine)


def unread(*incidents: str, **given: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return not_looked_at(facts(**given), SPECS, incidents)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"kernel__log": Unknown("permission denied")}, "dmesg (needs root)"),
        ({"secure_boot__enabled": Unknown("permission denied: /sys/firmware")}, "/sys/firmware (needs root)"),
        ({"gpus": Unknown("permission denied: the device nodes are hidden here")}, "the device nodes are hidden here"),
        ({"x__y": Unknown("permission denied")}, "x (needs root)"),
        ({"x__y": Unknown("too large: /var/log/huge")}, "/var/log/huge is too large to read"),
        ({"x__y": Unknown("crashed: clinfo ended by signal 11")}, "clinfo ended by signal 11"),
        ({"kernel__log": Unknown("crashed")}, "lines of the kernel's log (crashed)"),
        ({"gpus": Unknown("device busy")}, "the GPUs (device busy)"),
        ({"x__y": Unknown("probe crashed: KeyError"), "x__z": Unknown("probe crashed: KeyError")}, "x (probe crashed: KeyError)"),
        ({"x__y": Unknown("device busy"), "z": Unknown("device busy")}, "x, z (device busy)"),
    ],
)
def test_what_could_not_be_read_is_named_once_with_its_reason(given: dict[str, Any], line: str) -> None:
    assert unread(**given) == ((line,), ())


def test_what_time_ran_out_for_stands_in_both_lists_and_names_its_tool() -> None:
    assert unread(a=Unknown("timeout: clinfo"), b=Unknown("timeout: clinfo")) == (
        ("clinfo did not answer in time",), ("clinfo did not answer in time",),
    )  # fmt: skip
    assert unread(kernel__log=Unknown("out of time")) == (
        ("lines of the kernel's log (out of time)",), ("lines of the kernel's log not inspected (out of time)",),
    )  # fmt: skip
    assert unread(a=Unknown("timeout: two words"))[1] == ("a not inspected (timeout: two words)",)
    assert unread(a=Unknown("timeout"))[1] == ("a not inspected (timeout)",)


def test_what_nobody_could_have_known_is_no_gap() -> None:
    assert unread(a=Unknown("not probed"), b=Unknown("tool missing: clinfo"), c=Unknown("not recorded"), d=Absent(), e=1) == ((), ())


def test_a_probe_that_crashed_is_told_and_one_without_time_is_told_by_its_facts() -> None:
    assert unread("probe nvidia: KeyError", "probe opencl: out of time") == (("probe nvidia: KeyError",), ())
