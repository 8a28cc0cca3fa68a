"""One request to a tracker. Redirections are followed on the same host only, so that the token goes to no other."""

from __future__ import annotations

from urllib.parse import urljoin

from gpudoctor.system.http import Answer, HttpClient
from gpudoctor.trackers.address import TrackerPlace, same_origin
from gpudoctor.trackers.calls import Call

MOVES = 3
"""The most redirections that are followed in a row."""
TIMEOUT = 30.0
"""The seconds that one answer may take."""


def send(network: HttpClient, place: TrackerPlace, call: Call) -> Answer:
    """The answer, or the redirection to another host. The method never changes: a 303 after a POST is not followed."""
    url = call.url
    for _ in range(MOVES + 1):
        answer = network.send(call.method, url, headers=call.headers, body=call.body, timeout=TIMEOUT)
        location = answer.headers.get("location", "")
        moved = (301, 302, 307, 308) if call.method == "GET" else (301, 307, 308)
        if answer.status not in moved or not location:
            break
        to = urljoin(url, location)
        if not same_origin(to, place.api):
            break
        url = to
    return answer
