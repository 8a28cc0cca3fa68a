"""What measurements say of a machine: rungs, findings with their cause, and the exit status, by the real catalogue."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gpudoctor.cli.validate import status
from gpudoctor.facts.collect import Gathered, derive
from gpudoctor.model.facts import Facts, as_fact
from gpudoctor.model.measurement import Ceiling, Conditions, Correctness, Latency, Measurement, Reference
from gpudoctor.model.report import Report
from gpudoctor.services import checking, validating

RIGHT = Correctness(compared_with="cpu float64", max_relative_error=1e-5, tolerance=6e-3, passed=True)
CPU = Measurement(
    workload="resnet18", task="training", framework="torch", framework_version="2.13.0+cpu", backend="cpu", device="cpu",
    device_name="a processor", dtype="float32", batch=4, input=(3, 224, 224), latency_ms=Latency(median=100.0, ci95_percent=1.0),
    correctness=RIGHT, ceiling=Ceiling(fraction=0.4, bound="compute", source="an estimate"),
    conditions=Conditions(threads=8, throttled="", others="", python_debug=False, computed_on="cpu"),
)  # fmt: skip
WRONG = replace(
    CPU, status="failed", stage="correctness", reason="wrong result: gradients differs by 0.5 from float64 on the processor",
    correctness=replace(RIGHT, max_relative_error=0.5, passed=False), ceiling=None,
)  # fmt: skip
CRASHED = replace(CPU, status="failed", stage="measure", reason="measure: died of SIGSEGV", correctness=None, ceiling=None, latency_ms=None)
XPU = replace(
    CPU, backend="xpu", device="xpu:0", device_name="Arc A770", framework_version="2.8.0+xpu",
    conditions=Conditions(gpu_address="0000:03:00.0", gpu_kind="discrete", computed_on="xpu:0", throttled="", others="", fallbacks=()),
)  # fmt: skip


def machine(**changes: Any) -> Facts:
    known = {
        "gpus": [], "gpu.count": 0, "gpu.vendors": [], "cpu.model": "a processor", "cpu.cores": 8, "platform.kind": "linux",
        "env": {}, "cpu.quota": None,
        "python.distributions": {"torch": "2.13.0+cpu", "numpy": "2.0"}, "python.executable": "/env/bin/python", "bus.pci.visible": True,
        "python.frameworks": {"torch": {"imported": True, "version": "2.13.0+cpu", "devices": []}}, **changes,
    }  # fmt: skip
    return Facts({name: as_fact(value) for name, value in known.items()})


def judged(*measurements: Measurement, **changes: Any) -> Report:
    return validating.judged(Gathered(machine(**changes)), measurements, checking.catalogue(), checking.CheckRequest(), "live")


def rungs(report: Report, stack: str = "torch-cpu") -> dict[str, tuple[str, str]]:
    found = next(each for each in report.stacks if each.stack == stack)
    return {rung.layer: (rung.status, rung.detail) for rung in found.layers}


def exit_of(report: Report) -> int:
    return status(validating.Validated(report=report, targets=()))


def ids(report: Report) -> list[str]:
    return [finding.id for finding in report.findings if finding.id.startswith("measured-")]


def test_before_a_measurement_the_upper_rungs_are_unknown_and_decide_nothing() -> None:
    gathered = Gathered(machine())
    derive(gathered)
    report = checking.report_from_facts(gathered, checking.catalogue(), checking.CheckRequest(), "live")
    assert rungs(report)["compute"] == ("unknown", "") and rungs(report)["performance"] == ("unknown", "")
    assert next(each for each in report.stacks if each.stack == "torch-cpu").verdict != "broken" and report.summary["unknown"] == sum(
        rung.status == "unknown" and rung.layer not in ("compute", "performance")
        for each in report.stacks if each.verdict != "not-applicable" for rung in each.layers
    )  # fmt: skip


def test_right_results_make_the_rungs_ok_and_a_missing_reference_is_no_finding() -> None:
    report = judged(CPU)
    assert rungs(report)["compute"] == ("ok", "1 result right, on a processor")
    assert rungs(report)["performance"] == ("ok", "resnet18: 40 % of what the device can do at most; no published result")
    assert ids(report) == [] and exit_of(report) == 0


def test_wrong_results_break_the_rung_compute_and_are_the_first_thing_said() -> None:
    report = judged(CPU, WRONG)
    assert rungs(report)["compute"][0] == "broken" and report.summary["first_broken"] == "torch-cpu/compute"
    first = report.findings[0]
    assert (first.id, first.severity, first.layer, first.confidence) == ("measured-results-wrong", "error", "compute", "certain")
    assert "gpudoctor validate --operators" in first.advice.commands[0] and first.stacks == ("torch-cpu",)
    assert rungs(report)["performance"][0] == "not-reached" and exit_of(report) == 1


def test_when_everything_crashes_the_device_does_not_compute() -> None:
    report = judged(CRASHED)
    assert ids(report) == ["measured-nothing-computes"] and rungs(report)["compute"][0] == "broken" and exit_of(report) == 1


def test_when_one_crashes_it_is_a_warning() -> None:
    report = judged(CPU, replace(CRASHED, workload="vgg16"))
    assert ids(report) == ["measured-workload-fails"] and rungs(report)["compute"][0] == "warning" and exit_of(report) == 1


def test_full_memory_blames_nobody() -> None:
    report = judged(CPU, replace(CRASHED, workload="vgg16", reason="first: killed by the kernel: main memory was full"))
    assert ids(report) == ["measured-memory-full"] and rungs(report)["compute"][0] == "ok"


def test_an_illegal_access_is_no_full_memory() -> None:
    reason = "first: AcceleratorError: CUDA error: an illegal memory access was encountered"
    assert ids(judged(CPU, replace(CRASHED, workload="vgg16", reason=reason))) == ["measured-workload-fails"]


def test_numbers_in_titles_are_short() -> None:
    slow = replace(CPU, reference=Reference(ratio=1 / 3, value=10.0, source="a report"), first_ms=123456.789)
    report = judged(slow)
    assert report.findings[0].title == "resnet18 training float32 on cpu reaches 0.3333 of the published speed of this device"
    assert report.facts["measurements"][0]["first_ms"] == 123457


def test_a_cause_takes_the_place_of_slow() -> None:
    slow = replace(CPU, reference=Reference(ratio=0.3, value=10.0, source="a report"), conditions=Conditions(threads=1))
    report = judged(slow, env={"OMP_NUM_THREADS": "1"})
    assert ids(report) == ["measured-one-thread", "measured-slower-than-published"]
    assert report.findings[-1].caused_by == report.findings[0].key
    report = judged(replace(slow, conditions=Conditions(threads=8)))
    assert ids(report) == ["measured-slower-than-published"]
    assert rungs(report)["performance"][0] == "warning" and exit_of(report) == 0


def test_a_noisy_number_is_no_yardstick() -> None:
    slow = replace(CPU, noisy="the median is known within 40 % only", reference=Reference(ratio=0.3, value=10.0, source="a report"))
    report = judged(slow)
    assert ids(report) == [] and rungs(report)["performance"][0] == "unknown"


CARD = {"address": "0000:03:00.0", "name": "Arc A770", "vendor": "intel", "kind": "discrete", "pci_id": "8086:56a0", "driver": "xe"}
IPEX = {"torch": "1.13.0a0", "intel-extension-for-pytorch": "1.13.120+xpu"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"conditions": Conditions(gpu_kind="discrete", link_width=4, link_width_max=16)}, "measured-link-narrow"),
        ({"conditions": Conditions(gpu_kind="discrete", link_gt=2.5, link_gt_max=16.0)}, "measured-link-first-generation"),
        ({"conditions": Conditions(power_limit_share=0.6)}, "measured-power-limit-low"),
        ({"conditions": Conditions(throttled="throttled (thermal)")}, "measured-slowed-by-heat"),
        ({"conditions": Conditions(fallbacks=("aten::nonzero",))}, "measured-operators-on-processor"),
        ({"conditions": Conditions(computed_on="cpu")}, "measured-computed-elsewhere"),
        ({"conditions": Conditions(gpu_kind="discrete", bar_share=0.0156)}, "measured-small-bar"),
        ({"first_ms": 90_000.0}, "measured-long-first-step"),
    ],
)
def test_causes_on_a_card(changes: dict[str, Any], expected: str) -> None:
    measured = replace(XPU, **changes)
    assert expected in ids(judged(measured, gpus=[CARD], **{"gpu.count": 1, "gpu.vendors": ["intel"]}))
    assert expected not in ids(judged(XPU, gpus=[CARD], **{"gpu.count": 1, "gpu.vendors": ["intel"]}))


def test_the_layout_variable_is_named_where_training_is_far_slower_than_inference() -> None:
    training = replace(XPU, framework="ipex", latency_ms=Latency(median=240.0))
    inference = replace(training, task="inference", latency_ms=Latency(median=20.0))
    given = {"gpus": [CARD], "python.distributions": IPEX, "gpu.vendors": ["intel"], "gpu.count": 1}
    report = judged(training, inference, **given)
    assert "measured-ipex-layout-unset" in ids(report) and not any(each.id == "ipex-layout-unset" for each in report.findings)
    finding = next(each for each in report.findings if each.id == "measured-ipex-layout-unset")
    assert "12.0 times" in finding.explanation and finding.advice.env == {"IPEX_XPU_ONEDNN_LAYOUT": "1"}
    assert "measured-ipex-layout-unset" not in ids(judged(training, inference, **given, env={"IPEX_XPU_ONEDNN_LAYOUT": "1"}))


def test_what_the_processor_computed_says_nothing_of_a_card() -> None:
    report = judged(replace(CPU, framework="jax", device="jax:cpu:0"), gpus=[CARD], **{"gpu.count": 1})
    jax = next(each for each in report.stacks if each.stack == "jax")
    assert all(rung.status != "ok" for rung in jax.layers if rung.layer == "compute")


def test_the_card_that_nobody_measured_is_named() -> None:
    igpu = {"address": "0000:00:02.0", "name": "UHD 770", "vendor": "intel", "kind": "integrated", "pci_id": "8086:4680"}
    measured = replace(XPU, device_name="UHD 770", conditions=Conditions(gpu_address="0000:00:02.0", gpu_kind="integrated"))
    report = judged(measured, gpus=[igpu, CARD], **{"gpu.count": 2, "gpu.vendors": ["intel"]})
    finding = next(each for each in report.findings if each.id == "measured-integrated-instead-of-card")
    assert "Arc A770" in finding.title


@pytest.mark.parametrize(
    ("compared_with", "said"),
    [
        ("cpu float64", "float64 on the processor"),
        ("references in plain Python", "references in plain Python"),
        ("the first step", "the first step"),
    ],
)
def test_a_wrong_result_names_what_it_was_compared_with(compared_with: str, said: str) -> None:
    """Operators have references of their own in plain Python: 'float64' would send a reader to the wrong place."""
    wrong = replace(
        WRONG, reason="wrong result: relu float32 forward", correctness=replace(WRONG.correctness or RIGHT, compared_with=compared_with)
    )
    (finding,) = [each for each in judged(wrong).findings if each.id == "measured-results-wrong"]
    assert f"It was compared with {said}:" in finding.explanation
    assert ("float64" in finding.explanation) == (compared_with == "cpu float64")
