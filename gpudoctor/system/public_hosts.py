"""Public servers of software, whose addresses say nothing about the person who uses them."""

from __future__ import annotations

_DOMAINS = frozenset(
    """
    almalinux.org alpinelinux.org amd.com anaconda.com anaconda.org apache.org apple.com archlinux.org astral.sh azure.cn bsc.es
    centos.org cloudflare.com cmake.org cncf.io codeberg.org conda-forge.org conda.io cran.r-project.org crates.io deb.debian.org
    debian.org docker.com docker.io doi.org dot.net download.pytorch.org epel.org fedoraproject.org files.pythonhosted.org
    freedesktop.org gcr.io ghcr.io github.com github.io githubusercontent.com gitlab.com gnu.org golang.org google.com googleapis.com
    graphcore.ai huggingface.co intel.com jax.dev json-schema.org kaggle.com keras.io kernel.org khronos.org launchpad.net
    launchpadcontent.net linux.com llvm.org lunarg.com mamba.pm mcr.microsoft.com microsoft.com mirrors.aliyun.com mozilla.org
    nodejs.org npmjs.com nuget.org numpy.org nvcr.io nvidia.com ollama.com onnxruntime.ai openai.com opensource.org openstreetmap.org
    opensuse.org openvino.ai oracle.com pocl.org portablecl.org pydata.org pypa.io pypi.org python.org pythonhosted.org pytorch.org
    quay.io radeon.com ray.io readthedocs.io redhat.com rockylinux.org rubygems.org rust-lang.org scikit-learn.org scipy.org shields.io
    slurm.net snapcraft.io sourceforge.net spdx.org sphinx-doc.org stackoverflow.com suse.com systemd.io tensorflow.org tsinghua.edu.cn
    ubuntu.com ustc.edu.cn vulkan.org w3.org wikipedia.org x.org
    """.split()
)


def is_public(host: str) -> bool:
    """Whether the host or a domain above it is on the list, or the host is this machine (loopback)."""
    labels = host.lower().rstrip(".").split(".")
    if host.lower() in ("localhost", "127.0.0.1", "[::1]", "::1"):
        return True
    return any(".".join(labels[start:]) in _DOMAINS for start in range(len(labels) - 1))
