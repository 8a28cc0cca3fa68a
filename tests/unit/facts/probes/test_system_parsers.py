"""Parsers of the system probes, on text in the real formats."""

from __future__ import annotations

import pytest

from gpudoctor.facts.probes.container import parse_container, parse_shm
from gpudoctor.facts.probes.directml import parse_native
from gpudoctor.facts.probes.filesystems import mount_of, parse_df, parse_mounts
from gpudoctor.facts.probes.gpus import parse_pci_ids, short_name
from gpudoctor.facts.probes.kernel import parse_dotted, parse_lockdown, parse_modules, parse_mokutil
from gpudoctor.facts.probes.kernel_log import LIMIT, relevant_lines
from gpudoctor.facts.probes.libraries import parse_every, parse_ldconfig
from gpudoctor.facts.probes.machine import parse_machine, parse_os_release, parse_windows_version, wsl_generation
from gpudoctor.facts.probes.macos import parse_displays
from gpudoctor.facts.probes.memory import parse_cpuinfo, parse_fitting, parse_meminfo, parse_quota
from gpudoctor.facts.probes.packages import parse_apk, parse_dpkg_query, parse_dpkg_status, parse_pacman, parse_pacman_folders, parse_rpm
from gpudoctor.facts.probes.pci import parse_lspci, parse_lspci_k, parse_regions, parse_resource
from gpudoctor.facts.probes.user import parse_groups, parse_id, parse_status
from gpudoctor.facts.probes.windows import parse_adapters
from gpudoctor.facts.probes.wsl import parse_ini


def test_os_release_without_quotes() -> None:
    found = parse_os_release("# note\nNAME=\"Fedora Linux\"\nID=fedora\nVERSION_ID='41'\n")
    assert found == {"NAME": "Fedora Linux", "ID": "fedora", "VERSION_ID": "41"}


@pytest.mark.parametrize(
    ("release", "generation"),
    [
        ("4.4.0-19041-Microsoft", 1),
        ("5.15.167.4-microsoft-standard-WSL2", 2),
        ("4.19.104-microsoft-standard", 2),
        ("6.8.0-45-generic", None),
        ("6.8.0-1015-azure", None),
    ],
)
def test_generation_of_wsl(release: str, generation: int | None) -> None:
    assert wsl_generation(release) == generation


def test_machine_and_windows_version() -> None:
    assert parse_machine("Linux host 6.8.0 #1 SMP x86_64 x86_64 x86_64 GNU/Linux") == "x86_64"
    assert parse_machine("Darwin host 24.0.0 … RELEASE_ARM64_T6000 arm64") == "arm64"
    assert parse_machine("") is None
    assert parse_windows_version("\r\nMicrosoft Windows [Version 10.0.26100.1742]\r\n") == "10.0.26100.1742"


def test_kernel_words() -> None:
    assert parse_dotted("6.11.0-9-generic") == "6.11.0"
    assert parse_dotted("rolling") is None
    assert parse_modules("Module  Size  Used by\nnvidia_uvm 1 0\nsnd-hda-intel 2 0\n") == ["nvidia_uvm", "snd_hda_intel"]
    assert parse_lockdown("none [integrity] confidentiality") == "integrity"
    assert parse_mokutil("SecureBoot enabled\n") is True
    assert parse_mokutil("EFI variables are not supported on this system") is False
    assert parse_mokutil("") is None


def test_user_and_groups() -> None:
    assert parse_id("uid=1000(ada) gid=1000(ada) groups=1000(ada),44(video),993") == (1000, "ada", ["ada", "video", "993"])
    assert parse_id("id: cannot find name") is None
    assert parse_groups("render:x:110:ada,bo\nroot:x:0:\nbroken\n") == {110: ("render", ["ada", "bo"]), 0: ("root", [])}
    assert parse_status("Uid:\t1000\t1000\t1000\t1000\nGid:\t100\t100\t100\t100\nGroups:\t44 110 \n") == (1000, [44, 100, 110])


def test_dpkg() -> None:
    status = "Package: a\nStatus: install ok installed\nVersion: 1:2.0-1\n\nPackage: b\nStatus: deinstall ok config-files\nVersion: 3\n"
    assert parse_dpkg_status(status) == {"a": "1:2.0-1"}
    assert parse_dpkg_query("ii \tlibc6:amd64\t2.36\nrc \told\t1\n") == {"libc6": "2.36"}


def test_other_package_managers() -> None:
    assert parse_rpm("mesa-libOpenCL 24.2-1.fc41 x86_64\n") == {"mesa-libOpenCL": "24.2-1.fc41"}
    assert parse_pacman("nvidia-utils 560.35.03-1\n") == {"nvidia-utils": "560.35.03-1"}
    assert parse_pacman_folders(["intel-compute-runtime-24.35.1-1", "ALPM_DB_VERSION"]) == {"intel-compute-runtime": "24.35.1-1"}
    assert parse_apk("P:musl\nV:1.2.5-r0\n\nP:zlib\nV:1.3-r1\n") == {"musl": "1.2.5-r0", "zlib": "1.3-r1"}


def test_loader_cache_takes_the_first_64_bit_path() -> None:
    text = (
        "3 libs found in cache `/etc/ld.so.cache'\n"
        "\tlibcuda.so.1 (libc6) => /usr/lib32/libcuda.so.1\n"
        "\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1\n"
        "\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/wsl/lib/libcuda.so.1\n"
    )
    assert parse_ldconfig(text) == {"libcuda.so.1": "/usr/lib/x86_64-linux-gnu/libcuda.so.1"}
    assert parse_every(text)["libcuda.so.1"] == ["/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"]


def test_pci_texts() -> None:
    resource = "0x6001000000 0x6001ffffff 0x140204\n0x0 0x0 0x0\n0x5000000000 0x53ffffffff 0x14220c\nnonsense\n"
    assert parse_resource(resource) == 16 * 2**30
    assert parse_resource("") is None
    block = "Slot:\t0000:03:00.0\nClass:\tVGA compatible controller [0300]\nVendor:\tIntel Corporation [8086]\n"
    block += "Device:\tDG2 [Arc A770] [56a0]\nDriver:\ti915\nModule:\ti915\nModule:\txe\n"
    record = parse_lspci(block)["0000:03:00.0"]
    assert (record["device_id"], record["driver"], record["modules"], record["name"]) == ("56a0", "i915", ["i915", "xe"], "DG2 [Arc A770]")
    short = "01:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 40GB] [10de:20f1] (rev a1)\n"
    short += "\tKernel modules: nouveau, nvidia\n"
    record = parse_lspci_k(short)["0000:01:00.0"]
    assert (record["class"], record["vendor_id"], record["driver"], record["modules"]) == ("0302", "10de", None, ["nouveau", "nvidia"])
    assert parse_regions("03:00.0 VGA\n\tRegion 2: Memory at 50 (64-bit) [size=256M]\n") == {"0000:03:00.0": 256 * 2**20}


def test_names_of_devices() -> None:
    ids = "# list\n10de  NVIDIA Corporation\n\t2684  AD102 [GeForce RTX 4090]\n\t\t1043 889d  Board\n8086  Intel\n\t2684  Other\n"
    assert parse_pci_ids(ids, [("10de", "2684")]) == {("10de", "2684"): "AD102 [GeForce RTX 4090]"}
    assert short_name("AD102 [GeForce RTX 4090]") == "GeForce RTX 4090"


def test_windows_adapters() -> None:
    one = '{"Name": "Intel(R) Arc(TM) A770 Graphics", "PNPDeviceID": "PCI\\\\VEN_8086&DEV_56A0&SUBSYS_1", "AdapterRAM": 2147479552,'
    one += ' "DriverVersion": "31.0.101.5085", "DriverDate": "/Date(1704067200000)/"}'
    adapters = parse_adapters(one)
    assert adapters is not None
    assert adapters[0]["pci_id"] == "8086:56a0"
    assert adapters[0]["vendor"] == "intel"
    assert adapters[0]["driver_date"] == "2024-01-01"
    assert parse_adapters('[{"Name": "AMD Radeon"}, null]') is not None
    assert parse_adapters("Get-CimInstance : not recognized") is None


def test_mac_displays() -> None:
    text = '{"SPDisplaysDataType": [{"_name": "kHW_AppleM3Item", "sppci_model": "Apple M3", "sppci_cores": "10"}]}'
    displays = parse_displays(text)
    assert displays is not None
    assert (displays[0]["name"], displays[0]["vendor"]) == ("Apple M3", "apple")
    assert parse_displays("") is None


def test_containers() -> None:
    assert parse_container("0::/kubepods/besteffort/pod1\n", "") == "kubernetes"
    assert parse_container("0::/\n", "1 0 0:61 / / rw - overlay overlay rw,upperdir=/var/lib/docker/overlay2/c/diff\n") == "docker"
    assert parse_container("0::/init.scope\n", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n") is None
    assert parse_shm("shm /dev/shm tmpfs rw,nosuid,size=65536k,inode64 0 0\n") == 64 * 2**20


def test_mounts_and_windows_drives() -> None:
    mounts = parse_mounts(
        "/dev/sdc / ext4 rw 0 0\nC:\\134 /mnt/c 9p rw,aname=drvfs;path=C:\\\\ 0 0\n"
        "none /usr/lib/wsl/drivers 9p ro,aname=drivers 0 0\nnas:/d /mnt/c/nas nfs4 rw 0 0\n"
    )
    on_drive, on_nas, at_home = (mount_of(mounts, path) for path in ("/mnt/c/Users", "/mnt/c/nas/x", "/home/ada"))
    assert on_drive is not None and on_drive["windows"] is True
    assert on_nas is not None and on_nas["filesystem"] == "nfs4"
    assert at_home is not None and at_home["path"] == "/"
    assert [mount["windows"] for mount in mounts] == [False, True, False, False]
    assert parse_df("Filesystem 1024-blocks Used Available Capacity Mounted on\nC: 1000 400 600 40% /mnt/c\n") == 600 * 1024


def test_memory_and_processor() -> None:
    assert parse_meminfo("MemTotal:  1024 kB\nMemFree: 12 kB\n")["MemTotal"] == 2**20
    assert parse_cpuinfo("processor : 0\nmodel name\t: A\nflags\t: fpu avx2\n") == ("A", ["fpu", "avx2"])


def test_modules_of_memory_are_counted_where_udev_tells_them() -> None:
    two = "I:1\nE:MEMORY_ARRAY_NUM_DEVICES=4\nE:MEMORY_DEVICE_0_SIZE=8589934592\nE:MEMORY_DEVICE_1_PRESENT=0\nE:MEMORY_DEVICE_1_SIZE=0\n"
    assert parse_fitting(two + "E:MEMORY_DEVICE_2_SIZE=8589934592\n") == (2, 4) and parse_fitting(two) == (1, 4)
    assert parse_fitting("") is None and parse_fitting("E:MEMORY_ARRAY_NUM_DEVICES=x\nE:MEMORY_DEVICE_0_SIZE=\n") is None


@pytest.mark.parametrize(
    ("texts", "quota"),
    [
        (("200000 100000\n", "", ""), 2.0), (("max 100000\n", "", ""), None), (("", "150000\n", "100000\n"), 1.5),
        (("", "-1\n", "100000\n"), None), (("", "", ""), None), (("1 0", "", ""), None), (("a b", "", ""), None),
    ],
)  # fmt: skip
def test_the_quota_of_a_container(texts: tuple[str, str, str], quota: float | None) -> None:
    assert parse_quota(*texts) == quota


def test_log_keeps_start_and_end() -> None:
    lines = relevant_lines("\n".join(f"[ {number}.0] NVRM: Xid {number}" for number in range(1000)) + "\nusb 1-1: new device")
    assert len(lines) == LIMIT
    assert lines[0].endswith("Xid 0") and lines[-1].endswith("Xid 999")


def test_wsl_conf_and_native_module() -> None:
    assert parse_ini("[gpu]\nenabled = False # no\n")["gpu.enabled"] == "false"
    names = ["torch_directml_native.cpython-310-x86_64-linux-gnu.so", "torch_directml_native.cp312-win_amd64.pyd"]
    assert parse_native(names) == ["3.10", "3.12"]


def test_a_package_whose_dkms_build_failed_is_there_all_the_same() -> None:
    block = "Package: amdgpu-dkms\nStatus: install ok {}\nVersion: 1:6.2\n"
    assert parse_dpkg_status(block.format("half-configured")) == {"amdgpu-dkms": "1:6.2"}
    assert parse_dpkg_status(block.format("config-files")) == {}
    assert parse_dpkg_query("iF \tamdgpu-dkms\t1:6.2\nrc \tgone\t1\n") == {"amdgpu-dkms": "1:6.2"}


def test_a_refused_module_stays_in_the_kernel_log_though_the_line_names_none() -> None:
    refused = [
        "[    0.000000] secureboot: Secure boot enabled",
        "[    5.884211] Loading of module with unavailable key is rejected",
        "[    5.9] Loading of unsigned module is rejected",
    ]
    assert relevant_lines("\n".join([*refused, "[    6.0] usb 1-1: new device"])) == refused
