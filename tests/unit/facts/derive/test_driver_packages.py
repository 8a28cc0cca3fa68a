"""The package of an OpenCL driver for graphics that newer releases of the driver have left out."""

from __future__ import annotations

import pytest

from gpudoctor.facts.derive._driver_packages import driver_package
from gpudoctor.model.facts import Facts, Known


@pytest.mark.parametrize(
    ("system", "version", "command"),
    [
        ("ubuntu", "25.10", "sudo apt install intel-opencl-icd-legacy"),
        ("ubuntu", "24.04", "sudo apt install intel-opencl-icd"),
        ("debian", "12", "sudo apt install intel-opencl-icd"),
        ("debian", "13", ""),
        ("fedora", "43", ""),
    ],
)
def test_old_intel_graphics_get_a_driver_that_serves_them(system: str, version: str, command: str) -> None:
    facts = Facts({"os.id": Known(system), "os.version": Known(version)})
    assert driver_package("opencl-packages", "intel-legacy", facts)[1] == command
