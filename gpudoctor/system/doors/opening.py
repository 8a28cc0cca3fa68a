"""Opens the host for what a person asked to examine instead of this machine."""

from __future__ import annotations

from gpudoctor.model.door import Wanted
from gpudoctor.system.host import Host


def open_door(wanted: Wanted, *, budget: float = 30.0, quick: bool = False, python: str | None = None) -> Host:
    """The host for `wanted`, which must be closed with `close_door`. Raises DoorError where it cannot be reached or read."""
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
    """Raises DoorError where what was examined does not exist any more, so that its answers are not valid."""
    confirm = getattr(host, "confirm", None)
    if confirm is not None:
        confirm()


def close_door(host: Host) -> None:
    """Ends the connection, if there is one. Nothing is left on the other side."""
    close = getattr(host, "close", None)
    if close is not None:
        close()
