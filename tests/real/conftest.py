"""Each test here runs `gpudoctor check` as a person does, on an environment that pip really made."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from environments import build, cache
from taking_turns import machine

Report = dict[str, Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.real)


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
