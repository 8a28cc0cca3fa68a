"""Which machine, container, root or process is examined in place of this machine."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Kind = Literal["process", "root", "host", "container", "image"]
OPTIONS: dict[Kind, str] = {"process": "--pid", "root": "--root", "host": "--host", "container": "--container", "image": "--image"}


class Wanted(Struct, frozen=True, kw_only=True):
    """What a person asked for: one of the options, and its value. `chroot`: programs of the root may be run in it."""

    kind: Kind
    name: str
    chroot: bool = False


class Door(Struct, frozen=True):
    """What is examined. `title` names it on a screen: 'container web (podman)'."""

    kind: Kind
    name: str
    title: str
    no_devices: str = ""
    """Why no devices can be seen there; empty where they can."""
