"""Which packages of an environment are kept as they are, and what an installation would do to them (gpudoctor.guard/1)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from gpudoctor.model.audit import VERDICTS
from gpudoctor.model.typed_json import Limits

SCHEMA = "gpudoctor.guard/1"
OUTCOMES = ("kept", "breaks", "unknown")
"""`kept`: the installation leaves the kept packages as they are; `breaks`: it does not; `unknown`: no installer gave an answer."""


class KeptPackage(Struct, frozen=True, kw_only=True):
    """A package that other installations must not change."""

    name: str
    version: str
    constraint: str
    """The requirement that keeps it, such as 'torch==2.13.0+cpu'."""
    conda: bool = False
    """It was installed by conda or pixi, as a package of a conda channel."""


class PackageChange(Struct, frozen=True, kw_only=True):
    """One package that the installation would add, replace or remove."""

    name: str
    old: str
    """The version that is installed; empty for a new package."""
    new: str
    """The version that would be; empty where the package would be removed."""
    breaks: bool
    """Whether it replaces or removes a package that is kept."""
    source: str = ""
    """The host that the package would come from; empty where the installer does not say."""


class GuardConflict(Struct, frozen=True, kw_only=True):
    """Two packages that would exclude each other after the installation, and do not now."""

    package: str
    verdict: Annotated[str, Limits(enum=VERDICTS)]
    says: str


class Trial(Struct, frozen=True, kw_only=True):
    """What a command would do. Nothing was installed."""

    command: str
    """The command as it was given."""
    outcome: Annotated[str, Limits(enum=OUTCOMES)]
    changes: tuple[PackageChange, ...] = ()
    conflicts: tuple[GuardConflict, ...] = ()
    with_constraints: tuple[PackageChange, ...] | None = None
    """What it would do with the constraints; null where it cannot keep them, or was not asked."""
    reason: str = ""
    """Why there is no answer, or why the command cannot keep the constraints."""
    safe: str = ""
    """The command that keeps them; empty where there is none."""


class Guard(Struct, frozen=True, kw_only=True):
    """The result of `guard`."""

    schema: Annotated[str, Limits(const=SCHEMA)] = SCHEMA
    tool: str
    """The version of gpudoctor."""
    python: str
    """The interpreter of the environment."""
    kept: tuple[KeptPackage, ...]
    indexes: tuple[str, ...] = ()
    """The package indexes of builds that are not on PyPI, such as those of torch."""
    trial: Trial | None = None
    """What the command behind '--' would do; null without one."""
