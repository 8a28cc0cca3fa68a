"""Whether what a recipe names still exists: versions on Python indexes, apt repositories with their keys and packages, downloads.

Each address is asked once, and a host that did not answer is not asked again. The results are rows; no answer of a server raises.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cmp_to_key
from urllib.parse import urlsplit

from msgspec import Struct, field
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpudoctor.model.recipe import Address
from gpudoctor.setup import openpgp
from gpudoctor.setup.packages import apt_index, python_index
from gpudoctor.setup.packages.apt import AptAlternative, parse_wanted
from gpudoctor.setup.packages.apt_index import BrokenIndex, Release
from gpudoctor.setup.packages.debian_versions import compare
from gpudoctor.system.http import Answer, HttpClient

OK, PROBLEM, UNKNOWN, UNREACHED = "ok", "problem", "unknown", "unreached"
_UNREACHABLE = ("unreachable", "timeout", "tls", "offline", "insecure")
_WITH_TORCH_OPTION = ("torch", "intel-extension-for-pytorch")
"""Projects whose release the option --torch chooses."""
_KEY_LIMIT = 1_000_000


class AvailabilityRow(Struct, frozen=True, kw_only=True):
    """One thing that was checked. `status`: ok, problem, unknown or unreached (no answer). `advice`: the next step after a problem."""

    what: str
    status: str
    detail: str = ""
    advice: str = ""
    address: str = ""
    """The name of the address that was asked, as in recipes/addresses.toml."""


class ReachedServers(Struct):
    """The answers of the network so far. `dead`: hosts that did not answer, with the kind of problem."""

    network: HttpClient
    dead: dict[str, str] = field(default_factory=dict)
    _asked: dict[tuple[str, str], Answer] = field(default_factory=dict)

    def get(self, url: str, limit: int, timeout: float = 60.0) -> Answer:
        return self._once("GET", url, limit, timeout)

    def is_there(self, url: str) -> Answer:
        """The answer to HEAD; where that is an error other than 'not found', the answer to a GET that reads one byte."""
        head = self._once("HEAD", url, 0, 30.0)
        if head.problem or head.ok or head.status in (404, 410):
            return head
        found = self._once("GET", url, 1, 30.0)
        return Answer(url, 200) if found.problem == "too-large" and found.status in (200, None) else found

    def _once(self, method: str, url: str, limit: int, timeout: float) -> Answer:
        try:
            host = urlsplit(url).netloc
        except ValueError:
            return Answer(url, problem="bad-address")
        if host in self.dead:
            return Answer(url, problem=self.dead[host])
        if (method, url) not in self._asked:
            ask = self.network.head(url, timeout=timeout) if method == "HEAD" else self.network.get(url, timeout=timeout, limit=limit)
            if ask.problem in _UNREACHABLE and ask.status is None:
                self.dead[host] = ask.problem
            self._asked[method, url] = ask
        return self._asked[method, url]


def failed(answer: Answer) -> tuple[str, str]:
    """(status, detail) of a row for an answer without content."""
    if answer.status in (404, 410):
        return PROBLEM, f"{answer.url} does not exist any more"
    if answer.status in (401, 403):
        return PROBLEM, f"{answer.url} is refused (status {answer.status})"
    if answer.problem in _UNREACHABLE:
        return UNREACHED, f"{urlsplit(answer.url).hostname} was not reached"
    if answer.problem == "too-large":
        return UNKNOWN, f"{answer.url} is larger than it should be"
    return UNKNOWN, f"{answer.url} answered with {f'status {answer.status}' if answer.status else answer.problem}"


class Packages(Struct, frozen=True, kw_only=True):
    """What one pip step asks for. `indexes`: (name, url), the first being its own; `links`: pages with files of several projects.

    `python`: None for any; `platforms`: tags of wheels, empty for any.
    """

    requirements: Sequence[str]
    indexes: Sequence[tuple[str, str]]
    links: Sequence[str] = ()
    python: python_index.Minor | None = None
    platforms: Sequence[str] = ()
    pre: bool = False
    recipe: str = ""
    """The name of the recipe as a person types it, for the advice."""


def python_packages(places: ReachedServers, asked: Packages) -> Iterator[AvailabilityRow]:
    """One row for each requirement that applies to this Python, without files of this machine."""
    for text in asked.requirements:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            if text.startswith(("https://", "http://")):
                yield _at_address(places, text)
            continue
        if requirement.url is not None:
            if requirement.url.startswith("file:"):
                continue
            yield _at_address(places, requirement.url)
        elif _applies(requirement, asked.python):
            yield _package(places, requirement, asked)


def _at_address(places: ReachedServers, url: str) -> AvailabilityRow:
    url = url.partition("#")[0]
    row = AvailabilityRow(what=url.rpartition("/")[2], status=OK, address="")
    answer = places.is_there(url)
    return _but(row, OK, url) if answer.ok else _but(row, *failed(answer))


def _applies(requirement: Requirement, python: python_index.Minor | None) -> bool:
    if requirement.marker is None:
        return True
    minor = {"python_version": "{}.{}".format(*python), "python_full_version": "{}.{}.0".format(*python)} if python else {}
    return requirement.marker.evaluate(minor)


def _package(places: ReachedServers, requirement: Requirement, asked: Packages) -> AvailabilityRow:
    project = canonicalize_name(requirement.name)
    files: list[python_index.IndexFile] = []
    unread: tuple[str, str] | None = None
    for page in [*(python_index.page_url(url, project) for _, url in asked.indexes), *asked.links]:
        answer = places.get(page, python_index.PAGE_LIMIT)
        if answer.ok:
            files += python_index.read_page(answer.content, project)
        elif answer.status not in (403, 404, 410):  # some servers answer 403 for what they do not have
            unread = failed(answer)
    where = " and ".join([*(name for name, _ in asked.indexes), *asked.links])
    name = asked.indexes[0][0].partition("/")[0] if asked.indexes else ""
    row = AvailabilityRow(what=f"{requirement.name}{requirement.specifier} on {where}", status=OK, address=name)
    fit = python_index.choose(files, requirement, asked.python, asked.platforms, asked.pre)
    if fit.version is not None:
        return _but(row, OK, str(fit.version))
    if unread:
        return _but(row, *unread)
    if not files:
        return _but(row, PROBLEM, f"{requirement.name} is not on {where} any more", _REPORT)
    if fit.matching is not None:
        return _not_for_this_python(row, requirement, asked, fit)
    wanted = str(requirement.specifier).removeprefix("==") if str(requirement.specifier).count(",") == 0 else str(requirement.specifier)
    if fit.nearest is None:
        return _but(row, PROBLEM, f"{requirement.name} {wanted} is not there any more, and no other release serves this machine", _REPORT)
    advice = _other_release(asked.recipe, project, fit.nearest.public, fit.nearest.base_version)
    return _but(row, PROBLEM, f"{requirement.name} {wanted} is not there any more; nearest: {fit.nearest}", advice)


def _not_for_this_python(row: AvailabilityRow, requirement: Requirement, asked: Packages, fit: python_index.Fit) -> AvailabilityRow:
    here = "{}.{}".format(*asked.python) if asked.python else "any Python"
    pythons = [f"{major}.{minor}" for major, minor in fit.pythons]
    problem = f"{requirement.name} {fit.matching} has no wheel for Python {here} on this machine"
    if pythons:
        return _but(
            row, PROBLEM, f"{problem}; it has for {', '.join(pythons)}",
            f"gpudoctor setup {asked.recipe or 'NAME'} --python-version {pythons[-1]}",
        )  # fmt: skip
    return _but(row, PROBLEM, problem, "no wheel of this release serves this system or processor; gpudoctor setup recommends what does")


def _other_release(recipe: str, project: str, public: str, base: str) -> str:
    if project not in _WITH_TORCH_OPTION:
        return _REPORT
    return f"gpudoctor setup {recipe or 'NAME'} --torch {base if public == base else public}"


_REPORT = "the recipe is older than the index: take a newer gpudoctor, or report it; a mirror may still have it (--mirror NAME=URL)"


def repository(
    places: ReachedServers, address: Address, suite: str, components: Sequence[str], architecture: str
) -> Iterator[AvailabilityRow]:
    """Rows about a repository: its suite, signature, components and architecture, and its pinned key."""
    row = AvailabilityRow(what=f"{address.name} {suite}", status=OK, address=address.name)
    release, problem = release_of(places, address.url, suite)
    if release is None:
        yield _but(row, *problem)
    elif not release.signed:
        yield _but(
            row, PROBLEM, f"{apt_index.suite_url(address.url, suite)} is not signed", "nothing is installed from an unsigned repository"
        )
    else:
        lacking = [one for one in components if release.components and one not in release.components and not suite.endswith("/")]
        serves = not architecture or not release.architectures or architecture in release.architectures or "all" in release.architectures
        if lacking:
            yield _but(row, PROBLEM, f"it has no component {', '.join(lacking)} any more; it has {', '.join(release.components)}", _REPORT)
        elif not serves:
            yield _but(row, PROBLEM, f"it has no packages for {architecture}; it has for {', '.join(release.architectures)}")
        else:
            yield _but(row, OK, "signed")
    if address.key_url:
        yield key(places, address)


def release_of(places: ReachedServers, url: str, suite: str) -> tuple[Release | None, tuple[str, str]]:
    """(Release file, ('', '')), or (None, (status, detail)) where it cannot be read."""
    folder = apt_index.suite_url(url, suite)
    answer = places.get(f"{folder}/InRelease", apt_index.RELEASE_LIMIT)
    if answer.ok:
        release = apt_index.read_release(answer.text)
        return release, ("", "") if release else (PROBLEM, f"{folder}/InRelease is no Release file")
    if answer.status not in (403, 404, 410):
        return None, failed(answer)
    plain = places.get(f"{folder}/Release", apt_index.RELEASE_LIMIT)
    release = apt_index.read_release(plain.text) if plain.ok else None
    if release is None:
        return None, (PROBLEM, f"{folder} does not exist any more") if plain.status in (404, 410) else failed(plain)
    detached = places.get(f"{folder}/Release.gpg", apt_index.RELEASE_LIMIT)
    signed = detached.ok and b"PGP SIGNATURE" in detached.content
    return Release(signed, release.architectures, release.components, release.files), ("", "")


def key(places: ReachedServers, address: Address) -> AvailabilityRow:
    row = AvailabilityRow(what=f"{address.name} key", status=OK, address=address.name)
    answer = places.get(address.key_url, _KEY_LIMIT)
    if not answer.ok:
        return _but(row, *failed(answer))
    try:
        openpgp.pinned_key(answer.content, address.fingerprint)
    except openpgp.WrongKey as error:
        advice = "do not use this repository until its owner says why the key changed; [mirrors] may pin a key of your own mirror"
        return _but(row, PROBLEM, f"{address.key_url}: {error}", advice)
    except openpgp.KeyUnreadable as error:
        return _but(row, PROBLEM, f"{address.key_url}: {error}")
    return _but(row, OK, openpgp.spaced(openpgp.normal(address.fingerprint)))


def pinned_packages(
    places: ReachedServers, pins: Sequence[str], repositories: Sequence[tuple[Address, str, Sequence[str]]], architecture: str
) -> Iterator[AvailabilityRow]:
    """Rows about packages with a version: `pins` are entries of apt.install, `repositories` (address, suite, components) of the plan.

    A package that none of them has belongs to the distribution: apt's own simulation decides about it.
    """
    entries = [(pin, _alternatives(pin)) for pin in pins]
    entries = [(pin, alternatives) for pin, alternatives in entries if alternatives and all(one.relation for one in alternatives)]
    if not entries:
        return
    names = {one.name.partition(":")[0] for _, alternatives in entries for one in alternatives}
    offered: dict[str, set[str]] = {}
    source: dict[str, str] = {}
    unread: tuple[str, str] | None = None
    for address, suite, components in repositories:
        for found, problem in _indexes(places, address.url, suite, components, architecture, names):
            unread = unread or problem
            for package, versions in found.items():
                offered.setdefault(package, set()).update(versions)
                source.setdefault(package, address.name)
    for pin, alternatives in entries:
        known = [(one, one.name.partition(":")[0]) for one in alternatives if one.name.partition(":")[0] in offered]
        row = AvailabilityRow(what=pin, status=OK, address=source[known[0][1]] if known else "")
        if any(one.matches(version) for one, name in known for version in offered[name]):
            yield _but(row, OK, f"on {row.address}")
        elif known and not unread:
            name = known[0][1]
            near = ", ".join(sorted(offered[name], key=cmp_to_key(compare), reverse=True)[:3])
            yield _but(row, PROBLEM, f"{pin} is not on {row.address} any more; there is {name} {near}", _REPORT)
        elif unread:
            yield _but(row, *unread)


def _alternatives(entry: str) -> tuple[AptAlternative, ...]:
    try:
        return parse_wanted(entry)
    except ValueError:
        return ()


def _indexes(
    places: ReachedServers, url: str, suite: str, components: Sequence[str], architecture: str, names: Collection[str]
) -> Iterator[tuple[dict[str, set[str]], tuple[str, str] | None]]:
    """(packages with their versions, None) for each component; ({}, (status, detail)) where its index cannot be read."""
    release, problem = release_of(places, url, suite)
    if release is None:
        yield {}, problem
        return
    for component in components or ("",):
        answer = Answer(url)
        for path in apt_index.index_paths(release, suite, component, architecture):
            answer = places.get(f"{apt_index.suite_url(url, suite)}/{path}", apt_index.INDEX_LIMIT, 180.0)
            if answer.ok:
                try:
                    yield apt_index.versions(answer.content, path, names), None
                except BrokenIndex as error:
                    yield {}, (UNKNOWN, f"{answer.url}: {error}")
                break
        else:
            yield {}, failed(answer)


def download(places: ReachedServers, address: Address, path: str) -> AvailabilityRow:
    url = f"{address.url}/{path}" if path else address.url
    row = AvailabilityRow(what=path or url.rpartition("/")[2], status=OK, address=address.name)
    answer = places.is_there(url)
    if answer.ok:
        return _but(row, OK, url)
    status, detail = failed(answer)
    return _but(row, status, detail, _REPORT if status == PROBLEM else "")


def _but(row: AvailabilityRow, status: str, detail: str = "", advice: str = "") -> AvailabilityRow:
    return AvailabilityRow(what=row.what, status=status, detail=detail, advice=advice, address=row.address)
