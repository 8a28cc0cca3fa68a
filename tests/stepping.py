"""One step of a recipe on the live machine, as the runner takes it: plan, before, apply, look, after; undone again."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpudoctor.model.facts import Facts, as_fact
from gpudoctor.model.recipe import Address
from gpudoctor.setup.steps import kind_named
from gpudoctor.setup.steps._step import Draft, Look
from gpudoctor.system.host import Host
from gpudoctor.system.live_changes import ActingHost
from gpudoctor.system.local_host import LocalHost
from gpudoctor.system.writable_host import WritableHost

PYTHON = os.path.realpath(sys.executable)
MINOR = f"{sys.version_info[0]}.{sys.version_info[1]}"


def facts(**values: Any) -> Facts:
    """Names with '__' for '.'; this Python is there to make environments with."""
    named = {name.replace("__", "."): value for name, value in values.items()}
    named.setdefault("python.interpreters", [{"path": PYTHON, "minor": MINOR, "venv": True}])
    return Facts({name: as_fact(value) for name, value in named.items()})


def look(
    env: Path | str, addresses: Mapping[str, str] | None = None, host: Host | None = None, known: Facts | None = None, **options: Any
) -> Look:
    """`addresses`: name to URL of a Python index."""
    named = {name: Address(name=name, kind="python-index", url=url) for name, url in (addresses or {}).items()}
    return Look(facts=known or facts(), host=host or LocalHost(float("inf")), addresses=named, env=str(env), options=options)


def machine(tmp_path: Path, **given: Any) -> ActingHost:
    return ActingHost(LocalHost(), log=tmp_path / "state" / "log", **given)


@dataclass
class Step:
    """What the journal knows of one step."""

    do: str
    draft: Draft
    settings: Mapping[str, Any] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] | None = None

    def begin(self, machine: WritableHost) -> Step:
        self.before = _journaled(kind_named(self.do).before(self.settings, machine))
        return self

    def apply(self, machine: WritableHost) -> Step:
        kind_named(self.do).apply(self.settings, self.before, machine)
        assert kind_named(self.do).missing(self.settings, machine) == ""
        self.after = _journaled(kind_named(self.do).after(self.settings, self.before, machine))
        return self

    def recover(self, machine: WritableHost) -> Step:
        kind_named(self.do).recover(self.settings, self.before, machine)
        return self

    def undo(self, machine: WritableHost) -> tuple[str, ...]:
        return kind_named(self.do).undo(self.settings, self.before, self.after, machine)

    def missing(self, machine: WritableHost) -> str:
        return kind_named(self.do).missing(self.settings, machine)


def plan(do: str, look: Look, /, **given: Any) -> Step:
    draft = kind_named(do).plan(given, look)
    return Step(do, draft, _journaled(draft.settings))


def carry_out(do: str, look: Look, machine: WritableHost, /, **given: Any) -> Step:
    return plan(do, look, **given).begin(machine).apply(machine)


def _journaled(value: Any) -> Any:
    """What comes back from the journal: JSON."""
    return json.loads(json.dumps(value))


def listing(top: Path, *, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Every path below a folder with what it holds; what Python compiles beside modules is left out."""
    found = {}
    for folder, names, files in os.walk(top):
        for name in sorted([*names, *files]):
            path = Path(folder, name)
            below = str(path.relative_to(top))
            if name == "__pycache__" or name.endswith(".pyc") or below.startswith(without or ("\0",)):
                continue
            if path.is_symlink():
                found[below] = f"-> {path.readlink()}"
            elif path.is_dir():
                found[below] = f"folder {path.stat().st_mode:o}"
            else:
                found[below] = f"{path.stat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return found
