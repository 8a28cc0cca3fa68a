"""The table of pairs: each pair once, the slow one with a mark and a line of its own."""

from __future__ import annotations

from gpudoctor.model.measurement import Link, Measurement
from gpudoctor.reporters.measurement import links_text


def shown(*links: Link) -> list[str]:
    one = Measurement(
        workload="all_reduce", task="micro", framework="torch", backend="cuda", device="d", dtype="float32", replicas=3, links=links
    )
    return ["".join(span.text for span in line) for line in links_text.lines([one], 80)]


def link(first: int, second: int, rate: float, slow: bool = False, device: str = "cuda:{}") -> Link:
    return Link(ranks=(first, second), devices=(device.format(first), device.format(second)), bytes_per_s=rate, slow=slow)


def test_cards_are_named_by_their_devices() -> None:
    assert shown(link(0, 1, 2.2e10), link(0, 2, 6e9, slow=True), link(1, 2, 2.15e10)) == [
        "all_reduce float32: bandwidth between two ranks of 3 (GB/s), the others silent",
        "          cuda:1  cuda:2",
        "  cuda:0      22      6!",
        "  cuda:1            21.5",
        "Slow:  cuda:0 and cuda:2: 6 GB/s, 30 % or more below the median of all pairs",
    ]


def test_processes_of_one_device_are_named_by_their_ranks() -> None:
    lines = shown(link(0, 1, 1e9, device="cpu"), link(0, 2, 2e8, slow=True, device="cpu"), link(1, 2, 1e9, device="cpu"))
    assert lines[2].split() == ["rank", "1", "1", "0.2!"] and lines[-1].startswith("Slow:  ranks 1 and 3: 0.2 GB/s")


def test_nothing_without_a_collective() -> None:
    assert shown() == []
