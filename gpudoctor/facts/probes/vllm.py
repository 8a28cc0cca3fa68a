"""vLLM: the demands in the metadata of its distribution, and the platform plugins that are installed beside it.

Platform plugins are entry points of the group `vllm.platform_plugins`: docs/design/plugin_system.md of vllm-project/vllm.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudoctor.facts.probes import dist_info
from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

GROUP = "vllm.platform_plugins"
WATCHED = ("torch", "torchvision", "torchaudio", "flashinfer-python", "flashinfer-cubin", "xformers", "triton")
MOST_FOLDERS, MOST_PLUGINS = 16, 16
_KEY = lazy(r"^\s*([A-Za-z0-9_.-]+)\s*=\s*\S")


def plugin_names(text: str) -> list[str]:
    """The names of the platform plugins in an entry_points.txt."""
    names: list[str] = []
    section = ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("[") and stripped.endswith("]"):
            section = stripped[1:-1].strip()
        elif section == GROUP and (match := _KEY.match(line)):
            names.append(match[1])
    return names


def _found(host: Host, folders: list[str]) -> Iterator[dist_info.Distribution]:
    """The distributions whose names begin with vllm, each of the first folder on sys.path that holds it."""
    seen: set[str] = set()
    for folder in folders[:MOST_FOLDERS]:
        for dist in dist_info.from_names(folder, host.listdir(folder))[0]:
            if dist.name.startswith("vllm") and dist.name not in seen:
                seen.add(dist.name)
                yield dist


def _plugins(host: Host, found: list[dist_info.Distribution]) -> list[dict[str, Any]]:
    return [
        {"name": name, "distribution": dist.name, "version": dist.version or Unknown("not recorded")}
        for dist in found if dist.name != "vllm"
        for name in plugin_names(host.read(f"{dist.info}/entry_points.txt", limit=20_000).text)
    ][:MOST_PLUGINS]  # fmt: skip


def _demands(host: Host, info: str) -> tuple[Fact, Fact]:
    metadata = host.read(f"{info}/METADATA", limit=400_000)
    if not metadata.ok:
        unknown = Unknown("permission denied" if metadata.problem == "denied" else "not recorded")
        return unknown, unknown
    said = dist_info.parse_metadata(metadata.text)
    demands = {name: demand for name in WATCHED if (demand := dist_info.required_version(said["requires"], name))}
    python = str(said.get("requires-python") or "")
    return Known(demands, f"{info}/METADATA"), Known(python, f"{info}/METADATA") if python else Absent(f"{info}/METADATA")


def collect(host: Host, facts: Facts) -> Collected:
    folders = facts.value("python.folders")
    if not isinstance(folders, list) or not facts.known("python.distributions"):
        return
    found = list(_found(host, [str(folder) for folder in folders]))
    own = next((dist for dist in found if dist.name == "vllm"), None)
    if own is not None:
        demands, python = _demands(host, own.info)
        yield "vllm.demands", demands
        yield "vllm.requires_python", python
    looked = bool(found) or host.origin == "live"
    yield "vllm.plugins", Known(_plugins(host, found), GROUP) if looked else Unknown("not recorded")


PROBE = Probe(
    "vllm",
    (
        FactSpec("vllm.demands", "map", "what vLLM's metadata demands of torch, FlashInfer and others: name to specifier"),
        FactSpec("vllm.requires_python", "text", "the Pythons that vLLM's metadata names"),
        FactSpec("vllm.plugins", "records", "platform plugins of vLLM in the target environment", item="vllm_plugin", fields={
            "name": "name of the plugin", "distribution": "what brings it", "version": "its version",
        }),
    ),
    collect,
    needs=("python.folders", "python.distributions"),
)  # fmt: skip
