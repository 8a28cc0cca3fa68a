"""Settings for all tests."""

from __future__ import annotations

import gc
import os
import signal

import pytest
from hypothesis import Phase, settings

from gpudoctor.start import SELDOM

os.environ.setdefault("GPUDOCTOR_HISTORY", "0")  # tests leave no trace in the history of who runs them

gc.set_threshold(*SELDOM)  # as for a command: what a test worker builds lives long, and searching it for cycles takes its time

# How long one example takes says more of the machine than of the code.
settings.register_profile("patient", deadline=None)
# For tests/code_mutants.py: few examples, the same ones each time; a failure is enough, the smallest is not searched for.
settings.register_profile(
    "mutants", deadline=None, max_examples=25, derandomize=True, database=None, phases=(Phase.explicit, Phase.generate),
)  # fmt: skip
settings.load_profile("patient")


def pytest_configure(config: pytest.Config) -> None:
    """What every child process of a test finds: the cache of the checkout, and Ctrl-C as a terminal gives it.

    Without the cache each child with a home of its own would compile all checks again. A shell that runs the tests in the background has
    them ignore Ctrl-C, and whoever they start would inherit that.
    """
    os.environ["XDG_CACHE_HOME"] = str(config.rootpath / ".pytest_cache" / "home")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Here, since pytest reads options of the outermost conftest alone; tests/real/conftest.py acts on it."""
    parser.addoption("--tier", choices=("daily", "full"), default="full", help="how much of tests/real is run (tests/tiers.py)")
