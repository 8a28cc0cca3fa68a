"""Chooses the Python of a new environment: the system's own where it fits, else another that is here, else one that uv downloads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from gpudoctor.facts.derive._tables import table
from gpudoctor.model.facts import Known
from gpudoctor.setup.steps._step import Look, PlanError

_MINORS = tuple(f"3.{number}" for number in range(14, 7, -1))
"""The Pythons that uv can download, the newest first."""
_DEBIAN = ("debian", "ubuntu", "linuxmint", "pop")


class InterpreterChoice(Struct, frozen=True):
    """The interpreter of a new environment. `path` is '' where uv downloads it; `uv` is the path of uv, or ''."""

    path: str
    minor: str
    uv: str = ""
    assumed: bool = False
    """Whether it was not seen but is what this release of the system brings."""


def fits(minor: str, specifier: str) -> bool:
    """Whether '3.11' lies in '>=3.10,<3.13'. Raises PlanError for what is no specifier."""
    try:
        return SpecifierSet(specifier).contains(minor, prereleases=True)
    except InvalidSpecifier as error:
        raise PlanError(f"'{specifier}' is no version specifier such as >=3.10,<3.13; this is a mistake in the recipe") from error


def wanted(specifier: str, look: Look) -> str:
    """The specifier of a recipe, narrowed by pinned packages and by --python-version. Raises PlanError where these exclude each other."""
    specifier = ",".join(filter(None, (specifier, str(look.options.get("python_needs") or ""))))
    asked = str(look.options.get("python_version") or "")
    if not asked:
        return specifier
    minor = ".".join(asked.split(".")[:2])
    if specifier and not fits(minor, specifier):
        raise PlanError(
            f"Python {asked} was asked for, and this recipe needs {specifier}; leave out --python-version, or name one that fits"
        )
    return f"=={minor}.*"


def uv_path(look: Look) -> str:
    """The path of uv; '' without it, and where the person does not want it."""
    return "" if look.options.get("uv") is False else str(look.facts.value("tools.uv") or "")


def system_minor(look: Look) -> str:
    """The Python of this release of the operating system, by os-python.toml; '' for a release that the table lacks."""
    system, version = look.facts.value("os.id", ""), str(look.facts.value("os.version", "") or "")
    for row in table("os-python")["release"]:
        if row["os"] == system and (not row["version"] or version == row["version"] or version.startswith(f"{row['version']}.")):
            return str(row["python"])
    return ""


def choose(specifier: str, look: Look) -> InterpreterChoice:
    """The interpreter for a specifier such as >=3.10,<3.13. Raises PlanError where no Python fits and uv is not here."""
    narrowed, uv = wanted(specifier, look), uv_path(look)
    ranked = sorted(
        (rank, -int(found["minor"].partition(".")[2]), found["path"], found["minor"], assumed)
        for rank, found, assumed in _candidates(look, bool(uv)) if fits(found["minor"], narrowed)
    )  # fmt: skip
    if ranked:
        _, _, path, minor, assumed = ranked[0]
        return InterpreterChoice(path, minor, uv, assumed)
    if uv and not look.options.get("bundle"):
        minor = next((minor for minor in _MINORS if fits(minor, narrowed)), "")
        if minor:
            return InterpreterChoice("", minor, uv)
    left_out = [str(path) for path in look.facts.value("python.interpreters_left_out") or ()]
    others = f"; not used, since another user could change it: {', '.join(left_out)}" if left_out else ""
    here = ", ".join(sorted({found["minor"] for found in _known(look)}, key=lambda minor: int(minor.partition(".")[2]))) or "none"
    raise PlanError(
        f"no Python {narrowed} here to make an environment with (found: {here}{others}); install uv (https://docs.astral.sh/uv/) and run "
        f"this again, it fetches one, or make one with conda (conda create -p {look.env} 'python{narrowed}')"
    )


def _known(look: Look) -> list[Mapping[str, Any]]:
    return list(look.facts.value("python.interpreters") or [])


def _candidates(look: Look, uv: bool) -> Iterator[tuple[int, Mapping[str, Any], bool]]:
    """(rank, the lowest being the best; record of python.interpreters; whether it was assumed and not seen)."""
    own, debian = system_minor(look), look.facts.value("os.id") in _DEBIAN
    seen = _known(look)
    for found in seen:
        system = found["path"].startswith("/usr/bin/")
        can = uv or found.get("venv") is not False
        if can:
            yield 0 if system and found["minor"] == own else 1 if system else 3, found, False
        elif system and found["minor"] == own and debian:
            yield 2, found, False  # the recipe installs python3-venv before
    if own and not any(found["path"].startswith("/usr/bin/") for found in seen):
        # The interpreters were not recorded, or this is a Debian without Python, which python3-venv brings.
        if debian or not isinstance(look.facts.get("python.interpreters"), Known):
            yield 2, {"path": f"/usr/bin/python{own}", "minor": own}, True
