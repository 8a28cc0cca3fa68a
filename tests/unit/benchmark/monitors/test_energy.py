"""Joules from counters in files: wrap-around, what is missing and why, watts integrated."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded_trees import machine, write

from gpudoctor.benchmark.monitors.energy import Meter, of_card, of_processor

RAPL = "/sys/class/powercap/intel-rapl:0"
CARD = {"address": "0000:03:00.0", "driver": "xe"}
HWMON = "/sys/bus/pci/devices/0000:03:00.0/hwmon/hwmon3"


def package(number: int, micro: int, most: int = 262143328850, name: str = "") -> dict[str, str]:
    folder = f"/sys/class/powercap/intel-rapl:{number}"
    return {
        f"{folder}/name": name or f"package-{number}\n", f"{folder}/energy_uj": f"{micro}\n", f"{folder}/max_energy_range_uj": f"{most}\n",
    }  # fmt: skip


def test_packages_are_added_and_subdomains_and_the_whole_board_left_out(tmp_path: Path) -> None:
    files = {**package(0, 1_000_000), **package(1, 5_000_000), **package(2, 0, name="psys\n")}
    files["/sys/class/powercap/intel-rapl:0:0/name"] = "dram\n"
    files["/sys/class/powercap/intel-rapl:0:0/energy_uj"] = "0\n"
    host = machine(tmp_path, files)
    meter = of_processor(host)
    meter.sample(host, 10.0)
    write(tmp_path, {**package(0, 3_000_000), **package(1, 9_000_000), **package(2, 10**9, name="psys\n")})
    write(tmp_path, {"/sys/class/powercap/intel-rapl:0:0/energy_uj": "99000000\n"})
    meter.sample(host, 12.0)
    total = meter.total()
    assert total is not None
    assert (total.joules, total.watts, total.boundary, total.source) == (6.0, 3.0, "package", "rapl")


def test_a_counter_that_wrapped_goes_on_where_it_began_again(tmp_path: Path) -> None:
    host = machine(tmp_path, package(0, 9_000_000, most=9_999_999))
    meter = of_processor(host)
    meter.sample(host, 0.0)
    for second, value in ((1.0, 500_000), (2.0, 9_500_000), (3.0, 1_000_000)):
        write(tmp_path, package(0, value, most=9_999_999))
        meter.sample(host, second)
    total = meter.total()
    assert total is not None and total.joules == pytest.approx(1.5 + 9.0 + 1.5)


def test_without_a_domain_the_reason_is_told(tmp_path: Path) -> None:
    meter = of_processor(machine(tmp_path, {"/sys/class/powercap/dtpm/name": "dtpm\n"}))
    assert meter.total() is None
    assert "no energy counter" in meter.why_not and "/sys/class/powercap" in meter.why_not


def test_a_counter_for_root_alone_says_so(tmp_path: Path) -> None:
    files = package(0, 1)
    del files[f"{RAPL}/energy_uj"]
    (tmp_path / "unreadable.toml").parent.mkdir(exist_ok=True)
    (tmp_path / "unreadable.toml").write_text(f'"{RAPL}/energy_uj" = "denied"\n')
    meter = of_processor(machine(tmp_path, files))
    assert meter.total() is None and meter.why_not.startswith("needs root")


def test_a_counter_that_stands_still_is_no_energy(tmp_path: Path) -> None:
    host = machine(tmp_path, package(0, 77))
    meter = of_processor(host)
    meter.sample(host, 0.0)
    meter.sample(host, 5.0)
    assert meter.total() is None and "stands still" in meter.why_not


def test_too_short_a_window_tells_nothing(tmp_path: Path) -> None:
    host = machine(tmp_path, package(0, 77))
    meter = of_processor(host)
    meter.sample(host, 0.0)
    write(tmp_path, package(0, 7700))
    meter.sample(host, 0.1)
    assert meter.total() is None and "too short" in meter.why_not


def test_a_counter_that_vanishes_meanwhile_gives_no_half_sum(tmp_path: Path) -> None:
    host = machine(tmp_path, {**package(0, 1_000_000), **package(1, 1_000_000)})
    meter = of_processor(host)
    meter.sample(host, 0.0)
    write(tmp_path, {f"{RAPL}/energy_uj": "garbage\n"})
    meter.sample(host, 2.0)
    assert meter.total() is None and "could not be read" in meter.why_not


def test_a_card_with_an_energy_counter(tmp_path: Path) -> None:
    host = machine(tmp_path, {f"{HWMON}/name": "xe\n", f"{HWMON}/energy1_input": "4294000000\n"})
    meter = of_card(host, CARD)
    meter.sample(host, 0.0)
    write(tmp_path, {f"{HWMON}/energy1_input": "32704\n"})  # 32 bits: 1,000,000 later
    meter.sample(host, 1.0)
    total = meter.total()
    assert total is not None and total.joules == pytest.approx(1.0) and total.boundary == "card"


def test_a_card_with_power_only_is_integrated(tmp_path: Path) -> None:
    host = machine(tmp_path, {f"{HWMON}/name": "amdgpu\n", f"{HWMON}/power1_average": "100000000\n"})
    meter = of_card(host, CARD)
    meter.sample(host, 0.0)
    write(tmp_path, {f"{HWMON}/power1_average": "200000000\n"})
    meter.sample(host, 2.0)
    meter.sample(host, 3.0)
    total = meter.total()
    assert total is not None and total.joules == pytest.approx(300.0 + 200.0) and total.watts == pytest.approx(500 / 3)


def test_a_counter_of_zero_is_one_that_the_kernel_does_not_serve(tmp_path: Path) -> None:
    host = machine(tmp_path, {f"{HWMON}/energy1_input": "0\n", f"{HWMON}/power1_input": "5000000\n"})
    assert of_card(host, CARD).power.endswith("power1_input")


def test_a_card_without_sensors_says_which(tmp_path: Path) -> None:
    meter = of_card(machine(tmp_path, {"/proc/stat": "cpu\n"}), CARD)
    assert meter.total() is None and "0000:03:00.0" in meter.why_not


def test_what_a_tool_prints_is_fed() -> None:
    meter = Meter("nvidia-smi", "board")
    for second, watts in ((0.0, 50.0), (1.0, 150.0), (2.0, 150.0)):
        meter.feed(second, watts)
    total = meter.total()
    assert total is not None and total.joules == pytest.approx(250.0) and total.boundary == "board"
