"""What is seen while a device is measured: others at work, stolen time, clocks, and throttling, from /proc and /sys."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from recorded_trees import machine, write

from gpudoctor.benchmark.monitors.drm_card import CardWatch
from gpudoctor.benchmark.monitors.energy import Meter
from gpudoctor.benchmark.monitors.monitor import Seen, Watching
from gpudoctor.benchmark.monitors.processor_load import ProcessorWatch
from gpudoctor.system.local_host import LocalHost

CARD = {"address": "0000:03:00.0"}
BASE = "/sys/bus/pci/devices/0000:03:00.0"


def load(busy: int, idle: int, stolen: int = 0) -> dict[str, str]:
    return {"/proc/stat": f"cpu  {busy} 0 0 {idle} 0 0 0 {stolen} 0 0\ncpu0 1 1 1 1\n"}


def process(pid: int, ticks: int) -> dict[str, str]:
    before = " ".join(["0"] * 10)  # up to majflt and cmajflt, after the state
    return {f"/proc/{pid}/stat": f"{pid} (a (odd) name) S {before} {ticks} 0 0 0 20 0 1 0 100 0 0\n"}


def watched(folder: Path, first: dict[str, str], then: dict[str, str], pid: int | None = 7) -> Seen:
    host = machine(folder, first)
    watch = ProcessorWatch(host, [pid] if pid else [])
    watch.sample(0.0)
    write(folder, then)
    watch.sample(1.0)
    return watch.seen()


def test_the_worker_itself_is_not_another(tmp_path: Path) -> None:
    seen = watched(tmp_path, {**load(1000, 1000), **process(7, 500)}, {**load(1200, 1000), **process(7, 690)})
    assert seen.others == "" and seen.busy_percent == pytest.approx(95.0)


def test_what_others_took_is_told_in_per_cent(tmp_path: Path) -> None:
    seen = watched(tmp_path, {**load(1000, 1000), **process(7, 500)}, {**load(1150, 1050), **process(7, 600)})
    assert seen.others == "other processes took 25 % of the processor"
    assert seen.noise == (seen.others,)


def test_what_the_hypervisor_took_is_told(tmp_path: Path) -> None:
    seen = watched(tmp_path, {**load(0, 0), **process(7, 0)}, {**load(100, 80, 20), **process(7, 100)})
    assert seen.others == "the hypervisor took 10 % of the processor"


def test_a_worker_that_is_gone_does_not_make_others_of_itself(tmp_path: Path) -> None:
    host = machine(tmp_path, {**load(0, 0), **process(7, 0)})
    watch = ProcessorWatch(host, [7])
    watch.sample(0.0)
    write(tmp_path, {**load(100, 0), **process(7, 100)})
    watch.sample(1.0)
    (tmp_path / "files/proc/7/stat").write_text("")
    write(tmp_path, load(200, 0))
    watch.sample(2.0)
    assert watch.seen().others == ""


def test_heat_throttles_and_clocks_sag(tmp_path: Path) -> None:
    cpu = "/sys/devices/system/cpu/cpu0"
    host = machine(tmp_path, {f"{cpu}/cpufreq/scaling_cur_freq": "4000000\n", f"{cpu}/thermal_throttle/package_throttle_count": "3\n"})
    watch = ProcessorWatch(host)
    for clock in ("4000000", "3900000", "2500000"):
        write(tmp_path, {f"{cpu}/cpufreq/scaling_cur_freq": clock})
        watch.sample(0.0)
    assert watch.seen().throttled == "the clock fell from 4000 to 2500 MHz"
    write(tmp_path, {f"{cpu}/thermal_throttle/package_throttle_count": "8\n"})
    watch.sample(0.0)
    assert watch.seen().throttled == "throttled by heat 5 times"


def test_nothing_to_read_is_nothing_told(tmp_path: Path) -> None:
    watch = ProcessorWatch(machine(tmp_path, {"/proc/stat": "garbage\n"}), [7])
    watch.sample(0.0)
    watch.sample(1.0)
    assert watch.seen() == Seen()


def test_an_i915_card(tmp_path: Path) -> None:
    gt = f"{BASE}/drm/card1/gt/gt0"
    files = {f"{gt}/rps_act_freq_mhz": "2400\n", f"{gt}/throttle_reason_status": "1\n", f"{gt}/throttle_reason_pl1": "1\n"}
    host = machine(tmp_path, {**files, f"{gt}/throttle_reason_thermal": "0\n", f"{BASE}/hwmon/hwmon2/temp1_input": "71000\n"})
    watch = CardWatch(host, CARD)
    watch.sample(0.0)
    assert watch.seen() == Seen(throttled="throttled (pl1)", clock_mhz=2400.0, hottest_c=71.0)


def test_an_xe_card(tmp_path: Path) -> None:
    gt = f"{BASE}/tile0/gt0/freq0"
    host = machine(tmp_path, {f"{gt}/act_freq": "2850\n", f"{gt}/throttle/status": "1\n", f"{gt}/throttle/reason_thermal": "1\n"})
    watch = CardWatch(host, CARD)
    watch.sample(0.0)
    assert watch.seen().throttled == "throttled (thermal)" and watch.seen().clock_mhz == 2850.0


def test_an_amd_card(tmp_path: Path) -> None:
    files = {f"{BASE}/gpu_busy_percent": "97\n", f"{BASE}/mem_busy_percent": "61\n"}
    host = machine(tmp_path, {f"{BASE}/pp_dpm_sclk": "0: 500Mhz\n1: 2575Mhz *\n", **files})
    watch = CardWatch(host, CARD)
    watch.sample(0.0)
    assert watch.seen() == Seen(clock_mhz=2575.0, busy_percent=97.0, memory_percent=61.0)


class Counting:
    def __init__(self) -> None:
        self.samples = 0

    def sample(self, now: float) -> None:
        self.samples += 1

    def seen(self) -> Seen:
        return Seen()


def test_samples_at_both_ends_and_between_and_leaves_no_thread() -> None:
    counting, before = Counting(), threading.active_count()
    watching = Watching(LocalHost(), [counting], Meter("", "", why_not="none here"), interval=0.05)
    watching.begin()
    time.sleep(0.3)
    watching.end()
    watching.end()
    found = counting.samples
    assert found >= 4
    time.sleep(0.15)
    assert counting.samples == found and threading.active_count() == before


@pytest.mark.parametrize(
    ("first", "second", "grew"),
    [
        (0.1, 0.12, False),
        (0.1, 0.3, True),
        (0.8, 0.88, True),
        (0.8, 0.8, None),
        (0.6, 0.4, None),
        (0.33, 0.33, None),
        (0.2, 0.2, False),
        (0.0, 0.0, False),
    ],
)
def test_whether_others_took_more_in_the_second_half(tmp_path: Path, first: float, second: float, grew: bool | None) -> None:
    """What they leave is what counts: 12 instead of 20 % of the processor is nearly half as fast. Where they take most, nobody can tell."""
    own, busy = 10.0, (0.0, 100 * first + 10, 100 * (first + second) + 20)
    loads = [(100.0 * half, busy[half], 0.0, own * half) for half in range(3)]
    watch = ProcessorWatch(machine(tmp_path, load(0, 0)), [7], loads)
    assert watch.seen().others_grew is grew
