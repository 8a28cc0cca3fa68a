"""CUDA libraries that were installed as Python wheels: their major versions, and which of them overwrite each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpudoctor.facts.derive._versions import first_version
from gpudoctor.model.facts import Absent, Fact, Facts, Known, Unknown

_SHARED_FOLDER = ("cudnn", "nccl", "cusparselt", "nvshmem")
"""Libraries whose wheels for CUDA 12 and for CUDA 13 unpack into the same folder; all others of CUDA 13 have a folder of their own."""


def wheel_facts(facts: Facts) -> Iterator[tuple[str, Fact]]:
    """The facts cuda.wheels.* and tensorflow.libraries, from the distributions of the target environment."""
    installed = facts.value("python.distributions")
    if not isinstance(installed, Mapping):
        return
    found: dict[str, set[int]] = {}
    for name in installed:
        match = re.fullmatch(r"nvidia-([a-z0-9\-]+)-cu(\d+)", str(name))
        if match:
            found.setdefault(match[1], set()).add(int(match[2]))
    majors = sorted({major for versions in found.values() for major in versions})
    if any(str(name) in ("nvidia-cuda-runtime", "nvidia-cublas") for name in installed) and 13 not in majors:
        majors.append(13)
    duplicates = sorted(
        stem for stem, versions in found.items() if len(versions) > 1 and (stem in _SHARED_FOLDER or len(versions - {13}) > 1)
    )
    yield "cuda.wheels.majors", Known([str(major) for major in majors], "python.distributions")
    yield "cuda.wheels.duplicates", Known(duplicates, "python.distributions")
    names = [name for name in ("nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "nvidia-cudnn-cu11") if name in installed]
    cudnn = first_version(installed[names[0]]) if names else None
    yield "cuda.wheels.cudnn", Known(cudnn, names[0]) if cudnn else Absent("python.distributions")
    libraries = facts.value("libraries")
    if names:
        yield "tensorflow.libraries", Known("wheels", "python.distributions")
    elif isinstance(libraries, Mapping) and any(str(soname).startswith("libcudnn") for soname in libraries):
        yield "tensorflow.libraries", Known("system", "libraries")
    elif facts.value("nvidia.loader_path.libraries"):
        yield "tensorflow.libraries", Known("system", "LD_LIBRARY_PATH")
    elif isinstance(libraries, Mapping):
        yield "tensorflow.libraries", Known("none", "libraries")
    else:
        yield "tensorflow.libraries", Unknown("not recorded")
