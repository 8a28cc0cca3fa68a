"""The one door to the network. Shut unless somebody opened it: no socket without `--online` or a command about the network."""

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
"""Seconds without a byte after which a download is broken."""


class Answer(Struct, frozen=True):
    """What a server said, or the problem: offline, timeout, too-large, tls, unreachable, bad-address, insecure.

    insecure: the server led from https to an address without it; that was not followed. `headers` have lower-case names.
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
    """Fetches whole documents within a time and a size; never raises for what a server or cable does."""

    def __init__(self, online: bool) -> None:
        self.online = online

    def get(self, url: str, *, timeout: float = 10.0, limit: int = 5_000_000) -> Answer:
        return self._ask("GET", url, timeout, limit)

    def head(self, url: str, *, timeout: float = 10.0) -> Answer:
        return self._ask("HEAD", url, timeout, 0)

    def send(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None = None, timeout: float = 30.0, limit: int = 5_000_000
    ) -> Answer:
        """One question, no redirection followed, no password of ~/.netrc added: a token must go nowhere but to `url`."""
        if any(name.lower() in _SECRET_HEADERS for name in headers) and not _is_private(url):
            return Answer(url, problem="insecure")
        return self._ask(method, url, timeout, limit, headers=headers, body=body, alone=True)

    def _ask(
        self, method: str, url: str, timeout: float, limit: int, *, headers: Mapping[str, str] | None = None, body: bytes | None = None,
        alone: bool = False,
    ) -> Answer:  # fmt: skip
        """`limit` 0: the body is not read. `alone`: the status stays known where the answer breaks off, since the question may have
        changed something there; elsewhere a server that breaks off has not answered."""
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
                    if time.monotonic() > deadline:  # a server that drips would keep a per-read limit happy for ever
                        return replace(found, problem="timeout")
                return replace(found, content=bytes(content))
        except _Trouble as trouble:
            return replace(found if alone else Answer(url), problem=trouble.problem)

    def download(
        self, url: str, path: str, *, limit: int, timeout: float, progress: Callable[[int, int | None], None] = lambda got, whole: None
    ) -> tuple[int | None, str]:
        """One try to bring `path` to the whole of the document: what is there already is taken as its beginning.

        Status and problem; whole where the status is 200 or 206 and there is no problem. The file keeps what came, and never gets
        longer than `limit` bytes. `progress` gets bytes so far and in all. Raises OSError for what the disk does.
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
        """The answer, while it is open. `timeout`: seconds without a byte. Raises _Trouble, also for what happens in the block."""
        if not self.online:
            raise _Trouble("offline")
        if not url.startswith(("https://", "http://")):
            raise _Trouble("bad-address")
        import requests
        from urllib3.exceptions import HTTPError

        class Session(requests.Session):
            def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
                prepared_request.headers.pop("Authorization", None)  # a password of ~/.netrc goes where it was asked for alone

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
    """What a server or cable did; a problem of an Answer."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class _Disk(Exception):
    """An OSError of the disk: those of the network are OSErrors too."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def _save(
    answer: requests.Response, file: IO[bytes], have: int, limit: int, deadline: float, progress: Callable[[int, int | None], None]
) -> str:
    """The document, or the rest of it, into `file`; the problem, '' where it is whole."""
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
    """None: everything from `at` on is cut off."""
    try:
        if chunk is None:
            file.truncate(at)
            file.seek(at)
        else:
            while chunk:  # unbuffered: a part may be written
                chunk = chunk[file.write(chunk) :]
    except OSError as error:
        raise _Disk(error) from None


_SECRET_HEADERS = ("authorization", "private-token", "proxy-authorization", "cookie")


def _is_private(url: str) -> bool:
    """Whether nobody on the way can read along: https, or this machine itself."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1"))
    except ValueError:
        return False


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Given as `auth`, it keeps requests from putting a password of ~/.netrc in the place of a token."""
    return request


def _keep_secure(answer: requests.Response, **_: Any) -> None:
    """Called for each answer, before a redirection is followed."""
    if answer.is_redirect and answer.url.startswith("https:"):
        from urllib.parse import urljoin

        if not urljoin(answer.url, answer.headers["location"]).lower().startswith("https:"):
            raise _Trouble("insecure")


def _offset(answer: requests.Response, have: int) -> int | None:
    """Where in the document this answer begins; None where it is no part of it."""
    if answer.status_code == 206:
        found = re.match(r"bytes (\d{1,18})-", answer.headers.get("Content-Range", ""))
        return int(found[1]) if found and int(found[1]) <= have else None
    return 0 if answer.status_code == 200 else None


def _chunks(answer: requests.Response, decode: bool = True) -> Iterator[bytes]:
    """What has arrived, as it arrives: iter_content waits for a whole chunk, however slowly it drips."""
    read1 = getattr(answer.raw, "read1", None)
    if read1 is None:  # urllib3 1
        yield from answer.iter_content(1024)
        return
    while chunk := read1(65536, decode_content=decode):
        yield chunk
