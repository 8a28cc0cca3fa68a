"""Facts of this machine next to those of a container on it: most often, a container lacks something that the machine has."""

from __future__ import annotations

from gpudoctor.facts.collect import gather
from gpudoctor.model.facts import Fact, Known
from gpudoctor.system.host import Host

PROBES = ("machine", "kernel", "environment", "user", "pci", "gpus", "nvidia", "gpu_files")
SECONDS = 5.0
KEPT = {
    "gpus": "outside.gpus",
    "gpu_files.nodes": "outside.nodes",
    "gpu_files.node_groups": "outside.node_groups",
    "gpu_files.cdi": "outside.cdi",
    "kernel.release": "outside.kernel",
    "nvidia.kernel_module.version": "outside.nvidia_driver",
}
"""Names of facts of this machine, with their names among the facts of a container."""


_TEXTS = ("outside.kernel", "outside.nvidia_driver")
_MAPS = ("outside.node_groups",)


def recorded(content: object) -> dict[str, Fact]:
    """The facts of outside() from a recording (the content of beside.json). Values of another type are left out."""
    table = content if isinstance(content, dict) else {}
    found: dict[str, Fact] = {}
    for name in KEPT.values():
        value = table.get(name)
        if name in _TEXTS:
            fits = isinstance(value, str)
        elif name in _MAPS:
            fits = isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
        else:
            item_type = dict if name == "outside.gpus" else str
            fits = isinstance(value, list) and all(isinstance(each, item_type) for each in value)
        if fits:
            found[name] = Known(value, "beside.json")
    return found


def outside(host: Host) -> dict[str, Fact]:
    """The facts KEPT of this machine, under their second names; none where `host` is not a container on this machine."""
    if not getattr(host, "in_container", False):
        return {}
    from gpudoctor.system.local_host import LocalHost

    facts = gather(LocalHost(SECONDS), only=PROBES).facts
    named: dict[str, Fact] = {name: facts.get(fact) for fact, name in KEPT.items()}
    return {name: fact for name, fact in named.items() if isinstance(fact, Known)}
