"""A POSIX shell at the other end of a pipe that answers for files: one process for all questions, and nothing is installed there.

Each question is a call of a function that the shell defined at the start; each answer ends with a line that holds a random word of this
session, so that no content of a file can be taken for an end. The other side needs sh, cat, head, ls, readlink and stat (GNU or busybox).
"""

from __future__ import annotations

import os
import secrets
import selectors
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence

from gpudoctor.system.host import DoorError

FUNCTIONS = r"""
LC_ALL=C; export LC_ALL; unset LANGUAGE; cd / || exit 1
W() { P=$1; while [ -n "$P" ]; do case $P in */*) P=${P%/*};; *) P=;; esac
  if [ -d "${P:-/}" ]; then [ -x "${P:-/}" ] && return 1; return 0; fi; done; return 1; }
H() { printf '\n%s %s\n' "$N" "$1"; }
R() { H r; if [ -f "$1" ]; then if [ -r "$1" ]; then echo ok; head -c "$2" "$1" 2>/dev/null; else echo denied; fi
  elif [ -e "$1" ]; then echo io-error; elif W "$1"; then echo denied; else echo missing; fi; }
S() { H s; if [ -e "$1" ] || [ -L "$1" ]; then stat -L -c '%A %u %g %U %G %s' "$1" 2>/dev/null || echo gone
  if [ -r "$1" ] && [ -w "$1" ]; then echo rw; else echo no; fi; elif W "$1"; then echo denied; else echo missing; fi; }
L() { H l; stat -c '%f %u' "$1" 2>/dev/null; }
D() { H d; ls -1A "$1/" 2>/dev/null; }
T() { H t; readlink "$1" 2>/dev/null; }
C() { H c; command -v "$1" >/dev/null 2>&1 && echo yes; }
F() { H f; readlink -f "$1" 2>/dev/null; }
"""


_LONGEST = 128 << 20
"""The most bytes of one answer: no file that a probe reads is longer."""


class Lost(Exception):
    """Raised where the shell ended or did not answer in time."""


class ShellSession:
    """A session with the shell that `argv` starts. Several threads may use it; they ask one after the other."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], *, patience: float) -> None:
        self._word = secrets.token_hex(16)
        self._patience = patience
        self._lock = threading.Lock()
        self._rest = bytearray()
        self.error = bytearray()
        self.lost = ""
        try:
            self._process = subprocess.Popen(
                list(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, env=dict(env),
                start_new_session=os.name != "nt",
            )  # fmt: skip
        except OSError as error:
            raise DoorError(f"{argv[0]} cannot be started: {error.strerror or error}") from None
        assert self._process.stdout is not None and self._process.stderr is not None
        self._selector = selectors.DefaultSelector()
        for stream, name in ((self._process.stdout, "out"), (self._process.stderr, "error")):
            if sys.platform != "win32":  # on Windows, hosts behind a shell are refused
                os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, name)

    def begin(self) -> None:
        """Starts the shell and defines the functions. Raises Lost where nothing answers."""
        self._write(f"N={self._word}\n{FUNCTIONS}")
        self.ask("H ready\n", self._patience)

    def ask(self, script: str, seconds: float = 10.0) -> list[tuple[str, bytes]]:
        """(kind, content) of each answer to the calls in `script`. Raises Lost."""
        with self._lock:
            if self.lost:
                raise Lost(self.lost)
            try:
                self._write(f"{script}\nH end\n")
                return self._answers(time.monotonic() + seconds)
            except Lost as error:
                self.lost = str(error)
                raise

    def _write(self, text: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text.encode("utf-8", "surrogateescape"))
        except (OSError, ValueError):
            self._drain(0.5)
            raise Lost("the connection ended") from None

    def _answers(self, deadline: float) -> list[tuple[str, bytes]]:
        end = f"\n{self._word} end\n".encode()
        searched = 0
        while (at := self._rest.find(end, max(0, searched - len(end)))) < 0:
            searched = len(self._rest)
            left = deadline - time.monotonic()
            if left <= 0:
                raise Lost("it does not answer any more")
            if not self._fill(left):
                raise Lost("the connection ended")
            if len(self._rest) > _LONGEST:
                raise Lost("it answers without end")
        whole = bytes(self._rest[:at])
        del self._rest[: at + len(end)]
        found = []
        for part in whole.split(f"\n{self._word} ".encode())[1:]:
            kind, _, content = part.partition(b"\n")
            found.append((kind.decode("ascii", "replace"), content))
        return found

    def _fill(self, seconds: float) -> bool:
        """Reads what has arrived; returns False where the other end has closed."""
        for key, _ in self._selector.select(seconds):
            try:
                data = os.read(key.fd, 1 << 18)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if key.data == "error":
                self.error += data[: max(0, 20_000 - len(self.error))]
                if not data:
                    self._selector.unregister(key.fileobj)
            elif not data:
                self._drain(0.5)
                return False
            else:
                self._rest += data
        return True

    def _drain(self, seconds: float) -> None:
        """Reads the last errors of a shell that ends."""
        end = time.monotonic() + seconds
        error = self._process.stderr
        while error is not None and time.monotonic() < end:
            try:
                data = os.read(error.fileno(), 20_000)
            except BlockingIOError:
                time.sleep(0.02)
                continue
            except (OSError, ValueError):
                return
            if not data:
                return
            self.error += data

    def said(self) -> str:
        """What the shell printed on standard error, in one line."""
        lines = [line.strip() for line in self.error.decode("utf-8", "replace").splitlines() if line.strip()]
        return "; ".join("".join(letter for letter in line if letter.isprintable())[:200] for line in lines[-3:])

    def close(self) -> None:
        """Ends the shell by the end of its input, and kills it where it has not ended after a second."""
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None and not stream.closed:
                try:
                    stream.close()
                except OSError:
                    pass
        self._selector.close()
        try:
            self._process.wait(0.3)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            try:
                self._process.wait(0.3)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(0.3)


def call(function: str, *words: str) -> str:
    return " ".join([function, *(shlex.quote(word) for word in words)])
