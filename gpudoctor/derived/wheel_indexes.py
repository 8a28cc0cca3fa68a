"""PyTorch's package indexes for this machine: where nothing is known of it, those of the newest release."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derived._derivation import Derivation
from gpudoctor.derived._tables import table
from gpudoctor.lang.versions import dotted
from gpudoctor.model.facts import Fact, Facts, FactSpec, Known

INDEX = "https://download.pytorch.org/whl/"


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    cuda = facts.value("cuda.pick.index")
    yield "index.cuda", Known(str(cuda)) if cuda else Known(f"{INDEX}{table('cuda-torch')['pick'][0]['flavour']}")
    rocm = facts.value("torch.rocm_index")
    yield "index.rocm", Known(str(rocm)) if rocm else Known(f"{INDEX}rocm{_newest_rocm()}")
    yield "index.xpu", Known(f"{INDEX}xpu")
    yield "index.cpu", Known(f"{INDEX}cpu")


def _newest_rocm() -> str:
    """The newest ROCm of the newest torch release in the table."""
    indexes = table("rocm-torch")["index"]
    return str(indexes[max(indexes, key=lambda release: dotted(release) or ())][0])


DERIVATION = Derivation(
    name="wheel_indexes",
    provides=(
        FactSpec("index.cuda", "text", "PyTorch's index of CUDA wheels that fit the card and driver; of the newest release where those "
                                       "are unknown"),
        FactSpec("index.rocm", "text", "PyTorch's index of ROCm wheels for the torch release here; of the newest release where that is "
                                       "unknown"),
        FactSpec("index.xpu", "text", "PyTorch's index of wheels for Intel GPUs"),
        FactSpec("index.cpu", "text", "PyTorch's index of wheels for the processor"),
    ),
    derive=derive,
)
