"""The driver package to install for these cards on this distribution, and the commands of its package manager."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudoctor.model.facts import Absent, Fact, Facts, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy

_CURRENT = 580
"""The number of the production branch that serves Maxwell to Blackwell and CUDA 13."""

_KIND_OF_KERNEL = lazy(r"-(?:cachyos(?:-[a-z]\w{0,15}){0,3}|lts|zen|hardened|rt(?:-lts)?|xanmod\w{0,15})$")
"""The kind of an Arch kernel, which ends its release: '6.12.48-1-lts', '6.17.1-zen1-1-zen'. The plain kernel ends in a number:
'6.17.1-arch1-1'."""
_OF_MANJARO = lazy(r"^(\d+)\.(\d+)\..*-MANJARO$")
"""Manjaro's kernel packages carry the version in their name: linux612-headers."""

_FAMILIES = {
    "ubuntu": ("ubuntu", "linuxmint", "pop", "zorin", "elementary", "neon", "tuxedo"),
    "debian": ("debian", "kali", "raspbian", "devuan", "mx"),
    "fedora": ("fedora", "nobara", "bazzite"),
    "rhel": ("rhel", "centos", "rocky", "almalinux", "ol", "amzn"),
    "arch": ("arch", "manjaro", "endeavouros", "cachyos", "garuda"),
    "suse": ("opensuse", "opensuse-leap", "opensuse-tumbleweed", "sles", "suse"),
    "nixos": ("nixos",),
}


def distribution_family(facts: Facts) -> str | None:
    """The family of distributions whose packages this system uses, a key of _FAMILIES; None where it is another or unknown."""
    like = facts.value("os.id_like")
    names = [facts.value("os.id"), *(like if isinstance(like, list) else str(like or "").split())]
    for name in names:
        for family, members in _FAMILIES.items():
            if name in members:
                return family
    return None


def arch_headers(release: str) -> str:
    """The package with the headers of a kernel of Arch or one of its children, by the kernel's release."""
    manjaro = _OF_MANJARO.match(release)
    if manjaro:
        return f"linux{manjaro[1]}{manjaro[2]}{'-rt' if 'rt' in release else ''}-headers"
    kind = _KIND_OF_KERNEL.search(release)
    return f"linux-{kind[0].lstrip('-')}-headers" if kind else "linux-headers"


def package(family: str, branch: int, is_open: bool, headers: str = "linux-headers") -> tuple[str, str]:
    """(package, command) that install a branch of the driver. `is_open`: with the open kernel modules. `headers`: the package with the
    kernel's headers on Arch."""
    if family == "ubuntu":
        name = f"nvidia-driver-{branch}-open" if is_open else f"nvidia-driver-{branch}"
        return name, f"sudo apt install {name}"
    if family == "debian":
        if branch < _CURRENT:
            return f"nvidia-tesla-{branch}-driver", f"sudo apt install linux-headers-amd64 nvidia-tesla-{branch}-driver"
        name = "nvidia-open-kernel-dkms" if is_open else "nvidia-kernel-dkms"
        return "nvidia-driver", f"sudo apt install linux-headers-amd64 {name} nvidia-driver"
    if family == "fedora":
        name = "akmod-nvidia" if is_open else f"akmod-nvidia-{branch}xx"
        cuda = "xorg-x11-drv-nvidia-cuda" if is_open else f"xorg-x11-drv-nvidia-{branch}xx-cuda"
        return name, f"sudo dnf install {name} {cuda}"
    if family == "rhel":
        name = "nvidia-open" if is_open else f"cuda-drivers-{branch}"
        return name, f"sudo dnf install {name}"
    if family == "arch":
        if is_open:
            return "nvidia-open-dkms", f"sudo pacman -S nvidia-open-dkms nvidia-utils {headers}"
        return f"nvidia-{branch}xx-dkms", f"yay -S nvidia-{branch}xx-dkms nvidia-{branch}xx-utils"
    if family == "suse":
        if is_open:
            name = "nvidia-open-driver-G06-signed-kmp-default"
        else:
            name = "nvidia-driver-G06-kmp-default" if branch >= _CURRENT else "nvidia-driver-G05-kmp-default"
        return name, f"sudo zypper install {name}"
    name = f"hardware.nvidia.open = {'true' if is_open else 'false'};"
    return name, f'services.xserver.videoDrivers = [ "nvidia" ]; {name}'


_HEADERS = {
    "ubuntu": "sudo apt install linux-headers-$(uname -r)",
    "debian": "sudo apt install linux-headers-$(uname -r)",
    "fedora": "sudo dnf install kernel-devel-$(uname -r)",
    "rhel": "sudo dnf install kernel-devel-$(uname -r)",
    "suse": "sudo zypper install kernel-default-devel",
}
_INITRAMFS = {
    "ubuntu": "sudo update-initramfs -u",
    "debian": "sudo update-initramfs -u",
    "arch": "sudo mkinitcpio -P",
}


def advice(facts: Facts, cards: list[dict[str, Any]]) -> Iterator[tuple[str, Fact]]:
    """The facts nvidia.want.*: what to install for `cards`, records of the fact nvidia.cards."""
    lasts = [card["branch_last"] for card in cards if isinstance(card.get("branch_last"), int)]
    known = [card for card in cards if "family" in card]
    branch = min([_CURRENT, *lasts])
    family = distribution_family(facts)
    yield "nvidia.want.branch", Known(branch) if known else Unknown("not recorded")
    if family is None or not cards or facts.known("jetson.module"):  # a Jetson has its driver from JetPack: another one breaks it
        for name in ("package", "command", "headers", "initramfs"):
            yield f"nvidia.want.{name}", Unknown("not recorded")
        return
    is_open = bool(known) and all(card.get("open") for card in known)
    of_arch = arch_headers(str(facts.value("kernel.release") or ""))
    name, command = package(family, branch, is_open, of_arch)
    yield "nvidia.want.package", Known(name)
    yield "nvidia.want.command", Known(command)
    headers = f"sudo pacman -S {of_arch}" if family == "arch" else _HEADERS.get(family)
    yield "nvidia.want.headers", Known(headers) if headers else Unknown("not recorded")
    initramfs = Absent("nixos-rebuild makes it") if family == "nixos" else Known(_INITRAMFS.get(family, "sudo dracut --force"))
    yield "nvidia.want.initramfs", initramfs
