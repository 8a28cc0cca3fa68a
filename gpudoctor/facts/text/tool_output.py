"""Outputs of tools, passed on to the parsers that read them on a live machine: finds which lines each tool printed."""

from __future__ import annotations

import re

from msgspec import Struct

from gpudoctor.facts.probes.packages import DPKG_QUERY
from gpudoctor.facts.text.absence import is_whole
from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.roles import Roles
from gpudoctor.facts.text.sections import Section, Sheet
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered


class ToolOutput(Struct, frozen=True):
    """Output begins at a line that `first` matches and holds while lines match `goes_on` (None: to the end of the section)."""

    name: str
    argv: tuple[str, ...]
    first: re.Pattern[str]
    goes_on: re.Pattern[str] | None = None
    gaps: int = 0
    """Lines in a row that may look otherwise and do not end it."""
    holds: tuple[str, ...] = ()
    """One of these stands somewhere in it; what begins like that is often something else."""
    fewest: int = 0
    """Lines of the shortest whole listing where the call does not stand before it. Of a part nothing is handed on: it is asked for what it
    lacks."""


def _p(pattern: str) -> re.Pattern[str]:
    return lazy(pattern)


TOOLS = (
    ToolOutput("nvidia-smi", ("nvidia-smi",), _p(r"^\+-{20,}|^\| NVIDIA-SMI \d"), _p(r"^\s*[|+]|^\s*$"), gaps=2,
         holds=("NVIDIA-SMI", "Bus-Id", "GPU-Util", "MiB /", "GPU Memory")),
    ToolOutput("nvidia-smi", ("nvidia-smi",), _p(r"^NVIDIA-SMI has failed|^Failed to initialize NVML|^No devices were found")),
    ToolOutput("nvidia-smi -q", ("nvidia-smi", "-q"), _p(r"^=+NVSMI LOG=+")),
    ToolOutput("nvidia-smi -q -x", ("nvidia-smi", "-q", "-x"), _p(r"^\s*<(?:\?xml|nvidia_smi_log)\b"), None, holds=("<nvidia_smi_log",)),
    ToolOutput("nvidia-smi -L", ("nvidia-smi", "-L"), _p(r"^GPU \d+: .+\(UUID: "), _p(r"^(?:GPU \d+: |\s+MIG )")),
    ToolOutput("nvcc", ("nvcc", "--version"), _p(r"^nvcc: NVIDIA \(R\) Cuda compiler driver"), gaps=0),
    ToolOutput("clinfo --json", ("clinfo", "--json"), _p(r'^\s*\{.*"platforms"'), None),
    ToolOutput("clinfo --raw", ("clinfo", "--raw"), _p(r"^\s*#PLATFORMS\s+\d"), None),
    ToolOutput("clinfo -l", ("clinfo", "-l"), _p(r"^\s*Platform #\d+: "), _p(r"^\s*(?:Platform #\d+: |[`|+][-` |]*-+ Device #\d+)|^\s*$")),
    ToolOutput("clinfo", ("clinfo",), _p(r"^\s*Number of platforms(?: is|:)?\s+\d"), None),
    ToolOutput("clinfo", ("clinfo",), _p(r"^\s+Platform Name:?\s{2,}\S"), None),
    ToolOutput("vulkaninfo", ("vulkaninfo",), _p(r"^\s*Vulkan Instance Version:\s+\d"), None),
    ToolOutput("sycl-ls", ("sycl-ls",), _p(r"^\[(?:opencl|ext_oneapi_level_zero|level_zero|cuda|hip|native_cpu)[:\]]"),
         _p(r"^\[(?:opencl|ext_oneapi_level_zero|level_zero|cuda|hip|native_cpu)[:\]]|^\s*$|^Warning|^INFO"), gaps=2),
    ToolOutput("rocminfo", ("rocminfo",),
         _p(r"^(?:ROCk module (?:version |is )|Unable to open /dev/kfd|HSA System Attributes|\s*Marketing Name:)"), None),
    ToolOutput("lspci", ("lspci", "-nnk"), _p(r"^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] .+\[[0-9a-f]{4}:[0-9a-f]{4}\]"),
         _p(r"^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] |^\s+\S|^\s*$"), gaps=0),
    ToolOutput("lsmod", ("lsmod",), _p(r"^Module\s+Size\s+Used by"), _p(r"^\w+\s+\d+\s+\d+|^Module\s|^\s*$"),
         fewest=20),
    ToolOutput("uname", ("uname", "-a"), _p(r"^Linux \S+ \d+\.\d+\S* #\d+"), _p(r"^Linux \S+ \d+\.\d+\S* #\d+")),
    ToolOutput("dkms status", ("dkms", "status"),
               _p(r"^[\w\-]+[/,] ?[\w.\-]+(?:, [\w.\-]+)+, \w+: \w+"), _p(r"^[\w\-]+[/,] ?[\w.\-]+.*: \w+")),
    ToolOutput("mokutil", ("mokutil", "--sb-state"), _p(r"^SecureBoot (?:en|dis)abled"), _p(r"^SecureBoot ")),
    ToolOutput("id", ("id",), _p(r"^uid=\d+\("), _p(r"^uid=")),
    ToolOutput("gc-info", ("gc-info", "-l"), _p(r"^\s*(?:Graphcore device listing|-\+- Id:|No Graphcore device)"), None),
    ToolOutput("vipu", ("vipu", "list", "partitions"), _p(r"^\s*Partition\s+\|\s*Cluster|^\s*Partition\s+\|"), None),
    ToolOutput("xpu-smi", ("xpu-smi", "discovery", "-j"), _p(r'^\s*\{\s*$|^\{.*"device_list"'), None, holds=('"device_list"',)),
    ToolOutput("ls -l /dev/dri", ("ls", "-l", "/dev/dri"),
               _p(r"^[cdl][rwx\-]{9}.*\b(?:card|renderD)\d+$"), _p(r"^[cdl][rwx\-]{9}|^total|^\s*$")),
    ToolOutput("sw_vers", ("sw_vers",), _p(r"^ProductName:\s+(?:Mac OS X|macOS)"), _p(r"^(?:Product|Build)\w+:")),
)  # fmt: skip
_OF_KERNEL = lazy(r"^\[\s*\d+\.\d{3,6}\]|\bkernel: ", re.IGNORECASE)
_OF_A_DRIVER = lazy(r"^\s*(?:NVRM: |(?:nvidia|nouveau|amdgpu|i915|xe) [\da-f]{4}:[\da-f]{2}:[\da-f]{2}\.\d: )", re.IGNORECASE)
"""The beginning of its lines where somebody left out the time."""
_OF_DEVICES = lazy(
    r"\b(?:i915|xe|amdgpu|nvidia|nvidia-modeset|NVRM|nouveau|drm|kfd|vfio|DMAR|AMD-Vi|"
    r"IOMMU|pcieport|PCIe|ipu|firmware|Out of memory|oom|Xid|ACPI|BAR|secure ?boot|Loading of (?:unsigned )?module)\b",
    re.IGNORECASE,
)
_STAMPED = lazy(r"^\[\s*(?P<seconds>\d+\.\d+)\]\s*(?P<said>.*)$|^.*?\bkernel: (?:\[\s*(?P<more>\d+\.\d+)\]\s*)?(?P<text>.*)$")
_DPKG = lazy(r"^(?P<state>[a-z]{2,3})\s+(?P<name>[a-z0-9][\w.+\-]+)(?::\w+)?\s+(?P<version>\d\S*)\s")
_OS_RELEASE = lazy(r'^(?:NAME|ID|VERSION_ID|PRETTY_NAME)="?[\w .()/\-]+"?$')


def read(sheet: Sheet, evidence: Evidence) -> None:
    for section in sheet.sections:
        for tool in TOOLS:
            lines = extent(section, tool)
            if lines and (not tool.holds or any(word in line.text for line in lines for word in tool.holds)):
                if not is_whole(section) or (len(lines) < tool.fewest and section.program != tool.argv[0]):
                    evidence.partial.add(tool.argv[0])
                    if tool.fewest:
                        continue
                evidence.command(tool.argv, "\n".join(line.text for line in lines) + "\n")
                evidence.saw(tool.name)
    listing = evidence.commands.get(("lspci", "-nnk"), "")
    if "[size=" in listing:  # -v shows the memory regions as well
        evidence.command(("lspci", "-nnvv"), listing)
    _kernel_log(sheet, evidence)
    _packages_of_debian(sheet, evidence)
    _os_release(sheet, evidence)


def extent(section: Section, tool: ToolOutput) -> list[Numbered]:
    """The first output of a tool in a section."""
    start = next((number for number, line in enumerate(section.lines) if tool.first.search(line.text)), None)
    if start is None:
        return []
    if tool.goes_on is None:
        return section.lines[start:]
    end, missed = start, 0
    for number in range(start, len(section.lines)):
        if number == start or tool.goes_on.search(section.lines[number].text):
            end, missed = number, 0
        else:
            missed += 1
            if missed > tool.gaps:
                break
    return section.lines[start : end + 1]


def _kernel_log(sheet: Sheet, evidence: Evidence) -> None:
    lines = [
        line.text for line in sheet.lines
        if _OF_A_DRIVER.match(line.text) or ((found := _OF_KERNEL.search(line.text)) and _OF_DEVICES.search(line.text, found.end()))
    ]  # fmt: skip
    if not lines or Roles(sheet.lines).is_over():
        return
    plain: list[str] = []
    for line in lines:
        found = _STAMPED.match(line)
        seconds, message = (found["seconds"] or found["more"] or "0.0", found["said"] or found["text"] or "") if found else ("0.0", line)
        plain.append(f"[{seconds:>12}] {message}")
    evidence.command(("dmesg",), "\n".join(plain) + "\n")
    evidence.saw("kernel log")


def _packages_of_debian(sheet: Sheet, evidence: Evidence) -> None:
    rows = [found for line in sheet.lines if (found := _DPKG.match(line.text)) and found["state"][0] in "ihru"]
    if rows:
        listing = "".join(f"{row['state']:<3}\t{row['name']}\t{row['version']}\n" for row in rows)
        evidence.command(tuple(DPKG_QUERY), listing)
        evidence.saw("dpkg")


def _os_release(sheet: Sheet, evidence: Evidence) -> None:
    for section in sheet.sections:
        lines = [line.text.strip() for line in section.lines if re.match(r"^[A-Z_]+=\S", line.text.strip())]
        if sum(_OS_RELEASE.match(line) is not None for line in lines) >= 2 and any(line.startswith("ID=") for line in lines):
            evidence.files.setdefault("/etc/os-release", "\n".join(lines) + "\n")
            evidence.saw("/etc/os-release")
