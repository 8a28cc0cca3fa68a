"""Tools that tell what a card does, by lines in the form in which they print them; and that they end with the measurement."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from recorded_trees import machine

from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.monitors.energy import Meter
from gpudoctor.benchmark.monitors.monitor import Seen, Watching
from gpudoctor.benchmark.monitors.monitor_choice import watching_for
from gpudoctor.benchmark.monitors.vendor_tools import IntelTopWatch, IpuWatch, NvidiaWatch, XpuSmiWatch
from gpudoctor.model.facts import Facts, Known
from gpudoctor.system.host import Ran
from gpudoctor.system.local_host import LocalHost

PMON = """# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command
# Idx           #    C/G      %      %      %      %      %      %    name
    0       4711     C     95     40      -      -      -      -    python3
    0        812     G     24      3      -      -      -      -    Xorg
    0        900   C+G      -      -      -      -      -      -    some thing
    0          -     -      -      -      -      -      -      -    -
"""
OLD_PMON = """# gpu        pid  type    sm   mem   enc   dec   command
# Idx          #   C/G     %     %     %     %   name
    0       4711     C    95    40     -     -   python3
"""


def process(pid: int, name: str) -> dict[str, str]:
    return {f"/proc/{pid}/stat": f"{pid} (x) S 1 " + "0 " * 40 + "\n", f"/proc/{pid}/comm": f"{name}\n"}


def nvidia(folder: Path, text: str, own: int = 4711) -> NvidiaWatch:
    host = machine(folder, {**process(4711, "python3"), **process(812, "Xorg"), **process(900, "holder")})
    watch = NvidiaWatch(Meter("nvidia-smi", "board"), host, [own])
    for line in text.splitlines():
        watch.process(line)
    return watch


def test_lines_of_nvidia_smi() -> None:
    watch = NvidiaWatch(Meter("nvidia-smi", "board"))
    heat, normal = "0x0000000000000020", "0x0000000000000004"
    for line in (f"2520, 61, 310.5, {normal}, 99, 70", "garbage", f"2100, 84, [N/A], {heat}, 100, 74", "1, 2, 3"):
        watch.line(line)
    seen = watch.seen()
    assert seen.throttled == "throttled: heat (software)"
    assert (seen.clock_mhz, seen.hottest_c, seen.busy_percent, seen.memory_percent) == (2310.0, 84.0, 99.5, 72.0)


def test_the_power_limit_is_how_boards_run() -> None:
    watch = NvidiaWatch(Meter("nvidia-smi", "board"))
    watch.line("2520, 61, 310.5, 0x0000000000000004, 99, 40")
    assert watch.seen().noise == ()


def test_pmon_names_who_else_works_and_who_only_holds_memory(tmp_path: Path) -> None:
    seen = nvidia(tmp_path, PMON).seen()
    assert seen.others == "other processes worked on it: Xorg, process 812"
    assert seen.notes == ("held by other processes too, without work: holder, process 900",)


def test_pmon_of_older_drivers_has_fewer_columns(tmp_path: Path) -> None:
    seen = nvidia(tmp_path, OLD_PMON).seen()
    assert (seen.others, seen.notes) == ("", ())


def test_without_pmon_the_list_from_before_the_measurement_is_what_there_is(tmp_path: Path) -> None:
    watch = nvidia(tmp_path, "Process monitoring is not supported for this device\n")
    watch.foreign = "other programs compute on the card: ollama"
    assert watch.seen().others == watch.foreign
    assert NvidiaWatch(Meter("", ""), watch.host, [4711], "x", _columns=["gpu"]).seen().others == ""


def test_numbers_of_another_name_space_are_counted_not_named(tmp_path: Path) -> None:
    seen = nvidia(tmp_path, PMON.replace("4711", "30012").replace(" 812", "3044"), own=70).seen()
    assert seen.others == "1 other process worked on it"


DUMP = (
    "Timestamp, DeviceId, GPU Utilization (%), GPU Power (W), GPU Frequency (MHz), GPU Core Temperature (Celsius Degree), "
    "GPU Memory Read (kB/s), GPU Memory Write (kB/s), GPU Memory Bandwidth Utilization (%), Compute Engine Group Utilization (%), "
    "Copy Engine Group Utilization (%), Throttle reason"
)


def test_a_dump_of_xpu_smi() -> None:
    watch = XpuSmiWatch(Meter("xpu-smi", "card"))
    rows = "06:14:46.000,    0, 99.10, 214.61, 2400, 71.00, 300000000, 100000000, 71.40, 98.70, 1.20, N/A"
    for line in (DUMP, rows, "06:14:47.000,    0, N/A, N/A, N/A, N/A, N/A, N/A, N/A, N/A, N/A, N/A", "error", "06:14:48.000, 0, 95"):
        watch.line(line)
    seen = watch.seen()
    assert (seen.busy_percent, seen.clock_mhz, seen.hottest_c, seen.memory_percent) == (97.05, 2400.0, 71.0, 71.4)
    assert seen.memory_gbs == pytest.approx(400.0) and dict(seen.engines) == {"compute": 98.7, "copy": 1.2} and seen.throttled == ""
    assert watch.meter._watts[0][1] == 214.61 and len(watch.meter._watts) == 1
    watch.line(rows.replace("N/A", "Thermal Limit"))
    assert watch.seen().throttled == "throttled (Thermal Limit)"


def top(busy: float, duration: float = 1000.0, reads: float = 30_000.0) -> dict[str, Any]:
    engine = {"sema": 0.0, "wait": 0.0, "unit": "%"}
    client = {"name": 'a "quoted" {brace}', "pid": "812", "engine-classes": {"Render/3D": {"busy": "3.5", "unit": "%"}}}
    return {
        "period": {"duration": duration, "unit": "ms"}, "frequency": {"requested": 2400.0, "actual": 2400.0, "unit": "MHz"},
        "interrupts": {"count": 12.0, "unit": "irq/s"}, "rc6": {"value": 0.0, "unit": "%"},
        "imc-bandwidth": {"reads": reads, "writes": 10_000.0, "unit": "MiB/s"},
        "engines": {"Render/3D": {"busy": 2.0, **engine}, "Blitter": {"busy": 0.0, **engine}, "[unknown]": {"busy": busy, **engine}},
        "clients": {"42": client},
    }  # fmt: skip


@pytest.mark.parametrize("layout", ["array", "bare", "one line each"])
def test_what_intel_gpu_top_prints_in_all_its_layouts(layout: str) -> None:
    objects = [top(99.0, duration=0.3, reads=9e9), top(96.0), top(98.0)]
    texts = [json.dumps(each, indent=None if layout == "one line each" else "\t") for each in objects]
    text = "[\n\n" + ",\n\n".join(texts) + "\n]\n" if layout == "array" else "\n".join(texts)
    watch = IntelTopWatch()
    for line in text.splitlines():
        watch.line(line)
    seen = watch.seen()
    assert seen.engines == (("Render/3D", 2.0), ("[unknown]", 97.0)) and seen.busy_percent == 97.0 and seen.clock_mhz == 2400.0
    assert seen.memory_gbs == pytest.approx(40_000 * 2**20 / 1e9)


def test_garbage_of_intel_gpu_top_is_nothing_and_ends() -> None:
    watch = IntelTopWatch()
    for line in ("{" * 5000, "x" * 1000, '{"period": [', "}" * 6000, '{"period": {"duration": 1e400}, "engines": {"a": 5}}', "]" * 100):
        watch.line(line)
    for _ in range(2000):
        watch.line("{" + "y" * 999)
    assert watch.seen() == Seen() and watch._size <= 1_001_000


def test_without_the_right_to_count_the_reason_is_told() -> None:
    watch = IntelTopWatch()
    watch.ended(Ran(("intel_gpu_top",), rc=1, stderr="Failed to initialize PMU! (Permission denied)\n"))
    assert watch.seen().notes == ("memory traffic not known: intel_gpu_top: Failed to initialize PMU! (Permission denied)",)


def inventory(**changes: str) -> str:
    row = {
        "id": "0", "target": "Fabric", "average board temp": "29.6 C", "average die temp": "39.2 C", "board type": "M2000",
        "clock": "1330MHz", "ipu power": "120W", "ipu utilisation": "71.25%", "ipu utilisation (session)": "15.65%",
        "total board power": "114.7 W", "user process id": "70",
    }  # fmt: skip
    return json.dumps({"devices": [{**row, **changes}, {**row, "id": "1", "total board power": "999 W"}]})


def test_attributes_of_an_ipu(tmp_path: Path) -> None:
    host = machine(tmp_path, {**process(70, "python"), **process(71, "other")})
    watch = IpuWatch(Meter("gc-inventory", "board"), host, "0", [70])
    for text in (inventory(), inventory(**{"total board power": "N/A"}), "no JSON", "[]", '{"devices": 4}', '{"devices": [3, {"id": 0}]}'):
        watch.take(Ran(("gc-inventory",), rc=0, stdout=text))
    assert watch.seen() == Seen(clock_mhz=1330.0, hottest_c=39.2, busy_percent=71.25)
    assert [watts for _, watts in watch.meter._watts] == [114.7]
    watch.take(Ran(("gc-inventory",), rc=0, stdout=inventory(**{"user process id": "71"})))
    assert watch.seen().others == "other processes worked on it: other, process 71"


def test_a_tool_that_ends_with_an_error_is_the_reason(tmp_path: Path) -> None:
    watch = IpuWatch(Meter("gc-inventory", "board"), machine(tmp_path, {}), "0")
    watch.take(Ran(("gc-inventory",), signal=11))
    assert watch.meter.total() is None and watch.meter.why_not == "no energy counter: gc-inventory: died of signal 11"


def tool(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.mark.starts_processes("stand-ins of vendors' tools, which run beside a measurement")
def test_tools_run_beside_it_and_end_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "while :; do echo '2520, 61, 300, 0x4, 99, 50'; sleep 0.1; done"
    body = f"echo $$ > {tmp_path}/$1.pid\nif [ \"$1\" = pmon ]; then printf '{PMON}'; sleep 100; fi\n{query}"
    tool(tmp_path, "nvidia-smi", body.replace("%", "%%"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    watch = NvidiaWatch(Meter("nvidia-smi", "board"), LocalHost(), [os.getpid()])
    watching = Watching(LocalHost(), [watch], watch.meter, tools=watch.tools("0"))
    watching.begin()
    time.sleep(1.2)
    watching.end()
    assert watch.seen().clock_mhz == 2520.0 and watch._working == {4711, 812}
    total = watch.meter.total()
    assert total is not None and total.watts == pytest.approx(300.0)
    if sys.platform == "linux":
        pids = [path.read_text().strip() for path in tmp_path.glob("*.pid")]
        assert len(pids) == 2 and not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


@pytest.mark.starts_processes("stand-ins of vendors' tools, which run beside a measurement")
def test_a_tool_without_a_loop_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, "gc-inventory", f"cat <<'E'\n{inventory()}\nE")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("gpudoctor.benchmark.monitors.vendor_tools.IPU_EVERY", 0.1)
    watch = IpuWatch(Meter("gc-inventory", "board"), LocalHost(), "0", [70])
    watching = Watching(LocalHost(), [watch], watch.meter, tools=watch.tools())
    watching.begin()
    time.sleep(1.2)
    watching.end()
    total = watch.meter.total()
    assert len(watch.meter._watts) >= 3 and total is not None and total.watts == pytest.approx(114.7)


def test_a_tool_that_is_missing_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    watch = NvidiaWatch(Meter("nvidia-smi", "board"))
    watching = Watching(LocalHost(), [watch], watch.meter, tools=watch.tools("0"))
    watching.begin()
    watching.end()
    assert watch.meter.total() is None and watch.meter.why_not == "no energy counter: nvidia-smi is not there"


@pytest.mark.parametrize(
    ("gpu", "backend", "argv"),
    [
        ({"vendor": "nvidia"}, "cuda", [("nvidia-smi", "-lms"), ("nvidia-smi", "pmon")]),
        ({"vendor": "intel", "driver": "i915", "card_node": "/dev/dri/card1"}, "xpu",
         [("intel_gpu_top", "drm:/dev/dri/card1"), ("xpu-smi", "0000:03:00.0")]),
        ({"vendor": "intel", "driver": "xe"}, "xpu", [("xpu-smi", "0000:03:00.0")]),
        ({"vendor": "amd", "driver": "amdgpu"}, "rocm", []),
    ],
)  # fmt: skip
def test_which_tools_watch_which_card(tmp_path: Path, gpu: dict[str, Any], backend: str, argv: list[tuple[str, str]]) -> None:
    target = MeasurementTarget(framework="torch", device=f"{backend}:0", python="/p", backend=backend)
    host: Any = machine(tmp_path, {"/proc/stat": "cpu\n"})
    watching = watching_for(host, Facts({"gpus": Known([{"address": "0000:03:00.0", **gpu}])}), target, [1])
    assert [(each.argv[0], word) for each, (_, word) in zip(watching._tools, argv, strict=True) if word in each.argv] == argv
