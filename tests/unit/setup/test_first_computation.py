"""What the child says is believed only as far as it goes: every way to end is a result with its stage."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.setup.first_computation import STAGES, Computed, compute, parse
from gpudoctor.system.host import PAYLOAD_MARK, Ran

pytestmark = pytest.mark.starts_processes("the computation is a child that crashes, hangs or floods")

GOOD = (
    {"stage": "import"},
    {"stage": "import", "version": "2.8.0"},
    {"stage": "device"},
    {"stage": "device", "ok": True, "device": "xpu:0", "name": "Intel Arc A770", "devices": [{"id": "xpu:0", "name": "Intel Arc A770"}]},
    {"stage": "allocate"},
    {"stage": "compute"},
    {"stage": "compare"},
    {"stage": "compare", "ok": True, "max_relative_error": 2e-7, "tolerance": 1e-3, "worst": "gradient 0"},
    {"stage": "done"},
)


def said(*lines: object, stderr: str = "", rc: int | None = 0, **how: object) -> Computed:
    text = "\n".join(PAYLOAD_MARK + json.dumps(line) for line in lines)
    return parse(Ran(("python",), rc=rc, stdout=text, stderr=stderr, seconds=3.0, **how), "torch-xpu")  # type: ignore[arg-type]


def with_comparison(**values: object) -> Computed:
    return said(*GOOD[:-2], {**GOOD[-2], **values}, GOOD[-1])


def test_a_computation_that_is_equal() -> None:
    result = said(*GOOD)
    assert (result.ok, result.no_device, result.stage) == (True, False, "compare")
    assert (result.device, result.device_name, result.max_relative_error, result.tolerance) == ("xpu:0", "Intel Arc A770", 2e-7, 1e-3)
    assert result.text == "computed on xpu:0 (Intel Arc A770), equal to the CPU within 1e-3"


def test_no_device_is_not_a_failure_of_the_installation() -> None:
    result = said(*GOOD[:3], {"stage": "device", "ok": False, "reason": "no Intel GPU here: torch.xpu lists none"})
    assert (result.ok, result.no_device, result.stage) == (False, True, "device")
    assert result.text == "installed, not verified: no Intel GPU here (torch.xpu lists none)"


@pytest.mark.parametrize("error", [0.31, 1.1e-3])
def test_a_wrong_result_is_seen_although_the_child_calls_it_ok(error: float) -> None:
    result = with_comparison(max_relative_error=error, ok=True)
    assert not result.ok and not result.no_device
    assert "gradient 0 differs from the CPU" in result.text and "1e-3 is allowed" in result.text


@pytest.mark.parametrize("error", [None, float("nan"), float("inf"), -1.0, True, "0", [], {}])
def test_an_error_that_is_no_number_is_never_equal(error: object) -> None:
    result = with_comparison(max_relative_error=error)
    assert not result.ok
    assert result.max_relative_error is None
    assert "no finite numbers" in result.text


@pytest.mark.parametrize("tolerance", [None, 1e9, -1, True, "1e-3"])
def test_a_tolerance_that_allows_anything_is_refused(tolerance: object) -> None:
    assert not with_comparison(tolerance=tolerance).ok


@pytest.mark.parametrize("count", range(len(GOOD)))
def test_what_breaks_off_is_never_ok_and_names_its_stage(count: int) -> None:
    result = said(*GOOD[:count], rc=None, signal=11)
    reached = [line["stage"] for line in GOOD[:count]]
    assert not result.ok and not result.no_device
    assert result.stage == (reached[-1] if reached else "")
    assert result.error == f"{result.stage or 'start'}: died of SIGSEGV"


def test_a_hang_names_the_stage_and_the_seconds() -> None:
    assert said(*GOOD[:6], rc=None, timed_out=True).error == "compute: no end after 3 s"


def test_a_flood_is_no_result() -> None:
    assert said(*GOOD[:6], rc=None, truncated=True).error == "compute: it printed without end"


def test_the_message_of_the_framework_and_what_it_printed() -> None:
    line = {"stage": "failed", "error": "AttributeError: exit\nmore"}
    result = said(GOOD[0], line, stderr="a warning\nERROR! needs PyTorch 2.8\nbye")
    assert result.error == "import: AttributeError: exit more; it printed: ERROR! needs PyTorch 2.8"


def test_done_alone_proves_nothing() -> None:
    assert not said({"stage": "done"}).ok
    assert not said(*GOOD[:3], *GOOD[4:]).ok, "no device was named"


def test_terminal_sequences_and_endless_names_do_not_reach_the_screen() -> None:
    name = "\x1b]0;owned\x07Arc\u202e\n" + "x" * 5000
    device = {**GOOD[3], "name": name}
    text = said(*GOOD[:3], device, *GOOD[4:]).text
    assert text.isprintable()
    assert len(text) < 300


@pytest.mark.parametrize(
    "line",
    ["", "[]", "null", "{", '"device"', '{"stage": []}', '{"stage": {"stage": 1}}', "[" * 100_000, '{"stage": "device", "ok": "yes"}'],
)
def test_lines_that_are_not_ours_change_nothing(line: str) -> None:
    good = "\n".join(PAYLOAD_MARK + json.dumps(part) for part in GOOD[:-1])
    text = f"{good}\n{PAYLOAD_MARK}{line}\nnoise\n{PAYLOAD_MARK}{json.dumps(GOOD[-1])}"
    assert parse(Ran(("python",), rc=0, stdout=text), "torch-xpu").max_relative_error == 2e-7


_scalars = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20)
_lines = st.dictionaries(
    st.sampled_from(["stage", "ok", "device", "name", "reason", "error", "max_relative_error", "tolerance", "worst", "trying"]),
    _scalars | st.lists(_scalars, max_size=3) | st.sampled_from([*STAGES, "done", "failed"]),
)


@given(st.lists(_lines, max_size=8))
def test_whatever_it_says_there_is_one_printable_line(lines: list[dict[str, object]]) -> None:
    result = said(*lines)
    assert result.text.isprintable()
    assert not (result.ok and result.no_device)
    assert not result.ok or (result.max_relative_error is not None and result.max_relative_error <= (result.tolerance or 0))


def test_pytorch_ocl_names_its_device_only_in_what_it_prints() -> None:
    lines = [{**part, "device": "ocl:0", "name": ""} if part is GOOD[3] else part for part in GOOD]
    text = "\n".join(PAYLOAD_MARK + json.dumps(line) for line in lines)
    result = parse(Ran(("python",), rc=0, stdout=text, stderr="Accessing device #0:GeForce GTX 960 on NVIDIA CUDA\n"), "torch-opencl")
    assert result.text.startswith("computed on ocl:0 (GeForce GTX 960 on NVIDIA CUDA)")


def interpreter(folder: Path, *lines: str) -> str:
    """A stand-in for the interpreter of the target environment."""
    path = folder / "python"
    path.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def line(**what: object) -> str:
    return f"echo '{PAYLOAD_MARK}{json.dumps(what)}'"


def test_a_child_that_hangs_is_ended(tmp_path: Path) -> None:
    python = interpreter(tmp_path, line(stage="import"), line(stage="device"), "sleep 60")
    result = compute("torch-xpu", python, limit=1.0)
    assert result.error == "device: no end after 1 s"
    assert result.seconds < 5


def test_a_child_that_crashes(tmp_path: Path) -> None:
    result = compute("torch-xpu", interpreter(tmp_path, line(stage="import"), line(stage="compute"), "kill -SEGV $$"))
    assert result.error == "compute: died of SIGSEGV"


def test_a_child_that_floods(tmp_path: Path) -> None:
    result = compute("torch-xpu", interpreter(tmp_path, line(stage="import"), "yes"), limit=20.0)
    assert result.error == "import: it printed without end"


def test_an_interpreter_that_is_gone(tmp_path: Path) -> None:
    result = compute("torch-xpu", str(tmp_path / "python"))
    assert (result.ok, result.no_device) == (False, False)
    assert result.error == f"the interpreter {tmp_path}/python is missing"


def test_the_child_gets_the_variables_of_the_plan_and_caches_that_go_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    python = interpreter(tmp_path, f'env > "{tmp_path}/env"', f'touch "$POCL_CACHE_DIR/kernel" "$TMPDIR/x"; echo "$@" > "{tmp_path}/argv"')
    compute("torch-rocm:cuda:1", python, variables={"HSA_OVERRIDE_GFX_VERSION": "10.3.0", "XDG_CACHE_HOME": "/elsewhere"})
    got = dict(entry.split("=", 1) for entry in (tmp_path / "env").read_text().splitlines() if "=" in entry)
    assert got["HSA_OVERRIDE_GFX_VERSION"] == "10.3.0"
    assert got["HOME"] == str(tmp_path / "home")
    assert got["XDG_CACHE_HOME"] != "/elsewhere", "nothing is left anywhere"
    assert got["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert not os.path.exists(os.path.dirname(got["POCL_CACHE_DIR"]))
    assert (tmp_path / "argv").read_text().split()[-2:] == ["torch-rocm", "cuda:1"]
