"""The programs of gpudoctor/target as files, which another interpreter can run.

They lie beside this package. In a zip archive, which that interpreter could not enter, they do not: then copies are made in a private
folder (mode 0700) that is removed when this process ends.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_BESIDE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "target")
PREFIX = "gpudoctor-programs-"


def program(*names: str) -> str:
    """The path of a program or a folder below gpudoctor/target."""
    return os.path.join(programs_folder(), *names)


@lru_cache(maxsize=1)
def programs_folder() -> str:
    return _BESIDE if os.path.isdir(_BESIDE) else _copied()


def _copied() -> str:
    import atexit
    from importlib import resources  # imported here: it loads thirty modules, and an installed package needs no copies

    from gpudoctor.system.scratch_folder import ScratchFolder

    folder = ScratchFolder(PREFIX)
    atexit.register(folder.remove)
    _copy(resources.files("gpudoctor").joinpath("target"), os.path.join(folder.path, "target"))
    return os.path.join(folder.path, "target")


def _copy(source: Traversable, target: str) -> None:
    os.mkdir(target)
    for entry in source.iterdir():
        path = os.path.join(target, entry.name)
        if entry.is_dir():
            _copy(entry, path)
        else:
            with open(path, "wb") as file:
                file.write(entry.read_bytes())
