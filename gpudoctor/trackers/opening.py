"""A new issue, prepared: the project's own form or template found and filled in, as an address for a browser and a text."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.system import json_text
from gpudoctor.system.http import HttpClient
from gpudoctor.trackers import calls
from gpudoctor.trackers.address import TrackerPlace, project_path
from gpudoctor.trackers.asking import send
from gpudoctor.trackers.calls import Call
from gpudoctor.trackers.forms import (
    LARGEST,
    FormError,
    IssueTemplate,
    Parts,
    bug_first,
    fill_form,
    fill_template,
    parse_form,
    parse_template,
)

LONGEST = 8_000
"""The largest number of characters of an address: servers and browsers refuse longer ones."""
FOLDERS = (".github/ISSUE_TEMPLATE", "ISSUE_TEMPLATE")
FILES = (".github/ISSUE_TEMPLATE.md", "ISSUE_TEMPLATE.md", "docs/ISSUE_TEMPLATE.md")


class PreparedIssue(Struct, frozen=True, kw_only=True):
    """A prepared issue. `url` opens its page, filled in as far as addresses allow; `body` is the whole text, to paste if not `whole`."""

    url: str
    body: str
    whole: bool
    template: str = ""
    left: tuple[str, ...] = ()
    """Labels of fields that only the person can fill in."""
    note: str = ""


def prepare(network: HttpClient, place: TrackerPlace, token: str, parts: Parts) -> PreparedIssue:
    """Prepares the issue. No answer of the server raises: without a template, the page opens with the plain text."""
    plain = parts.filled or parts.whole
    if place.kind != "github":
        return _plain(place, parts.title, plain)
    files, note = _templates(network, place, token)
    names = [name for name, _ in files]
    name = parts.file if parts.file in names else next(iter(bug_first(names)), None)
    if name is None:
        return replace(_plain(place, parts.title, plain), note=note)
    text = _text(network, place, token, next(path for file, path in files if file == name))
    if text is None:
        return replace(_plain(place, parts.title, plain), note=f"{name} of {place.path} cannot be read")
    if name.endswith(".md"):
        return _from_template(place, parts, parse_template(text, name))
    try:
        return _from_form(place, parts, text, name, plain)
    except FormError as error:
        address = _new(place, {"template": name, "title": parts.title})
        return PreparedIssue(url=address, body=plain, whole=False, template=name, note=str(error))


def profile_text(network: HttpClient, place: TrackerPlace, token: str, path: str) -> str | None:
    """The project's own profile; None where it has none, or where the server does not answer."""
    return _text(network, place, token, _contents(place, path)) if place.kind == "github" else None


def without_asking(place: TrackerPlace, parts: Parts) -> PreparedIssue:
    """Prepares the issue from the profile alone, without a connection: the form may have changed since the profile was made."""
    left = tuple(
        answer.question.label + (" (required)" if answer.question.required else "")
        for answer in parts.answers.values() if not answer.value
    )  # fmt: skip
    if not parts.file or parts.file.endswith(".md"):
        fixed = {"template": parts.file} if parts.file else None
        return replace(_plain(place, parts.title, parts.filled, fixed), template=parts.file, left=left)
    values = {answer.question.id: answer.markdown for answer in parts.answers.values() if answer.question.id and answer.value}
    url, whole = _address(place, {"template": parts.file, "title": parts.title}, values)
    return PreparedIssue(url=url, body=parts.filled, whole=whole, template=parts.file, left=left)


def _from_form(place: TrackerPlace, parts: Parts, text: str, name: str, plain: str) -> PreparedIssue:
    form = parse_form(text, name)
    values, left = fill_form(form, parts)
    fixed = {"template": name, "title": f"{form.title} {parts.title}".strip()}
    url, whole = _address(place, fixed, values)
    return PreparedIssue(url=url, body=plain, whole=whole, template=name, left=tuple(left))


def _address(place: TrackerPlace, fixed: dict[str, str], values: dict[str, str]) -> tuple[str, bool]:
    """The address of the form with as many values as it can hold, and whether it has all: the longest are left for the pasted text."""
    longest_first = sorted(values, key=lambda key: -len(values[key]))
    for number in range(len(values) + 1):
        url = _new(place, {**fixed, **{key: value for key, value in values.items() if key not in longest_first[:number]}})
        if len(url) <= LONGEST:
            return url, number == 0
    return _fitting(place, fixed), False


def _from_template(place: TrackerPlace, parts: Parts, template: IssueTemplate) -> PreparedIssue:
    body = parts.filled or fill_template(template, parts)
    return replace(_plain(place, f"{template.title} {parts.title}".strip(), body, {"template": template.file}), template=template.file)


def _plain(place: TrackerPlace, title: str, body: str, more: dict[str, str] | None = None) -> PreparedIssue:
    fixed = {**(more or {}), "title": title}
    url = _new(place, {**fixed, "body": body})
    whole = len(url) <= LONGEST
    return PreparedIssue(url=url if whole else _fitting(place, fixed), body=body, whole=whole)


def _fitting(place: TrackerPlace, fixed: dict[str, str]) -> str:
    return _new(place, {**fixed, "title": fixed["title"][:200]})


def _new(place: TrackerPlace, values: dict[str, str]) -> str:
    """The page of a new issue. Spaces are written as %20, which every tracker decodes, unlike +."""
    base = f"{place.web}/{place.path}"
    if place.kind == "gitlab":
        names = {"title": "issue[title]", "body": "issue[description]"}
        return f"{base}/-/issues/new?{urlencode({names.get(key, key): value for key, value in values.items()}, quote_via=quote)}"
    return f"{base}/issues/new?{urlencode(values, quote_via=quote)}"


def _templates(network: HttpClient, place: TrackerPlace, token: str) -> tuple[list[tuple[str, str]], str]:
    """(name, address in the API) of the project's templates, else of its owner's default templates; and what went wrong."""
    owner = place.path.split("/")[0]
    note = ""
    for project in (place, replace(place, path=f"{owner}/.github")):
        for folder in FOLDERS:
            rows = _answered(network, project, token, folder)
            if isinstance(rows, str):
                return [], rows
            found = [
                (str(row.get("name")), str(row.get("path"))) for row in rows
                if isinstance(row, dict) and row.get("type") == "file" and isinstance(row.get("size"), int) and row["size"] <= LARGEST
            ]  # fmt: skip
            listed = [(name, _contents(project, path)) for name, path in found if bug_first([name])]
            if listed:
                return listed, ""
        if project is place:
            for path in FILES:
                if _text(network, place, token, _contents(place, path)) is not None:
                    return [(path.rpartition("/")[2], _contents(place, path))], ""
            note = f"{place.path} has no form and no template"
    return [], note


def _answered(network: HttpClient, place: TrackerPlace, token: str, path: str) -> Sequence[object] | str:
    """The files of a folder; [] where there is none, and a text with the reason where the server gives no list."""
    answer = send(network, place, Call(method="GET", url=_contents(place, path), headers=calls.headers(place, token)))
    if answer.status == 404:
        return []
    try:
        rows = json_text.loads(answer.content.decode("utf-8", "replace")) if answer.status == 200 and not answer.problem else None
    except ValueError:
        rows = None
    if isinstance(rows, list):
        return rows
    return f"the forms of {place.path} could not be asked for ({answer.problem or f'status {answer.status}'}): the plain text is given"


def _text(network: HttpClient, place: TrackerPlace, token: str, address: str) -> str | None:
    wanted = {**calls.headers(place, token), "Accept": "application/vnd.github.raw+json"}
    answer = send(network, place, Call(method="GET", url=address, headers=wanted))
    return answer.content.decode("utf-8", "replace") if answer.status == 200 and not answer.problem else None


def _contents(place: TrackerPlace, path: str) -> str:
    return f"{place.api}/{project_path(place)}/contents/{quote(path)}"
