"""The service of `update-checks`: takes a signed catalogue, verifies it, and puts it into use; or says which is in use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpudoctor import __version__
from gpudoctor.facts import vocabulary
from gpudoctor.knowledge import paths, updated_checks
from gpudoctor.knowledge.compiled_catalogue import CompiledCatalogue
from gpudoctor.knowledge.loader import built_from, our_catalogue
from gpudoctor.knowledge.structure import DataError
from gpudoctor.system.state_folder import private_folder, write_private
from gpudoctor.system.update_repository import UpdateError, fetch

ROOT_FILE = "root.json"
"""The root metadata with which this machine verified a catalogue first, kept beside the catalogue and trusted from then on."""
LARGEST_ROOT = 512_000


class UpdateRequest(Struct, frozen=True, kw_only=True):
    """`source`: an https address or a .zip. `root`: a file with the publisher's root metadata, needed the first time."""

    source: str
    root: str | None = None


class InUse(Struct, frozen=True, kw_only=True):
    """The catalogue in use. `updated`: update-checks installed it; `note`: why an installed one is not used."""

    version: str
    checks: int
    updated: bool
    made: str = ""
    source: str = ""
    note: str = ""


def update(request: UpdateRequest) -> InUse:
    """Verifies and installs a published catalogue. Raises UpdateError; the catalogue in use then stays in use."""
    if paths.checkout_checks() is not None:
        raise UpdateError("this gpudoctor runs from a checkout, whose own folder checks/ is used; update it with git")
    folder = Path(updated_checks.updates_folder())
    try:
        private_folder(folder)
        private_folder(folder / "metadata")
        root = _root(request, folder)
        published = fetch(request.source, updated_checks.TARGET, folder / "metadata", root)
        if not (folder / ROOT_FILE).is_file():
            write_private(folder / ROOT_FILE, root)  # only now: a wrong file would else be trusted for ever
        about = {key: str(published.about.get(key, ""))[:200] for key in ("version", "made", "gpudoctor")}
        if updated_checks.is_older(about["gpudoctor"]):
            raise UpdateError(
                f"{request.source}: it was made with gpudoctor {about['gpudoctor']}; this is {__version__}, whose checks are newer"
            )
        number = _tried(published.content, request.source)
        digest = hashlib.sha256(published.content).hexdigest()
        name = f"{digest[:16]}.catalogue"
        write_private(folder / name, published.content)
        record = {**about, "file": name, "sha256": digest, "source": request.source, "checks": number}
        write_private(folder / updated_checks.RECORD, json.dumps(record, indent=1).encode())
        for old in folder.glob("*.catalogue"):
            if old.name != name:
                old.unlink()
    except OSError as error:
        raise UpdateError(f"{folder}: {error.strerror or error}; the folder must be writable and yours") from error
    return InUse(version=about["version"], checks=number, updated=True, made=about["made"], source=request.source)


def in_use() -> InUse:
    """Which catalogue `check` and `explain` use now. Raises DataError for a damaged one."""
    ours = our_catalogue(vocabulary.items())
    number = sum(1 for _ in ours.entries())
    record: Mapping[str, Any] | None = updated_checks.record()
    if record is None:
        return InUse(version=ours.version, checks=number, updated=False)
    if paths.checkout_checks() is not None:
        note = "A catalogue of update-checks is not used: this gpudoctor runs from a checkout."
    elif updated_checks.current() is None:
        note = f"The catalogue of update-checks of {record['made']} is not used: this gpudoctor has newer checks, or its file is gone."
    else:
        return InUse(version=ours.version, checks=number, updated=True, made=record["made"], source=record["source"])
    return InUse(version=ours.version, checks=number, updated=False, note=note)


def remove() -> bool:
    """Returns to the catalogue of the program; False where none was installed. The verified version is remembered: an older one is still
    refused. Raises UpdateError."""
    folder = Path(updated_checks.updates_folder())
    installed = (folder / updated_checks.RECORD).exists()
    try:
        (folder / updated_checks.RECORD).unlink(missing_ok=True)
        for old in folder.glob("*.catalogue"):
            old.unlink()
    except OSError as error:
        raise UpdateError(f"{folder}: {error.strerror or error}") from error
    return installed


def _root(request: UpdateRequest, folder: Path) -> bytes:
    """The root metadata to trust: the kept ones; those of `request.root` count only where none are kept. Raises UpdateError."""
    kept = folder / ROOT_FILE
    if kept.is_file():
        return kept.read_bytes()
    if request.root is None:
        raise UpdateError(
            "no publisher is trusted yet; give the file with its root metadata once: gpudoctor update-checks SOURCE --trust root.json. "
            "Take that file from the publisher by another way than the catalogue"
        )
    path = Path(request.root)
    try:
        content = path.read_bytes()[: LARGEST_ROOT + 1]
    except OSError as error:
        raise UpdateError(f"{request.root}: {error.strerror or error}; expected the publisher's root.json") from error
    if len(content) > LARGEST_ROOT:
        raise UpdateError(f"{request.root}: it is larger than {LARGEST_ROOT} bytes; expected the publisher's root.json")
    return content


def _tried(content: bytes, source: str) -> int:
    """The number of checks of a catalogue whose every check and stack was built and validated. Raises UpdateError."""
    try:
        catalogue = CompiledCatalogue(content)
        number = built_from(catalogue, vocabulary.items())
    except (ValueError, KeyError, DataError) as error:
        raise UpdateError(f"{source}: this gpudoctor cannot read it ({str(error)[:200]}); update gpudoctor itself") from error
    if not number:
        raise UpdateError(f"{source}: it holds no checks; nothing was changed")
    return number
