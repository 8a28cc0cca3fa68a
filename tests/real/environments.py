"""Real environments from the package index, kept outside the clone and keyed by what they hold."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

import tomllib

# What gpudoctor itself needs, from its own pyproject.toml.
OURS = tuple(tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())["project"]["dependencies"])
WANTED: dict[str, tuple[tuple[str, ...], ...]] = {
    # each inner tuple is one run of `pip install`
    "torch-cpu": (("torch==2.13.0", "numpy"),),
    "ipex-beside-torch": (("torch==2.13.0", "numpy", "psutil", "packaging"), ("--no-deps", "intel-extension-for-pytorch==2.8.0")),
    "torchvision-of-another-torch": (("torch==2.13.0", "numpy", "pillow"), ("--no-deps", "torchvision==0.25.0")),
    "onnxruntime": (("onnxruntime==1.24.1",),),
    "onnxruntime-twice": (("onnxruntime==1.24.1",), ("--no-deps", "onnxruntime-openvino==1.24.1")),
    "openvino": (("openvino==2025.4.1",),),
    "onnx": (("onnx==1.19.1",),),
    "jax-cpu": (("jax==0.6.2", "jaxlib==0.6.2"),),
    "tensorflow-cpu": (("tensorflow-cpu==2.20.0",),),
    "bare": (),
    "opencl-intel-cpu": (("intel-opencl-rt==2026.2.0", "intel-cmplr-lib-rt==2026.2.0"),),
    "uv": (("uv==0.13.9",),),
    "pipx": (("pipx==1.18.4",),),
    "rattler-build": (("py-rattler-build==0.73.0",),),
    "pre-commit": (("pre-commit==4.7.0",),),
    "release": (("pex==2.105.2", "pip", "build==1.6.1", "cyclonedx-bom==7.5.0"),),
    "pex": (("pex==2.105.2", "pip"),),
    "ansible-lint": (("ansible-lint==26.10.1", "ansible-core==2.19.14"),),
    # what gpudoctor needs and the SDK of its extra `mcp`; gpudoctor itself comes from this tree
    "mcp": (("mcp==2.3.0", *OURS),),
    "site": (
        ("sphinx==9.0.4", "furo==2025.12.19", "myst-parser==5.2.0"),
        OURS,
    ),
    # the schedulers of Python clusters, with gpudoctor's own needs for the workers
    "dask": (("distributed==2026.8.0", *OURS),),
    "ray": (("ray==2.60.0", *OURS),),
    "pipeline-formats": (("xmlschema==4.3.2", "junitparser==5.0.3", "jsonschema==4.26.0", "sarif-tools==3.0.5"),),
    # built from source, for the processor
    "llama-cpp-python": (("{compiled}llama-cpp-python==0.3.36", "numpy==2.3.5"),),
    "wgpu": (("wgpu==0.32.0", "numpy==2.3.5"),),
    "notebook": (("ipykernel==7.1.0", "nbclient==0.10.2", *OURS),),
    # its newest wheels are for Python 3.10; the files are all that the diagnosis reads
    "torch-directml": (
        ("--no-deps", "--only-binary=:all:", "--python-version", "3.10", "--platform", "manylinux2010_x86_64",
         "--target", "{site}", "torch-directml==0.2.5.dev240914"),
    ),
}  # fmt: skip


def cache() -> Path:
    chosen = os.environ.get("GPUDOCTOR_TEST_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "gpudoctor-tests"


def folder(name: str) -> Path:
    key = hashlib.sha256(repr((sys.version_info[:2], sys.base_prefix, WANTED[name])).encode()).hexdigest()[:12]
    return cache() / f"{name}-{key}"


def site_packages(environment: Path) -> Path:
    return environment / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def compiled(requirement: str) -> Path:
    """The wheel that pip builds from the source of a package, kept beside the environments: that of llama.cpp takes many minutes."""
    folder = cache() / "wheels" / requirement.replace("==", "-")
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("*.whl")):
            pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir", str(folder)]
            subprocess.run([*pip, requirement], check=True, timeout=2400)
        return next(folder.glob("*.whl"))


def _word(word: str, environment: Path) -> str:
    _, mark, requirement = word.partition("{compiled}")
    return str(compiled(requirement)) if mark else word.format(site=site_packages(environment))


def _install(environment: Path, run: Sequence[str]) -> None:
    words = [_word(word, environment) for word in run]
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python")]
    subprocess.run([*pip, "install", "--quiet", "--disable-pip-version-check", *words], check=True, timeout=2400)


def build(name: str) -> Path:
    """The environment, made when it is not there yet. A half-made one is thrown away."""
    environment = folder(name)
    done = environment / ".complete"
    environment.parent.mkdir(parents=True, exist_ok=True)
    with open(environment.with_suffix(".lock"), "w") as lock:  # tests may run in two processes
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists():
            return environment
        shutil.rmtree(environment, ignore_errors=True)
        venv.create(environment, with_pip=False, symlinks=True)
        for run in WANTED[name]:
            _install(environment, run)
        done.write_text("")
    return environment


def linked_copy(source: Path, target: Path) -> Path:
    """A copy whose files are hard links: cheap, and a file that is replaced in it stays whole in the source."""
    shutil.copytree(source, target, symlinks=True, copy_function=_link_or_copy)
    return target


def _link_or_copy(source: str, target: str) -> str:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
    return target


def cut_off(path: Path, share: float = 0.5) -> None:
    """Replace a file by its beginning, as an interrupted installation or a full disk leaves it."""
    size = path.stat().st_size
    with path.open("rb") as whole:
        beginning = whole.read(int(size * share))
    path.unlink()
    path.write_bytes(beginning)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or sorted(WANTED):
        print(wanted, build(wanted), flush=True)  # noqa: T201
