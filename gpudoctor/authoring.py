"""The use cases of people who write checks: lint, examples, a new file, and what a change does to recorded machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpudoctor import app
from gpudoctor.catalog import paths
from gpudoctor.catalog.lint import example_facts, lint
from gpudoctor.catalog.loader import read_folder, read_toml
from gpudoctor.catalog.scaffold import TODO
from gpudoctor.catalog.structure import DataError, check_from, stack_from
from gpudoctor.engine.examples import outcome_of
from gpudoctor.gather import vocabulary
from gpudoctor.gather.collect import gather
from gpudoctor.model.check import Catalogue, Check, Stack


@dataclass(frozen=True, slots=True)
class Tried:
    """One example of a check: what it says must come out, and what does."""

    example: str
    expected: str
    outcome: str

    @property
    def holds(self) -> bool:
        return self.expected == self.outcome


def folders(extra: Sequence[str]) -> list[Path]:
    """The checks of the checkout, if this is one, and further folders. Raises DataError where there is none."""
    own = paths.checkout_checks()
    found = ([own] if own else []) + [Path(folder) for folder in extra]
    if not found:
        raise DataError("an installed gpudoctor carries no check files; run this in a checkout, or give --checks DIR")
    for folder in found:
        if not folder.is_dir():
            raise DataError(f"{folder}: no such folder; a catalogue is a folder of <topic>/<id>.toml files")
    return found


def lint_folders(extra: Sequence[str], only: str | None = None) -> list[str]:
    """Everything that is wrong, one line each; `only` is the id of one check or stack."""
    specs, items = vocabulary.specs(), vocabulary.items()
    problems: list[str] = []
    checks: list[Check] = []
    stacks: list[Stack] = []
    for path in (path for folder in folders(extra) for path in paths.files_of(folder)):
        file = f"{path.parent.name}/{path.name}"
        try:
            table = read_toml(path)
            if path.name == "stack.toml":
                stacks.append(stack_from(table, file, items))
                continue
            check = check_from(table, file, path.parent.name, items)
        except DataError as error:
            problems.append(str(error))
            continue
        checks.append(check)
        if check.id != path.stem:
            problems.append(f"{file}: id: is '{check.id}'; it must be the file's name, '{path.stem}'")
        if TODO in path.read_text(encoding="utf-8"):
            problems.append(f"{file}: a {TODO} of the scaffold is left; write what belongs there")
        for tried in run_examples(check):
            if not tried.holds:
                problems.append(f"{file}: example '{tried.example}': expected {tried.expected}, came out {tried.outcome}; see check --why")
    problems += lint(checks, stacks, specs)
    if only is None:
        return problems
    if not any(check.id == only for check in checks) and not any(stack.stack == only for stack in stacks):
        broken = [line for line in problems if f"/{only}.toml:" in line]
        if not broken:
            raise DataError(f"no check or stack '{only}' in these folders")
        return broken
    return [line for line in problems if f"/{only}.toml:" in line or line.startswith(f"{only}/stack.toml:")]


def run_examples(check: Check) -> list[Tried]:
    return [Tried(example.name, example.expect, outcome_of(check, example_facts(check, example.facts))) for example in check.examples]


def with_examples(check_id: str, extra: Sequence[str]) -> Check:
    """A check from its file, examples included. Raises DataError."""
    for folder in folders(extra):
        for path in folder.glob(f"*/{check_id}.toml"):
            return check_from(read_toml(path), f"{path.parent.name}/{path.name}", path.parent.name, vocabulary.items())
    raise DataError(f"no file {check_id}.toml in {', '.join(map(str, folders(extra)))}")


@dataclass(frozen=True, slots=True)
class Changed:
    """What a changed catalogue does to one recorded machine."""

    machine: str
    appear: tuple[str, ...]
    vanish: tuple[str, ...]
    first_before: str | None
    first_now: str | None


def compare_machines(machines: str, base: str, extra: Sequence[str]) -> Iterator[Changed]:
    """Every recorded machine below `machines` judged by the catalogue in `base` and by the present one."""
    root = Path(machines)
    recorded = sorted({file.parent for file in root.rglob("machine.toml")} | {*root.rglob("*.tar.gz"), *root.rglob("*.zip")})
    if not recorded:
        raise DataError(f"{machines}: no recorded machine below it (a folder with machine.toml, a .tar.gz or a .zip)")
    items = vocabulary.items()
    old_checks, old_stacks = read_folder(Path(base), items)
    old, new = Catalogue(checks=tuple(old_checks), stacks=tuple(old_stacks)), app.catalogue(extra)
    for path in recorded:
        request = app.CheckRequest(capture=str(path))
        gathered = gather(app.open_for(request))
        before, now = (app.judge(gathered, knowledge, request, "capture") for knowledge in (old, new))
        was, is_now = ({finding.key for finding in report.findings} for report in (before, now))
        yield Changed(
            str(path.relative_to(root)),
            tuple(sorted(is_now - was)),
            tuple(sorted(was - is_now)),
            before.summary["first_broken"],
            now.summary["first_broken"],
        )
