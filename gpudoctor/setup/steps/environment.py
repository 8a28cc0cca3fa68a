"""environment: variables and scripts that apply while the environment is active, in a file that its `activate` reads."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from gpudoctor.model.plan import DONE, Act, FileChange
from gpudoctor.setup.file_change import bits, content_at, kept, original, put_back
from gpudoctor.setup.steps._step import Draft, Kind, Look, PlanError, Settings
from gpudoctor.system.writable_host import WritableHost

FILE = "gpudoctor-env.sh"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class EnvironmentKind:
    name = "environment"
    keys: Mapping[str, type | tuple[type, ...]] = {"variables": Mapping, "source": list}
    required: tuple[str, ...] = ()

    def plan(self, given: Settings, look: Look) -> Draft:
        variables = {str(name): str(value) for name, value in dict(given.get("variables") or {}).items()}
        scripts = [str(path) for path in given.get("source", ())]
        for name, value in variables.items():
            if not _NAME.fullmatch(name) or "\n" in value or "\0" in value:
                raise PlanError(f"'{name}' is no variable of one line; this is a mistake in the recipe")
        for path in scripts:
            if not path.startswith("/") or "\n" in path:
                raise PlanError(f"'{path}' is no absolute path of a script; this is a mistake in the recipe")
        if not variables and not scripts:
            raise PlanError("an environment step needs variables or source; this is a mistake in the recipe")
        settings = {"env": look.env, "variables": variables, "source": scripts}
        path = f"{look.env}/{FILE}"
        now = content_at(look.host, path)
        if now is not None and with_block(now, _block(settings)) == now:
            return Draft(settings=settings, state=DONE, note=f"{path} says so already")
        changes = [f"sets {name}={value} while {look.env} is active" for name, value in variables.items()]
        changes += [f"sources {script} while {look.env} is active" for script in scripts]
        act: Act = FileChange(path=path, content=with_block(now or "", _block(settings)))
        return Draft(settings=settings, changes=tuple(changes), acts=(act, *_activation(look, look.env)))

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        return {path: kept(path, machine, False) for path in _paths(settings)}

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        for path, block in _blocks(settings).items():
            now = machine.read(path)
            if now is None and path.endswith("/activate"):
                continue  # conda's environments have none
            wanted = with_block(_text(now), block)
            if wanted != _text(now) or now is None:
                machine.write(path, wanted.encode("utf-8", "surrogateescape"), mode=before[path]["mode"])

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Does nothing: each file is replaced as a whole, and a block that it holds already stays."""

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        return {}

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        path = f"{settings['env']}/{FILE}"
        return "" if _block(settings) in _text(machine.read(path)) else f"{path} does not set what it should"

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        lines = []
        for path, block in _blocks(settings).items():
            was, now = original(before[path]), machine.read(path)
            if now is None or now == was or block in _text(was):
                continue
            if _text(now) == with_block(_text(was), block):
                put_back(path, before[path], machine, root=False)
            elif block in _text(now):  # a person has changed the rest of the file: only the block is removed
                mode = machine.look.mode(path)
                machine.write(
                    path, _text(now).replace(block, "").encode("utf-8", "surrogateescape"), mode=bits(mode.mode) if mode else 0o644
                )
            else:
                lines.append(f"{path} is kept: the lines of gpudoctor in it were changed since; take them out by hand")
        return tuple(lines)


def with_block(text: str, block: str) -> str:
    """The text with the block at its end; the same text where it holds the block already."""
    if block in text:
        return text
    return text + ("\n" if text and not text.endswith("\n") else "") + block


def _text(content: bytes | None) -> str:
    return "" if content is None else content.decode("utf-8", "surrogateescape")


def _paths(settings: Settings) -> tuple[str, str]:
    return f"{settings['env']}/{FILE}", f"{settings['env']}/bin/activate"


def _blocks(settings: Settings) -> dict[str, str]:
    file, activate = _paths(settings)
    return {file: _block(settings), activate: _hook(settings["env"])}


def _block(settings: Settings) -> str:
    """The block of a step. Its marks hold a checksum of its content, so that each step has a block of its own."""
    said = json.dumps([settings["variables"], settings["source"]], sort_keys=True)
    key = hashlib.sha256(said.encode()).hexdigest()[:8]
    lines = [f". {shlex.quote(path)}" for path in settings["source"]]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in settings["variables"].items()]
    return "\n".join([f"# >>> gpudoctor setup {key} >>>", *lines, f"# <<< gpudoctor setup {key} <<<", ""])


def _hook(env: str) -> str:
    file = shlex.quote(f"{env}/{FILE}")
    return f"# >>> gpudoctor setup >>>\nif [ -r {file} ]; then . {file}; fi\n# <<< gpudoctor setup <<<\n"


def _activation(look: Look, env: str) -> list[Act]:
    """The change of `activate` for an export; none where it cannot be read, as in a new environment, whose file a person must source."""
    path = f"{env}/bin/activate"
    now = content_at(look.host, path)
    return [] if now is None or _hook(env) in now else [FileChange(path=path, content=with_block(now, _hook(env)))]


KIND: Kind = EnvironmentKind()
