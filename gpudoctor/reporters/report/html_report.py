"""A report as one HTML file that loads nothing, for a browser, a phone, paper and a screen reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gpudoctor.model.batch_sweep import Sweep
from gpudoctor.model.comparison import Comparison
from gpudoctor.model.report import Report
from gpudoctor.reporters.html import about, changes, comparison, facts, findings, measurements, stacks, sweep
from gpudoctor.reporters.html.document import page
from gpudoctor.reporters.html.element import Element, element
from gpudoctor.reporters.html.words import moment
from gpudoctor.reporters.shared import phrases

if TYPE_CHECKING:
    from gpudoctor.model.change import Diff


def html(
    report: Report,
    *,
    beside: str = "",
    ignored: Mapping[str, str] | None = None,
    sweeps: Sequence[Sweep] = (),
    compared: Comparison | None = None,
    diff: Diff | None = None,
) -> str:
    """The whole page. `beside`: a sentence that says where the recording is. `ignored`: ids of checks that were left out, with reasons.
    `compared`, `diff`: the comparison of this report with another one, in measurements and in facts."""
    parts = (
        ("verdict", "Summary", findings.opening(report)),
        ("stacks", "Stacks", stacks.section(report)),
        ("findings", "Findings", findings.others(report)),
        ("measurements", "Measurements", measurements.section(report)),
        ("batch", "Batch size", sweep.section(sweeps)),
        ("comparison", "Comparison", comparison.section(compared) if compared is not None else None),
        ("changes", "Changes", changes.section(diff) if diff is not None else None),
        ("facts", "Facts", facts.section(report.facts, report.unknown)),
        ("about", "About", about.section(report, beside, ignored or {})),
    )
    sections = [(place, name, content) for place, name, content in parts if content is not None]
    made = element("span", "Made ", moment(report.created))
    return page(_title(report), made, sections, _footer(report.tool_version, report.catalogue_version))


def comparison_page(
    tool_version: str, created: str, *, sweeps: Sequence[Sweep] = (), compared: Comparison | None = None, diff: Diff | None = None
) -> str:
    """A page for `diff`, `validate --compare` and `validate --sweep-batch` alone."""
    title = "What a larger batch brings"
    if diff is not None:
        title = changes.headline(diff)
    elif compared is not None:
        title = comparison.headline(compared)
    parts = (
        ("changes", "Changes", changes.section(diff) if diff is not None else None),
        ("comparison", "Measurements", comparison.section(compared) if compared is not None else None),
        ("batch", "Batch size", sweep.section(sweeps)),
    )
    sections = [("verdict", "Summary", element("section", element("h1", title, id="verdict"), class_="opening"))]
    sections += [(place, name, content) for place, name, content in parts if content is not None]
    return page(f"{title} – gpudoctor", element("span", "Made ", moment(created)), sections, _footer(tool_version, ""))


def _title(report: Report) -> str:
    machine = "no GPU found" if phrases.no_gpu(report) else report.headline.get("machine", "")
    return " – ".join(part for part in ("gpudoctor report", machine) if part)


def _footer(tool: str, catalogue: str) -> Element:
    return element("footer", f"gpudoctor {tool}", f" · catalogue {catalogue}" if catalogue else None,
                   " · this file asks for nothing from the network")  # fmt: skip
