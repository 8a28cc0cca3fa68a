"""The ONNX Runtime wheel that `setup` installs for the GPUs and drivers that are here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._pythons import obtainable
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import older
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown

_OLDEST_OF_CUDA_13 = "7.5"
"""The lowest compute capability that CUDA 13 serves: it dropped Maxwell, Pascal and Volta."""
_CHOICES = {
    "13": ("onnxruntime-gpu[cuda,cudnn]>=1.27", ">=3.11,<3.15"),
    "12": ("onnxruntime-gpu[cuda,cudnn]>=1.21,<1.27", ">=3.10,<3.15"),
}
"""By CUDA major release: the requirement, and the Pythons that it has wheels for. The extras cuda and cudnn bring the libraries."""


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    if not facts.known("setup.name"):
        return
    yield "setup.onnxruntime.provider", _provider(facts)
    cuda = _cuda(facts)
    yield "setup.onnxruntime.cuda", cuda
    if isinstance(cuda, Known) and cuda.value in _CHOICES:
        requirement, python = _CHOICES[cuda.value]
        yield "setup.onnxruntime.package", Known(requirement, "onnxruntime-gpu.toml")
        yield "setup.onnxruntime.python", Known(python, "onnxruntime-gpu.toml")


def _provider(facts: Facts) -> Fact:
    """cuda, migraphx, openvino, directml or cpu: by the vendors of the GPUs and the operating system."""
    gpus, kind = facts.value("gpus"), facts.value("platform.kind")
    if not isinstance(gpus, (list, tuple)):
        return Unknown("not recorded")
    vendors = {str(gpu.get("vendor")) for gpu in gpus if isinstance(gpu, Mapping)}
    if "nvidia" in vendors and kind in ("linux", "container", "wsl2", "windows"):
        return Known("cuda", "gpus")
    if kind == "windows":
        return Known("directml" if vendors else "cpu", "gpus")
    if "amd" in vendors and facts.value("amd.cards", 0) and kind in ("linux", "container"):
        return Known("migraphx", "gpus")
    if "intel" in vendors and kind in ("linux", "container", "wsl2"):
        return Known("openvino", "gpus")
    return Known("cpu", "gpus")


def _cuda(facts: Facts) -> Fact:
    """The CUDA major release of the wheel: '13' where driver, cards and Python allow it, else '12', or '0' where the driver is too old for
    that."""
    cards = [card for card in facts.value("nvidia.cards", []) or [] if isinstance(card, Mapping)]
    if not cards:
        return Absent("nvidia.cards")
    driver = facts.value("nvidia.in_use") or facts.value("windows.driver.nvidia_version") or _driver_to_install(facts)
    column = "windows" if facts.value("platform.kind") in ("windows", "wsl2") else "linux"
    floors = {str(row["major"]): row[column] for row in table("cuda-driver")["floor"]}
    capabilities = [str(card["compute_capability"]) for card in cards if isinstance(card.get("compute_capability"), str)]
    if not driver:
        return Unknown("not recorded")
    new_enough = capabilities and not any(older(one, _OLDEST_OF_CUDA_13) for one in capabilities)
    if new_enough and older(driver, floors["13"]) is False and obtainable(facts, _CHOICES["13"][1]):
        return Known("13", "cuda-driver.toml")
    return Known("0" if older(driver, floors["12"]) else "12", "cuda-driver.toml")


def _driver_to_install(facts: Facts) -> str | None:
    """The driver that the setup will install, as the newest release of its branch ('580.999'); None where that is unknown."""
    branch = facts.value("nvidia.want.branch")
    return f"{branch}.999" if branch else None


DERIVATION = Derivation(
    "setup_onnxruntime",
    provides=(
        FactSpec("setup.onnxruntime.provider", "text", "cuda, migraphx, openvino, directml or cpu: what suits the GPUs here"),
        FactSpec("setup.onnxruntime.cuda", "text", "CUDA major of the wheel that suits cards and driver; 0: the driver is too old for any"),
        FactSpec("setup.onnxruntime.package", "text", "requirement of that wheel"),
        FactSpec("setup.onnxruntime.python", "text", "Python versions that it has wheels for"),
    ),
    derive=derive,
)
