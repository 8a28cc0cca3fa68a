"""Macs: the processor, Rosetta, graphics adapters."""

from __future__ import annotations

import re
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe, from_run
from gpudoctor.facts.probes.windows import ADAPTER_FIELDS
from gpudoctor.model.facts import Facts, FactSpec, Known
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system import json_text
from gpudoctor.system.host import Host

_BYTES = lazy(r"(?<!\d)(\d{1,9})\s{0,8}(MB|GB)", re.IGNORECASE)


def parse_displays(text: str) -> list[dict[str, Any]] | None:
    """The adapters in `system_profiler SPDisplaysDataType -json`; None for what is no such document."""
    try:
        said = json_text.loads(text)
    except ValueError:
        return None
    found = []
    for item in said.get("SPDisplaysDataType", []) if isinstance(said, dict) else []:
        name = str(item.get("sppci_model") or item.get("_name") or "GPU")
        maker = str(item.get("spdisplays_vendor") or name).lower()
        vendor = next((word for word in ("apple", "amd", "intel", "nvidia") if word in f"{maker} {name.lower()}"), "other")
        size = _BYTES.search(str(item.get("spdisplays_vram") or item.get("_spdisplays_vram") or ""))
        found.append({
            "name": name, "vendor": vendor, "cores": item.get("sppci_cores"),
            "metal": str(item.get("spdisplays_mtlgpufamilysupport") or "").removeprefix("spdisplays_") or None,
            "memory_bytes": int(size[1]) * (2**30 if size[2].upper() == "GB" else 2**20) if size else None,
        })  # fmt: skip
    return found


def collect(host: Host, facts: Facts) -> Collected:
    if host.platform != "macos":
        return
    said = host.run(["system_profiler", "SPDisplaysDataType", "-json"], timeout=10.0)
    yield "macos.adapters", from_run(said, parse_displays(said.stdout) if said.ok else None)
    brand = host.run(["sysctl", "-n", "machdep.cpu.brand_string"])
    yield "macos.chip", from_run(brand, brand.stdout.strip() or None)
    yield "macos.apple_silicon", from_run(brand, brand.stdout.startswith("Apple") if brand.ok and brand.stdout.strip() else None)
    translated = host.run(["sysctl", "-n", "sysctl.proc_translated"])
    if translated.ok and translated.stdout.strip() in ("0", "1"):
        yield "macos.rosetta", Known(translated.stdout.strip() == "1", "sysctl sysctl.proc_translated")
    else:
        # Intel Macs have no such key.
        yield "macos.rosetta", Known(False, "sysctl") if brand.ok and "Intel" in brand.stdout else from_run(translated, None)


PROBE = Probe(
    "macos",
    (
        FactSpec(
            "macos.adapters", "records", "graphics adapters of a Mac", item="adapter",
            fields=ADAPTER_FIELDS,
        ),
        FactSpec("macos.chip", "text", "processor, such as Apple M2"),
        FactSpec("macos.apple_silicon", "bool", "whether the processor is Apple's"),
        FactSpec("macos.rosetta", "bool", "whether this runs translated for Intel processors"),
    ),
    collect,
)  # fmt: skip
