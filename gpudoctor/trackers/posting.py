"""Comments on an issue: reads it first, writes once, and searches for the comment before a repetition."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from gpudoctor.system import json_text
from gpudoctor.system.http import Answer, HttpClient
from gpudoctor.trackers import calls
from gpudoctor.trackers.address import TrackerError, TrackerPlace, Uncertain, settled
from gpudoctor.trackers.answers import complaint, no_json
from gpudoctor.trackers.asking import send
from gpudoctor.trackers.calls import Call

PAGES = 10
LOOK_BACK = 30 * 86_400
"""Seconds: older comments are not searched."""
PAUSES = (2.0, 5.0)
"""Seconds before the searches for a lost comment, since the server may still process it."""
_SIGNS = (("gitea", "api/v1/version", "version"), ("github", "api/v3/meta", "installed_version"), ("gitlab", "api/v4/version", ""))
"""For each kind, an address that answers with JSON without a login, and a key of that JSON; GitLab answers 401."""
_LOST = ("timeout", "unreachable")
_PERHAPS = (500, 502, 503, 504)
"""Statuses of a gateway: the server behind it may have stored the comment."""


class Issue(Struct, frozen=True, kw_only=True):
    """An issue to comment on. `address`: in the API; `already`: the address of the comment that holds this report, if there is one."""

    place: TrackerPlace
    address: str
    title: str
    state: str
    already: str = ""


def kind_of(network: HttpClient, place: TrackerPlace, variables: Mapping[str, str]) -> TrackerPlace:
    """The place with its kind, which the server gives without a token. Raises TrackerError."""
    if place.kind:
        return place
    for kind, path, key in _SIGNS:
        answer = network.send("GET", f"{place.web}/{path}", headers={"Accept": "application/json"}, timeout=15.0, limit=200_000)
        if answer.problem in ("offline", "tls", "unreachable", "timeout"):
            raise TrackerError(complaint(place, answer, time.time(), has_token=False))
        table = _answered(answer)
        if isinstance(table, dict) and (answer.status == 200 and key in table if key else answer.status in (200, 401)):
            return settled(place, kind, variables)
    raise TrackerError(f"{place.web}: is this GitHub Enterprise, GitLab, Gitea or Forgejo? None of their interfaces answers there")


def look(network: HttpClient, place: TrackerPlace, token: str, mark: str) -> Issue:
    """The issue, and whether it has the comment with this mark already. Raises TrackerError."""
    answer = _ask(network, place, calls.issue(place, token), token)
    table = _answered(answer)
    if not isinstance(table, dict):
        raise TrackerError(no_json(place, answer))
    title, state = (str(table.get(key) or "")[:200] for key in ("title", "state"))
    found = _find(network, place, token, answer.url, mark)
    return Issue(place=place, address=answer.url, title=title, state=state, already=found)


def write(network: HttpClient, issue: Issue, token: str, body: str, mark: str, wait: Callable[[float], None] = time.sleep) -> str:
    """Posts the comment and returns its address in a browser. After a lost answer it searches for the comment. Raises TrackerError."""
    place = issue.place
    longest = calls.LONGEST[place.kind]
    if len(body.encode("utf-16-le")) // 2 > longest:
        raise TrackerError(f"the text is too long for {place.host}: {len(body)} of {longest} characters; attach a file (--format zip)")
    for pause in (*PAUSES, None):
        answer = send(network, place, calls.comment(place, token, issue.address, body))
        if answer.status in (200, 201):
            return calls.page_of(place, _answered(answer))
        if answer.problem not in _LOST and answer.status not in _PERHAPS:
            raise TrackerError(complaint(place, answer, time.time(), has_token=True, writing=True))
        if pause is None:
            break
        wait(pause)
        try:
            if found := _find(network, place, token, issue.address, mark):
                return found
        except TrackerError:
            break
    raise Uncertain(
        f"{place.host} did not answer, and whether the comment was written is not known: look at {place.page} before you try again "
        "(a report that is there already is not written twice)"
    )


def _find(network: HttpClient, place: TrackerPlace, token: str, address: str, mark: str) -> str:
    """The address of the comment with the mark; '' where there is none."""
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - LOOK_BACK))
    for page in range(1, PAGES + 1):
        answer = _ask(network, place, calls.comments(place, token, address, page, since), token)
        rows = _answered(answer)
        if not isinstance(rows, list):
            raise TrackerError(no_json(place, answer))
        for row in rows:
            if isinstance(row, Mapping) and isinstance(row.get("body"), str) and mark in row["body"]:
                return calls.page_of(place, row)
        if len(rows) < calls.PAGE or place.kind == "gitea":
            break
    return ""


def _ask(network: HttpClient, place: TrackerPlace, call: Call, token: str) -> Answer:
    """A successful answer, after redirections on the same host. Raises TrackerError for any other."""
    answer = send(network, place, call)
    if answer.problem or answer.status != 200:
        raise TrackerError(complaint(place, answer, time.time(), has_token=bool(token)))
    return answer


def _answered(answer: Answer) -> Any:
    """The parsed content; None where it is no JSON."""
    try:
        return json_text.loads(answer.content.decode("utf-8", "replace")) if not answer.problem else None
    except ValueError:
        return None
