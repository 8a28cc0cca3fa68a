"""The script that runs one program on another system, and the result that its end stands for."""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from gpudoctor.system.host import Ran


def script(argv: Sequence[str], word: str, *, seconds: float, env: Mapping[str, str], stdin_text: str, own_cache: bool) -> str:
    """The script for the standard input of `sh`. It limits the time of the program, so that this ends even where the connection breaks.

    `word`: the beginning of the last line of standard error. `own_cache`: gives PoCL a temporary folder for the cache that it would make
    in the home folder.
    """
    program = shlex.join(argv)
    lines = ["cd / || exit 1", "LC_ALL=C; export LC_ALL; unset LANGUAGE"]
    lines += [f"{name}={shlex.quote(value)}; export {name}" for name, value in env.items() if re.fullmatch(r"[A-Za-z_]\w*", name)]
    if own_cache:
        lines += ["G=$(mktemp -d) || exit 1; trap 'rm -rf \"$G\"' EXIT; trap exit HUP INT TERM", "POCL_CACHE_DIR=$G; export POCL_CACHE_DIR"]
    lines += [
        f"if ! command -v {shlex.quote(argv[0])} >/dev/null 2>&1; then printf '\\n%s missing\\n' {word} >&2; exit 0; fi",
        "T=; command -v timeout >/dev/null 2>&1 && T=" + shlex.quote(f"timeout -k 1 {max(1, round(seconds + 0.5))}"),
    ]
    if stdin_text:
        end = f"END-{secrets.token_hex(8)}"
        text = stdin_text if stdin_text.endswith("\n") else f"{stdin_text}\n"
        lines += [f"$T {program} <<'{end}'", f"{text}{end}"]
    else:
        lines.append(f"$T {program} </dev/null")
    lines.append(f"C=$?; printf '\\n%s %s\\n' {word} $C >&2; exit 0")
    return "\n".join(lines) + "\n"


def finished(ran: Ran, argv: Sequence[str], word: str, seconds: float) -> Ran:
    """The result of the program, from the result of the script."""
    said, mark, last = ran.stderr.rpartition(f"\n{word} ")
    ran = replace(ran, argv=tuple(argv), rc=None, signal=None)
    if not mark:
        if ran.timed_out or ran.truncated:
            return ran
        return replace(ran, not_recorded=True, not_run="the connection ended")
    code = last.strip()
    if code == "missing":
        return Ran(tuple(argv), missing=True)
    number = int(code) if code.isdigit() else 1
    if number in (124, 137) and ran.seconds >= seconds:
        return replace(ran, stderr=said, timed_out=True)
    if 128 < number < 160:
        return replace(ran, stderr=said, signal=number - 128)
    return replace(ran, stderr=said, rc=number, timed_out=False)
