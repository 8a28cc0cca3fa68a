"""The content of an apt repository: its Release file and its index of packages. Both come from the network and are read within limits."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Collection, Iterator

from msgspec import Struct

RELEASE_LIMIT = 5_000_000
INDEX_LIMIT = 100_000_000
UNPACKED_LIMIT = 500_000_000
_SIGNED = "-----BEGIN PGP SIGNED MESSAGE-----"
_PIECE = 1 << 20
DEB_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "i686": "i386", "armv7l": "armhf"}
"""The architecture in platform.machine to Debian's name of it."""


class BrokenIndex(ValueError):
    """Raised for an index that cannot be read, with the reason in one line."""


class Release(Struct, frozen=True):
    """A Release file. `files`: the paths below the folder of the suite for which it has checksums; `signed`: it holds its signature, as
    InRelease does."""

    signed: bool
    architectures: tuple[str, ...]
    components: tuple[str, ...]
    files: frozenset[str]


def suite_url(url: str, suite: str) -> str:
    """The address of the folder with the Release file. A suite that ends in a slash is a flat repository."""
    return f"{url}/{suite.strip('./')}".rstrip("/") if suite.endswith("/") else f"{url}/dists/{suite}"


def read_release(text: str) -> Release | None:
    """The Release file; None for any other text, such as the page of a proxy."""
    signed = text.lstrip().startswith(_SIGNED)
    fields: dict[str, str] = {}
    files: set[str] = set()
    section = ""
    for line in text[:RELEASE_LIMIT].splitlines():
        if line.startswith("-----BEGIN PGP SIGNATURE"):
            break
        if line[:1] in (" ", "\t"):
            parts = line.split()
            if section in ("SHA256", "SHA512", "SHA1", "MD5Sum") and len(parts) == 3:
                files.add(parts[2])
            continue
        section, colon, value = line.partition(":")
        if colon:
            fields.setdefault(section, value.strip())
    if not files and not {"Suite", "Codename", "Date"} & fields.keys():
        return None
    return Release(signed, tuple(fields.get("Architectures", "").split()), tuple(fields.get("Components", "").split()), frozenset(files))


def index_paths(release: Release, suite: str, component: str, architecture: str) -> list[str]:
    """The paths below the folder of the suite at which the index of packages may lie, the best first."""
    folder = "" if suite.endswith("/") else f"{component}/binary-{architecture}/"
    names = [f"{folder}Packages{ending}" for ending in (".xz", ".gz", "", ".bz2")]
    return [name for name in names if name in release.files] or names[:2]


def versions(packed: bytes, name: str, wanted: Collection[str]) -> dict[str, set[str]]:
    """The versions of each of the packages `wanted` in an index. `name`: its file name, which shows how it is compressed. Raises
    BrokenIndex for a damaged or far too large index."""
    found: dict[str, set[str]] = {}
    package = ""
    for line in _lines(_unpacked(packed, name)):
        if line.startswith(b"Package:"):
            package = line[8:].strip().decode("utf-8", "replace")
        elif line.startswith(b"Version:") and package in wanted:
            found.setdefault(package, set()).add(line[8:].strip().decode("utf-8", "replace"))
    return found


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
        if len(rest) > _PIECE:
            raise BrokenIndex("the index of packages holds a line without end")
    yield rest


def _unpacked(packed: bytes, name: str) -> Iterator[bytes]:
    total = 0
    try:
        for piece in _pieces(packed, name):
            total += len(piece)
            if total > UNPACKED_LIMIT:
                raise BrokenIndex(f"the index of packages is larger than {UNPACKED_LIMIT // 1_000_000} MB")
            yield piece
    except (lzma.LZMAError, zlib.error, OSError, EOFError) as error:
        raise BrokenIndex(f"the index of packages cannot be unpacked ({error})") from error


def _pieces(packed: bytes, name: str) -> Iterator[bytes]:
    """The unpacked data in pieces of at most _PIECE bytes, since a small file may unpack to a very large one."""
    if name.endswith(".gz"):
        inflate = zlib.decompressobj(31)
        data = packed
        while data and not inflate.eof:
            yield inflate.decompress(data, _PIECE)
            data = inflate.unconsumed_tail
    elif name.endswith((".xz", ".bz2")):
        unpack = lzma.LZMADecompressor(memlimit=512_000_000) if name.endswith(".xz") else bz2.BZ2Decompressor()
        data = packed
        while not unpack.eof and (data or not unpack.needs_input):
            yield unpack.decompress(data, _PIECE)
            data = b""
    else:
        yield from (packed[start : start + _PIECE] for start in range(0, len(packed), _PIECE))
