"""The display adapters that Windows lists, asked on Windows or from inside WSL."""

from __future__ import annotations

import re
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe, from_run
from gpudoctor.model.facts import Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system import json_text
from gpudoctor.system.host import Host

ADAPTERS = ("-NoProfile", "-Command", "Get-CimInstance Win32_VideoController | ConvertTo-Json")
_IDS = lazy(r"VEN_([0-9A-F]{4})&DEV_([0-9A-F]{4})", re.IGNORECASE)
_VENDORS = (("nvidia", "nvidia"), ("advanced micro", "amd"), ("amd", "amd"), ("radeon", "amd"), ("intel", "intel"),
            ("qualcomm", "qualcomm"), ("microsoft", "microsoft"))  # fmt: skip
_BY_ID = {"10de": "nvidia", "1002": "amd", "8086": "intel", "1414": "microsoft", "5143": "qualcomm", "4d4f4351": "qualcomm"}

ADAPTER_FIELDS = {
    "name": "text", "vendor": "text", "pci_id": "text", "driver_version": "dotted", "memory_bytes": "int", "error_code": "int",
    "status": "text", "driver_date": "text", "cores": "text", "metal": "text",
}  # fmt: skip


def parse_adapters(text: str) -> list[dict[str, Any]] | None:
    """The adapters in the JSON of Win32_VideoController, one object or a list; None for another text. AdapterRAM has 32 bits: 4 GB and more
    appear as 4293918720 or less, so that it is a lower bound."""
    try:
        said = json_text.loads(text.strip().lstrip("\ufeff"))
    except ValueError:
        return None
    found = []
    for item in said if isinstance(said, list) else [said]:
        if not isinstance(item, dict):
            continue
        ids = _IDS.search(str(item.get("PNPDeviceID") or ""))
        name = str(item.get("Name") or item.get("Caption") or "").strip()
        maker = f"{item.get('AdapterCompatibility') or ''} {name}".lower()
        vendor = _BY_ID.get(ids[1].lower()) if ids else None
        vendor = vendor or next((known for word, known in _VENDORS if word in maker), "other")
        memory = item.get("AdapterRAM")
        found.append({
            "name": name, "vendor": vendor, "pci_id": f"{ids[1].lower()}:{ids[2].lower()}" if ids else None,
            "driver_version": item.get("DriverVersion"), "memory_bytes": memory if isinstance(memory, int) and memory > 0 else None,
            "error_code": item.get("ConfigManagerErrorCode"), "status": item.get("Status"), "driver_date": _date(item.get("DriverDate")),
        })  # fmt: skip
    return found


def _date(value: Any) -> str | None:
    """The day of a CIM date or of '/Date(milliseconds)/', in the form 2024-02-14; None for another value."""
    text = str(value or "")
    found = re.match(r"(\d{4})-?(\d\d)-?(\d\d)", text)
    if found:
        return f"{found[1]}-{found[2]}-{found[3]}"
    millis = re.search(r"Date\((\d+)", text)
    if millis:
        import datetime

        return datetime.datetime.fromtimestamp(int(millis[1]) / 1000, datetime.timezone.utc).date().isoformat()
    return None


def collect(host: Host, facts: Facts) -> Collected:
    kind = facts.value("platform.kind", host.platform)
    if kind == "windows":
        said = host.run(["powershell", *ADAPTERS], timeout=8.0)
    elif str(kind).startswith("wsl"):
        said = host.run(["powershell.exe", *ADAPTERS], timeout=8.0)
        if not said.ok and host.origin == "live" and not said.not_recorded:
            said = host.run(["/mnt/c/Windows/System32/WindowsPowerShell/v1.0/powershell.exe", *ADAPTERS], timeout=8.0)
    else:
        return
    adapters = parse_adapters(said.stdout) if said.ok else None
    yield "windows.adapters", from_run(said, adapters)
    if adapters is None:
        return
    for vendor in ("nvidia", "intel", "amd"):
        versions = [item["driver_version"] for item in adapters if item["vendor"] == vendor and item["driver_version"]]
        yield f"windows.driver.{vendor}", Known(versions[0], "Win32_VideoController") if versions else Unknown("not recorded")


PROBE = Probe(
    "windows",
    (
        FactSpec(
            "windows.adapters", "records", "display adapters as Windows lists them", item="adapter",
            fields=ADAPTER_FIELDS,
        ),
        FactSpec("windows.driver.nvidia", "dotted", "version of NVIDIA's Windows driver as Windows counts it, such as 31.0.15.5186"),
        FactSpec("windows.driver.intel", "dotted", "version of Intel's Windows graphics driver"),
        FactSpec("windows.driver.amd", "dotted", "version of AMD's Windows driver"),
    ),
    collect,
    needs=("platform.kind",),
)  # fmt: skip
