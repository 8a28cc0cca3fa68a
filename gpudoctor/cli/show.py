"""gpudoctor show: one check, stack, recipe or fact in full."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from gpudoctor.cli import OK, BadInput, nearest

if TYPE_CHECKING:
    from gpudoctor.model.facts import FactSpec

_DEMAND = "demand-not-met"
_DEMAND_TITLE = "A demand of your policy (gpudoctor check --expect FILE) is not met"
_DEMAND_TEXT = (
    "It is no fault that gpudoctor knows: the policy says so, in the line that the finding names. gpudoctor check --expect FILE "
    "--why demand-not-met shows every demand with what was seen; gpudoctor show gpudoctor.policy/1 is the schema of policies."
)


@click.command("show")
@click.argument("name", metavar="ID")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Output format.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option("--checks", "extra", multiple=True, metavar="DIR", help="Additional folder of checks; may be repeated.")
@click.option("-v", "--verbose", is_flag=True, help="Also the conditions as their authors wrote them.")
def command(name: str, form: str, output: str | None, extra: Sequence[str], verbose: bool) -> int:
    """Show one check, stack or recipe (gpudoctor list …), one fact, or a JSON Schema: gpudoctor.report/1, gpudoctor.plan/1."""
    from gpudoctor.cli.output import deliver
    from gpudoctor.reporters.report.json_report import dumps
    from gpudoctor.reporters.shared import schema

    if name in schema.PUBLISHED:
        deliver(dumps(schema.load(schema.PUBLISHED[name])), output)
        return OK
    table, lines = find(name, extra, verbose)
    deliver(dumps(table) if form == "json" else "\n".join(lines) + "\n", output)
    return OK


def find(name: str, extra: Sequence[str] = (), verbose: bool = False) -> tuple[dict[str, Any], Iterable[str]]:
    """A check, stack, recipe or fact as JSON values, and as lines for a person. Raises BadInput."""
    from gpudoctor.cli import show_check, show_recipe
    from gpudoctor.facts import vocabulary
    from gpudoctor.reporters.shared import schema
    from gpudoctor.services import checking, setup_planning

    if name == _DEMAND:
        return {"id": _DEMAND, "title": _DEMAND_TITLE, "explanation": _DEMAND_TEXT}, [_DEMAND_TITLE, "", *_block("", _DEMAND_TEXT, 0)]
    try:
        knowledge, book = checking.catalogue(extra), setup_planning.book()
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    if knowledge.redirects.get(name) == "":
        raise BadInput(f"check '{name}' was removed, and no other check took its place; gpudoctor list checks names those that there are")
    name = knowledge.redirects.get(name, name)
    check = next((check for check in knowledge.checks if check.id == name), None)
    stack = next((stack for stack in knowledge.stacks if stack.stack == name), None)
    recipe = next((recipe for recipe in book.recipes if recipe.id == name), None)
    fact = vocabulary.specs().get(name)
    if check:
        return show_check.table(check, knowledge.checks), show_check.lines(check, knowledge.checks, _block, verbose)
    if stack:
        table, lines = show_check.stack_table(stack), show_check.stack_lines(stack, knowledge.checks, _block, verbose)
        if recipe:  # some recipes have the name of their stack
            table["recipe"] = show_recipe.table(recipe)
            return table, itertools.chain(lines, ["", ""], show_recipe.lines(recipe, _block, verbose))
        return table, lines
    if recipe:
        return show_recipe.table(recipe), show_recipe.lines(recipe, _block, verbose)
    if fact:
        return to_builtins(fact), _fact_lines(fact)
    named = [recipe.id for recipe in book.recipes if recipe.name == name]
    if named:
        raise BadInput(f"gpudoctor setup {name} has several recipes, for different machines: gpudoctor show {' or '.join(named)}")
    names = [
        *(check.id for check in knowledge.checks), *(stack.stack for stack in knowledge.stacks),
        *(recipe.id for recipe in book.recipes), *vocabulary.specs(), *schema.PUBLISHED,
    ]  # fmt: skip
    raise BadInput(f"there is no check, stack, recipe or fact '{name}'{nearest(name, names)}; gpudoctor list checks names them")


def _fact_lines(spec: FactSpec) -> Iterator[str]:
    yield f"{spec.name}   {spec.kind}"
    yield from _block("is", spec.meaning)
    for name, kind in spec.fields.items():
        yield f"{'':10}{spec.item}.{name}  {kind}"


def _block(label: str, text: str, indent: int = 10) -> Iterator[str]:
    from gpudoctor.reporters.shared.layout import wrapped

    if text:
        for number, line in enumerate(wrapped(text, 80 - indent)):
            yield f"{label if number == 0 else '':<{indent}}{line}"
