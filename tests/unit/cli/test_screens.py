"""Screens of recorded machines: what stopped, what did not answer, what a narrow terminal still shows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from machine_builder import Machine

from gpudoctor.cli import run

MACHINES = Path(__file__).parents[2] / "machines"


def screen_of(words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int = 80) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    run(words)
    printed = capsys.readouterr()
    return printed.out + printed.err


def test_a_tool_that_hangs_stands_in_the_verdict_with_a_look_at_its_driver(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = str(MACHINES / "rtx4090-smi-times-out")
    screen = screen_of(["check", "--capture", machine], capsys, monkeypatch)
    assert screen.startswith("incomplete: nvidia-smi did not answer in time\n")
    verdict, following = screen.splitlines()[-2:]
    assert verdict == "No problems found, but nvidia-smi did not answer in time."
    assert following.endswith("sudo dmesg | grep -iE 'nvrm|xid'"), "more time would not wake a driver that hangs"


def driverless(folder: Path) -> str:
    machine = Machine("driverless").linux("ubuntu 22.04", "6.5.0-28-generic").nvidia(version="535.171.04")
    machine.pci("0000:01:00.0", "10de:2684", bar=32 << 30)
    del machine.links["/sys/bus/pci/devices/0000:01:00.0/driver"]
    for path in [path for path in machine.files if path.startswith(("/dev/nvidia", "/proc/driver", "/sys/module", "/proc/modules"))]:
        del machine.files[path]
    machine.file("/proc/modules", "snd_hda_intel 61440 0 - Live 0x0\n").file("/sys/module/snd_hda_intel/initstate", "live\n")
    machine.environment_of({"torch": "2.2.2+cu121"}).expect()
    return str(machine.write(folder))


def test_a_quick_look_that_stops_says_where_and_what_it_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = driverless(tmp_path)
    screen = " ".join(screen_of(["check", "--quick", "--capture", machine], capsys, monkeypatch).split())
    assert "stops at kernel driver" in screen
    assert "No cause found: PyTorch on NVIDIA GPUs stops at kernel driver (no NVIDIA kernel driver is loaded)." in screen
    assert "not installed" not in screen and "No problems found" not in screen
    assert screen.endswith(f"leaves out logs and programs: gpudoctor check --capture {machine}")


@pytest.mark.parametrize("columns", [40, 52, 60, 80])
@pytest.mark.parametrize("name", ["rtx4090-healthy", "arc-a750-old-kernel", "rtx4090-smi-times-out", "ipu-healthy"])
def test_a_rung_keeps_its_detail_on_a_narrow_terminal(
    name: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = screen_of(["check", "--capture", str(MACHINES / name)], capsys, monkeypatch, columns).splitlines()
    assert not [line for line in lines if line.rstrip().endswith("  …")], "a rung of which nothing is left"
    rungs = [line for line in lines if line.startswith(("  ok  ", "  BROKEN ", "  not reached"))]
    assert rungs and max(map(len, rungs)) <= columns


@pytest.mark.parametrize(
    "words", [["--help"], *([name, "--help"] for name in ("list", "check", "explain", "audit", "setup", "validate", "report", "show"))]
)
def test_no_line_of_help_is_cut(words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = screen_of(words, capsys, monkeypatch).splitlines()
    assert not [line for line in lines if line.endswith("...") and not line.startswith("Usage:")]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("form", "what"), [("html", "one HTML page"), ("md", "Markdown"), ("json", "gpudoctor.report/1"), ("zip", "the recorded machine")]
)
def test_a_report_says_what_it_wrote_and_what_to_do_with_it(
    form: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / f"r.{form}"
    assert run(["report", "--capture", str(MACHINES / "rtx4090-healthy"), "-o", str(target)]) == 0
    printed = capsys.readouterr()
    first, following = printed.err.splitlines()[:2]
    assert first.startswith(f"Wrote {target} (") and what in first and " kB" in first and following.startswith("Next: ")
    assert printed.out == ""
    assert run(["report", "--capture", str(MACHINES / "rtx4090-healthy"), "-q", "-o", str(target)]) == 0
    assert capsys.readouterr().err == ""


def test_words_that_are_no_files_become_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "CUDA", "error:", "out"]) == 2
    assert "gpudoctor explain 'CUDA error: out'" in capsys.readouterr().err
    assert run(["explain", "nosuch.log"]) == 2
    assert "gpudoctor explain 'the message'" in capsys.readouterr().err


def test_what_is_next_is_the_cure_where_the_commands_only_look(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine("small-bar").linux("ubuntu 24.04", "6.8.0-51-generic").pci("0000:03:00.0", "8086:56a0", driver="i915", bar=256 << 20)
    folder = machine.environment_of({"torch": "2.7.1+xpu"}).expect().write(tmp_path)
    screen = screen_of(["check", "--capture", str(folder)], capsys, monkeypatch)
    assert "$ sudo lspci -v" in screen, "the look stands with the finding"
    assert "Next: Switch on Above 4G decoding and Resizable BAR in the BIOS" in screen


def test_the_framework_on_the_card_stands_before_one_that_any_processor_serves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = tmp_path / "both"
    shutil.copytree(MACHINES / "rtx4090-healthy", machine)
    python = json.loads((machine / "python.json").read_text())
    python["distributions"]["onnxruntime"] = "1.23.2"
    (machine / "python.json").write_text(json.dumps(python))
    screen = screen_of(["check", "--capture", str(machine)], capsys, monkeypatch)
    assert screen.index("PyTorch on NVIDIA GPUs") < screen.index("ONNX Runtime")


def test_a_wrong_override_is_replaced_where_the_wheel_needs_the_right_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = tmp_path / "override"
    shutil.copytree(MACHINES / "rx7600-no-override", machine)
    python = (machine / "python.json").read_text()
    (machine / "python.json").write_text(python.replace("2.7.1+rocm6.3", "2.4.1+rocm6.1"))  # without code for gfx1102
    with (machine / "env.toml").open("a") as env:
        env.write('\nHSA_OVERRIDE_GFX_VERSION = "10.3.0"\n')
    screen = screen_of(["check", "--capture", str(machine)], capsys, monkeypatch)
    assert "$ export HSA_OVERRIDE_GFX_VERSION=11.0.0" in screen and "unset" not in screen


@pytest.mark.parametrize("name", ["pocl-on-a-processor", "vm-virtio-only"])
def test_a_rung_that_holds_by_the_processor_says_so(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    screen = screen_of(["check", "--capture", str(MACHINES / name)], capsys, monkeypatch)
    assert "  ok           device         the processor\n" in screen
