"""AMD compute: the kernel's compute interface (kfd), the installation of ROCm, and the output of its tools."""

from __future__ import annotations

import re
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

_KFD = "/dev/kfd"
_TOPOLOGY = "/sys/class/kfd/kfd/topology/nodes"
_BLACKLIST = lazy(
    r"^[ \t]*(?:blacklist\s+amdgpu|install\s+amdgpu\s+/(?:usr/)?bin/(?:false|true))[ \t]*(?:#.*)?$|"
    r"\b(?:modprobe\.|module_|rd\.driver\.)blacklist=(?:\S{0,400},)?amdgpu(?:,|\s|$)",
    re.MULTILINE,
)
_ROCMINFO_ERRORS = (
    r"Unable to open /dev/kfd[^\n]*",
    r"ROCk module is NOT loaded[^\n]*",
    r"hsa api call failure[^\n]*",
    r"hsa_init[^\n]*failed[^\n]*",
    r"HSA_STATUS_ERROR\w*[^\n]*",
    r"[^\n]*error while loading shared libraries[^\n]*",
)


def gfx_name(version: int) -> str:
    """The target that the kernel's `gfx_target_version` stands for: gfx1032 for 100302, gfx90a for 90010."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def parse_kfd_properties(text: str) -> dict[str, int]:
    """The numbers in the file `properties` of a node of the kfd topology, by name."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        if name and value.strip().lstrip("-").isdigit():
            found[name] = int(value)
    return found


def kfd_record(index: int, props: dict[str, int], name: str) -> dict[str, Any] | None:
    """The record of amd.kfd.nodes for a node of the topology; None for a processor. `location_id` holds bus, device and function:
    drivers/gpu/drm/amd/amdkfd/kfd_topology.c."""
    version = props.get("gfx_target_version", 0)
    if not props.get("simd_count") or not (version or props.get("vendor_id") == 0x1002):
        return None
    location, domain = props.get("location_id"), props.get("domain", 0)
    address: Any = Unknown("not recorded")
    if location is not None:
        address = f"{domain & 0xFFFF:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"
    return {
        "index": index, "gfx": gfx_name(version) if version else Unknown("not recorded"), "name": name.strip() or Unknown("not recorded"),
        "address": address, "simd_count": props["simd_count"], "device_id": f"{props.get('device_id', 0):04x}",
    }  # fmt: skip


def parse_rocminfo_error(text: str) -> str | None:
    """The sentence with which rocminfo explains that it lists nothing; None where it prints none."""
    for pattern in _ROCMINFO_ERRORS:
        match = re.search(pattern, text)
        if match:
            return match.group(0).strip()
    return None


def parse_rocminfo(text: str) -> list[dict[str, Any]] | None:
    """The GPU agents in rocminfo's order; None where the text lists no agents at all."""
    if "HSA Agents" not in text and not re.search(r"^[ \t]*Agent \d+", text, re.M):
        return None
    agents: list[dict[str, Any]] = []
    for block in re.split(r"^[ \t]*\*+[ \t]*\n[ \t]*Agent \d+[ \t]*\n[ \t]*\*+[ \t]*$", text, flags=re.M)[1:]:
        fields: dict[str, str] = {}
        for match in re.finditer(r"^[ \t]*([A-Z][\w .()/]{0,80}?):[ \t]+(\S.*)$", block, re.M):
            fields.setdefault(match.group(1), match.group(2).rstrip())
        if fields.get("Device Type") != "GPU" and not fields.get("Name", "").startswith("gfx"):
            continue
        isa = re.search(r"Name:\s+(amdgcn-amd-amdhsa--\S+)", block)
        agents.append({
            "index": len(agents), "gfx": fields.get("Name", ""), "name": fields.get("Marketing Name") or fields.get("Name", ""),
            "uuid": fields.get("Uuid"), "compute_units": _leading_int(fields.get("Compute Unit")), "isa": isa.group(1) if isa else None,
            "integrated": "APU" in fields.get("Memory Properties", "") or bool(re.search(r"Memory Properties:\s*APU", block)),
        })  # fmt: skip
    return agents


def _leading_int(text: str | None) -> int | None:
    match = re.match(r"\d+", text or "")
    return int(match.group()) if match else None


def parse_json(text: str) -> Any:
    """The first JSON value in the output of a tool, before which amd-smi prints warnings; None where there is none."""
    import json  # imported here, since most machines have none of these tools

    for start in (i for i, c in enumerate(text) if c in "[{"):
        try:
            return json.JSONDecoder().raw_decode(text[start:])[0]
        except ValueError:
            if start > 4000:
                break
    return None


def parse_rocm_smi(text: str) -> list[dict[str, Any]] | None:
    """The cards in `rocm-smi --showallinfo --json`, whose keys differ between releases; None for what is no such document."""
    data = parse_json(text)
    if not isinstance(data, dict):
        return None
    cards: list[dict[str, Any]] = []
    for key, card in data.items():
        if not re.fullmatch(r"card\d+", str(key)) or not isinstance(card, dict):
            continue
        low = {str(k).lower(): v for k, v in card.items()}
        name = next((low[k] for k in ("card series", "device name", "card model") if low.get(k) not in (None, "N/A", "")), "")
        cards.append({
            "index": int(key[4:]), "name": str(name), "address": str(low.get("pci bus", "")).lower() or Unknown("not recorded"),
            "vbios": low.get("vbios version"), "gfx": Unknown("not recorded"),
        })  # fmt: skip
    return cards


def rocm_smi_driver(text: str) -> str | None:
    """The version of the driver in `rocm-smi --showallinfo --json`."""
    data = parse_json(text)
    system = data.get("system") if isinstance(data, dict) else None
    version = system.get("Driver version") if isinstance(system, dict) else None
    return str(version) if version else None


def parse_amd_smi_static(text: str) -> list[dict[str, Any]] | None:
    """The cards in `amd-smi static --json`, which is a list, or since ROCm 7 a table with gpu_data; None for what is neither."""
    data = parse_json(text)
    if isinstance(data, dict):
        data = data.get("gpu_data")
    if not isinstance(data, list):
        return None
    cards: list[dict[str, Any]] = []
    for entry in data:
        if not isinstance(entry, dict):
            continue
        asic, bus, driver = (_inner(entry, key) for key in ("asic", "bus", "driver"))
        gfx = str(asic.get("target_graphics_version") or "")
        cards.append({
            "index": entry.get("gpu"), "name": str(asic.get("market_name") or ""), "address": str(bus.get("bdf") or "").lower(),
            "gfx": gfx if gfx.startswith("gfx") else Unknown("not recorded"), "driver_version": driver.get("version"),
        })  # fmt: skip
    return cards


def _inner(entry: dict[str, Any], key: str) -> dict[str, Any]:
    value = entry.get(key)
    return value if isinstance(value, dict) else {}


def parse_amd_smi_version(text: str) -> dict[str, str] | None:
    """The table in `amd-smi version --json`: amdgpu_version, rocm_version and others."""
    data = parse_json(text)
    if isinstance(data, list) and data:
        data = data[0]
    return {str(k): str(v) for k, v in data.items()} if isinstance(data, dict) else None


def parse_dotted(text: str) -> str | None:
    """The first dotted number in a text: '6.1.3' of '6.1.3-122'; None where there is none."""
    match = re.search(r"(?<!\d)\d{1,9}(?:\.\d{1,9})+", text)
    return match.group() if match else None


def _kfd(host: Host) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}
    mode = host.mode(_KFD)
    there = host.exists(_KFD) or mode is not None
    if there:
        facts["amd.kfd.node"] = Known(_KFD, _KFD)
        may = host.may_open(_KFD)
        facts["amd.kfd.access"] = Unknown("not recorded") if may is None else Known(may, _KFD)
        facts["amd.kfd.group"] = Known(mode.group, _KFD) if mode else Unknown("not recorded")
        facts["amd.kfd.mode"] = Known(mode.mode, _KFD) if mode else Unknown("not recorded")
    else:
        # A recording without a single device node may be of one who did not list them.
        looked = (host.origin == "live" and host.knows("/dev")) or host.exists("/dev/dri") or bool(host.listdir("/dev"))
        facts["amd.kfd.node"] = Absent(_KFD) if looked else Unknown("not recorded")
        facts["amd.kfd.access"] = facts["amd.kfd.group"] = facts["amd.kfd.mode"] = facts["amd.kfd.node"]
    names = [name for name in host.listdir(_TOPOLOGY) if name.isdigit()]
    nodes = []
    for name in sorted(names, key=int)[:256]:
        text = host.read(f"{_TOPOLOGY}/{name}/properties")
        record = kfd_record(int(name), parse_kfd_properties(text.text), host.read(f"{_TOPOLOGY}/{name}/name").text) if text.ok else None
        if record:
            nodes.append(record)
    if names:
        facts["amd.kfd.nodes"] = Known(nodes, _TOPOLOGY)
    else:
        facts["amd.kfd.nodes"] = Absent(_TOPOLOGY) if host.origin == "live" and host.knows(_TOPOLOGY) else Unknown("not recorded")
    return facts


def _installations(host: Host) -> list[tuple[str, str]]:
    """(prefix, version) of each ROCm below /opt, with /opt/rocm last; links to another prefix are left out."""
    found: list[tuple[str, str]] = []
    seen: set[str] = set()
    names = [n for n in host.listdir("/opt") if n.startswith("rocm")]
    prefixes = [f"/opt/{n}" for n in names] or ["/opt/rocm"]
    for prefix in list(prefixes):
        prefixes += [f"{prefix}/{n}" for n in host.listdir(prefix) if n.startswith("core-")]
    for prefix in sorted(prefixes, key=lambda p: (p == "/opt/rocm", p)):
        text = host.read(f"{prefix}/.info/version")
        version = parse_dotted(text.text) if text.ok else parse_dotted(prefix)
        real = host.realpath(prefix)
        if version and real not in seen and version not in {v for _, v in found}:
            seen.add(real)
            found.append((prefix, version))
    return found


def _rocblas(host: Host, prefixes: list[str]) -> list[str]:
    """The GPU targets for which rocBLAS of the system has kernels, by the names of its files."""
    targets: set[str] = set()
    for prefix in prefixes:
        for name in host.listdir(f"{prefix}/lib/rocblas/library"):
            targets.update(re.findall(r"gfx[0-9a-f]{3,4}", name))
    return sorted(targets)


def _smi(host: Host, facts: dict[str, Fact]) -> None:
    """Adds cards and versions by amd-smi, else by rocm-smi, to the facts."""
    ran = host.run(["amd-smi", "version", "--json"])
    version = parse_amd_smi_version(ran.stdout) if ran.answered else None
    static = host.run(["amd-smi", "static", "--json"], timeout=8.0)
    cards = parse_amd_smi_static(static.stdout) if static.answered else None
    smi = None
    if cards is None or not (version or {}).get("amdgpu_version"):
        smi = host.run(["rocm-smi", "--showallinfo", "--json"], timeout=8.0)
        cards = cards if cards is not None else (parse_rocm_smi(smi.stdout) if smi.answered else None)
    facts["amd.devices"] = Known(cards, "amd-smi") if cards is not None else Unknown(static.why_not())
    driver = (version or {}).get("amdgpu_version") or (rocm_smi_driver(smi.stdout) if smi else None)
    if not isinstance(facts.get("amd.driver.version"), Known) and driver and parse_dotted(driver):
        facts["amd.driver.version"] = Known(parse_dotted(driver), "amd-smi")
    rocm = parse_dotted((version or {}).get("rocm_version", ""))
    if rocm and not isinstance(facts.get("rocm.version"), Known):
        facts["rocm.version"] = Known(rocm, " ".join(ran.argv))


def _rocminfo(host: Host, facts: dict[str, Fact]) -> None:
    ran = host.run(["rocminfo"], timeout=8.0)
    if ran.missing and host.exists("/opt/rocm/bin/rocminfo"):
        ran = host.run(["/opt/rocm/bin/rocminfo"], timeout=8.0)
    text = f"{ran.stdout}\n{ran.stderr}"
    agents, error = parse_rocminfo(ran.stdout), parse_rocminfo_error(text)
    if not ran.answered:
        facts["rocm.agents"] = facts["rocm.rocminfo.error"] = Unknown(ran.why_not())
        return
    facts["rocm.agents"] = Known(agents, "rocminfo") if agents is not None else Known([], "rocminfo") if error else Unknown("unparsable")
    facts["rocm.rocminfo.error"] = Known(error, "rocminfo") if error else Absent("rocminfo")
    if error and "Permission denied" in error and not isinstance(facts.get("amd.kfd.access"), Known):
        facts["amd.kfd.access"] = Known(False, "rocminfo")
    if error and "No such file" in error and isinstance(facts.get("amd.kfd.node"), Unknown):
        facts["amd.kfd.node"] = Absent("rocminfo")


def _package_version(facts: Facts) -> str | None:
    packages = facts.value("packages", {})
    for name in ("rocm-core", "rocm-libs", "rocm-dev", "rocm-hip-runtime", "hip-runtime-amd", "rocm-language-runtime", "amdrocm-core"):
        version = packages.get(name) if isinstance(packages, dict) else None
        dotted = parse_dotted(str(version)) if version else None
        if dotted and name != "hip-runtime-amd":
            return ".".join(dotted.split(".")[:3])
    return None


def blacklisting_line(text: str) -> bool:
    """Whether a file of modprobe.d, or the kernel's command line, keeps amdgpu from loading."""
    return "amdgpu" in text and bool(_BLACKLIST.search(text))


def _blacklisted(host: Host, facts: Facts) -> Fact:
    if blacklisting_line(str(facts.value("kernel.cmdline", "") or "")):
        return Known("the kernel command line", "/proc/cmdline")
    for folder in ("/etc/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d"):
        for name in host.listdir(folder):
            file = host.read(f"{folder}/{name}", limit=100_000) if name.endswith(".conf") else None
            if file is not None and file.ok and blacklisting_line(file.text):
                return Known(f"{folder}/{name}", folder)
    return Absent("/etc/modprobe.d")


def collect(host: Host, facts: Facts) -> Collected:
    found = _kfd(host)
    found["amd.blacklisted"] = _blacklisted(host, facts)
    installed = _installations(host)
    packaged = _package_version(facts)
    gpus = facts.value("gpus", [])
    amd = [g for g in gpus if isinstance(g, dict) and g.get("vendor") == "amd"]
    version_file = host.read("/sys/module/amdgpu/version")
    if version_file.ok and (dkms := parse_dotted(version_file.text)):
        found["amd.driver.version"] = Known(dkms, "/sys/module/amdgpu/version")
        found["amd.driver.dkms"] = Known(True, "/sys/module/amdgpu/version")
    elif "amdgpu-dkms" in (facts.value("packages", {}) or {}):
        found["amd.driver.dkms"] = Known(True, "packages")
    elif facts.known("packages") and (host.origin == "live" or host.exists("/sys/module/amdgpu")):
        found["amd.driver.dkms"] = Known(False, "packages")
    if installed:
        found["rocm.version"] = Known(installed[0][1] if len(installed) == 1 else _current(host, installed), installed[0][0])
    elif packaged:
        found["rocm.version"] = Known(packaged, "packages")
    elif host.origin == "live" or facts.known("packages"):
        found["rocm.version"] = Absent("/opt")
    versions = sorted({v for _, v in installed})
    found["rocm.versions"] = Known(versions, "/opt") if versions or host.origin == "live" else Unknown("not recorded")
    found["rocm.prefix"] = Known(installed[0][0], "/opt") if installed else Absent("/opt")
    targets = _rocblas(host, [p for p, _ in installed])
    found["rocm.rocblas.targets"] = Known(targets, "rocblas/library") if targets else Unknown("not recorded")
    dxg = [f"{p}/lib/librocdxg.so" for p, _ in installed if host.exists(f"{p}/lib/librocdxg.so")]
    if installed:
        found["rocm.dxg_library"] = Known(dxg[0], "/opt") if dxg else Absent("/opt")
    if amd or isinstance(found["amd.kfd.node"], Known) or installed or packaged:
        _rocminfo(host, found)
        _smi(host, found)
    return tuple(found.items())


def _current(host: Host, installed: list[tuple[str, str]]) -> str:
    """The version of the installation to which /opt/rocm leads, else of the newest."""
    real = host.realpath("/opt/rocm")
    for prefix, version in installed:
        if host.realpath(prefix) == real:
            return version
    return max((v for _, v in installed), key=lambda v: [int(n) for n in v.split(".")])


PROBE = Probe(
    name="amd",
    provides=(
        FactSpec("amd.kfd.node", "text", "AMD's compute device node"),
        FactSpec("amd.kfd.access", "bool", "this user may open /dev/kfd for reading and writing"),
        FactSpec("amd.kfd.group", "text", "the group that owns /dev/kfd"),
        FactSpec("amd.kfd.mode", "text", "permissions of /dev/kfd"),
        FactSpec(
            "amd.kfd.nodes", "records", "GPUs that the kernel offers for compute", item="kfd_node",
            fields={
                "index": "node number", "gfx": "target, e.g. gfx1032", "name": "chip name", "address": "PCI address",
                "simd_count": "SIMD units", "device_id": "PCI device id",
            },
        ),
        FactSpec("amd.blacklisted", "text", "the file, or the kernel command line, that keeps amdgpu from loading"),
        FactSpec("amd.driver.version", "dotted", "version of AMD's amdgpu package; unknown where amdgpu is the kernel's own"),
        FactSpec("amd.driver.dkms", "bool", "amdgpu comes from AMD's DKMS package"),
        FactSpec(
            "amd.devices", "records", "cards by amd-smi or rocm-smi", item="amd_device",
            fields={"index": "number", "name": "card", "address": "PCI address", "gfx": "target", "driver_version": "driver",
            "vbios": "VBIOS"},
        ),
        FactSpec("rocm.version", "dotted", "installed ROCm"),
        FactSpec("rocm.versions", "list", "every ROCm under /opt"),
        FactSpec("rocm.prefix", "text", "folder of the installed ROCm"),
        FactSpec("rocm.rocblas.targets", "list", "targets for which the installed rocBLAS has kernels"),
        FactSpec("rocm.dxg_library", "text", "librocdxg, by which ROCm reaches the GPU in WSL"),
        FactSpec("rocm.rocminfo.error", "text", "why rocminfo lists nothing"),
        FactSpec(
            "rocm.agents", "records", "GPU agents of rocminfo, in ROCm's order", item="agent",
            fields={
                "index": "number in HIP's order", "gfx": "target shown (the override's where one is set)", "name": "marketing name",
                "uuid": "id", "compute_units": "compute units", "isa": "instruction set", "integrated": "an APU",
            },
        ),
    ),
    collect=collect,
    needs=("gpus", "packages", "kernel.cmdline"),
)  # fmt: skip
