"""Which driver a program of a CUDA release needs at least."""

from __future__ import annotations

import pytest

from gpudoctor.facts.derive.cuda import floor_of


@pytest.mark.parametrize(
    ("cuda", "platform", "floor"),
    [
        ("10.1.243", "linux", "418.39"),
        ("10.0", "linux", "410.48"),
        ("9.2", "linux", "396.26"),
        ("10.1", "windows", "418.96"),
        ("9.2", "windows", "397.44"),
        ("11.8", "linux", "450.80.02"),
        ("12.4", "container", "525.60.13"),
        ("14.0", "linux", None),
    ],
)
def test_up_to_cuda_10_each_minor_release_has_its_own_floor(cuda: str, platform: str, floor: str | None) -> None:
    assert floor_of(cuda, platform) == floor
