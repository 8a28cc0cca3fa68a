"""What amdgpu and its compute driver count, read from a recording."""

from __future__ import annotations

from pathlib import Path

from gpudoctor.capture.recorded_host import open_recorded
from gpudoctor.facts.probes import device_memory, nvidia_smi
from gpudoctor.model.facts import Absent, Fact, Facts, Known, Unknown

ADDRESS = "0000:04:00.0"
GPU = {"vendor": "amd", "address": ADDRESS, "kind": "integrated"}


def collected(folder: Path, files: dict[str, str], gpus: list[dict[str, str]]) -> dict[str, Fact]:
    folder.mkdir()
    (folder / "machine.toml").write_text('format = 1\nplatform = "linux"\ncomplete = false\n')
    for name, text in files.items():
        path = folder / "files" / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return dict(device_memory.collect(open_recorded(folder), Facts({"gpus": Known(gpus)})))


def test_the_drivers_counters_are_read(tmp_path: Path) -> None:
    base = f"/sys/bus/pci/devices/{ADDRESS}/mem_info"
    found = collected(tmp_path / "m", {
        f"{base}_vram_total": "536870912\n", f"{base}_vram_used": "1024\n", f"{base}_gtt_total": "15000000000\n",
        f"{base}_gtt_used": "none of your business\n", "/sys/module/ttm/parameters/pages_limit": "4000000\n",
        "/sys/class/kfd/kfd/proc/4711/vram_1234": "1048576\n", "/sys/class/kfd/kfd/proc/4711/vram_99": "1048576\n",
        "/sys/class/kfd/kfd/proc/12/vram_1234": "9\n", "/proc/4711/comm": "ollama\n",
    }, [GPU])  # fmt: skip
    (row,) = found["amd.memory"].value if isinstance(found["amd.memory"], Known) else ()
    assert (row["vram_bytes"], row["gtt_bytes"], row["vram_used_bytes"]) == (536870912, 15000000000, 1024)
    assert isinstance(row["gtt_used_bytes"], Unknown) and isinstance(row["visible_bytes"], Unknown)
    assert found["amd.memory.users"] == Known(
        [{"pid": 4711, "name": "ollama", "bytes": 2097152}, {"pid": 12, "name": "a process", "bytes": 9}], device_memory.KFD
    )
    assert found["memory.gpu_limit_bytes"] == Known(4000000 * 4096, device_memory.TTM_PAGES)


def test_without_a_card_of_amd_a_recording_says_nothing(tmp_path: Path) -> None:
    found = collected(tmp_path / "m", {}, [{"vendor": "nvidia", "address": ADDRESS}])
    assert isinstance(found["amd.memory"], Unknown) and not isinstance(found["amd.memory"], Absent)
    assert isinstance(found["memory.gpu_limit_bytes"], Unknown) and "amd.memory.users" not in found


def test_programs_are_named_by_what_they_hold() -> None:
    rows = [("12", "/usr/lib/xorg/Xorg", "110 MiB"), ("4711", "python3", "3072 MiB"), ("7", "N/A", "N/A")]
    processes = "".join(
        f"<process_info><pid>{pid}</pid><process_name>{name}</process_name><used_memory>{size}</used_memory></process_info>"
        for pid, name, size in rows
    )
    memory = "<fb_memory_usage><total>24564 MiB</total><used>3210 MiB</used></fb_memory_usage>"
    log = nvidia_smi.parse_xml(f"<nvidia_smi_log><gpu>{memory}<processes>{processes}</processes></gpu></nvidia_smi_log>")
    assert log is not None
    (row,) = nvidia_smi.devices(log)
    assert row["memory_users"] == ["python3 (4711), 3072 MiB", "Xorg (12), 110 MiB", "a process (7)"]
    assert row["memory_used_bytes"] == 3210 * 2**20 and row["processes"] == 3
