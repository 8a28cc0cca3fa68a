"""All access to the network by HTTP. It is offline by default: no socket is opened without `--online` or a command about the network."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

if TYPE_CHECKING:
    import requests

_STALL = 60.0
"""The seconds without a byte after which a download fails."""


class Answer(Struct, frozen=True):
    """The answer of a server, or the problem: offline, timeout, too-large, tls, unreachable, bad-address, insecure.

    insecure: the server redirected from https to an address without it, which was not followed. `headers` have lower-case names.
    """

    url: str
    status: int | None = None
    content: bytes = b""
    problem: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the server answered with success and the whole content is here."""
        return not self.problem and self.status is not None and 200 <= self.status < 300

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")


class HttpClient:
    """Fetches whole documents within limits of time and size. Errors of servers and of the network are answers, never exceptions."""

    def __init__(self, online: bool) -> None:
        self.online = online

    def get(self, url: str, *, timeout: float = 10.0, limit: int = 5_000_000) -> Answer:
        return self._ask("GET", url, timeout, limit)

    def head(self, url: str, *, timeout: float = 10.0) -> Answer:
        return self._ask("HEAD", url, timeout, 0)

    def send(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None = None, timeout: float = 30.0, limit: int = 5_000_000
    ) -> Answer:
        """Sends one request, without following redirections and without a password of ~/.netrc: a token must go to `url` alone."""
        if any(name.lower() in _SECRET_HEADERS for name in headers) and not _is_private(url):
            return Answer(url, problem="insecure")
        return self._ask(method, url, timeout, limit, headers=headers, body=body, alone=True)

    def _ask(
        self, method: str, url: str, timeout: float, limit: int, *, headers: Mapping[str, str] | None = None, body: bytes | None = None,
        alone: bool = False,
    ) -> Answer:  # fmt: skip
        """The answer to a request. `limit` 0: the body is not read. `alone`: where the answer breaks off its status is kept, since the
        request may have changed something on the server; otherwise such a server has not answered."""
        deadline = time.monotonic() + timeout
        found = Answer(url)
        try:
            with self._answer(method, url, timeout, dict(headers or {}), body=body, alone=alone) as answer:
                found = Answer(url, answer.status_code, headers={name.lower(): value for name, value in answer.headers.items()})
                content = bytearray()
                for chunk in _chunks(answer) if limit else ():
                    content += chunk
                    if len(content) > limit:
                        return replace(found, problem="too-large")
                    if time.monotonic() > deadline:  # a server that sends byte by byte would never exceed a limit for each read
                        return replace(found, problem="timeout")
                return replace(found, content=bytes(content))
        except _Trouble as trouble:
            return replace(found if alone else Answer(url), problem=trouble.problem)

    def download(
        self, url: str, path: str, *, limit: int, timeout: float, progress: Callable[[int, int | None], None] = lambda got, whole: None
    ) -> tuple[int | None, str]:
        """Makes one attempt to complete the file `path`, whose present content is taken for the beginning of the document.

        Returns (status, problem): the document is complete where the status is 200 or 206 and there is no problem. The file keeps what
        has arrived, up to `limit` bytes. `progress` gets the bytes so far and of the whole. Raises OSError for errors of the disk.
        """
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        status = None
        with os.fdopen(os.open(path, flags, 0o644), "r+b", buffering=0) as file:
            have = file.seek(0, os.SEEK_END)
            headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
            try:
                with self._answer("GET", url, _STALL, headers) as answer:
                    status = answer.status_code
                    return status, _save(answer, file, have, limit, time.monotonic() + timeout, progress)
            except _Trouble as trouble:
                return status, trouble.problem
            except _Disk as disk:
                raise disk.error from None

    @contextlib.contextmanager
    def _answer(
        self, method: str, url: str, timeout: float, headers: dict[str, str], body: bytes | None = None, alone: bool = False
    ) -> Iterator[requests.Response]:
        """The open answer. `timeout`: seconds without a byte. Raises _Trouble, also for errors within the block."""
        if not self.online:
            raise _Trouble("offline")
        if not url.startswith(("https://", "http://")):
            raise _Trouble("bad-address")
        import requests
        from urllib3.exceptions import HTTPError

        class Session(requests.Session):
            def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
                prepared_request.headers.pop("Authorization", None)  # a password of ~/.netrc is sent only to the host that it belongs to

        quiet = alone or not _is_private(url)
        try:
            with Session() as session, session.request(
                method, url, timeout=timeout, stream=True, allow_redirects=not alone, data=body, auth=_as_it_is if quiet else None,
                headers={"User-Agent": "gpudoctor", **headers}, hooks={} if alone else {"response": _keep_secure},
            ) as answer:  # fmt: skip
                yield answer
        except requests.exceptions.SSLError:
            raise _Trouble("tls") from None
        except requests.exceptions.Timeout:
            raise _Trouble("timeout") from None
        except (requests.exceptions.InvalidURL, requests.exceptions.MissingSchema, requests.exceptions.InvalidSchema):
            raise _Trouble("bad-address") from None
        except (requests.exceptions.RequestException, HTTPError, OSError, ValueError):
            raise _Trouble("unreachable") from None


class _Trouble(Exception):
    """Raised with the problem of an Answer."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class _Disk(Exception):
    """Carries an OSError of the disk, apart from those of the network."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def _save(
    answer: requests.Response, file: IO[bytes], have: int, limit: int, deadline: float, progress: Callable[[int, int | None], None]
) -> str:
    """Writes the document, or its rest, into `file`; returns the problem, '' where it is complete."""
    got = _offset(answer, have)
    if got is None:
        return "unreachable" if answer.status_code == 206 else ""
    length = answer.headers.get("Content-Length", "")
    whole = got + int(length) if re.fullmatch(r"[0-9]{1,17}", length) else None
    if whole is not None and whole > limit:
        return "too-large"
    _put(file, None, got)
    for chunk in _chunks(answer, decode=False):
        if got + len(chunk) > limit:
            return "too-large"
        _put(file, chunk, got)
        got += len(chunk)
        progress(got, whole)
        if time.monotonic() > deadline:
            return "timeout"
    return "" if whole is None or got == whole else "unreachable"


def _put(file: IO[bytes], chunk: bytes | None, at: int) -> None:
    """Writes a chunk at the position `at`; with None, truncates the file there."""
    try:
        if chunk is None:
            file.truncate(at)
            file.seek(at)
        else:
            while chunk:  # an unbuffered file may write only a part of the chunk
                chunk = chunk[file.write(chunk) :]
    except OSError as error:
        raise _Disk(error) from None


_SECRET_HEADERS = ("authorization", "private-token", "proxy-authorization", "cookie")


def _is_private(url: str) -> bool:
    """Whether nobody on the network can read the request: https, or this machine itself."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1"))
    except ValueError:
        return False


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Returns the request unchanged: as `auth` it keeps requests from replacing a token by a password of ~/.netrc."""
    return request


def _keep_secure(answer: requests.Response, **_: Any) -> None:
    """Raises _Trouble for an answer that redirects to an insecure address; it is called before a redirection is followed."""
    if answer.is_redirect and answer.url.startswith("https:"):
        from urllib.parse import urljoin

        if not urljoin(answer.url, answer.headers["location"]).lower().startswith("https:"):
            raise _Trouble("insecure")


def _offset(answer: requests.Response, have: int) -> int | None:
    """The position in the document at which this answer begins; None where it is no part of it."""
    if answer.status_code == 206:
        found = re.match(r"bytes (\d{1,18})-", answer.headers.get("Content-Range", ""))
        return int(found[1]) if found and int(found[1]) <= have else None
    return 0 if answer.status_code == 200 else None


def _chunks(answer: requests.Response, decode: bool = True) -> Iterator[bytes]:
    """The data as they arrive: iter_content would wait for a whole chunk."""
    read1 = getattr(answer.raw, "read1", None)
    if read1 is None:  # urllib3 1 has no read1()
        yield from answer.iter_content(1024)
        return
    while chunk := read1(65536, decode_content=decode):
        yield chunk
