"""The machine of a plan as if it were new: the same system and hardware with nothing set up, for which exports are planned.

A Dockerfile begins with a bare distribution, and scripts and playbooks run on other machines: nothing may be left out because this
machine has it already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard, cast

from msgspec.structs import replace

from gpudoctor.model.facts import Absent, Facts, Known, Unknown
from gpudoctor.model.plan import Act, Command, FileChange, Plan, PlannedStep
from gpudoctor.setup.interpreters import system_minor
from gpudoctor.setup.steps._step import Look
from gpudoctor.system.host import Host, Mode, Text

ENV = "/opt/venv"
"""The folder of an export's Python environment. It belongs to root, as the rest of /opt does."""
USER = "you"
"""The name that stands for whoever runs the export, who has another name on each machine."""
_HIDDEN = (
    "/etc/apt/", "/var/lib/apt/", "/var/lib/dpkg/", "/usr/share/keyrings/", "/etc/yum.repos.d/", "/etc/pki/rpm-gpg/", "/etc/modprobe.d/",
    "/etc/udev/rules.d/", "/etc/group", f"{ENV}/",
)  # fmt: skip
_MANAGERS = ("apt", "dnf", "dnf5", "pacman", "apk", "zypper")


class _FreshHost:
    """The host without the files that a setup writes or looks for."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        return Text(problem="missing") if _hidden(path) else self._host.read(path, limit=limit)

    def exists(self, path: str) -> bool:
        return not _hidden(path) and self._host.exists(path)

    def knows(self, path: str) -> bool:
        return _hidden(path) or self._host.knows(path)

    def listdir(self, path: str) -> list[str]:
        return [] if _hidden(path) else self._host.listdir(path)

    def readlink(self, path: str) -> str | None:
        return None if _hidden(path) else self._host.readlink(path)

    def mode(self, path: str) -> Mode | None:
        return None if _hidden(path) else self._host.mode(path)


def _hidden(path: str) -> bool:
    return f"{path}/".startswith(_HIDDEN) or path in _HIDDEN


def fresh(look: Look, *, uv: bool) -> Look:
    """What planning sees of this machine, as if nothing were set up. `uv`: whether uv may be used, for a Python that the system lacks."""
    facts = Facts(dict(look.facts.items()))
    packages = look.facts.value("packages")
    if isinstance(packages, Mapping):
        facts.set("packages", Known({name: packages[name] for name in _MANAGERS if name in packages}, "a new machine"))
    facts.set("python.venv_module", Known(False, "a new machine"))
    facts.set("python.distributions", Absent("a new machine"))
    facts.set("setup.user", Known(USER, "a new machine"))
    facts.set("user.name", Known(USER, "a new machine"))
    facts.set("user.groups", Known([], "a new machine"))
    facts.set("user.groups_pending", Known([], "a new machine"))
    if system_minor(look):
        facts.set("python.interpreters", Unknown("not probed"))
    facts.set("tools.uv", Known("uv", "installed by the export") if uv else Absent("a new machine"))
    options = {**look.options, "fresh": True, "env_named": True, "user": USER}
    return replace(look, facts=facts, host=cast(Host, _FreshHost(look.host)), options=options)


def owned_by_root(plan: Plan) -> Plan:
    """The plan with root rights for the commands and files of an environment below /opt."""
    if plan.env != ENV:
        return plan
    return replace(plan, steps=tuple(_as_root(step) for step in plan.steps))


def _as_root(step: PlannedStep) -> PlannedStep:
    acts = tuple(replace(act, root=True) if _in_env(act) else act for act in step.acts)
    return replace(step, acts=acts, root=step.root or acts != step.acts)


def _in_env(act: Act) -> TypeGuard[Command | FileChange]:
    words = act.argv if isinstance(act, Command) else (act.path,) if isinstance(act, FileChange) else ()
    return any(f"{word}/".startswith(f"{ENV}/") for word in words)
