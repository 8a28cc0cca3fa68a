"""An offline bundle: a folder with wheels/, repos/, keys/, downloads/ and manifest.json, which names each file with its checksum.

It comes from elsewhere on a disk: before anything in it is used, every file is compared, and files that the manifest does not name are
refused. The manifest proves nothing by itself, since an attacker would forge it together with the files. Packages of the distribution are
checked by apt against the signatures of their repositories, downloads against the checksums of the recipes, and wheels against the
checksum of the manifest, which the person brings by another way.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from gpudoctor.model.facts import Facts
from gpudoctor.system import json_text
from gpudoctor.system.hashed_tree import OddFile, plain_files, sha256, small_file

FORMAT = "gpudoctor.bundle/2"
MANIFEST = "manifest.json"
_MANIFEST_LIMIT = 20_000_000
_NAME = r"[A-Za-z0-9][A-Za-z0-9._+%~!:-]*"
_PATH = re.compile(rf"(?:(?:wheels|keys|downloads)/|repos/\d{{1,4}}/(?:{_NAME}/){{0,20}}){_NAME}")
_SUITE = re.compile(rf"/|(?:\./)?(?:{_NAME}/)*(?:{_NAME})?")
_REMAKE = "make a new one with gpudoctor setup NAME --make-bundle DIR on a machine with a network, and copy all of it"


class BundleError(ValueError):
    """Raised for a bundle that cannot be made or used, with what is wrong; `advice` says what to do."""

    def __init__(self, reason: str, advice: str = _REMAKE) -> None:
        super().__init__(reason)
        self.advice = advice


class Entry(Struct, frozen=True, kw_only=True):
    """A file in the bundle. `source`: the address or index that it came from; `size`: bytes."""

    sha256: str
    size: int
    source: str = ""


class BundleSource(Struct, frozen=True, kw_only=True):
    """A repository in the bundle. `name`: that of the recipes, whose key is pinned; empty for one of the distribution itself."""

    path: str
    """The folder of the repository within the bundle, such as repos/0."""
    suite: str
    components: tuple[str, ...] = ()
    name: str = ""


class Bundle(Struct, frozen=True, kw_only=True):
    """A bundle, by its manifest. `folder` is absolute; a plan holds it in options["bundle"]."""

    folder: str
    plan: str
    recipe: str
    os_id: str
    os_version: str
    architecture: str
    python: str
    """The Python of the wheels, '3.11'; '' where there are none."""
    date: str
    files: Mapping[str, Entry] = field(default_factory=dict)
    sources: tuple[BundleSource, ...] = ()

    def of(self, part: str) -> list[str]:
        """The files of wheels, repos, keys or downloads."""
        return sorted(path for path in self.files if path.startswith(f"{part}/"))


def manifest_sha256(folder: str) -> str:
    """The checksum of the manifest, which --make-bundle prints and --bundle-sha256 takes. Raises BundleError."""
    return _digest(os.path.abspath(os.path.expanduser(folder)), MANIFEST)


def pinned(folder: str, digest: str) -> Bundle:
    """The verified bundle. `digest`: the checksum of its manifest as the person gave it, or ''. Raises BundleError where it differs, and
    where a bundle with wheels comes without it."""
    wanted = re.sub(r"^sha256:|\s", "", digest.lower())
    if digest and not re.fullmatch(r"[0-9a-f]{64}", wanted):
        raise BundleError(f"--bundle-sha256 {digest[:80]}: expected 64 hexadecimal digits", _WHERE)
    found = manifest_sha256(folder) if digest else ""
    if found != wanted:
        raise BundleError(f"{folder}: the manifest has the SHA-256 {found}, and {wanted} was expected", "do not use this bundle")
    bundle = open_bundle(folder)
    if bundle.of("wheels") and not digest:
        raise BundleError(
            f"{folder} holds Python packages, for which nothing but its own manifest vouches", f"give --bundle-sha256; {_WHERE}"
        )
    return bundle


_WHERE = "gpudoctor setup --make-bundle prints the number at its end; bring it by another way than the bundle"


def read_manifest(folder: str) -> Bundle:
    """The bundle by its manifest; the files are not compared. Raises BundleError."""
    return _read(os.path.abspath(os.path.expanduser(folder)))


def open_bundle(folder: str) -> Bundle:
    """The bundle, after every file was compared with the manifest. Raises BundleError where one differs."""
    top = os.path.abspath(os.path.expanduser(folder))
    bundle = _read(top)
    try:
        there = dict(plain_files(top))
    except OddFile as error:
        raise BundleError(f"{top}/{error} is no plain file; a bundle holds no links") from error
    except OSError as error:
        raise BundleError(
            f"{error.filename or top} cannot be read ({error.strerror})", "look at the disk that the bundle lies on"
        ) from error
    there.pop(MANIFEST, None)
    for path in sorted(there.keys() - bundle.files.keys()):
        raise BundleError(f"{top}/{path} is not in the manifest", "this file is not verified: remove it, or make a new bundle")
    for path, entry in bundle.files.items():
        if path not in there:
            raise BundleError(f"{top}/{path} is missing")
        if there[path] != entry.size or _digest(top, path) != entry.sha256:
            raise BundleError(f"{top}/{path} is not the file that the manifest names: size or checksum differ")
    return bundle


def misfits(bundle: Bundle, facts: Facts, name: str, minor: str = "") -> tuple[str, ...]:
    """The reasons why this bundle does not serve this machine and plan, as clauses. Packages are of one distribution release, wheels of one
    Python and architecture."""
    found = []
    if bundle.plan != name:
        found.append(f"it was made for gpudoctor setup {bundle.plan}, not for {name}")
    machine = str(facts.value("platform.machine", bundle.architecture))
    if _architecture(machine) != _architecture(bundle.architecture):
        found.append(f"it is for {bundle.architecture}, and this machine is {machine}")
    here = (str(facts.value("os.id", "")), str(facts.value("os.version", "")))
    if bundle.of("repos") and here != (bundle.os_id, bundle.os_version):
        found.append(f"its packages are for {bundle.os_id} {bundle.os_version}, and this is {' '.join(here)}")
    if bundle.python and minor and bundle.of("wheels") and bundle.python != minor:
        found.append(f"its wheels are for Python {bundle.python}, and the environment has {minor}")
    return tuple(found)


def manifest_text(bundle: Bundle) -> str:
    files = {path: {"sha256": one.sha256, "size": one.size, "from": one.source} for path, one in sorted(bundle.files.items())}
    table = {
        "format": FORMAT, "plan": bundle.plan, "recipe": bundle.recipe, "os": {"id": bundle.os_id, "version": bundle.os_version},
        "architecture": bundle.architecture, "python": bundle.python, "date": bundle.date, "files": files,
        "sources": [{"path": one.path, "suite": one.suite, "components": list(one.components), "name": one.name} for one in bundle.sources],
    }  # fmt: skip
    return json.dumps(table, indent=1, ensure_ascii=True) + "\n"


def _read(top: str) -> Bundle:
    path = f"{top}/{MANIFEST}"
    try:
        table: Any = json_text.loads(small_file(path, _MANIFEST_LIMIT).decode("utf-8", "replace"))
    except FileNotFoundError:
        raise BundleError(f"{top} is no bundle: it has no {MANIFEST}, which is written last") from None
    except OSError as error:
        raise BundleError(f"{path} cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise BundleError(f"{path} is no manifest: {str(error)[:100]}") from error
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        said = table.get("format") if isinstance(table, dict) else None
        raise BundleError(f"{path}: the format is {str(said)[:40]!r}, not {FORMAT}", "use the gpudoctor that made it, or make a new one")
    system = table.get("os")
    system = system if isinstance(system, dict) else {}
    texts = {key: table.get(key) for key in ("plan", "recipe", "architecture", "python", "date")}
    texts |= {"os_id": system.get("id"), "os_version": system.get("version")}
    for key, value in texts.items():
        if not isinstance(value, str) or not value.isprintable() or len(value) > 200:
            raise BundleError(f"{path}: {key.replace('_', '.')} is not a text")
    files = table.get("files")
    if not isinstance(files, dict):
        raise BundleError(f"{path}: it names no files")
    entries = {name: _entry(path, name, entry) for name, entry in files.items()}
    sources = tuple(_source(path, source) for source in table.get("sources") or ())
    return Bundle(folder=top, files=entries, sources=sources, **{key: str(value) for key, value in texts.items()})


def _source(manifest: str, said: Any) -> BundleSource:
    """A repository in the manifest. Each of its words becomes part of a source of apt, so that all are checked strictly. Raises
    BundleError."""
    table = said if isinstance(said, dict) else {}
    path, suite, name, components = (table.get(key) for key in ("path", "suite", "name", "components"))
    if not (
        isinstance(path, str) and re.fullmatch(r"repos/\d{1,4}", path) and isinstance(suite, str) and suite and _SUITE.fullmatch(suite)
        and ".." not in suite and isinstance(name, str) and re.fullmatch(rf"(?:{_NAME})?", name) and isinstance(components, list)
        and all(isinstance(one, str) and re.fullmatch(rf"{_NAME}(?:/{_NAME})*", one) for one in components)
    ):  # fmt: skip
        raise BundleError(f"{manifest}: sources: {str(said)[:100]!r} is no repository", "do not use this bundle")
    return BundleSource(path=path, suite=suite, name=name, components=tuple(components))


def _entry(manifest: str, name: str, entry: Any) -> Entry:
    if not _PATH.fullmatch(name):
        raise BundleError(f"{manifest}: {name[:100]!r} does not lie in wheels, repos, keys or downloads", "do not use this bundle")
    digest, size, source = (entry.get(key) for key in ("sha256", "size", "from")) if isinstance(entry, dict) else (None, None, None)
    if not (isinstance(digest, str) and re.fullmatch(r"[0-9a-f]{64}", digest) and type(size) is int and isinstance(source, str)):
        raise BundleError(f"{manifest}: {name} needs sha256, size and from")
    return Entry(sha256=digest, size=size, source=source)


def _digest(top: str, path: str) -> str:
    try:
        return sha256(f"{top}/{path}")
    except OSError as error:
        raise BundleError(f"{top}/{path} cannot be read ({error.strerror})", "look at the disk that the bundle lies on") from error


def _architecture(name: str) -> str:
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name.lower(), name.lower())
