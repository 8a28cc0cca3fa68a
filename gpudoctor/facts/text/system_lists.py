"""Packages of the system and what holds it: rpm -qa, pacman -Q, apt list, conda's builds, wsl -l -v, docker inspect."""

from __future__ import annotations

import re

from gpudoctor.facts.probes.packages import DPKG_QUERY, RPM_QUERY
from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Section, Sheet
from gpudoctor.model.lazy_pattern import lazy

_RPM = lazy(
    r"^(?P<name>[A-Za-z0-9][\w.+\-]{0,100})-(?P<version>\d[\w.+~^]{0,40})-(?P<release>[\w.+~^]{0,40}(?:fc|el|mga|suse|lp|bp|amzn|oe)[\w.+~^]{0,40}|\d[\w.]{0,40})"
    r"\.(?P<arch>x86_64|noarch|aarch64|i686|ppc64le)$"
)
_PACMAN = lazy(r"^(?:local/)?(?P<name>[a-z0-9@._+][a-z0-9@._+\-]*) (?P<version>(?:\d+:)?\w[\w.+]*-\d+(?:\.\d+)?)$")
_APT = lazy(r"^(?P<name>[a-z0-9][\w.+\-]+)/\S+ (?P<version>\d\S*) \w+ \[installed[^\]]*\]")
_CONDA = lazy(r"^(?P<name>pytorch|torch|libtorch|python)\s+(?P<version>\d[\w.]*)\s+(?P<build>[\w.*]+)(?:\s+\S+)?$")
_WSL_HEAD = lazy(r"^\s*NAME\s+STATE\s+VERSION\s*$")
_WSL_ROW = lazy(r"^(?P<default>[* ]) ?(?P<name>\S+)\s+(?:\S+\s+)?(?P<version>[12])\s*$")
_DOCKER = lazy(r'^\s*"(?:HostConfig|Config|GraphDriver)": \{')


def read(sheet: Sheet, evidence: Evidence) -> None:
    for section in sheet.sections:
        _rpm(section, evidence)
        _conda_builds(section, evidence)
        _wsl(section, evidence)
        if any(_DOCKER.match(line.text) for line in section.lines):
            evidence.platform("container")
            evidence.saw("docker inspect")
    _pacman(sheet, evidence)
    _apt(sheet, evidence)


def _rpm(section: Section, evidence: Evidence) -> None:
    rows = [found for line in section.lines if (found := _RPM.match(line.text.strip()))]
    if rows:
        evidence.command(RPM_QUERY, "".join(f"{row['name']} {row['version']}-{row['release']} {row['arch']}\n" for row in rows))
        evidence.saw("rpm -qa")


def _pacman(sheet: Sheet, evidence: Evidence) -> None:
    """Reads -Q and -Qs only: -S and -Ss list packages that could be installed."""
    queries = [section for section in sheet.sections if section.program in ("pacman", "yay", "paru") and re.search(r"\s-Q", section.typed)]
    rows = [found for section in queries for line in section.lines if (found := _PACMAN.match(line.text.rstrip()))]
    if rows:
        evidence.command(("pacman", "-Q"), "".join(f"{row['name']} {row['version']}\n" for row in rows))
        evidence.saw("pacman -Q")


def _apt(sheet: Sheet, evidence: Evidence) -> None:
    rows = [found for line in sheet.lines if "[installed" in line.text and (found := _APT.match(line.text))]
    if rows:
        evidence.command(tuple(DPKG_QUERY), "".join(f"ii \t{row['name']}\t{row['version']}\n" for row in rows))
        evidence.saw("apt list")


def _conda_builds(section: Section, evidence: Evidence) -> None:
    """Reads torch's variant from the build string of conda: py3.11_cuda12.1_cudnn8.9.2_0, cuda126_mkl_py312_h…, cpu_mkl_py311_h…"""
    if not any(line.text.startswith("# packages in environment at") for line in section.lines):
        return
    evidence.saw("conda list")
    evidence.fact("python.kind", "conda", "conda list")
    for line in section.lines:
        found = _CONDA.match(line.text)
        if not found or "pypi" in found["build"]:
            continue
        if found["name"] == "python":
            evidence.fact("python.version", found["version"], "conda list")
            continue
        cuda = re.search(r"cuda_?(\d{1,2})\.?(\d)", found["build"])
        if cuda:
            evidence.fact("torch.version_file", {"version": found["version"], "cuda": f"{cuda[1]}.{cuda[2]}"}, "conda list")
        elif "cpu" in found["build"]:
            evidence.fact("torch.version_file", {"version": f"{found['version']}+cpu"}, "conda list")


def _wsl(section: Section, evidence: Evidence) -> None:
    """Takes the generation of WSL from the default distribution (*), or from the only one."""
    head = next((number for number, line in enumerate(section.lines) if _WSL_HEAD.match(line.text)), None)
    listed = section.lines[head + 1 :] if head is not None else []
    rows = [found for line in listed if (found := _WSL_ROW.match(line.text)) and not found["name"].startswith("docker-desktop")]
    chosen = next((row for row in rows if row["default"] == "*"), rows[0] if len(rows) == 1 else None)
    if chosen:
        if chosen["version"] == "2":
            evidence.platform("wsl2")
        else:
            evidence.fact("wsl.version", 1, "wsl -l -v")
        evidence.saw("wsl -l -v")
