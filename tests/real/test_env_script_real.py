"""gpudoctor-env.py under the Pythons that people have, alone in a Debian root, from standard input, and with each of its parts broken."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from debian_root import DebianRoot

from gpudoctor.capture.environment_text import entries_of_text, holds_environment
from gpudoctor.envtext.asking import TOTAL

SCRIPT = Path(__file__).parents[2] / "gpudoctor-env.py"
LIMIT = 8192
VERSIONS = ("3.8", "3.10", "3.11", "3.13")


def python_of(version: str) -> str:
    """An interpreter of that version: uv's, pyenv's, or the system's."""
    found = [shutil.which(f"python{version}"), *(str(path) for path in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")))]
    uv = shutil.which("uv")
    if uv:
        asked = subprocess.run([uv, "python", "find", version], capture_output=True, text=True, check=False)
        found.append(asked.stdout.strip() if asked.returncode == 0 else "")
    for each in filter(None, found):
        said = subprocess.run(
            [each, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True, check=False
        )
        if said.stdout.strip() == version:
            return each
    pytest.skip(f"no Python {version} here: uv python install {version}")


def printed(argv: list[str], text: bytes = b"", folder: Path | None = None, **environment: str) -> str:
    """What it prints, which is never longer than its limit, within its time, with status 0 and nothing on standard error."""
    began = time.monotonic()
    done = subprocess.run(argv, input=text, capture_output=True, timeout=60, cwd=folder, env={**os.environ, **environment}, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    assert time.monotonic() - began < TOTAL + 5 and not done.stderr, done.stderr.decode()[-2000:]
    written = done.stdout.decode()
    assert len(done.stdout) <= LIMIT and holds_environment(written) and written.endswith("end of gpudoctor-env\n")
    return written


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", ["file", "standard input", "isolated"])
def test_it_runs(version: str, how: str, tmp_path: Path) -> None:
    python = python_of(version)
    argv = {"file": [python, str(SCRIPT)], "standard input": [python], "isolated": [python, "-I", "-"]}[how]
    written = printed(argv, b"" if how == "file" else SCRIPT.read_bytes(), tmp_path)
    assert f"\nPython version: {version}." in written and "unknown:" not in written
    assert entries_of_text(written)["machine.toml"]
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_the_current_folder_is_imported(tmp_path: Path) -> None:
    for name in ("json", "shlex", "torch", "platform"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w').close()\n")
    printed([sys.executable, "-"], SCRIPT.read_bytes(), tmp_path)
    assert not (tmp_path / "imported").exists()


def functions() -> list[str]:
    """The functions and methods of the script in which something could go wrong."""
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    methods = [f"{node.name}.{inner.name}" for node in tree.body if isinstance(node, ast.ClassDef) and node.name in ("Asker", "LocalDoor")
               for inner in node.body if isinstance(inner, ast.FunctionDef) and inner.name not in ("__init__",)]  # fmt: skip
    return [*methods, "heading", "environment", "kept", "kept_name"]


@pytest.mark.parametrize("trouble", ["raise ValueError('broken')", "time.sleep(100)"])
@pytest.mark.parametrize("name", functions())
def test_a_part_that_fails_or_hangs_ends_nothing(name: str, trouble: str, tmp_path: Path) -> None:
    """Each function in turn raises or hangs; the text comes all the same."""
    broken = f"def broken(*_, **__):\n\t{trouble}\n{name} = broken\n"
    source = SCRIPT.read_text(encoding="utf-8").replace('if __name__ == "__main__":', f'{broken}if __name__ == "__main__":')
    source = source.replace("TOTAL=20.0", "TOTAL=6.0").replace("FRAMEWORK_SECONDS=14.0", "FRAMEWORK_SECONDS=2.0")
    done = subprocess.run([sys.executable, "-I", "-"], input=source.encode(), capture_output=True, timeout=60, cwd=tmp_path, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()[-2000:]
    assert b"gpudoctor-env 3: " in done.stdout and done.stdout.endswith(b"end of gpudoctor-env\n") and len(done.stdout) <= LIMIT


def test_tools_that_hang_are_left_after_their_time(tmp_path: Path) -> None:
    for name in ("nvidia-smi", "clinfo", "rocminfo"):
        (tmp_path / name).write_text("#!/bin/sh\nsleep 1000 & sleep 1000\n")
        (tmp_path / name).chmod(0o755)
    written = printed([sys.executable, str(SCRIPT)], PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert "$ nvidia-smi --query-gpu" in written and "(no end)" in written
    assert subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, check=False).stdout == b""


def test_a_debian_root_with_nothing_else() -> None:
    with DebianRoot.fresh(suite="bookworm") as root:
        shutil.copy(SCRIPT, root.path / "gpudoctor-env.py")
        before = root.state()
        written = root.run(["python3", "/gpudoctor-env.py"]).stdout
        assert 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"' in written and "Python version: 3.11." in written
        assert root.state().differences(before) == []


def test_without_proc_and_sys(tmp_path: Path) -> None:
    """In a root whose /proc and /sys nobody mounted."""
    with DebianRoot.fresh(suite="bookworm") as root:
        shutil.copy(SCRIPT, root.path / "gpudoctor-env.py")
        done = subprocess.run(["chroot", str(root.path), "python3", "/gpudoctor-env.py"], capture_output=True, timeout=60, check=False)
        assert done.returncode == 0 and done.stdout.endswith(b"end of gpudoctor-env\n") and not done.stderr
