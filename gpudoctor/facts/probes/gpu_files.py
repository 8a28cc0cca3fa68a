"""The device files through which programs reach GPUs, their groups, and the files that describe them to containers (CDI)."""

from __future__ import annotations

import re

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

_NODE = lazy(r"nvidia(\d{1,4}|ctl|-uvm|-uvm-tools|-modeset)|kfd|dxg|ipu\d{1,4}(_mem)?")
_RENDER = lazy(r"renderD\d{1,4}|card\d{1,4}")
CDI = ("/etc/cdi", "/var/run/cdi", "/run/cdi")


def collect(host: Host, facts: Facts) -> Collected:
    if host.platform in ("windows", "macos"):
        return
    nodes = [f"/dev/{name}" for name in host.listdir("/dev") if _NODE.fullmatch(name)]
    nodes += [f"/dev/dri/{name}" for name in host.listdir("/dev/dri") if _RENDER.fullmatch(name)]
    looked = bool(nodes) or (host.origin == "live" and host.knows("/dev"))
    yield "gpu_files.nodes", Known(nodes, "/dev") if looked else Unknown("not recorded")
    groups: dict[str, str] = {}
    for node in nodes:
        mode = host.mode(node)
        if mode is not None and mode.gid is not None:
            groups[node] = f"{mode.gid} {mode.group}"
    yield "gpu_files.node_groups", Known(groups, "/dev") if looked else Unknown("not recorded")
    found = dict.fromkeys(
        host.realpath(f"{folder}/{name}") for folder in CDI for name in host.listdir(folder) if re.search(r"\.(ya?ml|json)$", name)
    )
    looked = bool(found) or (host.origin == "live" and host.knows("/etc/cdi"))
    yield "gpu_files.cdi", Known(list(found), " ".join(CDI)) if looked else Unknown("not recorded")


PROBE = Probe(
    "gpu_files",
    (
        FactSpec("gpu_files.nodes", "list", "device files of GPUs and IPUs"),
        FactSpec("gpu_files.node_groups", "map", "number and name of the group of each of them"),
        FactSpec("gpu_files.cdi", "list", "files that describe devices to containers (CDI)"),
    ),
    collect,
)
