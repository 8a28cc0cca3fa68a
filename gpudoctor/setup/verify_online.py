"""Checks whether all addresses and versions of the recipes still exist, for `gpudoctor list recipes --verify-online` on any machine.

What a recipe leaves to the facts of a machine (a template) is checked as far as possible: the project without its version, the key
without the suite. The rest is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from gpudoctor.model.recipe import Address, Recipe, RecipeBook, StepTemplate
from gpudoctor.setup import availability
from gpudoctor.setup.availability import OK, PROBLEM, UNKNOWN, UNREACHED, AvailabilityRow, Packages, ReachedServers
from gpudoctor.system.http import HttpClient

_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ARCHITECTURE = "amd64"
"""The architecture for which pinned packages are checked, since nearly all machines with such cards have it."""


class OnlineRow(Struct, frozen=True):
    """One check. `recipe`: its id, or '-' for an address that no recipe's check used; `status`: ok, problem, unknown or unreached."""

    recipe: str
    address: str
    what: str
    status: str
    detail: str


def verify_online(book: RecipeBook, network: HttpClient) -> Iterator[OnlineRow]:
    """One row for each thing that a recipe names, and for each other address, as soon as its result is known."""
    places = ReachedServers(network)
    used: set[str] = set()
    for recipe in sorted(book.recipes, key=lambda one: one.id):
        for row in _recipe(recipe, book, places):
            if row.status != UNKNOWN:
                used.add(row.address)
            yield OnlineRow(recipe.id, row.address, row.what, row.status, _detail(row))
    for name, address in sorted(book.addresses.items()):
        if name not in used:
            for row in _address(places, address):
                yield OnlineRow("-", name, row.what, row.status, _detail(row))


def summary(rows: Sequence[OnlineRow]) -> str:
    count = {status: sum(row.status == status for row in rows) for status in (OK, PROBLEM, UNKNOWN, UNREACHED)}
    return (
        f"{len(rows)} looked at: {count[OK]} as they should be, {count[PROBLEM]} not, "
        f"{count[UNKNOWN]} depend on the machine or are not known, {count[UNREACHED]} not reached"
    )


def _detail(row: AvailabilityRow) -> str:
    return f"{row.detail}; {row.advice}" if row.advice and row.status == PROBLEM else row.detail


def _recipe(recipe: Recipe, book: RecipeBook, places: ReachedServers) -> Iterator[AvailabilityRow]:
    steps = [step for step in recipe.steps if isinstance(step, StepTemplate)]
    repositories: list[tuple[Address, str, Sequence[str]]] = []
    for step in steps:
        if step.do == "pip":
            yield from _pip(step, recipe, book, places)
        elif step.do in ("apt.repository", "dnf.repository"):
            yield from _repository(step, book, places, repositories)
        elif step.do == "apt.install":
            pins = [str(entry) for entry in step.settings.get("packages", ()) if "{" not in str(entry)]
            yield from availability.pinned_packages(places, pins, repositories, _ARCHITECTURE)
        elif step.do == "download":
            yield _download(step, book, places)


def _pip(step: StepTemplate, recipe: Recipe, book: RecipeBook, places: ReachedServers) -> Iterator[AvailabilityRow]:
    named = [str(step.settings.get("index") or "pypi"), *filter(None, [str(step.settings.get("first_index") or "")])]
    links = [str(one) for one in step.settings.get("find_links", ()) if not str(one).startswith("/")]
    packages = [str(text) for text in step.settings["packages"]]
    chosen = [text for text in (*named, *links) if "{" in text]
    if chosen:
        yield AvailabilityRow(what=", ".join(packages), status=UNKNOWN, detail=f"the facts of a machine choose the index: {chosen[0]}")
        return
    requirements = []
    for text in packages:
        project = _PROJECT.match(text)
        if "{" not in text:
            requirements.append(text)
        elif project:
            requirements.append(project[0])  # the project can be checked; facts choose its version
        else:
            yield AvailabilityRow(what=text, status=UNKNOWN, detail="the facts of a machine choose it", address=named[0].partition("/")[0])
    asked = Packages(
        requirements=requirements, indexes=[(name, _url(name, book)) for name in named], links=[_url(name, book) for name in links],
        recipe=recipe.name,
    )  # fmt: skip
    yield from availability.python_packages(places, asked)


def _url(name: str, book: RecipeBook) -> str:
    first, _, below = name.partition("/")
    return f"{book.addresses[first].url}/{below}".rstrip("/") if first in book.addresses else name


def _repository(
    step: StepTemplate, book: RecipeBook, places: ReachedServers, repositories: list[tuple[Address, str, Sequence[str]]]
) -> Iterator[AvailabilityRow]:
    first, _, below = str(step.settings.get("repository", "")).partition("/")
    known = book.addresses.get(first)
    if known is None:
        yield AvailabilityRow(what=first, status=UNKNOWN, detail="the facts of a machine choose the repository")
        return
    suite, components = str(step.settings.get("suite", "")), [str(one) for one in step.settings.get("components", ())]
    chosen = next((text for text in (below, suite, *components) if "{" in text), "")
    if chosen or step.do == "dnf.repository":
        yield AvailabilityRow(
            what=f"{first} {suite}".strip(), status=UNKNOWN, detail=f"the facts of a machine choose {chosen or 'it'}", address=first
        )
        if known.key_url:
            yield availability.key(places, known)
        return
    address = Address(
        name=known.name, kind=known.kind, url=f"{known.url}/{below}".rstrip("/"), key_url=known.key_url, fingerprint=known.fingerprint
    )
    repositories.append((address, suite, components))
    yield from availability.repository(places, address, suite, components, "")


def _download(step: StepTemplate, book: RecipeBook, places: ReachedServers) -> AvailabilityRow:
    name, path = str(step.settings.get("address", "")), str(step.settings.get("path", ""))
    first, _, below = name.partition("/")
    if first not in book.addresses or "{" in name + path:
        return AvailabilityRow(
            what=path, status=UNKNOWN, detail="the facts of a machine choose it", address=first if first in book.addresses else ""
        )
    return availability.download(places, book.addresses[first], "/".join(filter(None, (below, path))))


def _address(places: ReachedServers, address: Address) -> Iterator[AvailabilityRow]:
    if address.key_url:
        yield availability.key(places, address)
        return
    row = availability.download(places, address, "")
    # Some servers refuse their top folder but not those below.
    closed = row.status == PROBLEM and "is refused" in row.detail
    yield AvailabilityRow(what=address.url, status=UNKNOWN if closed else row.status, detail=row.detail, address=address.name)
