"""Whether this runs inside a container, of which kind, and how much shared memory it has."""

from __future__ import annotations

import re

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Absent, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

_SIZE = lazy(r"\bsize=(\d+)([kmg]?)\b", re.IGNORECASE)
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_GROUPS = (
    ("kubernetes", lazy(r"kubepods|kubelet")),
    ("docker", lazy(r"/docker[-/]|docker-[0-9a-f]{12}|/var/lib/docker/|/containers/[0-9a-f]{64}/")),
    ("podman", lazy(r"libpod|/containers/storage/overlay")),
    ("lxc", lazy(r"/lxc[/.]|lxc\.payload|lxcfs")),
)


def parse_container(cgroup: str, mountinfo: str) -> str | None:
    """The kind of container, by the control groups, else by the mount of the root folder; None outside containers."""
    root = "\n".join(line for line in mountinfo.splitlines() if len(line.split()) > 4 and line.split()[4] in ("/", "/etc/hostname"))
    for text in (cgroup, root):
        for kind, pattern in _GROUPS:
            if pattern.search(text):
                return kind
    return None


def container_kind(host: Host) -> str | None:
    """The kind of container that this runs in, by marker files, variables and mounts; None outside containers."""
    if host.env("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if host.exists("/.dockerenv"):
        return "docker"
    if host.exists("/run/.containerenv"):
        return "podman"
    if host.exists("/.singularity.d") or host.env("APPTAINER_CONTAINER") or host.env("SINGULARITY_CONTAINER"):
        return "apptainer"
    said = host.env("container")
    if said:
        return said.split("-")[0]
    if host.platform in ("windows", "macos"):
        return None
    kind = parse_container(host.read("/proc/1/cgroup").text, host.read("/proc/self/mountinfo").text)
    return kind or ("docker" if host.platform == "container" else None)


def parse_shm(mounts: str) -> int | None:
    """The bytes of /dev/shm, by the option size of its mount (65536k in docker); None where it has no such option."""
    for line in mounts.splitlines():
        words = line.split()
        if "/dev/shm" in words[:5]:
            found = _SIZE.search(line)
            if found:
                return int(found[1]) * _UNITS[found[2].lower()]
    return None


def collect(host: Host, facts: Facts) -> Collected:
    kind = container_kind(host)
    yield "container.kind", Known(kind) if kind else Absent()
    if host.platform in ("windows", "macos"):
        return
    size = parse_shm(host.read("/proc/mounts").text) or parse_shm(host.read("/proc/self/mountinfo").text)
    yield "container.shm_bytes", Known(size, "/proc/mounts") if size else Unknown("not recorded")


PROBE = Probe(
    "container",
    (
        FactSpec("container.kind", "text", "docker, podman, kubernetes, lxc, apptainer; absent outside containers"),
        FactSpec("container.shm_bytes", "int", "size of /dev/shm where its mount names one"),
    ),
    collect,
)
