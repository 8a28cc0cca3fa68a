"""The largest batch that keeps a latency, when each latency was measured with noise. Pure.

A larger batch never takes less time. Measurements to the contrary contradict each other, and it is unknown which of them was
disturbed: the run of batches that contradict each other is taken together, and its median stands for all of them (isotonic regression in
the least absolute sense: Robertson, Wright, Dykstra 1988, pool adjacent violators). One measurement, however wrong, therefore moves the
choice no further than to its neighbours: against it stand those that it contradicts. Least squares would not do: there one disturbed
batch lifts all larger ones. Of an even number the smaller middle one counts: what disturbs a step makes it longer, hardly ever shorter.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from gpudoctor.model.batch_pick import BatchPick
from gpudoctor.model.measurement import OK, Measurement

WHAT = "p95"
"""The statistic of one batch's latencies: 95 % of them are shorter."""


def smoothed(points: Sequence[tuple[int, float]]) -> dict[int, float]:
    """{batch: latency that never falls as batches grow}. `points`: (batch, latency), each batch once, in any order."""
    blocks: list[list[tuple[int, float]]] = []
    for point in sorted(points):
        blocks.append([point])
        while len(blocks) > 1 and _middle(blocks[-2]) > _middle(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return {batch: _middle(block) for block in blocks for batch, _ in block}


def _middle(block: Sequence[tuple[int, float]]) -> float:
    ordered = sorted(latency for _, latency in block)
    return ordered[(len(ordered) - 1) // 2]


def largest_within(points: Sequence[tuple[int, float]], most: float) -> int | None:
    """The largest batch whose smoothed latency is `most` or less; None where none is."""
    return max((batch for batch, latency in smoothed(points).items() if latency <= most), default=None)


def picks(measurements: Sequence[Measurement], most: float | None) -> list[BatchPick]:
    """For each network of the replicas, the largest batch within a latency of `most` milliseconds; [] where `most` is None."""
    if most is None:
        return []
    groups: dict[tuple[str, str, str, str], list[tuple[int, float]]] = {}
    for each in measurements:
        points = groups.setdefault(_key(each), []) if each.replicas and each.batch else []
        if each.status == OK and each.batch and each.latency_ms is not None and each.latency_ms.p95 is not None:
            points.append((each.batch, each.latency_ms.p95))
    found = []
    for key, points in groups.items():
        workload, dtype, framework, device = key
        batch = largest_within(points, most)
        steps = next((each.iterations for each in measurements if each.replicas and each.batch == batch and _key(each) == key), None)
        found.append(
            BatchPick(
                workload=workload,
                dtype=dtype,
                framework=framework,
                device=device,
                max_latency_ms=most,
                batch=batch,
                what=WHAT,
                smoothed_ms=smoothed(points).get(batch) if batch else None,
                measured_ms=dict(points).get(batch) if batch else None,
                steps=steps if batch else None,
            )
        )
    return found


def marked(measurements: Sequence[Measurement], chosen: Sequence[BatchPick]) -> list[Measurement]:
    """The measurements, with the chosen one marked."""
    names = {(pick.workload, pick.dtype, pick.framework, pick.device, pick.batch): pick for pick in chosen}
    found = []
    for each in measurements:
        pick = names.get((*_key(each), each.batch)) if each.replicas else None
        note = f"the largest batch within {pick.max_latency_ms:g} ms ({pick.what})" if pick is not None else ""
        found.append(replace(each, notes=(*each.notes, note)) if note else each)
    return found


def _key(each: Measurement) -> tuple[str, str, str, str]:
    return each.workload, each.dtype, each.framework, each.device
