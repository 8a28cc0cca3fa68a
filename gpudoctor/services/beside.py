"""This machine beside a container on it: what the one has and the other lacks is the commonest fault of a container."""

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
"""Facts of this machine, and how they are called beside those of a container."""


_TEXTS = ("outside.kernel", "outside.nvidia_driver")
_MAPS = ("outside.node_groups",)


def recorded(said: object) -> dict[str, Fact]:
    """The same from a recording (beside.json). What is not as we write it is left out."""
    table = said if isinstance(said, dict) else {}
    found: dict[str, Fact] = {}
    for name in KEPT.values():
        value = table.get(name)
        if name in _TEXTS:
            fits = isinstance(value, str)
        elif name in _MAPS:
            fits = isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
        else:
            kind = dict if name == "outside.gpus" else str
            fits = isinstance(value, list) and all(isinstance(each, kind) for each in value)
        if fits:
            found[name] = Known(value, "beside.json")
    return found


def outside(host: Host) -> dict[str, Fact]:
    """What this machine has of a container that runs on it; nothing where `host` is no container of this machine."""
    if not getattr(host, "in_container", False):
        return {}
    from gpudoctor.system.local_host import LocalHost

    facts = gather(LocalHost(SECONDS), only=PROBES).facts
    named: dict[str, Fact] = {name: facts.get(fact) for fact, name in KEPT.items()}
    return {name: fact for name, fact in named.items() if isinstance(fact, Known)}
