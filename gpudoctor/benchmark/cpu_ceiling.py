"""A processor's ceiling, estimated as cores x clock x operations per clock. There are too many processors for a table."""

from __future__ import annotations

from collections.abc import Collection

from gpudoctor.benchmark.reference_rows import DeviceRow

WIDTHS = (
    ("avx512f", 64, "AVX-512 with two FMA units"),
    ("avx2+fma", 32, "AVX2 and FMA"),
    ("avx", 16, "AVX"),
    ("asimd", 16, "NEON"),
    ("sse2", 8, "SSE2"),
)
"""float32 operations per core and clock, the widest first. For AVX-512 cores with only one FMA unit the value is twice too large."""
NARROW = (
    ("bf16", "amx_bf16", 1024),
    ("bf16", "avx512_bf16", 128),
    ("int8", "amx_int8", 2048),
    ("int8", "avx512_vnni", 256),
    ("int8", "avx_vnni", 128),
)
"""Operations per core and clock of narrow types. For each type, the first flag that the processor has counts."""


def estimate(cores: int, ghz: float, flags: Collection[str], memory_gbs: float | None = None) -> DeviceRow | None:
    """Peaks of `cores` physical cores at `ghz` (the clock under load, if known); None where no flag gives the vector width.

    flags: as in /proc/cpuinfo. memory_gbs: where it is known or was measured; without it only the roof of arithmetic stands.
    """
    have = {flag.lower() for flag in flags}
    width = next(((rate, words) for need, rate, words in WIDTHS if set(need.split("+")) <= have), None)
    if width is None or cores < 1 or ghz <= 0:
        return None
    rate, words = width
    scale = cores * ghz / 1000
    matrix: dict[str, float] = {}
    for name, flag, operations in NARROW:
        if flag in have:
            matrix.setdefault(name, scale * operations)
    return DeviceRow(
        name="processor", vendor="cpu", source=f"an estimate: {cores} cores x {ghz:g} GHz x {rate} operations per clock, {words}",
        date="", vector={"fp32": scale * rate, "fp64": scale * rate / 2}, matrix=matrix, rates="formula", gbs=memory_gbs, estimate=True,
    )  # fmt: skip
