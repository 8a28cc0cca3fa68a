"""A machine of which a person pasted a text: commands, files and variables that the text shows. Everything else is not recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.system.host import Ran, Text, bounded
from gpudoctor.system.null_host import NoHost


class PastedHost(NoHost):
    """Answers with what the text holds. Nothing is known to be absent, since a text need not show everything."""

    complete = True
    """False: what was not pasted was not recorded."""
    quick = False

    def __init__(
        self,
        commands: Mapping[tuple[str, ...], str],
        files: Mapping[str, str],
        variables: Mapping[str, str],
        python: Mapping[str, Any],
        platform: str,
    ) -> None:
        self.platform = platform
        self._commands, self._files, self._variables, self._python = commands, files, variables, python

    def run(self, argv: Sequence[str], *, timeout: float = 5.0, limit: int = 4_000_000) -> Ran:
        key = tuple(argv)
        said = self._commands.get(key)
        return Ran(key, not_recorded=True) if said is None else Ran(key, rc=0, stdout=bounded(said[:limit]))

    def python_environment(self) -> dict[str, Any] | None:
        return dict(self._python) or None

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        said = self._files.get(path)
        return Text(problem="not-recorded") if said is None else Text(said[:limit])

    def exists(self, path: str) -> bool:
        return path in self._files

    def knows(self, path: str) -> bool:
        return path in self._files

    def env(self, name: str) -> str | None:
        return self._variables.get(name)

    def env_names(self, prefix: str) -> list[str]:
        return sorted(name for name in self._variables if name.startswith(prefix))

    def remaining(self) -> float:
        return 10.0
