"""The host that a command examines: this machine, or a recorded one."""

from __future__ import annotations

from gpudoctor.host.base import Host


def open_host(capture: str | None, budget: float = 30.0, quick: bool = False) -> Host:
    """Raises CaptureError (one line) where the capture cannot be read."""
    if capture is not None:
        from gpudoctor.host.recorded import open_recorded

        return open_recorded(capture, quick=quick, budget=budget)
    from gpudoctor.host.local import LocalHost

    return LocalHost(budget=budget, quick=quick)
