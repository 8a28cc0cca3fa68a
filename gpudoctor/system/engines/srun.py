"""Hosts of the user's own allocation of Slurm, by one step of srun."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence

from gpudoctor.model.fleet_row import LARGEST_READ
from gpudoctor.system.engines import remote_words
from gpudoctor.system.engines.asking import FLOODED, MOST_ERRORS, Answer, Asked, EngineError, Taker, last_row, late, one_line, why_none
from gpudoctor.system.processes import Guard, execute

MOST_OUTPUT = 2 * LARGEST_READ
"""Bytes of all output, for each host: srun puts a label before each piece of a line."""
_LABELLED = re.compile(r" *(\d{1,7}): ?(.*)", re.DOTALL)
_ENDED = re.compile(r"srun: error: (\S+): tasks? ([0-9,-]{1,200}): (.{1,160})")


class Srun:
    """The engine `srun`."""

    def __init__(self) -> None:
        program = shutil.which("srun")
        if program is None:
            raise EngineError("--engine srun: there is no program srun on this machine; run it where Slurm's commands are")
        if not os.environ.get("SLURM_JOB_ID"):
            raise EngineError("--engine srun works inside an allocation of yours; begin one: salloc --nodes N gpudoctor fleet run")
        self.program = program
        self.step = ("srun", "--overlap", "--kill-on-bad-exit=0", "--wait=0", "--input=none", "--ntasks-per-node=1")

    def hosts(self, given: str, expand: Callable[[str], Sequence[str]]) -> Sequence[str]:
        """In the order of the allocation, which is that of the numbers of the tasks."""
        text = os.environ.get("SLURM_JOB_NODELIST") or os.environ.get("SLURM_NODELIST") or ""
        allocated = list(expand(text))
        if not allocated:
            raise EngineError("--engine srun: SLURM_JOB_NODELIST names no node; run it inside an allocation")
        wanted = set(expand(given)) if given else set(allocated)
        if strange := sorted(wanted - set(allocated)):
            raise EngineError(f"--hosts: {strange[0]} is not in the allocation of job {os.environ['SLURM_JOB_ID'][:20]} ({text[:100]})")
        return [host for host in allocated if host in wanted]

    def ask(self, asked: Asked, take: Taker) -> None:
        folder = ""
        if asked.file is not None:
            folder = self._copied(asked)
            words = [*remote_words.run_file(asked, folder)]
        else:
            words = ["env", *remote_words.assignments(asked), *asked.command, *asked.arguments]
        try:
            self._run(asked, ["sh", "-c", remote_words.NAMED, "sh", *words], take)
        finally:
            if folder:
                self._quietly(asked, remote_words.remove(folder))

    def _run(self, asked: Asked, words: Sequence[str], take: Taker) -> None:
        lines = _Lines(asked.hosts)
        began, answered = time.monotonic(), set[str]()

        def on_line(line: str) -> None:
            host = lines.add(line)
            row = lines.row(host) if host and host not in answered else None
            if host and row is not None:
                answered.add(host)
                take(Answer(host, row))

        argv = [*self._for(asked), "--label", "--unbuffered", *words]
        limit = MOST_OUTPUT * len(asked.hosts)
        ran = execute(argv, self.program, timeout=asked.timeout, limit=limit, env=os.environ, niced=False, guard=Guard(on_line=on_line))
        over = ran.timed_out or time.monotonic() - began >= asked.timeout
        reasons = lines.reasons(ran.stderr)
        whole = one_line(ran.stderr)
        for host in asked.hosts:
            if host in answered:
                continue
            output = lines.output(host)
            row = lines.row(host)
            status, said = reasons.get(host, (None, ""))
            if row is not None:
                why = ""
            elif lines.flooded(host) or ran.truncated:
                why = FLOODED
            elif said or not over:
                own = lines.errors(host, ran.stderr)
                why = why_none(host, status, output, (own or said or whole).encode("utf-8", "replace"))
            else:
                why = late(asked.timeout) + ("; what it sent is no row" if output.strip() else "")
            take(Answer(host, row or output, why))

    def _for(self, asked: Asked) -> list[str]:
        return [*self.step, f"--nodes={len(asked.hosts)}", f"--ntasks={len(asked.hosts)}", f"--nodelist={','.join(asked.hosts)}"]

    def _copied(self, asked: Asked) -> str:
        """Copies the file into a private folder of all hosts, by Slurm's own broadcast, and returns the folder."""
        sbcast = shutil.which("sbcast")
        if sbcast is None:
            raise EngineError("--deploy with srun needs sbcast, which is not on this machine")
        folder = remote_words.new_folder()
        made = execute(
            [*self._for(asked), *remote_words.make(folder)], self.program, timeout=60.0, limit=65536, env=os.environ, niced=False
        )
        if made.rc != 0:
            raise EngineError(f"--deploy: no folder could be made on every host: {one_line(made.stderr) or 'srun failed'}")
        argv = ["sbcast", "--force", str(asked.file), f"{folder}/{remote_words.FILE}"]
        copied = execute(argv, sbcast, timeout=max(60.0, asked.timeout), limit=65536, env=os.environ, niced=False)
        if copied.rc != 0:
            self._quietly(asked, remote_words.remove(folder))
            raise EngineError(f"--deploy: sbcast could not copy the file: {one_line(copied.stderr) or 'it failed'}")
        return folder

    def _quietly(self, asked: Asked, words: Sequence[str]) -> None:
        with contextlib.suppress(OSError):
            execute([*self._for(asked), *words], self.program, timeout=30.0, limit=65536, env=os.environ, niced=False)


class _Lines:
    """The labelled output of srun. Task k runs on the k-th host of the step, and srun cuts long lines into pieces with a label each."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self.names = list(hosts)
        self.parts: dict[str, list[str]] = {host: [] for host in hosts}
        self.sizes = dict.fromkeys(hosts, 0)

    def add(self, line: str) -> str:
        """Takes one line and returns the host that sent it; empty for a line without a label."""
        found = _LABELLED.fullmatch(line.rstrip("\r\n"))
        if found is None or int(found[1]) >= len(self.names):
            return ""
        host = self.names[int(found[1])]
        if self.sizes[host] <= LARGEST_READ:
            self.parts[host].append(found[2])
            self.sizes[host] += len(found[2])
        return host

    def flooded(self, host: str) -> bool:
        return self.sizes[host] > LARGEST_READ

    def output(self, host: str) -> bytes:
        return "\n".join(self.parts[host]).encode("utf-8", "replace")

    def row(self, host: str) -> bytes | None:
        """The row, joined from the last piece that begins an object."""
        parts = self.parts[host]
        if not parts or not parts[-1].endswith("}"):
            return None
        starts = [number for number, part in enumerate(parts) if part.startswith('{"schema"')]
        return last_row("".join(parts[starts[-1] :]).encode("utf-8", "replace")) if starts else None

    def errors(self, host: str, text: str) -> str:
        """What the host itself wrote on standard error."""
        label = self.names.index(host)
        found = (_LABELLED.fullmatch(line) for line in text[-MOST_ERRORS * 4 :].splitlines())
        return "\n".join(each[2] for each in found if each and int(each[1]) == label and not each[2].startswith("slurmstepd"))

    def reasons(self, text: str) -> dict[str, tuple[int | None, str]]:
        """By host: the exit status and what srun says of its task."""
        reasons: dict[str, tuple[int | None, str]] = {}
        for line in text.splitlines():
            if found := _ENDED.match(line):
                code = re.search(r"exit code (\d{1,3})", found[3])
                for number in _numbers(found[2], len(self.names)):
                    reasons[self.names[number]] = (int(code[1]) if code else None, found[3])
        return reasons


def _numbers(text: str, most: int) -> Iterator[int]:
    """0-2,5 as numbers below `most`."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit():
            yield from range(int(first), min(int(last or first) + 1, most))
