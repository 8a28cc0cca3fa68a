"""`gpudoctor setup` killed with SIGKILL at every step boundary and in the middle of every kind of step, then resumed, and then undone.

One undisturbed run tells where it must end. For each point a run is killed there: the doctor alone (what it started lives on), or the
whole tree. From the state that this leaves one copy is resumed, another is undone. Roots are overlays: a copy costs nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest
from debian_root import RootState, _listing
from every_kind import ENV, MIDDLE, OLD_ENV, RECIPES, STEPS, Site, served
from layered_root import Frozen, LayeredRoot, Workshop

DRIVER = "/opt/gpudoctor/tests/real/killing_driver.py"
REPORT = "/var/tmp/report"
BOUNDARIES = ("before-begin", "after-begin", "before-finish", "after-finish")
ALSO_WATCHED = ("/opt/kit", "/usr/share/keyrings", "/usr/share/driver", "/usr/share/old-driver")
NOT_THE_SAME_TWICE = re.compile(r".*(/__pycache__(/.*)?|/\.gpudoctor-files)")
"""Compiled Python holds the time of its source, and so does our list of an environment."""
SNAPSHOT = re.compile(r"\.gpudoctor-[0-9a-f]{8}")
WORKERS = 2


@dataclass(frozen=True)
class Point:
    step: int
    kind: str
    point: str
    tree: bool = True
    path: str = ""
    what: str = ""

    def __str__(self) -> str:
        return f"step {self.step} {self.kind}: {self.what or self.point}, {'the whole tree' if self.tree else 'the doctor alone'}"


@dataclass(frozen=True)
class State:
    """All that is compared: packages, marks and holds, files below /etc, /root and /home, and what else the recipe touches."""

    root: RootState
    more: dict[str, str]

    def differences(self, other: State, *, exact: bool) -> list[str]:
        """`exact`: nothing is passed over. Else what cannot be the same in two runs is."""
        if not exact:
            return self._of_any_run().differences(other._of_any_run(), exact=True)
        lines = list(self.root.differences(other.root))
        for path in sorted(self.more.keys() | other.more.keys()):
            if self.more.get(path) != other.more.get(path):
                lines.append(f"file {path}: was {other.more.get(path)}, is {self.more.get(path)}")
        return lines

    def _of_any_run(self) -> State:
        """A snapshot has a name of its own in each run."""
        files = {SNAPSHOT.sub(".gpudoctor-*", path): what for path, what in self.root.files.items()}
        files = {path: what for path, what in files.items() if not NOT_THE_SAME_TWICE.fullmatch(path)}
        return State(replace(self.root, files=files), self.more)


def state_of(root: LayeredRoot) -> State:
    lists = {f"/var/lib/apt/lists/{name}": "there" for name in root.apt_lists()}
    lists |= {f"/var/lib/apt/lists/partial/{name}": "there" for name in os.listdir(root.here("/var/lib/apt/lists/partial"))}
    return State(root.state(), {**dict(_listing(root.path, ALSO_WATCHED)), **lists})


def drive(root: LayeredRoot, spec: dict[str, Any], *arguments: str) -> tuple[int, str]:
    """gpudoctor in the root, as the driver is told; (status, output). Negative: the signal that it died of."""
    python = [word for word in root.doctor_argv([]) if word not in ("-m", "gpudoctor")]
    given = json.dumps({"step": 0, "report": REPORT, "recipes": RECIPES, **spec})
    variables = {"USER": "anna", "XDG_CACHE_HOME": "/var/cache/gpudoctor-test"}
    done = root.run([*python, DRIVER, given, *arguments], check=False, env=variables, timeout=300)
    return done.returncode, done.stdout


def report_of(root: LayeredRoot) -> list[dict[str, Any]]:
    path = root.here(REPORT)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def journal_of(root: LayeredRoot) -> tuple[str, list[str], int]:
    """State of the last run, states of its steps, and how many children nobody saw end."""
    base = sqlite3.connect(root.here("/var/lib/gpudoctor/journal.sqlite"))
    try:
        run, state = base.execute("SELECT id, state FROM run ORDER BY id DESC").fetchone()
        steps = [row[0] for row in base.execute("SELECT state FROM step WHERE run=? ORDER BY number", (run,))]
        open_ = base.execute("SELECT count(*) FROM child WHERE run=? AND ended=0", (run,)).fetchone()[0]
        return state, steps, open_
    finally:
        base.close()


@dataclass
class Bench:
    """What all points share. `begin` starts the run; `steps` are its kinds."""

    shop: Workshop
    base: Frozen
    begin: tuple[str, ...]
    steps: tuple[str, ...]
    start: State
    end: State
    acts: list[dict[str, Any]]
    after: dict[int, Frozen]
    """The root as a kill at the end of step N leaves it; 0: the root before the run."""
    done: Frozen
    """The root after the undisturbed run."""
    first: int = 1
    """The first step that was not already done."""
    env: str = ENV

    def killed(self, root: LayeredRoot, point: Point) -> None:
        """Goes on from the state after the step before, and dies at the point."""
        root.here(REPORT).unlink(missing_ok=True)
        spec = {"step": point.step, "point": point.point, "tree": point.tree, "path": point.path}
        arguments = self.begin if point.step == self.first else ("setup", "--resume")
        rc, output = drive(root, spec, *arguments)
        hit = [line for line in report_of(root) if line.get("killed")]
        assert rc == -signal.SIGKILL and hit, f"{point}: was not reached; the run ended with {rc}:\n{output}"
        assert hit[-1]["step"] == point.step

    def resumed(self, root: LayeredRoot, point: Point) -> list[str]:
        """Problems; none where it ended as the undisturbed run did."""
        rc, output = drive(root, {}, "setup", "--resume")
        problems = state_of(root).differences(self.end, exact=False)
        run, steps, children = journal_of(root)
        if (rc, run, set(steps) - {"skipped"}, children) != (0, "done", {"done"}, 0):
            problems.append(f"status {rc}, the journal says {run} {steps} with {children} open children:\n{output}")
        return [f"{point}; resumed: {line}" for line in problems]

    def undone(self, root: LayeredRoot, point: Point, again: tuple[str, ...] = ("setup", "--undo")) -> list[str]:
        rc, output = drive(root, {}, *again)
        problems = state_of(root).differences(self.start, exact=True)
        run, _, children = journal_of(root)
        if (rc, run, children) != (0, "undone", 0):
            problems.append(f"status {rc}, the journal says {run} with {children} open children:\n{output}")
        return [f"{point}; undone: {line}" for line in problems]

    def try_point(self, point: Point) -> list[str]:
        """Killed there, resumed, and undone. What lives on cannot be copied: then the kill is made twice."""
        try:
            root = self._reached(point)
            if point.tree:
                frozen = self.shop.freeze(root)
                with self.shop.lent(frozen) as one, self.shop.lent(frozen) as two:
                    problems = self.resumed(one, point) + self.undone(two, point)
                shutil.rmtree(root.upper.parent, ignore_errors=True)
                return problems
            problems = self.resumed(root, point)
            self.shop.throw_away(root)
            again = self._reached(point)
            problems += self.undone(again, point)
            self.shop.throw_away(again)
            return problems
        except AssertionError as error:
            return [str(error)]

    def _reached(self, point: Point, tries: int = 3) -> LayeredRoot:
        """A root in which a run died there. What is waited for from outside may be over too soon: then once more."""
        root = self.shop.root(self.after[point.step - 1])
        try:
            self.killed(root, point)
        except AssertionError:
            self.shop.throw_away(root)
            if tries == 1 or point.point != "when":
                raise
            return self._reached(point, tries - 1)
        return root

    def try_all(self, points: list[Point]) -> None:
        with ThreadPoolExecutor(WORKERS) as pool:
            problems = list(pool.map(self.try_point, points))
        for point, found in zip(points, problems, strict=True):
            print(("FAILED  " if found else "ok      ") + str(point))  # noqa: T201 - pytest shows it with -s, and where the test fails
        assert not any(problems), "\n".join(line for found in problems for line in found[:8])

    def boundaries(self) -> list[Point]:
        return [Point(number, kind, point) for number, kind in self._open() for point in BOUNDARIES]

    def _open(self) -> list[tuple[int, str]]:
        return list(enumerate(self.steps, 1))[self.first - 1 :]

    def middles(self) -> list[Point]:
        """After each act but the last of each step, in the middle of each process that a step starts, and what MIDDLE names."""
        points = []
        for number, kind in self._open():
            acts = [act for act in self.acts if act["step"] == number]
            if any(act["method"] == "snapshot_tree" for act in acts):
                points.append(Point(number, kind, "keep-4", what="the snapshot is half"))
            for act in acts:
                title = f"{act['method']} {act['what'][:60]}"
                if act["method"] == "run":
                    points += [Point(number, kind, f"run-{act['act']}", tree, what=f"in {title}") for tree in (True, False)]
                if act is not acts[-1]:
                    points.append(Point(number, kind, f"act-{act['act']}", what=f"after {title}"))
            for what, path in MIDDLE.get(kind, ()):
                # A process of its own can live on where the doctor dies; what the doctor does itself cannot.
                both = any(act["method"] == "run" for act in acts) and ".part" not in path
                where = path.replace(ENV, self.env)
                points += [Point(number, kind, "when", tree, where, what) for tree in ((True, False) if both else (True,))]
        return points


def bench_of(shop: Workshop, base: Frozen, begin: tuple[str, ...], steps: tuple[str, ...], first: int = 1, env: str = ENV) -> Bench:
    """The undisturbed run, and one that is killed at the end of each step and goes on."""
    root = shop.root(base)
    start = state_of(root)
    rc, output = drive(root, {"verify": True}, *begin)
    assert rc == 0, output
    end, acts = state_of(root), report_of(root)
    bench = Bench(shop, base, begin, steps, start, end, acts, dict.fromkeys(range(first), base), shop.freeze(root), first, env)
    for number, kind in list(enumerate(steps, 1))[first - 1 : -1]:
        root = shop.root(bench.after[number - 1])
        bench.killed(root, Point(number, kind, "after-finish"))
        bench.after[number] = shop.freeze(root)
    return bench


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workshop, Frozen]]:
    with Workshop() as shop, served(tmp_path_factory.mktemp("site")) as served_site:
        yield shop, shop.base(lambda root: _prepare(served_site, root))


def _prepare(site: Site, root: LayeredRoot) -> None:
    site.prepare(root)
    drive(root, {}, "list", "recipes")  # its cache is none of the run


@pytest.fixture(scope="module")
def bench(site: tuple[Workshop, Frozen]) -> Bench:
    return bench_of(*site, ("setup", "cpu", "--yes"), STEPS)


def test_the_recipe_has_every_kind_that_debian_can_try(bench: Bench) -> None:
    from gpudoctor.model.recipe import KINDS

    elsewhere = {"dnf.repository", "dnf.install", "pacman.install", "reboot", "person"}
    assert set(STEPS) == set(KINDS) - elsewhere
    assert set(MIDDLE) <= set(STEPS)
    assert {act["step"] for act in bench.acts if act["act"]} == set(range(1, len(STEPS) + 1))


def test_killed_at_every_boundary(bench: Bench) -> None:
    bench.try_all(bench.boundaries())


def test_killed_in_the_middle_of_every_kind(bench: Bench) -> None:
    points = bench.middles()
    assert {point.kind for point in points} >= set(MIDDLE)
    bench.try_all(points)


def test_killed_while_an_environment_of_the_person_is_changed(site: tuple[Workshop, Frozen]) -> None:
    """Its packages come back byte for byte, wherever the run was cut off."""
    bench = bench_of(*site, ("setup", "jax", "--yes", "--env", OLD_ENV), ("venv", "pip"), first=2, env=OLD_ENV)
    assert journal_steps(bench) == ["skipped", "done"]
    bench.try_all(bench.boundaries() + bench.middles())


def journal_steps(bench: Bench) -> list[str]:
    with bench.shop.lent(bench.done) as root:
        return journal_of(root)[1]


def test_an_undo_that_is_killed_at_every_boundary_goes_on_as_an_undo(bench: Bench) -> None:
    """One undo, killed as often as it has boundaries; `--resume` and `--undo` both go on with it."""
    boundaries = (("undoing", "--undo"), ("undone", "--resume"))
    with bench.shop.lent(bench.done) as root:
        for number, kind in reversed(list(enumerate(bench.steps, 1))):
            for point, again in boundaries:
                rc, output = drive(root, {"step": number, "point": point, "tree": True}, "setup", again)
                assert rc == -signal.SIGKILL, f"step {number} {kind}, {point}: {rc}\n{output}"
        assert bench.undone(root, Point(0, "all", "undone"), ("setup", "--resume")) == []


def test_an_undo_that_is_killed_in_the_middle_of_what_it_runs_goes_on(bench: Bench) -> None:
    with bench.shop.lent(bench.done) as root:
        rc, output = drive(root, {}, "setup", "--undo")
        assert rc == 0, output
        assert state_of(root).differences(bench.start, exact=True) == []
        runs = [act for act in report_of(root)[len(bench.acts) :] if act["method"] == "run"]
    assert {bench.steps[act["step"] - 1] for act in runs} >= {"apt.install", "apt.remove", "group", "edit", "file"}

    def try_act(act: dict[str, Any]) -> list[str]:
        point = Point(act["step"], bench.steps[act["step"] - 1], f"run-{act['act']}", what=f"undo of {act['what'][:60]}")
        with bench.shop.lent(bench.done) as root:
            rc, output = drive(root, {"step": point.step, "point": point.point, "tree": True}, "setup", "--undo")
            return bench.undone(root, point) if rc == -signal.SIGKILL else [f"{point}: not reached, {rc}\n{output}"]

    with ThreadPoolExecutor(WORKERS) as pool:
        problems = list(pool.map(try_act, runs))
    assert not any(problems), "\n".join(line for found in problems for line in found[:8])
