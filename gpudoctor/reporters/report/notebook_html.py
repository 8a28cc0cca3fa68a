"""A report as an HTML fragment for the output cell of a notebook: no script, no style sheet, nothing loaded, every string escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from gpudoctor.model.report import Finding, Report, StackResult
from gpudoctor.reporters.report.finding_text import address
from gpudoctor.reporters.shared.advice_lines import command_lines, sentence
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.phrases import name, nothing_wrong

COLOURS = {"ok": "#2e7d32", "broken": "#c62828", "error": "#c62828", "warning": "#b26a00", "info": "#1565c0"}
"""Colours that can be read on white and on black; other text keeps the colour of the notebook."""
MARKS = {"ok": "✓", "broken": "✗", "warning": "!", "unknown": "?", "not-reached": "·"}


def render(report: Report) -> str:
    return "".join(_parts(report))


def _parts(report: Report) -> Iterator[str]:
    head = report.headline
    python = f"Python {head.get('python', '')}" if head.get("python") else ""
    kernel = f"kernel {head.get('kernel', '')}" if head.get("kernel") else ""
    yield '<div style="max-width:60em;line-height:1.45">'
    yield f"<p><b>{_text(head.get('machine') or 'no GPU found')}</b>"
    yield "".join(f" · {_text(part)}" for part in (head.get("os", ""), kernel, python) if part) + "</p>"
    if report.incomplete:
        yield f"<p>Incomplete: {_text('; '.join(report.incomplete))}</p>"
    stacks = [stack for stack in report.stacks if stack.used and stack.verdict != "not-applicable"]
    stacks = stacks or [stack for stack in report.stacks if stack.verdict in ("ok", "broken")]
    yield "".join(map(_stack, stacks[:4]))
    serious = [finding for finding in report.findings if finding.severity != "info"]
    if not serious:
        yield f"<p>{_text(nothing_wrong(report))}</p>"
    yield "".join(_finding(finding, number == 0) for number, finding in enumerate(serious))
    infos = [finding for finding in report.findings if finding.severity == "info"]
    if infos:
        rows = "".join(f"<li>{_text(finding.title)} <code>{_text(finding.id)}</code></li>" for finding in infos)
        yield f"<details><summary>{len(infos)} more to know</summary><ul>{rows}</ul></details>"
    for title, said in (("Policy not decided", report.undetermined), ("Not read", report.not_looked_at)):
        if said:
            yield f"<p><small>{title}: {_text('; '.join(said))}</small></p>"
    yield "</div>"


def _stack(stack: StackResult) -> str:
    rungs = "".join(
        f'<tr><td style="text-align:left">{_coloured(rung.status, MARKS.get(rung.status, ""))} {_text(name(rung.layer))}</td>'
        f'<td style="text-align:left">{_text(rung.detail or rung.status)}</td></tr>'
        for rung in stack.layers
    )
    broken = f" at {name(stack.broken_layer)}" if stack.verdict == "broken" and stack.broken_layer else ""
    verdict = _coloured(stack.verdict, stack.verdict + broken)
    shown = " open" if stack.verdict == "broken" else ""
    return f"<details{shown}><summary>{_text(stack.title)}: {verdict}</summary><table>{rungs}</table></details>"


def _finding(finding: Finding, shown: bool) -> str:
    advice = finding.advice
    commands = "\n".join(command_lines(advice))
    links = [_link(source) for source in finding.sources[:3]]
    return (
        f"<details{' open' if shown else ''}><summary>{_coloured(finding.severity, finding.severity)} <b>{_text(finding.title)}</b> "
        f"<small>{_text(finding.confidence)}</small></summary>"
        f"<p>{_text(finding.explanation)}</p>"
        + (f"<p><b>Do:</b> {_text(sentence(advice))}</p>" if advice.text else "")
        + (f"<pre>{escape(visible(commands, multiline=True))}</pre>" if commands else "")
        + "".join(f"<p><small>Seen: {_text(seen)}</small></p>" for seen in finding.evidence[:8])
        + (f"<p><small>{', '.join(links)}</small></p>" if links else "")
        + "</details>"
    )


def _link(source: str) -> str:
    link = address(source)
    return f'<a href="{escape(link)}" rel="noopener noreferrer" target="_blank">{_text(source)}</a>' if link else _text(source)


def _coloured(kind: str, text: str) -> str:
    return f'<span style="color:{COLOURS[kind]}">{_text(text)}</span>' if kind in COLOURS else f"<span>{_text(text)}</span>"


def _text(text: str) -> str:
    return escape(visible(text))
