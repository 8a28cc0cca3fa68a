"""The recommendation of `gpudoctor setup` without a name: the stack to set up, why, the second choice, and what speaks against others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from gpudoctor.diagnosis.advice.candidates import ANY, ONNX, TENSORFLOW, TRAINING, Against, Idea, ideas
from gpudoctor.model.facts import Facts
from gpudoctor.model.plan import Option, Recommendation
from gpudoctor.model.report import StackResult

_ONLY = {TENSORFLOW: ("tensorflow",), ONNX: ("onnxruntime", "openvino")}
"""Purposes that name a framework; only its stacks are offered."""
_OBSERVED = ("compute", "performance")


def recommend(facts: Facts, stacks: Sequence[StackResult], purpose: str | None, book_names: Collection[str]) -> Recommendation:
    """The recommendation. `facts` must hold `setup.name` (any text), so that the facts of setup are derived. `book_names`: the names of
    all recipes."""
    wanted = {None: ANY, "torch": TRAINING}.get(purpose, purpose) or ANY
    results = {result.stack: result for result in stacks}
    thoughts = list(ideas(facts, wanted))
    names = set(book_names) & set(_ONLY.get(wanted, book_names))
    offered = _best_of_each(one for one in thoughts if isinstance(one, Idea) and one.name in names)
    against = [one for one in thoughts if isinstance(one, Against)]
    option = _Options(facts, results, purpose)
    working = _working(results, wanted)
    first: Option | None
    runner_up: Option | None
    if working is not None:
        # What works is not replaced: only what would serve better is named at all.
        first = option.works(working, offered)
        own = next((one.rank for one in offered if one.name == first.name), 30)
        better = next((one for one in offered if one.name != first.name and one.rank > own), None)
        runner_up = option.second(better, f"{working.title} is here{' and works' if works(working) else ''}") if better else None
    else:
        first_idea = offered[0] if offered else None
        first = option.of(first_idea) if first_idea else None
        runner_up = option.second(offered[1], offered[1].second) if len(offered) > 1 else None
    chosen = {one.name for one in (first, runner_up) if one is not None}
    return Recommendation(
        first=first,
        runner_up=runner_up,
        against=tuple(dict.fromkeys(f"{one.name}: {one.why}" for one in against if one.name not in chosen)),
    )


def _best_of_each(found: Iterator[Idea]) -> list[Idea]:
    best: dict[str, Idea] = {}
    for one in found:
        if one.name not in best or one.rank > best[one.name].rank:
            best[one.name] = one
    return sorted(best.values(), key=lambda one: -one.rank)


def _working(results: dict[str, StackResult], purpose: str) -> StackResult | None:
    """A stack in use that works; else one in use without a visible fault."""
    mine = [result for result in results.values() if (purpose or TRAINING) in result.serves]
    return next((one for one in mine if works(one)), None) or next((one for one in mine if seems_sound(one)), None)


def works(result: StackResult) -> bool:
    """Whether the stack is in use without any fault; layers that only a measurement can determine do not count."""
    rungs = [rung.status for rung in result.layers if rung.layer not in _OBSERVED]
    return result.used and result.verdict in ("ok", "unknown") and bool(rungs) and all(status in ("ok", "warning") for status in rungs)


def seems_sound(result: StackResult) -> bool:
    """Whether the stack is in use without a visible fault, though not everything could be examined."""
    status = {rung.layer: rung.status for rung in result.layers if rung.layer not in _OBSERVED}
    return result.used and result.verdict == "unknown" and status.get("framework") == "ok" and set(status.values()) <= {"ok", "unknown"}


class _Options:
    def __init__(self, facts: Facts, results: dict[str, StackResult], purpose: str | None) -> None:
        self._facts, self._results = facts, results
        self._for = f" --for {purpose}" if purpose not in (None, TRAINING, "torch") else ""

    def of(self, idea: Idea) -> Option:
        return self._option(idea, (*idea.reasons, *self._state(idea.name)))

    def second(self, idea: Idea, why: str) -> Option:
        return self._option(idea, (*idea.reasons, *self._state(idea.name), *([f"second, because {why}"] if why else [])))

    def works(self, result: StackResult, offered: Sequence[Idea]) -> Option:
        name = result.recipe or result.stack
        idea = next((one for one in offered if one.name == name), None)
        said = [f"{result.title} works here already{self._where()}: nothing needs to be set up, and it is better left as it is"]
        if not works(result):
            said = [
                f"{result.title} is installed{self._where()}, and no fault of it was seen, though not all could be looked at: ask it first"
            ]
        said += [rung.detail for rung in result.layers if rung.status == "warning" and rung.detail][:1]
        if name == "ipex":
            said.append("it is archived, though: for a new environment take torch-xpu")
        device = idea.device if idea else next((rung.detail for rung in result.layers if rung.layer == "device"), "")
        return Option(name=name, title=result.title, reasons=tuple(said), device=device, command=f"gpudoctor check --stack {result.stack}")

    def _option(self, idea: Idea, reasons: Sequence[str]) -> Option:
        stack = self._set_up_by(idea.name)
        return Option(
            name=idea.name, title=stack.title if stack else idea.name, reasons=tuple(dict.fromkeys(reasons)), device=idea.device,
            command=f"gpudoctor setup {idea.name}{self._for}",
        )  # fmt: skip

    def _state(self, name: str) -> Iterator[str]:
        """What is already installed of the stack, in words."""
        result = self._set_up_by(name)
        if result is not None and result.used and result.verdict == "broken":
            yield f"it is installed{self._where()}, and broken at {str(result.broken_layer).replace('-', ' ')}: gpudoctor check says why"
        elif result is not None and result.used:
            yield f"it is installed{self._where()}{' and works' if works(result) else ''}"

    def _set_up_by(self, recipe: str) -> StackResult | None:
        return next((result for result in self._results.values() if result.recipe == recipe), None)

    def _where(self) -> str:
        torch, place = self._facts.value("torch.version"), self._facts.value("python.prefix")
        inside = f" in {place}" if place and self._facts.value("python.kind") != "system" else ""
        return f" (torch {torch}{inside})" if torch else inside
