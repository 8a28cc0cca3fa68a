"""Changes the live machine. system/writable_host.py documents what each method promises."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from gpudoctor.system import safe_files
from gpudoctor.system.children import Child, end, living, wait_for, wait_for_lock
from gpudoctor.system.downloading import PART, download, fetch
from gpudoctor.system.host import Host
from gpudoctor.system.local_host import LocalHost, find_program
from gpudoctor.system.portable import WINDOWS, is_root
from gpudoctor.system.run_log import RunLog, complaint, shown_lines
from gpudoctor.system.snapshots import Trees
from gpudoctor.system.sudo import command as as_root
from gpudoctor.system.writable_host import ActFailed, Done, NeedsRoot

__all__ = ["ActingHost", "end", "living", "wait_for", "wait_for_lock"]

OUTPUT = 64 * 1024
"""The last bytes of output that a caller gets; the log holds all."""
ANSWER = 64 * 1024 * 1024
"""The most bytes of the answer to a query (`ask`)."""
LONGEST_FINISH = 7200.0
"""The smallest time limit, in seconds, of a process that must finish."""
BY_HAND = "by-hand"
"""The folder in the state folder with new content of files that a person with root must put in place."""
_ROOT_FOLDER = os.path.abspath(os.sep)
_SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
_LEADS_ASTRAY = frozenset(
    "LANGUAGE PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONUSERBASE VIRTUAL_ENV PIP_TARGET PIP_PREFIX PIP_ROOT PIP_USER PIP_PYTHON".split()
)
"""Variables of the person that would make a child work in another place than that of the plan."""


class ActingHost(Trees):
    """Changes this machine, one act after the other. It must be used by one thread only."""

    def __init__(
        self,
        look: Host,
        *,
        log: Path,
        offline: bool = False,
        progress: Callable[[str], None] | None = None,
        on_child: Callable[[int, int, bool, Sequence[str]], None] | None = None,
        on_child_end: Callable[[int], None] | None = None,
        sudo: str | None = None,
    ) -> None:
        """`on_child` is called with number, start time in clock ticks, finish and argv while a child waits behind its gate, `on_child_end`
        once it is reaped. `sudo`: its path; None for the one on PATH; '' for none."""
        self.is_root = is_root()
        self.offline = offline
        self._look, self._log, self._folder = look, RunLog(log), log.parent
        self._progress, self._on_child, self._on_child_end = progress, on_child, on_child_end
        self._sudo = (find_program("sudo", os.environ.get("PATH", os.defpath)) or "") if sudo is None else sudo
        self._unfinished = safe_files.Unfinished(log.parent)
        self._tidied = False
        self._refused = ""  # the reason why this process cannot become root; empty until one is known

    @property
    def look(self) -> Host:
        if not isinstance(self._look, LocalHost):
            return self._look
        fresh = LocalHost(budget=float("inf"))  # a new host each time, since a host remembers the answers of commands
        fresh.target_python = self._look.target_python
        return fresh

    def say(self, text: str) -> None:
        if self._progress is not None:
            self._progress(text)

    # processes

    def run(
        self,
        argv: Sequence[str],
        *,
        root: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        check: bool = True,
        finish: bool = False,
        advice: str = "",
        limit: float = 7200.0,
    ) -> Done:
        self._tidy()
        with self._log.entry(argv) as log:
            begin = os.fstat(log).st_size
            rc = self._run(argv, root, env, cwd, finish, limit, log, log, begin)
            output = self._log.tail(begin, OUTPUT)
        if check and rc != 0:
            lines = shown_lines(output)
            why = complaint(lines)
            reason = f"{os.path.basename(argv[0])} {_ending(rc)}" + (f": {why}" if why else "")
            raise ActFailed(reason, advice, "\n".join(lines[-20:]))
        return Done(rc, output)

    def ask(self, argv: Sequence[str], *, root: bool = False, env: Mapping[str, str] | None = None, limit: float = 120.0) -> Done:
        rc, answer = self._ask(argv, root, env, limit)
        return Done(rc, answer.decode("utf-8", "replace"))

    def _ask(self, argv: Sequence[str], root: bool, env: Mapping[str, str] | None, limit: float) -> tuple[int, bytes]:
        with self._log.entry(argv) as log, tempfile.TemporaryFile(dir=self._folder) as answer:
            rc = self._run(argv, root, env, None, False, limit, answer.fileno(), log, None)
            answer.seek(0)
            return rc, answer.read(ANSWER)

    def _run(
        self,
        argv: Sequence[str],
        root: bool,
        env: Mapping[str, str] | None,
        cwd: str | None,
        finish: bool,
        limit: float,
        output: int,
        errors: int,
        begin: int | None,
    ) -> int:
        """Runs a command. `begin`: the position in the log at which its output begins; None for a query, which is not journaled."""
        words, environment = self._command(argv, root, dict(env or {}))
        program = find_program(words[0], environment["PATH"])
        if program is None:
            os.write(errors, f"{words[0]}: not found on PATH\n".encode("utf-8", "replace"))
            return 127
        if finish:
            limit = max(limit, LONGEST_FINISH)
        try:
            child = Child(words, program, env=environment, cwd=cwd or _ROOT_FOLDER, output=output, errors=errors)
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            raise ActFailed(f"{argv[0]} cannot be started: {error.strerror or error}{where}") from None
        announced, late = False, False
        try:
            if begin is not None and self._on_child is not None:
                announced = True
                self._on_child(child.pid, child.start, finish, tuple(argv))
            child.release()
            late = not self._follow(child, limit, begin)
            if late:
                child.end(self._sudo)
        except BaseException:
            self._see_off(child, finish, os.path.basename(argv[0]))
            raise
        finally:
            rc = child.reap()
            if announced and self._on_child_end is not None:
                self._on_child_end(child.pid)
        if late:
            raise ActFailed(f"{os.path.basename(argv[0])} took longer than {_span(limit)} and was ended", "look at the log, then try again")
        return rc

    def _follow(self, child: Child, limit: float, begin: int | None) -> bool:
        """Waits for a child; returns whether it ended within `limit` seconds."""
        until, pause, shown, last = time.monotonic() + limit, 0.005, 0.0, ""
        while not child.has_ended():
            now = time.monotonic()
            if now >= until:
                return False
            if begin is not None and self._progress is not None and now - shown >= 0.1:
                shown = now
                line = self._log.last_line(begin)
                if line and line != last:
                    last = line
                    self._progress(line)
            time.sleep(min(pause, until - now))
            pause = min(pause * 1.5, 0.1)
        return True

    def _see_off(self, child: Child, finish: bool, name: str) -> None:
        """After an interruption: waits for a child that must finish, through further interruptions, and ends any other."""
        child.shut()
        if not finish:
            try:
                child.end(self._sudo)
            except KeyboardInterrupt:
                child.end(self._sudo, grace=0.0)
            return
        while not child.has_ended():
            try:
                self.say(f"{name} must not be stopped in the middle: waiting for it to end")
                time.sleep(0.5)
            except KeyboardInterrupt:
                continue

    def _command(self, argv: Sequence[str], root: bool, given: dict[str, str]) -> tuple[list[str], dict[str, str]]:
        """(words, environment) of the process that is really started. Raises NeedsRoot."""
        environment = {name: value for name, value in os.environ.items() if name not in _LEADS_ASTRAY}
        environment["LC_ALL"] = "C"
        path = environment.get("PATH", os.defpath).split(os.pathsep)
        environment["PATH"] = os.pathsep.join(path + ([folder for folder in _SBIN if folder not in path] if not WINDOWS else []))
        if not root or self.is_root:
            return list(argv), {**environment, **given}
        if self._refused:
            raise NeedsRoot([argv], self._refused)
        try:
            return as_root(self._sudo, argv, given, self.say), environment
        except NeedsRoot as refused:
            self._refused = refused.why  # the person is not asked for a password again
            raise

    # files

    def read(self, path: str, *, root: bool = False) -> bytes | None:
        self._tidy()
        try:
            return safe_files.read(path)
        except PermissionError as error:
            if not root or self.is_root:
                raise _failed(path, "read", error) from None
        except OSError as error:
            raise _failed(path, "read", error) from None
        try:
            rc, content = self._ask(["cat", "--", path], True, None, 120.0)
        except NeedsRoot as refused:
            advice = f"let an administrator make it readable for you (chmod a+r {path}, if it holds no secret), then try again"
            raise ActFailed(f"only root may read {path}, and {refused.why}", advice) from None
        if rc == 0:
            return content
        if self._ask(["test", "-e", path], True, None, 120.0)[0] == 1:
            return None
        raise ActFailed(f"{path} cannot be read, not even as root")

    def write(self, path: str, content: bytes, *, mode: int | None = None, root: bool = False, owner: str | None = None) -> None:
        """Without `mode` and `owner`, those of an existing file stay; a new one gets 0o644."""
        self._tidy()
        with _telling(path, "written"):
            path = safe_files.goal(path)
            with self._unfinished.noted(safe_files.beside(path)):
                if root and not self.is_root:
                    self._write_as_root(path, content, mode, owner)
                else:
                    safe_files.write(path, content, mode, owner)

    def _write_as_root(self, path: str, content: bytes, mode: int | None, owner: str | None) -> None:
        try:
            rc, answer = self._ask(["stat", "-L", "-c", "%a %u:%g", "--", path], True, None, 120.0)
        except NeedsRoot as refused:
            self._leave_to_person(path, content, mode, owner, refused)
            return
        was = answer.decode("ascii", "replace").split() if rc == 0 else ["644", "0:0"]
        user, _, group = (owner or was[1]).partition(":")
        bits = was[0] if mode is None else f"{mode:o}"
        with tempfile.NamedTemporaryFile(dir=self._folder) as staged:
            staged.write(content)
            staged.flush()
            new = safe_files.beside(path)
            grouping = ["-g", group] if group else []
            try:
                self._do_as_root(["install", "-T", "-m", bits, "-o", user, *grouping, "--", staged.name, new], path)
                self._do_as_root(["sync", "--", new], path)
                self._do_as_root(["mv", "-T", "-f", "--", new, path], path)
            except ActFailed:
                with contextlib.suppress(ActFailed):
                    self._do_as_root(["rm", "-f", "--", new], new)
                raise

    def _leave_to_person(self, path: str, content: bytes, mode: int | None, owner: str | None, refused: NeedsRoot) -> None:
        """Raises NeedsRoot with the commands for a person, whose content lies ready in BY_HAND; does nothing where a person has done it
        already."""
        found = safe_files.facts(path)
        bits, owned = mode if mode is not None else found.mode if found else 0o644, owner or (found.owner if found else "0:0")
        ready = self._folder / BY_HAND / f"{hashlib.sha256(path.encode() + content).hexdigest()[:8]}-{os.path.basename(path)}"
        if found and found.mode == bits and owned in (found.owner, found.names) and safe_files.holds(path, content):
            ready.unlink(missing_ok=True)
            return
        ready.parent.mkdir(mode=0o700, exist_ok=True)
        safe_files.write(str(ready), content, 0o600, None)
        user, _, group = owned.partition(":")
        argv = ["install", "-T", "-m", f"{bits:o}", "-o", user, *(["-g", group] if group else []), "--", str(ready), path]
        refused.commands = (tuple(argv),)
        raise refused

    def _do_as_root(self, argv: Sequence[str], path: str) -> None:
        begin = self._log.size()
        if self._ask(argv, True, None, 120.0)[0] != 0:
            said = [line for line in shown_lines(self._log.tail(begin, 4096)) if not line.startswith("# ")]
            raise ActFailed(f"{path}: {said[-1] if said else f'{argv[0]} failed'}")

    def remove(self, path: str, *, root: bool = False) -> None:
        self._tidy()
        if root and not self.is_root:
            if not safe_files.is_gone(path):
                self._do_as_root(["rm", "-f", "--", path], path)
            return
        with _telling(path, "removed"):
            safe_files.remove(path)
            safe_files.remove(path + PART)

    def make_folder(self, path: str, *, mode: int = 0o755, root: bool = False) -> None:
        if root and not self.is_root:
            if not os.path.isdir(path):
                self._do_as_root(["mkdir", "-m", f"{mode:o}", "--", path], path)
            return
        with _telling(path, "made"):
            safe_files.make_folder(path, mode)

    def remove_empty_folder(self, path: str, *, root: bool = False) -> bool:
        if root and not self.is_root:
            if safe_files.is_gone(path):
                return True
            self._ask(["rmdir", "--", path], True, None, 120.0)
            return self._ask(["test", "-e", path], True, None, 120.0)[0] == 1
        with _telling(path, "removed"):
            return safe_files.remove_empty_folder(path)

    def remove_tree(self, path: str) -> None:
        with _telling(path, "removed"):
            safe_files.remove_tree(path)

    def rename(self, source: str, target: str) -> None:
        with _telling(source, "renamed"):
            os.replace(source, target)
            safe_files.sync_folder(target)

    def _tidy(self) -> None:
        """Removes what a killed gpudoctor left half-written, before anything else is done."""
        if self._tidied:
            return
        self._tidied = True
        with contextlib.suppress(OSError):
            safe_files.remove_tree(str(self._folder / BY_HAND))  # the file is in its place, or will be prepared again
        left = self._unfinished.left()
        try:
            if left is not None:
                safe_files.remove(left)
        except OSError:
            try:
                self._do_as_root(["rm", "-f", "--", str(left)], str(left))
            except ActFailed:
                return
        self._unfinished.forget()

    # network

    def fetch(self, url: str, *, limit: int = 5_000_000_000) -> bytes:
        return fetch(url, offline=self.offline, limit=limit)

    def download(self, url: str, path: str, *, sha256: str, size: int | None = None) -> None:
        with _telling(path, "written"):
            download(url, path, offline=self.offline, sha256=sha256, size=size, say=self.say)


def _failed(path: str, what: str, error: OSError) -> ActFailed:
    return ActFailed(f"{path} cannot be {what}: {error.strerror or error}")


@contextlib.contextmanager
def _telling(path: str, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _failed(path, what, error) from None


def _ending(rc: int) -> str:
    return f"died of signal {-rc}" if rc < 0 else f"ended with status {rc}"


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:g} s"
