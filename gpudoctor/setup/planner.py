"""Makes a plan of facts, a recipe and what the person asked for. It only reads, and works for live and recorded machines alike."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.model.condition import Condition
from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.plan import DONE, IMPOSSIBLE, TODO, Plan, PlannedStep, Refusal
from gpudoctor.model.recipe import Recipe, StepTemplate
from gpudoctor.rules.evaluate import evaluate
from gpudoctor.rules.templates import fill
from gpudoctor.setup.packages.pins import Pinned, pinned
from gpudoctor.setup.steps import kind_named
from gpudoctor.setup.steps._step import Draft, Look, PlanError
from gpudoctor.setup.wsl_safety import forbidden

Chooser = Callable[[str], tuple[Recipe | None, tuple[str, ...]]]
"""(recipe of a name that serves this machine or None, reasons why the others do not)."""
_FIELD = re.compile(r"\{([a-z_][A-Za-z0-9_.\-]*)\}")


class _Placed(Struct, frozen=True):
    step: StepTemplate
    recipe: Recipe


def plan(recipe: Recipe, look: Look, choose: Chooser, machine: str) -> Plan:
    """The plan with the values of all steps. What cannot be planned is a step marked impossible, and a refusal. `choose` finds included
    recipes; `machine`: the machine in words."""
    facts = look.facts
    parts: list[Recipe] = []
    refusals: list[Refusal] = []
    placed = list(_expand(recipe, facts, choose, parts, refusals, ()))
    look = _pins_its_python(placed, look)
    refusals += [Refusal(title=text, advice=advice) for level, text, advice in _gates(parts, facts) if level == "refuse"]
    steps = _without_idle_repositories([_planned(number, one, look) for number, one in enumerate(placed, 1)])
    refusals += [Refusal(title=f"{step.title}: {reason}", advice=advice) for step in steps if step.state == IMPOSSIBLE
                 for reason, advice in [_split(step.note)]]  # fmt: skip
    environments = [step for step in steps if step.kind in ("venv", "pip")]
    return Plan(
        name=recipe.name, recipe=recipe.id, title=fill(recipe.title, facts), stack=recipe.stack, compute=recipe.compute, machine=machine,
        env=look.env if environments else "", steps=tuple(steps), refusals=tuple(_unique(refusals)),
        warnings=tuple(dict.fromkeys(f"{text}; {advice}" for level, text, advice in _gates(parts, facts) if level == "warn")),
        remarks=tuple(dict.fromkeys(fill(remark.text, facts) for part in parts for remark in part.remarks if _true(remark.when, facts))),
        archived=recipe.archived, disk_gb=sum(part.disk_gb for part in parts),
        sources=tuple(dict.fromkeys(source.ref for part in parts for source in part.sources)),
        variables={name: str(value) for step in steps if step.kind == "environment"
                   for name, value in step.settings.get("variables", {}).items()},
        os_id=str(facts.value("os.id", "")), os_version=str(facts.value("os.version", "")),
    )  # fmt: skip


def _expand(
    recipe: Recipe, facts: Facts, choose: Chooser, parts: list[Recipe], refusals: list[Refusal], above: tuple[str, ...]
) -> Iterator[_Placed]:
    if recipe.id in above:
        raise PlanError(f"recipe {recipe.id} includes itself ({' > '.join(above)}); this is a mistake in the recipes")
    if recipe in parts:
        return  # its steps are in the plan already
    parts.append(recipe)
    for step in recipe.steps:
        if not _true(step.when, facts):
            continue
        if isinstance(step, StepTemplate):
            yield _Placed(step, recipe)
            continue
        included, why_not = choose(step.name)
        if included is None:
            advice = "; ".join(why_not) or "none is written yet"
            refusals.append(Refusal(title=f"no recipe '{step.name}' serves this machine", advice=advice))
        else:
            yield from _expand(included, facts, choose, parts, refusals, (*above, recipe.id))


def _true(condition: Condition | None, facts: Facts) -> bool:
    return condition is None or evaluate(condition, facts).truth == "true"


def _gates(parts: list[Recipe], facts: Facts) -> Iterator[tuple[str, str, str]]:
    for part in parts:
        for gate in part.gates:
            if evaluate(gate.holds, facts).truth == "false":
                yield gate.level, fill(gate.title, facts), fill(gate.advice, facts)


def _planned(number: int, placed: _Placed, look: Look) -> PlannedStep:
    step, facts = placed.step, look.facts
    try:
        draft = _draft(step, look)
    except PlanError as error:
        draft = Draft(settings={}, state=IMPOSSIBLE, note=str(error))
    return PlannedStep(
        number=number, kind=step.do, title=fill(step.title, facts), why=fill(step.why, facts), layer=step.layer, recipe=placed.recipe.id,
        settings=draft.settings, state=draft.state, note=draft.note, changes=draft.changes, acts=draft.acts, root=draft.root,
        restart=draft.restart,
    )  # fmt: skip


def _draft(step: StepTemplate, look: Look) -> Draft:
    given = settled(step.settings, look.facts)
    if look.facts.value("platform.kind") == "wsl2":
        reason = forbidden(step.do, given)
        if reason:
            raise PlanError(f"{reason}; leave this step out and update the driver of Windows")
    if look.options.get("fresh"):
        if step.do == "pip":
            given = {**given, "packages": list(_pins(given, look).packages)}
    elif step.done is not None and evaluate(step.done, look.facts).truth == "true":
        return Draft(settings=given, state=DONE, note="it is so already")
    return kind_named(step.do).plan(given, look)


def _pins(given: Mapping[str, Any], look: Look) -> Pinned:
    return pinned([str(text) for text in given["packages"]], str(given.get("index") or ""), look.facts)


def _pins_its_python(placed: Sequence[_Placed], look: Look) -> Look:
    """What planning sees, for an export with the demand that the Python of the new environment has wheels of the pinned releases."""
    if not look.options.get("fresh"):
        return look
    needs = []
    for one in placed:
        if one.step.do == "pip":
            with contextlib.suppress(PlanError):  # the planning of the step reports it
                needs.append(_pins(settled(one.step.settings, look.facts), look).python)
    return replace(look, options={**look.options, "python_needs": ",".join(filter(None, needs))})


_PACKAGES = {"apt.repository": "apt.install", "dnf.repository": "dnf.install"}


def _without_idle_repositories(steps: Sequence[PlannedStep]) -> list[PlannedStep]:
    """The steps, without adding repositories from which every package is installed: root is not needed for them."""
    found = []
    for step in steps:
        wanted = _PACKAGES.get(step.kind)
        users = [one for one in steps if one.kind == wanted and one.recipe == step.recipe and one.number > step.number]
        if step.state == TODO and users and all(one.state == DONE for one in users):
            step = replace(step, state=DONE, note="not needed: every package from it is installed", changes=(), acts=())
        found.append(step)
    return found


def settled(value: Any, facts: Facts) -> Any:
    """The value with all templates filled. In a list, an entry that consists of one {fact} that holds a list is replaced by its items.

    Raises PlanError for an unknown fact, since no act may be made of the word 'unknown'.
    """
    if isinstance(value, str):
        for name in _FIELD.findall(value):
            if not isinstance(facts.get(name), Known):
                raise PlanError(f"{name} is not known here; run gpudoctor check -v to see why, or say it on the command line")
        return fill(value, facts)
    if isinstance(value, Mapping):
        return {key: inner if key == "ready" else settled(inner, facts) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        filled: list[Any] = []
        for inner in value:
            whole = _FIELD.fullmatch(inner) if isinstance(inner, str) else None
            known = facts.value(whole[1]) if whole else None
            filled += [str(item) for item in known] if isinstance(known, (list, tuple)) else [settled(inner, facts)]
        return filled
    return value


def _split(note: str) -> tuple[str, str]:
    reason, _, advice = note.partition("; ")
    return reason, advice


def _unique(refusals: list[Refusal]) -> list[Refusal]:
    return list(dict.fromkeys(refusals))
