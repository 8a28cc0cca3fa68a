"""A running container or a local image, by the command line of docker or podman. It is examined through a shell in it; for an image that
is a new container without network and capabilities, which is removed at its end."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from msgspec import Struct, field

from gpudoctor.model.door import Door, Wanted
from gpudoctor.system.host import DoorError, Ran
from gpudoctor.system.local_host import find_program

ENGINES = ("docker", "podman")
SECONDS = 15.0
_NAME = re.compile(r"[A-Za-z0-9][\w.:/@-]{0,255}")
_DRIVER_DOWN = (
    "cannot connect to the docker daemon",
    "error during connect",
    "is the docker daemon running",
    "failed to connect to the docker api",
)


class Engine(Struct, frozen=True):
    """How a container was started, by the engine."""

    name: str
    image: str = ""
    gpus_asked: bool | None = None
    devices: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)


class ContainerWay:
    """A shell in the container (`exec`) or in a new one of the image (`run --rm`)."""

    def __init__(self, option: str, door: Door, words: list[str], engine: Engine) -> None:
        self.option, self.door, self.engine = option, door, engine
        self._words = words

    def argv(self, *, first: bool) -> list[str]:
        return self._words

    def why_not(self, said: str) -> str:
        return f"{self.option}: {_explained(said, self.door, self.engine.name)}"

    def close(self) -> None:
        """Does nothing: the shell ends with its input, and the container of an image with its shell."""


def _explained(said: str, door: Door, engine: str) -> str:
    low = said.lower()
    if "executable file not found" in low or "no such file or directory" in low or "not found" in low:
        unpack = f"{engine} export NAME | tar -x -C DIR, then gpudoctor check --root DIR"
        return f"it holds no shell, with which its files are read; unpack it instead: {unpack}"
    if "is not running" in low or "container state improper" in low or "is paused" in low:
        return f"it stopped meanwhile; start it: {engine} start {door.name}"
    attempt = "exec" if door.kind == "container" else "run --rm"
    return f"{engine} failed: {said}; see what this says: {engine} {attempt} {door.name} true"


def open_container(wanted: Wanted) -> ContainerWay:
    """How to reach the shell of a container or image. Raises DoorError where no engine has it."""
    option = f"--{wanted.kind} {wanted.name}"
    if not _NAME.fullmatch(wanted.name):
        raise DoorError(f"{option}: expected a name or an id; docker ps, podman ps and docker images list them")
    there = [name for name in ENGINES if find_program(name, os.environ.get("PATH", os.defpath))]
    if not there:
        raise DoorError(
            f"{option}: neither docker nor podman is on PATH; run gpudoctor where the {wanted.kind} is, or unpack it and use --root DIR"
        )
    failures = []
    for engine in there:
        answer = inspect(engine, wanted)
        if isinstance(answer, dict):
            return _way(option, engine, wanted, answer)
        failures.append((engine, answer))
    for engine, why in failures:
        if why:
            raise DoorError(f"{option}: {engine} {why}")
    listing = "ps -a" if wanted.kind == "container" else "images"
    found = f"{' and '.join(there)} know{'s' if len(there) == 1 else ''} no such {wanted.kind}"
    more = f"; {there[0]} pull {wanted.name} fetches it" if wanted.kind == "image" else ""
    raise DoorError(f"{option}: {found}; {there[0]} {listing} lists them{more}")


def inspect(engine: str, wanted: Wanted) -> dict[str, Any] | str:
    """The result of `inspect`; else the reason why it cannot be asked, or '' where there is no such container or image."""
    ran = run((engine, wanted.kind, "inspect", wanted.name))
    if ran.ok:
        try:
            said = json.loads(ran.stdout)
        except (ValueError, RecursionError):
            said = None
        first = said[0] if isinstance(said, list) and said else None
        return (
            first
            if isinstance(first, dict)
            else f"answered what cannot be read; see what this says: {engine} {wanted.kind} inspect {wanted.name}"
        )
    if ran.timed_out:
        return f"does not answer in {SECONDS:.0f} s; see what this says: {engine} ps"
    low = (ran.stdout + ran.stderr).lower()
    if any(words in low for words in _DRIVER_DOWN):
        return f"is installed, but its service does not answer; sudo systemctl start {engine}, or unpack the image and use --root DIR"
    if "permission denied" in low:
        return "may not be used by this user; run gpudoctor as one who may (group docker), or as root"
    if "no such" in low or "not found" in low or "not known" in low or "does not exist" in low or "unable to inspect" in low:
        return ""
    line = " ".join((ran.stderr or ran.stdout).split())[:200]
    return f"failed: {line}; see what this says: {engine} {wanted.kind} inspect {wanted.name}"


def run(argv: tuple[str, ...]) -> Ran:
    """Runs a command of the engine on this machine."""
    from gpudoctor.system.local_host import LocalHost

    return LocalHost(SECONDS + 1.0).run(argv, timeout=SECONDS)


def _way(option: str, engine: str, wanted: Wanted, said: dict[str, Any]) -> ContainerWay:
    no_devices = "an image has no devices" if wanted.kind == "image" else ""
    door = Door(wanted.kind, wanted.name, f"{wanted.kind} {wanted.name} ({engine})", no_devices)
    if wanted.kind == "image":
        words = [engine, "run", "--rm", "-i", "--pull=never", "--network=none", "--cap-drop=ALL", "--security-opt=no-new-privileges",
                 "--entrypoint=sh", wanted.name]  # fmt: skip
        return ContainerWay(option, door, words, Engine(engine, wanted.name))
    state = _table(said, "State")
    if state.get("Running") is not True or state.get("Paused") is True:
        status = str(state.get("Status") or "stopped")[:40]
        how = "unpause" if state.get("Paused") is True else "start"
        raise DoorError(
            f"{option}: it is {status}; {engine} {how} {wanted.name}, or look at its image: gpudoctor check --image {_image(said)}"
        )
    return ContainerWay(option, door, [engine, "exec", "-i", wanted.name, "sh"], started(engine, said))


def started(engine: str, said: dict[str, Any]) -> Engine:
    """How a container was started, by the result of `inspect`, of which the type of each value is checked."""
    config = _table(said, "HostConfig")
    requests = [request for request in _list(config, "DeviceRequests") if isinstance(request, dict)]
    devices = [str(device.get("PathOnHost") or "") for device in _list(config, "Devices") if isinstance(device, dict)]
    asked = any(_capable(request) or request.get("Driver") in ("nvidia", "cdi") for request in requests)
    asked = asked or config.get("Runtime") == "nvidia" or any("=" in device or device.startswith("/dev/nvidia") for device in devices)
    variables = [str(each) for each in _list(_table(said, "Config"), "Env")]
    asked = asked or any(each.startswith("NVIDIA_VISIBLE_DEVICES=") and config.get("Runtime") == "nvidia" for each in variables)
    return Engine(engine, _image(said), asked, sorted(filter(None, devices)), [str(each) for each in _list(config, "GroupAdd")])


def _capable(request: dict[str, Any]) -> bool:
    return any("gpu" in group for group in _list(request, "Capabilities") if isinstance(group, list))


def _image(said: dict[str, Any]) -> str:
    name = said.get("ImageName") or _table(said, "Config").get("Image") or "REF"
    return str(name) if _NAME.fullmatch(str(name)) else "REF"


def _table(said: dict[str, Any], name: str) -> dict[str, Any]:
    value = said.get(name)
    return value if isinstance(value, dict) else {}


def _list(said: dict[str, Any], name: str) -> list[Any]:
    value = said.get(name)
    return value if isinstance(value, list) else []
