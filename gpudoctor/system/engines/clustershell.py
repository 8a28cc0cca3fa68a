"""Hosts by ClusterShell: the site's node sets and groups, its ssh (or rsh, pdsh), its fanout and its tree of gateways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ClusterShell.Event import EventHandler
from ClusterShell.NodeSet import NodeSet, NodeSetException
from ClusterShell.Task import task_self
from ClusterShell.Worker.Exec import ExecClient, ExecWorker

from gpudoctor.model.fleet_row import LARGEST_READ
from gpudoctor.system.engines import remote_words
from gpudoctor.system.engines.asking import FLOODED, MOST_ERRORS, Answer, Asked, EngineError, Taker, late, why_none


class ClusterShell:
    """The engine `clustershell`."""

    def hosts(self, given: str, expand: Callable[[str], Sequence[str]]) -> Sequence[str]:
        if not given:
            raise EngineError("--engine clustershell needs --hosts, with a node set or group: --hosts gpu[01-64], --hosts @gpu")
        try:
            return list(NodeSet(given))
        except NodeSetException as error:
            raise EngineError(f"--hosts {given[:60]}: {' '.join(str(error).split())[:160]}") from None

    def ask(self, asked: Asked, take: Taker) -> None:
        task = task_self()
        task.set_default("stdout_msgtree", False)
        task.set_default("stderr_msgtree", False)
        task.set_default("distant_worker", _capped(task.default("distant_worker")))
        for host in asked.hosts:
            _Talk(task, asked, host, take).begin()
        try:
            task.resume()
        except BaseException:
            task.abort(kill=True)  # ends the processes of ssh
            raise


class _Talk(EventHandler):  # type: ignore[misc]
    """The talk with one host: the command alone, or a folder, the copy of the file, and then the command."""

    def __init__(self, task: Any, asked: Asked, host: str, take: Taker) -> None:
        self.task, self.asked, self.host, self.take = task, asked, host, take
        self.folder = remote_words.new_folder() if asked.file is not None else ""
        self.step = ""
        self.status: int | None = None
        self.output, self.errors = bytearray(), bytearray()
        self.flooded = False

    def begin(self) -> None:
        if self.folder:
            self._shell("make", remote_words.as_line(remote_words.make(self.folder)))
        else:
            self._shell("run", remote_words.plain(self.asked, self.host))

    def ev_read(self, worker: Any, node: str, sname: str, msg: bytes) -> None:
        if sname == "stderr":
            self.errors += msg[-MOST_ERRORS:] + b"\n"
            del self.errors[:-MOST_ERRORS]
        elif self.step == "run" and not self.flooded:
            self.output += msg[: LARGEST_READ + 1] + b"\n"
            if len(self.output) > LARGEST_READ + 1:
                self.flooded = True
                worker.abort()

    def ev_hup(self, worker: Any, node: str, rc: int | None) -> None:
        self.status = rc

    def ev_close(self, worker: Any, timedout: bool) -> None:
        ended_here = timedout or self.flooded or _overran(worker)
        if self.step == "clean" or (self.status is None and not ended_here):  # without a status: the whole collection was broken off
            return
        if not (self.status or ended_here):
            if self.step == "make":
                self._copy()
                return
            if self.step == "copy":
                words = remote_words.run_file(self.asked, self.folder, self.host)
                self._shell("run", remote_words.as_line(words))
                return
        self.take(Answer(self.host, b"" if self.flooded else bytes(self.output), self._why(timedout, _overran(worker))))
        if self.step == "copy" or (self.folder and self.step == "run" and timedout):
            self._shell("clean", remote_words.as_line(remote_words.remove(self.folder)))

    def _why(self, timedout: bool, overran: bool) -> str:
        if self.flooded or overran:
            return FLOODED
        if timedout:
            return late(self.asked.timeout)
        return why_none(self.host, self.status, bytes(self.output), bytes(self.errors))

    def _shell(self, step: str, line: str) -> None:
        self.step, self.status = step, None
        self.task.shell(line, nodes=self.host, handler=self, timeout=self.asked.timeout, stderr=True, stdin=False)

    def _copy(self) -> None:
        self.step, self.status = "copy", None
        target = f"{self.folder}/{remote_words.FILE}"
        self.task.copy(str(self.asked.file), target, self.host, handler=self, timeout=self.asked.timeout, stderr=True)


def _capped(base: Any) -> Any:
    """The worker of the site, ending a host that sends more than LARGEST_READ bytes without a line feed: ClusterShell keeps them all."""
    client = getattr(base, "SHELL_CLASS", None)
    read: Any = getattr(client, "_handle_read", None)
    if not (isinstance(base, type) and issubclass(base, ExecWorker) and isinstance(client, type) and issubclass(client, ExecClient)):
        return base  # pdsh: one process for all hosts

    def handle_read(self: Any, sname: str) -> None:
        read(self, sname)
        # The channel of a gateway has other streams: it carries the answers of many hosts, and one of them must not end it.
        ours = sname in (ExecWorker.SNAME_STDOUT, ExecWorker.SNAME_STDERR)
        if ours and sname in self.streams and len(self.streams[sname].rbuf) > LARGEST_READ:
            self.worker.overran = True
            self.abort()

    capped = type("CappedClient", (client,), {"_handle_read": handle_read})
    return type("CappedWorker", (base,), {"SHELL_CLASS": capped, "overran": False})


def _overran(worker: Any) -> bool:
    return bool(getattr(worker, "overran", False))
