"""Where nobody can become root, a person is told all commands of a step at once, not one with each attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpudoctor.system.writable_host import NeedsRoot


def together(acts: Iterable[Callable[[], object]]) -> None:
    """Does them in this order. Raises one NeedsRoot with the commands of all that need rights; any other failure ends it at once."""
    refused: list[NeedsRoot] = []
    for act in acts:
        try:
            act()
        except NeedsRoot as one:
            refused.append(one)
    if refused:
        raise NeedsRoot([argv for one in refused for argv in one.commands], refused[0].why)
