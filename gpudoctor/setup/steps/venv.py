"""venv: a Python environment. One that fits is used as it is; what a person has put into a new one since is not deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.model.plan import DONE, Command
from gpudoctor.setup import environment_snapshot as kept
from gpudoctor.setup.file_change import missing_folders
from gpudoctor.setup.interpreters import InterpreterChoice, choose, fits, uv_path, wanted
from gpudoctor.setup.packages.pip_command import alone, surroundings
from gpudoctor.setup.packages.pip_messages import explain, explain_interpreter
from gpudoctor.setup.steps._step import Draft, Kind, Look, PlanError, Settings
from gpudoctor.setup.target_environment import at, of
from gpudoctor.system.host import Host
from gpudoctor.system.trust import phrase
from gpudoctor.system.writable_host import ActFailed, WritableHost


def python_in(env: str, host: Host) -> str:
    """The path of the interpreter in an environment folder."""
    return f"{env}/Scripts/python.exe" if host.platform == "windows" else f"{env}/bin/python"


class Venv:
    name = "venv"
    keys: Mapping[str, type | tuple[type, ...]] = {"python": str, "path": str}
    required: tuple[str, ...] = ()

    def plan(self, given: Settings, look: Look) -> Draft:
        env = str(given.get("path") or look.env)
        specifier = wanted(str(given.get("python") or ">=3.8"), look)
        target = of(look) if env == look.env else at(look.host, env)
        if target.kind == "other":
            raise PlanError(f"{env} is there and is no Python environment; name another folder with --env, or an empty one")
        if target.is_environment:
            if target.managed:
                raise PlanError(f"the Python of {env} belongs to a package manager; name another folder with --env")
            python = python_in(env, look.host)
            why = "" if look.options.get("env_named") else look.host.distrust(python)
            if why:
                raise PlanError(f"{env} is there and is not used, {phrase(python, why)}; to use it: --env {env}, or name another folder")
            if not target.minor or not fits(target.minor, specifier):
                said = f"is of Python {target.minor}" if target.minor else "does not say of which Python it is"
                raise PlanError(f"{env} is there and {said}, not {specifier}; name another folder with --env")
            settings = {"path": env, "python": "", "minor": target.minor, "specifier": specifier}
            return Draft(settings=settings, state=DONE, note=f"{env} (Python {target.minor}) is there and is used")
        choice = choose(specifier, look)
        settings = {"path": env, "python": choice.path, "minor": choice.minor, "uv": uv_path(look), "specifier": specifier}
        changes = [f"makes {env} with Python {choice.minor}" + (f" ({choice.path})" if choice.path else "")]
        if not choice.path:
            changes.append(f"uv downloads Python {choice.minor} into {_fetched(env)}")
        return Draft(settings=settings, changes=tuple(changes), acts=(_command(env, choice),))

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        env = settings["path"]
        _refuse_filled(env, machine)
        return {
            "parents": missing_folders(env, machine.look),
            "empty": machine.look.exists(env),
            "python": machine.look.exists(_fetched(env)),
        }

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        env = settings["path"]
        if kept.read_manifest(env, machine) is not None:
            return
        _refuse_filled(env, machine)
        for folder in before["parents"]:
            machine.make_folder(folder)
        machine.write(_making(env), b"")
        choice = InterpreterChoice(settings["python"], settings["minor"], settings.get("uv", ""))
        command = _command(env, choice)
        variables = {**command.env, **{name: value for name, value in surroundings("", machine.look).items() if name != "TMPDIR"}}
        argv = alone(command.argv, machine.look, command.env) if choice.uv else command.argv
        done = machine.run(argv, env=variables, check=False)
        if done.rc != 0:
            self._delete(settings, before, machine)
            machine.remove(_making(env))
            for folder in reversed(before["parents"]):
                machine.remove_empty_folder(folder)
            failure = explain(done.output) if choice.path else explain_interpreter(done.output, choice.minor)
            raise ActFailed(f"{env} could not be made: {failure.reason}", failure.advice, done.output[-2000:])
        kept.write_manifest(env, machine)
        machine.remove(_making(env))

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Removes an incomplete environment. Without the note beside it (`_making`) the folder is somebody else's."""
        env = settings["path"]
        if kept.read_manifest(env, machine) is None and machine.look.exists(_making(env)):
            self._delete(settings, before, machine)
        machine.remove(_making(env))

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        return {}

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        env = settings["path"]
        target = at(machine.look, env)
        if not target.is_environment:
            return f"{env} is no environment"
        if not machine.look.exists(python_in(env, machine.look)):
            return f"{env} has no interpreter"
        if target.minor and not fits(target.minor, settings["specifier"]):
            return f"{env} is of Python {target.minor}, not {settings['specifier']}"
        return ""

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        env = settings["path"]
        ours = kept.read_manifest(env, machine)
        if machine.look.listdir(env):
            if ours is None and after is None and not machine.look.exists(_making(env)):
                return (f"{env} is kept: it was filled before an environment was made there",)
            if ours is None and after is not None:
                return (f"{env} is kept: the list of what was put into it is gone; rm -r {env} removes it",)
            extra = kept.added(machine.list_tree(env), ours) if ours is not None else []
            if extra:
                return (f"{env} is kept: it holds what came since ({kept.described(extra)}); rm -r {env} removes it",)
        self._delete(settings, before, machine)
        machine.remove(_making(env))
        for folder in reversed(before["parents"]):
            machine.remove_empty_folder(folder)
        return ()

    def _delete(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Cut off in the middle, it leaves nothing that could be taken for an environment of somebody else."""
        env = settings["path"]
        if not before["empty"] and machine.look.exists(env):
            machine.remove_tree(_leaving(env))
            machine.rename(env, _leaving(env))
        elif machine.look.listdir(env):
            # The list goes last: without it nobody could tell what is ours.
            for name in sorted(machine.look.listdir(env), key=lambda name: name == kept.MANIFEST):
                _remove(f"{env}/{name}", machine)
        machine.remove_tree(_leaving(env))
        if not before["python"]:
            machine.remove_tree(_fetched(env))


def _remove(path: str, machine: WritableHost) -> None:
    if machine.look.readlink(path) is None and machine.look.exists(f"{path}/."):
        machine.remove_tree(path)
    else:
        machine.remove(path)


def _refuse_filled(env: str, machine: WritableHost) -> None:
    if machine.look.listdir(env) and kept.read_manifest(env, machine) is None:
        raise ActFailed(f"{env} has been filled since the plan was made", "move that away, or name another folder with --env")


def _making(env: str) -> str:
    """The path of the note beside an environment that is being made: while it exists, the environment may be deleted."""
    return f"{env}.gpudoctor-making"


def _leaving(env: str) -> str:
    return f"{env}.gpudoctor-gone"


def _fetched(env: str) -> str:
    """The folder into which uv downloads an interpreter for this environment alone."""
    return f"{env}.python"


def _command(env: str, choice: InterpreterChoice) -> Command:
    if not choice.uv:
        return Command(argv=(choice.path, "-m", "venv", env))
    if choice.path:
        return Command(argv=(choice.uv, "venv", "--no-cache", "--python", choice.path, env))
    variables = {"UV_PYTHON_INSTALL_DIR": _fetched(env)}
    return Command(argv=(choice.uv, "venv", "--no-cache", "--managed-python", "--python", choice.minor, env), env=variables)


KIND: Kind = Venv()
