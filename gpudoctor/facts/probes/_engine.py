"""How a container was started, by the inspection of docker or podman."""

from __future__ import annotations

from gpudoctor.facts.probes._probe import Collected
from gpudoctor.model.facts import Known, Unknown
from gpudoctor.system.host import Host


def collect(host: Host) -> Collected:
    engine = getattr(host, "engine", None)
    if engine is None:
        return
    source = f"{engine.name} inspect"
    yield "engine.name", Known(engine.name, source)
    yield "engine.image", Known(engine.image, source)
    yield "engine.gpus_asked", Unknown("not recorded") if engine.gpus_asked is None else Known(engine.gpus_asked, source)
    yield "engine.devices", Known(engine.devices, source)
    yield "engine.groups", Known(engine.groups, source)
