"""The frame of the page: head with content policy, table of contents, theme, style sheet and script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from urllib.parse import quote

from gpudoctor.reporters.html.element import Element, element, to_html, within

SECTIONS_OF_PAGE = "sections of this report"
ICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='4' fill='#0b5a70'/>"
    "<path d='M2.5 8.5h3l1.5-4 2.5 7 1.5-3h2.5' fill='none' stroke='#fff' stroke-width='1.6' stroke-linecap='round'"
    " stroke-linejoin='round'/></svg>"
)


def page(title: str, made: Element, sections: Sequence[tuple[str, str, Element]], footer: Element) -> str:
    """One HTML document. `sections`: the id of the heading, its entry in the table of contents, and the content, in order. `made`: when
    and by which program."""
    style, script = (_file(name) for name in ("page.css", "page.js"))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="robots", content="noindex"),
        element("title", title),
        _icon(),
        _raw("style", style),
    )
    body = element(
        "body",
        within("content", "To the content", class_="skip"),
        element("div", _banner(made, sections), element("main", [each for _, _, each in sections], id="content", tabindex="-1"),
                footer, class_="page"),
        element("p", id="said", class_="unseen", role="status"),
        _raw("script", script),
    )  # fmt: skip
    return "<!doctype html>\n" + to_html(element("html", head, body, lang="en")) + "\n"


def policy(style: str, script: str) -> str:
    """The content security policy: nothing may be loaded or sent, and only the style sheet and script of this page are used."""
    parts = {
        "default-src": "'none'", "style-src": _hash(style), "script-src": _hash(script), "img-src": "data:", "base-uri": "'none'",
        "form-action": "'none'",
    }  # fmt: skip
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _file(name: str) -> str:
    return resources.files("gpudoctor.reporters.html").joinpath(name).read_text("utf-8").strip()


def _raw(tag: str, ours: str) -> Element:
    """An element whose content HTML does not escape. Only text of this package goes here, never a part of a report."""
    if "</" in ours:
        raise ValueError(f"the {tag} would end early")
    made = element(tag)
    made.text = ours
    return made


def _icon() -> Element:
    made = element("link", rel="icon")
    made.set("href", "data:image/svg+xml," + quote(ICON))
    return made


def _banner(made: Element, sections: Sequence[tuple[str, str, Element]]) -> Element:
    places = [element("li", within(place, name)) for place, name, _ in sections]
    return element(
        "header",
        element("p", element("span", class_="pulse", aria_hidden="true"), "gpudoctor", element("span", " report"), class_="brand"),
        element("nav", element("ul", places), aria_label=SECTIONS_OF_PAGE) if len(places) > 1 else None,
        element("div", made, class_="made"),
        _themes(),
        class_="banner",
    )


def _themes() -> Element:
    """Three radio buttons that the style sheet reads, so that neither a script nor storage is needed."""
    choices = []
    for name, word in (("auto", "Auto"), ("light", "Light"), ("dark", "Dark")):
        chosen = {"checked": ""} if name == "auto" else {}
        choices += [
            element("input", type="radio", name="theme", id=f"theme-{name}", value=name, **chosen),
            element("label", word, for_=f"theme-{name}"),
        ]
    return element("fieldset", element("legend", "Colours", class_="unseen"), choices, class_="themes")
