"""This machine alone, without a transport."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence

from gpudoctor.model.fleet_row import LARGEST_READ
from gpudoctor.system.engines.asking import FLOODED, Answer, Asked, EngineError, Taker, late, why_none
from gpudoctor.system.portable import short_host_name
from gpudoctor.system.processes import execute


class Local:
    """The engine `local`: one host, which is this one."""

    def hosts(self, given: str, expand: Callable[[str], Sequence[str]]) -> Sequence[str]:
        names = expand(given) if given else [short_host_name()]
        if len(names) != 1:
            raise EngineError(f"--engine local examines this machine alone, and --hosts names {len(names)}; expected one name or none")
        return names

    def ask(self, asked: Asked, take: Taker) -> None:
        (host,) = asked.hosts
        program = shutil.which(asked.command[0])
        if asked.file is not None:
            raise EngineError("--deploy copies to other hosts; with --engine local name the file by --command")
        if program is None:
            raise EngineError(f"{asked.command[0]}: no such program; name one by --command")
        env = {**os.environ, **asked.variables, "GPUDOCTOR_HOST": host}
        ran = execute([*asked.command, *asked.arguments], program, timeout=asked.timeout, limit=LARGEST_READ, env=env, niced=False)
        output = ran.stdout.encode("utf-8", "replace")
        if ran.timed_out:
            take(Answer(host, output, late(asked.timeout)))
        elif ran.truncated:
            take(Answer(host, b"", FLOODED))
        else:
            take(Answer(host, output, why_none(host, ran.rc, output, ran.stderr.encode("utf-8", "replace"))))
