"""The services for people who write checks: lint, examples, a new file, and the effect of a change on recorded machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpudoctor.diagnosis.examples import outcome_of, prepared
from gpudoctor.facts import vocabulary
from gpudoctor.facts.collect import Gathered, derive, gather
from gpudoctor.knowledge import paths
from gpudoctor.knowledge.lint import example_facts, lint
from gpudoctor.knowledge.loader import read_folder, read_redirects, read_toml
from gpudoctor.knowledge.recipe_lint import lint_book
from gpudoctor.knowledge.recipes import read_book
from gpudoctor.knowledge.scaffold import TODO as UNWRITTEN
from gpudoctor.knowledge.scaffold import scaffold
from gpudoctor.knowledge.structure import DataError, check_from, stack_from
from gpudoctor.model.check import Catalogue, Check, Stack
from gpudoctor.model.facts import Absent, Facts, Known
from gpudoctor.model.plan import IMPOSSIBLE, TODO
from gpudoctor.model.recipe import Recipe, RecipeBook, StepTemplate
from gpudoctor.rules.conditions import did_you_mean
from gpudoctor.rules.literals import bare
from gpudoctor.services import checking
from gpudoctor.services.mutants import survivors
from gpudoctor.services.setup_planning import SetupRequest, draw
from gpudoctor.setup.steps import kind_named
from gpudoctor.system.null_host import NoHost


class LintRequest(Struct, frozen=True, kw_only=True):
    """The catalogue to look through: the checks of this checkout, and further folders."""

    checks: Sequence[str] = ()
    only: str | None = None
    """The id of one check or stack; None is all of them."""


class ReviewRequest(Struct, frozen=True, kw_only=True):
    """The day (YYYY-MM-DD) for which overdue checks are listed."""

    today: str
    checks: Sequence[str] = ()


class ExampleRequest(Struct, frozen=True, kw_only=True):
    """The check whose examples are to be run."""

    check: str
    checks: Sequence[str] = ()


class NewCheckRequest(Struct, frozen=True, kw_only=True):
    """The check to begin, with the day (YYYY-MM-DD) on which its sources are read."""

    check: str
    topic: str
    stack: str
    today: str
    folder: str | None = None
    """The catalogue to write to; None is that of this checkout."""


class MachinesRequest(Struct, frozen=True, kw_only=True):
    """A folder of recorded machines, the folder of an earlier catalogue, and further folders beside the present one."""

    machines: str
    base: str
    checks: Sequence[str] = ()


class ExampleResult(Struct, frozen=True):
    """One example of a check: the expected outcome and the real one."""

    example: str
    expected: str
    outcome: str

    @property
    def holds(self) -> bool:
        return self.expected == self.outcome


TWIN_LITERAL = 14
"""The number of letters from which a literal is a message and not the name of a product."""


def folders(extra: Sequence[str]) -> list[Path]:
    """The checks of this checkout, if it is one, and further folders. Raises DataError where there is none."""
    own = paths.checkout_checks()
    found = ([own] if own else []) + [Path(folder) for folder in extra]
    if not found:
        raise DataError("an installed gpudoctor carries no check files; run this in a checkout, or give --checks DIR")
    for folder in found:
        if not folder.is_dir():
            raise DataError(f"{folder}: no such folder; a catalogue is a folder of <topic>/<id>.toml files")
    return found


def lint_folders(request: LintRequest) -> list[str]:
    """All mistakes, one line each. Raises DataError for a folder or an id that does not exist."""
    extra, only = request.checks, request.only
    specs, items = vocabulary.specs(), vocabulary.items()
    problems: list[str] = []
    checks: list[Check] = []
    stacks: list[Stack] = []
    for root, path in [(folder, path) for folder in folders(extra) for path in paths.files_of(folder)]:
        file, topic = path.relative_to(root).as_posix(), path.parent.relative_to(root).as_posix()
        try:
            table = read_toml(path)
            if path.name == "stack.toml":
                stacks.append(stack_from(table, file, items))
                continue
            check = check_from(table, file, topic, items)
        except DataError as error:
            problems.append(str(error))
            continue
        checks.append(check)
        if check.id != path.stem:
            problems.append(f"{file}: id: is '{check.id}'; it must be the file's name, '{path.stem}'")
        if UNWRITTEN in path.read_text(encoding="utf-8"):
            problems.append(f"{file}: a {UNWRITTEN} of the scaffold is left; write what belongs there")
        for tried in run_examples(check) if only in (None, check.id) else ():
            if not tried.holds:
                problems.append(f"{file}: example '{tried.example}': expected {tried.expected}, came out {tried.outcome}; see check --why")
    redirects = {name: target for root in folders(extra) for name, target in read_redirects(root).items()}
    problems += lint(checks, stacks, specs, redirects, only)
    if only is None:
        return problems
    if not any(check.id == only for check in checks) and not any(stack.stack == only for stack in stacks):
        broken = [line for line in problems if f"/{only}.toml:" in line]
        if not broken:
            raise DataError(f"no check or stack '{only}' in these folders")
        return broken
    return [line for line in problems if f"/{only}.toml:" in line or line.startswith(f"stacks/{only}/stack.toml:")]


def run_examples(check: Check) -> list[ExampleResult]:
    """The outcome of each example of a check."""
    return [
        ExampleResult(example.name, example.expect, outcome_of(check, prepared(example_facts(example.facts), example.text)))
        for example in check.examples
    ]


def stale_checks(request: ReviewRequest) -> list[str]:
    """Checks that were to be read again by that day, the longest overdue first. Raises DataError."""
    every = _all_checks(request.checks)
    due = sorted((check.review_by, check.topic, check.id) for check in every if check.review_by <= request.today)
    return [f"{topic}/{name}.toml: due since {date or 'ever: it has no review_by'}" for date, topic, name in due]


def shared_messages(request: LintRequest) -> list[str]:
    """Literals that several checks require; where two of them mean the same problem, they should be one check. Raises DataError."""
    holders: dict[str, set[str]] = {}
    for check in _all_checks(request.checks):
        for signature in check.signatures:
            for literal in (bare(word) for choice in signature.text for word in choice):
                if len(literal) >= TWIN_LITERAL:
                    holders.setdefault(literal, set()).add(check.id)
    return [f"'{literal}': {', '.join(sorted(names))}" for literal, names in sorted(holders.items()) if len(names) > 1]


def _all_checks(extra: Sequence[str]) -> Iterator[Check]:
    return (check for folder in folders(extra) for check in read_folder(folder, vocabulary.items())[0])


def surviving_mutants(request: LintRequest) -> Iterator[tuple[str, int, list[str]]]:
    """(check, number of its mutants, the parts that no example needs) of each check, or of one. Raises DataError."""
    for check in [_with_examples(request.only, request.checks)] if request.only else _all_checks(request.checks):
        yield (check.id, *survivors(check))


def tried_examples(request: ExampleRequest) -> list[ExampleResult]:
    """What comes out for each example of one check. Raises DataError."""
    return run_examples(_with_examples(request.check, request.checks))


def new_check(request: NewCheckRequest) -> Path:
    """Writes the file of a new check and returns its path. Raises DataError for a name that cannot be used, OSError of the disk."""
    folder = Path(request.folder) if request.folder else folders(())[0]
    return scaffold(folder, request.topic, request.check, request.stack, request.today)


def _with_examples(check_id: str, extra: Sequence[str]) -> Check:
    """A check from its file, examples included. Raises DataError."""
    for folder in folders(extra):
        for path in folder.glob(f"*/**/{check_id}.toml"):
            topic = path.parent.relative_to(folder).as_posix()
            return check_from(read_toml(path), f"{topic}/{path.name}", topic, vocabulary.items())
    raise DataError(f"no file {check_id}.toml in {', '.join(map(str, folders(extra)))}")


def lint_recipes() -> list[str]:
    """All mistakes in the recipes of this checkout, one line each: names, sources, and examples with another plan."""
    folder = paths.checkout_recipes()
    if folder is None:
        raise DataError("an installed gpudoctor carries no recipe files; run this in a checkout")
    specs = vocabulary.specs()
    book = read_book(folder, vocabulary.items())
    stacks = [stack.stack for stack in checking.catalogue().stacks]
    return lint_book(book, specs, stacks) + [line for recipe in book.recipes for line in _wrong_steps(recipe, book)]


def _wrong_steps(recipe: Recipe, book: RecipeBook) -> Iterator[str]:
    file = f"{recipe.name}/{recipe.id}.toml"
    for step in recipe.steps:
        if isinstance(step, StepTemplate):
            kind = kind_named(step.do)
            for key in sorted(set(step.settings) - set(kind.keys)):
                yield f"{file}: step '{step.title}': unknown key '{key}'{did_you_mean(key, kind.keys)} for {step.do}"
            for key in sorted(set(kind.required) - set(step.settings)):
                yield f"{file}: step '{step.title}': {step.do} needs '{key}'"
            for key, value in step.settings.items():
                if key in kind.keys and not isinstance(value, kind.keys[key]):
                    yield f"{file}: step '{step.title}': {key} is of the wrong type"
    for example in recipe.examples:
        chosen, titles = planned_titles(recipe.name, example.facts, book)
        if chosen != recipe.id:
            yield f"{file}: example '{example.name}': '{chosen or 'no recipe'}' is chosen instead"
        elif titles != list(example.steps):
            yield f"{file}: example '{example.name}': the steps left to do are {titles}"


def planned_titles(name: str, given: Mapping[str, Any], book: RecipeBook) -> tuple[str, list[str]]:
    """The id of the recipe that the facts choose, and the titles of its steps that are not done ('cannot: …' for impossible ones)."""
    defaults = {"name": name, "purpose": "training", "env": "/home/user/env", "user": "user"}
    requested = {f"setup.{key}": Known(value) for key, value in defaults.items()}
    absent = {key: Absent() for key in ("setup.torch", "setup.python_version", "setup.folder")}
    written = dict(example_facts(given).items())
    gathered = Gathered(Facts({**requested, **absent, **written}))
    derive(gathered)
    for key, fact in written.items():  # the example's own facts outweigh derived ones
        gathered.facts.set(key, fact)
    env = str(gathered.facts.value("setup.env"))
    request = SetupRequest(name=name, env=env, folder=gathered.facts.value("setup.folder"))
    plan, _ = draw(request, book, gathered.facts, NoHost(), env, "")
    titles = [step.title if step.state == TODO else f"cannot: {step.title}" for step in plan.steps if step.state in (TODO, IMPOSSIBLE)]
    return plan.recipe, titles


class Changed(Struct, frozen=True):
    """The effect of a changed catalogue on one recorded machine."""

    machine: str
    appear: tuple[str, ...]
    vanish: tuple[str, ...]
    first_before: str | None
    first_now: str | None


def compare_machines(request: MachinesRequest) -> Iterator[Changed]:
    """Every recorded machine, judged by the earlier catalogue and by the present one. Raises DataError."""
    root = Path(request.machines)
    recorded = sorted({file.parent for file in root.rglob("machine.toml")} | {*root.rglob("*.tar.gz"), *root.rglob("*.zip")})
    if not recorded:
        raise DataError(f"{request.machines}: no recorded machine below it (a folder with machine.toml, a .tar.gz or a .zip)")
    items = vocabulary.items()
    old_checks, old_stacks = read_folder(Path(request.base), items)
    old, new = Catalogue(checks=tuple(old_checks), stacks=tuple(old_stacks)), checking.catalogue(request.checks)
    for path in recorded:
        check = checking.CheckRequest(capture=str(path))
        gathered = gather(checking.open_for(check))
        before, now = (checking.report_from_facts(gathered, knowledge, check, "capture") for knowledge in (old, new))
        was, is_now = ({finding.key for finding in report.findings} for report in (before, now))
        yield Changed(
            str(path.relative_to(root)),
            tuple(sorted(is_now - was)),
            tuple(sorted(was - is_now)),
            before.summary["first_broken"],
            now.summary["first_broken"],
        )
