"""NVIDIA facts that need joins and tables: cards with their capability, driver branches, the meaning of Xid events."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._nvidia_drivers import advice
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._visible_devices import left_by
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.rules.versions import compare_dotted, dotted

_XID = lazy(r"NVRM: Xid \((?:PCI:)?([0-9A-Fa-f:.]+)\): (\d+)\b")


def capability_of(name: str) -> str | None:
    """The compute capability of a card by its product name, for cards whose PCI id is unknown: '8.9'; None where no row matches."""
    for row in table("cuda-names")["row"]:
        if re.search(row["pattern"], name):
            return str(row["capability"])
    return None


def family_of(capability: float) -> Mapping[str, Any] | None:
    """The row of cuda-driver.toml for the GPU generation with this compute capability."""
    for row in table("cuda-driver")["family"]:
        if row["lowest"] <= capability <= row["highest"]:
            return dict(row)
    return None


def capability_numbers(text: str) -> tuple[int, int]:
    """(8, 6) for '8.6', so that capabilities can be sorted: '10.0' comes after '9.0'."""
    major, _, minor = text.partition(".")
    return int(major), int(minor or 0)


def _records(facts: Facts, name: str) -> list[Mapping[str, Any]]:
    value = facts.value(name)
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def _same(gpu: Mapping[str, Any], device: Mapping[str, Any], alone: bool) -> bool:
    address = gpu.get("address")
    if isinstance(address, str) and re.match(r"[0-9a-f]{4}:", address) and isinstance(device.get("address"), str):
        return bool(address == device["address"])
    return alone or bool(gpu.get("name") == device.get("name"))


def cards(facts: Facts) -> Fact:
    """The fact nvidia.cards: a record for each NVIDIA GPU of the PCI bus, completed by nvidia-smi, or what nvidia-smi lists where no bus is
    visible. Unknown for the reason why the GPUs are unknown."""
    gpus = [row for row in _records(facts, "gpus") if row.get("vendor") == "nvidia"]
    listed = _records(facts, "nvidia.devices")
    module = facts.value("jetson.module")
    if not gpus and not listed and module:  # its GPU is on no bus, and JetPack 5 has no nvidia-smi
        return Known([_card(0, {"name": module, "kind": "integrated"}, {})], "jetson.module")
    if not gpus and not listed:
        return Known([], "gpus") if facts.known("gpus") else _unknown_as(facts, "gpus")
    rows = []
    for number, gpu in enumerate(gpus or listed):
        device: Mapping[str, Any] = {}
        if gpus:
            device = next((row for row in listed if _same(gpu, row, len(gpus) == len(listed) == 1)), {})
        rows.append(_card(number, gpu, device or ({} if gpus else gpu)))
    return Known(rows, "gpus")


def _unknown_as(facts: Facts, name: str) -> Unknown:
    """Unknown for the reason of another fact; 'not recorded' where that fact has none."""
    fact = facts.get(name)
    return fact if isinstance(fact, Unknown) and fact.reason != "not probed" else Unknown("not recorded")


def _card(number: int, gpu: Mapping[str, Any], device: Mapping[str, Any]) -> dict[str, Any]:
    name = next((row["name"] for row in (device, gpu) if isinstance(row.get("name"), str)), None)
    text = next((r["compute_capability"] for r in (device, gpu) if isinstance(r.get("compute_capability"), str)), None)
    if text is None and name:
        text = capability_of(name)
    missing = Unknown("not recorded")
    card: dict[str, Any] = {
        "index": number,
        "address": gpu.get("address", missing),
        "name": name or gpu.get("pci_id", missing),
        "compute_capability": text or missing,
        "driver": gpu.get("driver", missing),
        "kind": gpu.get("kind", missing),
        "pci_id": gpu.get("pci_id", missing),
    }
    if text and re.fullmatch(r"\d+\.\d+", text):
        card["cc"] = float(text)
        card["sm"] = "sm_" + text.replace(".", "")
        family = family_of(float(text))
        if family:
            card.update(family=family["name"], branch_first=family.get("first", 0), open=family["open"], open_only=family["open_only"])
            card["branch_last"] = family.get("last")
            card["too_old_for_branch"] = "last" in family
    return card


def _branch(version: Any) -> int | None:
    parts = dotted(version) if isinstance(version, str) else None
    return parts[0] if parts else None


def _xids(facts: Facts) -> Fact:
    log = facts.get("kernel.log")
    if not isinstance(log, Known) or not isinstance(log.value, list):
        return log if not isinstance(log, Known) else Unknown("unparsable")
    known = {row["code"]: row for row in table("cuda-xid")["xid"]}
    seen: dict[tuple[int, str], dict[str, Any]] = {}
    for line in log.value:
        found = _XID.search(str(line))
        if not found:
            continue
        code, address = int(found.group(2)), found.group(1).lower()
        row = known.get(code)
        record = seen.setdefault(
            (code, address),
            {
                "code": code,
                "address": address,
                "count": 0,
                "line": str(line).strip()[:200],
                "family": row["family"] if row else "unknown",
                "meaning": row["meaning"] if row else "not in our table",
                "action": row["action"] if row else "Look it up in NVIDIA's list",
            },
        )
        record["count"] += 1
    return Known(list(seen.values()), "kernel.log")


def _visible(facts: Facts, count: int | None) -> Fact:
    """What CUDA_VISIBLE_DEVICES leaves: ok, hidden, invalid, out-of-range or repeated. `count` is None where a text names cards without
    saying how many there are."""
    found = facts.get("env.CUDA_VISIBLE_DEVICES")
    if not isinstance(found, Known):
        return found
    text = str(found.value).strip()
    if left_by(text, None) == "none":
        return Known("hidden", "CUDA_VISIBLE_DEVICES")
    entries = [entry.strip() for entry in text.split(",")]
    for entry in entries:
        if re.fullmatch(r"\d+", entry):
            if count is not None and int(entry) >= count:
                return Known("out-of-range", "CUDA_VISIBLE_DEVICES")
        elif not re.match(r"(GPU|MIG)-[0-9a-f]", entry, re.I):
            return Known("invalid", "CUDA_VISIBLE_DEVICES")
    return Known("repeated" if len(set(entries)) < len(entries) else "ok", "CUDA_VISIBLE_DEVICES")


def _dkms(facts: Facts) -> Fact:
    kernels, release = facts.get("nvidia.dkms.kernels"), facts.value("kernel.release")
    if not isinstance(kernels, Known) or not isinstance(release, str):
        return Unknown("not recorded")
    if not facts.value("nvidia.dkms.versions"):
        return Absent("dkms status")
    return Known(release in kernels.value, "dkms status")


def _installed_branch(facts: Facts) -> int | None:
    """The branch of the installed driver packages, which an unloaded module would have; None where there is none or they disagree."""
    packages = facts.value("packages")
    names = packages if isinstance(packages, Mapping) else {}
    found = {int(hit[1]) for name in names if name.startswith("nvidia") and (hit := re.match(r"nvidia-(?:driver|dkms)-(\d{3})\b", name))}
    return found.pop() if len(found) == 1 else None


def _packages(facts: Facts) -> Iterator[tuple[str, Fact]]:
    packages = facts.value("packages")
    if not isinstance(packages, Mapping):
        return
    drivers = [
        name.split(":")[0]
        for name in packages
        if ("nvidia" in name or name.startswith("cuda"))
        and re.match(
            r"(nvidia-(driver|headless|dkms|kernel-source|open-dkms|open|dkms-open|kernel-dkms|open-kernel-dkms)"
            r"|akmod-nvidia|kmod-nvidia|xorg-x11-drv-nvidia|linux-(modules|objects)-nvidia|nvidia-\d+xx|nvidia(-lts|-open)?$|cuda-drivers)",
            name,
        )
        and not re.match(r"nvidia-open-?(share|kernel-common)", name)
    ]
    yield "nvidia.driver_packages", Known(sorted(drivers), "packages")
    modules = [
        name for name in drivers if re.match(r"nvidia-(dkms|open|kernel)|linux-(modules|objects)-nvidia|akmod|kmod|nvidia-driver", name)
    ]
    if modules:
        yield "nvidia.packages_open", Known(any("open" in name for name in modules), "packages")


def _nvswitch(facts: Facts) -> Fact:
    devices = facts.get("pci.devices")
    if not isinstance(devices, Known):
        return Unknown("not recorded")
    for row in devices.value:
        vendor, code = str(row.get("vendor_id", row.get("vendor", ""))), str(row.get("class", ""))
        if vendor.removeprefix("0x").lower() == "10de" and code.removeprefix("0x").startswith("0680"):
            return Known(True, "pci.devices")
    return Known(False, "pci.devices")


def _libcuda_in_use(facts: Facts) -> str:
    """The libcuda that torch has loaded, else the one that LD_LIBRARY_PATH puts first, else the one of the system; '' for none."""
    loaded = [
        str(row.get("path") or "") for row in _records(facts, "python.frameworks.torch.libraries") if row.get("soname") == "libcuda.so.1"
    ]
    first = [path for path in facts.value("nvidia.loader_path.libraries") or () if "/libcuda.so" in str(path)]
    return next((str(path) for path in (*loaded, *first, facts.value("nvidia.libcuda")) if path), "")


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    found = cards(facts)
    yield "nvidia.cards", found
    rows: list[dict[str, Any]] = found.value if isinstance(found, Known) else []
    platform = facts.value("platform.kind")
    names = ("nvidia.driver.version",) if platform in ("wsl2", "windows") else ("nvidia.kernel_module.version", "nvidia.driver.version")
    version = next((facts.value(name) for name in names if facts.known(name)), None)
    branch = _branch(version) or _installed_branch(facts)
    unloaded = platform in ("linux", "container") and facts.value("nvidia.module.loaded") is False
    no_version = Absent("nvidia.module.loaded") if unloaded else _unknown_as(facts, "nvidia.driver.version")
    yield "nvidia.in_use", Known(version) if version else no_version
    yield "nvidia.branch", Known(branch) if branch else Unknown("not recorded")
    module, library = facts.get("nvidia.kernel_module.version"), facts.get("nvidia.libcuda_version")
    if isinstance(module, Known) and isinstance(library, Known):
        left, right = dotted(module.value), dotted(library.value)
        yield "nvidia.versions_agree", Known(bool(left and right and compare_dotted(left, right) == 0), "libcuda")
    elif "mismatch" in str(facts.value("nvidia.smi.error", "")):
        yield "nvidia.versions_agree", Known(False, "nvidia-smi")
    libcuda = _libcuda_in_use(facts)
    yield "nvidia.libcuda_compat", Known("/compat" in libcuda) if libcuda else Unknown("not recorded")
    driven = {device.get("address") for device in _records(facts, "nvidia.devices") if device.get("address")}
    for row in rows:
        if branch and "branch_first" in row:
            last = row.get("branch_last")
            row["branch_ok"] = branch >= row["branch_first"] and (last is None or branch <= last)
            row["branch_too_new"] = last is not None and branch > last
            row["branch_too_old"] = branch < row["branch_first"] and row.get("address") not in driven
    yield "nvidia.xids", _xids(facts)
    yield "nvidia.nvswitch", _nvswitch(facts)
    yield "nvidia.dkms.built", _dkms(facts)
    listed = facts.value("nvidia.devices")
    count = len(listed) if isinstance(listed, list) and listed else len(rows) or None
    yield "cuda.visible", _visible(facts, count if listed or all(":" in str(row.get("address")) for row in rows) else None)
    yield "nvidia.count", Known(count) if count else Unknown("not recorded")
    yield from _packages(facts)
    yield from advice(facts, rows)


CARD_FIELDS = {
    "index": "number",
    "address": "PCI address",
    "name": "product name",
    "compute_capability": "8.6",
    "cc": "8.6 as a number",
    "sm": "sm_86",
    "family": "Ampere …",
    "driver": "kernel driver bound",
    "kind": "as in gpus",
    "pci_id": "10de:2504",
    "branch_first": "first driver branch",
    "branch_last": "last driver branch, absent where none is announced",
    "open": "the open modules serve it",
    "open_only": "only the open modules serve it",
    "branch_ok": "the branch in use serves it",
    "branch_too_new": "the branch has dropped it",
    "branch_too_old": "the branch does not know it yet, and nvidia-smi does not list it",
    "too_old_for_branch": "a last branch is announced",
}

DERIVATION = Derivation(
    name="nvidia",
    provides=(
        FactSpec("nvidia.cards", "records", "NVIDIA cards by bus and nvidia-smi", item="card", fields=CARD_FIELDS),
        FactSpec("nvidia.in_use", "dotted", "driver version in use (the kernel module's; on Windows and WSL the Windows driver's)"),
        FactSpec("nvidia.branch", "int", "its branch: 570"),
        FactSpec("nvidia.count", "int", "number of NVIDIA GPUs"),
        FactSpec("nvidia.versions_agree", "bool", "kernel module and libcuda have the same version"),
        FactSpec("nvidia.libcuda_compat", "bool", "libcuda comes from a forward-compatibility folder"),
        FactSpec(
            "nvidia.xids",
            "records",
            "Xid events in the kernel log",
            item="xid",
            fields={
                "code": "number",
                "address": "bus address",
                "count": "how often",
                "line": "the first line",
                "family": "kind of fault",
                "meaning": "in words",
                "action": "what to do",
            },
        ),
        FactSpec("nvidia.nvswitch", "bool", "an NVSwitch is on the bus"),
        FactSpec("nvidia.dkms.built", "bool", "DKMS installed the module for the running kernel"),
        FactSpec("cuda.visible", "text", "what CUDA_VISIBLE_DEVICES leaves: ok, hidden, invalid, out-of-range, repeated"),
        FactSpec("nvidia.driver_packages", "list", "installed driver packages"),
        FactSpec("nvidia.packages_open", "bool", "a driver package is of the open flavour"),
        FactSpec("nvidia.want.branch", "int", "driver branch to install for these cards"),
        FactSpec("nvidia.want.package", "text", "its package on this distribution"),
        FactSpec("nvidia.want.command", "text", "the command that installs it"),
        FactSpec("nvidia.want.headers", "text", "the command that installs this kernel's headers"),
        FactSpec("nvidia.want.initramfs", "text", "the command that rebuilds the initial RAM disk"),
    ),
    derive=derive,
)
