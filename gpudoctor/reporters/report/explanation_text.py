"""The screen of `explain`: what the text shows, the likeliest causes first, and what would tell more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.model.report import Report
from gpudoctor.reporters.report.finding_order import MOST, Arranged, arrange
from gpudoctor.reporters.report.findings_text import arranged_lines, info_lines
from gpudoctor.reporters.report.triage_report import place_of
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging, joined
from gpudoctor.reporters.shared.phrases import python_line

SAYS_NOTHING = ("no GPU found", "no PCI bus visible")
FILES = 4
"""The number of files of an archive that are named."""
HELPFUL = (
    ("the whole message, from the first line of the traceback on", ""),
    ("what is installed", "python -m torch.utils.collect_env; pip list"),
    ("what the machine is", "gpudoctor report"),
)


def render(
    report: Report,
    recognised: Sequence[str],
    terminal: Terminal | None = None,
    *,
    most: int | None = MOST,
    verbose: bool = False,
    quiet: bool = False,
    members: Sequence[str] = (),
) -> str:
    """The whole screen. `members`: the files of an archive that the text was put together from."""
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 40), 100)
    parts = [list(hanging((Span("incomplete: ", "warn"),), "; ".join(report.incomplete), width))] if report.incomplete else []
    parts += [] if quiet else [list(_head(report, recognised, members, width))]
    arranged = arrange(report.findings, most)
    where = {finding.id: place_of(finding) for finding in report.findings} if members else {}
    parts += list(arranged_lines(arranged, width, verbose=verbose, where=where))
    hints = arranged.hints if most is None else arranged.hints[:2]
    parts.append([line for finding in hints for line in info_lines(finding, width, verbose)])
    parts.append(list(_tail(arranged, width, quiet)))
    lines = [line for part in parts if part for line in (*part, ())]
    return terminal.draw(lines[:-1])


def _head(report: Report, recognised: Sequence[str], members: Sequence[str], width: int) -> Iterator[Line]:
    head = report.headline
    kernel = f"kernel {head['kernel']}" if head.get("kernel") else ""
    python = python_line(head).removesuffix(" (recorded)")
    said = [text for text in (head.get("machine", ""), head.get("os", ""), kernel, python) if text and text not in SAYS_NOTHING]
    for text in joined(said, width, indent=2):
        yield (Span(text, "bold"),)
    if members:
        more = f" and {len(members) - FILES} more files" if len(members) > FILES else ""
        yield from hanging((Span("files  ", "dim"),), ", ".join(members[:FILES]) + more, width, style="dim")
    if recognised:
        yield from hanging((Span("read   ", "dim"),), ", ".join(recognised), width, style="dim")


def _tail(arranged: Arranged, width: int, quiet: bool) -> Iterator[Line]:
    if arranged.left_out:
        yield (Span(f"{arranged.left_out} more, less likely: --all shows them.", "dim"),)
    if arranged.shown or arranged.question or quiet:
        return
    yield (Span("No known problem recognized in this text.", "bold"),)
    yield (Span("What would help:"),)
    for what, how in HELPFUL:
        yield from hanging((Span("  ", ""),), what + (":" if how else ""), width)
        if how:
            yield (Span(f"    $ {how}", "command"),)
