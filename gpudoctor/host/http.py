"""The one door to the network. Shut unless somebody opened it: no socket without `--online` or a command about the network."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import requests


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer of a server, or the problem: offline, timeout, too-large, tls, unreachable, bad-address."""

    url: str
    status: int | None = None
    content: bytes = b""
    problem: str = ""

    @property
    def ok(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")


class Network:
    """Fetches whole documents within a time and a size; never raises for what a server or cable does."""

    def __init__(self, online: bool) -> None:
        self.online = online

    def get(self, url: str, *, timeout: float = 10.0, limit: int = 5_000_000) -> Fetched:
        return self._ask("GET", url, timeout, limit)

    def head(self, url: str, *, timeout: float = 10.0) -> Fetched:
        return self._ask("HEAD", url, timeout, 0)

    def _ask(self, method: str, url: str, timeout: float, limit: int) -> Fetched:
        if not self.online:
            return Fetched(url, problem="offline")
        if not url.startswith(("https://", "http://")):
            return Fetched(url, problem="bad-address")
        import requests
        from urllib3.exceptions import HTTPError

        deadline = time.monotonic() + timeout
        try:
            with requests.request(
                method, url, timeout=timeout, stream=True, allow_redirects=True, headers={"User-Agent": "gpudoctor"}
            ) as answer:
                content = bytearray()
                for chunk in _chunks(answer) if limit else ():
                    content += chunk
                    if len(content) > limit:
                        return Fetched(url, answer.status_code, problem="too-large")
                    if time.monotonic() > deadline:  # a server that drips would keep a per-read limit happy for ever
                        return Fetched(url, answer.status_code, problem="timeout")
                return Fetched(url, answer.status_code, bytes(content))
        except requests.exceptions.SSLError:
            return Fetched(url, problem="tls")
        except requests.exceptions.Timeout:
            return Fetched(url, problem="timeout")
        except (requests.exceptions.InvalidURL, requests.exceptions.MissingSchema, requests.exceptions.InvalidSchema):
            return Fetched(url, problem="bad-address")
        except (requests.exceptions.RequestException, HTTPError, OSError, ValueError):
            return Fetched(url, problem="unreachable")


def _chunks(answer: requests.Response) -> Iterator[bytes]:
    """What has arrived, as it arrives: iter_content waits for a whole chunk, however slowly it drips."""
    read1 = getattr(answer.raw, "read1", None)
    if read1 is None:  # urllib3 1
        yield from answer.iter_content(1024)
        return
    while chunk := read1(65536, decode_content=True):
        yield chunk
