"""Parses `owner/repo`, `owner/repo#12` and addresses of web pages as places in a tracker. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

KINDS = ("github", "gitlab", "gitea")
"""gitea stands for Forgejo, too, since they have the same API."""
_SHORT = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})(?:#(\d{1,9}))?")
_GITLAB = re.compile(r"/((?:[A-Za-z0-9_.-]+/)+[A-Za-z0-9_.-]+)/-/(?:issues|work_items)(?:/(\d{1,9}))?/?")
_PLAIN = re.compile(r"/([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+?)(?:\.git)?(?:/(?:issues|pull|pulls)(?:/(\d{1,9}))?)?/?")
_GROUPS = re.compile(r"/((?:[A-Za-z0-9_.-]+/)+[A-Za-z0-9_.-]+?)(?:\.git)?/?")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class TrackerError(Exception):
    """A failure of a tracker. The message is one line: what went wrong, and the next step."""


class Uncertain(TrackerError):
    """It is unknown whether a comment was written."""


class TrackerPlace(Struct, frozen=True, kw_only=True):
    """A project of a tracker, or one of its issues. `kind` is '' where the address does not show it (`settled` sets it)."""

    kind: str
    web: str
    """https://github.com: scheme, host and port."""
    path: str
    """owner/repo; groups of GitLab may be nested."""
    number: int | None = None
    api: str = ""

    @property
    def host(self) -> str:
        """The host, with its port if it has one."""
        return urlsplit(self.web).netloc

    @property
    def name(self) -> str:
        """The place as people write it."""
        text = self.path if self.web == "https://github.com" else f"{self.host}/{self.path}"
        return f"{text}#{self.number}" if self.number is not None else text

    @property
    def page(self) -> str:
        """The address of the issue, or of the project, in a browser."""
        issue = f"{'/-' if self.kind == 'gitlab' else ''}/issues/{self.number}" if self.number is not None else ""
        return f"{self.web}/{self.path}{issue}"


def place_of(text: str, variables: Mapping[str, str], *, issue: bool) -> TrackerPlace:
    """Parses what a person wrote. `variables`: the environment, which may name another GitHub host. Raises TrackerError."""
    wanted = "OWNER/REPO#NUMBER, or the address of an issue" if issue else "OWNER/REPO, or the address of a project"
    short = _SHORT.fullmatch(text)
    if short:
        place = TrackerPlace(kind="github", web=_usual_github(variables), path=f"{short[1]}/{short[2]}", number=_number(short[3]))
    elif text.startswith(("https://", "http://")):
        place = _from_url(text)
    else:
        raise TrackerError(f"{_shown(text)}: expected {wanted}")
    if issue and place.number is None:
        raise TrackerError(f"{_shown(text)}: names no issue; expected {wanted}")
    if not issue and place.number is not None:
        raise TrackerError(f"{_shown(text)}: names an issue; --attach comments on one, --to takes the project: {place.path}")
    if place.web.startswith("http://") and urlsplit(place.web).hostname not in _LOOPBACK:
        raise TrackerError(f"{_shown(text)}: not https; a token and a report are not sent in the clear")
    return settled(place, place.kind, variables) if place.kind else place


def settled(place: TrackerPlace, kind: str, variables: Mapping[str, str]) -> TrackerPlace:
    """The place with its kind, and hence the address of its API."""
    if kind == "github":
        given = variables.get("GITHUB_API_URL", "").rstrip("/")
        host = place.host
        if given and place.web == variables.get("GITHUB_SERVER_URL", "").rstrip("/"):
            api = _own_api(given, place)
        elif host == "github.com":
            api = "https://api.github.com"
        else:  # GitHub Enterprise Cloud with a host of its own, else Enterprise Server
            api = f"https://api.{host}" if host.endswith(".ghe.com") else f"{place.web}/api/v3"
    else:
        api = f"{place.web}/api/v4" if kind == "gitlab" else f"{place.web}/api/v1"
    return replace(place, kind=kind, api=api)


def _own_api(given: str, place: TrackerPlace) -> str:
    """The API's address from the environment. Raises TrackerError where the token would go to another host, or over plain HTTP."""
    try:
        parts = urlsplit(given)
        host = (parts.hostname or "").lower()
    except ValueError:
        parts, host = urlsplit(""), ""
    web = (urlsplit(place.web).hostname or "").lower()
    secure = parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)
    if not secure or host not in (web, f"api.{web}") or parts.username is not None or parts.query or parts.fragment:
        raise TrackerError(
            f"GITHUB_API_URL is {_shown(given)}: expected an https address on {web} or api.{web}, since a token goes there; unset it"
        )
    return given


def project_path(place: TrackerPlace) -> str:
    """The address of the project in the API."""
    return f"projects/{quote(place.path, safe='')}" if place.kind == "gitlab" else f"repos/{quote(place.path)}"


def same_origin(one: str, other: str) -> bool:
    """Scheme, host and port: a token is sent to the same origin only."""
    parts = [urlsplit(each) for each in (one, other)]
    try:
        ours, theirs = ((part.scheme, part.hostname, part.port or {"https": 443, "http": 80}.get(part.scheme)) for part in parts)
    except ValueError:
        return False
    return ours == theirs


def _from_url(text: str) -> TrackerPlace:
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not host or parts.username is not None or parts.password is not None or not re.fullmatch(r"[A-Za-z0-9.-]+|[0-9a-fA-F:]+", host):
        raise TrackerError(f"{_shown(text)}: no address of a tracker; expected such as https://gitlab.com/group/project/-/issues/12")
    web = f"{parts.scheme}://{parts.netloc}"
    if ".." in parts.path.split("/"):
        raise TrackerError(f"{_shown(text)}: no project has '..' in its path")
    if found := _GITLAB.fullmatch(parts.path):
        return TrackerPlace(kind="gitlab", web=web, path=found[1], number=_number(found[2]))
    kind = _kind(host)
    if kind == "gitlab":
        found = _GROUPS.fullmatch(parts.path)
        if found:
            return TrackerPlace(kind=kind, web=web, path=found[1])
    elif found := _PLAIN.fullmatch(parts.path):
        return TrackerPlace(kind=kind, web=web, path=found[1], number=_number(found[2]))
    raise TrackerError(f"{_shown(text)}: no project or issue of GitHub, GitLab, Gitea or Forgejo has such an address")


def _kind(host: str) -> str:
    """The kind of tracker of a known host, or of one named after its software; '' for others, whose server is asked."""
    if host == "github.com" or host.endswith(".ghe.com"):
        return "github"
    if host == "gitlab.com" or host.startswith("gitlab."):
        return "gitlab"
    return "gitea" if host == "codeberg.org" or host.startswith(("gitea.", "forgejo.")) else ""


def _usual_github(variables: Mapping[str, str]) -> str:
    """The host of OWNER/REPO: GH_HOST or GITHUB_SERVER_URL, which gh and GitHub's runners use."""
    host, server = variables.get("GH_HOST", ""), variables.get("GITHUB_SERVER_URL", "").rstrip("/")
    if re.fullmatch(r"[A-Za-z0-9.-]+(:\d{1,5})?", host):
        return f"https://{host}"
    return server if re.fullmatch(r"https?://[A-Za-z0-9.-]+(:\d{1,5})?", server) else "https://github.com"


def _shown(text: str) -> str:
    """The text as given, without a password."""
    return re.sub(r"//[^/@\s]*@", "//…@", text)[:120]


def _number(text: str | None) -> int | None:
    return int(text) if text else None
