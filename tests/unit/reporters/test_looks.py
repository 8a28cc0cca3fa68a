from __future__ import annotations

import pytest

from gpudoctor.reporters.shared.advice_lines import first_sentence, only_looks


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ("sudo lspci -v -d 8086: | grep -i prefetchable", True),
        ("/v/bin/python -m pip list | grep nvidia", True),
        ('python -c "import torch; print(torch.__version__)"', True),
        ("cat /sys/class/drm/card0/device/enable 2>/dev/null", True),
        ("nvidia-smi", True),
        ("nvidia-smi -pm 1", False),
        ("sudo nvidia-smi --gpu-reset", False),
        ("pip freeze > keep.txt", False),
        ("cat new.conf | sudo tee /etc/x && sudo reboot", False),
        ("/v/bin/python -m pip install torch", False),
        ("echo 1 | sudo tee /sys/bus/pci/rescan", False),
        ("lsof-fix --now", False),
    ],
)
def test_a_look_is_told_from_an_act(command: str, looks: bool) -> None:
    assert only_looks(command) is looks


def test_the_first_sentence() -> None:
    assert first_sentence("Boot kernel 6.2 or newer. Then reboot.") == "Boot kernel 6.2 or newer."
    assert first_sentence("Set e.g. 4G decoding") == "Set e.g. 4G decoding"
