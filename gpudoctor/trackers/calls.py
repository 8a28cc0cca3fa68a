"""The requests to each kind of tracker, and the places of values in its answers. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from msgspec import Struct, field

from gpudoctor.system import json_text
from gpudoctor.trackers.address import TrackerPlace, project_path

LONGEST = {"github": 65_536, "gitlab": 1_000_000, "gitea": 65_535}
"""Characters of one comment: the documented limits of GitHub and GitLab; for Gitea, the limit of its databases in every version."""
PAGE = 100
_MARK = "gpudoctor-report"


class Call(Struct, frozen=True, kw_only=True):
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


def marked(body: str, about: str = "") -> tuple[str, str]:
    """The comment with its marker (an HTML comment, which is not displayed), and the marker, by which the comment is found later.

    `about`: what makes the report this one and no other, without its date; the whole text where it is ''.
    """
    mark = f"<!-- {_MARK} {hashlib.sha256((about or body).encode('utf-8', 'replace')).hexdigest()[:16]} -->"
    return f"{body.rstrip()}\n\n{mark}\n", mark


def issue(place: TrackerPlace, token: str) -> Call:
    return Call(method="GET", url=f"{place.api}/{project_path(place)}/issues/{place.number}", headers=headers(place, token))


def comments(place: TrackerPlace, token: str, address: str, page: int, since: str) -> Call:
    """The request for an issue's comments, newest first where the tracker can sort. `since`: UTC, 2026-11-20T10:00:00Z."""
    if place.kind == "gitlab":
        query = f"order_by=created_at&sort=desc&per_page={PAGE}&page={page}"
    elif place.kind == "github":
        query = f"per_page={PAGE}&page={page}&since={quote(since)}"
    else:  # Gitea returns all of them at once
        query = f"since={quote(since)}"
    return Call(method="GET", url=f"{comments_of(place, address)}?{query}", headers=headers(place, token))


def comment(place: TrackerPlace, token: str, address: str, body: str) -> Call:
    return Call(
        method="POST", url=comments_of(place, address), body=json.dumps({"body": body}).encode(),
        headers={**headers(place, token), "Content-Type": "application/json"},
    )  # fmt: skip


def comments_of(place: TrackerPlace, address: str) -> str:
    """The address of comments below that of the issue in the API, which may be a redirected one."""
    return f"{address}/{'notes' if place.kind == 'gitlab' else 'comments'}"


def headers(place: TrackerPlace, token: str) -> dict[str, str]:
    """The headers of a request; an empty `token` asks without a login."""
    found = {"Accept": "application/vnd.github+json" if place.kind == "github" else "application/json"}
    if place.kind == "github":
        found["X-GitHub-Api-Version"] = "2022-11-28"
    if token:
        found["Authorization"] = f"{'token' if place.kind == 'gitea' else 'Bearer'} {token}"
    return found


def page_of(place: TrackerPlace, row: Any) -> str:
    """The address of a comment in a browser; that of the issue where the answer has none on this host."""
    if isinstance(row, Mapping):
        url = row.get("html_url")
        if isinstance(url, str) and url.startswith(f"{place.web}/") and url.isprintable() and " " not in url:
            return url
        number = row.get("id")
        if isinstance(number, int):
            return f"{place.page}#{'note_' if place.kind == 'gitlab' else 'issuecomment-'}{number}"
    return place.page


def message_of(content: bytes) -> str:
    """The server's error message in one short line: {"message": "Bad credentials"}, {"message": {"note": […]}}, {"error": …}."""
    try:
        found = json_text.loads(content.decode("utf-8", "replace"))
    except ValueError:
        return ""
    message = (
        next((found[key] for key in ("message", "error_description", "error") if found.get(key)), "") if isinstance(found, dict) else ""
    )
    if not isinstance(message, str):
        message = json.dumps(message)
    errors = found.get("errors") if isinstance(found, dict) else None
    for error in errors if isinstance(errors, list) else ():
        if isinstance(error, Mapping) and isinstance(error.get("message"), str):
            message += f"; {error['message']}"
    flat = " ".join(re.sub(r"[^\x20-\x7e\u00a0-\uffff]", " ", message).split())
    return flat[:200]
