"""What kind of machine this is, and its operating system."""

from __future__ import annotations

import re

from gpudoctor.facts.probes._probe import Collected, Probe, from_run
from gpudoctor.facts.probes.container import container_kind
from gpudoctor.model.facts import Absent, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system import json_text
from gpudoctor.system.host import Host

WINDOWS_SYSTEM = (
    "powershell", "-NoProfile", "-Command",
    "Get-CimInstance Win32_OperatingSystem | Select-Object Caption,Version,BuildNumber,OSArchitecture | ConvertTo-Json",
)  # fmt: skip
_QUOTED = lazy(r"""^(['"])(.*)\1$""")
_MACHINE = lazy(r"\b(x86_64|amd64|aarch64|arm64|ppc64le|s390x|riscv64|i[3-6]86|armv\d\w*)\b", re.IGNORECASE)


def parse_os_release(text: str) -> dict[str, str]:
    """The assignments in /etc/os-release (os-release(5)), without quotes."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, separator, value = line.strip().partition("=")
        if separator and not name.startswith("#"):
            quoted = _QUOTED.match(value.strip())
            found[name.strip()] = quoted[2] if quoted else value.strip()
    return found


def wsl_generation(release: str) -> int | None:
    """1 or 2 by the kernel's release, None for a kernel that is not Microsoft's. WSL1 writes 'Microsoft' with a capital letter."""
    if "microsoft" not in release.lower():
        return None
    return 1 if "-Microsoft" in release and "WSL2" not in release else 2


def parse_machine(uname: str) -> str | None:
    """The architecture in the output of `uname -a` (its last such word) or `uname -m`; None where there is none."""
    found = _MACHINE.findall(uname)
    return {"amd64": "x86_64"}.get(found[-1].lower(), found[-1]) if found else None


def parse_sw_vers(text: str) -> dict[str, str]:
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in text.splitlines()) if value}


def parse_windows_version(text: str) -> str | None:
    """The version in the output of `cmd /c ver`, '10.0.22631.4317'; None where there is none."""
    found = re.search(r"(?<!\d)(\d{1,9}\.\d{1,9}\.\d{1,9}(?:\.\d{1,9})?)", text)
    return found[1] if found else None


def kind_of(host: Host, release: str) -> str:
    """The value of the fact platform.kind. `release`: the release of the kernel."""
    if host.platform in ("windows", "macos"):
        return host.platform
    generation = wsl_generation(release)
    if host.platform == "container" or (generation is None and container_kind(host)):
        return "container"
    if generation:
        return f"wsl{generation}"
    return "wsl2" if host.platform == "wsl2" else "linux"


def collect(host: Host, facts: Facts) -> Collected:
    release = host.read("/proc/sys/kernel/osrelease").text.strip() or host.read("/proc/version").text
    kind = kind_of(host, release)
    yield "platform.kind", Known(kind, "/proc/sys/kernel/osrelease" if release else "")
    yield "platform.complete", Known(host.complete)
    if kind == "windows":
        yield from _windows(host)
    elif kind == "macos":
        yield from _macos(host)
    else:
        yield from _linux(host, kind)


def _linux(host: Host, kind: str) -> Collected:
    text = host.read("/etc/os-release")
    if not text.ok:
        text = host.read("/usr/lib/os-release")
    release = parse_os_release(text.text)
    for name, key in (("id", "ID"), ("version", "VERSION_ID"), ("name", "PRETTY_NAME"), ("codename", "VERSION_CODENAME")):
        if text.ok:
            yield f"os.{name}", Known(release[key], "/etc/os-release") if release.get(key) else Absent("/etc/os-release")
        else:
            yield f"os.{name}", Unknown("not recorded")
    yield "os.id_like", Known(release.get("ID_LIKE", "").split(), "/etc/os-release") if text.ok else Unknown("not recorded")
    uname = host.run(["uname", "-a"])
    machine = parse_machine(uname.stdout) or parse_machine(host.run(["uname", "-m"]).stdout) or _machine_by_files(host)
    yield "platform.machine", Known(machine) if machine else from_run(uname, None)
    yield from _jetson(host)
    virt = host.run(["systemd-detect-virt"])
    word = virt.stdout.strip()
    if word:
        yield "platform.virtualisation", Known(word, "systemd-detect-virt") if word != "none" else Absent("systemd-detect-virt")
    elif kind.startswith("wsl"):
        yield "platform.virtualisation", Known("wsl")
    elif "hypervisor" in host.read("/proc/cpuinfo").text:
        yield "platform.virtualisation", Known("vm", "/proc/cpuinfo")
    else:
        yield "platform.virtualisation", from_run(virt, None)


_JETSON = lazy(r"\bJetson\b[\w ]{0,40}")
_TEGRA = lazy(r"R(?P<release>\d{2}) \(release\)")
JETPACKS = {"32": "4", "34": "5", "35": "5", "36": "6", "38": "7", "39": "7"}
"""The major release of Jetson Linux to that of JetPack: https://docs.nvidia.com/jetson/archives"""


def _jetson(host: Host) -> Collected:
    """The module and JetPack of a Jetson. The device tree names the board; other machines have none, or another name in it."""
    model = host.read("/proc/device-tree/model")
    found = _JETSON.search(model.text)
    if found is None:
        none = Unknown("not recorded") if model.problem == "not-recorded" else Absent("/proc/device-tree/model")
        yield from (("jetson.module", none), ("jetson.jetpack", none))
        return
    yield "jetson.module", Known(found[0].removesuffix("Developer Kit").strip(), "/proc/device-tree/model")
    release = _TEGRA.search(host.read("/etc/nv_tegra_release").text)
    jetpack = JETPACKS.get(release["release"]) if release else None
    yield "jetson.jetpack", Known(jetpack, "/etc/nv_tegra_release") if jetpack else Unknown("not in /etc/nv_tegra_release")


def _machine_by_files(host: Host) -> str | None:
    cpu = host.read("/proc/cpuinfo").text
    loaders = (("/lib/x86_64-linux-gnu", "x86_64"), ("/lib/aarch64-linux-gnu", "aarch64"), ("/lib64/ld-linux-x86-64.so.2", "x86_64"))
    for folder, machine in loaders:
        if host.exists(folder):
            return machine
    return "x86_64" if "GenuineIntel" in cpu or "AuthenticAMD" in cpu else "aarch64" if "CPU implementer" in cpu else None


def _windows(host: Host) -> Collected:

    yield "os.id", Known("windows")
    yield "os.id_like", Known([])
    said = host.run(WINDOWS_SYSTEM, timeout=8.0)
    table: object = None
    try:
        table = json_text.loads(said.stdout)
    except ValueError:
        pass
    asked = parse_windows_version(host.run(["cmd", "/c", "ver"]).stdout)
    if isinstance(table, dict):
        version = str(table.get("Version") or asked or "")
        yield "windows.caption", Known(str(table.get("Caption", "")).strip(), "Win32_OperatingSystem")
        yield "os.name", Known(str(table.get("Caption", "")).strip(), "Win32_OperatingSystem")
    else:
        version = asked or ""
        yield "windows.caption", from_run(said, None)
        yield "os.name", Known("Windows")
    yield "os.version", Known(version) if version else from_run(said, None)
    parts = version.split(".")
    yield "windows.build", Known(int(parts[2])) if len(parts) > 2 and parts[2].isdigit() else from_run(said, None)
    machine = host.env("PROCESSOR_ARCHITECTURE")
    named = {"AMD64": "x86_64"}.get(machine, machine.lower()) if machine else ""
    yield "platform.machine", Known(named, "PROCESSOR_ARCHITECTURE") if named else Unknown("not recorded")


def _macos(host: Host) -> Collected:
    yield "os.id", Known("macos")
    yield "os.id_like", Known([])
    said = host.run(["sw_vers"])
    table = parse_sw_vers(said.stdout)
    yield "os.name", Known(table.get("ProductName", "macOS"))
    version = table.get("ProductVersion")
    yield "os.version", from_run(said, version)
    machine = parse_machine(host.run(["uname", "-m"]).stdout)
    yield "platform.machine", Known(machine, "uname -m") if machine else Unknown("tool missing")


PROBE = Probe(
    "machine",
    (
        FactSpec("platform.kind", "text", "linux, wsl2, wsl1, windows, macos or container"),
        FactSpec("platform.machine", "text", "processor architecture, such as x86_64"),
        FactSpec("platform.virtualisation", "text", "what virtualises this machine, such as kvm; absent on bare metal"),
        FactSpec(
            "jetson.module", "text", "which of NVIDIA's Jetson modules this is, such as Jetson Orin Nano; absent on any other machine"
        ),
        FactSpec("jetson.jetpack", "dotted", "JetPack of the Jetson module"),
        FactSpec("platform.complete", "bool", "whether a recording holds everything that was asked"),
        FactSpec("os.id", "text", "ID of /etc/os-release, or windows, macos"),
        FactSpec("os.id_like", "list", "related distributions"),
        FactSpec("os.version", "dotted", "version of the operating system"),
        FactSpec("os.name", "text", "name of the operating system"),
        FactSpec("os.codename", "text", "code name of the release"),
        FactSpec("windows.build", "int", "build number of Windows"),
        FactSpec("windows.caption", "text", "Windows edition"),
    ),
    collect,
)
