"""Makes the part of an offline bundle that apt reads: of each repository its signed index, the lists that this names, and the packages."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import unquote

from msgspec import Struct

from gpudoctor.setup.offline.bundle import BundleSource
from gpudoctor.setup.packages import apt, apt_sources
from gpudoctor.system.writable_host import ActFailed, WritableHost

_FORMAT = "$(FILENAME)|$(METAKEY)|$(REPO_URI)|$(RELEASE)|$(SOURCESENTRY)"
_PACKED = (".xz", ".gz", ".bz2")


class _List(Struct, frozen=True):
    file: str
    key: str
    """The name that the signed index gives it: main/binary-amd64/Packages."""
    uri: str
    release: str
    entry: str


def copy_repositories(
    machine: WritableHost, options: Sequence[str], folder: str, lists: str, packages: Mapping[str, str], noted: Callable[[str, str], None]
) -> tuple[BundleSource, ...]:
    """Copies the repositories into `folder`/repos. `packages`: the address of each package to the downloaded file. `noted` is called with
    the path and the address of each copy. Raises ActFailed."""
    listed = [entry for entry in _lists(machine, options) if any(uri.startswith(entry.uri) for uri in packages)]
    places = {uri: f"repos/{number}" for number, uri in enumerate(dict.fromkeys(entry.uri for entry in listed))}
    for uri, file in packages.items():
        base = next((base for base in places if uri.startswith(base)), None)
        if base is None:
            raise ActFailed(f"{uri} belongs to no repository of this machine", "gpudoctor setup --plan names the step")
        path = f"{places[base]}/{unquote(uri[len(base) :])}"
        _move(machine, file, f"{folder}/{path}")
        noted(path, uri)
    found: dict[tuple[str, str], BundleSource] = {}
    for entry in listed:
        top = f"{places[entry.uri]}/{'' if entry.release.endswith('/') else 'dists/'}{entry.release}".rstrip("/").replace("/./", "/")
        target, signed = f"{folder}/{posixpath.normpath(top)}", b""
        prefix = apt_sources.list_prefix(entry.uri, entry.release)
        for name in ("InRelease", "Release", "Release.gpg"):
            content = machine.read(f"{lists}/{prefix}{name}")
            if content is not None:
                _put(machine, f"{target}/{name}", content)
                signed += content
        _put_list(machine, entry, signed, target)
        before = found.get((entry.uri, entry.release))
        component = entry.key.partition("/binary-")[0] if "/binary-" in entry.key else ""
        components = tuple(dict.fromkeys([*(before.components if before else ()), *([component] if component else [])]))
        name = posixpath.basename(entry.entry.partition(":")[0])
        found[entry.uri, entry.release] = BundleSource(
            path=places[entry.uri], suite=entry.release, components=components,
            name=name.removeprefix("gpudoctor-").removesuffix(".sources") if name.startswith("gpudoctor-") else "",
        )  # fmt: skip
    return tuple(found.values())


def _lists(machine: WritableHost, options: Sequence[str]) -> list[_List]:
    words = ["apt-get", *options[2:], "indextargets", "--format", _FORMAT, "Created-By: Packages"]
    rows = [line.split("|") for line in machine.ask(words, env=dict(apt.ENV)).output.splitlines()]
    return [_List(*row) for row in rows if len(row) == 5]


def _put_list(machine: WritableHost, entry: _List, signed: bytes, target: str) -> None:
    """Writes a list under a name that the repository has signed: as apt keeps it, or compressed as on the server where only that is
    signed."""
    words = set(signed.split())
    content = machine.read(entry.file)
    if content is not None and entry.key.encode() in words:
        _put(machine, f"{target}/{entry.key}", content)
        return
    ending = next((ending for ending in _PACKED if f"{entry.key}{ending}".encode() in words), None)
    if ending is not None:
        top = entry.uri + ("" if entry.release.endswith("/") else "dists/") + entry.release.rstrip("/") + "/"
        _put(machine, f"{target}/{entry.key}{ending}", machine.fetch(f"{top}{entry.key}{ending}", limit=500_000_000))


def _put(machine: WritableHost, path: str, content: bytes) -> None:
    _folders(machine, posixpath.dirname(path))
    machine.write(path, content)


def _move(machine: WritableHost, source: str, target: str) -> None:
    _folders(machine, posixpath.dirname(target))
    machine.rename(source, target)


def _folders(machine: WritableHost, path: str) -> None:
    missing = []
    while not machine.look.exists(path):
        missing.append(path)
        path = posixpath.dirname(path)
    for folder in reversed(missing):
        machine.make_folder(folder)
