"""What an environment held when we left it: kept in the environment that we made, or in the journal for one that was there before."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping

from gpudoctor.facts.probes import dist_info
from gpudoctor.system.writable_host import WritableHost

MANIFEST = ".gpudoctor-files"
"""In an environment that a venv step made: everything in it as the last step of ours left it."""
SHOWN = 5


def packed(listing: Mapping[str, str]) -> str:
    """A listing of some ten thousand files as one text of some hundred kilobytes."""
    return base64.b64encode(zlib.compress(json.dumps(listing, sort_keys=True).encode("utf-8", "surrogateescape"), 9)).decode()


def unpacked(text: str) -> dict[str, str]:
    """Raises ValueError for what `packed` did not make."""
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
    """None where there is none that can be read."""
    content = machine.read(f"{env}/{MANIFEST}")
    try:
        return None if content is None else unpacked(content.decode("ascii", "replace"))
    except ValueError:
        return None


def added(now: Mapping[str, str], ours: Mapping[str, str]) -> list[str]:
    """Files that are not ours, or not any more as we left them. A file that is gone needs no care."""
    return sorted(path for path, mark in now.items() if mark != "folder" and path != MANIFEST and ours.get(path) != mark)


def described(paths: Iterable[str]) -> str:
    """'flask 3.1.0, notes.txt and 3 more': distributions where their records are among the paths, and files of none."""
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
    # Beside a new distribution in the same folder other files are its modules, most likely.
    rest_of = [path for path in paths if not any(path.startswith((f"{site}/", "bin/")) for site in owned)]
    words = [*named, *rest_of]
    more = len(words) - SHOWN
    return ", ".join(words[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def distributions_in(paths: Iterable[str]) -> list[str]:
    """Names of distributions whose records are among the paths."""
    found: dict[str, None] = {}
    for path in paths:
        match = (
            dist_info.DIST_INFO.match(path.partition(".dist-info/")[0].rpartition("/")[2] + ".dist-info") if ".dist-info/" in path else None
        )
        if match:
            found[match["name"]] = None
    return list(found)
