"""Where to measure, and with what: the first step of every measurement outside the usual run."""

from __future__ import annotations

import sys
from collections.abc import Callable

from msgspec import Struct

from gpudoctor.benchmark import devices, job_plan, own_model
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.facts.collect import gather
from gpudoctor.model.facts import Facts
from gpudoctor.services import checking
from gpudoctor.services.validating import ValidateRequest
from gpudoctor.system.local_host import LocalHost

Progress = Callable[[str], None]


class MeasurementSetting(Struct, frozen=True, kw_only=True):
    """Where to measure, and with what."""

    facts: Facts
    targets: tuple[MeasurementTarget, ...]
    host: LocalHost


def look(request: ValidateRequest, progress: Progress | None = None) -> MeasurementSetting:
    """Examines this machine and chooses the devices. Raises services.checking.RequestError where nothing can be measured as requested."""
    try:
        job_plan.check(request.asked)
        for name in request.devices:
            devices.canonical(name)
        host = checking.open_for(checking.CheckRequest(python=request.python, ignore=request.ignore))
        facts = gather(host, progress).facts
        found = devices.choose(facts, request.devices, sys.executable)
        own_model.check(request.asked, found)
    except devices.BrokenFrameworkError as error:
        raise checking.FrameworkBroken(str(error)) from error
    except (devices.DeviceError, job_plan.MeasurementRequestError) as error:
        raise checking.RequestError(str(error)) from error
    return MeasurementSetting(facts=facts, targets=tuple(found), host=LocalHost(budget=0.0))
