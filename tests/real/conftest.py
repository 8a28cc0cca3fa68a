"""Real environments, real processes, real roots; and which of these tests a run takes (tests/tiers.py says how they are marked)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
import tiers
from environments import build, cache
from taking_turns import machine

Report = dict[str, Any]
SAYS = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """One day for all processes of a run, also where it goes on past midnight: workers inherit the variable."""
    try:
        tiers.day_of(os.environ.setdefault(tiers.SEED, tiers.today()))
    except tiers.SeedError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in here:
        item.add_marker(pytest.mark.real)
    if config.getoption("tier") == "full":
        return
    seed = os.environ[tiers.SEED]
    places = {item.nodeid: place_of(item) for item in here}
    chosen = tiers.daily(places, tiers.day_of(seed))
    config.stash[SAYS] = f"daily tier: {len(chosen)} of {len(here)} tests; seed {seed}"
    if hasattr(config, "workerinput"):
        (Path(config.workerinput["tier_report"]) / config.workerinput["workerid"]).write_text(config.stash[SAYS])
    config.hook.pytest_deselected(items=[item for item in here if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen or item.nodeid not in places]


def place_of(item: pytest.Item) -> tiers.Place:
    """By the marks of the test, else of its file. `by`: the parameter whose value is the member."""
    if item.get_closest_marker("full_only"):
        return tiers.Place(full_only=True)
    mark = item.get_closest_marker("rotates")
    if mark is None:
        return tiers.Place()
    given = dict(mark.kwargs)
    if "by" in given:
        given["member"] = str(item.callspec.params[given["by"]])  # type: ignore[attr-defined]
    return tiers.Place(family=mark.args[0], member=given.get("member", item.nodeid))


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    return [config.stash[SAYS]] if SAYS in config.stash else []


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Of pytest-xdist: its workers collect, and where they leave their line is for them to know."""
    factory = node.config._tmp_path_factory
    node.workerinput["tier_report"] = str(factory.getbasetemp())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    path = Path(node.workerinput["tier_report"]) / node.gateway.id
    if node.gateway.id == "gw0" and path.exists():
        node.config.get_terminal_writer().line(path.read_text())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Around everything else, so that waiting for the machine counts for no test's time."""
    if Path(__file__).parent not in item.path.parents:
        return (yield)
    with machine(cache() / "turns", alone=item.get_closest_marker("alone") is not None):
        return (yield)


@pytest.fixture(scope="session")
def environment() -> Callable[[str], Path]:
    def get(name: str) -> Path:
        try:
            return build(name)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.fail(f"the environment {name} could not be built from the package index: {error}")

    return get


@pytest.fixture
def check() -> Callable[..., Report]:
    def run(target: Path, *options: str) -> Report:
        argv = [sys.executable, "-m", "gpudoctor", "check", "--python", str(target), "--format", "json", "--budget", "90", *options]
        ran = subprocess.run(argv, capture_output=True, text=True, timeout=120)
        assert ran.returncode in (0, 1), ran.stderr
        return dict(json.loads(ran.stdout))

    return run
