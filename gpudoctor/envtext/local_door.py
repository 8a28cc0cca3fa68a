"""This machine, asked with the standard library alone: files, programs of PATH, and the Python environment that runs this."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gpudoctor.envtext.derived import FRAMEWORKS
from gpudoctor.envtext.inspecting import INSPECT

MARK = "@gpudoctor "
FRAMEWORK_SECONDS = 14.0
QUIET = """TF_CPP_MIN_LOG_LEVEL=1 TF_FORCE_GPU_ALLOW_GROWTH=true XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHONDONTWRITEBYTECODE=1
PYTORCH_NVML_BASED_CUDA_CHECK=1 KERAS_HOME=/dev/null/none"""
_CHILD = "import sys; sys.path[0:1] = []; __file__ = 'gpudoctor'; exec(compile(sys.stdin.read(), 'gpudoctor', 'exec'))"


class Said:
    """What a command, a file or a path answered."""

    def __init__(self, **said: object) -> None:
        self.text = self.problem = self.stdout = self.stderr = ""
        self.rc: Any = None
        self.signal: Any = None
        self.missing = self.timed_out = self.not_recorded = False
        vars(self).update(said)


class LocalDoor:
    """Answers like any other host of gpudoctor; whatever goes wrong is an answer."""

    def __init__(self) -> None:
        systems = {"win32": "windows", "cygwin": "windows", "darwin": "macos"}
        self.platform = systems.get(sys.platform, "linux")
        self.python: Any = {}
        self._said: dict[Any, Said] = {}
        self._hung: Any = set()

    def read(self, path: str) -> Said:
        try:
            if stat.S_ISREG(os.stat(path).st_mode):
                with open(path, "rb") as file:
                    return Said(text=file.read(1_000_000).decode("utf-8", "replace"))
        except (FileNotFoundError, NotADirectoryError):
            return Said(problem="missing")
        except PermissionError:
            return Said(problem="denied")
        except OSError:
            pass
        return Said(problem="io-error")

    def listdir(self, path: str) -> Any:
        try:
            return sorted(os.listdir(path))
        except OSError:
            return []

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def readlink(self, path: str) -> Any:
        try:
            return os.readlink(path)
        except OSError:
            return None

    def mode(self, path: str) -> Any:
        """Permissions of a path, as `ls` shows them."""
        try:
            found = os.stat(path)
        except OSError:
            return None
        owner, group = str(found.st_uid), str(found.st_gid)
        try:
            here: Any = Path(path)
            owner, group = here.owner(), here.group()
        except (KeyError, NotImplementedError):
            pass
        return Said(mode=stat.filemode(found.st_mode), uid=found.st_uid, gid=found.st_gid, owner=owner, group=group)

    def may_open(self, path: str) -> bool:
        return os.access(path, os.R_OK | os.W_OK)

    def env(self, name: str) -> Any:
        return os.environ.get(name)

    def env_names(self, prefix: str) -> Any:
        return sorted(name for name in os.environ if name.startswith(prefix))

    def run(self, argv: Any, timeout: float = 5.0) -> Said:
        """A program that is found in a folder which only its owner and root can change, or the one that was named by its path."""
        if argv[0] in self._hung:
            return Said(timed_out=True)
        said = self._said[argv] = self._said.get(argv) or self._run(argv, timeout)
        if said.timed_out:
            self._hung.add(argv[0])
        return said

    def _run(self, argv: Any, timeout: float, env: Any = os.environ, stdin_text: str = "") -> Said:
        program = argv[0] if os.path.isabs(argv[0]) else shutil.which(argv[0], path=_path_without_here())
        if program is None or not os.path.exists(program):
            return Said(missing=True)
        try:
            child = subprocess.Popen(
                [program, *argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                env={**env, "LC_ALL": "C"}, cwd=os.path.abspath(os.sep),
            )  # fmt: skip
        except OSError as error:
            return Said(**{"missing" if isinstance(error, FileNotFoundError) else "not_recorded": True})
        said = Said()
        out = err = b""
        try:
            out, err = child.communicate(stdin_text.encode(), timeout=timeout)
            said.rc, said.signal = (child.returncode, None) if child.returncode >= 0 else (None, -child.returncode)
        except subprocess.TimeoutExpired:
            _end(child)
            said.timed_out = True
            try:
                out, err = child.communicate(timeout=0.5)
            except (subprocess.TimeoutExpired, ValueError):
                pass
        said.stdout, said.stderr = out[:4_000_000].decode("utf-8", "replace"), err[:100_000].decode("utf-8", "replace")
        return said

    def inspect_python(self, seconds: float) -> None:
        """Fills `python`: what is installed here, and what each framework says of itself in a child."""
        from gpudoctor.envtext.environment_kind import environment

        self.python = environment(self)
        wanted = [name for name in FRAMEWORKS if getattr(find_spec(name), "origin", None)]
        self.python["frameworks"] = found = {name: {"imported": None} for name in wanted}
        self._workers = [threading.Thread(target=self._framework, args=(name, seconds, found), daemon=True) for name in wanted]
        for worker in self._workers:
            worker.start()

    def wait(self, seconds: float) -> None:
        """Until the frameworks are done, or the time is over."""
        end = time.monotonic() + seconds
        for worker in self._workers:
            worker.join(max(0.0, end - time.monotonic()))

    def _framework(self, name: str, seconds: float, into: Any) -> None:
        quiet = dict(each.split("=") for each in QUIET.split())
        environment = {**quiet, **os.environ, "CI": "true", "KERAS_HOME": quiet["KERAS_HOME"]}
        said = self._run([sys.executable, "-X", "utf8", "-c", _CHILD, name], seconds, environment, INSPECT)
        found: Any = {}
        stage = ""
        for line in said.stdout.splitlines():
            if line.startswith(MARK):
                found.update(json.loads(line[len(MARK) :]))
                stage = str(found.pop("stage", ""))
        found["imported"] = bool(found.get("imported"))
        where = f"import {name}" if stage in ("import", "") else f"{name} after its import"
        tail = "\n".join(line.strip()[:300] for line in said.stderr.splitlines() if line.strip() and "Warning" not in line)[-900:]
        kind, label, message = "exception", "exit", f" left with status {said.rc}\n{tail}"
        if said.timed_out:
            kind, label, message = "timeout", "timeout", f": no end after {seconds:.0f} s"
        elif said.signal is not None:
            kind, label = "signal", {each.value: each.name for each in signal.Signals}.get(said.signal, f"signal {said.signal}")
            message = f" died of {label}\n{tail}"
        if kind != "exception" or stage not in ("done", "failed"):
            found["error"] = {"kind": kind, "name": label, "message": f"{where}{message}"}
        into[name] = {key: value for key, value in found.items() if key not in ("machine", "bits", "python", "file")}


def _path_without_here() -> str:
    """PATH without relative folders; for root also without folders that are not root's."""
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    return os.pathsep.join(folder for folder in folders if not hasattr(os, "geteuid") or os.geteuid() or _is_roots(folder))


def _is_roots(folder: str) -> bool:
    try:
        found = os.stat(folder)
    except OSError:
        return False
    return found.st_uid == 0 and not found.st_mode & 0o022


def _end(child: Any) -> None:
    """Ends a child with all that it started; on Windows the child alone."""
    if sys.platform != "win32":
        try:
            return os.killpg(child.pid, signal.SIGKILL)
        except OSError:
            pass
    child.kill()
