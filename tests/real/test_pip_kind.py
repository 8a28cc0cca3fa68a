"""A real pip, killed with SIGKILL in the middle: resumed it ends as an undisturbed one, undone it leaves what was."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stepping import MINOR, Step, carry_out, listing, look, machine, plan
from wheel_index import Wheel, WheelIndex

from gpudoctor.setup.environment_snapshot import MANIFEST
from gpudoctor.system.live_changes import ActingHost, end

TESTS = Path(__file__).parents[1]
MANY = {f"torch/part{number}.py": f"x = {number}\n" for number in range(300)}
DOCTOR = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from stepping import Step, machine
from gpudoctor.setup.steps._step import Draft
told = json.loads(Path(sys.argv[2]).read_text())
here = Path(sys.argv[3])
def on_child(pid, start, finish, argv):
    (here / "child.new").write_text(json.dumps([pid, start]))
    (here / "child.new").rename(here / "child")
step = Step("pip", Draft(settings={}), told["settings"], told["before"])
step.apply(machine(here, on_child=on_child))
"""


@pytest.fixture
def index() -> Iterator[WheelIndex]:
    wheels = [Wheel("torch", "2.8.0+xpu", requires=["numpy"], files={**MANY, "torch/__init__.py": ""}, scripts={"torchrun": "torch:main"}),
              Wheel("torch", "2.7.0+xpu", files={**MANY, "torch/old.py": ""}), Wheel("numpy", "2.1.0", padding=3_000_000)]  # fmt: skip
    with WheelIndex(wheels) as served:
        yield served


@pytest.fixture
def acting(tmp_path: Path) -> ActingHost:
    return machine(tmp_path)


@pytest.fixture
def env(tmp_path: Path, acting: ActingHost, index: WheelIndex) -> Path:
    """Theirs: an older torch is in it."""
    carry_out("venv", look(tmp_path / "home" / "env"), acting, python=f"=={MINOR}.*")
    top = tmp_path / "home" / "env"
    (top / MANIFEST).unlink()
    step = plan("pip", look(top, {"pypi": index.url}), packages=["torch==2.7.0+xpu"]).begin(acting).apply(acting)
    acting.drop_snapshot(step.before["snapshot"])
    return top


def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    last = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < last, "that point was never reached"
        time.sleep(0.002)


def downloading(index: WheelIndex, site: Path) -> bool:
    return "/files/numpy-2.1.0-py3-none-any.whl" in index.requests


def uninstalling(index: WheelIndex, site: Path) -> bool:
    return bool(list(site.glob("~*")))


def installing(index: WheelIndex, site: Path) -> bool:
    return (site / "numpy").exists()


def half_installed(index: WheelIndex, site: Path) -> bool:
    return (site / "torch" / "part150.py").exists() and not (site / "torch" / "old.py").exists()


def ended(index: WheelIndex, site: Path) -> bool:
    return (site / "torch-2.8.0+xpu.dist-info" / "RECORD").exists()


def _pairs() -> Iterator[Any]:
    """Every combination; a day has each point in both environments and with both kinds of a kill, and the next day the other two."""
    for point in (downloading, uninstalling, installing, half_installed, ended):
        for fresh, whole_tree in itertools.product((True, False), repeat=2):
            name = f"{point.__name__}-{'ours' if fresh else 'theirs'}-{'the whole tree' if whole_tree else 'the doctor alone'}"
            turn = pytest.mark.rotates(f"pip is killed: {point.__name__}", member=str(fresh == whole_tree))
            yield pytest.param(point, fresh, whole_tree, id=name, marks=turn)


@pytest.mark.parametrize(("point", "fresh", "whole_tree"), list(_pairs()))
def test_killed_resumed_and_undone(
    env: Path,
    acting: ActingHost,
    index: WheelIndex,
    tmp_path: Path,
    point: Callable[[WheelIndex, Path], bool],
    fresh: bool,
    whole_tree: bool,
) -> None:
    site, start = env / "lib" / f"python{MINOR}" / "site-packages", listing(env.parent)

    def prepared() -> Step:
        step = plan("pip", look(env, {"pypi": index.url}), packages=["torch==2.8.0+xpu"])
        step.settings = {**step.settings, "fresh": fresh}
        return step.begin(acting)

    undisturbed = prepared().apply(acting)
    goal = listing(env, without=(MANIFEST,))
    if fresh:  # such an environment goes as a whole: for the second run it is put back by hand
        undisturbed.after = None
        subprocess.run([f"{env}/bin/python", "-m", "pip", "--isolated", "uninstall", "-q", "-y", "torch", "numpy"], check=True)
        carry = plan("pip", look(env, {"pypi": index.url}), packages=["torch==2.7.0+xpu"]).begin(acting).apply(acting)
        acting.drop_snapshot(carry.before["snapshot"])
        (env / MANIFEST).unlink()
    else:
        assert undisturbed.undo(acting) == ()
    assert listing(env.parent) == start
    index.requests.clear()
    index.slow = {"numpy": 2.0} if point is downloading else {}

    step = prepared()
    (tmp_path / "told").write_text(json.dumps({"settings": step.settings, "before": step.before}))
    doctor = subprocess.Popen(
        [sys.executable, "-c", DOCTOR, str(TESTS), str(tmp_path / "told"), str(tmp_path)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=TESTS.parent,
    )  # fmt: skip
    until(lambda: point(index, site))
    pid, began = json.loads((tmp_path / "child").read_text())
    if whole_tree:
        os.killpg(pid, signal.SIGKILL)
    os.kill(doctor.pid, signal.SIGKILL)
    doctor.wait()
    end(pid, began)
    assert not doctor.returncode == 0

    step.recover(acting)
    assert listing(env.parent, without=tuple(path.name for path in env.parent.glob("*.gpudoctor-*"))) == start
    step.apply(acting)
    assert listing(env, without=(MANIFEST,)) == goal
    if not fresh:
        assert step.undo(acting) == ()
        assert listing(env.parent) == start

    # and once more, undone without having been resumed
    again = plan("pip", look(env, {"pypi": index.url}), packages=["torch==2.8.0+xpu"])
    if fresh:
        assert again.draft.note == f"all of it is in {env}"
        assert sorted(path.name for path in env.parent.iterdir()) == ["env"]


@pytest.mark.rotates("pip is killed and undone")
@pytest.mark.parametrize("fresh", [True, False], ids=["ours", "theirs"])
@pytest.mark.parametrize("point", [downloading, uninstalling, half_installed])
def test_killed_and_undone_at_once(
    env: Path, acting: ActingHost, index: WheelIndex, tmp_path: Path, point: Callable[[WheelIndex, Path], bool], fresh: bool
) -> None:
    site, start = env / "lib" / f"python{MINOR}" / "site-packages", listing(env.parent)
    index.slow = {"numpy": 2.0} if point is downloading else {}
    step = plan("pip", look(env, {"pypi": index.url}), packages=["torch==2.8.0+xpu"])
    step.settings = {**step.settings, "fresh": fresh}
    step.begin(acting)
    (tmp_path / "told").write_text(json.dumps({"settings": step.settings, "before": step.before}))
    doctor = subprocess.Popen([sys.executable, "-c", DOCTOR, str(TESTS), str(tmp_path / "told"), str(tmp_path)], cwd=TESTS.parent)
    until(lambda: point(index, site))
    pid, began = json.loads((tmp_path / "child").read_text())
    os.kill(doctor.pid, signal.SIGKILL)
    doctor.wait()
    end(pid, began)
    assert step.undo(acting) == ()
    assert listing(env.parent) == start
