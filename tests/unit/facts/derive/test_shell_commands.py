"""Commands of checks on Windows: variables as cmd sets them, and nothing that only a POSIX shell understands."""

from __future__ import annotations

import re

import pytest
from whole_catalogue import catalogue

from gpudoctor.facts.derive.shell_commands import for_shell

POSIX = re.compile(r"^(?:export|unset|source|sudo) |(?<![\w$:])\$[({A-Za-z](?!nv:)|^[A-Z_]+=\S* ")


@pytest.mark.parametrize("platform", ["linux", "wsl2", "container", "macos", ""])
def test_elsewhere_they_stay(platform: str) -> None:
    commands = ("export A=1", "unset B", "sudo reboot")
    assert for_shell(platform, commands) == commands


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("unset CUDA_VISIBLE_DEVICES", ("set CUDA_VISIBLE_DEVICES=",)),
        ("unset LD_LIBRARY_PATH PYTHONPATH", ("set PYTHONPATH=",)),
        ("export NCCL_P2P_DISABLE=1 NCCL_DEBUG=INFO", ("set NCCL_P2P_DISABLE=1", "set NCCL_DEBUG=INFO")),
        ("export VK_LOADER_DRIVERS_DISABLE='*dzn*'", ("set VK_LOADER_DRIVERS_DISABLE=*dzn*",)),
        ("export LD_PRELOAD=libx.so", ()),
        ("export CUDA_HOME=/usr/local/cuda", ()),
        ("export CUPY_CACHE_DIR=$HOME/cache", ()),
        ("CUDA_LAUNCH_BLOCKING=1 python a.py", ("set CUDA_LAUNCH_BLOCKING=1", "python a.py")),
        ('CMAKE_ARGS="-DA=ON -DB=icx" pip install x', ('set "CMAKE_ARGS=-DA=ON -DB=icx"', "pip install x")),
        ("A=1 ./program 2>&1 | head -40", ()),
        ("source /opt/intel/oneapi/setvars.sh", (r'"C:\Program Files (x86)\Intel\oneAPI\setvars.bat"',)),
        ("source /path/to/enable", ()),
        ("sudo usermod -aG render me", ()),
        ("ls -l /dev/dri", ()),
        ("wsl ls -l /dev/dxg", ("wsl ls -l /dev/dxg",)),
        ("docker run --device /dev/dri IMAGE", ("docker run --device /dev/dri IMAGE",)),
        ('$env:A="1"; pip install x', ('$env:A="1"; pip install x',)),
        ('python -c "import torch; print(torch.__version__)"', ('python -c "import torch; print(torch.__version__)"',)),
        ("set A=1", ("set A=1",)),
    ],
)
def test_on_windows(command: str, expected: tuple[str, ...]) -> None:
    assert for_shell("windows", [command]) == expected


def test_no_shipped_command_is_posix_on_windows() -> None:
    for check in catalogue().checks:
        steps = [*check.advice.steps, *(step for variant in check.variants for step in variant.replaces.get("steps", ()))]
        for said in for_shell("windows", [step.run for step in steps]):
            assert not POSIX.search(said), f"{check.id}: {said}"
