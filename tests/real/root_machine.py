"""system.writable_host.Machine over a DebianRoot, with a way to be killed in the middle of a command.

machine = RootMachine(root)
machine.kill_when = lambda: root.here("/tmp/begun").exists()   # then everything in the root is killed, and Killed is raised
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from debian_root import DebianRoot

from gpudoctor.system.host import Ran, Text
from gpudoctor.system.writable_host import ActFailed, Done


class Killed(BaseException):
    """The doctor and all its children are gone; a test goes on with a new machine."""


class RootHost:
    """The reads of system.host.Host that kinds use, of a root."""

    origin, platform, complete, quick, target_python = "live", "linux", True, False, None

    def __init__(self, root: DebianRoot) -> None:
        self.root = root

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        try:
            return Text(self.root.read(path)[:limit])
        except OSError:
            return Text(problem="missing")

    def exists(self, path: str) -> bool:
        return os.path.lexists(self.root.here(path))

    def listdir(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(self.root.here(path)))
        except OSError:
            return []

    def distrust(self, path: str, *, lies_here: bool = False) -> str:
        return ""

    def run(self, argv: Sequence[str], *, timeout: float = 5.0, limit: int = 4_000_000) -> Ran:
        done = self.root.run(argv, check=False)
        return Ran(tuple(argv), rc=done.returncode, stdout=done.stdout)


class RootMachine:
    is_root = True

    def __init__(self, root: DebianRoot, *, offline: bool = False) -> None:
        self.root, self.offline = root, offline
        self.look = RootHost(root)
        self.kill_when: Callable[[], bool] | None = None
        self.kill_before: Callable[[Sequence[str]], bool] | None = None
        """Looked at before each command that acts: true kills there."""
        self.ran: list[tuple[str, ...]] = []
        """Every command that acts."""

    def run(
        self, argv: Sequence[str], *, root: bool = False, env: Mapping[str, str] | None = None, cwd: str | None = None, check: bool = True,
        finish: bool = False, advice: str = "", limit: float = 7200.0,
    ) -> Done:  # fmt: skip
        if self.kill_before is not None and self.kill_before(argv):
            raise Killed
        self.ran.append(tuple(argv))
        log = self.root.path.parent / "log"
        begin = log.stat().st_size if log.exists() else 0
        process = self.root.start(argv, env=env, log=log)
        while process.poll() is None:
            if self.kill_when is not None and self.kill_when():
                self.root.kill_all()
                process.wait()
                raise Killed
            time.sleep(0.005)
        output = log.read_bytes()[begin:].decode("utf-8", "replace")
        if check and process.returncode:
            raise ActFailed(f"{argv[0]} ended with status {process.returncode}", advice, output[-2000:])
        return Done(process.returncode, output)

    def ask(self, argv: Sequence[str], *, root: bool = False, env: Mapping[str, str] | None = None, limit: float = 120.0) -> Done:
        process = subprocess.run(self.root._entered(argv, env, "/"), stdin=subprocess.DEVNULL, capture_output=True)
        return Done(process.returncode, process.stdout.decode("utf-8", "replace"))

    def read(self, path: str, *, root: bool = False) -> bytes | None:
        try:
            return self.root.here(path).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, path: str, content: bytes, *, mode: int | None = 0o644, root: bool = False, owner: str | None = None) -> None:
        if self.kill_before is not None and self.kill_before(("write", path)):
            raise Killed
        target = self.root.here(path)
        new = target.with_name(target.name + ".new")
        new.write_bytes(content)
        new.chmod(mode or 0o644)
        new.rename(target)

    def make_folder(self, path: str, *, mode: int = 0o755, root: bool = False) -> None:
        self.root.here(path).mkdir(mode=mode, exist_ok=True)

    def remove(self, path: str, *, root: bool = False) -> None:
        self.root.here(path).unlink(missing_ok=True)

    def remove_empty_folder(self, path: str, *, root: bool = False) -> bool:
        try:
            self.root.here(path).rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def remove_tree(self, path: str) -> None:
        raise NotImplementedError

    def rename(self, source: str, target: str) -> None:
        self.root.here(source).rename(self.root.here(target))

    def fetch(self, url: str, *, limit: int = 5_000_000_000) -> bytes:
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                content: bytes = answer.read()
                return content
        except OSError as error:
            raise ActFailed(f"{url} cannot be fetched: {error}") from None

    def download(self, url: str, path: str, *, sha256: str, size: int | None = None) -> None:
        content = self.fetch(url)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise ActFailed("wrong checksum")
        Path(self.root.here(path)).write_bytes(content)

    def say(self, text: str) -> None: ...
