"""The result of an audit as a table for each file: sign, verdict, line, package, the problem, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.model.audit import Audit, Judged
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging, wrapped

WORDS = {
    "error": ("x", "error", "bad"), "warning": ("!", "warning", "warn"), "unverified": ("?", "unsure", "dim"), "info": ("i", "note", "dim"),
    "ok": ("+", "ok", "good"),
}  # fmt: skip
"""The sign, the word and the style of each verdict; a meaning never depends on the colour alone."""
_ALWAYS = ("error", "warning", "unverified", "info")


def render(audit: Audit, terminal: Terminal | None = None, *, verbose: bool = False, quiet: bool = False) -> str:
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 60), 120)
    return terminal.draw(_lines(audit, width, verbose, quiet))


def _lines(audit: Audit, width: int, verbose: bool, quiet: bool) -> Iterator[Line]:
    if not quiet:
        python = f", Python {visible(audit.python)}" if audit.python else ""
        yield from hanging((Span("For "), Span(audit.backend.name, "bold"), Span(": ")), f"{audit.backend.why}{python}", width)
    for file, kind in audit.files:
        rows = [row for row in audit.rows if row.file == file]
        shown = [row for row in rows if row.verdict in _ALWAYS or (row.verdict == "ok" and verbose)]
        if quiet:
            shown = [row for row in shown if row.verdict in ("error", "warning")]
        if quiet and not shown:
            continue
        yield ()
        packages = len({(row.line, row.package) for row in rows})
        yield Span(visible(file), "bold"), Span(f"  {kind}, {packages} {'package' if packages == 1 else 'packages'}", "dim")
        if not shown:
            yield (Span("  + ok       no problems found", "good"),)
        for row in _gathered(shown, verbose):
            yield from _row(row, width, verbose)
    yield ()
    for note in audit.notes if not quiet else ():
        yield from hanging((Span("Not read: ", "dim"),), note, width, style="dim")
    if audit.resolution and not quiet:
        yield from hanging((Span("Resolved: ", "dim"),), audit.resolution, width, style="dim")
    yield from ((Span(text, "bold"),) for text in wrapped(summary(audit), width))


def _gathered(rows: Sequence[Judged], verbose: bool) -> list[Judged]:
    """The rows, with the dozen CUDA libraries of a lock file in one line; all of them with `verbose`."""
    useless = [row for row in rows if row.id == "useless"]
    if verbose or len(useless) < 3:
        return list(rows)
    first = useless[0]
    names = f"{first.package} and {len(useless) - 1} more"
    one = Judged(package=names, file=first.file, line=first.line, text="", verdict="info", says=first.says, sources=first.sources)
    return [*(row for row in rows if row.id != "useless"), one]


def _row(row: Judged, width: int, verbose: bool) -> Iterator[Line]:
    sign, word, style = WORDS[row.verdict]
    line = f"{row.line}:" if row.line else ""
    lead = (Span(f"  {sign} {word:<8}", style), Span(f"{line:>6} ", "dim"), Span(visible(row.package), "bold"), Span("  "))
    says = row.says or "works"
    if sum(len(span.text) for span in lead) > width // 2:
        yield lead
        yield from hanging((Span(" " * 19),), says, width)
    else:
        first, *_ = hanging(lead, says, width)
        yield first
        rest = wrapped(says, max(width - sum(len(span.text) for span in lead), 20))[1:]
        yield from hanging((Span(" " * 19),), " ".join(rest), width) if rest else ()
    label = "write  "
    if row.use and row.verdict != "ok":
        for each in row.use:
            yield Span(" " * 19), Span(label, "good"), Span(visible(each), "command")  # one line: to be copied
            label = " " * len(label)
    if verbose:
        for source in row.sources:
            yield Span(" " * 19), Span(f"more   {visible(source)}", "dim")


def summary(audit: Audit) -> str:
    """The result of the audit in one line."""
    counts = {verdict: audit.count(verdict) for verdict in ("error", "warning", "unverified", "ok", "unlisted", "skipped")}
    said = [
        _many(counts["error"], "error"),
        _many(counts["warning"], "warning"),
        f"{counts['unverified']} not verified" if counts["unverified"] else "",
        f"{counts['ok']} ok" if counts["ok"] else "",
        f"{counts['unlisted']} not in the table of GPU packages" if counts["unlisted"] else "",
        f"{counts['skipped']} not for this platform" if counts["skipped"] else "",
    ]
    head = f"Does not run on {audit.backend.name} as written" if counts["error"] else f"No errors found for {audit.backend.name}"
    text = ", ".join(filter(None, said))
    return f"{head}: {text}." if text else f"{head}."


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}" if count else ""
