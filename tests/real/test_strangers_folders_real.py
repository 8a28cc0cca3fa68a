"""Every command that only looks, as root in a folder in which another user has left programs: nothing of his is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.real, pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="gives files to other users")]
SOMEBODY = 61_234
MODULES = ("torch", "numpy", "sitecustomize", "gpudoctor", "json", "click")
PROGRAMS = ("python", "python3", "pip", "uv", "nvidia-smi", "clinfo", "lspci", "git", "sudo", "conda")
COMMANDS = (
    ["check"], ["check", "--quick"], [], ["report", "-o", "{out}/report.md"], ["report", "-o", "{out}/report.zip"],
    ["capture", "-o", "{out}/there.tar.gz"], ["setup"], ["setup", "cpu", "--plan"], ["setup", "cuda", "--plan", "--format", "json"],
    ["audit"], ["audit", "requirements.txt", "--backend", "cpu"], ["explain", "log.txt"], ["list", "devices"], ["validate", "--quick"],
    ["diff", "{machine}", "{machine}"],
)  # fmt: skip
MACHINE = Path(__file__).parents[1] / "machines" / "rtx4090-healthy"


@pytest.fixture
def folder() -> Iterator[Path]:
    """With an environment, modules and tools that leave a trace when they are run, all of them somebody's."""
    top = Path(tempfile.mkdtemp(prefix="gpudoctor-somebody-", dir="/tmp"))
    top.chmod(0o755)
    trap = f'#!/bin/sh\necho "$0 $@" >> {top}/ran\nexec /usr/bin/python3 "$@"\n'
    for place in (".venv", "venv", "env"):
        (top / place / "bin").mkdir(parents=True)
        site = top / place / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
        (site / "torch-2.8.0.dist-info").mkdir(parents=True)
        (site / "torch-2.8.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0\n")
        (site / "evil.pth").write_text(f"import os; os.system('echo pth >> {top}/ran')\n")
        (top / place / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.2\n")
        (top / place / "bin/activate").write_text(f'VIRTUAL_ENV="{top / place}"\n')
    for where in (top, top / "bin", *(top / place / "bin" for place in (".venv", "venv", "env"))):
        where.mkdir(exist_ok=True)
        for name in PROGRAMS:
            (where / name).write_text(trap)
            (where / name).chmod(0o755)
    for name in MODULES:
        (top / f"{name}.py").write_text(f"open({str(top / 'ran')!r}, 'a').write('module {name}')\n")
    (top / "requirements.txt").write_text("torch==2.8.0\n")
    (top / "log.txt").write_text("RuntimeError: No CUDA GPUs are available\n")
    (top / ".env").write_text("PYTHONSTARTUP=torch.py\n")
    for path in [top, *top.rglob("*")]:
        os.lchown(path, SOMEBODY, SOMEBODY)
    yield top
    shutil.rmtree(top)


@pytest.mark.rotates("a command in a stranger's folder")
@pytest.mark.timeout(200)
@pytest.mark.parametrize("words", COMMANDS, ids=[" ".join(words) or "alone" for words in COMMANDS])
def test_nothing_of_it_is_run(words: list[str], folder: Path, tmp_path: Path) -> None:
    """`.` and folders of his stand on PATH too, as in a shell that was set up carelessly."""
    variables = {
        "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path),
        "PATH": f".:{folder}/bin:{folder}/.venv/bin:/usr/sbin:/usr/bin:/sbin:/bin", "VIRTUAL_ENV": str(folder / ".venv"), "NO_COLOR": "1",
    }  # fmt: skip
    argv = [str(Path(sys.executable).with_name("gpudoctor")), *(word.format(out=tmp_path, machine=MACHINE) for word in words)]
    done = subprocess.run(
        argv, cwd=folder, env=variables, capture_output=True, text=True, timeout=180, check=False, stdin=subprocess.DEVNULL
    )
    ran = (folder / "ran").read_text() if (folder / "ran").exists() else ""
    assert not ran, ran
    assert done.returncode in (0, 1, 4) and "Traceback" not in done.stderr, done.stderr[-600:]


def test_the_trap_shuts(folder: Path, tmp_path: Path) -> None:
    """What the other test looks for is there as soon as somebody asks for it by name."""
    argv = [str(Path(sys.executable).with_name("gpudoctor")), "check", "--python", str(folder / ".venv")]
    variables = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    subprocess.run(argv, cwd=folder, env=variables, capture_output=True, timeout=180, check=False)
    assert "bin/python" in (folder / "ran").read_text()
