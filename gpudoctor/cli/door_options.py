"""The options that examine something other than this machine. Each excludes the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gpudoctor.cli import BadInput

if TYPE_CHECKING:
    from gpudoctor.model.door import Wanted

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_KINDS = {"pid": "process", "root": "root", "container": "container", "image": "image", "host": "host"}


def door_options(command: Decorated) -> Decorated:
    for option in reversed((
        click.option("--pid", metavar="PID", help="Examine a running process: its environment and what it has loaded."),
        click.option("--container", metavar="NAME", help="Examine a running container (docker, podman), beside this machine."),
        click.option("--image", metavar="REF", help="Examine a local image (docker, podman)."),
        click.option("--root", metavar="DIR", help="Examine the system in a folder: a mounted or unpacked image, a chroot."),
        click.option("--chroot", is_flag=True, help="With --root, as root: also run its programs, by chroot."),
        click.option("--host", metavar="SSH", help="Examine another machine by ssh (a name that ssh knows, or USER@HOST)."),
    )):  # fmt: skip
        command = option(command)
    return command


def wanted(given: Mapping[str, Any], capture: str | None = None) -> Wanted | None:
    """The machine, container, root or process that the options name; None for this machine. Raises BadInput."""
    named = [f"--{option}" for option in _KINDS if given[option] is not None]
    if capture is not None and named:
        raise BadInput(f"--capture and {named[0]} exclude each other: a recording is no machine; give one of them")
    if len(named) > 1:
        raise BadInput(f"{' and '.join(named)} exclude each other, since each names what to examine; give one of them")
    if given["chroot"] and given["root"] is None:
        raise BadInput("--chroot goes with --root DIR, in which programs are to be run")
    if not named:
        return None
    option = named[0].removeprefix("--")
    if not str(given[option]).strip():
        raise BadInput(f"--{option}: the value is empty; give what to examine")
    if option == "pid" and given["python"]:
        raise BadInput("--pid and --python exclude each other: the process decides which Python it is; leave --python out")
    from gpudoctor.model.door import Wanted

    return Wanted(kind=_KINDS[option], name=str(given[option]), chroot=bool(given["chroot"]))  # type: ignore[arg-type]
