"""The RDMA ports of a machine that has several GPUs: elsewhere a port that is down or slow concerns no GPU."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.model.facts import Fact, Facts, FactSpec, Known, Unknown

FIELDS = {"name": "text", "device": "text", "state": "text", "rate_gbits": "float", "sibling_rate_gbits": "float", "link_layer": "text"}


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    ports, gpus = facts.get("rdma.ports"), facts.value("gpus")
    if not isinstance(ports, Known) or gpus is None:
        yield "rdma_ports_of_gpus", ports if isinstance(ports, Unknown) else Unknown("not recorded")
        return
    cards = [gpu for gpu in gpus if gpu.get("kind") in ("discrete", "accelerator")]
    yield (
        "rdma_ports_of_gpus",
        Known([{name: port[name] for name in FIELDS} for port in ports.value] if len(cards) > 1 else [], ports.source),
    )


DERIVATION = Derivation(
    "network",
    provides=(FactSpec("rdma_ports_of_gpus", "records", "RDMA ports of a machine with several GPUs", item="rdma_port", fields=FIELDS),),
    derive=derive,
)
