"""A pasted text cut into sections: what stands between fences, and what followed a command that was typed at a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

_FENCE = lazy(r"^\s{0,3}(?:`{3,}|~{3,})")
_USER = r"(?:\([\w.\- ]{1,40}\) ?)?(?:[\w.\-]{1,40}@[\w.\-]{1,60}[: ][^$#%>]{0,80})?"
_PROMPT = lazy(rf"^\s*{_USER}[$%❯➜]\s+(?P<typed>\S.*)$|^\s*(?:\[?{_USER}\]?)#\s(?P<root>\S.*)$")
_WINDOWS_PROMPT = lazy(r"^\s*(?:\([\w.\- ]{1,40}\) ?)?(?:PS )?[A-Za-z]:\\[^>|<]{0,200}>\s*(?P<typed>\S.*)$")
_TOOLS = (
    "nvidia-smi|clinfo|vulkaninfo|sycl-ls|lspci|lsmod|uname|cat|dmesg|journalctl|pip3?|python3?|conda|mamba|uv|rocminfo|rocm-smi|amd-smi|nvcc|xpu-smi|"
    "xpumcli|gc-info|gc-monitor|gc-inventory|vipu|wsl|wsl.exe|ls|env|printenv|echo|dpkg|apt|rpm|pacman|docker|podman|sudo|modinfo|modprobe|"
    "dkms|mokutil|id|groups|lsb_release|hostnamectl|inxi|vainfo|intel_gpu_top|ldd|ldconfig|system_profiler|sw_vers|dxdiag|popc"
)
_TOOL_LINE = lazy(rf"^(?:sudo )?(?:\S*/)?(?:{_TOOLS})(?:\s{{1,4}}[-\w./=|'\"$: ,]+)?$")
_ROW = lazy(r"^\S+\s+v?\d+[.:\-]\d")
"""'python   3.11.9   h955ad1f_0' is a row of a list, no call."""
_UV = lazy(r"^(?:Installed|Uninstalled) \d+ packages?\b", re.MULTILINE)
LONGEST = 8_000
"""The length to which readers examine a line: no pattern needs more, and the time of some grows faster than the length."""


class Section(Struct):
    """Lines that belong together. `typed`: the command line before them, empty where none was seen."""

    typed: str = ""
    lines: list[Numbered] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def program(self) -> str:
        """The program of the command line, without sudo and folder."""
        words = [word for word in self.typed.split() if word != "sudo" and "=" not in word]
        return words[0].rpartition("/")[2] if words else ""


class Sheet:
    """The whole text, and its sections in order."""

    def __init__(self, lines: Iterable[Numbered]) -> None:
        self.lines = [line if len(line.text) <= LONGEST else Numbered(line.number, line.text[:LONGEST]) for line in lines]
        self.sections = _sections(self.lines)
        self.text = "\n".join(line.text for line in self.lines)
        self.lower = self.text.lower()
        self.by_uv = _UV.search(self.text) is not None
        """Lines that begin with ' + ', ' - ' and ' ~ ' are what uv installed, removed and replaced."""


def _sections(lines: Sequence[Numbered]) -> list[Section]:
    found = [Section()]
    for line in lines:
        if _FENCE.match(line.text):
            found.append(Section())
            continue
        typed = typed_in(line.text)
        if typed:
            found.append(Section(typed))
        else:
            found[-1].lines.append(line)
    return [section for section in found if section.typed or any(line.text.strip() for line in section.lines)]


def typed_in(line: str) -> str:
    """The command of a prompt line, or of a line that is nothing but the call of a tool; empty for all else."""
    found = _PROMPT.match(line) or _WINDOWS_PROMPT.match(line)
    if found:
        typed = found["typed"] if "typed" in found.groupdict() and found["typed"] else found.groupdict().get("root") or ""
        if found.groupdict().get("root") and not _TOOL_LINE.match(typed):  # '# a heading' is no root's prompt
            return ""
        return typed.strip()
    stripped = line.strip().strip("`").strip()
    return stripped if len(stripped) < 120 and _TOOL_LINE.match(stripped) and not _ROW.match(stripped) else ""
