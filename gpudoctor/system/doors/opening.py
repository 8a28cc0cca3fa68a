"""From what a person asked for to the host that answers."""

from __future__ import annotations

from gpudoctor.model.door import Wanted
from gpudoctor.system.host import Host


def open_door(wanted: Wanted, *, budget: float = 30.0, quick: bool = False, python: str | None = None) -> Host:
    """Raises DoorError. What is opened is ended by `close_door`."""
    host: Host
    if wanted.kind == "process":
        from gpudoctor.system.doors.process_host import ProcessHost

        return ProcessHost(wanted.name, budget=budget, quick=quick)
    if wanted.kind == "root":
        from gpudoctor.system.doors.root_host import RootHost

        host = RootHost(wanted.name, budget=budget, quick=quick, chroot=wanted.chroot)
    else:
        from gpudoctor.system.doors.shell_host import open_shell

        host = open_shell(wanted, budget=budget, quick=quick)
    host.target_python = python
    return host


def confirm_door(host: Host) -> None:
    """Raises DoorError where what was examined went away meanwhile, so that its answers are worth nothing."""
    confirm = getattr(host, "confirm", None)
    if confirm is not None:
        confirm()


def close_door(host: Host) -> None:
    """Ends the connection, if there is one. Nothing is left on the other side."""
    close = getattr(host, "close", None)
    if close is not None:
        close()
