"""The device tables, and what the system derivations make of packages and versions."""

from __future__ import annotations

import pytest

from gpudoctor.facts.derive.directml import DERIVATION as DIRECTML
from gpudoctor.facts.derive.directml import release_of
from gpudoctor.facts.derive.system import linux_drivers, nvidia_of_windows
from gpudoctor.facts.probes.device_table import lookup, lookup_name
from gpudoctor.model.facts import Facts, Known


@pytest.mark.parametrize(
    ("device_id", "capability", "generation"),
    [
        ("1b80", "6.1", "Pascal"), ("15f8", "6.0", "Pascal"), ("1d01", "6.1", "Pascal"), ("1db6", "7.0", "Volta"),
        ("1eb8", "7.5", "Turing"),
        ("2184", "7.5", "Turing"), ("20b0", "8.0", "Ampere"), ("2236", "8.6", "Ampere"), ("26b9", "8.9", "Ada"), ("2330", "9.0", "Hopper"),
        ("2901", "10.0", "Blackwell"), ("2b85", "12.0", "Blackwell"), ("2e12", "12.1", "Blackwell"), ("1380", "5.0", "Maxwell"),
        ("1401", "5.2", "Maxwell"), ("102d", "3.7", "Kepler"), ("1180", "3.0", "Kepler"),
    ],
)  # fmt: skip
def test_compute_capability_by_id(device_id: str, capability: str, generation: str) -> None:
    device = lookup("10de", device_id)
    assert device is not None
    assert (device.compute_capability, device.generation) == (capability, generation)


@pytest.mark.parametrize(
    ("device_id", "gfx"), [("73ff", "gfx1032"), ("744c", "gfx1100"), ("740c", "gfx90a"), ("74a1", "gfx942"), ("7550", "gfx1201")]
)
def test_gfx_by_id(device_id: str, gfx: str) -> None:
    device = lookup("1002", device_id)
    assert device is not None
    assert device.gfx == gfx


@pytest.mark.parametrize(
    ("device_id", "generation", "kind", "kernel"),
    [
        ("56a0", "Alchemist", "discrete", "6.2"), ("e20b", "Battlemage", "discrete", "6.12"),
        ("b080", "Panther Lake", "integrated", "6.17"),
        ("0bd5", "Ponte Vecchio", "discrete", None), ("a780", "Alder Lake", "integrated", "5.17"),
    ],
)  # fmt: skip
def test_intel_generation_by_id(device_id: str, generation: str, kind: str, kernel: str | None) -> None:
    device = lookup("8086", device_id)
    assert device is not None
    assert (device.generation, device.kind, device.min_kernel) == (generation, kind, kernel)


def test_unknown_ids_are_not_guessed() -> None:
    assert lookup("10de", "9999") is None
    assert lookup("1234", "1111") is None
    assert lookup("8086", "not hex") is None


def test_names_as_drivers_print_them() -> None:
    arc = lookup_name("intel", "Intel(R) Arc(TM) A770 Graphics")
    super_card = lookup_name("nvidia", "NVIDIA GeForce RTX 2080 SUPER")
    assert arc is not None and arc.generation == "Alchemist"
    assert super_card is not None and super_card.name == "GeForce RTX 2080 SUPER"
    assert lookup_name("intel", "Intel(R) Graphics") is None


def test_linux_drivers_among_packages() -> None:
    packages = ["nvidia-driver-550", "libnvidia-compute-550", "nvidia-container-toolkit", "nvidia-cuda-toolkit", "amdgpu-dkms"]
    assert linux_drivers(packages, "nvidia") == ["libnvidia-compute-550", "nvidia-driver-550"]
    assert linux_drivers(packages, "amd") == ["amdgpu-dkms"]


def test_windows_version_of_nvidia() -> None:
    assert nvidia_of_windows("31.0.15.5186") == "551.86"
    assert nvidia_of_windows("551.86") is None


def test_directml_releases() -> None:
    newest = release_of("0.2.4.dev240913")
    assert newest is not None and newest["torch"] == "2.4.1"
    assert release_of("0.9.0") is None


@pytest.mark.parametrize(
    ("version", "torch", "python", "wrong_torch", "wrong_python"),
    [
        ("0.2.0.dev230426", "2.0.0", "3.11.4", False, True),
        ("0.2.5.dev240914", "2.6.0", "3.12.1", True, False),
        ("0.2.5.dev240914", "2.4.1+cpu", "3.10.12", False, False),
    ],
)
def test_directml_fits(version: str, torch: str, python: str, wrong_torch: bool, wrong_python: bool) -> None:
    facts = Facts({"python.distributions": Known({"torch-directml": version, "torch": torch}), "python.version": Known(python)})
    derived = dict(DIRECTML.derive(facts))
    assert derived["directml.wrong_torch"] == Known(wrong_torch)
    assert derived["directml.wrong_python"] == Known(wrong_python)


@pytest.mark.parametrize(
    ("written", "target"),
    [("RX580", "gfx803"), ("RX 580 8GB", "gfx803"), ("7900XTX", "gfx1100"), ("rx-6600", "gfx1032"), ("RX 5500", "gfx1012"),
     ("9070 XT", "gfx1201"), ("RX 6800M", "gfx1031"), ("Steam Deck", "gfx1033"), ("Radeon RX 6900 XT", "gfx1030")],
)  # fmt: skip
def test_radeon_cards_are_known_as_people_write_them(written: str, target: str) -> None:
    device = lookup_name("amd", written)

    assert device is not None and device.gfx == target
