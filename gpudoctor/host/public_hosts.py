"""Servers that everybody uses: where software comes from. An address of theirs says nothing of whose machine it is."""

from __future__ import annotations

_DOMAINS = frozenset(
    """
    alpinelinux.org almalinux.org amd.com anaconda.com anaconda.org apache.org apple.com archlinux.org azure.cn bsc.es
    centos.org cmake.org cncf.io codeberg.org conda.io cran.r-project.org debian.org deb.debian.org docker.com docker.io
    download.pytorch.org epel.org fedoraproject.org files.pythonhosted.org freedesktop.org gcr.io ghcr.io github.com github.io
    githubusercontent.com gitlab.com gnu.org google.com googleapis.com graphcore.ai huggingface.co intel.com jax.dev kaggle.com kernel.org
    khronos.org launchpad.net launchpadcontent.net linux.com llvm.org lunarg.com mcr.microsoft.com microsoft.com mirrors.aliyun.com
    mozilla.org nvcr.io nvidia.com ollama.com onnxruntime.ai openai.com opensuse.org openvino.ai oracle.com portablecl.org
    pypa.io pypi.org python.org pythonhosted.org pytorch.org quay.io radeon.com readthedocs.io redhat.com rockylinux.org rubygems.org
    slurm.net snapcraft.io sourceforge.net suse.com systemd.io tensorflow.org tsinghua.edu.cn ubuntu.com ustc.edu.cn vulkan.org
    w3.org wikipedia.org x.org
    """.split()
)


def is_public(host: str) -> bool:
    """Whether the host, or a domain above it, is on the list; this machine's own loop is too."""
    labels = host.lower().rstrip(".").split(".")
    if host.lower() in ("localhost", "127.0.0.1", "[::1]", "::1"):
        return True
    return any(".".join(labels[start:]) in _DOMAINS for start in range(len(labels) - 1))
