"""Version schemes: dotted (kernels, drivers, packages: leading integers as tuples) and the release part of PEP 440.

`packaging` loads late, and only for what is more than a comparison of releases: it costs a tenth of a whole `check`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpudoctor.model.lazy_pattern import lazy

_EPOCH = lazy(r"^\d+:")
_NUMBERS = lazy(r"\d+(?:\.\d+)*")
_COMPARISON = lazy(r"\s*(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)\s*")
_HOLDS: Mapping[str, Callable[[int], bool]] = {
    ">=": lambda order: order >= 0, "<=": lambda order: order <= 0, "==": lambda order: order == 0, "!=": lambda order: order != 0,
    ">": lambda order: order > 0, "<": lambda order: order < 0,
}  # fmt: skip


def dotted(text: Any) -> tuple[int, ...] | None:
    """The leading integers: '5.19.0-35-generic' gives (5, 19, 0). A Debian epoch and a leading v are skipped. None without a number."""
    if not isinstance(text, str):
        return None
    found = _NUMBERS.match(_EPOCH.sub("", text.strip()).lstrip("vV"))
    if not found or len(found[0]) > 80:
        return None
    return tuple(int(part) for part in found[0].split("."))


def dotted_of_digits(digits: str) -> str:
    """The version in compact digits: '12.6' for the '126' of cu126, '10.2' for '102', '8.0' for '80'."""
    return f"{digits[:-1]}.{digits[-1]}"


def compare_dotted(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    """-1, 0 or 1. Missing parts count as 0: 6.2 equals 6.2.0."""
    width = max(len(left), len(right))
    padded_left, padded_right = left + (0,) * (width - len(left)), right + (0,) * (width - len(right))
    return (padded_left > padded_right) - (padded_left < padded_right)


def in_release(text: Any, specifier: str) -> bool | None:
    """Whether the release part of a PEP 440 version is in `specifier`; None for an invalid version.

    '2.1.0a0+29c30b1' counts as 2.1.0 and '2.8.0.dev…+xpu' as 2.8.0, since the question is which changes a build contains.
    """
    compared = [_COMPARISON.fullmatch(part) for part in specifier.split(",")]
    release = dotted(text)
    if release is not None and "!" not in text and all(compared):
        return all(_HOLDS[each[1]](compare_dotted(release, dotted(each[2]) or ())) for each in compared if each)
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        version = Version(str(text))
    except InvalidVersion:
        parts = dotted(text)
        if parts is None:
            return None
        version = Version(".".join(map(str, parts)))
    try:
        return SpecifierSet(specifier).contains(Version(version.base_version), prereleases=True)
    except InvalidSpecifier as error:
        raise ValueError(f"{specifier!r} is no version specifier: {error}") from error
