"""What joins the GPUs of one machine with each other: NVLink, XGMI, Xe Link, else the way through PCI."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

KFD = "/sys/class/kfd/kfd/topology/nodes"
XGMI = "11"
"""CRAT_IOLINK_TYPE_XGMI of the kernel (amdkfd/kfd_crat.h); 2 is PCI Express."""
FAR = {"PIX": "one PCI switch", "PXB": "several PCI switches", "PHB": "host bridge", "NODE": "same NUMA node", "SYS": "across NUMA nodes"}
"""How nvidia-smi topo -m calls what is no NVLink."""
MOST = 64
_GPU = lazy(r"GPU ?(\d{1,3})(?:/\d)?")
_NVLINK = lazy(r"NV(\d{1,2})")
_XELINK = lazy(r"XL(\d{1,2})")
_COLOUR = lazy(r"\x1b\[[\d;]*m")
_PROPERTY = lazy(r"^(\w+) (\d+)$", re.MULTILINE)


def parse_matrix(text: str) -> list[dict[str, Any]] | None:
    """The pairs of GPUs in the matrix of `nvidia-smi topo -m` or `xpu-smi topology -m`; None where there is no matrix."""
    lines = [_COLOUR.sub("", line) for line in text.splitlines()]
    head = next((number for number, line in enumerate(lines) if len(_GPU.findall(line)) > 1 or re.match(r"\s+GPU ?0\b", line)), None)
    if head is None:
        return None
    columns = [_cell(word) for word in _words(lines[head])]
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for line in lines[head + 1 :]:
        row = _words(line)
        first = _cell(row[0]) if row else None
        if first is None:
            break
        for column, word in zip(columns, row[1:], strict=False):
            link = _link(word)
            if column is not None and column > first and link:
                found.setdefault((first, column), {"first": f"GPU {first}", "second": f"GPU {column}", **link})  # tiles of a GPU repeat it
    return list(found.values())


def _words(line: str) -> list[str]:
    return [word.strip() for word in re.split(r"\t|\s{2,}|\|", line) if word.strip()]


def _cell(word: str) -> int | None:
    found = _GPU.fullmatch(word)
    return int(found[1]) if found else None


def _link(word: str) -> dict[str, Any] | None:
    for pattern, name in ((_NVLINK, "NVLink"), (_XELINK, "Xe Link")):
        if found := pattern.fullmatch(word.removesuffix("*")):
            return {"link": name, "lanes": int(found[1])}
    return {"link": FAR[word], "lanes": 0} if word in FAR else None


def xgmi(host: Host) -> Iterator[dict[str, Any]]:
    """Pairs that the kernel's topology joins by XGMI, by the numbers of their nodes; each once."""
    nodes = host.listdir(KFD)[:MOST]
    cards = {node for node in nodes if _properties(host, f"{KFD}/{node}/properties").get("simd_count", "0") != "0"}
    for node in sorted(cards):
        for link in host.listdir(f"{KFD}/{node}/io_links")[:MOST]:
            properties = _properties(host, f"{KFD}/{node}/io_links/{link}/properties")
            other = properties.get("node_to", "")
            if properties.get("type") == XGMI and other in cards and int(node) < int(other):
                yield {"first": f"node {node}", "second": f"node {other}", "link": "XGMI", "lanes": 0}


def _properties(host: Host, path: str) -> Mapping[str, str]:
    return dict(_PROPERTY.findall(host.read(path, limit=20_000).text))


def collect(host: Host, facts: Facts) -> Collected:
    gpus = facts.value("gpus")
    if not isinstance(gpus, list):
        yield "gpu.links", Unknown("not recorded")
        return
    count = {
        vendor: sum(gpu.get("vendor") == vendor and gpu.get("kind") != "integrated" for gpu in gpus)
        for vendor in ("nvidia", "amd", "intel")
    }
    found: list[dict[str, Any]] = []
    if count["amd"] > 1:
        found += xgmi(host)
    why: Unknown | None = None
    for vendor, command in (("nvidia", ("nvidia-smi", "topo", "-m")), ("intel", ("xpu-smi", "topology", "-m"))):
        if count[vendor] > 1:
            said = host.run(command, timeout=6.0)
            pairs = parse_matrix(said.stdout) if said.ok else None
            found += pairs or ()
            why = why if pairs is not None else Unknown(said.why_not())
    yield "gpu.links", why if why is not None and not found else Known(found, "topology of the GPUs")


PROBE = Probe(
    "gpu_links",
    (
        FactSpec(
            "gpu.links", "records", "what joins each two GPUs", item="gpu_link",
            fields={"first": "text", "second": "text", "link": "text", "lanes": "int"},
        ),
    ),
    collect,
    needs=("gpus",),
    slow=True,
)  # fmt: skip
