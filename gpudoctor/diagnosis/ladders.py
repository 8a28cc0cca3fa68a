"""From stacks, facts and findings to ladders: which layers work, which is broken, and which were not reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from gpudoctor.diagnosis.diagnose import OBSERVED
from gpudoctor.diagnosis.reasons import why_unknown
from gpudoctor.model.check import LAYERS, Rung, Stack
from gpudoctor.model.facts import Facts
from gpudoctor.model.report import Finding, LayerResult, StackResult
from gpudoctor.rules.evaluate import evaluate
from gpudoctor.rules.templates import fill_known

MEASURED = ("compute", "performance")
"""Layers that are known only after `validate`."""


def used_stacks(stacks: Iterable[Stack], facts: Facts) -> frozenset[str]:
    """Stacks whose framework the target environment holds."""
    return frozenset(stack.stack for stack in stacks if stack.used is not None and evaluate(stack.used, facts).truth == "true")


def demote_unused(findings: Iterable[Finding], stacks: Sequence[Stack], used: frozenset[str], asked: str | None = None) -> list[Finding]:
    """Reduces faults of unused stacks to notes where another stack is in use. A stack given by `--stack` counts as used."""
    wanted = used | {asked} if asked else used
    torch_on_device = {stack.stack for stack in stacks if "torch" in stack.names.frameworks and "training" in stack.names.serves}
    torch_in_use = bool(wanted & torch_on_device)
    other_in_use = bool(wanted - {"torch-cpu"})

    def unasked(finding: Finding) -> bool:
        concerned = set(finding.stacks)
        if not concerned or concerned & wanted or finding.said_at:
            return False
        return torch_in_use or (other_in_use and not concerned & torch_on_device)

    return [replace(f, severity="info") if f.severity != "info" and unasked(f) else f for f in findings]


def ladder(
    stack: Stack, facts: Facts, findings: Sequence[Finding], used: bool, origin: str = "live", *, asked: bool = False
) -> StackResult:
    """The ladder of one stack.

    Above the lowest layer that does not work, layers that must be observed are 'not reached'. A fault on a layer that the stack does not
    declare adds this layer; layers that this platform does not have are left out. `asked`: the stack was given by name, so that a device
    without the framework is 'not installed' and never 'no device'.
    """
    mine = [finding for finding in findings if stack.stack in finding.stacks]
    applicable = evaluate(stack.applicable, facts).truth
    used_and_broken = used and any(finding.severity == "error" for finding in mine)
    if applicable == "false" and not used_and_broken and not (asked and _has_device(stack, facts)):
        return _nothing_for(stack, facts, used)
    rungs = {rung.layer: rung for rung in stack.rungs if rung.only is None or evaluate(rung.only, facts).truth != "false"}
    layers: list[LayerResult] = []
    verdict = "ok"
    for layer in LAYERS:
        here = [finding for finding in mine if finding.layer == layer]
        if layer in rungs or any(finding.severity == "error" for finding in here):
            result = _rung(layer, rungs.get(layer), facts, here, verdict, origin)
            layers.append(result)
            verdict = _verdict(verdict, result.status, layer)
    if applicable == "unknown" and verdict == "incomplete":
        verdict = "unknown"
    return _result(stack, verdict, used, layers)


def _has_device(stack: Stack, facts: Facts) -> bool:
    return any(rung.layer == "device" and evaluate(rung.ok, facts).truth == "true" for rung in stack.rungs)


def _nothing_for(stack: Stack, facts: Facts, used: bool) -> StackResult:
    """The result for a stack without a device of its kind. One that also runs on the processor is only not installed."""
    if not stack.processor:
        return _result(stack, "not-applicable", used, ())
    missing = tuple(
        LayerResult(layer=rung.layer, status="not-reached", detail=fill_known(rung.missing, facts) if number == 0 else "")
        for number, rung in enumerate(stack.rungs)
    )
    return _result(stack, "incomplete", used, missing)


def _result(stack: Stack, verdict: str, used: bool, layers: Sequence[LayerResult]) -> StackResult:
    names = stack.names
    return StackResult(
        stack=stack.stack, title=stack.title, verdict=verdict, used=used, layers=tuple(layers), recipe=names.recipe, serves=names.serves
    )


def _rung(layer: str, rung: Rung | None, facts: Facts, findings: Sequence[Finding], so_far: str, origin: str) -> LayerResult:
    stopped = so_far in ("broken", "incomplete")
    follows = so_far == "broken"  # a consequence of the fault below is not one more
    fault = next((f for f in findings if f.severity == "error" and not (follows and f.caused_by)), None)
    if fault is not None and not (stopped and layer in OBSERVED):
        return LayerResult(layer=layer, status="broken", detail=fault.title)
    verdict = evaluate(rung.ok, facts) if rung else None
    truth = verdict.truth if verdict else "unknown"
    if stopped and (layer in OBSERVED or truth != "true"):
        return LayerResult(layer=layer, status="not-reached", detail="")
    if truth == "true":
        warned = next((finding for finding in findings if finding.severity == "warning"), None)
        if warned is not None:
            return LayerResult(layer=layer, status="warning", detail=warned.title)
        return LayerResult(layer=layer, status="ok", detail=fill_known(rung.detail, facts) if rung else "")
    if truth == "false":
        return LayerResult(layer=layer, status="not-reached", detail=fill_known(rung.missing, facts) if rung else "")
    why = "" if verdict is None or layer in MEASURED else why_unknown(verdict, origin)
    return LayerResult(layer=layer, status="unknown", detail=why)


def _verdict(so_far: str, status: str, layer: str) -> str:
    """The verdict on the stack. A fault decides, even above a layer that could not be read or is not installed; else the lowest layer
    that is not ok. Layers that `validate` measures decide nothing while they are unmeasured."""
    if so_far == "broken" or status in ("ok", "warning"):
        return so_far
    if status == "broken":
        return "broken"
    if so_far != "ok" or (status == "unknown" and layer in MEASURED):
        return so_far
    return "unknown" if status == "unknown" else "incomplete"


def first_broken(findings: Sequence[Finding], ladders: Sequence[StackResult]) -> str | None:
    """`stack/layer` of the first error whose stack is in use, else of the first broken ladder; None without either."""
    broken = {result.stack: result for result in ladders if result.verdict == "broken"}
    for finding in findings:
        if finding.severity == "error":
            mine = [result for name, result in broken.items() if name in finding.stacks and result.used]
            if mine:
                return f"{mine[0].stack}/{mine[0].broken_layer}"
    return next((f"{result.stack}/{result.broken_layer}" for result in broken.values()), None)
