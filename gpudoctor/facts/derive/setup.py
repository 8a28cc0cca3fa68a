"""What a person asked of `setup`, as facts, so that recipes can ask for them like for any other. In `check` all of them are unknown."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known

PROVIDES = (
    FactSpec("setup.name", "text", "the recipe that was asked for"),
    FactSpec("setup.torch", "dotted", "the torch or IPEX release that was asked for (--torch)"),
    FactSpec("setup.torch_pin", "text", "the release that was asked for as the end of a requirement: '==2.8.*'; '' where none was"),
    FactSpec("setup.python_version", "dotted", "the Python that was asked for (--python-version)"),
    FactSpec("setup.purpose", "text", "training, inference, torch, tensorflow or onnxruntime (--for)"),
    FactSpec("setup.folder", "text", "the folder of what was downloaded by hand, such as an SDK (--folder)"),
    FactSpec("setup.env", "text", "folder of the environment that is set up", privacy="identifying"),
    FactSpec("setup.user", "text", "the user who shall use the device", privacy="identifying"),
    FactSpec("setup.gpu_vendors", "list", "vendors of GPUs for which a driver is to be set up: those here"),
)


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    if not facts.known("setup.name"):
        return
    asked = facts.value("setup.torch")
    yield "setup.torch_pin", Known((f"=={asked}.*" if str(asked).count(".") < 2 else f"=={asked}") if asked else "", "--torch")
    if not facts.known("setup.user"):
        yield "setup.user", facts.get("user.name")
    vendors = facts.value("gpu.vendors")
    yield "setup.gpu_vendors", Known(list(vendors), "gpu.vendors") if isinstance(vendors, (list, tuple)) else Absent("gpu.vendors")


DERIVATION = Derivation(name="setup", provides=PROVIDES, derive=derive)
