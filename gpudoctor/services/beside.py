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


def outside(host: Host) -> dict[str, Fact]:
    """What this machine has of a container that runs on it; nothing where `host` is no container of this machine."""
    if not getattr(host, "in_container", False):
        return {}
    from gpudoctor.system.local_host import LocalHost

    facts = gather(LocalHost(SECONDS), only=PROBES).facts
    named: dict[str, Fact] = {name: facts.get(fact) for fact, name in KEPT.items()}
    return {name: fact for name, fact in named.items() if isinstance(fact, Known)}
