"""ZLUDA at work, and ZLUDA that somebody only speaks of."""

from __future__ import annotations

import pytest
from pasted_text import read


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("ZLUDA 3.9.5, RX 6700 XT, PyTorch version: 2.7.1+cu118", True),
        ("Device: cuda:0 AMD Radeon RX 6800 [ZLUDA] : native", True),
        ("C:\\sd\\zluda\\zluda.exe -- python main.py", True),
        ("I use ComfyUI-Zluda with an RX 7800 XT, torch 2.7.0+cu118", True),
        ("webui.bat --use-zluda", True),
        ("RX 6700 XT, PyTorch version: 2.7.1+cu118", False),
        ("RX 6700 XT, torch 2.7.1+cu118. Should I run it with ZLUDA?", False),
        ("RX 6700 XT, torch 2.7.1+cu118, without ZLUDA 3.9", False),
    ],
)
def test_zluda_at_work(text: str, used: bool) -> None:
    assert read(text).known("zluda.used") is used
