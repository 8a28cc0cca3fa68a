"""The devices that Ollama found at its last start, by its log: lines of discover/types.go and discover/runner.go of ollama/ollama."""

from __future__ import annotations

from typing import Any

from gpudoctor.model.lazy_pattern import lazy

_FIELD = lazy(r'(?<!\w)(\w{1,60})=("(?:[^"\\]|\\.)*"|\S*)')
_LISTENING = lazy(r"Listening on \S+ \(version (\d[\w.+-]*)\)")
_VENDORS = {"cuda": "nvidia", "rocm": "amd", "metal": "apple"}
_WORDS = (("nvidia", "nvidia"), ("geforce", "nvidia"), ("radeon", "amd"), ("amd", "amd"), ("intel", "intel"), ("apple", "apple"))
_SKIPPED = (
    ("dropping integrated GPU", "integrated"), ("NVIDIA driver too old", "driver"),
    ("compute capability not in compiled architectures", "compute-capability"),
)  # fmt: skip
PATTERN = "inference compute|Listening on|dropping integrated GPU|NVIDIA driver too old|not in compiled architectures|GPU discovery"
"""The lines that are asked of the journal, none of which holds what people said to a model."""


def fields_of(line: str) -> dict[str, str]:
    """The fields name=value of a line of the log, without quotes."""
    return {name: value.strip('"').replace('\\"', '"') for name, value in _FIELD.findall(line)}


def vendor_of(library: str, text: str) -> str:
    """The vendor of a device: by the library that serves it, else by a word in its name; 'other' without either."""
    named = _VENDORS.get(library.lower())
    return named or next((vendor for word, vendor in _WORDS if word in text.lower()), "other")


def _device(said: dict[str, str]) -> dict[str, Any]:
    name = said.get("description") or said.get("name", "")
    library = said.get("library", "")
    return {
        "id": said.get("id", ""), "library": library.lower(), "name": name, "vendor": vendor_of(library, name),
        "compute": said.get("compute") or said.get("variant") or None, "folder": said.get("libdirs", "").split(",")[-1] or None,
        "driver": said.get("driver") or None, "address": said.get("pci_id") or None, "type": said.get("type") or None,
    }  # fmt: skip


def parse_log(text: str) -> tuple[str, list[dict[str, Any]] | None, list[dict[str, Any]]]:
    """(version, devices, devices left out) of the last start. The devices are None where the log does not show them, and [] where Ollama
    computes on the processor."""
    version = ""
    devices: list[dict[str, Any]] | None = None
    skipped: list[dict[str, Any]] = []
    for line in text.splitlines():
        started = _LISTENING.search(line)
        if started:
            version, devices, skipped = started[1], None, []
        elif "inference compute" in line:
            said = fields_of(line)
            devices = devices or []
            if said.get("library", "cpu").lower() != "cpu":
                devices.append(_device(said))
        else:
            why = next((why for words, why in _SKIPPED if words in line), "")
            said = fields_of(line) if why else {}
            if why:
                skipped.append({"name": said.get("description") or said.get("device") or said.get("name", ""), "why": why})
    return version, devices, skipped
