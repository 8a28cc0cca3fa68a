"""The service of `gpudoctor` without a command: a quick look at files, and a recommendation where no stack is installed."""

from __future__ import annotations

from msgspec import Struct

from gpudoctor.diagnosis.advice.recommendation import recommend
from gpudoctor.facts.collect import gather
from gpudoctor.model.check import RECIPES
from gpudoctor.model.facts import Absent, Fact, Known
from gpudoctor.model.plan import Recommendation
from gpudoctor.model.report import Report
from gpudoctor.services import checking

_ASKED = "gpudoctor"


class OverviewRequest(Struct, frozen=True, kw_only=True):
    """What `gpudoctor` without a command looks at."""

    capture: str | None = None
    """A recorded machine instead of this one."""


class FirstLook(Struct, frozen=True):
    """The findings of a quick look, and a recommendation."""

    report: Report
    """The report of the quick look: no program was run and no framework imported."""
    choice: Recommendation
    """The recommendation of `gpudoctor setup` on the same facts."""


def look(options: OverviewRequest) -> FirstLook:
    """Looks at files only. Raises services.checking.BAD_INPUT for a recording that cannot be read."""
    request = checking.CheckRequest(capture=options.capture, quick=True)
    host = checking.open_for(request)
    gathered = gather(host, given=_default_setup())
    knowledge = checking.catalogue(wanted=checking.speaking_by_facts(gathered.facts))
    report = checking.report_from_facts(gathered, knowledge, request, "capture" if options.capture else host.origin)
    return FirstLook(report, recommend(gathered.facts, report.stacks, None, RECIPES))


def _default_setup() -> dict[str, Fact]:
    """The facts of a request to `setup` without options."""
    given: dict[str, Fact] = {
        "setup.name": Known("any", _ASKED),
        "setup.env": Known("", _ASKED),
        "setup.purpose": Known("training", _ASKED),
    }
    return {**given, **{f"setup.{name}": Absent(_ASKED) for name in ("torch", "python_version", "folder")}}
