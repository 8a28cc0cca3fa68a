"""What a person, a monitor and a script are answered first: screens that fit, statuses that do not lie, names that are understood."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from gpudoctor.cli import run

pytestmark = pytest.mark.starts_processes(
    "gpudoctor itself, in a child: what a terminal, a pipe or a signal does cannot be tried in this process"
)

MACHINES = Path(__file__).parents[2] / "machines"
BROKEN = [path.parent for path in sorted(MACHINES.glob("*/expect.toml")) if "errors = []" not in path.read_text()]
NO_GPU = str(MACHINES / "vm-virtio-only")
ARC = str(MACHINES / "arc-a770-whole-slot")
MESSAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = run(words)
    printed = capsys.readouterr()
    return status, printed.out + printed.err


# screens


@pytest.mark.parametrize("folder", BROKEN, ids=[folder.name for folder in BROKEN])
def test_the_first_screen_of_a_broken_machine_fits_a_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, screen = said(["check", "--capture", str(folder)], capsys)
    lines = screen.splitlines()
    assert len(lines) <= 24, screen
    assert lines[-1].startswith(("Next: ", "  ")), "what to do stands last"


@pytest.mark.parametrize("folder", [path.parent for path in sorted(MACHINES.glob("*/expect.toml"))], ids=lambda folder: folder.name)
def test_no_rung_is_left_without_a_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "--capture", str(folder), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    for stack in report["stacks"]:
        for rung in stack["layers"]:
            if rung["status"] == "unknown" and rung["layer"] not in ("compute", "performance"):
                assert len(rung["detail"].split()) > 2, (stack["stack"], rung)
            if rung["status"] in ("ok", "warning"):
                assert not {"unknown", "none"} & set(rung["detail"].replace(",", " ").split()), (stack["stack"], rung)


def test_native_windows_has_no_kernel_of_wsl(capsys: pytest.CaptureFixture[str]) -> None:
    _, screen = said(["check", "--capture", str(MACHINES / "windows-rx7900-directml"), "-v"], capsys)
    assert "WSL" not in screen and "/dev/dxg" not in screen


def test_a_tool_that_hangs_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    _, screen = said(["check", "--capture", str(MACHINES / "rtx4090-smi-times-out")], capsys)
    assert "nvidia-smi did not answer in time" in screen


def test_hints_of_a_replay_replay(capsys: pytest.CaptureFixture[str]) -> None:
    machine = str(MACHINES / "rtx4090-healthy")
    _, screen = said(["check", "--capture", machine], capsys)
    assert f"gpudoctor check --capture {machine} -v" in screen


def test_all_few_commands_of_the_first_finding_are_next(capsys: pytest.CaptureFixture[str]) -> None:
    _, screen = said(["check", "--capture", str(MACHINES / "wsl1")], capsys)
    assert "wsl.exe --set-version NAME 2" in screen, "the command that converts stands there without the name too"
    end = screen[screen.index("Next:") :]
    assert "commands of finding 1" in end or "--set-version" in end


# statuses


@pytest.mark.parametrize(("style", "status"), [("nagios", 2), ("npd", 1), ("slurm", 1)])
def test_no_gpu_is_never_fine_to_a_monitor(style: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(["check", "--capture", NO_GPU, "--exit-style", style], capsys)[0] == status


def test_no_gpu_is_fine_where_a_policy_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = str(tmp_path / "policy.toml")
    assert run(["check", "--capture", NO_GPU, "--write-expect", policy]) == 0
    capsys.readouterr()
    status, line = said(["check", "--capture", NO_GPU, "--expect", policy, "--exit-style", "nagios"], capsys)
    assert (status, line[:6]) == (0, "GPU OK")
    (tmp_path / "other.toml").write_text('[versions]\npython = ">=3"\n')
    assert said(["check", "--capture", NO_GPU, "--expect", str(tmp_path / "other.toml"), "--exit-style", "nagios"], capsys)[0] == 2


def test_a_bus_that_is_not_seen_leaves_a_monitor_in_doubt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "machine.toml").write_text("format = 1\ncomplete = true\n")
    assert said(["check", "--capture", str(tmp_path), "--exit-style", "nagios"], capsys)[0] == 3


@pytest.mark.parametrize("name", ["torch-cuda", "cuda", "nvidia", "CUDA"])
def test_a_stack_without_a_device_fails_by_any_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, screen = said(["check", "--capture", ARC, "--stack", name], capsys)
    assert status == 1 and "PyTorch on NVIDIA GPUs: no device for it" in screen
    assert "No problems" not in screen
    status, line = said(["check", "--capture", ARC, "--stack", name, "--exit-style", "nagios"], capsys)
    assert status == 2 and "no device for torch-cuda" in line


@pytest.mark.parametrize("name", ["tensorflow", "jax"])
def test_a_framework_that_is_not_installed_is_no_missing_device(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, screen = said(["check", "--capture", str(MACHINES / "two-vendors"), "--stack", name], capsys)
    assert status == 1 and "no device" not in screen and "not installed" in screen
    assert screen.rstrip().endswith(f"gpudoctor setup {name} --plan")


def test_directml_has_no_device_on_plain_linux(capsys: pytest.CaptureFixture[str]) -> None:
    status, screen = said(["check", "--capture", str(MACHINES / "two-vendors"), "--stack", "directml"], capsys)
    assert status == 1 and "PyTorch on DirectML: no device for it" in screen and "setup" not in screen


def test_a_stack_shows_itself_alone(capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "--capture", str(MACHINES / "two-vendors"), "--stack", "nvidia", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert [stack["stack"] for stack in report["stacks"]] == ["torch-cuda"]
    assert all("torch-cuda" in finding["stacks"] or not finding["stacks"] for finding in report["findings"])


def test_near_names_are_of_one_vendor(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean" not in said(["check", "--capture", ARC, "--stack", "gpu"], capsys)[1]
    assert "did you mean 'torch-rocm'?" in said(["check", "--capture", ARC, "--stack", "torch-rocn"], capsys)[1]


# input


@pytest.mark.parametrize("what", ["/etc/passwd", "/etc", "/bin/ls"])
def test_what_is_no_python_is_a_usage_error(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, line = said(["check", "--quick", "--python", what], capsys)
    assert status == 2 and what in line and len(line.splitlines()) == 1


def test_help_and_version_are_commands_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Commands:" in said(["help"], capsys)[1]
    assert "gpudoctor check" in said(["help", "check"], capsys)[1]
    assert len({said([word], capsys)[1] for word in ("version", "-V", "--version")}) == 1


def test_a_message_in_quotes_is_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    status, screen = said(["explain", MESSAGE], capsys)
    assert status == 1 and "No kernel image" in screen and "no such file" in screen
    assert said(["explain", "nothing.log"], capsys)[0] == 2


def test_packed_texts_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "train.log"
    log.write_text(MESSAGE + "\n")
    (tmp_path / "nvidia-bug-report.log.gz").write_bytes(gzip.compress(log.read_bytes()))
    with tarfile.open(tmp_path / "sosreport.tar.xz", "w:xz") as archive:
        archive.add(log, "sos/var/log/train.log")
    for name in ("nvidia-bug-report.log.gz", "sosreport.tar.xz"):
        assert "No kernel image" in said(["explain", str(tmp_path / name)], capsys)[1], name


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"\x7fELF\x02\x01" + bytes(4000), "ELF"),
        (bytes(range(256)) * 20, "binary"),
        (b"\x1f\x8b\x08damaged", "cannot be read"),
    ],
)
def test_what_is_no_text_is_named(content: bytes, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "given").write_bytes(content)
    status, line = said(["explain", str(tmp_path / "given")], capsys)
    assert status == 2 and says in line and len(line.splitlines()) == 1


def test_powershell_writes_utf_16(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log.txt").write_bytes(MESSAGE.encode("utf-16"))
    assert "No kernel image" in said(["explain", str(tmp_path / "log.txt")], capsys)[1]


def test_a_report_says_its_format_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = str(MACHINES / "rx7600-not-in-group")
    status, line = said(["report", "--capture", machine, "-o", str(tmp_path / "r.pdf")], capsys)
    assert status == 2 and ".pdf" in line and not (tmp_path / "r.pdf").exists()
    assert run(["report", "--capture", machine, "-o", str(tmp_path / "r.txt")]) == 0
    text = (tmp_path / "r.txt").read_text()
    assert len(text.encode()) <= 8192 and "broken at device node" in text and "PyTorch version:" in text


# the system around


def started(words: list[str], **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpudoctor", *words], text=True, timeout=60, stderr=subprocess.PIPE, **{"stdout": subprocess.PIPE, **more}
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
@pytest.mark.parametrize("words", [["check", "--capture", NO_GPU], ["--help"], ["check", "--capture", NO_GPU, "--format", "json"]])
def test_a_full_disk_is_no_bug(words: list[str]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = started(words, stdout=full)
    assert done.returncode == 2
    assert "No space left" in done.stderr and "bug" not in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "around",
    [
        {"HOME": "/proc/nowhere"},
        {"HOME": ""},
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
        {"TERM": "dumb"},
        {"TMPDIR": "/nowhere"},
        {"COLUMNS": "40"},
    ],
    ids=" ".join,
)
def test_a_poor_environment_changes_no_answer(around: dict[str, str]) -> None:
    done = started(["check", "--capture", str(MACHINES / "wsl1")], env={**os.environ, **around})
    assert done.returncode == 1, done.stderr
    assert done.stderr == "" and "\x1b" not in done.stdout
    if "COLUMNS" in around:
        prose = [line for line in done.stdout.splitlines() if "$ " not in line and "/" not in line]
        assert max(map(len, prose)) < 48, "narrow, but for what cannot be broken"


def test_a_closed_output_is_no_bug() -> None:
    done = subprocess.run(
        f'"{sys.executable}" -m gpudoctor check --capture "{NO_GPU}" >&-', shell=True, text=True, timeout=60, stderr=subprocess.PIPE
    )
    assert done.returncode == 0 and done.stderr == ""


BEGUN = """
import os, sys, gpudoctor.start as start
sys.argv, catch = ['gpudoctor', 'check'], start._signal.signal
def caught(*given):
    start._signal.signal = catch
    catch(*given)
    os.write(1, b'x')
start._signal.signal = caught
start.main()
"""
"""Says when our first line has run: what comes before it is the start of Python."""


@pytest.mark.parametrize("after", [0.0, 0.05, 0.4, 0.9])
def test_ctrl_c_is_answered_at_once(after: float, tmp_path: Path) -> None:
    tool = tmp_path / "df"  # which every check asks
    tool.write_text("#!/bin/sh\nexec sleep 20\n")
    tool.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-c", BEGUN], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.read(1) == b"x"
    time.sleep(after)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=30)
    if process.returncode == 0:
        pytest.fail("it was done before it was interrupted; make the time shorter")
    assert process.returncode == 130 and b"Traceback" not in complaint, complaint
    assert time.monotonic() - began < 1.0  # half a second, and the time that a loaded machine takes to end a process


REFUSED = """$ nvidia-smi
NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.
$ mokutil --sb-state
SecureBoot enabled
$ sudo dmesg
[    0.000000] secureboot: Secure boot enabled
[    5.884211] Loading of module with unavailable key is rejected
"""


def test_secure_boot_comes_before_what_nvidia_smi_says_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "log.txt"
    text.write_text(REFUSED)
    run(["explain", str(text), "--format", "json"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert findings[0]["id"] == "nvidia-secure-boot-rejects-module"
    assert {each["caused_by"] for each in findings[1:] if each["id"].startswith("nvidia-")} <= {findings[0]["key"]}


LAYERS = "device firmware kernel-driver device-node user-driver runtime framework visible compute performance".split()


@pytest.mark.parametrize("folder", BROKEN, ids=[folder.name for folder in BROKEN])
def test_the_first_finding_is_on_the_lowest_broken_rung(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "--capture", str(folder), "--format", "json"])
    errors = [each for each in json.loads(capsys.readouterr().out)["findings"] if each["severity"] == "error"]
    for later in errors[1:]:
        if set(later["stacks"]) & set(errors[0]["stacks"]):
            assert LAYERS.index(errors[0]["layer"]) <= LAYERS.index(later["layer"]), later["id"]


def test_folders_that_may_not_be_read_are_usage_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """tests/real asks the same as another user; who runs this may be root, for whom nothing is closed."""
    closed = tmp_path / "vendor"
    (closed / "bin").mkdir(parents=True)
    really = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **more: Path(path) != closed and really(path, mode, **more))
    for words in (["check", "--quick", "--checks", str(tmp_path)], ["check", "--quick", "--python", str(closed / "bin")]):
        status, line = said(words, capsys)
        assert status == 2 and "no permission" in line and str(closed) in line and len(line.splitlines()) == 1, line
