"""Queries of rpm and dnf on the machine that is changed, and the packages that can be removed again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from gpudoctor.system.writable_host import ActFailed, WritableHost

_QUERY = ("rpm", "-qa", "--qf", "%{NAME}\\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}.%{ARCH}\\n")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._\-]*")
_VERSION = re.compile(r"[0-9A-Za-z.+:~^_\-]*\*?")
_NEEDED = re.compile(r"\bis needed by \(installed\) (\S+)")
DNF = ("dnf", "-y", "--setopt=install_weak_deps=False")
DNF_WEAK = ("dnf", "-y", "--setopt=install_weak_deps=True")
KEY = "gpg-pubkey"
"""The name under which rpm lists the keys that it trusts."""
_SEVERAL = re.compile(r"kernel($|-)|gpg-pubkey$")
"""Names of packages of which several versions may be installed."""


def parse_entry(entry: str) -> list[tuple[str, str]]:
    """(name, version or '') of each alternative of an entry such as 'a|b=1.2*'. Raises ValueError that names what is no package."""
    found = []
    for part in entry.split("|"):
        name, _, version = part.strip().partition("=")
        if not _NAME.fullmatch(name) or not _VERSION.fullmatch(version):
            raise ValueError(f"'{part.strip()}' is no rpm package: name or name=version")
        found.append((name, version))
    return found


def parse_listing(text: str) -> dict[str, list[str]]:
    """Name to the installed versions in the output of _QUERY, each epoch:version-release.arch, sorted."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, tab, version = line.partition("\t")
        if tab:
            found[name] = sorted([*found.get(name, []), version])
    return found


def listing(machine: WritableHost) -> dict[str, list[str]]:
    done = machine.ask(_QUERY)
    if done.rc != 0:
        raise ActFailed(f"rpm ended with status {done.rc}", "run rpm -qa to see why")
    return parse_listing(done.output)


def new(before: Mapping[str, Sequence[str]], now: Mapping[str, Sequence[str]]) -> list[str]:
    """The packages whose names were not there before, in the form of `nevra`, without keys; sorted."""
    return sorted(nevra(name, version) for name, versions in now.items() if name not in before and name != KEY for version in versions)


def nevra(name: str, version: str) -> str:
    """The argument of rpm and dnf for a package and its version (epoch:version-release.arch)."""
    return f"{name}-{version.removeprefix('0:')}" if version.startswith("0:") else f"{name}-{version}"


def doubled(now: Mapping[str, Sequence[str]], before: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Name to old versions of the packages of which an interrupted upgrade left the old version beside the new one."""
    found = {}
    for name, versions in now.items():
        old = [version for version in versions if version in before.get(name, ())]
        if len(versions) > len(before.get(name, versions)) and old and not _SEVERAL.match(name):
            found[name] = old
    return found


def needed_by_others(machine: WritableHost, names: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """(packages that can be removed, name to user of those that an installed package needs). Nothing is removed here."""
    going = sorted(names)
    kept: dict[str, str] = {}
    while going:
        done = machine.run(("rpm", "-e", "--test", *going), root=True, check=False)
        users = [name for name in _NEEDED.findall(done.output) if name not in kept.values()]
        if done.rc == 0 or not users:
            break
        for name in going:  # packages that a remaining one needs
            alone = machine.run(("rpm", "-e", "--test", name), root=True, check=False).output
            strangers = [user for user in _NEEDED.findall(alone) if user not in going]
            if strangers:
                kept[name] = strangers[0]
        left = [name for name in going if name not in kept]
        if len(left) == len(going):
            break
        going = left
    return going, kept
