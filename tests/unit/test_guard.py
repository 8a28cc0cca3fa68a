"""The guard of tests/unit/conftest.py: a unit test that starts a process or asks the network fails and reads why."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.starts_processes("a pytest of its own, since the guard of this one would be asked as well")

TESTS = """
import os, socket, subprocess, sys, threading
import pytest

def test_subprocess(): subprocess.run([sys.executable, "-c", ""])
def test_system(): os.system("true")
def test_fork(): os.fork() or os._exit(0)
def test_spawn(): os.posix_spawn("/bin/true", ["true"], {})
def test_network(): socket.create_connection(("192.0.2.1", 80), 0.1)
def test_name(): socket.getaddrinfo("example.org", 80)
def test_caught():
    try:
        subprocess.run(["true"])
    except Exception:
        pass
def test_thread():
    thread = threading.Thread(target=subprocess.run, args=(["true"],))
    thread.start()
    thread.join()
@pytest.fixture(scope="module")
def made(): subprocess.run(["true"])
def test_fixture(made): pass

def test_loopback_is_free():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()): pass
@pytest.mark.starts_processes("said why")
def test_said_why(): subprocess.run([sys.executable, "-c", ""], check=True)
"""


@pytest.fixture
def guarded(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\n")  # else folders above are searched
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text("utf-8"))
    return pytester


def test_every_way_out_is_refused_and_says_where_it_belongs(guarded: pytest.Pytester) -> None:
    guarded.makepyfile(TESTS)
    done = guarded.runpytest_subprocess("-p", "no:cacheprovider", "-rfE", "-W", "ignore")
    done.assert_outcomes(failed=8, errors=1, passed=2)
    text = str(done.stdout)
    assert text.count("a unit test starts a process") >= 7 and text.count("a unit test asks the network") >= 2
    assert "tests/real" in text and "starts_processes(reason)" in text


@pytest.mark.parametrize("mark", ["starts_processes", "starts_processes()", "starts_processes(' ')"])
def test_a_mark_without_a_reason_is_an_error(guarded: pytest.Pytester, mark: str) -> None:
    guarded.makepyfile(f"import pytest\n@pytest.mark.{mark}\ndef test_it(): pass")
    done = guarded.runpytest_subprocess("-p", "no:cacheprovider")
    assert done.ret != 0 and "starts_processes needs a reason" in str(done.stderr) + str(done.stdout)
