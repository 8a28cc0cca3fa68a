"""The text of each recorded machine: small, private, and read back to the findings of the machine itself."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from planted import Plant, write
from planted_score import PLANTS, planted
from recorded_texts import MACHINES, text_of

from gpudoctor.capture.capture_store import MemoryStore, open_store
from gpudoctor.capture.environment_text import entries_of_text
from gpudoctor.capture.recorded_host import RecordedHost
from gpudoctor.envtext.cleaning import Cleaner
from gpudoctor.envtext.heading import PACKAGES_FOLLOW
from gpudoctor.envtext.layout import END, LIMIT
from gpudoctor.model.report import Report
from gpudoctor.services import checking

NAMES = sorted(path.parent.name for path in MACHINES.glob("*/machine.toml"))
NOT_ASKED = {
    "h100-roce-link-local-alone": "addresses of network cards",
    "npu-meteor-lake-openvino-for-the-gpu": "the log of a driver that told nothing",
}
"""Recorded machines that show what the table does not ask for, and what that is: their text has fewer findings, never others."""
KNOWLEDGE = checking.catalogue()


def judged(host: RecordedHost) -> Report:
    return checking.diagnosed_report(checking.gather_machine(host, "capture", live=False), KNOWLEDGE, checking.CheckRequest())


def troubles(report: Report) -> set[tuple[str, str, str]]:
    return {(each.id, each.severity, each.confidence) for each in report.findings if each.severity != "info"}


def again(written: str) -> Report:
    return judged(RecordedHost(MemoryStore("the text", entries_of_text(written), {})))


@pytest.mark.parametrize("name", NAMES)
def test_the_text_reads_back_to_the_findings_of_the_machine(name: str) -> None:
    written = text_of(MACHINES / name)
    assert len(written.encode()) <= LIMIT and written.endswith(f"{END}\n") and "\n|" not in written
    machine, read = judged(RecordedHost(open_store(str(MACHINES / name)))), again(written)
    if name in NOT_ASKED:
        assert troubles(read) <= troubles(machine)
        return
    assert troubles(read) == troubles(machine)
    assert {(stack.stack, stack.verdict) for stack in read.stacks} == {(stack.stack, stack.verdict) for stack in machine.stacks}


def test_nine_of_ten_machines_are_read_back_whole() -> None:
    assert len(NOT_ASKED) <= len(NAMES) // 10 and NOT_ASKED.keys() <= set(NAMES)


def test_it_begins_with_the_fields_of_collect_env_in_their_order() -> None:
    fields = re.findall(r"^([A-Za-z][^:\n]*):", text_of(MACHINES / "rtx4090-healthy").partition(PACKAGES_FOLLOW)[0], re.MULTILINE)
    assert fields == [
        "PyTorch version", "Is debug build", "CUDA used to build PyTorch",
        "ROCM used to build PyTorch", "OS", "GCC version", "Clang version",
        "CMake version", "Libc version", "Python version", "Python platform", "Is CUDA available", "CUDA runtime version",
        "CUDA_MODULE_LOADING set to", "GPU models and configuration", "Nvidia driver version", "cuDNN version", "Is XPU available",
        "HIP runtime version", "MIOpen runtime version", "Is XNNPACK available", "CPU", "Model name", "Memory",
    ]  # fmt: skip


def test_what_is_left_out_is_said_and_not_taken_for_absent() -> None:
    whole = text_of(MACHINES / "rtx4090-stub-libcuda", 60_000)
    short = text_of(MACHINES / "rtx4090-stub-libcuda", 2_600)
    assert len(short.encode()) <= 2_600 < len(whole.encode()) and "Left out, for want of room: " in short
    assert troubles(again(short)) <= troubles(again(whole))


@pytest.mark.parametrize("margin", ["    ", "> ", "\t"])
def test_an_issue_may_indent_or_quote_it(margin: str) -> None:
    written = text_of(MACHINES / "rx7600-not-in-group")
    pasted = "It does not work.\n\n" + "".join(f"{margin}{line}\n" for line in written.splitlines()) + "\nWhat can I do?\n"
    assert troubles(again(pasted)) == troubles(again(written)) != set()


def test_a_second_gpu_that_is_like_the_first_is_read_back() -> None:
    written = text_of(MACHINES / "h100-server-rdma")
    assert " like 0000:01:00.0:" in written
    assert entries_of_text(written)["files/sys/bus/pci/devices/0000:c8:00.0/device"] == b"0x2330\n"


def test_groups_within_names_are_not_spelled_out() -> None:
    """A text of somebody else may hold groups whose words would be without number."""
    many = "/a" + "{b,c}" * 60
    written = (
        text_of(MACHINES / "rx7600-not-in-group").replace("\nPATH=", f"\nPATH={many}:").replace(END, f"Not stated, of it: {many}\n{END}")
    )
    assert many in written and troubles(again(written)) != set()


def test_the_text_stays_within_any_limit() -> None:
    for limit in range(1_500, 8_192, 700):
        assert len(text_of(MACHINES / "rtx4090-stub-libcuda", limit).encode()) <= limit


# what is private


@pytest.mark.parametrize("name", ["poplar_sdk-ubuntu_20_04-3.3.0+1403-208993bbb7", "popart-ubuntu_20_04-3.3.0+7857-b67b751185"])
def test_the_folder_of_a_poplar_sdk_keeps_its_name(name: str) -> None:
    assert Cleaner().line(f"/opt/gc/{name}/lib") == f"/opt/gc/{name}/lib"


@pytest.mark.parametrize(
    "name", ["quagga-3.3.0+1403-208993bbb7", "208993bbb7", "poplar-quagga-3.3.0+1403-208993bbb7", "poplar-208993bbb7c1"]
)
def test_other_names_with_a_hash_do_not_leave(name: str) -> None:
    assert name not in Cleaner().line(f"/opt/gc/{name}/lib")


def test_almost_no_plant_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all classes of secrets and names, in logs, variables, messages and unknown tools, at most two in a hundred."""
    leaked = []
    for start in range(0, len(PLANTS), 12):
        some = PLANTS[start : start + 12]
        monkeypatch.setattr("planted_score.PLANTS", some)
        written = text_of(planted(tmp_path / str(start)), 60_000)
        leaked += [each["name"] for each in some if each["secret"] in written]
    assert len(leaked) <= len(PLANTS) * 0.02, leaked


def test_nobody_is_named(tmp_path: Path) -> None:
    plant = Plant(
        user="quillon", full_name="Quillon Abernathy", other="zebulon", host="marzipan-17", domain="hazelnut.example",
        project="manatee-llm",
        share="pelican", server="kumquat", ip="131.169.40.42", mac="3c:7c:3f:12:34:57", ipv6="2a02:8071:abcd:1200::7",
        uuid="1f0c9c7e-3a52-4c0e-9a3b-6f5f2f1f9a11", machine_id="4fd2a1c09a3e4b5f8a7d6c5b4a392817", serial="1322621068465",
        secret="Zx81kQp77LmN", token="hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345", email="quillon@hazelnut.example", password="tr0ub4dor&3xy",
    )  # fmt: skip
    written = text_of(write(plant, tmp_path), 60_000)
    assert [name for name, value in plant.all().items() if value.lower() in written.lower()] == []
    assert "NVIDIA GeForce RTX 4090" in written and "10de" in written


def test_known_messages_keep_their_words() -> None:
    written = text_of(MACHINES / "rtx4090-torch-crashes")
    error = json.loads(re.search(r"^Import torch: (.*)$", written, re.MULTILINE)[1])["error"]  # type: ignore[index]
    assert error["kind"] == "signal" and "SIG" in error["name"]
