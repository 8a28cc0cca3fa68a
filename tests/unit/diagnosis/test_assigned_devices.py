"""The one line on the device of a job: which device its variables name, and whether the job can use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpudoctor.cli import run
from gpudoctor.diagnosis.assigned_devices import answer

MACHINES = Path(__file__).resolve().parents[2] / "machines"
MIG = "MIG-11111111-2222-3333-4444-555555555555"


def gpu(vendor: str, number: int, **more: Any) -> dict[str, Any]:
    driver = {"nvidia": "nvidia", "amd": "amdgpu", "intel": "xe"}[vendor]
    row = {"vendor": vendor, "name": f"{vendor} {number}", "address": f"0000:0{number}:00.0", "driver": driver, "kind": "discrete"}
    return {**row, "node": f"/dev/dri/renderD{128 + number}", "access": True, **more}


def machine(*gpus: dict[str, Any], **env: str) -> dict[str, Any]:
    rows = [
        {"index": number, "uuid": f"GPU-{number}{number}-x", "address": each["address"], "mig_mode": "Disabled"}
        for number, each in enumerate(each for each in gpus if each["vendor"] == "nvidia")
    ]
    return {"gpus": list(gpus), "env": env, "nvidia": {"devices": rows, "smi": {"tool": "nvidia-smi", "error": None}}}


TWO = (gpu("nvidia", 1), gpu("nvidia", 2, access=False))
CASES = [
    # facts, device, ready, words
    (machine(*TWO), "cuda:0", True, "nvidia 1 at 0000:01:00.0"),
    (machine(*TWO), "1", False, "/dev/dri/renderD130 may not be opened"),
    (machine(*TWO), "assigned", False, "cuda:1 is nvidia 2"),
    (machine(*TWO, CUDA_VISIBLE_DEVICES="0"), "assigned", True, "cuda:0 is nvidia 1"),
    (machine(*TWO, CUDA_VISIBLE_DEVICES="1"), "cuda:0", False, "cuda:0 is nvidia 2"),
    (machine(*TWO, CUDA_VISIBLE_DEVICES="GPU-00"), "cuda:0", True, "nvidia 1"),
    (machine(*TWO, CUDA_VISIBLE_DEVICES="GPU-99"), "assigned", False, "names GPU-99, which is no device of this machine"),
    (machine(*TWO, CUDA_VISIBLE_DEVICES="2"), "assigned", False, "names device 2, and there are only 2"),
    (machine(*TWO, CUDA_VISIBLE_DEVICES=""), "assigned", False, "hides every GPU"),
    (machine(*TWO, CUDA_VISIBLE_DEVICES="first"), "assigned", False, "neither a number nor a UUID"),
    (machine(*TWO, CUDA_VISIBLE_DEVICES=MIG), "assigned", False, "MIG is off here"),
    (machine(gpu("amd", 1), gpu("amd", 2), ROCR_VISIBLE_DEVICES="1", HIP_VISIBLE_DEVICES="0"), "cuda:0", True, "amd 2"),
    (machine(gpu("amd", 1), gpu("amd", 2), ROCR_VISIBLE_DEVICES="1", HIP_VISIBLE_DEVICES="1"), "cuda:0", False, "there is only 1"),
    (machine(gpu("amd", 1), HIP_VISIBLE_DEVICES="0", CUDA_VISIBLE_DEVICES="7"), "assigned", True, "amd 1"),
    (machine(gpu("intel", 1), gpu("intel", 2), ZE_AFFINITY_MASK="1.0"), "xpu:0", True, "intel 2"),
    (machine(gpu("intel", 1), ZE_AFFINITY_MASK="3"), "xpu:0", False, "ZE_AFFINITY_MASK names device 3"),
    (machine(gpu("intel", 1, driver=None)), "assigned", False, "no driver is bound"),
    (machine(gpu("intel", 1, kind="integrated"), gpu("amd", 2)), "assigned", True, "cuda:0 is amd 2"),
    (machine(*TWO), "02:00.0", False, "may not be opened"),
    (machine(*TWO), "/dev/dri/renderD129", True, "nvidia 1"),
    (machine(*TWO), "/dev/dri/renderD200", False, "no GPU of this machine has this file"),
    (machine(), "assigned", False, "there is no GPU"),
    ({"env": {}}, "assigned", None, "were not determined"),
    (machine(gpu("amd", 1, access=None)), "cuda:0", None, "was not determined"),
]


@pytest.mark.parametrize(("facts", "device", "ready", "words"), CASES)
def test_the_device_of_a_job(facts: dict[str, Any], device: str, ready: bool | None, words: str) -> None:
    found = answer(facts, device)
    assert found.ready is ready and words in found.says, found


HALF = [gpu("amd", 1, access=False), gpu("amd", 2), gpu("amd", 3)]
BARE = {"vendor": "intel", "pci_id": "8086:56a0", "kind": "discrete", "access": False, "driver": "xe"}
UNLISTED = {"gpus": list(TWO), "env": {}, "nvidia": {"devices": [{"address": "0000:01:00.0", "mig_mode": "N/A"}], "smi": {}}}
SENTENCES = [
    # facts, device, ready, the whole sentence
    ({"env": {}}, "assigned", None, "the GPUs of this machine were not determined"),
    (machine(gpu("amd", 1, kind="integrated"), gpu("amd", 2)), "assigned", True, "cuda:0 is amd 2 at 0000:02:00.0, driver amdgpu"),
    (machine(gpu("amd", 1, kind="integrated")), "assigned", True, "cuda:0 is amd 1 at 0000:01:00.0, driver amdgpu"),
    (machine(*HALF, CUDA_VISIBLE_DEVICES="2"), "assigned", True, "cuda:0 is amd 3 at 0000:03:00.0, driver amdgpu"),
    (
        machine(*HALF), "assigned", False, "cuda:0 is amd 1 at 0000:01:00.0: /dev/dri/renderD129 may not be opened (permission, or a rule "
        "of the job's control group)",
    ),
    (
        machine(*(gpu("amd", number, driver=None) for number in (1, 2, 3))), "assigned", False,
        "cuda:0 is amd 1 at 0000:01:00.0: no driver is bound; and 2 more",
    ),
    (
        {"gpus": [BARE]}, "xpu:0", False,
        "xpu:0 is 8086:56a0: its device file may not be opened (permission, or a rule of the job's control group)",
    ),
    (machine(gpu("amd", 1, access=None)), "cuda:0", None, "cuda:0 is amd 1 at 0000:01:00.0: whether it may be opened was not determined"),
    ({"gpus": [{"vendor": "amd"}]}, "cuda:0", None, "cuda:0 is a GPU: its driver was not determined"),
    (machine(*HALF), "cuda:3", False, "cuda:3: a job sees 3 such devices here"),
    (machine(HALF[1]), "cuda:1", False, "cuda:1: a job sees 1 such device here"),
    (machine(), "cuda:0", False, "cuda:0: a job sees 0 such devices here"),
    (machine(gpu("amd", 1, address="0000:0a:00.0")), "0A:00.0", True, "0A:00.0 is amd 1 at 0000:0a:00.0, driver amdgpu"),
    (machine(*TWO), "GPU-99", False, "GPU-99 is no device of this machine"),
    (UNLISTED, "GPU-99", None, "GPU-99 cannot be looked up: nvidia-smi lists no UUIDs"),
    (UNLISTED, MIG, False, f"{MIG} is a MIG device, and MIG is off here"),
    ({"gpus": list(TWO)}, MIG, None, f"{MIG} cannot be looked up: nvidia-smi lists no UUIDs"),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "device", "ready", "sentence"), SENTENCES)
def test_the_whole_sentence(facts: dict[str, Any], device: str, ready: bool | None, sentence: str) -> None:
    found = answer(facts, device)
    assert (found.ready, found.says) == (ready, sentence)


def test_a_mig_device_is_found_in_the_card_that_holds_it() -> None:
    facts = machine(*TWO, CUDA_VISIBLE_DEVICES=MIG)
    facts["nvidia"]["devices"][0].update(mig_mode="Enabled", mig_uuids=[MIG])
    assert answer(facts, "assigned").ready is True
    assert answer(facts, MIG).says.startswith(f"{MIG} is nvidia 1")
    facts["nvidia"]["devices"][0]["mig_uuids"] = ["MIG-99999999"]
    assert answer(facts, "assigned").ready is False


def test_a_driver_that_nvidia_smi_complains_of_is_not_ready_and_one_that_hangs_is_not_determined() -> None:
    facts = machine(*TWO)
    facts["nvidia"]["smi"]["error"] = "Failed to initialize NVML: Driver/library version mismatch"
    assert answer(facts, "cuda:0").ready is False
    facts["nvidia"]["smi"] = {}
    assert answer(facts, "cuda:0").ready is None


@pytest.mark.parametrize(
    ("name", "status", "line"),
    [
        ("rtx4090-healthy", 0, "ready: cuda:0 is GeForce RTX 4090"), ("rx7600-not-in-group", 1, "not ready: cuda:0 is Radeon RX 7600"),
        ("vm-virtio-only", 1, "not ready: there is no GPU"),
    ],
)  # fmt: skip
def test_one_line_and_a_status(name: str, status: int, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--capture", str(MACHINES / name), "--device", "assigned"]) == status
    said = capsys.readouterr().out
    assert said.startswith(line) and said.count("\n") == 1


def test_it_is_no_exit_style(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--device", "assigned", "--exit-style", "nagios"]) in (2, 3)
    assert "exclude each other" in "".join(capsys.readouterr())
