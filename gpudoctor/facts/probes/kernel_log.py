"""Lines of the kernel log about GPUs, firmware, memory and signatures."""

from __future__ import annotations

import re

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

JOURNAL = ("journalctl", "-k", "-b", "--no-pager", "-o", "short-monotonic")
LIMIT = 400
"""The number of lines that are kept."""
_RELEVANT = lazy(
    r"i915|\bxe\b|intel_vpu|amdxdna|amdgpu|\bkfd\b|NVRM|nvidia|nouveau|\bXid\b|snd_hda_intel|\bGuC\b|\bHuC\b|firmware|iommu|DMAR|AMD-Vi|dxgkrnl|"
    r"dxgk|\bdxg\b|\bBAR \d|Resizable|taint|"
    r"lockdown|Out of memory|\boom|Lockdown|module verification|PKCS|ipu\b|graphcore|simple-framebuffer|nomodeset|"
    r"\bdrm\b|AER:|PCIe Bus Error|segfault|secure ?boot|\bmodule\b.*\b(?:rejected|restricted)|\bnot signed\b",
    re.IGNORECASE,
)


def relevant_lines(text: str) -> list[str]:
    """The lines that matter, at most LIMIT: of more the first and the last half, since both the start and the latest events are needed."""
    lines = [line.rstrip() for line in text.splitlines() if _RELEVANT.search(line)]
    return lines if len(lines) <= LIMIT else lines[: LIMIT // 2] + lines[-LIMIT // 2 :]


def collect(host: Host, facts: Facts) -> Collected:
    if host.platform in ("windows", "macos"):
        return
    said = host.run(["dmesg"], timeout=4.0)
    reason = said.why_not()
    if said.ok and said.stdout.strip():
        yield "kernel.log", Known(relevant_lines(said.stdout), "dmesg")
        return
    if "not permitted" in said.stderr or "denied" in said.stderr:
        reason = "permission denied: dmesg"
    journal = host.run(JOURNAL, timeout=6.0)
    if journal.ok and len(journal.stdout.splitlines()) > 2:
        yield "kernel.log", Known(relevant_lines(journal.stdout), "journalctl -k -b")
        return
    for path in ("/var/log/dmesg", "/var/log/kern.log", "/var/log/messages"):
        text = host.read(path, limit=8_000_000)
        if text.ok and text.text.strip():
            yield "kernel.log", Known(relevant_lines(text.text), path)
            return
    yield "kernel.log", Unknown(reason)


PROBE = Probe(
    "kernel_log",
    (FactSpec("kernel.log", "list", "kernel log lines about GPUs, firmware and memory", privacy="identifying"),),
    collect,
)
