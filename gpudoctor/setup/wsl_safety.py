"""What must never be installed or changed inside WSL, whose kernel and GPU driver belong to Windows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

FORBIDDEN = re.compile(
    r"linux-(image|generic|headers|modules|oem|virtual|lowlatency)[a-z0-9.+-]*"
    r"|nvidia-(driver|dkms|headless|kernel)[a-z0-9.+-]*|nvidia-open(-[0-9][a-z0-9.+-]*)?|libnvidia-(compute|gl|cfg1)[a-z0-9.+-]*|cuda-drivers[a-z0-9.+-]*"
    r"|intel-i915-dkms|amdgpu-dkms[a-z0-9.+-]*|xserver-xorg-video-[a-z0-9.+-]+|akmod-nvidia[a-z0-9.+-]*|kmod-nvidia[a-z0-9.+-]*"
)
_PACKAGE_KINDS = ("apt.install", "dnf.install", "pacman.install")
_KERNEL_TRIGGERS = ("initramfs", "grub")


def forbidden(kind: str, settings: Mapping[str, Any]) -> str:
    """The reason why a step must not be done in WSL, or ''. Source: https://learn.microsoft.com/windows/wsl/tutorials/gpu-compute"""
    if kind in _PACKAGE_KINDS:
        names: Sequence[str] = [str(name).partition("=")[0] for name in settings.get("packages", ())]
        bad = [name for entry in names for name in entry.split("|") if FORBIDDEN.fullmatch(name)]
        return f"{', '.join(bad)}: a kernel or display driver does not belong into WSL; the driver of Windows serves it" if bad else ""
    if kind == "modprobe" or any(trigger in _KERNEL_TRIGGERS for trigger in settings.get("after", ())):
        return "WSL has no kernel modules or boot loader of its own to configure; its kernel comes from Windows"
    return ""
