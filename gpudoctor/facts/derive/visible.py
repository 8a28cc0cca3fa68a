"""The devices that each framework lists, by their ids alone: conditions look into lists of texts, and not into lists of records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.model.facts import Fact, Facts, FactSpec, Known, Unknown


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    frameworks = facts.get("python.frameworks")
    if not isinstance(frameworks, Known):
        yield "visible", frameworks
        return
    listed: dict[str, object] = {}
    for name, framework in frameworks.value.items():
        devices = framework.get("devices") if isinstance(framework, Mapping) else framework
        if isinstance(devices, list):
            listed[name] = [str(device.get("id")) for device in devices if isinstance(device, Mapping)]
        else:
            listed[name] = devices if isinstance(devices, Unknown) else Unknown("not recorded")
    yield "visible", Known(listed, frameworks.source)


DERIVATION = Derivation(
    "visible", provides=(FactSpec("visible", "map", "per framework: the ids of the devices that it lists, such as xpu:0"),), derive=derive
)
