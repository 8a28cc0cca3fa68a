"""The torch that `setup` installs with pip: the release that was asked for, else the newest for this system, and its Pythons."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._setup import asked_torch, newest_row_here, release_of, specifier
from gpudoctor.model.facts import Fact, Facts, FactSpec, Known

_MAC_CEILINGS = ((("x86_64",), "0", "2.2.2"), (("arm64", "aarch64"), "14.0", "2.13"))
"""Limits on Macs: (architectures, first macOS without the limit or '0' for none, last torch). 2.2 was the last release for Intel Macs, and
2.14 asks for macOS 14."""


def ceiling(facts: Facts) -> str | None:
    """The last torch release with a wheel for this Mac; None elsewhere and where there is no limit."""
    from gpudoctor.rules.versions import compare_dotted, dotted

    if facts.value("platform.kind") != "macos":
        return None
    for machines, first_free, last in _MAC_CEILINGS:
        if facts.value("platform.machine") in machines:
            here = dotted(facts.value("os.version"))
            free = first_free != "0" and here is not None and compare_dotted(here, dotted(first_free) or (0,)) >= 0
            return None if free or (first_free != "0" and here is None) else last
    return None


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    if not facts.known("setup.name"):
        return
    asked, last = asked_torch(facts), ceiling(facts)
    if asked:
        release, requirement = release_of(asked), f"torch{facts.value('setup.torch_pin', '')}"
    elif last:
        release, requirement = release_of(last), f"torch=={release_of(last)}"
    else:
        release, requirement = newest_row_here(facts)["version"], "torch"
    yield "setup.torch_release", Known(release, "python-partners")
    yield "setup.torch_python", Known(specifier(release), "python-partners")
    yield "setup.torch_packages", Known([requirement, *(["numpy<2"] if _old(release) else [])], "python-partners")


def _old(release: str) -> bool:
    """Whether a torch release was built before NumPy 2, with which it cannot exchange arrays."""
    return tuple(int(part) for part in release.split(".")[:2]) < (2, 3)


DERIVATION = Derivation(
    name="setup_torch",
    provides=(
        FactSpec("setup.torch_release", "dotted", "the torch release of a setup: what was asked for, else the newest for this system"),
        FactSpec("setup.torch_python", "text", "the Pythons with a wheel of that torch release: '>=3.10,<3.14'"),
        FactSpec("setup.torch_packages", "list", "requirements of that torch release, with the older NumPy that an old release needs"),
    ),
    derive=derive,
)
