"""Commands for apt, as other package managers say them; what has no counterpart is left out rather than guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive.package_commands import here
from gpudoctor.model.toml_text import loads

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("manager", ["", "apt"])
def test_where_apt_is_or_nothing_is_known_they_stay(manager: str) -> None:
    commands = ("sudo apt install no-such-package", "dpkg -l")
    assert here(commands, manager) == commands


def test_each_manager_has_its_verbs_and_names() -> None:
    upgrade = ("sudo apt install --only-upgrade linux-firmware && sudo update-initramfs -u",)
    assert here(upgrade, "dnf") == ("sudo dnf upgrade linux-firmware && sudo dracut --force",)
    assert here(upgrade, "pacman") == ("sudo pacman -S linux-firmware && sudo mkinitcpio -P",)
    assert here(upgrade, "zypper") == ("sudo zypper update kernel-firmware-all && sudo dracut --force",)
    assert here(["sudo apt update && sudo apt install -y clinfo"], "dnf") == ("sudo dnf install clinfo",)


def test_two_packages_that_are_one_elsewhere_are_named_once() -> None:
    command = "sudo apt install libze1 libze-intel-gpu1 intel-opencl-icd"
    assert here([command], "pacman") == ("sudo pacman -S level-zero-loader intel-compute-runtime",)


@pytest.mark.parametrize("manager", ["dnf", "pacman", "zypper", "apk"])
def test_what_is_not_known_there_is_left_out_and_the_rest_stays(manager: str) -> None:
    commands = ["sudo apt install clinfo no-such-package", "dpkg -l | grep ze", "sudo apt purge x && reboot", "uname -r"]
    assert here(commands, manager) == ("uname -r",)


@pytest.mark.parametrize("command", ["sudo dnf install x", "pip install torch", "docker run x apt-get install y", "aptitude"])
def test_other_commands_are_nobodys_business(command: str) -> None:
    assert here([command], "dnf") == (command,)


def test_the_table_names_what_the_checks_install() -> None:
    """A name that no command has is a slip of the pen."""
    said = {
        word.strip("'\"")
        for path in (ROOT / "checks").rglob("*.toml")
        for data in [loads(path.read_text())]
        for part in (data.get("advice", {}), *data.get("variant", ()))
        for step in part.get("steps", ())
        for word in (step if isinstance(step, str) else step["run"]).split()
    }
    assert set(table("package-names")["name"]) <= said


@pytest.mark.parametrize("manager", ["dnf", "pacman"])
def test_the_tables_of_packages_agree(manager: str) -> None:
    """One package of Debian has one name elsewhere, whichever table is asked."""
    names = {debian: row[manager] for debian, row in table("package-names")["name"].items() if manager in row}
    parts = [(row[f"apt{end}"], row[f"{manager}{end}"]) for row in table("missing-parts")["part"] for end in ("", "_dev")
             if f"apt{end}" in row and f"{manager}{end}" in row]  # fmt: skip
    said = [(names[debian].split(), other.split()) for debian, other in parts if debian in names]
    assert len(said) >= 3 and [pair for pair in said if not set(pair[0]) & set(pair[1])] == []
    icd = {row["command"].rpartition(" ")[2] for row in table("opencl-packages")["row"]
           if row.get("vendor") == "intel" and f"sudo {manager} " in row.get("command", "")}  # fmt: skip
    assert icd == {names["intel-opencl-icd"]}


@pytest.mark.parametrize(
    ("name", "manager", "there"),
    [
        ("opencl-clhpp-headers", "pacman", "opencl-clhpp"), ("opencl-clhpp-headers", "zypper", "opencl-cpp-headers"),
        ("mesa-vulkan-drivers", "dnf", "mesa-vulkan-drivers"), ("mesa-vulkan-drivers", "pacman", "vulkan-radeon vulkan-intel"),
        ("nvlsm", "dnf", "nvlsm"),
    ],
)  # fmt: skip
def test_headers_and_drivers_have_their_names(name: str, manager: str, there: str) -> None:
    (command,) = here([f"sudo apt install {name}"], manager)
    assert command.endswith(f" {there}")
