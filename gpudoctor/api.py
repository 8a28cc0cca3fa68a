"""What `import gpudoctor` offers to programs and notebooks: the same diagnosis as `gpudoctor check`, as an object."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gpudoctor.model import report as model
from gpudoctor.model.measurement import Measurement
from gpudoctor.services import checking

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

Path = str | os.PathLike[str]


def check(
    *,
    python: Path | None = None,
    capture: Path | None = None,
    quick: bool = False,
    stack: str | None = None,
    budget: float | None = None,
    expect: Path | None = None,
    checks: Iterable[Path] = (),
    ignore: Iterable[str] = (),
) -> Report:
    """Look at this machine, or a recorded one, and judge. It changes nothing and opens no network connection.

    python: the interpreter or environment folder to look at; the running one, unlike the command, which looks for an active environment.
    capture: a recorded machine (`gpudoctor capture`) instead of this one.
    quick: files only; no framework is imported, nothing is started.
    stack: the stack to put first, such as "torch-cuda" (`gpudoctor list stacks`).
    budget: seconds for everything; 30, or 3 with `quick`.
    expect: a policy file: what must be there; what is missing is a finding, what is not known is in `report.undetermined`.
    checks, ignore: further folders of checks; ids of checks to leave out.

    Raises ValueError, with one line that says what to do, for what cannot be used (a capture, a policy, an unknown name).
    Frameworks are imported in child processes, never in this one.
    """
    target = os.fspath(python) if python is not None else None
    if target is not None and capture is None and not os.path.lexists(os.path.expanduser(target)):
        raise ValueError(f"python={target!r}: no such interpreter or environment folder; give one that exists")
    if target is None and capture is None:
        target = sys.executable or None
    request = checking.CheckRequest(
        capture=None if capture is None else os.fspath(capture), python=target, quick=quick, budget=budget, stack=stack,
        checks=tuple(os.fspath(folder) for folder in checks), expect=None if expect is None else os.fspath(expect),
        ignore=frozenset(ignore),
    )  # fmt: skip
    try:
        return Report(checking.check(request), stack)
    except checking.BAD_INPUT as error:
        raise ValueError(str(error)) from error


class Report:
    """A diagnosis. In a notebook it shows itself; `print(report)` is the screen of `gpudoctor check`."""

    def __init__(self, found: model.Report, stack: str | None = None) -> None:
        self._found, self._stack = found, stack

    @property
    def ok(self) -> bool:
        """No error was found, and nothing that was asked for by name (`stack`, `expect`) is unknown: exit status 0 of the command."""
        return not self._found.summary["errors"] and not self.undetermined and not self._rungs_unknown()

    @property
    def findings(self) -> tuple[model.Finding, ...]:
        """In the order in which a person should read them: causes first. Each has id, title, explanation, severity, advice, evidence."""
        return self._found.findings

    @property
    def stacks(self) -> tuple[model.StackResult, ...]:
        """How far each stack gets, those in use first: verdict is ok, broken, incomplete, unknown or not-applicable."""
        return self._found.stacks

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Of the last `gpudoctor validate` in this environment, where they still hold."""
        return self._found.measurements

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is known of the machine, nested by name (`gpudoctor list facts`); what is unknown is not in it, what is absent is None."""
        return self._found.facts

    @property
    def summary(self) -> Mapping[str, Any]:
        """errors, warnings, infos, unknown (numbers) and first_broken ('stack/layer' or None)."""
        return self._found.summary

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Demands of the policy that could not be judged, and why."""
        return self._found.undetermined

    @property
    def incomplete(self) -> tuple[str, ...]:
        """What time ran out for; empty: everything was looked at."""
        return self._found.incomplete

    def to_dict(self) -> dict[str, Any]:
        """The document that `gpudoctor check --format json` prints: gpudoctor.report/1."""
        from gpudoctor.reporters.report import json_report

        return json_report.document(self._found)

    def _rungs_unknown(self) -> bool:
        return any(result.stack == self._stack and result.verdict == "unknown" for result in self._found.stacks)

    def _screen(self, width: int = 80, colour: bool = False) -> str:
        from gpudoctor.reporters.report import console
        from gpudoctor.reporters.shared.layout import Terminal

        return console.render(self._found, Terminal(width=width, colour=colour), stack=self._stack)

    def __str__(self) -> str:
        return self._screen().rstrip("\n")

    def __repr__(self) -> str:
        count = self._found.summary
        broken = count["first_broken"] or "nothing"
        return f"<gpudoctor.Report: {count['errors']} errors, {count['warnings']} warnings, first broken: {broken}>"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        yield Text.from_ansi(self._screen(options.max_width, colour=True), no_wrap=True, end="")

    def _repr_html_(self) -> str:
        from gpudoctor.reporters.report import notebook_html

        return notebook_html.render(self._found)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What notebooks ask for; `include` and `exclude` are theirs to apply."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}
