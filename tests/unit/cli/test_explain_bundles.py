"""Archives of logs: what comes from several machines is explained machine by machine, and a finding names its file."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from gpudoctor.cli import run
from gpudoctor.system import text_archives

NO_IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\n"


def packed(target: Path, files: dict[str, str | bytes], mode: str = "w:gz") -> str:
    with tarfile.open(target, mode) as archive:  # type: ignore[call-overload]
        for path, text in files.items():
            content = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return str(target)


def tar_bytes(files: dict[str, str | bytes], tmp_path: Path) -> bytes:
    return Path(packed(tmp_path / "inner.tar.xz", files, "w:xz")).read_bytes()


def names_of(archive: str) -> dict[str, list[str]]:
    bundle = text_archives.read(archive)
    assert bundle is not None and bundle.whole
    return {machine.name: [member.path for member in machine.members] for machine in bundle.machines}


@pytest.mark.parametrize(
    "files",
    [
        {"must-gather/nodes/w1/train.log": NO_IMAGE, "must-gather/nodes/w2/dmesg": MISMATCH},
        {"ns/pods/w1/cuda/logs/current.log": NO_IMAGE, "ns/pods/w2/cuda/logs/current.log": MISMATCH},
        {"logs/w1/run.log": NO_IMAGE, "logs/w2/run.log": MISMATCH},
        {"node1-smi.txt": NO_IMAGE, "node2-smi.txt": MISMATCH},
        {"a.txt": f"Linux w1 6.8.0-51-generic #52\n{NO_IMAGE}", "b.txt": f"Linux w2 6.8.0-51-generic #52\n{MISMATCH}"},
        {"nvidia-bug-report-w1.log": NO_IMAGE, "nvidia-bug-report-w2.log": MISMATCH},
    ],
)
def test_machines_of_one_archive_are_not_mixed(files: dict[str, str | bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = packed(tmp_path / "bundle.tar.gz", files)
    assert run(["explain", archive, "--format", "json"]) == 1
    texts = json.loads(capsys.readouterr().out)["texts"]
    assert [text["first"]["id"] for text in texts] == ["cuda-no-kernel-image", "nvidia-library-mismatch"]
    run(["explain", archive])
    screen = capsys.readouterr().out
    assert all(path in screen for path in files), "each finding names its file"
    part = texts[0]["text"].removeprefix(f"{archive}: ")
    assert f"gpudoctor explain {archive} --member {part}" in screen
    assert run(["explain", archive, "--member", part, "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [finding["id"] for finding in report["findings"]] == ["cuda-no-kernel-image"]


def test_a_collection_of_sosreports_is_opened(tmp_path: Path) -> None:
    hosts = {f"collect/sosreport-{host}.tar.xz": tar_bytes({"sos/var/log/x.log": MISMATCH}, tmp_path) for host in ("w1", "w2")}
    archive = packed(tmp_path / "sos-collect.tar.gz", {"collect/manifest.json": "{}", **hosts})
    assert list(names_of(archive)) == ["sosreport-w1.tar.xz", "sosreport-w2.tar.xz", "other files"]


@pytest.mark.parametrize(
    "files",
    [
        {"etc/os-release": "ID=ubuntu\n", "proc/version": "Linux version 6.8\n", "etc/modules": "x\n", "proc/modules": "y\n"},
        {"dmesg.txt": MISMATCH, "pip.txt": "torch 2.7.1\n", "uname": "Linux w1 6.8.0-51-generic #52\n"},
        {"sos/sys/class/drm/card0/uevent": "A=1\n", "sos/sys/class/drm/card1/uevent": "A=2\n", "sos/hostname": "w1\n"},
    ],
)
def test_the_files_of_one_machine_stay_together(files: dict[str, str | bytes], tmp_path: Path) -> None:
    assert list(names_of(packed(tmp_path / "one.tar.gz", files))) == [""]


def test_a_finding_names_the_file_and_the_line_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr("first.txt", "fine\n" * 7)
        archive.writestr("logs/train.log", f"epoch 1\nepoch 2\n{NO_IMAGE}")
        archive.writestr("smi.txt", MISMATCH.encode("utf-16"))
    run(["explain", str(tmp_path / "logs.zip")])
    screen = capsys.readouterr().out
    assert screen.startswith("files  first.txt, logs/train.log, smi.txt\n")
    assert "   in     logs/train.log:3\n" in screen
    assert "   in     smi.txt:1\n" in screen, "PowerShell writes in UTF-16"


def test_a_member_that_is_not_there_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = packed(tmp_path / "a.tar.gz", {"x/a.log": NO_IMAGE})
    assert run(["explain", archive, "--member", "nowhere"]) == 2
    (tmp_path / "plain.log").write_text(NO_IMAGE)
    assert run(["explain", str(tmp_path / "plain.log"), "--member", "x"]) == 2
    assert "not an archive" in capsys.readouterr().err


XID = "[ 1234.567890] NVRM: Xid (PCI:0000:65:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
BUG_REPORT = (
    "____________________________________________\n\nStart of NVIDIA bug report log file.  Please include this file.\n\n"
    "nvidia-bug-report.sh Version: 34275561\n\nuname: Linux w1 6.8.0-51-generic #52-Ubuntu SMP x86_64 GNU/Linux\n"
    f"____________________________________________\n\n/bin/dmesg 2> /dev/null\n\n{XID}"
    "____________________________________________\nEnd of NVIDIA bug report log file.\n"
)
OPERATOR = "nvidia-gpu-operator_20261120_1000"
MAKERS: dict[str, tuple[dict[str, str | bytes], str]] = {
    "sosreport": (
        {
            "sosreport-w1/sos_commands/kernel/dmesg": "[   12.0] NVRM: GPU 0000:65:00.0 is already bound to nouveau.\n",
            "sosreport-w1/sos_commands/pci/lspci_-nnvv": "65:00.0 VGA compatible controller [0300]: NVIDIA Corporation AD102 "
            "[GeForce RTX 4090] [10de:2684] (rev a1)\n\tKernel driver in use: nouveau\n\tKernel modules: nouveau, nvidia\n",
            "sosreport-w1/sos_commands/kernel/uname_-a": "Linux w1 5.14.0-503.el9.x86_64 #1 SMP x86_64 GNU/Linux\n",
            "sosreport-w1/etc/os-release": 'ID="rhel"\nVERSION_ID="9.5"\n',
            "sosreport-w1/proc/modules": "nouveau 3000000 1 - Live 0x0\n",
        },
        "nvidia-nouveau-bound",
    ),
    "must-gather": (
        {
            "must-gather.local.1/quay-io-sha256-1/nodes/worker-1/dmesg": XID,
            "must-gather.local.1/quay-io-sha256-1/nodes/worker-1/worker-1_logs_kubelet.gz": gzip.compress(b"kubenswrapper[1]: ready\n"),
            "must-gather.local.1/quay-io-sha256-1/cluster-scoped-resources/core/nodes/worker-1.yaml": "kind: Node\n",
        },
        "nvidia-xid-bus",
    ),
    "gpu-operator": (
        {
            f"{OPERATOR}/gpu_nodes.descr": "Name: worker-1\nRoles: worker\n",
            f"{OPERATOR}/gpu_operand_pod_nvidia-driver-daemonset-abcde.log": "[pod/x] Could not resolve Linux kernel version\n",
            f"{OPERATOR}/nvidia-bug-report_worker-1.log.gz": gzip.compress(BUG_REPORT.encode()),
        },
        "nvidia-xid-bus",
    ),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_the_bundles_of_others_give_the_finding_of_what_lies_in_them(
    maker: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, wanted = MAKERS[maker]
    assert run(["explain", packed(tmp_path / f"{maker}.tar.xz", files, "w:xz"), "--format", "json"]) == 1
    assert wanted in [finding["id"] for finding in json.loads(capsys.readouterr().out)["findings"]]


def test_a_packed_bug_report_of_nvidia_is_opened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nvidia-bug-report.log.gz").write_bytes(gzip.compress(BUG_REPORT.encode()))
    assert run(["explain", str(tmp_path / "nvidia-bug-report.log.gz"), "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["id"] == "nvidia-xid-bus"


def test_the_sections_of_rocm_techsupport_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rocm_techsupport.log").write_text(
        "===== Section: System Info: uname -a ===============\nLinux w1 5.15.0-105-generic #115-Ubuntu SMP x86_64 GNU/Linux\n"
        "===== Section: dmesg boot logs         ===============\n[    6.0] [drm:psp_hw_init [amdgpu]] *ERROR* PSP firmware loading failed\n"
        "===== Section: rocminfo         ===============\nUnable to open /dev/kfd read/write: Permission denied\n"
    )
    assert run(["explain", str(tmp_path / "rocm_techsupport.log"), "--format", "json"]) == 1
    found = {finding["id"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert {"amdgpu-psp-fails", "amd-kfd-not-accessible"} <= found
