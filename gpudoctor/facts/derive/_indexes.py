"""The addresses of PyTorch's package indexes that hold the newest release of each build, by the tables."""

from __future__ import annotations

from gpudoctor.facts.derive._rocm_wheels import index_for
from gpudoctor.facts.derive._tables import table
from gpudoctor.rules.versions import dotted

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
