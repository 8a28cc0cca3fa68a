"""Writes the recorded machines of tests/machines (capture v1) from the stories in machine_stories*.py.

    python tests/machine_builder.py        writes them all again

They are made up: real formats, invented machines. A story says what is there; this file knows where a Linux keeps it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "machines"
RELEASES = {
    "ubuntu 18.04": ("ubuntu", "debian", "bionic", "Ubuntu 18.04.6 LTS"),
    "ubuntu 20.04": ("ubuntu", "debian", "focal", "Ubuntu 20.04.6 LTS"),
    "ubuntu 22.04": ("ubuntu", "debian", "jammy", "Ubuntu 22.04.4 LTS"),
    "ubuntu 23.04": ("ubuntu", "debian", "lunar", "Ubuntu 23.04"),
    "ubuntu 24.04": ("ubuntu", "debian", "noble", "Ubuntu 24.04.2 LTS"),
    "ubuntu 25.10": ("ubuntu", "debian", "questing", "Ubuntu 25.10"),
    "ubuntu 26.04": ("ubuntu", "debian", "resolute", "Ubuntu 26.04 LTS"),
    "debian 12": ("debian", "", "bookworm", "Debian GNU/Linux 12 (bookworm)"),
    "debian 13": ("debian", "", "trixie", "Debian GNU/Linux 13 (trixie)"),
    "fedora 41": ("fedora", "", "", "Fedora Linux 41 (Workstation Edition)"),
    "fedora 43": ("fedora", "", "", "Fedora Linux 43 (Workstation Edition)"),
    "arch": ("arch", "", "", "Arch Linux"),
    "nixos 25.11": ("nixos", "", "xantusia", "NixOS 25.11 (Xantusia)"),
    "alpine 3.22": ("alpine", "", "", "Alpine Linux v3.22"),
}
_ADAPTERS = "Get-CimInstance Win32_VideoController | ConvertTo-Json"
_SYSTEM = "Get-CimInstance Win32_OperatingSystem | Select-Object Caption,Version,BuildNumber,OSArchitecture | ConvertTo-Json"


@dataclass
class Machine:
    """One recorded machine in the making; every method adds something and returns the machine."""

    name: str
    platform: str = "linux"
    python: str = "3.11.9"
    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    realpaths: dict[str, str] = field(default_factory=dict)
    modes: dict[str, tuple[str, str]] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    commands: list[dict[str, Any]] = field(default_factory=list)
    distributions: dict[str, Any] | None = None
    frameworks: dict[str, Any] | None = None
    expected: dict[str, Any] = field(default_factory=dict)
    cards: int = 0

    def run(self, *argv: str, out: str = "", **said: Any) -> Machine:
        self.commands.append({"argv": list(argv), **(said or {"rc": 0}), "stdout": out, "stderr": ""})
        return self

    def file(self, path: str, text: str = "") -> Machine:
        self.files[path] = text
        return self

    def env(self, **values: str) -> Machine:
        self.environment.update(values)
        return self

    def linux(self, system: str, kernel: str, groups: str = "1000(user),27(sudo),44(video),992(render)") -> Machine:
        name, like, codename, pretty = RELEASES[system]
        lines = [
            f"ID={name}",
            f'VERSION_ID="{system.partition(" ")[2]}"',
            f'PRETTY_NAME="{pretty}"',
            f"ID_LIKE={like}",
            f"VERSION_CODENAME={codename}",
        ]
        self.file("/etc/os-release", "\n".join(lines) + "\n").file("/proc/sys/kernel/osrelease", f"{kernel}\n")
        self.file("/etc/group", "root:x:0:\nvideo:x:44:\nrender:x:992:\nuser:x:1000:\n")
        self.file("/proc/meminfo", "MemTotal:       32768000 kB\nMemAvailable:   24000000 kB\n")
        self.env(HOME="/home/user", PATH="/home/user/venv/bin:/usr/bin:/bin", VIRTUAL_ENV="/home/user/venv")
        self.run("uname", "-a", out=f"Linux host {kernel} #1 SMP x86_64 x86_64 x86_64 GNU/Linux\n")
        identity = "uid=0(root) gid=0(root)" if groups == "0(root)" else "uid=1000(user) gid=1000(user)"
        return self.run("id", out=f"{identity} groups={groups}\n")

    def pci(
        self, address: str, ids: str, kind: str = "0x030000", driver: str | None = None, bar: int = 16 << 30, node: bool = True
    ) -> Machine:
        vendor, device = ids.split(":")
        folder = f"/sys/bus/pci/devices/{address}"
        self.file(f"{folder}/vendor", f"0x{vendor}\n").file(f"{folder}/device", f"0x{device}\n").file(f"{folder}/class", f"{kind}\n")
        self.file(f"{folder}/resource", f"0x{1 << 40:016x} 0x{(1 << 40) + bar - 1:016x} 0x000000000014220c\n")
        if driver:
            self.links[f"{folder}/driver"] = f"../../../../bus/pci/drivers/{driver}"
            self.file(f"/sys/module/{driver}/initstate", "live\n")
            self.files["/proc/modules"] = self.files.get("/proc/modules", "") + f"{driver} 4096 1 - Live 0x0\n"
        if driver and node and kind.startswith("0x03"):
            for number, name in ((self.cards, "card"), (128 + self.cards, "renderD")):
                self.links[f"/sys/class/drm/{name}{number}/device"] = f"../../../bus/pci/devices/{address}"
                self.file(f"/dev/dri/{name}{number}").file(f"/sys/class/drm/{name}{number}/dev", "226:0\n")
                self.modes[f"/dev/dri/{name}{number}"] = ("crw-rw----", "video" if name == "card" else "render")
            self.cards += 1
        return self

    def amd_memory(self, address: str, vram: tuple[int, int], gtt: tuple[int, int]) -> Machine:
        """What amdgpu counts: (bytes, bytes in use) of video memory, and of main memory that the GPU may map."""
        values = {"vram_total": vram[0], "vram_used": vram[1], "vis_vram_total": vram[0], "gtt_total": gtt[0], "gtt_used": gtt[1]}
        for name, value in values.items():
            self.file(f"/sys/bus/pci/devices/{address}/mem_info_{name}", f"{value}\n")
        return self

    def on_switch(self, card: str, maker: str, slot: tuple[str, str], own: tuple[str, str]) -> Machine:
        """The card sits behind the switch on it. `slot`, `own`: speed and width of the link to the slot, and of the card's own."""
        root, port, inner = "0000:00:01.0", "0000:01:00.0", "0000:02:00.0"
        for bridge in (root, port, inner):
            self.pci(bridge, f"{maker}:1478" if bridge != root else "8086:460d", kind="0x060400", node=False)
        most = ("16.0 GT/s PCIe", "16")
        for device, now, highest in ((port, slot, most), (inner, own, own), (card, own, own)):
            for name, (speed, width) in (("current", now), ("max", highest)):
                self.file(f"/sys/bus/pci/devices/{device}/{name}_link_speed", f"{speed}\n")
                self.file(f"/sys/bus/pci/devices/{device}/{name}_link_width", f"{width}\n")
        self.realpaths[f"/sys/bus/pci/devices/{card}"] = f"/sys/devices/pci0000:00/{root}/{port}/{inner}/{card}"
        return self

    def nvidia(
        self, version: str = "570.124.06", name: str = "NVIDIA GeForce RTX 4090", ids: str = "10de:2684", cc: str = "8.9"
    ) -> Machine:
        cuda = {"570": "12.8", "535": "12.2", "580": "13.0", "550": "12.4"}[version.split(".")[0]]
        self.pci("0000:01:00.0", ids, driver="nvidia", bar=32 << 30)
        self.file(
            "/proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Tue Feb 25 04:00:00 UTC 2025\n"
        )
        for node in ("nvidiactl", "nvidia0", "nvidia-uvm"):
            self.file(f"/dev/{node}").modes[f"/dev/{node}"] = ("crw-rw-rw-", "root")
        query = "--query-gpu=index,name,uuid,pci.bus_id,driver_version,memory.total,compute_cap"
        row = f"0, {name}, GPU-00000000-0000-4000-8000-000000000001, 00000000:01:00.0, {version}, 24564, {cc}\n"
        self.run("nvidia-smi", query, "--format=csv,noheader,nounits", out=row)
        self.run("nvidia-smi", out=f"| NVIDIA-SMI {version}   Driver Version: {version}   CUDA Version: {cuda} |\n")
        lib = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
        self.file(lib)
        return self.run("ldconfig", "-p", out=f"1 libs found in cache\n\tlibcuda.so.1 (libc6,x86-64) => {lib}\n")

    def windows(self, name: str, driver: str, ids: str, build: str = "22631") -> Machine:
        vendor, device = (part.upper() for part in ids.split(":"))
        adapter = {"Name": name, "DriverVersion": driver, "PNPDeviceID": f"PCI\\VEN_{vendor}&DEV_{device}&SUBSYS_00000000", "Status": "OK"}
        shell = "powershell" if self.platform == "windows" else "powershell.exe"
        self.run(shell, "-NoProfile", "-Command", _ADAPTERS, out=json.dumps(adapter))
        if self.platform == "windows":
            system = {"Caption": "Microsoft Windows 11 Pro", "Version": f"10.0.{build}", "BuildNumber": build, "OSArchitecture": "64-bit"}
            self.run("powershell", "-NoProfile", "-Command", _SYSTEM, out=json.dumps(system))
        return self

    def mac(self, chip: str = "Apple M3", system: str = "14.6.1", machine: str = "arm64", translated: str = "0") -> Machine:
        shown = {"SPDisplaysDataType": [{"sppci_model": chip, "spdisplays_vendor": "sppci_vendor_Apple", "sppci_cores": "10"}]}
        self.run("sw_vers", out=f"ProductName:\t\tmacOS\nProductVersion:\t\t{system}\nBuildVersion:\t\t23G93\n")
        self.run("uname", "-m", out=f"{machine}\n").run("sysctl", "-n", "machdep.cpu.brand_string", out=f"{chip}\n")
        self.run("sysctl", "-n", "sysctl.proc_translated", out=f"{translated}\n").run("sysctl", "-n", "hw.memsize", out="17179869184\n")
        self.run("system_profiler", "SPDisplaysDataType", "-json", out=json.dumps(shown))
        return self.env(HOME="/Users/user", VIRTUAL_ENV="/Users/user/venv")

    def poplar(self, sdk: str = "3.3.0", enabled: bool = True, partition: bool = True) -> Machine:
        root = f"/opt/graphcore/poplar_sdk-ubuntu_20_04-{sdk}+1403"
        part = f"{root}/poplar-ubuntu_20_04-{sdk}+7857"
        self.file(f"{root}/enable").file(f"{part}/enable.sh").file(f"{part}/bin/popc")
        if not enabled:
            return self
        self.env(POPLAR_SDK_ENABLED=part, PYTHONPATH=f"{root}/popart-ubuntu_20_04-{sdk}+7857/python")
        self.run("popc", "--version", out=f"POPLAR version {sdk} (de1f8de2a7)\n")
        bar = " Partition   | Cluster  | ILDs | GW Routing | ILD Routing | Size | GCDs | State\n"
        if not partition:
            self.env(VIPU_CLI_API_HOST="10.9.0.1").run("gc-info", "-l", out="No devices found\n")
            return self.run("vipu", "list", "partitions", out=bar)
        self.env(IPUOF_VIPU_API_HOST="10.9.0.1", IPUOF_VIPU_API_PARTITION_ID="mine")
        self.run(
            "gc-info",
            "-l",
            out="Graphcore device listing:\nPartition: mine [active]\n-+- Id: [0], target: [Fabric], IPU-M host: [10.9.5.2], IPU#: [0]\n",
        )
        return self.run("vipu", "list", "partitions", out=bar + " mine | c1 | 1 | DEFAULT | DNC | 1 | 1 | ACTIVE\n")

    def c2(self, sdk: str = "1.4.0") -> Machine:
        """A server with one C2 card (two IPUs) and an SDK whose gc-info writes `type:`."""
        root = f"/opt/poplar_sdk-ubuntu_18_04-{sdk}+365"
        part = f"{root}/poplar-ubuntu_18_04-{sdk}+3"
        self.file(f"{part}/enable.sh").file(f"{root}/popart-ubuntu_18_04-{sdk}+3/enable.sh")
        self.env(POPLAR_SDK_ENABLED=part, PYTHONPATH=f"{root}/popart-ubuntu_18_04-{sdk}+3/python")
        listing = "Graphcore device listing:\n\n"
        for number, address in enumerate(("0000:1a:00.0", "0000:1b:00.0")):
            self.pci(address, "1d95:0001", kind="0x120000", driver="ipu_driver")
            for name in (f"ipu{number}", f"ipu{number}_ex", f"ipu{number}_mem"):
                self.file(f"/dev/{name}").modes[f"/dev/{name}"] = ("crw-rw-rw-", "root")
            listing += f"-+- Id:  [{number}], type:      [PCIe], PCI Domain: [{address}]\n"
        listing += "-+- Id:  [2], type: [Multi IPU]\n |--- PCIe Id:  [1], DNC Id: [0], PCI Domain: [0000:1b:00.0]\n"
        listing += " |--- PCIe Id:  [0], DNC Id: [1], PCI Domain: [0000:1a:00.0]\n"
        self.run("popc", "--version", out=f"POPLAR version {sdk} (4d1b1e2b1a)\n")
        details = "Device Info:\n  id: 0\n  target: PCIe\n  board type: C2\n  driver version: 1.0.49\n  ipu architecture: ipu1\n"
        return self.run("gc-info", "-l", out=listing).run("gc-info", "-i", "-d", "0", out=details)

    def environment_of(self, distributions: Mapping[str, Any], frameworks: Mapping[str, Any] | None = None) -> Machine:
        self.distributions = {"pip": "24.0", **distributions}
        self.frameworks = dict(frameworks) if frameworks is not None else None
        return self

    def memory(self, address: str, **sizes: int) -> Machine:
        """What a right diagnosis says of the memory of the GPU at this address: fields of the fact gpu_memory."""
        self.expected.setdefault("memory", {})[address] = sizes
        return self

    def expect(
        self, errors: Sequence[str] = (), first: str | None = None, also: Sequence[str] = (), never: Sequence[str] = (), **verdicts: str
    ) -> Machine:
        named = {name.replace("_", "-"): verdict for name, verdict in verdicts.items()}
        self.expected = {"errors": list(errors), "also": list(also), "never": list(never), "first_broken": first or "", "verdicts": named}
        return self

    def write(self, root: Path = HERE) -> Path:
        folder = root / self.name
        shutil.rmtree(folder, ignore_errors=True)
        for path, text in self.files.items():
            target = folder / "files" / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            "format = 1",
            "complete = false",
            f"title = {json.dumps(self.name.replace('-', ' '))}",
            f'platform = "{self.platform}"',
            "synthetic = true",
        ]
        (folder / "machine.toml").write_text("\n".join(lines) + "\n")
        (folder / "commands.jsonl").write_text("".join(json.dumps(command) + "\n" for command in self.commands))
        (folder / "links.toml").write_text("".join(f"{json.dumps(k)} = {json.dumps(v)}\n" for k, v in self.links.items()))
        if self.realpaths:
            (folder / "realpaths.toml").write_text("".join(f"{json.dumps(k)} = {json.dumps(v)}\n" for k, v in self.realpaths.items()))
        (folder / "env.toml").write_text("".join(f"{k} = {json.dumps(v)}\n" for k, v in self.environment.items()))
        gids = {"root": 0, "video": 44, "render": 992, "user": 1000, "ipu": 990}
        owned = [
            f'{json.dumps(p)} = {{ mode = "{m}", owner = "root", group = "{g}", uid = 0, gid = {gids[g]} }}\n'
            for p, (m, g) in self.modes.items()
        ]
        (folder / "modes.toml").write_text("".join(owned))
        if self.distributions is not None:
            home = {"macos": "/Users/user", "windows": "C:/Users/user"}.get(self.platform, "/home/user")
            python = {
                "executable": f"{home}/venv/bin/python",
                "version": self.python,
                "prefix": f"{home}/venv",
                "distributions": self.distributions,
            }
            if self.frameworks is not None:
                python["frameworks"] = self.frameworks
            (folder / "python.json").write_text(json.dumps(python, indent=1) + "\n")
        verdicts = "".join(f"{json.dumps(k)} = {json.dumps(v)}\n" for k, v in self.expected["verdicts"].items())
        keys = ("errors", "also", *(("never",) if self.expected.get("never") else ()), "first_broken")
        table = "".join(f"{key} = {json.dumps(self.expected[key])}\n" for key in keys)
        memory = "".join(
            f"\n[memory.{json.dumps(address)}]\n" + "".join(f"{name} = {size}\n" for name, size in sizes.items())
            for address, sizes in self.expected.get("memory", {}).items()
        )
        (folder / "expect.toml").write_text(f"{table}\n[verdicts]\n{verdicts}{memory}")
        return folder


if __name__ == "__main__":
    from machine_stories import MACHINES
    from machine_stories_apple import APPLE_MACHINES
    from machine_stories_containers import CONTAINER_MACHINES
    from machine_stories_llama import LLAMA_MACHINES
    from machine_stories_memory import MEMORY_MACHINES
    from machine_stories_network import NETWORK_MACHINES
    from machine_stories_npu import NPU_MACHINES
    from machine_stories_platforms import PLATFORM_MACHINES

    linux = (*MACHINES, *NPU_MACHINES, *NETWORK_MACHINES, *LLAMA_MACHINES, *MEMORY_MACHINES, *PLATFORM_MACHINES)
    for machine in (*linux, *APPLE_MACHINES, *CONTAINER_MACHINES):
        machine.write()
