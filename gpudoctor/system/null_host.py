"""A host without a machine: nothing is recorded. It serves facts that were written down, as in examples of recipes, or read from a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gpudoctor.system.host import Mode, Ran, Text


class NoHost:
    origin: Literal["live", "capture"] = "capture"
    platform = "linux"
    complete = False
    quick = True
    target_python: str | None = None

    def run(self, argv: Sequence[str], *, timeout: float = 5.0, limit: int = 4_000_000) -> Ran:
        return Ran(tuple(argv), not_recorded=True)

    def run_child(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], stdin_text: str = "", niced: bool = True
    ) -> Ran:
        return Ran(tuple(argv), not_recorded=True)

    def python_environment(self) -> dict[str, Any] | None:
        return None

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        return Text(problem="not-recorded")

    def exists(self, path: str) -> bool:
        return False

    def knows(self, path: str) -> bool:
        return False

    def listdir(self, path: str) -> list[str]:
        return []

    def readlink(self, path: str) -> str | None:
        return None

    def realpath(self, path: str) -> str:
        return path

    def mode(self, path: str) -> Mode | None:
        return None

    def may_open(self, path: str) -> bool | None:
        return None

    def distrust(self, path: str, *, lies_here: bool = False) -> str:
        return ""

    def env(self, name: str) -> str | None:
        return None

    def env_names(self, prefix: str) -> list[str]:
        return []

    def remaining(self) -> float:
        return 0.0
