"""Explains answers that are no success: one line each, with what to do. Pure; the caller passes the time."""

from __future__ import annotations

import re
import time

from gpudoctor.system.http import Answer
from gpudoctor.trackers import tokens
from gpudoctor.trackers.address import TrackerPlace
from gpudoctor.trackers.calls import LONGEST, message_of

_PROBLEMS = {
    "offline": "no network may be used (--offline); leave that out",
    "timeout": "the server took too long; try again later",
    "unreachable": "the server cannot be reached, or the connection broke; try again, or look whether a proxy is needed (https_proxy)",
    "tls": "the certificate of the server is not trusted; for a site with an authority of its own set REQUESTS_CA_BUNDLE",
    "too-large": "the answer is larger than any should be; is it the right address?",
    "bad-address": "no address of http or https",
    "insecure": "the address is not https, or the server leads to one that is not; a token is not sent in the clear",
}
_RIGHT = {"github": "Issues: write, or repo", "gitlab": "api", "gitea": "write:issue"}


def complaint(place: TrackerPlace, answer: Answer, now: float, *, has_token: bool, writing: bool = False) -> str:
    """One line about the answer. `now`: seconds since 1970, from which the end of a rate limit is computed."""
    if answer.problem:
        return f"{place.host}: {_PROBLEMS.get(answer.problem, answer.problem)}"
    message = message_of(answer.content)
    quoted = f" ('{message}')" if message else ""
    wait = _wait(answer, now)
    status = answer.status or 0
    if status == 429 or (status == 403 and (wait or "rate limit" in message.lower())):
        until = f"; try again {wait}" if wait else "; try again in a few minutes"
        more = "" if has_token else "; with a token the limit is higher: " + tokens.advice(place)
        return f"{place.host} has had too many requests of you{quoted}{until}{more}"
    if status == 401:
        return f"{place.host} does not accept the token{quoted}: it is wrong or has expired; {tokens.advice(place)}"
    if status == 403:
        action = "write a comment on" if writing else "read"
        why = f"the token lacks the right ({_RIGHT[place.kind]}), the issue is locked, or you are blocked"
        return f"you may not {action} {place.name}{quoted}: {why}; give a token with that right, or open {place.page} in a browser"
    if status == 404:
        private = f"for a private project {tokens.advice(place)}"
        return f"{place.name} is not there, or the token may not see it{quoted}; look at {place.page}, and {private}"
    if status == 410:
        return f"{place.name} is gone{quoted}: it was deleted, or the project has no issues; give another one"
    if status == 413 or (status == 422 and re.search(r"too long|maximum is", message)):
        most = LONGEST[place.kind]
        return f"the text is too long for {place.host}{quoted}: at most {most} characters; attach a file instead: report --format zip"
    if status in (400, 422):
        return f"{place.host} does not take the comment{quoted}; attach the report by hand at {place.page}"
    if 300 <= status < 400:
        to = answer.headers.get("location", "")[:200]
        target = to or "none named"
        return f"{place.name} leads to another place ({target}), where your token does not go; give the issue by its new address"
    if status >= 500:
        return f"{place.host} has trouble of its own (status {status}){quoted}; try again later"
    return f"{place.host} answers with status {status}{quoted}; is {place.page} the right address?"


def no_json(place: TrackerPlace, answer: Answer) -> str:
    kind = answer.headers.get("content-type", "nothing named")[:60]
    return f"{place.host} answers with something else than JSON ({kind}): a login page or a proxy? Open {place.page} in a browser"


def _wait(answer: Answer, now: float) -> str:
    """'in 40 s' or 'at 14:05', from the headers of the answer; '' where they give no time."""
    after = answer.headers.get("retry-after", "")
    if re.fullmatch(r"\d{1,6}", after):
        return _in(int(after), now)
    left = answer.headers.get("x-ratelimit-remaining", answer.headers.get("ratelimit-remaining", ""))
    reset = answer.headers.get("x-ratelimit-reset", answer.headers.get("ratelimit-reset", ""))
    if left == "0" and re.fullmatch(r"\d{1,12}", reset):
        return _in(max(int(reset) - int(now), 1), now)
    return ""


def _in(seconds: int, now: float) -> str:
    return f"in {seconds} s" if seconds <= 120 else f"at {time.strftime('%H:%M', time.localtime(now + seconds))}"
