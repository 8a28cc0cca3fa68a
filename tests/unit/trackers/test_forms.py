"""Forms and templates of a project, found, chosen and filled in."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from tracker_server import TrackerServer

from gpudoctor.system.http import HttpClient
from gpudoctor.trackers import opening
from gpudoctor.trackers.address import TrackerPlace, place_of, settled
from gpudoctor.trackers.forms import FormError, Parts, bug_first, fill_form, fill_template, parse_form, parse_template
from gpudoctor.trackers.opening import PreparedIssue, prepare

FORM = """
name: Bug Report
description: something is wrong
title: "[Bug]: "
body:
  - type: markdown
    attributes: {value: Thanks}
  - type: checkboxes
    id: searched
    attributes: {label: "Have you searched?", options: [{label: "yes", required: true}]}
  - type: textarea
    id: what-happened
    attributes: {label: Describe the bug, description: A clear description with the steps}
    validations: {required: true}
  - type: textarea
    id: steps
    attributes: {label: Steps to reproduce the problem}
    validations: {required: true}
  - type: dropdown
    id: os
    attributes: {label: Operating System, options: [Linux, Windows]}
  - type: input
    id: gpu
    attributes: {label: GPU model}
  - type: textarea
    id: env
    attributes: {label: Versions, description: Run collect_env.py and paste the output}
  - type: textarea
    attributes: {label: Logs without an id}
"""
PARTS = Parts(
    title="The kernel is too old", summary="broken & <b>\n# x", environment="PyTorch version: 2.8", whole="full report",
    short={"device": "Arc A770", "system": "Ubuntu 22.04"},
)  # fmt: skip
TEMPLATE = """---
name: Bug report
title: '[BUG]'
labels: bug
---

**Describe the bug**
<!-- clearly -->

## To Reproduce

## Environment

"""


@pytest.fixture
def tracker() -> Iterator[TrackerServer]:
    with TrackerServer() as server:
        yield server


def project(tracker: TrackerServer) -> TrackerPlace:
    return settled(place_of(f"{tracker.url}/owner/repo", {}, issue=False), "github", {})


def prepared(tracker: TrackerServer, parts: Parts = PARTS) -> tuple[PreparedIssue, dict[str, str]]:
    found = prepare(HttpClient(online=True), project(tracker), "", parts)
    return found, {key: values[0] for key, values in parse_qs(urlsplit(found.url).query).items()}


def test_a_form_is_filled_in_by_the_words_of_its_labels_and_the_rest_is_left_to_the_person() -> None:
    values, left = fill_form(parse_form(FORM, "bug.yml"), PARTS)
    assert values == {"what-happened": PARTS.summary, "gpu": "Arc A770", "env": f"```text\n{PARTS.environment}\n```"}
    assert left == ["Have you searched?", "Steps to reproduce the problem (required)", "Operating System", "Logs without an id"]


def test_a_template_gets_the_report_below_its_headings() -> None:
    filled = fill_template(parse_template(TEMPLATE, "bug.md"), PARTS)
    wanted = ("**Describe", PARTS.summary, "## To Reproduce", "## Environment", PARTS.environment)
    places = [filled.index(text) for text in wanted]
    assert places == sorted(places)


def test_the_form_for_bugs_is_chosen() -> None:
    names = ["feature_request.yml", "config.yml", "documentation.md", "2-bug-report.yml", "question.md", "issue.md", "README.txt"]
    assert bug_first(names) == ["2-bug-report.yml", "issue.md", "documentation.md", "feature_request.yml", "question.md"]


def test_the_page_of_a_project_with_a_form_opens_filled_in(tracker: TrackerServer) -> None:
    tracker.files = {".github/ISSUE_TEMPLATE/bug.yml": FORM.encode(), ".github/ISSUE_TEMPLATE/config.yml": b"blank_issues_enabled: false"}
    found, query = prepared(tracker)
    assert found.url.startswith(f"{tracker.url}/owner/repo/issues/new?")
    assert query == {
        "template": "bug.yml", "title": "[Bug]: The kernel is too old", "what-happened": PARTS.summary, "gpu": "Arc A770",
        "env": f"```text\n{PARTS.environment}\n```",
    }  # fmt: skip
    assert found.whole and "+" not in found.url and " " not in found.url


def test_what_does_not_fit_into_an_address_is_left_for_a_file(tracker: TrackerServer) -> None:
    tracker.files = {".github/ISSUE_TEMPLATE/bug.yml": FORM.encode()}
    long = Parts(title="t" * 3000, summary="x" * 9000, environment="e", whole="x" * 9000, short={"device": "A770"})
    found, query = prepared(tracker, long)
    assert not found.whole and len(found.url) < opening.LONGEST and "what-happened" not in query and query["gpu"] == "A770"
    assert "x" * 9000 in found.body


def test_templates_and_projects_without_any(tracker: TrackerServer) -> None:
    found, query = prepared(tracker)
    assert (found.template, query["title"], found.whole) == ("", PARTS.title, True) and "no form" in found.note
    assert query["body"] == PARTS.whole
    tracker.files = {".github/ISSUE_TEMPLATE.md": TEMPLATE.encode()}
    found, query = prepared(tracker)
    assert found.template == "ISSUE_TEMPLATE.md" and query["title"] == f"[BUG] {PARTS.title}" and "## To Reproduce" in query["body"]


def test_a_server_that_refuses_still_gives_the_plain_text(tracker: TrackerServer) -> None:
    tracker.error, tracker.error_on_read = (403, {"message": "API rate limit exceeded"}, {}), True
    found, query = prepared(tracker)
    assert "could not be asked for (status 403)" in found.note and PARTS.whole in query["body"]
    offline = prepare(HttpClient(online=False), project(tracker), "", PARTS)
    assert "offline" in offline.note and offline.whole


def test_pages_of_other_trackers() -> None:
    gitlab = prepare(HttpClient(online=False), place_of("https://gitlab.com/a/b/c", {}, issue=False), "", PARTS)
    assert gitlab.url.startswith("https://gitlab.com/a/b/c/-/issues/new?issue%5Btitle%5D=The%20kernel")
    gitea = prepare(HttpClient(online=False), place_of("https://codeberg.org/a/b", {}, issue=False), "", PARTS)
    assert gitea.url.startswith("https://codeberg.org/a/b/issues/new?title=")


@pytest.mark.parametrize(
    "text",
    ["", "a: [", "- 1", "body: 3", "!!python/object/apply:os.system ['true']", "[" * 5000, "\x00"],
)  # fmt: skip
def test_what_is_no_form_is_said(text: str) -> None:
    with pytest.raises(FormError):
        parse_form(text, "bug.yml")


def test_a_hostile_form_does_no_harm() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(20)) + "body: *u\n"
    assert parse_form(bomb, "bug.yml").fields == ()
    odd = "body:\n  - {type: input, id: 'a&title=x', attributes: {label: [1]}}\n  - {type: input, id: 3}\n  - 5\n  - {type: [1]}\n"
    assert fill_form(parse_form(odd, "b.yml"), PARTS) == ({}, [])
