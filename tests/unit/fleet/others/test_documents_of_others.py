"""Results of other programs: what each says of its hosts, and that no document of any shape breaks the readers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.fleet.others import documents
from gpudoctor.fleet.others.result import Result


def read(document: object) -> tuple[Result, ...]:
    found = documents.read(document)
    assert found is not None
    return found


def said(result: Result) -> list[tuple[str, str, str, str]]:
    return [(each.test, each.outcome, each.card, each.detail) for each in result.verdicts]


def dcgm(*tests: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": list(tests)}]},
        "metadata": {"version": "4.2.3", "Driver Version Detected": "570.86"}, **more,
    }  # fmt: skip


def of_gpu(number: int, status: str, *warnings: object) -> dict[str, Any]:
    return {"entity_group": "GPU", "entity_group_id": 1, "entity_id": number, "status": status, "warnings": list(warnings)}


def test_dcgm_names_the_cards_that_failed_and_folds_those_that_passed() -> None:
    memory = {"name": "memory", "results": [of_gpu(0, "Pass"), of_gpu(3, "Fail", {"warning": "DBE found", "error_id": 39}, "see log")]}
    skipped = {"name": "nvlink", "results": [of_gpu(0, "Skip"), of_gpu(3, "Not Run")]}
    pcie = {"name": "pcie", "results": [of_gpu(0, "Pass"), of_gpu(3, "Pass")], "test_summary": {"status": "Pass"}}
    (result,) = read(dcgm(pcie, skipped, memory))
    assert (result.program, result.version, result.host) == ("dcgm", "4.2.3", "")
    assert said(result) == [("memory", "fail", "3", "DBE found; see log"), ("nvlink", "skip", "", ""), ("pcie", "pass", "", "")]


def test_dcgm_of_earlier_versions() -> None:
    test = {"name": "Memory Bandwidth", "results": [{"gpu_ids": "0,1", "status": "FAIL", "warnings": "too slow"}]}
    (result,) = read({"DCGM GPU Diagnostic": {"test_categories": [{"category": "Stress", "tests": [test]}], "version": "2.4"}})
    assert (result.version, said(result)) == ("2.4", [("Memory Bandwidth", "fail", "0,1", "too slow")])


def test_dcgm_summary_that_is_worse_than_the_cards_counts() -> None:
    test = {"name": "software", "results": [of_gpu(0, "Pass")], "test_summary": {"status": "Fail", "warnings": ["Fabric Manager is down"]}}
    assert said(read(dcgm(test))[0]) == [("software", "fail", "", "Fabric Manager is down"), ("software", "pass", "", "")]


def test_dcgm_a_setting_of_the_host_is_no_fault_of_its_cards() -> None:
    """As DCGM 4.2 says it where persistence mode is off: each GPU fails the test `software`, and so does the summary."""
    off = {"error_category": 8, "error_id": 29, "error_severity": 5, "warning": "Persistence mode is disabled."}
    lost = {"error_id": 12, "error_severity": 2, "warning": "ECC"}
    software = {"name": "software", "results": [of_gpu(number, "Fail", off) for number in range(2)], "test_summary": {"status": "Fail"}}
    assert [each.outcome for each in read(dcgm(software))[0].verdicts] == ["warn", "warn"]
    memory = {"name": "memory", "results": [of_gpu(0, "Fail", off, lost), of_gpu(1, "Fail", {"warning": "no severity"}), of_gpu(2, "Fail")]}
    assert [each.outcome for each in read(dcgm(memory))[0].verdicts] == ["fail", "fail", "fail"]


def test_dcgm_that_did_not_run_is_unknown() -> None:
    (result,) = read({"DCGM Diagnostic": {"runtime_error": "the hostengine is not running"}})
    assert said(result) == [("diagnostic", "unknown", "", "the hostengine is not running")]


def test_superbench_of_today_names_its_columns_otherwise() -> None:
    defective = {"index": "gpu01", "diagnosis/accept": False, "diagnosis/issue_num": 1, "diagnosis/category": "KernelLaunch",
                 "diagnosis/issue_details": "kernel-launch/event_overhead:0 (VAR: 90 %)", "kernel-launch/return_code": 0}  # fmt: skip
    accepted = {"index": "gpu02", "diagnosis/accept": True, "diagnosis/issue_num": 0, "diagnosis/category": "", "gemm-flops/FP64:0": 9031.2}
    one, other = read([defective, accepted])
    assert (one.host, said(one)) == ("gpu01", [("KernelLaunch", "fail", "", "kernel-launch/event_overhead:0 (VAR: 90 %)")])
    assert (other.host, said(other)) == ("gpu02", [("data diagnosis", "pass", "", "")])


def test_superbench_has_a_failure_for_each_category() -> None:
    defective = {"index": "gpu07", "Category": "KernelLaunch,MemBW", "Issue Details": "h2d_bw 12 GB/s < 24 GB/s", "Number of Issues": 2}
    older = {"Index": "gpu08", "Category": "Mem", "Defective Details": "slow"}
    accepted = {"index": "gpu09", "Accept": True, "Category": "", "Issue Details": ""}
    found = {each.host: said(each) for each in read([defective, older, accepted])}
    detail = "h2d_bw 12 GB/s < 24 GB/s"
    assert found == {
        "gpu07": [("KernelLaunch", "fail", "", detail), ("MemBW", "fail", "", detail)],
        "gpu08": [("Mem", "fail", "", "slow")], "gpu09": [("data diagnosis", "pass", "", "")],
    }  # fmt: skip
    assert [each.host for each in read(defective)] == ["gpu07"]


def test_node_smoke() -> None:
    cards = [{"gpu": 0, "status": "PASS"}, {"gpu": 5, "status": "FAIL", "reason": "gemm 210 TFLOP/s", "details": {}}]
    document = {
        "host": "mi300-4", "node_rank": 3, "status": "FAIL", "duration_sec": 41.0, "fail_reasons": ["gpu5: gemm"],
        "tier1": {"per_gpu": cards}, "tier2": {"rccl": {"status": "PASS", "gbs": 311.2, "error": None}},
    }  # fmt: skip
    (result,) = read(document)
    assert (result.program, result.host) == ("primus-node-smoke", "mi300-4")
    assert said(result) == [("tier 1", "fail", "5", "gemm 210 TFLOP/s"), ("tier 2 rccl", "pass", "", "")]
    (result,) = read({"host": "a", "status": "FAIL", "tier1": {"per_gpu": [{"gpu": 2, "status": "TIMEOUT", "reason": "hard timeout"}]}})
    assert said(result) == [("tier 1", "fail", "2", "hard timeout")]
    (result,) = read({"host": "a", "status": "FAIL", "fail_reasons": ["no amdgpu", "dmesg"], "tier1": {}})
    assert said(result) == [("node", "fail", "", "no amdgpu; dmesg")]


def test_node_verdict() -> None:
    checks = [
        {"check_id": "GPUCount", "severity": "PASS", "entity": "node"},
        {"check_id": "NVLinkState", "severity": "CRITICAL", "entity": {"id": "GPU-3"}, "message": "link 4 is down"},
        {"check_id": "NVLinkState", "severity": "PASS", "entity": {"id": "GPU-2"}},
        {"check_id": "XidRecent", "severity": "UNKNOWN"}, {"check_id": "IBLinkFlaps", "severity": "WARNING"},
    ]  # fmt: skip
    (result,) = read({"node_name": "dgx-1", "severity": "CRITICAL", "timestamp": "2026-11-20T08:00:00.123Z", "checks": checks})
    assert (result.program, result.host, result.created) == ("health-validation", "dgx-1", "2026-11-20T08:00:00Z")
    assert said(result) == [
        ("NVLinkState", "fail", "GPU-3", "link 4 is down"), ("IBLinkFlaps", "warn", "", ""), ("XidRecent", "unknown", "", ""),
        ("GPUCount", "pass", "", ""),
    ]  # fmt: skip


def test_a_verdict_of_the_node_that_is_worse_than_its_checks_counts() -> None:
    (result,) = read({"severity": "CRITICAL", "checks": [{"check_id": "GPUCount", "severity": "PASS"}]})
    assert said(result) == [("node", "fail", "", ""), ("GPUCount", "pass", "", "")]


@pytest.mark.parametrize("document", [{}, [], None, 3, "text", [1, 2], {"host": "a"}, {"checks": []}, {"index": "a"}, {"results": [{}]}])
def test_documents_of_nobody(document: object) -> None:
    assert documents.read(document) is None


KEYS = st.sampled_from((
    "DCGM Diagnostic", "test_categories", "tests", "results", "status", "name", "warnings", "gpu_ids", "entity_id", "test_summary",
    "metadata", "index", "Category", "Accept", "Issue Details", "host", "tier1", "tier2", "per_gpu", "rccl", "fail_reasons", "severity",
    "check_id", "checks", "version",
))  # fmt: skip
ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["PASS", "Fail", "CRITICAL", "\x1b[2J", "", "x" * 900])
SHAPES = st.recursive(ATOMS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=25)


@given(SHAPES)
def test_a_document_of_any_shape_gives_rows_that_a_store_takes(document: object) -> None:
    for each in documents.read(document) or ():
        for one in each.verdicts:
            assert one.test and one.outcome in ("pass", "warn", "fail", "skip", "unknown")
            assert len(one.detail) <= 200 and (one.test + one.card + one.detail).isprintable()
