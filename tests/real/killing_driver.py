"""Runs gpudoctor in this process and kills it with SIGKILL at a chosen point of a chosen step. For tests only: the product has no hooks.

    python3 killing_driver.py '{"step": 3, "point": "after-begin", "report": "/tmp/report"}' setup cpu --yes

step      number of the step in the plan; 0: no kill, only the report
point     before-begin, after-begin, before-finish, after-finish: around the journal's rows of this step
          act-N: when the N-th act of this step is over (an act is a call that changes something); begin-N: when it is about to begin
          run-N: while the N-th act, a process, runs: at once after it was let go
          when: as soon as something matches the glob `path` (and is not empty)
          keep-N: when the N-th file of a snapshot was kept
          undone: when the undo of this step is over and not yet journaled; undoing: when it is about to begin
tree      kills the descendants too, before itself
report    file that gets one JSON line for each act, and one for the kill
recipes   folder of recipes that are taken instead of the product's
"""

from __future__ import annotations

import functools
import glob
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ACTS = (
    "run", "write", "make_folder", "remove", "remove_empty_folder", "remove_tree", "rename", "snapshot_tree", "restore_tree",
    "drop_snapshot", "fetch", "download", "unpack",
)  # fmt: skip


class Killer:
    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.step, self.acts = 0, 0
        self.kept = 0
        self._depth = 0

    def tell(self, **said: Any) -> None:
        with open(self.spec["report"], "a", encoding="utf-8") as stream:
            stream.write(json.dumps(said) + "\n")

    def at(self, point: str) -> None:
        if self.step == self.spec.get("step") and point == self.spec.get("point"):
            self.kill()

    def kill(self) -> None:
        self.tell(killed=True, step=self.step, point=self.spec["point"], act=self.acts)
        if self.spec.get("tree"):
            for pid in descendants():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)

    def entered(self, step: int) -> None:
        self.step, self.acts, self.kept = step, 0, 0
        if step == self.spec.get("step") and self.spec.get("point") == "when":
            threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            if any(holds_something(path) for path in glob.glob(self.spec["path"], include_hidden=True)):
                self.kill()
            time.sleep(0.001)

    def act(self, method: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(method)
        def acting(machine: Any, *arguments: Any, **options: Any) -> Any:
            if self._depth or not self.step:
                return method(machine, *arguments, **options)
            self._depth += 1
            self.acts += 1
            number = self.acts
            what = arguments[0] if arguments else ""
            self.tell(step=self.step, act=number, method=name, what=what if isinstance(what, str) else " ".join(map(str, what)))
            try:
                self.at(f"begin-{number}")
                done = method(machine, *arguments, **options)
                self.at(f"act-{number}")
                return done
            finally:
                self._depth -= 1

        return acting


def holds_something(path: str) -> bool:
    try:
        return os.path.isdir(path) or os.path.getsize(path) > 0
    except OSError:
        return False


def descendants() -> list[int]:
    """Those of this process, the youngest last; also those that an intermediate parent has left behind with our mark."""
    parents: dict[int, int] = {}
    marked: set[int] = set()
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                parents[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
                if b"\0GPUDOCTOR_CHILD=" in b"\0" + Path(f"/proc/{name}/environ").read_bytes():
                    if os.stat(f"/proc/{name}/root").st_dev == os.stat("/").st_dev:
                        marked.add(int(name))
            except OSError:
                continue
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted((found | marked) - {os.getpid()})


def wrap(owner: Any, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    setattr(owner, name, around(getattr(owner, name)))


def install(killer: Killer) -> None:
    from gpudoctor.services import setup_running
    from gpudoctor.setup import runner
    from gpudoctor.setup.journal import Journal
    from gpudoctor.system import children, snapshots
    from gpudoctor.system.live_changes import ActingHost

    for name in (name for name in ACTS if hasattr(ActingHost, name)):
        wrap(ActingHost, name, lambda method, name=name: killer.act(method, name))  # type: ignore[misc]

    def one(method: Callable[..., Any]) -> Callable[..., Any]:
        def doing(run: int, step: Any, *rest: Any) -> Any:
            killer.entered(step.number)
            return method(run, step, *rest)

        return doing

    def undo_one(method: Callable[..., Any]) -> Callable[..., Any]:
        def undoing(step: Any, *rest: Any) -> Any:
            killer.entered(step.number)
            killer.at("undoing")
            done = method(step, *rest)
            killer.at("undone")
            return done

        return undoing

    def around(before: str, after: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def wrapper(method: Callable[..., Any]) -> Callable[..., Any]:
            def journaling(*arguments: Any, **options: Any) -> Any:
                killer.at(before)
                done = method(*arguments, **options)
                killer.at(after)
                return done

            return journaling

        return wrapper

    def release(method: Callable[..., Any]) -> Callable[..., Any]:
        def letting_go(child: Any) -> None:
            method(child)
            if killer._depth:  # not what only reads
                killer.at(f"run-{killer.acts}")

        return letting_go

    def keep(method: Callable[..., Any]) -> Callable[..., Any]:
        def keeping(*arguments: Any) -> None:
            method(*arguments)
            killer.kept += 1
            killer.at(f"keep-{killer.kept}")

        return keeping

    wrap(snapshots, "_keep", keep)
    wrap(runner, "_one", one)
    wrap(runner, "_undo_one", undo_one)
    wrap(Journal, "begin", around("before-begin", "after-begin"))
    wrap(Journal, "finish", around("before-finish", "after-finish"))
    wrap(children.Child, "release", release)
    if not killer.spec.get("verify"):
        setup_running._verify = lambda run, plan, watcher: setup_running.Outcome(run, "done", "not looked at", plan=plan)


def main() -> None:
    killer = Killer(json.loads(sys.argv[1]))
    install(killer)
    if killer.spec.get("recipes"):
        from gpudoctor.facts import vocabulary
        from gpudoctor.knowledge.recipes import read_book
        from gpudoctor.services import setup_planning

        setup_planning.book = lambda: read_book(Path(killer.spec["recipes"]), vocabulary.items())
    from gpudoctor.cli import main as command_line

    command_line(sys.argv[2:])


if __name__ == "__main__":
    main()
