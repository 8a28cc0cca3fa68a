"""A check: where it applies, when it is a problem, what to say, what to do, on what ground, and its own examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gpudoctor.model.condition import Condition
from gpudoctor.model.signature import Signature

LAYERS = (
    "device", "firmware", "kernel-driver", "device-node", "user-driver", "runtime", "framework", "visible", "compute", "performance",
)  # fmt: skip
SEVERITIES = ("error", "warning", "info")
CONFIDENCES = ("certain", "likely", "possible")
OUTCOMES = ("problem", "ok", "undetermined", "not-applicable")
RECIPES = (
    "ipex", "torch-xpu", "intel-driver", "directml", "opencl", "torch-opencl", "poplar", "openvino", "onnxruntime", "cuda", "rocm",
    "tensorflow", "jax", "mps", "cpu",
)  # fmt: skip

Outcome = Literal["problem", "ok", "undetermined", "not-applicable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Templates: {fact.name} is replaced by what the fact is."""

    text: str
    commands: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    recipe: str | None = None
    needs_reboot: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Advice for a case: the first variant whose `when` is true replaces the keys that it gives."""

    when: Condition
    replaces: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """owner/repo#number or an https address, when it was looked at (YYYY-MM-DD), and what it proves."""

    ref: str
    date: str
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Facts, or a text, and what the check must say of them."""

    name: str
    expect: Outcome
    facts: Mapping[str, Any]
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One file of checks/<topic>/.

    One with signatures speaks where a text shows one of them and no condition is false; where `foreseen`, also where no text says
    anything yet and its conditions are true.
    """

    id: str
    topic: str
    title: str
    severity: str
    layer: str
    stacks: tuple[str, ...]
    explanation: str
    problem: Condition
    advice: Advice
    applies: Condition | None = None
    suspect: Condition | None = None
    for_each: str | None = None
    item: str = ""
    subject: str | None = None
    confidence: str = "certain"
    caused_by: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    variants: tuple[Variant, ...] = ()
    signatures: tuple[Signature, ...] = ()
    foreseen: bool = False
    sources: tuple[Source, ...] = ()
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One layer of a stack: `ok` says when it holds."""

    layer: str
    ok: Condition
    detail: str = ""
    missing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """One file checks/<stack>/stack.toml: the ladder from device to performance."""

    stack: str
    title: str
    applicable: Condition
    rungs: tuple[Rung, ...]
    used: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Everything that is known: checks and stacks. `version` and `date` go into reports."""

    checks: tuple[Check, ...]
    stacks: tuple[Stack, ...]
    version: str = ""
