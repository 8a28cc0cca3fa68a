"""Commands that must run after a file of the system has changed: for the loader's cache, the boot image, the boot menu, udev."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from gpudoctor.setup.sudo_batch import together
from gpudoctor.system.host import Host
from gpudoctor.system.writable_host import WritableHost

NAMES = ("ldconfig", "udev", "initramfs", "grub")
_WAYS: dict[str, tuple[tuple[tuple[str, ...], ...], ...]] = {
    # of the alternatives, the first one whose first program is here is used
    "ldconfig": ((("ldconfig",),),),
    "udev": ((("udevadm", "control", "--reload"), ("udevadm", "trigger")),),
    "initramfs": ((("update-initramfs", "-u"),), (("dracut", "--regenerate-all", "--force"),), (("mkinitcpio", "-P"),)),
    "grub": (
        (("update-grub",),),
        (("grub2-mkconfig", "-o", "/boot/grub2/grub.cfg"),),
        (("grub-mkconfig", "-o", "/boot/grub/grub.cfg"),),
    ),
}
_SLOW = ("initramfs", "grub")
"""Triggers that are always waited for: a machine with an incomplete boot image or menu does not boot."""
_FOLDERS = ("/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin")


def commands(names: Iterable[str], host: Host) -> list[tuple[str, tuple[str, ...]]]:
    """(trigger, command) in the order in which they must run. Without the program, as in a container, nothing needs to be done."""
    wanted = set(names)
    found: list[tuple[str, tuple[str, ...]]] = []
    for name in NAMES:
        if name in wanted:
            way = next((way for way in _WAYS[name] if _is_here(way[0][0], host)), ())
            found += [(name, command) for command in way]
    return found


def pull(names: Iterable[str], machine: WritableHost) -> None:
    """Runs the commands of these triggers. Raises ActFailed."""

    def run(name: str, command: tuple[str, ...]) -> None:
        # udevadm fails in a container, where no udev runs and none is needed.
        machine.run(command, root=True, finish=name in _SLOW, check=name != "udev")

    together(partial(run, name, command) for name, command in commands(names, machine.look))


def _is_here(program: str, host: Host) -> bool:
    return any(host.exists(f"{folder}/{program}") for folder in _FOLDERS)
