"""What a child that runs a framework gets, and what it says: the same for a first computation, a probe and a worker of a measurement."""

from __future__ import annotations

import os

import pytest

from gpudoctor.system.framework_child import Caches, ending, signal_of, table_of, variables_of
from gpudoctor.system.host import PAYLOAD_MARK, Ran


class Variables:
    def __init__(self, **known: str) -> None:
        self.known = known

    def env(self, name: str) -> str | None:
        return self.known.get(name)


def test_a_child_keeps_what_the_person_set_and_leaves_nothing_at_home() -> None:
    person = Variables(TF_CPP_MIN_LOG_LEVEL="0", DLPRIM_CACHE_DIR="/home/u/kernels", SYCL_CACHE_DIR="/home/u/sycl", CI="")
    with Caches() as caches:
        found = variables_of(person, "/t", caches, {"HSA_OVERRIDE_GFX_VERSION": "10.3.0", "XDG_CACHE_HOME": "/elsewhere"})
        assert "TF_CPP_MIN_LOG_LEVEL" not in found and "DLPRIM_CACHE_DIR" not in found
        assert found["HSA_OVERRIDE_GFX_VERSION"] == "10.3.0" and found["CI"] == "true" and found["TMPDIR"] == "/t"
        moved = [found[name] for name in ("SYCL_CACHE_DIR", "XDG_CACHE_HOME", "KERAS_HOME", "POCL_CACHE_DIR")]
        assert all(os.path.isdir(path) and path.startswith(caches.path) for path in moved) and len(set(moved)) == 4
    assert not os.path.exists(caches.path)


@pytest.mark.parametrize("line", ["", "{}", PAYLOAD_MARK, PAYLOAD_MARK + "[1]", PAYLOAD_MARK + "{", PAYLOAD_MARK + "[" * 100_000])
def test_a_line_that_is_none_of_ours_says_nothing(line: str) -> None:
    assert table_of(line) is None
    assert table_of(PAYLOAD_MARK + '{"stage": "import"}') == {"stage": "import"}


def test_how_a_child_ended() -> None:
    assert ending(Ran(("python",), rc=139)) == "died of SIGSEGV" == ending(Ran(("python",), signal=11))
    assert signal_of(Ran(("python",), rc=1)) is None and ending(Ran(("python",), rc=0)) == "it ended without a result"
    assert ending(Ran(("python",), rc=3, stderr="x\nRuntimeError: \x1b[2Jno\x07 card\n")).startswith(
        "left with status 3; it printed: RuntimeE"
    )
    assert "\x1b" not in ending(Ran(("python",), rc=3, stderr="RuntimeError: \x1b[2J"))
