"""What the golden plans are made of: machines in words, and what is set up on each. Used by test_plans.py.

A case is written to tests/plans/<machine>__<name>[__<options>].txt. Cases of other stacks: append to CASES of a plan_cases_<topic>.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from machine_builder import Machine

_HAVE = {"apt": "2.7", "dpkg": "1.22", "libc6": "2.39"}


@dataclass(frozen=True)
class PlanCase:
    """`machine`: a story, or the name of a folder of tests/machines."""

    machine: Machine | str
    name: str
    torch: str | None = None
    purpose: str | None = None
    folder: str | None = None

    @property
    def id(self) -> str:
        machine = self.machine if isinstance(self.machine, str) else self.machine.name
        return "__".join(filter(None, [machine, self.name, self.torch and f"torch-{self.torch}", self.purpose, self.folder and "folder"]))


def on(machine: Machine | str, *wanted: str) -> list[PlanCase]:
    """'ipex', 'ipex torch=1.13', 'directml purpose=tensorflow' as cases."""
    cases = []
    for text in wanted:
        name, *options = text.split()
        cases.append(PlanCase(machine, name, **dict(option.split("=", 1) for option in options)))
    return cases


def linux(name: str, system: str, kernel: str, groups: str = "1000(user)", platform: str = "linux", **packages: str) -> Machine:
    """A Linux with a package list, whose user is in no group of the GPU."""
    machine = Machine(name, platform=platform).linux(system, kernel, groups=groups).env(USER="user", PATH="/usr/bin:/bin")
    del machine.environment["VIRTUAL_ENV"]
    have = {**_HAVE, **{key.replace("_", "-"): version for key, version in packages.items()}}
    if system.startswith(("ubuntu", "debian")):
        blocks = [f"Package: {key}\nStatus: install ok installed\nArchitecture: amd64\nVersion: {have[key]}\n" for key in have]
        machine.file("/var/lib/dpkg/status", "\n".join(blocks))
    elif system.startswith("arch"):
        for key in ("pacman-7.0.0-1", "glibc-2.42-1", "python-3.13.7-1"):
            machine.file(f"/var/lib/pacman/local/{key}/desc")
    else:
        query = "%{NAME} %{VERSION}-%{RELEASE} %{ARCH}\\n"
        machine.run("rpm", "-qa", "--queryformat", query, out="glibc 2.42-4.fc43 x86_64\ndnf5 5.2.17-1.fc43 x86_64\n")
    return machine


def wsl(name: str, system: str, build: str = "22631", adapter: tuple[str, str, str] | None = None) -> Machine:
    """WSL2 on Windows with a GPU driver there."""
    machine = linux(name, system, "5.15.153.1-microsoft-standard-WSL2", platform="wsl2").file("/dev/dxg")
    for library in ("libdxcore.so", "libd3d12.so", "libd3d12core.so"):
        machine.file(f"/usr/lib/wsl/lib/{library}")
    machine.file("/etc/ld.so.conf.d/ld.wsl.conf", "/usr/lib/wsl/lib\n")
    machine.run("ldconfig", "-p", out="1 libs found\n\tlibd3d12.so (libc6,x86-64) => /usr/lib/wsl/lib/libd3d12.so\n")
    return machine.windows(*(adapter or A770_WINDOWS), build=build)


def windows(name: str, adapter: tuple[str, str, str]) -> Machine:
    """Windows 11 with Python 3.12 of python.org, and uv."""
    home = "C:/Users/user"
    machine = Machine(name, platform="windows").windows(*adapter).env(USERPROFILE=home, LOCALAPPDATA=f"{home}/AppData/Local")
    return machine.file(f"{home}/AppData/Local/Programs/Python/Python312/python.exe").file(f"{home}/.local/bin/uv.exe")


def with_uv(machine: Machine) -> Machine:
    return machine.file("/usr/bin/uv")


A770_WINDOWS = ("Intel(R) Arc(TM) A770 Graphics", "32.0.101.6734", "8086:56a0")
A770, B580, FLEX, MAX, PANTHER, UHD630 = "8086:56a0", "8086:e20b", "8086:56c0", "8086:0bd5", "8086:b080", "8086:3e92"


def card(machine: Machine, ids: str, driver: str | None = None, **given: object) -> Machine:
    address = "0000:00:02.0" if ids in (PANTHER, UHD630) else "0000:03:00.0"
    return machine.pci(address, ids, driver=driver, **given)  # type: ignore[arg-type]


# The machines of the founding reports.
A770_JAMMY = card(linux("a770-ubuntu-22.04", "ubuntu 22.04", "5.19.0-50-generic"), A770)
A770_LUNAR = with_uv(card(linux("a770-ubuntu-23.04", "ubuntu 23.04", "6.2.0-20-generic"), A770, "i915"))
A770_WSL = with_uv(wsl("a770-wsl2-windows-11", "ubuntu 22.04"))
A770_WSL_10 = with_uv(wsl("a770-wsl2-windows-10", "ubuntu 22.04", build="19044"))

NOBLE_OLD = card(
    linux(
        "a770-ubuntu-24.04-left-overs", "ubuntu 24.04", "6.8.0-51-generic", groups="1000(user),44(video),992(render)",
        intel_level_zero_gpu="1.3.27642.40", level_zero="1.14.0", intel_opencl_icd="23.43.27642.40-1ubuntu3",
    ), A770, "i915", bar=256 << 20,
)  # fmt: skip
NOBLE_OLD.file("/proc/cmdline", "BOOT_IMAGE=/vmlinuz ro quiet i915.force_probe=56a0\n")
NOBLE_OLD.file("/etc/default/grub", 'GRUB_CMDLINE_LINUX_DEFAULT="quiet i915.force_probe=56a0"\n')

A770_NOBLE = card(linux("a770-ubuntu-24.04", "ubuntu 24.04", "6.8.0-51-generic"), A770, "i915")
B580_CONTAINER = linux("b580-container", "ubuntu 24.04", "6.14.0-27-generic", groups="0(root)", platform="container")
card(B580_CONTAINER, B580, "xe").file("/.dockerenv").run("id", out="uid=0(root) gid=0(root) groups=0(root)\n").env(USER="root")
GTX1080 = ("NVIDIA GeForce GTX 1080", "10de:1b80", "6.1")
M3 = Machine("macos-m3", platform="macos").mac().file("/opt/homebrew/bin/python3.12")
M3.file("/opt/homebrew/lib/python3.12/ensurepip/__init__.py")

CASES = [
    *on(A770_JAMMY, "intel-driver", "torch-xpu", "torch-xpu torch=2.8", "openvino", "onnxruntime"),
    *on(A770_JAMMY, "ipex", "ipex torch=1.13", "ipex torch=2.1"),
    *on(A770_LUNAR, "intel-driver", "ipex torch=1.13"),
    *on(A770_WSL, "ipex torch=1.13", "ipex", "torch-xpu", "openvino", "onnxruntime"),
    *on(A770_WSL, "directml", "directml torch=1.8", "directml purpose=tensorflow"),
    *on(A770_WSL_10, "directml torch=1.8"),
    *on(wsl("a770-wsl2-no-uv", "ubuntu 22.04"), "directml torch=1.8"),
    *on(wsl("b580-wsl2-ubuntu-24.04", "ubuntu 24.04", adapter=("Intel(R) Arc(TM) B580 Graphics", "32.0.101.6734", B580)), "torch-xpu"),
    *on(wsl("b580-wsl2-ubuntu-26.04", "ubuntu 26.04", adapter=("Intel(R) Arc(TM) B580 Graphics", "32.0.101.6734", B580)), "intel-driver"),
    *on(wsl("a770-wsl2-debian-13", "debian 13"), "openvino"),
    *on(NOBLE_OLD, "intel-driver"),
    *on(card(linux("b580-ubuntu-24.04", "ubuntu 24.04", "6.8.0-51-generic"), B580), "intel-driver", "torch-xpu", "ipex", "onnxruntime"),
    *on(A770_NOBLE, "ipex torch=2.7", "ipex torch=2.1", "ipex torch=2.9"),
    *on(B580_CONTAINER, "torch-xpu", "openvino", "intel-driver"),
    *on(card(linux("a770-ubuntu-25.10", "ubuntu 25.10", "6.17.0-8-generic"), A770, "i915"), "torch-xpu"),
    *on(card(linux("b580-ubuntu-26.04", "ubuntu 26.04", "7.0.0-14-generic"), B580, "xe"), "intel-driver", "torch-xpu", "openvino"),
    *on(card(linux("panther-lake-ubuntu-24.04", "ubuntu 24.04", "6.14.0-27-generic"), PANTHER), "torch-xpu", "ipex"),
    *on(card(linux("panther-lake-ubuntu-22.04", "ubuntu 22.04", "6.8.0-51-generic"), PANTHER), "intel-driver"),
    *on(card(linux("a770-debian-12", "debian 12", "6.1.0-28-amd64"), A770), "intel-driver", "torch-xpu", "openvino"),
    *on(card(linux("a770-debian-13", "debian 13", "6.12.41+deb13-amd64"), A770, "i915"), "intel-driver", "torch-xpu"),
    *on(card(linux("b580-fedora-43", "fedora 43", "6.17.1-300.fc43.x86_64"), B580, "xe"), "intel-driver", "torch-xpu"),
    *on(card(linux("b580-arch", "arch", "6.17.1-arch1-1"), B580, "xe"), "intel-driver", "torch-xpu", "openvino"),
    *on(
        card(linux("flex170-ubuntu-22.04", "ubuntu 22.04", "5.15.0-105-generic"), FLEX, kind="0x038000"),
        "intel-driver", "ipex", "torch-xpu",
    ),
    *on(card(linux("max1550-ubuntu-24.04", "ubuntu 24.04", "6.8.0-51-generic"), MAX, kind="0x038000"), "torch-xpu"),
    *on(card(linux("uhd630-ubuntu-24.04", "ubuntu 24.04", "6.8.0-51-generic"), UHD630, "i915"), "openvino", "torch-xpu"),
    *on(
        windows("windows-b580", ("Intel(R) Arc(TM) B580 Graphics", "32.0.101.6734", B580)),
        "intel-driver", "torch-xpu", "ipex", "openvino", "onnxruntime", "directml", "directml purpose=onnxruntime", "directml torch=1.8",
    ),
    *on(windows("windows-a770-driver-of-2022", ("Intel(R) Arc(TM) A770 Graphics", "31.0.101.3490", A770)), "torch-xpu"),
    *on(windows("windows-rx7900", ("AMD Radeon RX 7900 XTX", "32.0.12033.1030", "1002:744c")), "directml", "onnxruntime"),
    *on(linux("nothing-debian-12", "debian 12", "6.1.0-28-amd64"), "openvino", "onnxruntime"),
    *on(linux("rtx4090-ubuntu-24.04", "ubuntu 24.04", "6.8.0-51-generic").nvidia("580.95.05"), "onnxruntime"),
    *on(linux("rtx4090-ubuntu-22.04", "ubuntu 22.04", "6.8.0-51-generic").nvidia(), "onnxruntime"),
    *on(linux("rtx4090-ubuntu-24.04-no-driver", "ubuntu 24.04", "6.8.0-51-generic").pci("0000:01:00.0", "10de:2684"), "onnxruntime"),
    *on(linux("gtx1080-ubuntu-24.04", "ubuntu 24.04", "6.8.0-51-generic").nvidia("580.95.05", *GTX1080), "onnxruntime"),
    *on(windows("windows-rtx4090-ort", ("NVIDIA GeForce RTX 4090", "32.0.15.8097", "10de:2684")), "onnxruntime"),
    *on("wsl1", "torch-xpu", "directml"),
    *on(M3, "openvino", "onnxruntime"),
    *on("rx6800-healthy", "onnxruntime"),
    *on("vm-virtio-only", "torch-xpu", "ipex"),
]  # fmt: skip
