"""A report as plain text for the field of a form: the screen of `check`, then the environment in the form of gpudoctor-env.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpudoctor.model.report import Report
from gpudoctor.reporters.report import collect_env, console
from gpudoctor.reporters.shared.layout import Terminal

LIMIT = 8192
"""The limit in bytes, which a form accepts and a person reads."""
_CUT = "… (cut here: gpudoctor report -o report.zip writes the whole report)\n"


def text(
    report: Report, ignored: Mapping[str, str] | None = None, width: int = 100, environment: Callable[[int], str] | None = None
) -> str:
    """The findings in full where they fit, else as on a screen; then the environment, shortened to what fits.

    `environment`: writes it in so many bytes (services.reporting); without it, or for a report without a recording, from facts.
    """
    place = Terminal(width=width)
    head = f"gpudoctor {report.tool_version}, {report.created}\n\n"
    screens = (console.render(report, place, verbose=whole, ignored=ignored) for whole in (True, False))
    screen = next((found for found in screens if _size(head + found) <= LIMIT // 3), "")
    screen = screen or console.render(report, place, ignored=ignored)
    written = environment(LIMIT - _size(f"{head}{screen}\n")) if environment is not None else ""
    if written:
        return _fitting(f"{head}{screen}\n{written}")
    return _fitting(f"{head}{screen}\nEnvironment\n{collect_env.block(report, 60)}\n")


def _fitting(whole: str) -> str:
    if _size(whole) <= LIMIT:
        return whole
    kept, room = [], LIMIT - _size(_CUT)
    for line in whole.splitlines(keepends=True):
        room -= _size(line)
        if room < 0:
            break
        kept.append(line)
    return "".join(kept) + _CUT


def _size(words: str) -> int:
    return len(words.encode("utf-8", "replace"))
