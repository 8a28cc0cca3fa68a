"""Mirrors of what `setup torch-xpu` and `setup ipex` need, on 127.0.0.1: small packages and wheels of the real names.

The root that they are for is synthetic: a Debian that says in /etc/os-release that it is Ubuntu 24.04, so that Intel's recipes serve it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from apt_repository import AptRepository, Deb, SigningKey
from debian_root import DebianRoot
from loopback_server import LoopbackServer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from wheel_index import Wheel, WheelIndex

PPA = "kobuk-intel-graphics"
CONFIG = "/root/.config/gpudoctor/config.toml"
UBUNTU = """PRETTY_NAME="Ubuntu 24.04.3 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
VERSION="24.04.3 LTS (Noble Numbat)"
VERSION_CODENAME=noble
ID=ubuntu
ID_LIKE=debian
UBUNTU_CODENAME=noble
"""
_SAYS = "echo x > /tmp/{}; sleep 0.3"
DEBS = (
    Deb("libigc2", "2.11.7"),
    Deb("libigdgmm12", "22.7.2"),
    Deb("libze1", "1.21.9", files={"/usr/share/doc/libze1/readme": "a test\n"}),
    Deb("libze-intel-gpu1", "25.18.33578.6", depends="libigc2, libigdgmm12"),
    Deb("intel-metrics-discovery", "1.14.180"),
    Deb("intel-gsc", "0.9.5"),
    Deb("intel-opencl-icd", "25.18.33578.6", depends="libigc2, libigdgmm12", recommends="intel-gsc",
        files={"/etc/OpenCL/vendors/intel.icd": "/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so\n"},
        conffiles=("/etc/OpenCL/vendors/intel.icd",), scripts={"postinst": _SAYS.format("icd-postinst")}, padding=300_000),
    Deb("ocl-icd-libopencl1", "2.3.2", provides="libopencl1"),
    Deb("clinfo", "3.0.23", depends="ocl-icd-libopencl1", files={"/usr/bin/clinfo": "#!/bin/sh\necho 'Number of platforms  0'\n"}),
    Deb("python3-venv", "3.12.3"),
)  # fmt: skip
_TORCH = """
__version__ = "{version}"
float32 = "float32"
class version:
    cuda = hip = debug = git_version = None
    xpu = "20250101"
class _C:
    _GLIBCXX_USE_CXX11_ABI = True
    _numpy_initialized = False
class _Nothing:
    allow_tf32 = False
    @staticmethod
    def is_available(): return False
    @staticmethod
    def is_built(): return False
    @staticmethod
    def device_count(): return 0
    @staticmethod
    def _is_compiled(): return True
cuda = xpu = mps = _Nothing
class backends:
    cudnn = mps = _Nothing
    class cuda:
        matmul = _Nothing
"""
_IPEX = """
import torch
__version__ = "{version}"
class xpu:
    @staticmethod
    def device_count(): return 0
    @staticmethod
    def is_available(): return False
"""


def _torch(version: str) -> Wheel:
    return Wheel("torch", version, requires=["filelock"], files={"torch/__init__.py": _TORCH.format(version=version)}, padding=300_000)


def wheels() -> list[Wheel]:
    return [
        _torch("2.8.0+xpu"),
        _torch("2.9.0+xpu"),
        Wheel("torchvision", "0.23.0+xpu", requires=["torch==2.8.0+xpu"]),
        Wheel("torchvision", "0.24.0+xpu", requires=["torch==2.9.0+xpu"]),
        Wheel("intel-extension-for-pytorch", "2.8.10+xpu", requires=["psutil"],
              files={"intel_extension_for_pytorch/__init__.py": _IPEX.format(version="2.8.10+xpu")}),
        Wheel("filelock", "3.16.1"),
        Wheel("psutil", "6.1.0"),
    ]  # fmt: skip


@dataclass
class Mirrors:
    packages: LoopbackServer
    repository: AptRepository
    index: WheelIndex

    def config(self, fingerprint: str = "") -> str:
        """The person's configuration file: every place that the two recipes name is here instead."""
        return (
            f'[mirrors]\npypi = "{self.index.at("simple")}"\npytorch = "{self.index.at("whl")}"\nipex = "{self.index.at("ipex")}"\n\n'
            f'[mirrors.{PPA}]\nurl = "{self.packages.url}"\nkey_url = "{self.packages.url}/key.asc"\n'
            f'fingerprint = "{fingerprint or self.repository.key.fingerprint}"\n'
        )

    def prepare(self, root: DebianRoot) -> None:
        """No other source of packages, the groups of a desktop, a user, and what a person has in the home folder."""
        for path in root.here("/etc/apt/sources.list.d").iterdir():
            path.unlink()
        for name in root.apt_lists():
            root.here(f"/var/lib/apt/lists/{name}").unlink()
        root.here("/etc/os-release").unlink()
        root.write("/etc/os-release", UBUNTU)
        root.run(["sh", "-c", "groupadd -f render && useradd -m anna"])
        root.write("/root/notes", "mine\n")
        root.write(CONFIG, self.config())

    def __post_init__(self) -> None:
        self._pristine = dict(self.index.files)

    def heal(self) -> None:
        """Everything as it was at first."""
        self.packages.heal()
        self.repository.publish()
        self.index.files = dict(self._pristine)
        self.index.wrong_hash, self.index.dies, self.index.slow = set(), {}, {}


@contextlib.contextmanager
def served(folder: Path) -> Iterator[Mirrors]:
    repository = AptRepository(folder / "ppa", SigningKey(folder / "gnupg"), suite="noble")
    repository.add(*DEBS)
    repository.publish()
    with LoopbackServer(repository.folder) as packages, WheelIndex(wheels()) as index:
        yield Mirrors(packages, repository, index)
