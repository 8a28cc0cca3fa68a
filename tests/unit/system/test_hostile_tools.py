"""Tools that hang, flood, crash or leave children behind: an answer in time, and nobody left."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gpudoctor.system.local_host import LocalHost

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="process groups and /proc"),
    pytest.mark.starts_processes("small scripts stand for tools that hang, flood and fork"),
]


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def tool(folder: Path, name: str, body: str, interpreter: str = "/bin/sh") -> None:
    path = folder / name
    path.write_text(f"#!{interpreter}\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def gone_soon(pid: int) -> bool:
    for _ in range(50):
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


def test_hangs_forever(tools: Path) -> None:
    tool(tools, "sycl-ls", f"echo $$ > {tools}/pid; echo before; sleep 1000")
    began = time.monotonic()
    ran = LocalHost().run(["sycl-ls"], timeout=0.5)
    assert time.monotonic() - began < 2
    assert ran.timed_out and ran.rc is None and ran.stdout == "before\n"
    assert gone_soon(int((tools / "pid").read_text()))


def test_ignores_polite_signals(tools: Path) -> None:
    tool(tools, "clinfo", "trap '' TERM INT HUP; while :; do sleep 0.05; done")
    ran = LocalHost().run(["clinfo"], timeout=0.3)
    assert ran.timed_out


def test_floods(tools: Path) -> None:
    tool(tools, "clinfo", "exec yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
    began = time.monotonic()
    ran = LocalHost().run(["clinfo"], timeout=20, limit=100_000)
    assert time.monotonic() - began < 5
    assert ran.truncated and not ran.timed_out and 0 < len(ran.stdout) < 100_000
    assert ran.why_not().startswith("too large")


def test_floods_errors(tools: Path) -> None:
    tool(tools, "clinfo", "exec yes >&2")
    ran = LocalHost().run(["clinfo"], timeout=20, limit=100_000)
    assert ran.truncated and 0 < len(ran.stderr) < 100_000


def test_random_bytes(tools: Path) -> None:
    tool(tools, "rocminfo", "head -c 5000 /dev/urandom; printf '\\377\\376'")
    ran = LocalHost().run(["rocminfo"])
    assert ran.rc == 0 and "�" in ran.stdout
    ran.stdout.encode("utf-8")


def test_exit_139_and_segfault(tools: Path) -> None:
    tool(tools, "nvidia-smi", "exit 139")
    tool(tools, "rocminfo", "kill -SEGV $$")
    host = LocalHost()
    assert host.run(["nvidia-smi"]).rc == 139
    crashed = host.run(["rocminfo"])
    assert crashed.signal == 11 and crashed.rc is None and crashed.why_not().startswith("crashed")


def test_grandchild_keeps_the_pipe(tools: Path) -> None:
    tool(tools, "clinfo", f"sleep 1000 & echo $! > {tools}/pid; echo done")
    began = time.monotonic()
    ran = LocalHost().run(["clinfo"], timeout=10)
    assert time.monotonic() - began < 3
    assert ran.rc == 0 and ran.stdout == "done\n"
    assert gone_soon(int((tools / "pid").read_text()))


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open({pid!r}, "w").write(str(os.getpid()))
        if {quiet}:
            for fd in (0, 1, 2): os.close(fd)
        time.sleep(1000)
    os._exit(0)
while not (os.path.exists({pid!r}) and os.path.getsize({pid!r})): time.sleep(0.01)
print("done", flush=True)
if {hang}: time.sleep(1000)
"""


@pytest.mark.parametrize("quiet", [True, False])
@pytest.mark.parametrize("hang", [True, False])
def test_grandchild_in_its_own_session(tools: Path, quiet: bool, hang: bool) -> None:
    pid = str(tools / "pid")
    tool(tools, "gc-monitor", DAEMON.format(pid=pid, quiet=quiet, hang=hang), sys.executable)
    began = time.monotonic()
    ran = LocalHost().run(["gc-monitor"], timeout=2)
    assert time.monotonic() - began < 4
    assert ran.stdout == "done\n" and ran.timed_out is hang
    assert gone_soon(int(Path(pid).read_text()))


def test_parallel_runs_do_not_kill_each_other(tools: Path) -> None:
    for number in range(6):
        tool(tools, f"tool{number}", f"sleep 0.{number + 2}; echo ok{number}")
    tool(tools, "bad", "setsid sleep 1000 & exit 0")
    host = LocalHost()
    answers: dict[str, str] = {}

    def ask(name: str) -> None:
        answers[name] = host.run([name]).stdout

    threads = [threading.Thread(target=ask, args=(name,)) for name in [*(f"tool{n}" for n in range(6)), "bad"]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answers[f"tool{n}"] for n in range(6)] == [f"ok{n}\n" for n in range(6)]


def test_other_children_are_left_alone(tools: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        tool(tools, "clinfo", "setsid sleep 1000 & sleep 1000")
        assert LocalHost().run(["clinfo"], timeout=0.3).timed_out
        assert other.poll() is None
        other.kill()


def test_once_per_argv(tools: Path) -> None:
    tool(tools, "clinfo", f"echo x >> {tools}/count")
    host = LocalHost()
    threads = [threading.Thread(target=host.run, args=(["clinfo"],)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tools / "count").read_text() == "x\n"


def test_budget_bounds_everything(tools: Path) -> None:
    tool(tools, "clinfo", "sleep 1000")
    tool(tools, "other", f"touch {tools}/started")
    host = LocalHost(budget=0.3)
    began = time.monotonic()
    assert host.run(["clinfo"], timeout=50).timed_out
    assert host.run(["other"]).timed_out
    assert time.monotonic() - began < 2
    assert not (tools / "started").exists()


def test_quick_starts_nothing(tools: Path) -> None:
    tool(tools, "clinfo", f"touch {tools}/started")
    host = LocalHost(quick=True)
    assert host.run(["clinfo"]).not_recorded
    assert host.run_child(["clinfo"], timeout=1, limit=10, env={}).not_recorded
    assert not (tools / "started").exists()


def test_surroundings(tools: Path) -> None:
    tool(tools, "show", 'echo "$LC_ALL $1"; cat; pwd; exit 3')
    ran = LocalHost().run(["show", "$(id); `id` | x"])
    assert (ran.rc, ran.stdout) == (3, "C $(id); `id` | x\n/\n")


def test_a_tool_that_opens_a_vulkan_device_leaves_no_cache(tools: Path) -> None:
    """Mesa makes ~/.cache/mesa_shader_cache else, in the folder that the system knows for the user, whatever HOME says."""
    tool(tools, "show", 'echo "$MESA_SHADER_CACHE_DISABLE"')
    assert LocalHost().run(["show"]).stdout == "true\n"


def test_child_gets_input_and_environment(tools: Path) -> None:
    tool(tools, "show", 'echo "$FOO"; cat; nice')
    host = LocalHost()
    ran = host.run_child(["show"], timeout=5, limit=1000, env={"FOO": "bar"}, stdin_text="hello\n")
    assert ran.stdout.splitlines()[:2] == ["bar", "hello"]


def test_missing_and_unstartable(tools: Path) -> None:
    host = LocalHost()
    assert host.run(["no-such-tool"]).missing
    assert host.run(["./relative"]).missing
    (tools / "broken").write_bytes(b"\x00\x01")
    os.chmod(tools / "broken", 0o755)
    ran = host.run(["broken"])
    assert ran.rc == 126 and ran.stderr
    tool(tools, "dangling", "", "/no/such/interpreter")
    assert host.run(["dangling"]).missing
    assert not host.run(["x\x00y"]).ok
