"""The commands that only look, in a Python that lacks what Windows and macOS lack."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MACHINE = ROOT / "tests" / "machines" / "rtx4090-healthy"

# The standard library and the dependencies are imported first: they decide by these names too, and are those of this system.
WITHOUT = """
import asyncio, concurrent.futures, contextlib, ctypes, fcntl, grp, os, pwd, resource, runpy, selectors, shutil, signal, socket, sqlite3
import ssl, subprocess, sys, tarfile, tempfile, threading, zipfile
import click, packaging.requirements, psutil, requests, rich.console, rich.progress, tldextract
names = {names!r}
for name in names:
    module, _, attribute = name.rpartition(".")
    if module:
        if hasattr(sys.modules[module], attribute):
            delattr(sys.modules[module], attribute)
    else:
        sys.modules[name] = None
{platform}
sys.argv = ["gpudoctor", *{arguments!r}]
runpy.run_module("gpudoctor", run_name="__main__")
"""
WINDOWS_LACKS = [
    "os.geteuid", "os.getuid", "os.getegid", "os.getgid", "os.killpg", "os.getsid", "os.setsid", "os.setpriority", "os.waitid",
    "os.WNOHANG", "os.fork", "os.sysconf", "os.uname", "os.statvfs", "os.listxattr", "os.getxattr", "os.chown", "os.set_blocking",
    "os.sched_getaffinity", "os.getloadavg", "signal.SIGKILL", "signal.SIGHUP", "signal.SIGALRM", "fcntl", "pwd", "grp", "resource",
    "termios",
]  # fmt: skip
MACOS_LACKS = ["os.waitid", "os.sched_getaffinity", "os.listxattr", "os.getxattr", "os.pipe2"]


def run(system: str, lacks: list[str], arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    platform = f"sys.platform = {system!r}"
    if system == "win32":
        platform += "\nimport types; sys.modules['msvcrt'] = types.SimpleNamespace(locking=lambda *words: None, LK_NBLCK=2)"
    script = WITHOUT.format(names=lacks, platform=platform, arguments=arguments)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, cwd=folder)


@pytest.mark.starts_processes("a Python without the names that another system lacks")
@pytest.mark.parametrize(("system", "lacks"), [("win32", WINDOWS_LACKS), ("darwin", MACOS_LACKS)], ids=["windows", "macos"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "--quick"],
        ["check", "--capture", str(MACHINE)],
        ["explain", "log.txt"],
        ["audit", "--backend", "cuda", "requirements.txt"],
        ["report", "--format", "json"],
        ["list", "stacks"],
    ],
    ids=lambda words: " ".join(words[:2]) if "--capture" not in words else "check of a capture",
)
def test_a_command_needs_no_name_that_its_system_lacks(system: str, lacks: list[str], arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("RuntimeError: CUDA error: no kernel image is available for execution on the device\n")
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\ntorchvision==0.21.0\n")
    ran = run(system, lacks, arguments, tmp_path)
    assert ran.returncode in (0, 1) and ran.stdout, ran.stderr[-2000:]
    assert "bug in gpudoctor" not in ran.stderr and "Traceback" not in ran.stderr
