from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace
from reports import KERNEL, report, stack

from gpudoctor.model.check import Advice
from gpudoctor.model.condition import Verdict
from gpudoctor.model.measurement import Correctness, Latency, Measurement, Throughput
from gpudoctor.model.report import Finding, Report, Trace
from gpudoctor.reporters.report import github_report, junit_report, notebook_html, prometheus_report, sarif_report
from gpudoctor.reporters.report.finding_places import FindingPlace
from gpudoctor.reporters.report.finding_text import address

EVIL = "\x1b]0;x\x07A<script>&]]>\"'\\{}\u202e|%0A::error::x\ud800\ufffe\x00,:"
RESNET = Measurement(
    workload="resnet50", task="training", framework="torch", backend="cuda", device="cuda:0", dtype="float32", batch=16, iterations=100,
    latency_ms=Latency(median=80.0, p95=90.0), throughput=Throughput(value=200.0, unit="images/s"), memory_peak_bytes=2**30,
    correctness=Correctness(compared_with="cpu float64", max_relative_error=1e-6, tolerance=1e-3, passed=True),
)  # fmt: skip


def leaf(truth: Any, source: str = "", seen: str = "no") -> Verdict:
    return Verdict(truth, "a.fact is x", seen, source)


def trace(check: str, outcome: str, subject: str = "0000:03:00.0", source: str = "", place: str = "") -> Trace:
    truth = {"problem": "true", "ok": "false"}.get(outcome, "unknown")
    return Trace(check=check, subject=subject, outcome=outcome, applies=None, problem=leaf(truth, source), place=place)


DEMAND = replace(KERNEL, id="demand-not-met", key="demand-not-met-1", subjects=("8 x A100",), title="Policy not met: 8 x A100",
                 sources=("ci/policy.toml:12",))  # fmt: skip
FULL = report(
    findings=(KERNEL, DEMAND), seconds=1.25, measurements=(RESNET,), undetermined=("speed (not measured)",), incomplete=("torch (15 s)",),
    traces=(
        trace(KERNEL.id, "problem", source="/etc/modprobe.d/a b.conf"), trace("fine", "ok"), trace("hidden", "undetermined"),
        trace("elsewhere", "not-applicable"), trace("demand-not-met", "problem", "8 x A100", place="ci/policy.toml:12"),
        trace("demand-not-met", "undetermined", "speed", place="ci/policy.toml:20"), trace("demand-not-met", "ok", "kernel >=6"),
    ),
)  # fmt: skip


def hostile() -> Report:
    evil = Finding(
        id="evil", key="evil-1", subjects=(EVIL,), severity="error", layer="device", stacks=(), title=EVIL, explanation=EVIL,
        confidence="certain", evidence=(EVIL,), advice=Advice(text=EVIL, commands=(EVIL,), env={"A": EVIL}), sources=(EVIL,),
    )  # fmt: skip
    measured = replace(RESNET, workload=EVIL, device=EVIL, status="failed", reason=EVIL, notes=(EVIL,))
    return replace(
        FULL, findings=(evil,), measurements=(measured,), headline={"machine": EVIL, "os": EVIL}, undetermined=(EVIL,), incomplete=(EVIL,)
    )


def cases(found: Report, **options: Any) -> dict[str, str]:
    """Test case to what became of it."""
    root = ElementTree.fromstring(junit_report.render(found, **options))
    return {case.get("name", ""): next((part.tag for part in case if part.tag != "system-out"), "passed") for case in root.iter("testcase")}


def test_junit_has_a_case_for_each_check_demand_stack_and_measurement() -> None:
    assert cases(FULL) == {
        "kernel-too-old": "failure", "fine": "passed", "hidden": "skipped", "everything was looked at": "skipped", "8 x A100": "failure",
        "speed": "error", "kernel >=6": "passed", "torch-xpu": "skipped", "resnet50 training float32 batch 16 on cuda:0": "passed",
    }  # fmt: skip


@pytest.mark.parametrize("fail_on", ["error", "warning", "unknown", "never"])
@pytest.mark.parametrize("severity", ["error", "warning", "info"])
def test_junit_fails_where_the_command_does(fail_on: str, severity: str) -> None:
    from gpudoctor.cli.exit_status import status, unanswered

    for open_ones in ((), ("speed (why)",)):
        found = report(findings=(replace(KERNEL, severity=severity),), undetermined=open_ones, stacks=())
        found = replace(found, traces=(trace("demand-not-met", "undetermined", "speed"),) if open_ones else ())
        counts = {f"{name}s": int(severity == name) for name in ("error", "warning", "info")}
        found = replace(found, summary={**counts, "unknown": 0, "first_broken": None})
        broken = {"failure", "error"} & set(cases(found, fail_on=fail_on, unanswered=unanswered(found, None)).values())
        assert bool(broken) == (status(found, fail_on, None) != 0), (fail_on, severity, open_ones)


def test_junit_says_what_could_not_be_told_of_the_stack_that_was_asked_for() -> None:
    shaky = stack(verdict="unknown")
    shaky = replace(shaky, layers=(*shaky.layers[:1], replace(shaky.layers[1], status="unknown")))
    found = report(findings=(), stacks=(shaky,))
    assert cases(found)["torch-xpu"] == "skipped"
    assert cases(found, unanswered=["torch-xpu/framework"])["torch-xpu"] == "error"
    assert cases(found, fail_on="unknown")["torch-xpu"] == "failure"


def test_a_wrong_result_is_a_failure_however_fast() -> None:
    assert RESNET.correctness is not None
    wrong = replace(RESNET, correctness=replace(RESNET.correctness, passed=False))
    assert "failure" in cases(report(findings=(), measurements=(wrong,))).values()


def test_junit_holds_nothing_that_xml_cannot() -> None:
    text = junit_report.render(hostile())
    root = ElementTree.fromstring(text)
    assert {case.get("name") for case in root.iter("testcase")} >= {"evil"}
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff\u202e]", text)


def results(found: Report) -> list[dict[str, Any]]:
    return list(json.loads(sarif_report.render(found))["runs"][0]["results"])


def test_sarif_points_at_files_and_lines_and_else_at_what_it_is_about() -> None:
    kernel, demand, open_one = results(FULL)
    assert kernel["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///etc/modprobe.d/a%20b.conf"
    assert demand["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "ci/policy.toml"}, "region": {"startLine": 12}}
    assert (open_one["kind"], open_one["level"]) == ("open", "none")
    assert open_one["locations"][0]["physicalLocation"]["region"]["startLine"] == 20
    (bare,) = results(report(findings=(KERNEL,)))
    (location,) = bare["locations"]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "machine/kernel-driver"}, "region": {"startLine": 1}}
    assert location["logicalLocations"] == [
        {"name": "0000:03:00.0", "fullyQualifiedName": "kernel-driver/0000:03:00.0", "kind": "resource"}
    ]
    assert bare["partialFingerprints"] == {"gpudoctorFinding/v1": KERNEL.key}


def test_a_file_of_the_kernel_is_no_place_that_a_person_edits() -> None:
    for source in ("/sys/bus/pci/devices", "/proc/modules", "id", "python.json", ""):
        found = report(findings=(KERNEL,), traces=(trace(KERNEL.id, "problem", source=source),))
        assert results(found)[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "machine/kernel-driver", source


def test_every_result_has_the_place_that_github_wants() -> None:
    found = results(replace(FULL, undetermined=("speed (not measured)", "nobody knows whence")))
    assert len(found) == 4
    for result in found:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] and place["region"]["startLine"] >= 1


def test_sarif_rules_are_of_the_catalogue_and_of_any_machine() -> None:
    from gpudoctor.services import checking

    check = next(check for check in checking.catalogue().checks if check.id == "intel-kernel-too-old")
    found = report(findings=(replace(KERNEL, id=check.id),))
    (rule,) = sarif_report.document(found, [check])["runs"][0]["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == "Kernel … is too old for …, which needs …"
    assert rule["helpUri"].startswith("https://") and "gpudoctor show intel-kernel-too-old" in rule["help"]["text"]


def test_sarif_says_when_and_what_was_not_looked_at_but_no_command_line() -> None:
    run = json.loads(sarif_report.render(FULL))["runs"][0]
    (invocation,) = run["invocations"]
    assert (invocation["startTimeUtc"], invocation["endTimeUtc"]) == ("2026-11-20T09:59:58.750Z", "2026-11-20T10:00:00Z")
    assert [note["level"] for note in invocation["toolExecutionNotifications"]] == ["warning", "note"]
    assert "commandLine" not in invocation


def series(text: str) -> dict[str, float]:
    rows = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    names = [name for name, _, _ in rows]
    assert len(set(names)) == len(names)
    return {name: float(value) for name, _, value in rows}


def test_prometheus_tells_verdicts_findings_and_measurements() -> None:
    found = series(prometheus_report.render(FULL))
    assert found['gpudoctor_stack_verdict{stack="torch-xpu",verdict="broken",used="yes"}'] == 1
    assert found['gpudoctor_stack_verdict{stack="torch-xpu",verdict="ok",used="yes"}'] == 0
    assert found["gpudoctor_check_duration_seconds"] == 1.25
    assert found['gpudoctor_policy_demands{state="unknown"}'] == 1
    labels = 'workload="resnet50",task="training",framework="torch",backend="cuda",device="cuda:0",dtype="float32",batch="16"'
    labels += ',compile="none"'
    assert found[f'gpudoctor_measurement_throughput{{{labels},unit="images/s"}}'] == 200
    assert found[f"gpudoctor_measurement_latency_p50_seconds{{{labels}}}"] == 0.08
    assert found[f"gpudoctor_measurement_correct{{{labels}}}"] == 1


def test_prometheus_numbers_what_nothing_tells_apart_and_leaves_out_what_is_no_number() -> None:
    twice = replace(RESNET, throughput=Throughput(value=float("nan"), unit="images/s"))
    text = prometheus_report.render(replace(FULL, measurements=(RESNET, twice, RESNET)))
    found = series(text)
    assert sum("gpudoctor_measurement_throughput" in name for name in found) == 2
    assert any('run="2"' in name for name in found) and any('run="3"' in name for name in found)
    assert "nan" not in text.lower().replace("finance", "")


def test_prometheus_labels_are_escaped() -> None:
    text = prometheus_report.render(hostile())
    pattern = r'[a-z_:0-9]+(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)*\})? \S+'
    assert all(line.startswith("#") or re.fullmatch(pattern, line) for line in text.splitlines())


def test_annotations_are_one_line_each_with_file_and_line() -> None:
    lines = github_report.render(FULL).splitlines()
    assert lines[0].startswith("::error file=/etc/modprobe.d/a b.conf,title=Linux 5.19 is too old for Arc A770::")
    assert lines[1].startswith("::error file=ci/policy.toml,line=12,title=Policy not met%3A 8 x A100::")
    assert lines[2] == "::warning file=ci/policy.toml,line=20,title=gpudoctor%3A not determined::speed (not measured)"
    assert lines[3].startswith("::warning title=gpudoctor%3A incomplete::")
    assert len(lines) == 4


def test_nothing_of_the_machine_becomes_a_command_of_the_runner() -> None:
    for line in github_report.render(hostile()).splitlines():
        properties, _, message = line.removeprefix("::").partition("::")
        assert re.fullmatch(r"(error|warning|notice) ([a-z]+=[^,:]*,?)*", properties), line
        assert "%250A" in message and "\x1b" not in line
    assert github_report.render(report(findings=())) == "::notice title=gpudoctor::No problems found.\n"


def test_the_summary_is_markdown_in_which_strings_stay_text() -> None:
    text = github_report.summary(replace(FULL, findings=(replace(KERNEL, title="<img src=x> @team #1 [a](b) `c`"),)))
    assert "<img" not in text and "@team" not in text and "[a](b)" not in text
    assert "    sudo apt install linux-generic-hwe-22.04" in text
    assert "https://github.com/intel/compute-runtime/issues/610" in text
    outside = [line for line in github_report.summary(hostile()).splitlines() if not line.startswith("    ")]  # a block of code is inert
    assert "<script" not in "\n".join(outside)


def test_a_notebook_gets_text_only() -> None:
    text = notebook_html.render(hostile())
    assert "<script" not in text and "\x1b" not in text
    assert set(re.findall(r"<([a-z]+)", text)) <= {
        "div", "p", "b", "details", "summary", "span", "table", "tr", "td", "pre", "small", "code", "ul", "li", "a",
    }  # fmt: skip
    assert "Linux 5.19 is too old" in notebook_html.render(FULL)
    ElementTree.fromstring(notebook_html.render(FULL).replace(" open>", ">"))  # well-formed


def test_addresses_of_sources() -> None:
    assert address("intel/compute-runtime#610") == "https://github.com/intel/compute-runtime/issues/610"
    assert address("https://a.example/x") == "https://a.example/x"
    assert [address(text) for text in ("javascript:alert(1)", "ci/policy.toml:12", "https://a b", "")] == [None] * 4


def test_places_have_addresses() -> None:
    assert FindingPlace("C:\\Users\\a b\\x.toml").uri == "file:///C:/Users/a%20b/x.toml"
    assert FindingPlace("a#b.toml").uri == "a%23b.toml"
