"""The commands that only look, in a Python that lacks what Windows and macOS lack."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MACHINE = ROOT / "tests" / "machines" / "rtx4090-healthy"

# The standard library and the dependencies are imported first: they decide by these names too, and are those of this system.
WITHOUT = """
import asyncio, concurrent.futures, contextlib, ctypes, fcntl, grp, io, json, os, pwd, resource, runpy, selectors, shutil, signal, socket
import sqlite3
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
told = []
for words in {commands!r}:
    sys.argv = ["gpudoctor", *words]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as error:
        try:
            runpy.run_module("gpudoctor", run_name="__main__")
            status = 0
        except SystemExit as end:
            status = end.code or 0
    told.append((status, out.getvalue(), error.getvalue()))
json.dump(told, sys.stdout)
"""
WINDOWS_LACKS = [
    "os.geteuid", "os.getuid", "os.getegid", "os.getgid", "os.killpg", "os.getsid", "os.setsid", "os.setpriority", "os.waitid",
    "os.WNOHANG", "os.fork", "os.sysconf", "os.uname", "os.statvfs", "os.listxattr", "os.getxattr", "os.chown", "os.set_blocking",
    "os.sched_getaffinity", "os.getloadavg", "signal.SIGKILL", "signal.SIGHUP", "signal.SIGALRM", "fcntl", "pwd", "grp", "resource",
    "termios",
]  # fmt: skip
MACOS_LACKS = ["os.waitid", "os.sched_getaffinity", "os.listxattr", "os.getxattr", "os.pipe2"]


COMMANDS = [
    ["check"],
    ["check", "--quick"],
    ["check", "--capture", str(MACHINE)],
    ["explain", "log.txt"],
    ["audit", "--backend", "cuda", "requirements.txt"],
    ["report", "--format", "json"],
    ["list", "stacks"],
]


@pytest.mark.starts_processes("a Python without the names that another system lacks")
@pytest.mark.parametrize(("system", "lacks"), [("win32", WINDOWS_LACKS), ("darwin", MACOS_LACKS)], ids=["windows", "macos"])
def test_no_command_needs_a_name_that_its_system_lacks(system: str, lacks: list[str], tmp_path: Path) -> None:
    """All commands in one process, one after another."""
    (tmp_path / "log.txt").write_text("RuntimeError: CUDA error: no kernel image is available for execution on the device\n")
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\ntorchvision==0.21.0\n")
    platform = f"sys.platform = {system!r}"
    if system == "win32":
        platform += "\nimport types; sys.modules['msvcrt'] = types.SimpleNamespace(locking=lambda *words: None, LK_NBLCK=2)"
    script = WITHOUT.format(names=lacks, platform=platform, commands=COMMANDS)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr[-2000:]
    for words, (status, out, error) in zip(COMMANDS, json.loads(ran.stdout), strict=True):
        assert status in (0, 1) and out, (words, error[-2000:])
        assert "bug in gpudoctor" not in error and "Traceback" not in error, words
