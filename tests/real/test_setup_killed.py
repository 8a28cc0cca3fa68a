"""`gpudoctor setup` killed with SIGKILL at every step boundary and in the middle of every kind of step, then resumed, and then undone.

One undisturbed run tells where it must end. For each point a run is killed there: the doctor alone (what it started lives on), or the
whole tree. From the state that this leaves one copy is resumed, another is undone. Roots are overlays: a copy costs nothing. Each point
is a test of its own; a daily run takes some of each kind of step (tests/tiers.py).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from debian_root import RootState, _listing
from every_kind import ACTS, ENV, MIDDLE, OLD_ENV, RECIPES, STEPS, UNDO_RUNS, Site, served
from layered_root import Frozen, LayeredRoot, Workshop

DRIVER = "/opt/gpudoctor/tests/real/killing_driver.py"
REPORT = "/var/tmp/report"
BOUNDARIES = ("before-begin", "after-begin", "before-finish", "after-finish")
ALSO_WATCHED = ("/opt/kit", "/usr/share/keyrings", "/usr/share/driver", "/usr/share/old-driver")
NOT_THE_SAME_TWICE = re.compile(r".*(/__pycache__(/.*)?|/\.gpudoctor-files)")
"""Compiled Python holds the time of its source, and so does our list of an environment."""
SNAPSHOT = re.compile(r"\.gpudoctor-[0-9a-f]{8}")
THEIRS = ("venv", "pip")
"""The steps of a run into an environment that is there: the first one is done already."""
IN_THEIRS = "killed in an environment of the person's"


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

    @property
    def id(self) -> str:
        where = self.what if self.point == "when" else self.point
        return f"{self.kind}-{self.step}-{where.replace(' ', '-')}{'' if self.tree else '-alone'}"


def boundaries(steps: Sequence[str], first: int = 1) -> list[Point]:
    return [Point(number, kind, point) for number, kind in list(enumerate(steps, 1))[first - 1 :] for point in BOUNDARIES]


def middles(steps: Sequence[str], first: int = 1, env: str = ENV) -> list[Point]:
    """After each act but the last of each step, in the middle of each process that a step starts, and what MIDDLE names."""
    points = []
    for number, kind in list(enumerate(steps, 1))[first - 1 :]:
        acts = ACTS[kind if env == ENV else f"{kind} of theirs"]
        if "snapshot_tree" in acts:
            points.append(Point(number, kind, "keep-4", what="the snapshot is half"))
        for act, method in enumerate(acts, 1):
            if method == "run":
                points += [Point(number, kind, f"run-{act}", tree, what=f"in process {act}") for tree in (True, False)]
            if act < len(acts):
                points.append(Point(number, kind, f"act-{act}", what=f"after act {act}, {method}"))
        for what, path in MIDDLE.get(kind, ()):
            # A process of its own can live on where the doctor dies; what the doctor does itself cannot.
            both = "run" in acts and ".part" not in path
            where = path.replace(ENV, env)
            points += [Point(number, kind, "when", tree, where, what) for tree in ((True, False) if both else (True,))]
    return points


def parameters(points: list[Point], family: str) -> list[Any]:
    """As parameters; the points of a kind of step are a family."""
    return [pytest.param(point, id=point.id, marks=pytest.mark.rotates(f"{family}: {point.kind}", member=point.id)) for point in points]


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
    done: Frozen
    """The root after the undisturbed run."""
    first: int = 1
    """The first step that was not already done."""
    reached: dict[int, Frozen] = field(default_factory=dict)

    def before(self, number: int) -> Frozen:
        """The root as a kill at the end of the step before leaves it; made when somebody asks for it."""
        if number <= self.first:
            return self.base
        if number not in self.reached:
            root = self.shop.root(self.before(number - 1))
            self.killed(root, Point(number - 1, self.steps[number - 2], "after-finish"))
            self.reached[number] = self.shop.freeze(root)
        return self.reached[number]

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
        root = self.shop.root(self.before(point.step))
        try:
            self.killed(root, point)
        except AssertionError:
            self.shop.throw_away(root)
            if tries == 1 or point.point != "when":
                raise
            return self._reached(point, tries - 1)
        return root


def bench_of(shop: Workshop, base: Frozen, begin: tuple[str, ...], steps: tuple[str, ...], first: int = 1) -> Bench:
    """The undisturbed run."""
    root = shop.root(base)
    start = state_of(root)
    rc, output = drive(root, {"verify": True}, *begin)
    assert rc == 0, output
    end, acts = state_of(root), report_of(root)
    return Bench(shop, base, begin, steps, start, end, acts, shop.freeze(root), first)


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


@pytest.fixture(scope="module")
def theirs(site: tuple[Workshop, Frozen]) -> Bench:
    return bench_of(*site, ("setup", "jax", "--yes", "--env", OLD_ENV), THEIRS, first=2)


def acts_of(report: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(act["step"], act["method"]) for act in report if act["act"]]


def test_the_recipe_has_every_kind_that_debian_can_try(bench: Bench) -> None:
    from gpudoctor.model.recipe import KINDS

    elsewhere = {"dnf.repository", "dnf.install", "pacman.install", "reboot", "person"}
    assert set(STEPS) == set(KINDS) - elsewhere
    assert set(MIDDLE) <= set(STEPS)
    assert acts_of(bench.acts) == [(number, method) for number, kind in enumerate(STEPS, 1) for method in ACTS[kind]]


@pytest.mark.parametrize("point", parameters(boundaries(STEPS) + middles(STEPS), "killed"))
def test_killed_then_resumed_or_undone(bench: Bench, point: Point) -> None:
    assert bench.try_point(point) == []


@pytest.mark.rotates(f"{IN_THEIRS}: pip", member="its acts")
def test_the_steps_in_an_environment_of_the_person(theirs: Bench) -> None:
    assert acts_of(theirs.acts) == [(2, method) for method in ACTS["pip of theirs"]]
    with theirs.shop.lent(theirs.done) as root:
        assert journal_of(root)[1] == ["skipped", "done"]


@pytest.mark.parametrize("point", parameters(boundaries(THEIRS, 2) + middles(THEIRS, 2, OLD_ENV), IN_THEIRS))
def test_killed_while_an_environment_of_the_person_is_changed(theirs: Bench, point: Point) -> None:
    """Its packages come back byte for byte, wherever the run was cut off."""
    assert theirs.try_point(point) == []


@pytest.mark.rotates("an undo is killed", member="at every boundary")
def test_an_undo_that_is_killed_at_every_boundary_goes_on_as_an_undo(bench: Bench) -> None:
    """One undo, killed as often as it has boundaries; `--resume` and `--undo` both go on with it."""
    with bench.shop.lent(bench.done) as root:
        for number, kind in reversed(list(enumerate(bench.steps, 1))):
            for point, again in (("undoing", "--undo"), ("undone", "--resume")):
                rc, output = drive(root, {"step": number, "point": point, "tree": True}, "setup", again)
                assert rc == -signal.SIGKILL, f"step {number} {kind}, {point}: {rc}\n{output}"
        assert bench.undone(root, Point(0, "all", "undone"), ("setup", "--resume")) == []


@pytest.mark.rotates("an undo is killed", member="never")
def test_an_undo_that_nobody_disturbs_restores_the_start(bench: Bench) -> None:
    with bench.shop.lent(bench.done) as root:
        rc, output = drive(root, {}, "setup", "--undo")
        assert rc == 0, output
        assert state_of(root).differences(bench.start, exact=True) == []
        runs = [act for act in report_of(root)[len(bench.acts) :] if act["method"] == "run"]
    assert [(act["step"], act["act"]) for act in runs] == list(UNDO_RUNS)
    assert {bench.steps[step - 1] for step, _ in UNDO_RUNS} == {"apt.install", "apt.remove", "group", "edit", "file"}


@pytest.mark.rotates("an undo is killed", by="step_and_act")
@pytest.mark.parametrize("step_and_act", UNDO_RUNS, ids=lambda pair: f"{STEPS[pair[0] - 1]}-{pair[0]}-run-{pair[1]}")
def test_an_undo_that_is_killed_in_the_middle_of_what_it_runs_goes_on(bench: Bench, step_and_act: tuple[int, int]) -> None:
    step, act = step_and_act
    point = Point(step, bench.steps[step - 1], f"run-{act}", what=f"undo, process {act}")
    with bench.shop.lent(bench.done) as root:
        rc, output = drive(root, {"step": point.step, "point": point.point, "tree": True}, "setup", "--undo")
        assert rc == -signal.SIGKILL, f"{point}: not reached, {rc}\n{output}"
        assert bench.undone(root, point) == []
