"""What tracebacks, paths and loader errors betray: the Python, the system, the kind of environment, WSL, a container."""

from __future__ import annotations

import re

from gpudoctor.facts.text.elsewhere import at_hand
from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.lazy_pattern import lazy

_SITE = lazy(r"[/\\](?:python|Python)(?P<major>3)\.?(?P<minor>\d{1,2})[/\\](?:site-packages|dist-packages|[Ll]ib)")
_WINDOWS_SITE = lazy(r"[\\/]Python3(?P<minor>\d{1,2})[\\/]")
_WINDOWS_PATH = lazy(r"(?<![A-Za-z])[A-Z]:\\+[A-Za-z_. ]+\\")
_LINUX = lazy(r"\.so(?:\.\d+)*\b|/usr/lib/|/lib/x86_64|/opt/(?:rocm|intel)|\bapt(?:-get)? install|\bdmesg\b|/dev/(?:dri|kfd|nvidia)")
_KERNEL_OF_WSL = lazy(r"\b(?P<kernel>\d\.\d+\.\d+(?:\.\d+)?-microsoft-standard(?:-WSL2)?)")
_KERNEL = lazy(
    r"\b(?P<kernel>\d\.\d{1,2}\.\d{1,3}-\d+(?:\.\d+)*-(?:generic|lowlatency|oem|pve|azure|gcp|aws|amd64|cachyos|arch\d*-\d+|default)\b)"
)
_CONTAINER = lazy(
    r"\b(?:nvidia-container-cli|docker run|docker compose|docker-compose|podman run|OCI runtime|containerd|"
    r"Apptainer|singularity exec|apptainer exec|(?:docker|podman) exec|"
    r"in an? (?:[\w.-]{1,20} )?container\b|inside (?:the |a )?(?:docker|container)|kubectl|toolbox run)\b",
    re.IGNORECASE,
)
_NOT_STARTED = lazy(
    r"\bError response from daemon\b|\bOCI runtime (?:create|exec) failed\b|\bfailed to create (?:shim )?task for container\b",
    re.IGNORECASE,
)
"""Docker's error on the host, where a container could not be started."""
_POD = r"[a-z][a-z0-9-]{1,50}-[0-9a-f]{8,10}-[a-z0-9]{5}|(?:[\w-]{1,40}-)?pod(?:-[\w-]{1,40})?"
_PROMPT_INSIDE = lazy(
    rf"^[ \t]{{0,8}}[\w-]{{1,30}}@(?:[0-9a-f]{{12}}|{_POD}):[^\s#$]{{0,80}}[#$]|"
    r"^[ \t]{0,8}root@[\w.-]{1,60}:/(?:app|workspace|workdir|usr/src/app)\b[^\s#$]{0,80}#|"
    r"^[ \t]{0,8}\(?(?:in |inside |the ){0,2}(?:container|pod)\)?:? ?[#$] ?\w",
    re.MULTILINE,
)
"""A container is called by its number, a pod by its set and a random end; programs lie in /app or /workspace; or its prompt says what it
is: '(container) $ clinfo'."""
_LXC = lazy(
    r"\b(?<!no )(?:LXC (?:container|guest|CT)s?\b|(?:un)?privileged LXC\b|(?:in|inside|within|into) (?:an? |the |my )?(?:\w+ )?LXC\b)",
    re.IGNORECASE,
)
_FROM_WINDOWS = lazy(r"\bWinError \d+\b|\bDLL load failed\b|"
                           r"\.dll\b.{0,40}(?:not found|could not be|one of its dependencies)|cudart64_\d+\.dll|"
                           r"\bNTSTATUS\b|\b0xC0000005\b|MSVC v\.|Visual C\+\+|\b[A-Z]:/(?:Program Files|ProgramData|Users|Windows)\b|"
                           r"\bfatal error (?:C|LNK)\d{4}\b|"
                           r"\bException from src\\(?:inference|plugins|core|frontends)\\", re.IGNORECASE)  # fmt: skip
_MAC = lazy(r"\bdyld\[|/opt/homebrew/|\bmacOS\b|\bMacBook\b|\.dylib\b|Apple M[1-5]\b|\bdevice type MPS\b|\bMPS (?:backend|device)\b")
_DOCKER_DESKTOP = lazy(r"\bDocker Desktop\b", re.IGNORECASE)
_UNAME = lazy(r"\bLinux \S{1,64} \d\.\d{1,3}\.\d{1,3}(?:-\S|\S{0,60} #\d)")
"""Output of `uname -a`, which describes the machine at hand even if a sentence is about another computer."""
# Immich's compose file says in a comment which service WSL2 takes, whatever the machine is.
_WSL = lazy(r"\bWSL ?2?\b(?! where applicable)|/mnt/[c-f]/|/usr/lib/wsl/|/dev/dxg\b|wsl\.exe|\bwsl --")


def read(sheet: Sheet, evidence: Evidence) -> None:
    text = sheet.text
    minors = {found["minor"] for found in _SITE.finditer(text)} or {found["minor"] for found in _WINDOWS_SITE.finditer(text)}
    if len(minors) == 1:
        evidence.fact("python.version", f"3.{minors.pop()}", "paths in the text") if "python.version" not in evidence.facts else None
    if re.search(r"[/\\](?:mini|ana)conda3?[/\\]|[/\\]miniforge3?[/\\]|[/\\]mambaforge[/\\]|[/\\]\.conda[/\\]", text):
        evidence.fact("python.kind", "conda", "paths in the text")
    kernel = _KERNEL_OF_WSL.search(text) or _KERNEL.search(text)
    if kernel:
        evidence.files.setdefault("/proc/sys/kernel/osrelease", kernel["kernel"] + "\n")
    _platform(at_hand(text), evidence)


def _platform(text: str, evidence: Evidence) -> None:
    """The clearest sign first: what runs in WSL speaks of Windows as well."""
    if _KERNEL_OF_WSL.search(text) or _WSL.search(text):
        evidence.platform("wsl2")
    if _DOCKER_DESKTOP.search(text) and _MAC.search(text):
        evidence.platform("macos")
    if _PROMPT_INSIDE.search(text):
        evidence.platforms.insert(0, "container")  # where the messages come from, whatever else the text says of the host
    elif _CONTAINER.search(text) and not _NOT_STARTED.search(text):
        evidence.platform("container")
    elif _LXC.search(text):
        evidence.platform("container")
        evidence.variable("container", "lxc")
    if _UNAME.search(text):
        evidence.platform("linux")
    if _WINDOWS_PATH.search(text) or _FROM_WINDOWS.search(text):
        evidence.platform("windows")
    if _MAC.search(text):
        evidence.platform("macos")
    if _LINUX.search(text):
        evidence.platform("linux")
