"""This machine beside a container on it: facts that only the two together show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known

_CAPABLE = ("compute", "all")


def derive(facts: Facts) -> Iterable[tuple[str, Fact]]:
    nodes = facts.get("outside.nodes")
    if not isinstance(nodes, Known):
        return
    cdi = facts.get("outside.cdi")
    if isinstance(cdi, Known):
        yield "outside.cdi_count", Known(len(cdi.value), cdi.source)
    gpus = facts.get("outside.gpus")
    if isinstance(gpus, Known):
        yield "outside.gpu_vendors", Known(sorted({str(gpu.get("vendor")) for gpu in gpus.value}), gpus.source)
    inside = facts.get("gpu_files.nodes")
    if isinstance(inside, Known):
        missing = [node for node in nodes.value if node not in inside.value]
        yield "sides.nodes_missing", Known(missing, "/dev")
        closed = [vendor for vendor, marks in _MARKS.items() if _has(nodes.value, marks) and not _has(inside.value, marks)]
        yield "sides.closed_vendors", Known(closed, "/dev")
    yield (
        "sides.groups_differ",
        Known(groups_differ(facts.value("outside.node_groups") or {}, facts.value("gpu_files.node_groups") or {}), "/dev"),
    )
    library, driver = facts.get("nvidia.libcuda_version"), facts.get("outside.nvidia_driver")
    if isinstance(library, Known) and isinstance(driver, Known):
        yield "sides.driver_library", Known(str(library.value), library.source) if library.value != driver.value else Absent(library.source)
    bare = without_compute(facts)
    yield "sides.without_compute", Absent("environment") if bare is None else Known(bare, "NVIDIA_DRIVER_CAPABILITIES")
    yield "sides.rows", Known(list(rows(facts)), "this machine and the container")


_MARKS = {"nvidia": ("/dev/nvidia0", "/dev/nvidiactl"), "amd": ("/dev/kfd",), "dri": ("/dev/dri/renderD",), "wsl": ("/dev/dxg",)}


def _has(nodes: Iterable[str], marks: tuple[str, ...]) -> bool:
    return any(node.startswith(marks) for node in nodes)


def groups_differ(outside: Mapping[str, str], inside: Mapping[str, str]) -> list[dict[str, Any]]:
    """The records of the fact sides.groups_differ: nodes whose group number has another name in the container. The maps give 'number name'
    by node."""
    found = []
    for node, ours in outside.items():
        number, _, name = ours.partition(" ")
        theirs = inside.get(node, "")
        if theirs and theirs != ours and number == theirs.partition(" ")[0]:
            found.append({"node": node, "number": number, "outside": name, "inside": theirs.partition(" ")[2]})
    return found


def rows(facts: Facts) -> Iterable[dict[str, str]]:
    """The rows of the table that compares the two; what neither side has is left out."""
    for what, left, right in (
        ("device files", _nodes(facts.value("outside.nodes")), _nodes(facts.value("gpu_files.nodes"))),
        ("their groups", _groups(facts.value("outside.node_groups")), _groups(facts.value("gpu_files.node_groups"))),
        ("NVIDIA driver", facts.value("outside.nvidia_driver"), _library(facts)),
        ("CDI files", ", ".join(facts.value("outside.cdi") or []), ""),
    ):
        if left or right:
            yield {"what": what, "outside": str(left or "none"), "inside": str(right or "none")}
    asked = facts.value("engine.gpus_asked")
    if asked is not None:
        yield {"what": "started with", "outside": "", "inside": "GPUs" if asked else "no GPU asked for"}


def _nodes(nodes: Any) -> str:
    names = [str(node).removeprefix("/dev/") for node in nodes or []]
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _groups(groups: Any) -> str:
    return ", ".join(dict.fromkeys((groups or {}).values()))


def _library(facts: Facts) -> str:
    version = facts.value("nvidia.libcuda_version")
    return f"libcuda {version}" if version else "no libcuda" if facts.value("outside.nvidia_driver") else ""


def without_compute(facts: Facts) -> bool | None:
    """Whether NVIDIA_DRIVER_CAPABILITIES of the container leaves libcuda out; None where it is not set."""
    said = facts.value("env.NVIDIA_DRIVER_CAPABILITIES")
    return None if said is None else not any(word in _CAPABLE for word in str(said).replace(" ", "").split(","))


DERIVATION = Derivation(
    "sides",
    (
        FactSpec("outside.nodes", "list", "beside a container: device files of this machine"),
        FactSpec("outside.node_groups", "map", "beside a container: number and name of their groups on this machine"),
        FactSpec("outside.cdi", "list", "beside a container: CDI files of this machine"),
        FactSpec("outside.cdi_count", "int", "beside a container: how many these are"),
        FactSpec("outside.gpu_vendors", "list", "beside a container: vendors of the GPUs of this machine"),
        FactSpec("outside.kernel", "text", "beside a container: kernel of this machine"),
        FactSpec("outside.nvidia_driver", "dotted", "beside a container: NVIDIA's kernel module of this machine"),
        FactSpec("outside.gpus", "records", "beside a container: GPUs of this machine", item="outside_gpu", fields={
            "vendor": "text", "name": "text", "node": "text", "driver": "text"}),
        FactSpec("sides.nodes_missing", "list", "device files that this machine has and the container has not"),
        FactSpec("sides.closed_vendors", "list", "nvidia, amd, dri, wsl: of which this machine has device files and the container none"),
        FactSpec("sides.groups_differ", "records", "nodes whose group number has another name in the container", item="node_group", fields={
            "node": "text", "number": "text", "outside": "its name on this machine", "inside": "its name in the container"}),
        FactSpec("sides.driver_library", "dotted", "version of the container's libcuda where this machine's module has another"),
        FactSpec("sides.without_compute", "bool", "NVIDIA_DRIVER_CAPABILITIES of the container leaves the compute libraries out"),
        FactSpec("sides.rows", "records", "this machine and the container, as a table", item="side", fields={
            "what": "what is compared", "outside": "on this machine", "inside": "in the container"}),
    ),
    derive,
)  # fmt: skip
