"""Vendor tools that hang, flood, crash or leave children behind: `check` keeps to its budget and says what it missed."""

import json
import os
import subprocess
import sys
import time

import psutil
import pytest

TOOLS = ("nvidia-smi", "clinfo", "rocminfo", "rocm-smi", "amd-smi", "xpu-smi", "sycl-ls", "gc-info", "gc-inventory", "lspci")
MARK = "gpudoctor-hostile-stub"
STUBS = {
    "hangs": "exec sleep 600",
    "floods": "exec head -c 1000000000 /dev/zero",
    "prints random bytes": "exec head -c 200000 /dev/urandom",
    "exits 139": "exit 139",
    "dies by a signal": "kill -SEGV $$",
    "leaves a grandchild on the pipe": "sleep 600 & exit 0",
    "leaves a grandchild in its own session": "setsid sleep 600 & exit 0",
    "prints escapes": r"printf '\033]0;owned\007\033[2J{\"platforms\": [{\"CL_PLATFORM_NAME\": \"\033[31mred\"}]}'",
}


def check(folder, *options, budget=6):
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "check", "--format", "json", "--budget", str(budget), "--python", sys.executable, *options],
        env={**os.environ, "PATH": path, "GPUDOCTOR_STUB": MARK}, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done, time.monotonic() - began


def left_behind():
    """Processes that still carry the mark of the stubs in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get("GPUDOCTOR_STUB") == MARK and process.status() != "zombie":
                found.append(process.cmdline())
        except psutil.Error:
            continue
    return found


@pytest.mark.rotates("a hostile tool")
@pytest.mark.parametrize("behaviour", STUBS)
def test_check_ends_within_its_budget_and_leaves_nothing_running(behaviour, tmp_path):
    for tool in TOOLS:
        stub = tmp_path / tool
        stub.write_text(f"#!/bin/sh\n{STUBS[behaviour]}\n")
        stub.chmod(0o755)
    done, seconds = check(tmp_path)
    assert seconds < 6 + 2
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    assert report["facts"]["kernel"]["release"] == os.uname().release
    assert report["facts"]["python"]["version"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}")
    assert not any("clinfo" in finding["title"] for finding in report["findings"] if finding["severity"] == "error")
    assert "\x1b" not in done.stdout
    assert left_behind() == []


def test_a_tool_that_hangs_is_named_on_the_screen(tmp_path):
    stub = tmp_path / "lspci"
    stub.write_text("#!/bin/sh\nexec sleep 600\n")
    stub.chmod(0o755)
    (tmp_path / "clinfo").symlink_to(stub)
    done = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "check", "--budget", "4"],
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "clinfo" in done.stdout
    assert "timeout" in done.stdout or "incomplete" in done.stdout
