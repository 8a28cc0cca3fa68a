"""The host that a command examines: this machine, or a recorded one."""

from __future__ import annotations

from gpudoctor.system.host import Host


def open_host(capture: str | None, budget: float = 30.0, quick: bool = False, python: str | None = None) -> Host:
    """The host of a capture, else this machine. `budget`: seconds. Raises CaptureError (one line) where the capture cannot be read."""
    if capture is not None:
        from gpudoctor.capture.recorded_host import open_recorded

        recorded = open_recorded(capture, quick=quick, budget=budget)
        recorded.target_python = python or recorded.target_python
        return recorded
    from gpudoctor.system.local_host import LocalHost

    local = LocalHost(budget=budget, quick=quick)
    local.target_python = python
    return local
