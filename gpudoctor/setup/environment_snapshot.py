"""The content of an environment as gpudoctor left it: in a file of an environment that it made, else in the journal."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping

from gpudoctor.facts.probes import dist_info
from gpudoctor.system.writable_host import WritableHost

MANIFEST = ".gpudoctor-files"
"""The file in an environment that a venv step made, with its content as the last step left it."""
SHOWN = 5
"""The number of names in a sentence about files; the others are counted."""


def packed(listing: Mapping[str, str]) -> str:
    """A listing of files as one compressed text: ten thousand files take some hundred kilobytes."""
    return base64.b64encode(zlib.compress(json.dumps(listing, sort_keys=True).encode("utf-8", "surrogateescape"), 9)).decode()


def unpacked(text: str) -> dict[str, str]:
    """The listing that `packed` made a text of. Raises ValueError for any other text."""
    try:
        said = json.loads(zlib.decompress(base64.b64decode(text)))
    except (ValueError, zlib.error) as error:
        raise ValueError("no listing") from error
    if not isinstance(said, dict):
        raise ValueError("no listing")
    return {str(path): str(mark) for path, mark in said.items()}


def write_manifest(env: str, machine: WritableHost) -> None:
    machine.write(f"{env}/{MANIFEST}", packed(machine.list_tree(env)).encode())


def read_manifest(env: str, machine: WritableHost) -> dict[str, str] | None:
    """The listing in the environment; None where there is none that can be read."""
    content = machine.read(f"{env}/{MANIFEST}")
    try:
        return None if content is None else unpacked(content.decode("ascii", "replace"))
    except ValueError:
        return None


def added(now: Mapping[str, str], ours: Mapping[str, str]) -> list[str]:
    """The files of `now` that gpudoctor did not leave there (`ours`) or that were changed since. Files that were removed are not among
    them."""
    return sorted(path for path, mark in now.items() if mark != "folder" and path != MANIFEST and ours.get(path) != mark)


def described(paths: Iterable[str]) -> str:
    """'flask 3.1.0, notes.txt and 3 more': the distributions whose metadata is among the paths, and files that belong to none."""
    paths = list(paths)
    named: dict[str, None] = {}
    owned = set()
    for path in paths:
        folder, _, rest = path.partition(".dist-info/")
        if rest:
            site, _, info = folder.rpartition("/")
            match = dist_info.DIST_INFO.match(f"{info}.dist-info")
            if match:
                named[f"{match['name']} {match['version']}"] = None
                owned.add(site)
    # Other files in the folder of a new distribution are most likely its modules.
    rest_of = [path for path in paths if not any(path.startswith((f"{site}/", "bin/")) for site in owned)]
    words = [*named, *rest_of]
    more = len(words) - SHOWN
    return ", ".join(words[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def distributions_in(paths: Iterable[str]) -> list[str]:
    """The names of the distributions whose metadata is among the paths."""
    found: dict[str, None] = {}
    for path in paths:
        match = (
            dist_info.DIST_INFO.match(path.partition(".dist-info/")[0].rpartition("/")[2] + ".dist-info") if ".dist-info/" in path else None
        )
        if match:
            found[match["name"]] = None
    return list(found)
