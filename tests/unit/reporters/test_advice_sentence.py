"""What an advice says in words."""

from __future__ import annotations

import pytest

from gpudoctor.model.check import Advice
from gpudoctor.reporters.shared.advice_lines import sentence


@pytest.mark.parametrize(
    ("advice", "said"),
    [
        (Advice(text="Load the module: sudo modprobe nvidia.", commands=("sudo modprobe nvidia",)), "Load the module."),
        (Advice(text="Install torch: pip install torch", commands=("pip install torch",)), "Install torch."),
        (Advice(text="Install it: `mim install mmcv`.", commands=("mim install mmcv",)), "Install it."),
        (Advice(text="Install torch: pip install torch", commands=("nvidia-smi",)), "Install torch: pip install torch"),
        (Advice(text="Upgrade torch (pip install -U torch).", commands=("pip install -U torch",)), "Upgrade torch (pip install -U torch)."),
        (Advice(text="Update the driver.", needs_reboot=True), "Update the driver. Then reboot."),
        (Advice(text="Switch it on in the BIOS, then boot again.", needs_reboot=True), "Switch it on in the BIOS, then boot again."),
        (Advice(text="Take the wheels of https://e.org/cu118", needs_reboot=True), "Take the wheels of https://e.org/cu118 (then reboot)"),
        (Advice(text="", needs_reboot=True), "Reboot."),
    ],
    ids=["load", "install", "quoted", "another", "inside", "reboot", "said", "address", "alone"],
)
def test_a_command_and_a_reboot_are_said_once(advice: Advice, said: str) -> None:
    assert sentence(advice) == said
