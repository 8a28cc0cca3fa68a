"""Elements of a page. Every string is text: escaping, and the set of allowed attributes, are decided here alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias
from urllib.parse import urlsplit
from xml.etree import ElementTree

from gpudoctor.reporters.shared.escape import visible

Element: TypeAlias = ElementTree.Element
Child: TypeAlias = "Element | str | Iterable[Element | str | None] | None"

ISSUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}#[0-9]{1,9}", re.ASCII)
HTTPS = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][!-~]*)?", re.ASCII)
REFUSED = re.compile(r"(?i)on.*|style|href|src|srcset|srcdoc|action|formaction|ping|data|background|poster")
"""Attributes that run, load or link something; only this module sets one of them."""


def element(tag: str, *children: Child, **attributes: str) -> Element:
    """An element. A trailing underscore of an attribute's name is dropped (`class_`, `for_`), others become hyphens. Raises ValueError
    for an attribute of REFUSED."""
    made = ElementTree.Element(tag)
    for given, value in attributes.items():
        name = given.rstrip("_").replace("_", "-")
        if REFUSED.fullmatch(name):
            raise ValueError(f"the attribute {name} may run or load something")
        made.set(name, visible(value))
    add(made, *children)
    return made


def add(parent: Element, *children: Child) -> None:
    """Appends texts, elements or several of them to `parent`; None is skipped."""
    for child in children:
        if child is None:
            continue
        if isinstance(child, str):
            _text(parent, visible(child, multiline=True))
        elif isinstance(child, ElementTree.Element):
            parent.append(child)
        else:
            add(parent, *child)


def _text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def within(place: str, *children: Child, **attributes: str) -> Element:
    """A link to an id of this page."""
    made = element("a", *children, **attributes)
    made.set("href", "#" + re.sub(r"[^A-Za-z0-9-]", "-", place))
    return made


def source(ref: str) -> Element | str:
    """A link for an https address or owner/repo#number; any other text as it is."""
    address = address_of(ref)
    if address is None:
        return visible(ref)
    made = element("a", _shown(ref), rel="noopener noreferrer nofollow")
    made.set("href", address)
    return made


def address_of(ref: str) -> str | None:
    if ISSUE.fullmatch(ref):
        name, _, number = ref.partition("#")
        return f"https://github.com/{name}/issues/{number}"
    if not HTTPS.fullmatch(ref):
        return None
    try:
        return ref if urlsplit(ref).hostname else None
    except ValueError:
        return None


def _shown(ref: str) -> str:
    return visible(ref.removeprefix("https://").rstrip("/"))


def to_html(root: Element) -> str:
    """The HTML of `root`; the serialiser escapes texts and attributes."""
    return ElementTree.tostring(root, encoding="unicode", method="html")
