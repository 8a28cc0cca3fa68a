"""Checks before the first act: room on the disk, permissions, Python, the network, and whether what the plan names still exists.

Nothing is changed. There is one row for each check; an unreachable network is one problem, however many addresses it concerns.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from packaging.tags import platform_tags

from gpudoctor.model.plan import Plan, PlannedStep
from gpudoctor.model.recipe import Address
from gpudoctor.setup.packages.apt_index import DEB_ARCHITECTURES
from gpudoctor.setup.steps._step import Look, Settings

if TYPE_CHECKING:
    from gpudoctor.setup.availability import AvailabilityRow, Packages, ReachedServers
    from gpudoctor.system.http import HttpClient

_GB = 10**9
_PACKAGES = ("apt.install", "dnf.install", "pacman.install")
_INTO_ENV = ("venv", "pip", "download", "unpack")
_ROOM_FOR_PACKAGES = 1.0
"""The GB that packages need on / where most of a plan goes into an environment on another file system."""
_SERVED = ("x86_64", "amd64", "aarch64", "arm64")


class Preflight(Struct, frozen=True):
    """The result. `rows`: all checks, of which `problems` stop the run; `notes`: lines for the person."""

    rows: tuple[AvailabilityRow, ...]
    notes: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[AvailabilityRow, ...]:
        return tuple(row for row in self.rows if row.status == "problem")

    @property
    def unknown(self) -> tuple[AvailabilityRow, ...]:
        return tuple(row for row in self.rows if row.status == "unknown")


def preflight(plan: Plan, look: Look, network: HttpClient | None, platforms: Sequence[str] | None = None) -> Preflight:
    """Checks a plan. With `network` None, or an offline bundle in look.options, nothing is asked of the network. `platforms`: tags of
    wheels, by default those of this machine."""
    from gpudoctor.setup.availability import ReachedServers

    rows = [*_disk(plan, look), *_architecture(plan, look), *_write_permission(plan, look), *_python(plan, look)]
    notes = list(_root(plan, look))
    if look.options.get("bundle"):
        notes.append(f"everything comes from {look.options['bundle']}; no network is used")
    elif network is not None:
        places = ReachedServers(network)
        asked = list(_still_there(plan, look, places, list(platform_tags()) if platforms is None else list(platforms)))
        rows += _without_network(asked, places)
    return Preflight(tuple(rows), tuple(notes))


def _row(what: str, status: str, detail: str, advice: str = "") -> AvailabilityRow:
    from gpudoctor.setup.availability import AvailabilityRow

    return AvailabilityRow(what=what, status=status, detail=detail, advice=advice)


def _disk(plan: Plan, look: Look) -> Iterator[AvailabilityRow]:
    kinds = {step.kind for step in plan.todo}
    in_env, packages = bool(kinds & set(_INTO_ENV)) and bool(plan.env), bool(kinds & set(_PACKAGES))
    places = [(nearest_folder(plan.env, look), plan.disk_gb)] if in_env else []
    if packages:
        places.append(("/", min(plan.disk_gb, _ROOM_FOR_PACKAGES) if in_env else plan.disk_gb))
    for folder, needed in places:
        free = _free_bytes(folder, look)
        what = f"room in {folder}"
        if free is None:
            yield _row(what, "unknown", "df did not answer")
        elif free < needed * _GB:
            advice = "make room" + (
                ", or choose a folder on another disk with --env PATH" if folder != "/" else " (apt-get clean, old logs)"
            )
            yield _row(what, "problem", f"{free / _GB:.1f} GB are free, and about {needed:g} GB are needed", advice)
        else:
            yield _row(what, "ok", f"{free / _GB:.0f} GB free, about {needed:g} GB needed")


def _free_bytes(folder: str, look: Look) -> int | None:
    lines = look.host.run(["df", "-P", "-k", folder]).stdout.strip().splitlines()
    parts = lines[-1].split() if len(lines) > 1 else []
    return int(parts[3]) * 1024 if len(parts) >= 6 and parts[3].isdigit() else None


def nearest_folder(path: str, look: Look) -> str:
    """`path`, or the first folder above it that exists."""
    while path not in ("", "/") and not look.host.exists(path):
        path = posixpath.dirname(path)
    return path or "/"


def _architecture(plan: Plan, look: Look) -> Iterator[AvailabilityRow]:
    machine = str(look.facts.value("platform.machine", "")).lower()
    if not machine:
        yield _row("processor", "unknown", "its architecture is not known")
    elif machine not in _SERVED and any(step.kind in ("pip", "apt.repository", "dnf.repository") for step in plan.todo):
        advice = "frameworks for devices are built for 64-bit x86 and ARM; use such a machine, or build from source"
        yield _row("processor", "problem", f"{machine}: no wheels and no vendor packages are made for it", advice)
    else:
        yield _row("processor", "ok", machine)


def _write_permission(plan: Plan, look: Look) -> Iterator[AvailabilityRow]:
    if not plan.env or not any(step.kind in _INTO_ENV for step in plan.todo):
        return
    folder = nearest_folder(plan.env, look)
    may = look.host.may_open(folder)
    if may is False:
        yield _row(f"writing to {folder}", "problem", "no permission for this user", "choose a folder of your own with --env PATH")
    else:
        yield _row(f"writing to {folder}", "ok" if may else "unknown", "" if may else "the permissions could not be read")


def _python(plan: Plan, look: Look) -> Iterator[AvailabilityRow]:
    for step in plan.todo:
        if step.kind != "venv":
            continue
        path, minor, uv = (str(step.settings.get(key) or "") for key in ("python", "minor", "uv"))
        if path and look.host.exists(path):
            yield _row("Python", "ok", f"{path} ({minor})")
        elif path and any(earlier.kind in _PACKAGES for earlier in plan.todo if earlier.number < step.number):
            yield _row("Python", "ok", f"{path} ({minor}), which a step before installs")
        elif path:
            advice = "install it, or name another with --python-version; with uv (https://docs.astral.sh/uv/) one is fetched"
            yield _row("Python", "problem", f"{path} is not installed", advice)
        elif uv:
            yield _row("Python", "ok", f"{uv} fetches Python {minor}")


def _root(plan: Plan, look: Look) -> Iterator[str]:
    steps = [step for step in plan.todo if step.root]
    if not steps or look.facts.value("user.is_root") is True:
        return
    numbers = ", ".join(str(step.number) for step in steps)
    if look.facts.value("tools.sudo"):
        yield f"root rights are needed for step {numbers}: each command runs through sudo"
    else:
        yield f"root rights are needed for step {numbers}, and sudo is not installed: the commands are shown, to be run as root"


def _still_there(plan: Plan, look: Look, places: ReachedServers, platforms: Sequence[str]) -> Iterator[AvailabilityRow]:
    from gpudoctor.setup import availability

    python = _minor(plan, look)
    architecture = DEB_ARCHITECTURES.get(str(look.facts.value("platform.machine", "")).lower(), "")
    repositories: list[tuple[Address, str, Sequence[str]]] = []
    for step in plan.todo:
        settings = step.settings
        if step.kind == "pip":
            yield from availability.python_packages(places, _asked(plan, step, look, python, platforms))
        elif step.kind == "apt.repository":
            address, suite, components = _repository(settings), str(settings.get("suite", "")), list(settings.get("components", ()))
            repositories.append((address, suite, components))
            yield from availability.repository(places, address, suite, components, architecture)
        elif step.kind == "apt.install":
            yield from availability.pinned_packages(places, list(settings.get("packages", ())), repositories, architecture)
        elif step.kind == "dnf.repository":
            yield availability.download(places, _repository(settings), "repodata/repomd.xml")
            yield availability.key(places, _repository(settings))
        elif step.kind == "download":
            yield availability.download(places, Address(name="", kind="download", url=str(settings.get("url", ""))), "")


def _asked(plan: Plan, step: PlannedStep, look: Look, python: tuple[int, int] | None, platforms: Sequence[str]) -> Packages:
    from gpudoctor.setup.availability import Packages

    settings = step.settings
    indexes = [str(settings.get("index") or ""), *filter(None, [str(settings.get("first_index") or "")])]
    return Packages(
        requirements=list(settings.get("packages", ())), indexes=[(_named(url, look), url) for url in indexes if url],
        links=[str(place) for place in settings.get("find_links", ()) if "://" in str(place)],
        python=python, platforms=platforms, pre="--pre" in settings.get("options", ()), recipe=plan.name,
    )  # fmt: skip


def _named(url: str, look: Look) -> str:
    """The name of the index at a URL, 'pytorch/xpu'; the URL itself where no address is above it."""
    below = [one for one in look.addresses.values() if one.url and f"{url}/".startswith(f"{one.url}/")]
    best = max(below, key=lambda one: len(one.url), default=None)
    return f"{best.name}{url[len(best.url) :]}" if best else url


def _repository(settings: Settings) -> Address:
    """The address of the repository in the settings of its step, with mirrors."""
    name, url, key_url, fingerprint = (str(settings.get(key) or "") for key in ("name", "url", "key_url", "fingerprint"))
    return Address(name=name, kind="apt", url=url, key_url=key_url, fingerprint=fingerprint)


def _minor(plan: Plan, look: Look) -> tuple[int, int] | None:
    """(major, minor) of the Python of the environment: by the step that makes it, else by --python-version; None where neither says it."""
    said = plan.python
    said = said or str(look.options.get("python_version") or "")
    parts = said.split(".")
    return (int(parts[0]), int(parts[1])) if len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit() else None


def _without_network(rows: Sequence[AvailabilityRow], places: ReachedServers) -> Iterator[AvailabilityRow]:
    """The rows, with one row for all hosts that did not answer."""
    dead = places.dead
    yield from (row for row in rows if row.status != "unreached")
    if dead:
        said = ", ".join(f"{host} ({_WHY.get(why, why)})" for host, why in sorted(dead.items()))
        advice = (
            "look at the network, the proxy (https_proxy) and its certificates; a site with mirrors: --mirror NAME=URL; "
            "a machine without a network: --offline-bundle DIR"
        )
        yield _row("network", "problem", f"not reached: {said}", advice)
    elif rows:
        yield _row("network", "ok", "")


_WHY = {"timeout": "no answer in time", "tls": "its certificate is not trusted", "unreachable": "no connection", "offline": "not allowed",
        "insecure": "leads to an address without https"}  # fmt: skip
