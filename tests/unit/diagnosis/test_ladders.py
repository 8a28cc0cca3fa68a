"""Which rung of a stack holds, is broken or was not reached, and which stacks a fault concerns."""

from __future__ import annotations

from typing import Any

import pytest
from whole_catalogue import catalogue

from gpudoctor.diagnosis.ladders import demote_unused, first_broken, ladder, used_stacks
from gpudoctor.model.check import Advice, Rung, Stack
from gpudoctor.model.condition import ALWAYS, Leaf
from gpudoctor.model.facts import Fact, Facts, Known, Unknown
from gpudoctor.model.report import Finding, LayerResult, StackResult
from gpudoctor.model.stack_names import StackNames
from gpudoctor.rules.evaluate import evaluate


def holds(fact: str) -> Leaf:
    return Leaf(fact, "is", True)


def stack(**more: Any) -> Stack:
    rungs = (
        Rung(layer="device", ok=holds("device")), Rung(layer="kernel-driver", ok=holds("driver"), detail="driver {version}"),
        Rung(layer="framework", ok=holds("torch"), missing="{what} is not installed"), Rung(layer="visible", ok=holds("visible")),
        Rung(layer="compute", ok=holds("computed")),
    )  # fmt: skip
    return Stack(
        **{"stack": "torch-xpu", "title": "PyTorch XPU", "applicable": holds("has"), "used": holds("uses"), "rungs": rungs, **more}
    )


def finding(layer: str, severity: str = "error", **more: Any) -> Finding:
    given = {
        "id": layer, "key": f"{layer}-1", "subjects": (), "severity": severity, "layer": layer, "stacks": ("torch-xpu",),
        "title": f"the fault of {layer}", "explanation": "", "confidence": "certain", "evidence": (), "advice": Advice(text=""),
        "sources": (), **more,
    }  # fmt: skip
    return Finding(**given)


def facts(**known: Any) -> Facts:
    given: dict[str, Fact] = {name: value if isinstance(value, Unknown) else Known(value) for name, value in known.items()}
    return Facts(given)


def climbed(*findings: Finding, of: Stack | None = None, used: bool = True, asked: bool = False, **known: Any) -> StackResult:
    return ladder(of or stack(), facts(**known), findings, used, asked=asked)


def rung(result: StackResult, layer: str) -> tuple[str, str]:
    return next((each.status, each.detail) for each in result.layers if each.layer == layer)


WORKS = {"has": True, "device": True, "driver": True, "torch": True, "visible": True}


def test_a_result_carries_what_the_stack_is_called_and_serves() -> None:
    named = stack(names=StackNames(recipe="xpu", serves=("training",)))
    result = climbed(of=named, **WORKS)
    assert (result.stack, result.title, result.recipe, result.serves, result.used) == (
        "torch-xpu", "PyTorch XPU", "xpu", ("training",), True,
    )  # fmt: skip
    assert not climbed(of=named, used=False, **WORKS).used


def test_a_rung_that_holds_says_what_was_seen_and_one_that_does_not_what_is_missing() -> None:
    assert rung(climbed(version="6.8", **WORKS), "kernel-driver") == ("ok", "driver 6.8")
    result = climbed(has=True, device=True, driver=True, torch=False, what="torch")
    assert rung(result, "framework") == ("not-reached", "torch is not installed")
    assert (result.verdict, rung(result, "visible")) == ("incomplete", ("not-reached", ""))


def test_what_is_not_known_says_why_but_for_what_only_a_measurement_tells() -> None:
    result = climbed(has=True, device=True, driver=Unknown("timeout: nvidia-smi"))
    assert rung(result, "kernel-driver") == ("unknown", "nvidia-smi did not answer in time")
    assert rung(climbed(**WORKS), "compute") == ("unknown", "")
    assert rung(ladder(stack(), facts(has=True), [], True, "text"), "device") == ("unknown", "the text does not show it")


def test_a_warning_is_shown_on_the_rung_that_holds_and_breaks_nothing() -> None:
    result = climbed(finding("kernel-driver", "warning"), finding("kernel-driver", "info"), **WORKS)
    assert rung(result, "kernel-driver") == ("warning", "the fault of kernel-driver")
    assert result.verdict == "ok"
    assert rung(climbed(finding("kernel-driver", "info"), **WORKS), "kernel-driver")[0] == "ok"
    assert [each.layer for each in climbed(finding("runtime", "warning"), **WORKS).layers] == [each.layer for each in stack().rungs]


def test_a_fault_breaks_its_rung_by_its_title() -> None:
    result = climbed(finding("kernel-driver", "warning"), finding("kernel-driver"), **WORKS)
    assert (result.verdict, rung(result, "kernel-driver")) == ("broken", ("broken", "the fault of kernel-driver"))
    assert climbed(finding("kernel-driver", stacks=("opencl",)), **WORKS).verdict == "ok", "of another stack"


def test_above_a_fault_what_must_be_observed_is_not_reached_though_it_was_seen_once() -> None:
    result = climbed(finding("kernel-driver"), **WORKS)
    assert [each.status for each in result.layers] == ["ok", "broken", "ok", "not-reached", "not-reached"]
    result = climbed(finding("visible"), has=True, device=True, driver=True, torch=False)
    assert (result.verdict, rung(result, "visible")[0]) == ("incomplete", "not-reached")


def test_a_second_fault_above_counts_unless_it_follows() -> None:
    assert rung(climbed(finding("kernel-driver"), finding("framework"), **WORKS), "framework")[0] == "broken"
    follows = finding("framework", caused_by="kernel-driver-1")
    assert rung(climbed(finding("kernel-driver"), follows, **WORKS), "framework")[0] == "ok"
    assert rung(climbed(follows, **WORKS), "framework")[0] == "broken", "nothing below is broken"


def test_the_lowest_rung_that_is_not_ok_decides_and_a_fault_anywhere() -> None:
    assert climbed(has=True, device=True, torch=False).verdict == "unknown"
    assert climbed(has=True, device=True, driver=False).verdict == "incomplete"
    assert climbed(finding("framework"), has=True, device=True, driver=Unknown("timeout")).verdict == "broken"
    assert climbed(**{**WORKS, "visible": Unknown("timeout")}).verdict == "unknown"
    assert climbed(**WORKS).verdict == "ok", "nobody measured it"


def test_a_stack_whose_device_is_not_known_is_unknown_rather_than_not_installed() -> None:
    assert climbed(device=True, driver=False).verdict == "unknown"
    assert climbed(**{**WORKS, "has": Unknown("timeout")}).verdict == "ok"
    assert climbed(finding("device"), driver=True).verdict == "broken"


def test_a_rung_that_this_platform_does_not_have_is_none() -> None:
    only = (Rung(layer="device", ok=holds("device")), Rung(layer="device-node", ok=holds("node"), only=holds("linux")))
    here = stack(rungs=only)
    assert [each.layer for each in climbed(of=here, has=True, device=True, linux=False).layers] == ["device"]
    assert [each.layer for each in climbed(of=here, has=True, device=True, linux=True).layers] == ["device", "device-node"]
    assert [each.layer for each in climbed(of=here, has=True, device=True).layers] == ["device", "device-node"], "it may have it"


def test_without_its_device_a_stack_does_not_apply() -> None:
    assert (climbed(has=False).verdict, climbed(has=False).layers) == ("not-applicable", ())
    assert climbed(finding("device"), has=False, used=False).verdict == "not-applicable"
    assert climbed(finding("device", "warning"), has=False).verdict == "not-applicable"
    assert climbed(finding("device"), has=False).verdict == "broken", "it is in use, and it fails"


def test_asked_by_name_a_device_without_the_framework_is_not_installed() -> None:
    assert climbed(has=False, asked=True, device=True, driver=True, torch=False).verdict == "incomplete"
    assert climbed(has=False, asked=True, device=False, driver=True).verdict == "not-applicable"
    assert climbed(has=False, device=True).verdict == "not-applicable"


def test_a_stack_that_serves_the_processor_too_is_only_not_installed() -> None:
    rungs = (Rung(layer="framework", ok=holds("x"), missing="{what} is not installed"), Rung(layer="visible", ok=holds("y"), missing="no"))
    result = climbed(of=stack(processor=True, rungs=rungs), has=False, what="openvino")
    assert result.verdict == "incomplete"
    assert result.layers == (
        LayerResult(layer="framework", status="not-reached", detail="openvino is not installed"),
        LayerResult(layer="visible", status="not-reached", detail=""),
    )  # fmt: skip


def test_a_stack_is_in_use_where_its_condition_says_so() -> None:
    stacks = [stack(), stack(stack="other", used=holds("no")), stack(stack="never", used=None)]
    assert used_stacks(stacks, facts(uses=True, no=False)) == {"torch-xpu"}
    assert used_stacks(stacks, facts()) == frozenset()


STACKS = [
    Stack(stack=name, title=name, applicable=ALWAYS, rungs=(), names=StackNames(frameworks=frameworks, serves=serves))
    for name, frameworks, serves in (
        ("torch-xpu", ("torch",), ("training",)), ("torch-rocm", ("torch",), ("training",)), ("torch-cpu", ("torch",), ("inference",)),
        ("opencl", (), ("training",)), ("openvino", ("openvino",), ("inference",)),
    )
]  # fmt: skip


@pytest.mark.parametrize(
    ("used", "concerned", "demoted"),
    [
        ((), ("torch-rocm",), False),
        (("torch-xpu",), ("torch-rocm",), True),
        (("torch-xpu",), ("torch-rocm", "torch-xpu"), False),
        (("torch-xpu",), (), False),
        (("torch-cpu",), ("torch-rocm",), False),
        (("torch-cpu",), ("opencl",), False),
        (("openvino",), ("opencl",), True),
        (("openvino",), ("torch-rocm",), False),
        (("openvino",), ("openvino",), False),
        (("openvino", "torch-cpu"), ("opencl",), True),
    ],
)
def test_a_fault_of_what_nobody_uses_is_a_note(used: tuple[str, ...], concerned: tuple[str, ...], demoted: bool) -> None:
    for severity in ("error", "warning"):
        (found,) = demote_unused([finding("device", severity, stacks=concerned)], STACKS, frozenset(used))
        assert found.severity == ("info" if demoted else severity)


def test_what_a_text_shows_is_never_a_note_and_a_stack_that_is_asked_for_counts_as_used() -> None:
    said = finding("device", stacks=("torch-rocm",), said_at=(3,))
    assert demote_unused([said], STACKS, frozenset({"torch-xpu"})) == [said]
    silent = finding("device", stacks=("torch-rocm",))
    assert demote_unused([silent], STACKS, frozenset({"torch-xpu"}), "torch-rocm") == [silent]
    assert demote_unused([silent], STACKS, frozenset(), "torch-xpu")[0].severity == "info"


def test_the_first_broken_rung_is_that_of_the_first_fault_of_a_stack_in_use() -> None:
    ladders = [
        climbed(finding("kernel-driver", stacks=("other",)), of=stack(stack="other"), used=False, **WORKS),
        climbed(finding("framework"), **WORKS),
    ]  # fmt: skip
    findings = [finding("kernel-driver", "warning"), finding("kernel-driver", stacks=("other",)), finding("framework")]
    assert first_broken(findings, ladders) == "torch-xpu/framework"
    assert first_broken(findings[:2], ladders) == "other/kernel-driver", "none is in use: the first that is broken"
    assert first_broken(findings, [climbed(**WORKS)]) is None


@pytest.mark.parametrize("one", catalogue().stacks, ids=lambda one: one.stack)
def test_no_rung_of_a_machine_of_which_nothing_is_known_is_missing(one: Stack) -> None:
    """Such as the kernel driver of an image or a root, whose kernel is not there to be asked."""
    shown = [rung for rung in one.rungs if rung.only is None or evaluate(rung.only, Facts()).truth != "false"]
    assert {rung.layer: evaluate(rung.ok, Facts()).truth for rung in shown} == {rung.layer: "unknown" for rung in shown}
