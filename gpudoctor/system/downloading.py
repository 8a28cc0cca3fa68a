"""Downloads: continued after an interruption, and moved to their place only after their checksum was verified."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from gpudoctor.system import safe_files
from gpudoctor.system.http import HttpClient
from gpudoctor.system.writable_host import ActFailed

PART = ".gpudoctor-part"
"""The ending of the name of an incomplete download."""
LARGEST = 50_000_000_000
LONGEST = 6 * 3600.0
"""The most seconds for one download, all attempts together."""
FRUITLESS = 4
"""The number of attempts in a row without any data after which a download fails."""
_WHY = {
    "offline": "no network may be used (--offline)",
    "bad-address": "not an address of http or https",
    "insecure": "the server leads from https to an address that is not",
    "tls": "the certificate of the server is not trusted",
    "too-large": "it is larger than it should be",
    "timeout": "the server took too long",
    "unreachable": "the server cannot be reached, or the connection broke",
}
_HOPELESS = ("offline", "bad-address", "insecure", "tls", "too-large")


def fetch(url: str, *, offline: bool, limit: int) -> bytes:
    """The content of a small document, of at most `limit` bytes. Raises ActFailed."""
    answer = HttpClient(online=not offline).get(url, timeout=120.0, limit=limit)
    if answer.problem or not answer.ok:
        raise ActFailed(_reason(url, answer.status, answer.problem), _advice(answer.problem))
    return answer.content


def download(url: str, path: str, *, offline: bool, sha256: str, size: int | None, say: Callable[[str], None]) -> None:
    """Downloads a file to `path`; `size`: its bytes where they are known. Raises ActFailed, and OSError for errors of the disk."""
    wanted = sha256.lower()
    if os.path.isfile(path) and _sha256(path) == wanted:
        return
    part = path + PART
    for fresh in (False, True):
        if fresh:
            safe_files.remove(part)  # the part may belong to another file: the download starts again from the beginning
        continued = os.path.exists(part)
        _get_whole(url, part, offline, size, say)
        say(f"checking {os.path.basename(path)}")
        found = _sha256(part)
        if found == wanted:
            os.replace(part, path)
            safe_files.sync_folder(path)
            return
        if not continued:
            break
    safe_files.remove(part)
    raise ActFailed(
        f"{_plain(url)}: the checksum is {found}, not {wanted}",
        "the file is not the one that the recipe was made for: do not use it; ask where it comes from, or use another mirror",
    )


def _get_whole(url: str, part: str, offline: bool, size: int | None, say: Callable[[str], None]) -> None:
    network, until, fruitless = HttpClient(online=not offline), time.monotonic() + LONGEST, 0
    name = os.path.basename(urlsplit(url).path) or url
    shown = 0.0

    def progress(got: int, whole: int | None) -> None:
        nonlocal shown
        if time.monotonic() - shown >= 0.2:
            shown = time.monotonic()
            say(f"{name}: {got / 1e6:.1f}" + (f" of {whole / 1e6:.1f} MB" if whole else " MB"))

    while True:
        before = _size(part)
        if size is not None and before == size:
            return
        left = until - time.monotonic()
        status, problem = network.download(url, part, limit=size or LARGEST, timeout=max(1.0, left), progress=progress)
        if not problem and status is not None and 200 <= status < 300:
            return
        if status == 416:  # the part is as long as the document: it is complete, or it belongs to another file
            return
        gone = status is not None and not 200 <= status < 300 and status not in (408, 425, 429, 500, 502, 503, 504)
        fruitless = 0 if _size(part) > before else fruitless + 1
        if gone or problem in _HOPELESS or fruitless >= FRUITLESS or left <= 0:
            if problem == "too-large" or _size(part) == 0:
                safe_files.remove(part)
            raise ActFailed(_reason(url, status, problem), _advice(problem))
        say(f"{name}: the connection broke, trying again")
        time.sleep(0.5 * 2**fruitless)


def _size(path: str) -> int:
    with contextlib.suppress(OSError):
        return os.stat(path).st_size
    return 0


def _sha256(path: str) -> str:
    found = hashlib.sha256()
    with open(path, "rb") as handle:
        while chunk := handle.read(1 << 20):
            found.update(chunk)
    return found.hexdigest()


def _reason(url: str, status: int | None, problem: str) -> str:
    if problem not in _WHY and status is not None:
        return f"{_plain(url)}: the server answers with status {status}"
    return f"{_plain(url)}: {_WHY.get(problem, problem)}"


def _advice(problem: str) -> str:
    if problem == "offline":
        return "give an offline bundle that holds it, or allow the network"
    return "try again later, or give a mirror with --mirror NAME=URL"


def _plain(url: str) -> str:
    """The address without the name and password that one of a mirror may hold."""
    found = urlsplit(url)
    return found._replace(netloc=found.netloc.rpartition("@")[2]).geturl()
