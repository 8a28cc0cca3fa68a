"""Collects the commands of a step that need root, so that a person without sudo gets all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpudoctor.system.writable_host import NeedsRoot


def together(acts: Iterable[Callable[[], object]]) -> None:
    """Calls the acts in this order. Raises one NeedsRoot with the commands of all that need root; any other error ends it at once."""
    refused: list[NeedsRoot] = []
    for act in acts:
        try:
            act()
        except NeedsRoot as one:
            refused.append(one)
    if refused:
        raise NeedsRoot([argv for one in refused for argv in one.commands], refused[0].why)
