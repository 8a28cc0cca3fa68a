"""The use case of `gpudoctor` alone: a quick look at files, and which stack to set up where none is there."""

from __future__ import annotations

from dataclasses import dataclass

from gpudoctor import app
from gpudoctor.advise.recommend import recommend
from gpudoctor.gather.collect import gather
from gpudoctor.model.check import RECIPES
from gpudoctor.model.facts import Absent, Fact, Known
from gpudoctor.model.plan import Recommendation
from gpudoctor.model.report import Report

_ASKED = "gpudoctor"


@dataclass(frozen=True, slots=True)
class FirstLook:
    report: Report
    """Quick: nothing was started, no framework was imported."""
    choice: Recommendation
    """What `gpudoctor setup` would recommend on the same facts."""


def look(capture: str | None = None) -> FirstLook:
    """Raises app.BAD_INPUT for a recording that cannot be read."""
    request = app.CheckRequest(capture=capture, quick=True)
    host = app.open_for(request)
    gathered = gather(host, given=_asked())
    report = app.judge(gathered, app.catalogue(), request, "capture" if capture else host.origin)
    return FirstLook(report, recommend(gathered.facts, report.stacks, None, RECIPES))


def _asked() -> dict[str, Fact]:
    """As `setup` asks where nothing was said on the command line."""
    said: dict[str, Fact] = {"setup.name": Known("any", _ASKED), "setup.env": Known("", _ASKED), "setup.purpose": Known("training", _ASKED)}
    return {**said, **{f"setup.{name}": Absent(_ASKED) for name in ("torch", "python_version", "folder")}}
