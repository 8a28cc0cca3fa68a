"""Runs one command at a time as root. sudo itself asks for the password, at the terminal, before anything runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from gpudoctor.system.children import CHILD
from gpudoctor.system.local_host import find_program
from gpudoctor.system.run_log import shown_lines
from gpudoctor.system.writable_host import NeedsRoot

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The folders in which programs for root are searched: never those of a person."""
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")


def command(sudo: str, argv: Sequence[str], given: Mapping[str, str], say: Callable[[str], None]) -> list[str]:
    """The words that run `argv` as root with the variables `given` and those of proxies, since sudo drops all others. Raises NeedsRoot."""
    _be_ready(sudo, [*(["env", *(f"{name}={value}" for name, value in given.items())] if given else []), *argv], say)
    variables = {name: value for name, value in os.environ.items() if name.lower() in _PROXIES}
    variables |= {"LC_ALL": "C", "PATH": PATH, **given}
    program = find_program(argv[0], PATH) or argv[0]
    return [sudo, "-n", "--", "env", f"{CHILD}=", *(f"{name}={value}" for name, value in variables.items()), program, *argv[1:]]


def _be_ready(sudo: str, by_hand: list[str], say: Callable[[str], None]) -> None:
    """Makes sure that sudo runs commands without asking again. Raises NeedsRoot with the command `by_hand` where it does not."""
    if not sudo:
        raise NeedsRoot([by_hand])
    if not _refusal(sudo):
        return
    if not _has_terminal():
        raise NeedsRoot([by_hand], "sudo asks for a password, and there is no terminal to ask at")
    say("sudo asks for your password")
    if subprocess.run([sudo, "-v"], check=False).returncode != 0:
        raise NeedsRoot([by_hand], "sudo did not accept you")
    why = _refusal(sudo)
    if why:
        raise NeedsRoot([by_hand], f"with your password, too, sudo refuses ({why})")


def _refusal(sudo: str) -> str:
    """'' where sudo runs commands without asking, else why not."""
    quiet = subprocess.DEVNULL
    try:
        done = subprocess.run([sudo, "-n", "true"], stdin=quiet, stdout=quiet, stderr=subprocess.PIPE, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    return next(reversed(shown_lines(done.stderr.decode("utf-8", "replace"))), f"status {done.returncode}")


def _has_terminal() -> bool:
    if sys.platform == "win32":
        return False
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return False
    return True
