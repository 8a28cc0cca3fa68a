"""Screens of recorded machines: what stopped, what did not answer, what a narrow terminal still shows."""

from __future__ import annotations

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
