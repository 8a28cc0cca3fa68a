"""What was recorded in the place of a machine: a process, a root, a container, a machine by ssh (the table `door` of machine.toml)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpudoctor.capture.parsing import typed
from gpudoctor.system.host import CaptureError

if TYPE_CHECKING:
    from gpudoctor.capture.capture_store import Store
    from gpudoctor.model.door import Door
    from gpudoctor.system.doors.containers import Engine


def table_of(host: object) -> dict[str, Any]:
    """The table for a host; empty for a machine. Names in it are redacted later."""
    door, engine = getattr(host, "door", None), getattr(host, "engine", None)
    if door is None:
        return {}
    found: dict[str, Any] = {"kind": door.kind, "name": door.name, "title": door.title, "no_devices": door.no_devices}
    if engine is not None:
        found |= {"engine": engine.name, "image": engine.image, "devices": engine.devices, "groups": engine.groups}
        found |= {} if engine.gpus_asked is None else {"gpus_asked": engine.gpus_asked}
    return found


def recorded_door(store: Store, machine: Mapping[str, Any]) -> Door | None:
    """The recorded door; None for a machine. Raises CaptureError for a malformed table."""
    if "door" not in machine:
        return None
    from gpudoctor.model.door import OPTIONS, Door  # imported late: most recordings are of a machine

    table = typed(store, "machine.toml", "door", machine["door"], dict)
    kind, name, title, why = (typed(store, "machine.toml", key, table.get(key, ""), str) for key in ("kind", "name", "title", "no_devices"))
    if kind not in OPTIONS:
        raise CaptureError(f"{store.where}: machine.toml: door.kind is {kind[:40]!r}, expected one of {', '.join(OPTIONS)}")
    if kind == "process" and not (name.isascii() and name.isdigit() and len(name) < 10):
        raise CaptureError(f"{store.where}: machine.toml: door.name is {name[:40]!r}, expected the number of a process")
    return Door(kind, name, title, why)


def recorded_engine(machine: Mapping[str, Any]) -> Engine | None:
    table = machine.get("door")
    if not isinstance(table, Mapping) or not table.get("engine"):
        return None
    from gpudoctor.system.doors.containers import Engine

    gpus_requested = table.get("gpus_asked")
    devices, groups = ([str(each) for each in value] if isinstance(value := table.get(key), list) else [] for key in ("devices", "groups"))
    return Engine(
        str(table["engine"]), str(table.get("image") or ""), gpus_requested if isinstance(gpus_requested, bool) else None, devices, groups
    )
