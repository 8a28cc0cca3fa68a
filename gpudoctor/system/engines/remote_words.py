"""The command lines that run on a host: arguments, and three constant scripts for a file that is brought along."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Sequence

from gpudoctor.system.engines.asking import Asked

FILE = "gpudoctor.pyz"
MAKE = 'umask 077 && mkdir -- "$1"'
"""mkdir fails where the name exists, so that nobody can have laid the folder out before."""
RUN = """
folder=$1 wanted=$2; shift 2
trap 'rm -rf -- "$folder"' EXIT
trap 'exit 129' HUP INT TERM
found=$(sha256sum < "$folder/gpudoctor.pyz") || exit 97
if [ "${found%% *}" != "$wanted" ]; then echo "the copy of gpudoctor.pyz is damaged: its checksum differs" >&2; exit 97; fi
PEX_ROOT=$folder/unpacked
export PEX_ROOT
chmod 700 "$folder/gpudoctor.pyz"
env "$@"
"""
"""The zipapp unpacks itself below the folder too, so that the end of the script leaves nothing."""
NAMED = 'GPUDOCTOR_HOST=$SLURMD_NODENAME exec env "$@"'
"""Of srun, which gives all nodes the same arguments."""


def assignments(asked: Asked, host: str = "") -> list[str]:
    """`NAME=VALUE` for env."""
    given = {**asked.variables, "GPUDOCTOR_HOST": host} if host else dict(asked.variables)
    return [f"{name}={value}" for name, value in given.items()]


def plain(asked: Asked, host: str) -> str:
    """One line for the shell of ssh: the command with its variables."""
    return shlex.join(["env", *assignments(asked, host), *asked.command, *asked.arguments])


def new_folder() -> str:
    """The name of a folder on the hosts that does not exist there yet."""
    return f"/tmp/gpudoctor-{secrets.token_hex(12)}"


def make(folder: str) -> list[str]:
    return ["sh", "-c", MAKE, "sh", folder]


def run_file(asked: Asked, folder: str, host: str = "") -> list[str]:
    """Compares the checksum, runs the file and removes the folder."""
    return ["sh", "-c", RUN, "sh", folder, asked.checksum, *assignments(asked, host), f"{folder}/{FILE}", *asked.arguments]


def remove(folder: str) -> list[str]:
    return ["rm", "-rf", "--", folder]


def as_line(words: Sequence[str]) -> str:
    return shlex.join(words)
