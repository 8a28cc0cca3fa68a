"""The addresses of PyTorch's package indexes that hold the newest release of each build, by the tables."""

from __future__ import annotations

from gpudoctor.facts.derive._rocm_wheels import index_for
from gpudoctor.facts.derive._tables import table
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.rules.versions import dotted

_OF_PYTORCH = lazy(r"cu\d{2,3}|rocm\d\.\d|rocm[45]\.\d\.\d|xpu|cpu")
"""Local versions that have an index at PyTorch. Later ROCm builds with three numbers (rocm7.2.1, rocm7.10.0a20260416) are AMD's own."""
ROOT = "https://download.pytorch.org/whl/"


def newest(gfx: str | None = None) -> dict[str, str]:
    """The addresses by the names that templates use (index.cuda). `gfx`: the AMD target that the ROCm wheels must have kernels for."""
    releases = table("rocm-torch")["index"]
    return {
        "index.cuda": f"{ROOT}{table('cuda-torch')['pick'][0]['flavour']}",
        "index.rocm": index_for(max(releases, key=lambda release: dotted(release) or ()), gfx),
        "index.xpu": f"{ROOT}xpu",
        "index.cpu": f"{ROOT}cpu",
    }


def of_local(local: str) -> str | None:
    """The index that holds the wheels with this local version ('cu126', 'rocm6.4'); None where PyTorch has none."""
    return f"{ROOT}{local}" if _OF_PYTORCH.fullmatch(local) else None
