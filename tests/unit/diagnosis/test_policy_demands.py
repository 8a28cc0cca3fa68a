"""What the demands of a policy come to on a machine: the finding, what stays open and why, and the trace of each."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.diagnosis.policy_demands import unmet_demands
from gpudoctor.model.condition import Combination, Condition, Leaf
from gpudoctor.model.facts import Absent, Fact, Facts, Known, Unknown
from gpudoctor.model.policy import Count, Demand, Reached
from gpudoctor.model.report import Finding

KERNEL = Leaf("kernel.version", "at_least", "6.8")
A100 = {"name": "A100", "vendor": "nvidia"}
RESNET = Leaf("measurement.workload", "is", "resnet50")
ROW = {"name": "resnet50 on cuda:0", "workload": "resnet50", "device": "cuda:0", "status": "ok", "throughput": 210.0, "unit": "images/s"}


def demand(that: Condition | Count | Reached, **more: Any) -> Demand:
    return Demand(**{"name": "the demand", "that": that, "place": "policy.toml:3", **more})


def judged(that: Condition | Count | Reached, **facts: Any) -> tuple[list[Finding], list[str], str, str]:
    """(findings, what is open, the outcome in the trace, what the trace saw); facts with __ for a dot."""
    given: dict[str, Fact] = {
        name.replace("__", "."): fact if isinstance(fact, (Absent, Unknown)) else Known(fact, "its source") for name, fact in facts.items()
    }
    found, open_ones, (trace,) = unmet_demands([demand(that)], Facts(given))
    assert (trace.check, trace.subject, trace.place, trace.applies) == ("demand-not-met", "the demand", "policy.toml:3", None)
    assert trace.problem is not None
    return found, open_ones, trace.outcome, trace.problem.seen


def test_a_demand_that_does_not_hold_is_one_whole_finding() -> None:
    asked = demand(KERNEL, advice="Install kernel 6.8; here is {kernel.version}.", layer="kernel-driver", stacks=("torch-xpu",))
    ((finding,), open_ones, _) = unmet_demands([asked], Facts({"kernel.version": Known("5.15.0", "/proc/version")}))
    assert not open_ones
    assert (finding.id, finding.severity, finding.confidence, finding.layer) == ("demand-not-met", "error", "certain", "kernel-driver")
    assert (finding.title, finding.subjects, finding.stacks) == ("Policy not met: the demand", ("the demand",), ("torch-xpu",))
    assert finding.evidence == ("kernel.version is 6.8 or newer: 5.15.0 (/proc/version)",)
    assert finding.explanation == f"The policy demands: kernel.version is 6.8 or newer. Seen: {finding.evidence[0]}."
    assert finding.advice.text == "Install kernel 6.8; here is 5.15.0."
    assert finding.sources == ("policy.toml:3",)


def test_the_name_of_a_demand_may_quote_a_fact() -> None:
    ((finding,), _, _) = unmet_demands([demand(KERNEL, name="newer than {kernel.version}")], Facts({"kernel.version": Known("5.15")}))
    assert finding.title == "Policy not met: newer than 5.15"


def test_two_demands_have_two_keys_that_are_the_same_on_each_run() -> None:
    facts = Facts({"kernel.version": Known("5.15")})
    first, second = unmet_demands([demand(KERNEL, name="a"), demand(KERNEL, name="b")], facts)[0]
    assert first.key != second.key
    assert first.key == "demand-not-met-ca978112", "reports of two days are compared by it"


def test_without_advice_and_place_a_general_sentence_stands() -> None:
    ((finding,), _, _) = unmet_demands([demand(KERNEL, place="")], Facts({"kernel.version": Absent()}))
    assert finding.advice.text == "Bring the machine to what the policy asks for, or change the policy."
    assert finding.sources == ()
    assert finding.evidence == ("kernel.version is 6.8 or newer: absent",)


def test_only_the_parts_that_are_false_are_evidence() -> None:
    that = Combination("all", (KERNEL, Leaf("os.id", "is", "ubuntu"), Leaf("gpu.count", "greater_than", 1)))
    ((finding,), _, outcome, _) = judged(that, kernel__version="5.15", os__id="ubuntu", gpu__count=1)
    assert outcome == "problem"
    assert finding.evidence == (
        "kernel.version is 6.8 or newer: 5.15 (its source)", "gpu.count is greater than 1: 1 (its source)",
    )  # fmt: skip


def test_what_is_open_says_why_where_that_is_known() -> None:
    assert judged(KERNEL, kernel__version=Unknown("permission denied"))[1:3] == (["the demand (permission denied)"], "undetermined")
    both = Combination("all", (Leaf("os.id", "is", "ubuntu"), KERNEL))
    assert judged(both, os__id="ubuntu", kernel__version=Unknown("timeout"))[1] == ["the demand (timeout)"]


def test_a_demand_that_holds_says_nothing() -> None:
    assert judged(KERNEL, kernel__version="6.8.1")[:3] == ([], [], "ok")


def test_a_count_says_how_many_there_are_and_what_is_there() -> None:
    that = Count("gpus", "gpu", Leaf("gpu.vendor", "is", "nvidia"), 2)
    ((finding,), _, outcome, seen) = judged(that, gpus=[A100, {"vendor": "amd", "pci_id": "1002:744c"}, {"vendor": "intel"}])
    assert (outcome, seen) == ("problem", "1 such; gpus here: A100, 1002:744c, ?")
    assert finding.evidence == (seen,)
    assert finding.explanation == f"Seen: {seen}.", "the name of the demand says the rest"
    assert judged(that, gpus=[A100, A100])[2] == "ok"
    assert judged(that, gpus=[])[3] == "0 such; gpus here: none"


def test_a_count_that_may_still_be_reached_is_open() -> None:
    that = Count("gpus", "gpu", Leaf("gpu.vendor", "is", "nvidia"), 2)
    found, open_ones, outcome, seen = judged(that, gpus=[A100, {"name": "Radeon"}])
    assert (found, outcome) == ([], "undetermined")
    assert seen == "1 such, 1 not determined; gpus here: A100, Radeon"
    assert open_ones == [f"the demand ({seen})"]
    assert judged(that, gpus=Unknown("not recorded"))[1] == ["the demand (not recorded)"]


def test_a_count_of_many_devices_is_cut() -> None:
    seen = judged(Count("gpus", "gpu", Leaf("gpu.vendor", "is", "amd"), 1), gpus=[A100] * 90)[3]
    assert len(seen) == 300 and seen.endswith("…")
    assert not judged(Count("gpus", "gpu", Leaf("gpu.vendor", "is", "amd"), 1), gpus=[A100] * 40)[3].endswith("…")


def test_a_count_tells_what_was_demanded_and_whence_it_knows() -> None:
    that = Count("gpus", "gpu", Leaf("gpu.vendor", "is", "amd"), 2)
    _, _, (trace,) = unmet_demands([demand(that)], Facts({"gpus": Known([A100], "lspci")}))
    assert trace.problem is not None
    assert (trace.problem.text, trace.problem.source) == ("at least 2 of gpus: gpu.vendor is amd", "lspci")
    assert [part.truth for part in trace.problem.parts] == ["false"]


@pytest.mark.parametrize("odd", ["text", {"a": 1}, [1, "x"], 7])
def test_a_collection_that_is_none_holds_nothing(odd: Any) -> None:
    assert judged(Count("gpus", "gpu", Leaf("gpu.vendor", "is", "amd"), 1), gpus=odd)[2] == "problem"


def test_a_speed_is_that_of_the_fastest_run_of_each_device() -> None:
    rows = [
        {**ROW, "throughput": 90.0},
        ROW,
        {**ROW, "name": "resnet50 on cuda:1", "device": "cuda:1", "throughput": 120.25, "noisy": "3 %"},
    ]
    ((finding,), _, outcome, seen) = judged(Reached(RESNET, 200.0, "images/s"), measurements=rows)
    assert outcome == "problem"
    assert seen == "resnet50 on cuda:0: 210 images/s; resnet50 on cuda:1: 120.25 images/s, noisy: 3 %"
    assert finding.evidence == (seen,)
    assert judged(Reached(RESNET, 120.25), measurements=rows)[2] == "ok", "the demanded speed itself is enough"


def test_a_speed_names_what_was_demanded_and_each_device() -> None:
    _, _, (trace,) = unmet_demands([demand(Reached(RESNET, 200.0, "images/s"))], Facts({"measurements": Known([ROW])}))
    assert trace.problem is not None
    assert trace.problem.text == "at least 200 images/s where measurement.workload is resnet50"
    assert trace.problem.source == "gpudoctor validate"
    assert [(part.truth, part.text, part.seen) for part in trace.problem.parts] == [
        ("true", "resnet50 on cuda:0 reached 200", "210 images/s"),
    ]  # fmt: skip
    _, _, (without_unit,) = unmet_demands([demand(Reached(RESNET, 1.5))], Facts({"measurements": Known([{**ROW, "unit": None}])}))
    assert without_unit.problem is not None
    assert without_unit.problem.text == "at least 1.5 where measurement.workload is resnet50"
    assert without_unit.problem.seen == "resnet50 on cuda:0: 210"


def test_a_run_that_failed_is_a_fault_unless_the_device_did_it_another_time() -> None:
    failed = {**ROW, "status": "failed", "throughput": None, "reason": "out of memory"}
    seen = judged(Reached(RESNET, 200.0), measurements=[failed])[3]
    assert seen == "resnet50 on cuda:0: failed: out of memory"
    assert judged(Reached(RESNET, 200.0), measurements=[{**failed, "reason": None}])[3] == "resnet50 on cuda:0: failed: no reason"
    assert judged(Reached(RESNET, 200.0), measurements=[failed, ROW])[2] == "ok"
    assert judged(Reached(RESNET, 200.0), measurements=[{**failed, "device": "cuda:1"}, ROW])[2] == "problem"
    assert len(judged(Reached(RESNET, 200.0), measurements=[{**failed, "reason": "x" * 999}])[3]) < 350


@pytest.mark.parametrize(
    ("measurements", "why"),
    [
        (Unknown("not probed"), "nothing was measured that still holds: gpudoctor validate --workload resnet50"),
        ([], "it was not measured: gpudoctor validate --workload resnet50"),
        ([{**ROW, "workload": "mnist"}], "it was not measured: gpudoctor validate --workload resnet50"),
        ([{**ROW, "unit": "steps/s"}], "it was not measured: gpudoctor validate --workload resnet50"),
        ([{**ROW, "throughput": "fast"}], "it was not measured: gpudoctor validate --workload resnet50"),
        ([{**ROW, "status": "skipped"}], "it was not measured: gpudoctor validate --workload resnet50"),
    ],
)
def test_a_speed_that_was_not_measured_names_the_command_that_measures_it(measurements: Any, why: str) -> None:
    that = Reached(RESNET, 200.0, "images/s", "gpudoctor validate --workload resnet50")
    assert judged(that, measurements=measurements)[1] == [f"the demand ({why})"]


def test_300_letters_of_what_is_there_are_not_cut() -> None:
    that = Count("gpus", "gpu", Leaf("gpu.vendor", "is", "amd"), 1)
    for length, cut in ((300, False), (301, True)):
        name = "x" * (length - len("0 such; gpus here: "))
        assert judged(that, gpus=[{"name": name, "vendor": "intel"}])[3].endswith("…") is cut
