"""How the report was made, what was replaced in it, and what could not be examined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudoctor.model.report import Report
from gpudoctor.reporters.html.element import Child, Element, element
from gpudoctor.reporters.html.words import count, moment

ORIGINS = {
    "live": "this machine was looked at", "capture": "a recording of the machine was looked at",
    "text": "text about the machine was read; nothing else is known",
}  # fmt: skip
REPLACED = {
    "user": ("user name", ""), "host": ("host name", ""), "domain": ("domain name", ""), "secret": ("secret", ""),
    "ip": ("network address", "network addresses"), "sid": ("account number", ""),
    "mac": ("hardware address", "hardware addresses"), "uuid": ("UUID", ""), "serial": ("serial number", ""),
    "email": ("e-mail address", "e-mail addresses"), "credentials": ("set of credentials", "sets of credentials"),
    "share": ("network share", ""), "folder": ("project folder", ""), "project": ("project path", ""),
}  # fmt: skip


def section(report: Report, beside: str, ignored: Mapping[str, str]) -> Element:
    rows = [element("div", element("dt", name), element("dd", *content)) for name, content in _rows(report, beside, ignored)]
    return element("section", element("h2", "About this report", id="about"), element("dl", rows, class_="about"), aria_labelledby="about")


def replaced(redactions: Mapping[str, int]) -> str:
    """The replacements in words, such as '3 user names, 1 host name': in the order of REPLACED, then others by their own name."""
    known = [kind for kind in REPLACED if redactions.get(kind)]
    others = sorted(kind for kind, times in redactions.items() if times and kind not in REPLACED)
    return ", ".join(count(redactions[kind], *REPLACED.get(kind, (kind, ""))) for kind in (*known, *others))


def _rows(report: Report, beside: str, ignored: Mapping[str, str]) -> Iterator[tuple[str, list[Child]]]:
    yield "Made", [moment(report.created), "; ", ORIGINS.get(report.origin, report.origin)]
    yield "By", [f"gpudoctor {report.tool_version}", f", catalogue {report.catalogue_version}" if report.catalogue_version else None]
    words = replaced(report.redactions)
    yield "Replaced", [
        f"{words}. The same name has the same stand-in everywhere; the originals stayed on the machine." if words
        else "Nothing: names of this machine, of its users and of its network may be in here. Read it before you share it."
    ]  # fmt: skip
    if beside:
        yield "Beside it", [beside]
    if report.incomplete:
        yield "Incomplete", ["; ".join(report.incomplete)]
    if report.undetermined:
        yield "Not determined", ["; ".join(report.undetermined)]
    if report.not_looked_at:
        yield "Not read", ["; ".join(report.not_looked_at)]
    if ignored:
        yield "Ignored", ["; ".join(f"{check}: {reason}" if reason else check for check, reason in sorted(ignored.items()))]
