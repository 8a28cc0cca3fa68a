"""Groups the texts of an archive by the machines that they come from, so that facts of two machines are never mixed."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.archive_members import members
from gpudoctor.system.job_dumps import may_be_dump
from gpudoctor.system.text_files import pieces

MOST_KEPT = 60 << 20
"""The most compressed bytes of an archive that are kept in memory."""
OTHERS = "other files"
_FOLDER = lazy(r"(?:^|/)(?:nodes?|hosts?|pods|machines)/([^/]+)/")
"""Folders that hold one folder for each machine, as in a must-gather of OpenShift."""
_ARCHIVE = lazy(r"^(.*?\.(?:tar(?:\.\w+)?|tgz))/")
_NAMED = lazy(r"(?:^|[-_.])((?:node|host|worker|server|machine)[-_]?\w{0,40}?\d\w{0,40}?)(?=[-_.]|$)", re.IGNORECASE)
_BUG_REPORT = lazy(r"nvidia-bug-report[^/]*$")
_SAID = re.compile(
    rb"^(?:Linux (\S+) \d+\.\d+\.\S+ |(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ]\S+) (\S+) kernel: )", re.MULTILINE
)
"""The host name in the output of uname -a and in lines of the system's log."""
_LOOKED_THROUGH = 64 << 10


class Member(Struct, frozen=True):
    path: str
    packed: bytes
    lines: int

    def text(self) -> bytes:
        return zlib.decompress(self.packed)


class MachineTexts(Struct):
    """The texts of one machine, joined, with the text that each line comes from."""

    name: str
    members: list[Member] = field(default_factory=list)

    def chunks(self) -> Iterator[bytes]:
        for member in self.members:
            yield member.text() + b"\n\n"

    def place(self, line: int) -> str:
        """`path:line` in the archive for a line of the joined text."""
        for member in self.members:
            if line <= member.lines + 2:
                return f"{member.path}:{line}"
            line -= member.lines + 2
        return ""


class TextArchive(Struct):
    machines: list[MachineTexts]
    whole: bool
    """Whether all texts were kept."""


def read(name: str, part: str = "") -> TextArchive | None:
    """The texts of an archive; None for a file that is no archive. Raises text_files.NotText and OSError.

    `part`: only those with this in their path, or from the host of this name.
    """
    found = members(name)
    if found is None:
        return None
    kept: list[tuple[Member, str]] = []
    room, whole = MOST_KEPT, True
    for path, text in found:
        host = _host(path, text)
        if part and part not in path and part != host:
            continue
        member = Member(path, zlib.compress(text, 1), text.count(b"\n"))
        room -= len(member.packed)
        if room < 0:
            whole = False
            break
        kept.append((member, host))
    hosts = _by_folder(kept)
    machines: dict[str, MachineTexts] = {}
    several = len({host for host in hosts if host}) > 1
    for (member, _), host in zip(kept, hosts, strict=True):
        name = (host or OTHERS) if several else ""
        machines.setdefault(name, MachineTexts(name)).members.append(member)
    return TextArchive(sorted(machines.values(), key=lambda machine: machine.name == OTHERS), whole)


def of_one_job(names: Sequence[str]) -> MachineTexts | None:
    """Several files that are all dumps of one job, put together: which rank is behind shows only beside the others. None where one of them
    is something else. Raises NotText and OSError."""
    found = MachineTexts("the job")
    for name in names:
        if not os.path.isfile(name):
            return None
        with open(name, "rb") as file:
            if not may_be_dump(file.read(1 << 20)):
                return None
    for name in names:
        text = b"".join(pieces(name))
        found.members.append(Member(name, zlib.compress(text, 1), text.count(b"\n")))
    return found


def _host(path: str, text: bytes) -> str:
    """The machine that a text comes from: by its folder in the archive, by its file name, by its content; '' where none shows it."""
    for form in (_ARCHIVE, _FOLDER):
        found = form.search(path)
        if found:
            return found[1]
    base = os.path.basename(path)
    named = _NAMED.search(os.path.splitext(base)[0])
    if named:
        return named[1]
    if _BUG_REPORT.search(path):
        return base
    if base == "hostname":
        return text.decode("utf-8", "replace").strip()[:64]
    said = _SAID.search(text[:_LOOKED_THROUGH])
    return (said[1] or said[2]).decode("utf-8", "replace")[:64] if said else ""


def _by_folder(kept: Sequence[tuple[Member, str]]) -> list[str]:
    """The machine of each text: its folder, where neighbouring folders hold files of the same names; else what `_host` found."""
    above = os.path.commonpath([os.path.dirname(member.path) for member, _ in kept] or [""])
    rests = [os.path.relpath(member.path, above or ".").split("/") for member, _ in kept]
    tops = {rest[0] for rest in rests if len(rest) > 1}
    if tops & {"etc", "proc", "sys", "var"} or not _repeated(rest for rest in rests if len(rest) > 1):
        return [host for _, host in kept]
    return [
        host if _FOLDER.search(member.path) else rest[0] if len(rest) > 1 else "" for (member, host), rest in zip(kept, rests, strict=True)
    ]


def _repeated(rests: Iterable[Sequence[str]]) -> bool:
    seen: dict[tuple[str, ...], str] = {}
    return any(seen.setdefault(tuple(rest[1:]), rest[0]) != rest[0] for rest in rests)
