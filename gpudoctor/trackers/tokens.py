"""Which access token belongs to which host: each variable counts for one host only. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from gpudoctor.trackers.address import TrackerPlace


def from_environment(place: TrackerPlace, variables: Mapping[str, str]) -> str:
    """The token for this host, from the environment; '' where there is none."""
    for name in _names(place, variables):
        token = variables.get(name, "").strip()
        if token and token.isascii() and token.isprintable() and " " not in token:
            return token
    return ""


def login_command(place: TrackerPlace) -> list[str]:
    """The command that prints the token of the person's login (gh, glab); [] where no such program serves this host."""
    if place.kind == "github":
        return ["gh", "auth", "token", "--hostname", place.host]
    return ["glab", "config", "get", "token", "--host", place.host] if place.kind == "gitlab" else []


UNSET = dict.fromkeys(
    ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN"), ""
)
"""Variables to unset for that program, so that it prints the stored token of the host and not one meant for another."""


def advice(place: TrackerPlace) -> str:
    """How a person gives a token for this host, in one sentence."""
    if place.kind == "github":
        usual = place.host == "github.com" or place.host.endswith(".ghe.com")
        variable = "GITHUB_TOKEN (or GH_TOKEN)" if usual else f"GH_ENTERPRISE_TOKEN and GH_HOST={place.host}"
        return f"log in with `gh auth login --hostname {place.host}`, or set {variable} to a token that may write issues"
    if place.kind == "gitlab":
        host = "" if place.host == "gitlab.com" else f" and GITLAB_HOST={place.host}"
        return f"log in with `glab auth login --hostname {place.host}`, or set GITLAB_TOKEN{host} to a token with the scope api"
    return f"set GITEA_TOKEN (or FORGEJO_TOKEN) to a token with write:issue, and GITEA_SERVER_URL={place.web}"


def _names(place: TrackerPlace, variables: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that belong to this host; the first one that is set counts."""
    if place.kind == "github":
        if place.host == (_host(variables.get("GITHUB_SERVER_URL", "")) or "github.com"):
            return ("GH_TOKEN", "GITHUB_TOKEN")
        if place.host == "github.com" or place.host.endswith(".ghe.com"):
            return ("GH_TOKEN",)
        return ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN") if place.host == variables.get("GH_HOST") else ()
    if place.kind == "gitlab":
        hosts = _named(variables, "GITLAB_HOST", "GL_HOST", "CI_SERVER_URL") or ["gitlab.com"]
        return ("GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN") if place.host in hosts else ()
    if place.host in _named(variables, "GITEA_SERVER_URL", "GITEA_HOST"):
        return ("GITEA_TOKEN", "FORGEJO_TOKEN")
    return ("FORGEJO_TOKEN", "GITEA_TOKEN") if place.host in _named(variables, "FORGEJO_SERVER_URL", "FORGEJO_URL") else ()


def _named(variables: Mapping[str, str], *names: str) -> list[str]:
    return [host for name in names if (host := _host(variables.get(name, "")))]


def _host(text: str) -> str:
    """The host of an address; a bare host is returned as it is."""
    return urlsplit(text).netloc if "://" in text else text.strip().rstrip("/")
