"""The paths that the text of an environment shows, asked like a door: so the table of questions expands as it did on the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.system.host import Text


class ShownPaths:
    """Of a door what the expansion of places needs."""

    def __init__(
        self, files: Mapping[str, str], folders: Mapping[str, Sequence[str]], links: Mapping[str, str], variables: Mapping[str, str],
        python: Mapping[str, Any], platform: str,
    ) -> None:  # fmt: skip
        self._files, self._folders, self._links, self._variables = files, folders, links, variables
        self.python, self.platform = python, platform

    def listdir(self, path: str) -> list[str]:
        inside = {other[len(path) + 1 :].partition("/")[0] for other in (*self._files, *self._links) if other.startswith(f"{path}/")}
        return sorted(inside | set(self._folders.get(path, ())))

    def exists(self, path: str) -> bool:
        return any(other == path or other.startswith(f"{path}/") for other in (*self._files, *self._folders))

    def read(self, path: str) -> Text:
        return Text(self._files.get(path, ""))

    def readlink(self, path: str) -> str | None:
        return self._links.get(path)

    def env(self, name: str) -> str | None:
        return self._variables.get(name)
