"""Which place an address names, and which token belongs to it."""

from __future__ import annotations

import pytest

from gpudoctor.trackers.address import TrackerError, place_of, same_origin
from gpudoctor.trackers.tokens import advice, from_environment, login_command


@pytest.mark.parametrize(
    ("text", "kind", "api", "path"),
    [
        ("owner/repo#12", "github", "https://api.github.com", "owner/repo"),
        ("https://github.com/owner/repo/issues/12", "github", "https://api.github.com", "owner/repo"),
        ("https://github.com/owner/repo/pull/12", "github", "https://api.github.com", "owner/repo"),
        ("https://x.ghe.com/owner/repo/issues/12", "github", "https://api.x.ghe.com", "owner/repo"),
        ("https://gitlab.com/a/b/c/-/issues/12", "gitlab", "https://gitlab.com/api/v4", "a/b/c"),
        ("https://git.example/a/b/-/work_items/12", "gitlab", "https://git.example/api/v4", "a/b"),
        ("https://codeberg.org/owner/repo/issues/12", "gitea", "https://codeberg.org/api/v1", "owner/repo"),
        ("https://git.example/owner/repo/issues/12", "", "", "owner/repo"),
    ],
)  # fmt: skip
def test_places(text: str, kind: str, api: str, path: str) -> None:
    place = place_of(text, {}, issue=True)
    assert (place.kind, place.api, place.path, place.number) == (kind, api, path, 12)


@pytest.mark.parametrize(
    "text",
    [
        "", "owner", "owner/repo", "owner/repo#", "owner/repo#x", "../..#1", "owner/repo#1 ", "ftp://github.com/a/b/issues/1",
        "https://user:pass@github.com/a/b/issues/1", "https://github.com:x/a/b/issues/1", "https://github.com/a/b", "http://github.com/a/b/issues/1",
        "https:///a/b/issues/1", "https://gitlab.com/a/../b/-/issues/1", "https://github.com/a/b/issues/1/..", "file:///etc/passwd",
        "https://git hub.com/a/b/issues/1", "https://github.com/a\x1b/b/issues/1",
    ],
)  # fmt: skip
def test_what_names_no_issue_is_refused(text: str) -> None:
    with pytest.raises(TrackerError) as error:
        place_of(text, {}, issue=True)
    assert "pass" not in str(error.value).replace("passwd", "")


def test_the_short_form_is_of_the_github_that_the_environment_names() -> None:
    runner = {"GITHUB_SERVER_URL": "https://ghe.example", "GITHUB_API_URL": "https://ghe.example/api/v3"}
    assert place_of("a/b", runner, issue=False).api == "https://ghe.example/api/v3"
    for other in (
        "http://ghe.example/api/v3", "https://evil.example/api/v3", "https://ghe.example@evil.example/api/v3", "https://ghe.example.evil/",
        "https://api.github.com", "ftp://ghe.example", "https://u:p@ghe.example/api/v3", "https://[broken",
    ):  # fmt: skip
        with pytest.raises(TrackerError, match="GITHUB_API_URL"):
            place_of("a/b", {**runner, "GITHUB_API_URL": other}, issue=False)
    github = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_API_URL": "https://api.github.com"}
    assert place_of("a/b", github, issue=False).api == "https://api.github.com"
    assert place_of("a/b", {"GH_HOST": "ghe.example"}, issue=False).web == "https://ghe.example"
    assert place_of("a/b", {"GH_HOST": "evil/../x", "GITHUB_SERVER_URL": "javascript:x"}, issue=False).web == "https://github.com"


@pytest.mark.parametrize(
    ("where", "variables", "token"),
    [
        ("a/b#1", {"GITHUB_TOKEN": "t"}, "t"), ("a/b#1", {"GH_TOKEN": "g", "GITHUB_TOKEN": "t"}, "g"), ("a/b#1", {}, ""),
        ("https://ghe.example/a/b/issues/1", {"GITHUB_TOKEN": "t", "GH_TOKEN": "t", "GH_ENTERPRISE_TOKEN": "e"}, ""),
        ("https://ghe.example/a/b/issues/1", {"GH_ENTERPRISE_TOKEN": "e", "GH_HOST": "ghe.example"}, "e"),
        ("https://ghe.example/a/b/issues/1", {"GITHUB_TOKEN": "t", "GITHUB_SERVER_URL": "https://ghe.example"}, "t"),
        ("https://github.com/a/b/issues/1", {"GITHUB_TOKEN": "t", "GITHUB_SERVER_URL": "https://ghe.example"}, ""),
        ("https://gitlab.com/a/b/-/issues/1", {"GITLAB_TOKEN": "l"}, "l"),
        ("https://git.example/a/b/-/issues/1", {"GITLAB_TOKEN": "l"}, ""),
        ("https://git.example/a/b/-/issues/1", {"GITLAB_TOKEN": "l", "GITLAB_HOST": "https://git.example"}, "l"),
        ("https://gitlab.com/a/b/-/issues/1", {"GITLAB_TOKEN": "l", "GITLAB_HOST": "git.example"}, ""),
        ("https://codeberg.org/a/b/issues/1", {"GITEA_TOKEN": "x"}, ""),
        ("https://codeberg.org/a/b/issues/1", {"FORGEJO_TOKEN": "x", "FORGEJO_URL": "https://codeberg.org"}, "x"),
        ("a/b#1", {"GITHUB_TOKEN": "two words\r\nX: y"}, ""),
    ],
)  # fmt: skip
def test_a_token_counts_for_its_host_only(where: str, variables: dict[str, str], token: str) -> None:
    from gpudoctor.trackers.address import settled

    place = place_of(where, variables, issue=True)
    assert from_environment(place if place.kind else settled(place, "github", variables), variables) == token


def test_advice_and_login_programs_name_the_host() -> None:
    place = place_of("https://git.example/a/b/-/issues/1", {}, issue=True)
    assert login_command(place) == ["glab", "config", "get", "token", "--host", "git.example"]
    assert "GITLAB_HOST=git.example" in advice(place)
    assert login_command(place_of("a/b#1", {}, issue=True)) == ["gh", "auth", "token", "--hostname", "github.com"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://a/x", "https://a:443/y", True), ("https://a/x", "http://a/x", False), ("https://a/x", "https://b/x", False),
        ("https://a/x", "https://a:8443/x", False), ("https://a/x", "https://a@b/x", False), ("https://a/x", "https://a:x/", False),
    ],
)  # fmt: skip
def test_origins(one: str, other: str, same: bool) -> None:
    assert same_origin(one, other) is same
