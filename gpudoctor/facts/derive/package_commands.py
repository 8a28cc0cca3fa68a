"""Commands of checks, which are written for apt, translated to the package manager of this system."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.facts.derive._tables import table
from gpudoctor.model.lazy_pattern import lazy

_INSTALL = lazy(r"^sudo apt(?:-get)? (?:-y )?install(?P<options>(?: -[\w-]+)*) (?P<names>[^ \n].*)")
_APT_ALONE = lazy(
    r"^(?:sudo apt-get|(?:sudo )?(?:apt(?!-get)|dpkg|add-apt-repository|ubuntu-drivers|update-grub|update-initramfs))(?![\w])"
)
"""Commands that only systems with apt have. apt-get without sudo is not among them: it is meant for an image, whatever the host is."""
_VERBS = {
    "dnf": {"": "sudo dnf install", "--only-upgrade": "sudo dnf upgrade", "--reinstall": "sudo dnf reinstall"},
    "zypper": {"": "sudo zypper install", "--only-upgrade": "sudo zypper update", "--reinstall": "sudo zypper install --force"},
    "pacman": dict.fromkeys(("", "--only-upgrade", "--reinstall"), "sudo pacman -S"),
}
_SAME = {
    "dnf": {"sudo apt update": "", "sudo update-initramfs -u": "sudo dracut --force"},
    "zypper": {"sudo apt update": "sudo zypper refresh", "sudo update-initramfs -u": "sudo dracut --force"},
    "pacman": {"sudo apt update": "", "sudo update-initramfs -u": "sudo mkinitcpio -P"},
}


def here(commands: Iterable[str], manager: str) -> tuple[str, ...]:
    """The commands in the form that this system understands, without those that have none. `manager`: apt, dnf, zypper, pacman, apk or
    another one, whose names are not known here; or '' where it is unknown, which leaves all as they are."""
    if manager in ("", "apt"):
        return tuple(commands)
    return tuple(said for command in commands if (said := _translated(command, manager)))


def _translated(command: str, manager: str) -> str | None:
    """The command for another package manager; None where a part of it has no counterpart, '' where nothing is left to do."""
    parts = [_part(part, manager) for part in command.split(" && ")]
    return None if None in parts else " && ".join(part for part in parts if part)


def _part(part: str, manager: str) -> str | None:
    same = _SAME.get(manager, {}).get(part)
    if same is not None:
        return same
    found = _INSTALL.match(part)
    if found is None:
        return None if _APT_ALONE.match(part) else part
    options = " ".join(option for option in found["options"].split() if option != "-y")
    verb = _VERBS.get(manager, {}).get(options)
    known = table("package-names")["name"]
    names = [known.get(name, {}).get(manager) for name in found["names"].split()]
    if verb is None or None in names:
        return None
    return " ".join((verb, *dict.fromkeys(" ".join(names).split())))
