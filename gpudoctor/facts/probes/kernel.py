"""The Linux kernel: version, command line, modules, Secure Boot."""

from __future__ import annotations

import re

from gpudoctor.facts.probes._probe import Collected, Probe, from_run, from_text
from gpudoctor.model.facts import Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

_DOTTED = lazy(r"\d+(?:\.\d+)+")
_PROC_VERSION = lazy(r"^Linux version (\S+)")
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


def parse_dotted(release: str) -> str | None:
    """The dotted number that begins a kernel's release: '5.19.0' of '5.19.0-35-generic'; None where there is none."""
    found = _DOTTED.match(release)
    return found[0] if found else None


def parse_modules(text: str) -> list[str]:
    """The names of the loaded modules in /proc/modules or in the output of lsmod, sorted, with underscores."""
    names = [line.split()[0].replace("-", "_") for line in text.splitlines() if line.strip()]
    return sorted({name for name in names if name != "Module"})


def parse_lockdown(text: str) -> str | None:
    """The mode of the kernel's lockdown: 'integrity' of 'none [integrity] confidentiality'; None for another text."""
    found = re.search(r"\[(\w+)\]", text)
    return found[1] if found else None


def parse_mokutil(text: str) -> bool | None:
    """Whether Secure Boot is enabled, by `mokutil --sb-state`; None for another output."""
    if re.search(r"SecureBoot enabled", text):
        return True
    if re.search(r"SecureBoot disabled|EFI variables are not supported|doesn't support Secure Boot", text):
        return False
    return None


def collect(host: Host, facts: Facts) -> Collected:
    if host.platform in ("windows", "macos"):
        return
    text = host.read("/proc/sys/kernel/osrelease")
    release = text.text.strip()
    if not release:
        found = _PROC_VERSION.match(host.read("/proc/version").text)
        uname = host.run(["uname", "-a"])
        words = uname.stdout.split()
        release = found[1] if found else words[2] if len(words) > 2 and words[0] == "Linux" else ""
    dotted = parse_dotted(release)
    yield "kernel.release", Known(release, "/proc/sys/kernel/osrelease") if release else from_text(text, None, "")
    yield "kernel.version", Known(dotted, "/proc/sys/kernel/osrelease") if dotted else Unknown("unparsable")
    line = host.read("/proc/cmdline")
    yield "kernel.cmdline", from_text(line, line.text.strip(), "/proc/cmdline")
    taint = host.read("/proc/sys/kernel/tainted").text.strip()
    yield "kernel.taint", Known(int(taint), "/proc/sys/kernel/tainted") if taint.isdigit() else Unknown("not recorded")
    lockdown = host.read("/sys/kernel/security/lockdown")
    yield "kernel.lockdown", from_text(lockdown, parse_lockdown(lockdown.text), "/sys/kernel/security/lockdown")
    yield from _modules(host)
    yield from _secure_boot(host)


def _modules(host: Host) -> Collected:
    """The loaded modules, by /proc/modules and by the folders of /sys/module with a file initstate, which built-in drivers lack."""
    text = host.read("/proc/modules")
    by_sysfs = [name for name in host.listdir("/sys/module") if host.exists(f"/sys/module/{name}/initstate")]
    names = set(parse_modules(text.text)) | {name.replace("-", "_") for name in by_sysfs}
    if text.ok or names:
        yield "kernel.modules", Known(sorted(names), "/proc/modules")
        return
    lsmod = host.run(["lsmod"])
    yield "kernel.modules", from_run(lsmod, parse_modules(lsmod.stdout) if lsmod.ok else None)


def _secure_boot(host: Host) -> Collected:
    text = host.read(SECURE_BOOT, limit=64)
    if text.ok and len(text.text) >= 5:
        # The variable holds four bytes of attributes, then 0 or 1: Documentation/filesystems/efivarfs.rst of Linux.
        yield "secure_boot.enabled", Known(text.text[-1] == "\x01", SECURE_BOOT)
        return
    said = host.run(["mokutil", "--sb-state"])
    answer = parse_mokutil(said.stdout + said.stderr)
    if answer is None and "efi" not in host.listdir("/sys/firmware") and host.listdir("/sys/firmware"):
        yield "secure_boot.enabled", Known(False, "/sys/firmware holds no efi")
        return
    yield "secure_boot.enabled", from_run(said, answer)


PROBE = Probe(
    "kernel",
    (
        FactSpec("kernel.release", "text", "what uname -r prints"),
        FactSpec("kernel.version", "dotted", "the kernel's version, such as 6.8.0"),
        FactSpec("kernel.cmdline", "text", "the kernel's command line", privacy="identifying"),
        FactSpec("kernel.taint", "int", "taint flags"),
        FactSpec("kernel.lockdown", "text", "none, integrity or confidentiality"),
        FactSpec("kernel.modules", "list", "modules that are loaded"),
        FactSpec("secure_boot.enabled", "bool", "whether the firmware runs signed code only"),
    ),
    collect,
)
