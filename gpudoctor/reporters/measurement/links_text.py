"""The links between the ranks of a collective on a screen: a table of pairs, and the slow ones by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.model.measurement import Link, Measurement
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, hanging


def lines(measurements: Sequence[Measurement], width: int) -> Iterator[Line]:
    """Nothing where no collective was measured. `measurements`: of any kind."""
    for each in measurements:
        if each.links:
            title = f"{each.workload} {each.dtype}: bandwidth between two ranks of {each.replicas or 2} (GB/s), the others silent"
            yield from hanging((), title, width, style="bold")
            yield from _table(each.links)
            yield from _slow(each.links, width)


def _table(links: Sequence[Link]) -> Iterator[Line]:
    """A row and a column for each rank. Each pair stands once; a slow one has a mark."""
    rates = {link.ranks: f"{link.bytes_per_s / 1e9:.3g}{'!' if link.slow else ''}" for link in links}
    names = {rank: device for link in links for rank, device in zip(link.ranks, link.devices, strict=True)}
    several = len(set(names.values())) > 1
    heads = {rank: visible(names[rank]) if several else f"rank {rank + 1}" for rank in sorted(names)}
    column = max(map(len, (*heads.values(), *rates.values())))
    ranks = list(heads)
    yield (Span(f"  {'':<{column}}" + "".join(f"  {heads[rank]:>{column}}" for rank in ranks[1:]), "dim"),)
    for first in ranks[:-1]:
        cells = [rates.get((first, second), "") for second in ranks[1:]]
        row = f"  {heads[first]:<{column}}" + "".join(f"  {cell:>{column}}" for cell in cells)
        yield (Span(row.rstrip()),)


def _slow(links: Sequence[Link], width: int) -> Iterator[Line]:
    for link in links:
        if link.slow:
            text = f"{visible(link.name)}: {link.bytes_per_s / 1e9:.3g} GB/s, 30 % or more below the median of all pairs"
            yield from hanging((Span("Slow:  ", "warn"),), text, width)
