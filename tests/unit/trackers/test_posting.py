"""A comment on an issue, against servers that answer as the trackers do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tracker_server import GITHUB_ERRORS, TOKEN, TrackerServer

from gpudoctor.system.http import HttpClient
from gpudoctor.trackers import asking, calls, posting
from gpudoctor.trackers.address import TrackerError, TrackerPlace, place_of

BODY, MARK = calls.marked("# Report\n\nwhat is broken")
NETWORK = HttpClient(online=True)


@pytest.fixture
def tracker() -> Iterator[TrackerServer]:
    with TrackerServer() as server:
        yield server


def place(tracker: TrackerServer, kind: str = "github", path: str = "owner/repo") -> TrackerPlace:
    tracker.kind = kind
    page = f"{tracker.url}/{path}{'/-' if kind == 'gitlab' else ''}/issues/5"
    return posting.kind_of(NETWORK, place_of(page, {}, issue=True), {})


def attach(tracker: TrackerServer, where: TrackerPlace | None = None, token: str = TOKEN, body: str = BODY) -> str:
    issue = posting.look(NETWORK, where or place(tracker), token, MARK)
    return issue.already or posting.write(NETWORK, issue, token, body, MARK, lambda seconds: None)


@pytest.mark.parametrize(
    ("kind", "header", "comments"),
    [
        ("github", f"Bearer {TOKEN}", "/api/v3/repos/owner/repo/issues/5/comments"),
        ("gitea", f"token {TOKEN}", "/api/v1/repos/owner/repo/issues/5/comments"),
        ("gitlab", f"Bearer {TOKEN}", "/api/v4/projects/group%2Fsub%2Frepo/issues/5/notes"),
    ],
)  # fmt: skip
def test_each_kind_is_known_by_its_answers_and_written_to_once(tracker: TrackerServer, kind: str, header: str, comments: str) -> None:
    where = place(tracker, kind, "group/sub/repo" if kind == "gitlab" else "owner/repo")
    assert where.kind == kind
    assert all(token == "" for _, _, token in tracker.asked)  # who it is is asked without the token
    first = attach(tracker, where)
    assert ("POST", comments, header) in tracker.asked
    assert first.startswith(tracker.url) and first.endswith("-1")
    assert tracker.comments == [BODY]
    assert attach(tracker, where) == first
    assert tracker.comments == [BODY]


def test_an_issue_is_looked_at_before_anything_is_written(tracker: TrackerServer) -> None:
    issue = posting.look(NETWORK, place(tracker), TOKEN, MARK)
    assert (issue.title, issue.state, issue.already, tracker.comments) == ("It does not compute", "open", "", [])


@pytest.mark.parametrize("trouble", ["store-then-hang-up", "store-then-silence", "store-then-gateway"])
def test_what_was_written_though_the_answer_was_lost_is_found_and_not_written_again(
    tracker: TrackerServer, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = place(tracker)
    monkeypatch.setattr(asking, "TIMEOUT", 0.5)
    tracker.trouble = trouble
    assert attach(tracker, where) == f"{tracker.url}/owner/repo/issues/5#issuecomment-1"
    assert tracker.comments == [BODY]


def test_what_was_lost_before_it_was_written_is_written_again(tracker: TrackerServer) -> None:
    tracker.trouble = "hang-up"
    assert attach(tracker).endswith("-1")
    assert tracker.comments == [BODY]


def test_it_is_said_where_nobody_can_tell(tracker: TrackerServer) -> None:
    tracker.trouble = "always-hang-up"
    with pytest.raises(TrackerError, match="whether the comment was written is not known"):
        attach(tracker)
    assert [method for method, _, _ in tracker.asked].count("POST") == 3


def test_a_comment_far_back_is_found(tracker: TrackerServer) -> None:
    tracker.comments += ["other"] * 150 + [BODY] + ["other"] * 20
    for kind in ("github", "gitea", "gitlab"):
        assert attach(tracker, place(tracker, kind)).endswith("-151")
    assert len(tracker.comments) == 171


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "'Bad credentials'.*gh auth login"), (403, "may not write a comment on.*'Resource not accessible.*Issues: write"),
        (404, "is not there, or the token may not see it"), (410, "is gone.*This issue was deleted"),
        (422, "too long for.*maximum is 65536"), (429, "too many requests.*try again in 60 s"), (501, "trouble of its own"),
    ],
)  # fmt: skip
def test_each_refusal_is_one_line_with_the_next_step(tracker: TrackerServer, status: int, said: str) -> None:
    body, headers = GITHUB_ERRORS.get(status, ({}, {}))
    where = place(tracker)
    tracker.error = (status, body, headers)
    with pytest.raises(TrackerError, match=said) as error:
        attach(tracker, where)
    assert "\n" not in str(error.value) and TOKEN not in str(error.value)
    assert tracker.comments == []


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "{now}"}, "try again in [0-9]+ s"),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "{later}"}, "try again at [0-9]{2}:[0-9]{2}"),
        (429, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, "try again in a few minutes"),
        (429, {"RateLimit-Remaining": "0", "RateLimit-Reset": "{now}"}, "try again in [0-9]+ s"),
    ],
)  # fmt: skip
def test_a_limit_says_when_it_ends(tracker: TrackerServer, status: int, headers: dict[str, str], said: str) -> None:
    where, now = place(tracker), int(time.time())
    filled = {name: value.format(now=now + 50, later=now + 3000) for name, value in headers.items()}
    tracker.error = (status, {"message": "API rate limit exceeded"}, filled)
    with pytest.raises(TrackerError, match=said):
        attach(tracker, where)


def test_a_page_of_a_proxy_is_no_answer(tracker: TrackerServer) -> None:
    where = place(tracker)
    tracker.error, tracker.error_on_read = (200, b"<html>Please log in</html>", {"Content-Type": "text/html"}), True
    with pytest.raises(TrackerError, match=r"something else than JSON \(text/html"):
        attach(tracker, where)


def test_a_project_that_moved_on_its_host_is_followed(tracker: TrackerServer) -> None:
    tracker.moved["old/name"] = "owner/repo"
    assert attach(tracker, place(tracker, path="old/name")).endswith("-1")
    assert tracker.asked[-1][1] == "/api/v3/repos/owner/repo/issues/5/comments"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("on_read", [True, False])
def test_a_token_goes_to_no_other_host(tracker: TrackerServer, status: int, on_read: bool) -> None:
    where = place(tracker)
    with TrackerServer() as other:
        tracker.error = (status, {}, {"Location": f"{other.url}/api/v3/repos/owner/repo/issues/5"})
        tracker.error_on_read = on_read
        with pytest.raises(TrackerError, match="leads to another place"):
            attach(tracker, where)
        assert other.asked == []


def test_a_circle_ends(tracker: TrackerServer) -> None:
    tracker.moved["owner/repo"] = "owner/repo"
    with pytest.raises(TrackerError, match="leads to another place"):
        attach(tracker)
    assert len(tracker.asked) < 10


def test_a_password_of_netrc_takes_no_place_of_the_token(tracker: TrackerServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password other\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    attach(tracker)
    assert {token for _, path, token in tracker.asked if "/issues/" in path} == {f"Bearer {TOKEN}"}


def test_a_text_that_is_too_long_is_not_sent(tracker: TrackerServer) -> None:
    with pytest.raises(TrackerError, match="too long for"):
        attach(tracker, body="😀" * 33_000)  # counted as GitHub counts
    assert not any(method == "POST" for method, _, _ in tracker.asked)


def test_a_server_that_is_not_there_and_one_of_another_kind() -> None:
    with pytest.raises(TrackerError, match="cannot be reached"):
        posting.kind_of(NETWORK, place_of("http://127.0.0.1:9/owner/repo/issues/5", {}, issue=True), {})
    with TrackerServer() as tracker:
        tracker.error, tracker.error_on_read = (404, b"nothing", {}), True
        with pytest.raises(TrackerError, match="is this GitHub Enterprise, GitLab, Gitea or Forgejo"):
            posting.kind_of(NETWORK, place_of(f"{tracker.url}/owner/repo/issues/5", {}, issue=True), {})


@pytest.mark.parametrize("answer", [b"[" * 100_000, b"\xff\xfe", b"[1, null, {}]", b'{"title": {"a": 1}}', b"null"])
def test_answers_that_make_no_sense_end_in_one_line(tracker: TrackerServer, answer: Any) -> None:
    where = place(tracker)
    tracker.error, tracker.error_on_read = (200, answer, {}), True
    with pytest.raises(TrackerError):
        attach(tracker, where)
