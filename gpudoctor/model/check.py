"""A check: where it applies, when it is a problem, its texts, its advice, its sources and its own examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from gpudoctor.model.condition import Condition
from gpudoctor.model.signature import Signature
from gpudoctor.model.stack_names import StackNames

UPDATE = ", update of "
"""In the version of a catalogue that `update-checks` brought, before its date."""

LAYERS = (
    "device", "firmware", "kernel-driver", "device-node", "user-driver", "runtime", "framework", "visible", "compute", "performance",
)  # fmt: skip
SEVERITIES = ("error", "warning", "info")
CONFIDENCES = ("certain", "likely", "possible")
SUPPORTS = ("symptom", "cause", "fix")
VERIFIED_HOW = ("source", "reproduced", "reported")
OUTCOMES = ("problem", "ok", "undetermined", "not-applicable")
RECIPES = (
    "ipex", "torch-xpu", "intel-driver", "directml", "opencl", "torch-opencl", "poplar", "openvino", "onnxruntime", "cuda", "rocm",
    "tensorflow", "jax", "mps", "cpu", "vulkan", "llama-cpp", "ollama",
)  # fmt: skip

Outcome = Literal["problem", "ok", "undetermined", "not-applicable"]


class Advice(Struct, frozen=True, kw_only=True):
    """What a finding advises, with the facts filled in: the first remedy with its commands, then the alternatives."""

    text: str
    commands: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    recipe: str | None = None
    needs_reboot: bool = False
    otherwise: tuple[str, ...] = ()
    windows: bool = False
    """The variables are set in the syntax of cmd instead of sh."""


class Step(Struct, frozen=True, kw_only=True):
    """One command of an advice. It is shown where `when` is true, or always where there is no `when`."""

    run: str
    when: Condition | None = None


class AdviceTemplate(Struct, frozen=True, kw_only=True):
    """Advice before the facts are known: {fact.name} is replaced by the value of the fact."""

    do: str
    steps: tuple[Step, ...] = ()
    otherwise: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    recipe: str | None = None
    needs_reboot: bool = False


class Variant(Struct, frozen=True, kw_only=True):
    """Advice for a case: the first variant whose `when` is true replaces the keys of the advice that it gives."""

    when: Condition
    replaces: Mapping[str, Any]


class Source(Struct, frozen=True, kw_only=True):
    """A place that supports the check: owner/repo#number or an https address.

    `published` and `read` are dates (YYYY-MM-DD): when the source was published, and when somebody last read it. `supports` names what
    it proves (symptom, cause, fix), and `literal` holds the words in it that carry the claim.
    """

    ref: str
    read: str
    published: str = ""
    supports: tuple[str, ...] = ()
    literal: str = ""
    says: str = ""


class Verified(Struct, frozen=True, kw_only=True):
    """When the check was last verified, how (source, reproduced, reported), and against which release."""

    on: str
    how: str
    against: str = ""


class Example(Struct, frozen=True, kw_only=True):
    """Facts or a text, and the outcome that the check must have for them.

    `answered_by` names other checks that may also report it with confidence: a more specific one, or the right one for a near miss.
    """

    name: str
    expect: Outcome
    facts: Mapping[str, Any]
    text: str = ""
    answered_by: tuple[str, ...] = ()


class Check(Struct, frozen=True, kw_only=True):
    """One file of checks/<vendor>/<component>/.

    A check with signatures produces a finding where a text contains one of them and no condition is false; with `proactive` also without
    any message, if its conditions are true. A `fallback` produces one only where no other check of its stacks does. `at_most` limits the
    computed confidence. `ask` is the question that decides a finding that is only possible, and `look` the command that answers it.
    """

    id: str
    topic: str
    title: str
    severity: str
    layer: str
    stacks: tuple[str, ...]
    explanation: str
    problem: Condition
    advice: AdviceTemplate
    applies: Condition | None = None
    suspect: Condition | None = None
    for_each: str | None = None
    item: str = ""
    subject: str | None = None
    at_most: str = "certain"
    caused_by: tuple[str, ...] = ()
    fallback: bool = False
    ask: str = ""
    look: str = ""
    variants: tuple[Variant, ...] = ()
    signatures: tuple[Signature, ...] = ()
    proactive: bool = False
    verified: Verified | None = None
    review_by: str = ""
    sources: tuple[Source, ...] = ()
    examples: tuple[Example, ...] = ()


class Rung(Struct, frozen=True, kw_only=True):
    """One layer of a stack. `ok` is the condition for a working layer; `only` limits the layer to some machines."""

    layer: str
    ok: Condition
    only: Condition | None = None
    detail: str = ""
    missing: str = ""


class Stack(Struct, frozen=True, kw_only=True):
    """One file checks/stacks/<stack>/stack.toml: the ladder of layers from device to performance.

    `vendors` names the makers of the GPUs that the stack supports; empty where it supports all. With `processor` the stack runs on the
    processor too, so that every machine has a device for it.
    """

    stack: str
    title: str
    applicable: Condition
    rungs: tuple[Rung, ...]
    used: Condition | None = None
    vendors: tuple[str, ...] = ()
    processor: bool = False
    names: StackNames = field(default_factory=StackNames)


class Catalogue(Struct, frozen=True, kw_only=True, eq=False):
    """All checks and stacks. `version` identifies them in reports. Compared and hashed by identity, so that it can be the key of a cache.

    `redirects` gives, for the id of a check that was removed, the id of its successor; empty where there is none.
    """

    checks: tuple[Check, ...]
    stacks: tuple[Stack, ...]
    version: str = ""
    redirects: Mapping[str, str] = field(default_factory=dict)
