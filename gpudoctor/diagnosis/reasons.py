"""Why a fact is unknown and how it can be determined: a reason of model.facts as a clause with an action."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpudoctor.model.condition import Verdict

UNKNOWN = "unknown: "
FRAMEWORKS = "python.frameworks."
ASKED_BY = {
    "onnxruntime.providers": "import onnxruntime",
    "onnxruntime.provider_offered": "import onnxruntime",
    "opencl": "clinfo",
    "vulkan": "vulkaninfo",
    "poplar": "gc-info",
    "sycl": "sycl-ls",
    "level_zero": "sycl-ls",
    "nvidia": "nvidia-smi",
    "amd.kfd": "/dev/kfd",
    "gpus": "the PCI bus",
    "intel.gpu": "the PCI bus",
    "nvidia.cards": "the PCI bus",
    "gpu.driver": "the PCI bus",
    "gpu.access": "the device nodes in /dev/dri",
    "ipex.oneapi": "the folder of oneAPI",
    "kernel.log": "dmesg",
}
"""What provides the facts below a name; the longest matching name counts."""
TO_HAVE = {
    "clinfo": "; install the package clinfo and check again",
    "vulkaninfo": "; install the package vulkan-tools and check again",
    "gc-info": "; enable the Poplar SDK in this shell and check again",
    "sycl-ls": "; it comes with oneAPI",
}
"""How a person installs a missing tool."""
_ORDER = (
    "timeout", "out of time", "crashed", "device busy", "permission denied", "not inspected", "too large", "io error", "unparsable",
    "tool missing", "conflicting", "newer than this table", "not recorded", "not in the text", "probe crashed", "not probed",
)  # fmt: skip
"""The kinds of reasons, the most informative first."""


def asker(fact: str) -> str:
    """The tool or place that provides the fact; empty where the table has none."""
    if fact.startswith(FRAMEWORKS):
        return f"import {fact.removeprefix(FRAMEWORKS).partition('.')[0]}"
    known = [name for name in ASKED_BY if fact == name or fact.startswith(f"{name}.")]
    return ASKED_BY[max(known, key=len)] if known else ""


def why_unknown(verdict: Verdict, origin: str) -> str:
    """The clause for the most informative reason among the unknown parts of a condition."""
    open_leaves = [leaf for leaf in verdict.leaves() if leaf.truth == "unknown" and leaf.seen.startswith(UNKNOWN)]
    found = [(_fact(leaf.text), leaf.seen.removeprefix(UNKNOWN)) for leaf in open_leaves]
    if not found:
        return "this was not looked at"
    fact, reason = min(found, key=lambda pair: _rank(pair[1]))
    return clause(reason, [fact], origin)


def _fact(text: str) -> str:
    """The fact that the words of a condition begin with; for a collection they read 'some of gpus: …'."""
    words = text.split(" ")
    return words[2].rstrip(":,") if words[:2] == ["some", "of"] and len(words) > 2 else words[0]


def _rank(reason: str) -> int:
    kind = reason.partition(":")[0]
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER)


def clause(reason: str, facts: Iterable[str], origin: str) -> str:
    """The words for `reason` (one of model.facts.REASONS, perhaps with a detail): what was not read, and what to do about it."""
    kind, _, detail = reason.partition(": ")
    names = [name for fact in facts if (name := asker(fact))]
    what = names[0] if names else ""
    words = _CLAUSES.get(kind)
    if kind in ("not inspected", "permission denied") and " " in detail:
        return detail  # a sentence of its own
    if kind == "tool missing":
        return _missing(detail or what, origin)
    if kind == "not recorded" and origin == "live":
        return f"{what} gave no answer" if what else "nothing here gives an answer"
    if kind in ("not recorded", "not probed") and origin == "text":
        return _CLAUSES["not in the text"]
    if kind == "not recorded" and what.startswith("import "):
        return f"{what.removeprefix('import ')} was not imported when this machine was recorded"
    if kind == "not recorded" and what:
        return f"{what} is not in this recording"
    return words.format(what=detail or what or "it") if words else reason


def _missing(tool: str, origin: str) -> str:
    if not tool.replace("-", "").isalnum():
        return "the tool that would show it is not installed"
    if origin == "text":
        return f"the text shows no output of {tool}"
    return f"{tool} is not installed" + TO_HAVE.get(tool, "")


_CLAUSES: Mapping[str, str] = {
    "timeout": "{what} did not answer in time",
    "out of time": "time ran out; more of it: gpudoctor check --budget 120",
    "crashed": "{what}",
    "device busy": "another process uses the device",
    "permission denied": "{what} needs root",
    "not inspected": "not looked at with --quick",
    "too large": "{what} is too large to read",
    "io error": "{what} could not be read",
    "unparsable": "{what} answered in an unknown form",
    "conflicting": "two sources contradict each other",
    "newer than this table": "newer than the tables of this gpudoctor",
    "not recorded": "not in this recording",
    "not in the text": "the text does not show it",
    "probe crashed": "a probe of gpudoctor failed; please report it",
    "not probed": "gpudoctor has no way to read it on this system",
}
