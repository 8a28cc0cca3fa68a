"""A published catalogue, by The Update Framework (TUF): signatures, expiry and version numbers are verified by its reference client.

A repository is a folder of the web with metadata/ and targets/, or a .zip with the two, for a machine without a network. The client keeps
the last metadata, so that neither an older version nor one that has expired is accepted later.
Source: https://theupdateframework.github.io/specification/latest/
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct

from gpudoctor.system.damaged_archives import DAMAGE, reason
from gpudoctor.system.http import HttpClient

if TYPE_CHECKING:
    from tuf.ngclient.fetcher import FetcherInterface

LARGEST = 64 << 20
"""Bytes of a catalogue, and of a .zip of a repository when it is unpacked."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ARCHIVE = "https://archive.invalid/"
"""The address that stands for a .zip; nothing is ever asked there."""


class UpdateError(ValueError):
    """A catalogue that is not taken: why, and what to do."""


class Published(Struct, frozen=True, kw_only=True):
    """A verified catalogue. `about`: what its publisher says of it (version, made, gpudoctor)."""

    content: bytes
    about: Mapping[str, Any]


def fetch(source: str, target: str, keep: Path, root: bytes) -> Published:
    """The target of the repository at `source` (an https address, or a .zip), verified.

    `keep`: the private folder of the metadata. `root`: the root metadata that is trusted the first time. Raises UpdateError.
    """
    try:
        from tuf.api import exceptions
        from tuf.ngclient.updater import Updater
    except ImportError as error:
        raise UpdateError(
            f"verifying a catalogue needs tuf ({error}); in the environment of gpudoctor: pip install tuf 'securesystemslib[crypto]'"
        ) from error
    base, fetcher = _opened(source)
    try:
        client = Updater(str(keep), f"{base}metadata/", str(keep), f"{base}targets/", fetcher, bootstrap=root)
        client.refresh()
        info = client.get_targetinfo(target)
        if info is None:
            raise UpdateError(f"{source}: it holds no {target}, the catalogue that this gpudoctor reads; update gpudoctor itself")
        if info.length > LARGEST:
            raise UpdateError(f"{source}: {target} has {info.length} bytes; expected at most {LARGEST}")
        path = Path(client.download_target(info, str(keep / f"{target}.new")))
        content = path.read_bytes()
        path.unlink()
    except exceptions.ExpiredMetadataError as error:
        raise UpdateError(f"{source}: its signature has expired ({_line(error)}); take a newer one, and look at this clock") from error
    except exceptions.BadVersionNumberError as error:
        raise UpdateError(f"{source}: it is older than what was verified before ({_line(error)}); take a newer one") from error
    except exceptions.RepositoryError as error:
        raise UpdateError(f"{source}: it cannot be verified ({_line(error)}), and is not used; take it from its publisher again") from error
    except exceptions.DownloadError as error:
        raise UpdateError(f"{source}: it cannot be read ({_line(error)}); look at the address and the network") from error
    except OSError as error:
        raise UpdateError(f"{keep}: {error.strerror or error}; the folder must be writable") from error
    return Published(content=content, about=info.custom if isinstance(info.custom, dict) else {})


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _opened(source: str) -> tuple[str, FetcherInterface]:
    """The base address of a repository and what fetches from it. Raises UpdateError."""
    if source.startswith(("https://", "http://")):
        parts = urlsplit(source)
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise UpdateError(f"{source}: expected an https address; over http anybody on the way can hold updates back")
        if parts.username is not None or parts.query or parts.fragment:
            raise UpdateError("the address has a user, a query or a fragment; expected the plain address of a folder")
        return source.rstrip("/") + "/", _from_web()
    return _ARCHIVE, _from_archive(_files(source))


def _files(source: str) -> dict[str, bytes]:
    """The files of metadata/ and targets/ in a .zip, wherever these two folders lie in it. Raises UpdateError."""
    if not os.path.isfile(source):
        raise UpdateError(f"{source}: no such file; expected the .zip of a published catalogue, or its https address")
    files: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(source) as archive:
            room = LARGEST
            for member in archive.infolist():
                parts = member.filename.split("/")
                if member.is_dir() or len(parts) < 2 or parts[-2] not in ("metadata", "targets"):
                    continue
                with archive.open(member) as content:
                    files["/".join(parts[-2:])] = data = content.read(room + 1)
                room -= len(data)
                if room < 0:
                    raise UpdateError(f"{source}: unpacked it is larger than {LARGEST} bytes, more than any catalogue")
    except DAMAGE as error:
        raise UpdateError(f"{source}: no zip archive that can be read ({reason(error)}); take it from its publisher again") from error
    if "metadata/timestamp.json" not in files:
        raise UpdateError(f"{source}: it holds no metadata/timestamp.json; expected the .zip of a published catalogue")
    return files


def _from_archive(files: Mapping[str, bytes]) -> FetcherInterface:
    from tuf.api.exceptions import DownloadHTTPError
    from tuf.ngclient.fetcher import FetcherInterface

    class FromArchive(FetcherInterface):
        """Answers from the files of a .zip."""

        def _fetch(self, url: str) -> Iterator[bytes]:
            content = files.get(url.removeprefix(_ARCHIVE))
            if content is None:
                raise DownloadHTTPError(f"{url.removeprefix(_ARCHIVE)} is not in the archive", 404)
            return iter((content,))

    return FromArchive()


def _from_web() -> FetcherInterface:
    from tuf.api.exceptions import DownloadError, DownloadHTTPError
    from tuf.ngclient.fetcher import FetcherInterface

    class FromWeb(FetcherInterface):
        """Asks a server, by the program's own door to the network."""

        def _fetch(self, url: str) -> Iterator[bytes]:
            answer = HttpClient(online=True).get(url, timeout=60.0, limit=LARGEST)
            if answer.problem:
                raise DownloadError(f"{url}: {answer.problem}")
            if not answer.ok:
                raise DownloadHTTPError(f"{url}: status {answer.status}", answer.status or 0)
            return iter((answer.content,))

    return FromWeb()
