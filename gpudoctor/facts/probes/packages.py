"""Installed system packages."""

from __future__ import annotations

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Absent, Facts, FactSpec, Known, Unknown
from gpudoctor.system.host import Host

DPKG_QUERY = ("dpkg-query", "-W", "-f=${db:Status-Abbrev}\\t${binary:Package}\\t${Version}\\n")
RPM_QUERY = ("rpm", "-qa", "--queryformat", "%{NAME} %{VERSION}-%{RELEASE} %{ARCH}\\n")
# A package whose installation script failed, such as a DKMS build, lies on the disk all the same.
_PRESENT = (" installed", " half-configured", " triggers-awaited", " triggers-pending")


def parse_dpkg_status(text: str) -> dict[str, str]:
    """The installed packages in /var/lib/dpkg/status: name to version."""
    found: dict[str, str] = {}
    for block in text.split("\n\n"):
        name, version, status = (_field(block, key) for key in ("Package: ", "Version: ", "Status: "))
        if name and version and (not status or f" {status}".endswith(_PRESENT)):
            found[name] = version
    return found


def _field(block: str, key: str) -> str:
    """The rest of the line that begins with `key`; '' where there is none. It is searched for instead of splitting the lines, of which a
    system has 100,000."""
    start = 0 if block.startswith(key) else block.find(f"\n{key}") + 1
    if not start and not block.startswith(key):
        return ""
    start += len(key)
    end = block.find("\n", start)
    return block[start : end if end >= 0 else None].strip()


def parse_dpkg_query(text: str) -> dict[str, str]:
    """The installed packages in the output of DPKG_QUERY: name to version."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        parts = line.split("\t")
        if len(parts) == 3 and parts[0][1:2] in ("i", "F", "W", "t"):
            found[parts[1].partition(":")[0]] = parts[2].strip()
    return found


def parse_rpm(text: str) -> dict[str, str]:
    """The packages in the output of RPM_QUERY: name to version."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        parts = line.split()
        if len(parts) >= 2:
            found[parts[0]] = parts[1]
    return found


def parse_pacman(text: str) -> dict[str, str]:
    """The packages in the output of `pacman -Q`: name to version."""
    return {parts[0]: parts[1] for parts in (line.split() for line in text.splitlines()) if len(parts) == 2}


def parse_pacman_folders(names: list[str]) -> dict[str, str]:
    """The packages by the folders /var/lib/pacman/local/<name>-<version>-<release>: name to version."""
    found: dict[str, str] = {}
    for name in names:
        parts = name.rsplit("-", 2)
        if len(parts) == 3:
            found[parts[0]] = f"{parts[1]}-{parts[2]}"
    return found


def parse_apk(text: str) -> dict[str, str]:
    """The packages in /lib/apk/db/installed: name to version."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("P:"):
            name = line[2:]
        elif line.startswith("V:") and name:
            found[name] = line[2:]
    return found


def collect(host: Host, facts: Facts) -> Collected:
    if host.platform in ("windows", "macos"):
        return
    status = host.read("/var/lib/dpkg/status", limit=40_000_000)
    found = parse_dpkg_status(status.text)
    manager, source = "apt", "/var/lib/dpkg/status"
    if not found:
        found, source = parse_dpkg_query(host.run(DPKG_QUERY).stdout), "dpkg-query -W"
    if not found:
        manager, source, found = "pacman", "/var/lib/pacman/local", parse_pacman_folders(host.listdir("/var/lib/pacman/local"))
    if not found:
        found, source = parse_pacman(host.run(["pacman", "-Q"]).stdout), "pacman -Q"
    if not found:
        manager, source, found = "apk", "/lib/apk/db/installed", parse_apk(host.read("/lib/apk/db/installed", limit=8_000_000).text)
    if not found:
        manager, source, found = "rpm", "rpm -qa", parse_rpm(host.run(RPM_QUERY, timeout=8.0).stdout)
        if found:
            manager = "zypper" if _suse(facts) else "dnf"
    if found:
        yield "packages", Known(found, source)
        yield "packages.manager", Known(manager, source)
        return
    # A machine that was recorded by hand without a list of packages says nothing about them.
    yield "packages", Unknown("not recorded" if host.origin == "capture" else "tool missing")
    by_system = _manager_of(facts)
    yield "packages.manager", Known(by_system, "/etc/os-release") if by_system else Absent()


def _family(facts: Facts) -> set[str]:
    return {str(facts.value("os.id", "")), *facts.value("os.id_like", [])}


def _suse(facts: Facts) -> bool:
    return any("suse" in name or name == "sles" for name in _family(facts))


_OF_SYSTEM = {"alpine": "apk", "nixos": "nix", "gentoo": "portage", "void": "xbps", "solus": "eopkg", "clear-linux-os": "swupd"}


def _manager_of(facts: Facts) -> str | None:
    family = _family(facts)
    if family & {"debian", "ubuntu", "linuxmint", "pop"}:
        return "apt"
    if _suse(facts):
        return "zypper"
    if family & {"fedora", "rhel", "centos", "rocky", "almalinux", "amzn"}:
        return "dnf"
    if family & {"arch", "manjaro", "endeavouros", "cachyos"}:
        return "pacman"
    return next((manager for name, manager in _OF_SYSTEM.items() if name in family), None)


PROBE = Probe(
    "packages",
    (
        FactSpec("packages", "map", "installed system packages: name to version"),
        FactSpec("packages.manager", "text", "apt, dnf, zypper, pacman, apk, or another system's (nix, portage …)"),
    ),
    collect,
    needs=("os.id", "os.id_like"),
)
