"""ZLUDA, which runs programs for CUDA on AMD's GPUs, so that a torch for CUDA is right there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.model.facts import Fact, Facts, FactSpec, Known, Unknown


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    devices = facts.value("python.frameworks.torch.devices")
    seen = isinstance(devices, list) and any(isinstance(device, Mapping) and "[ZLUDA]" in str(device.get("name")) for device in devices)
    if seen or facts.value("text.zluda") is True:
        yield "zluda.used", Known(True, "torch's devices" if seen else "text")
    else:
        yield "zluda.used", Known(False, "torch's devices") if devices else Unknown("not recorded")


DERIVATION = Derivation(
    "zluda", (FactSpec("zluda.used", "bool", "whether torch names a device of ZLUDA, or a pasted text shows ZLUDA at work"),), derive
)
