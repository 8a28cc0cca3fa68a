"""Runs several workers at once: they begin to measure together, and where one fails the others are ended, so that nothing waits for it."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from gpudoctor.benchmark import workers
from gpudoctor.benchmark.workers import OnStage, WorkerAnswer, WorkerHost
from gpudoctor.model.measurement import FAILED, OK
from gpudoctor.system.framework_child import Caches, one_line

START = "start"
"""The file that workers wait for (gpudoctor/target/workloads/barrier.py)."""
OTHER = "ended because another of them had failed"
SILENT, SILENT_FOR = 10.0, "silent for "
"""The seconds of silence from which a reason mentions it, and the words for it."""
Members = Callable[[str], Sequence[Mapping[str, Any]]]
"""The requests, given the folder where they meet."""


class _Watch(Struct):
    """What the threads of one worker group share."""

    size: int
    start: str
    on_stage: OnStage | None
    lock: threading.Lock
    ready: set[int]
    words: dict[int, float]
    """The time of each rank's last line."""
    ended: str = ""

    def receive(self, rank: int, stage: str, table: Mapping[str, Any]) -> None:
        """Passes lines to the listener: those of the first worker, and `measure` when all workers are ready."""
        with self.lock:
            self.words[rank] = time.monotonic()
            if stage == "ready":
                self.ready.add(rank)
                if len(self.ready) == self.size:
                    self._pass_on("measure", table)  # the monitor of the device begins before the workers do
                    with open(self.start, "x", encoding="ascii"):
                        pass
            elif stage in ("skipped", "failed", "result") or (rank == 0 and stage != "measure"):
                self._pass_on(stage, table)

    def _pass_on(self, stage: str, table: Mapping[str, Any]) -> None:
        if self.on_stage is not None:
            self.on_stage(stage, table)

    def fell(self, answer: WorkerAnswer) -> None:
        if answer.status != OK:
            self.ended = self.ended or OTHER

    def stop(self, rank: int) -> str:
        """Why this worker must end, and how long it was silent before, since the one that hangs is among those that are ended."""
        silent = time.monotonic() - self.words.get(rank, time.monotonic())
        return f"{self.ended}, {SILENT_FOR}{silent:.0f} s" if self.ended and silent >= SILENT else self.ended


def run(
    host: WorkerHost, python: str, members: Members, *, limit: float, caches: Caches | None = None,
    variables: Mapping[str, str] | None = None, on_stage: OnStage | None = None, on_start: Callable[[int], None] | None = None,
    address_space: int | None = None,
) -> list[WorkerAnswer]:  # fmt: skip
    """Runs all members and returns their answers in order. `limit`: seconds for all. No worker is left when this returns or raises."""
    with tempfile.TemporaryDirectory(
        prefix="gpudoctor-together-", dir=caches.path if caches is not None else None, ignore_cleanup_errors=True
    ) as folder:
        requests = members(folder)
        answers: list[WorkerAnswer | None] = [None] * len(requests)
        watch = _Watch(len(requests), os.path.join(folder, START), on_stage, threading.Lock(), set(), {})

        def one(rank: int) -> None:
            try:
                answer = workers.ask(
                    host, python, requests[rank], limit=limit, caches=caches, variables=variables,
                    on_stage=lambda stage, table: watch.receive(rank, stage, table), on_start=on_start, address_space=address_space,
                    stop=lambda: watch.stop(rank),
                )  # fmt: skip
            except Exception as error:
                answer = WorkerAnswer(status=FAILED, reason=one_line(f"start: {type(error).__name__}: {error}"))
            answers[rank] = answer
            watch.fell(answer)

        threads = [threading.Thread(target=one, args=(rank,), daemon=True, name=f"replica {rank + 1}") for rank in range(len(requests))]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                for thread in threads:
                    thread.join(0.1)
        finally:  # an interruption of gpudoctor also ends the workers
            watch.ended = watch.ended or "interrupted"
            for thread in threads:
                thread.join(10.0)
    return [answer if answer is not None else WorkerAnswer(status=FAILED, reason="start: it never ran") for answer in answers]
