"""gpudoctor list: the knowledge base, for people and programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from gpudoctor.cli import FINDINGS, OK, UNKNOWN, BadInput

_FORMAT = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Output format.")
_OUTPUT = click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
_CHECKS = click.option("--checks", "extra", multiple=True, metavar="DIR", help="Additional folder of checks; may be repeated.")


@click.group("list")
def command() -> None:
    """List checks, devices, facts, stacks, recipes, trackers or workloads."""


@command.command("checks")
@_FORMAT
@_OUTPUT
@_CHECKS
@click.option("--test", metavar="ID", help="Run the examples of this check; exits 1 if one fails.")
def checks(form: str, output: str | None, extra: Sequence[str], test: str | None) -> int:
    """List every check: id, severity, layer and title."""
    from gpudoctor.services import checking

    try:
        if test:
            return _test(test, form, output, extra)
        known = checking.catalogue(extra).checks
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    rows = [
        {
            "id": check.id,
            "topic": check.topic,
            "severity": check.severity,
            "layer": check.layer,
            "stacks": check.stacks,
            "title": check.title,
        }
        for check in sorted(known, key=lambda check: (check.topic, check.id))
    ]
    return _show("checks", rows, ("id", "severity", "layer"), form, output)


@command.command("stacks")
@_FORMAT
@_OUTPUT
@_CHECKS
def stacks(form: str, output: str | None, extra: Sequence[str]) -> int:
    """List every stack: its name, its title and its layers."""
    from gpudoctor.services import checking

    try:
        known = checking.catalogue(extra).stacks
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    rows = [{"stack": stack.stack, "title": stack.title, "layers": [rung.layer for rung in stack.rungs]} for stack in known]
    return _show("stacks", rows, ("stack", "title"), form, output)


@command.command("trackers")
@_FORMAT
@_OUTPUT
def trackers(form: str, output: str | None) -> int:
    """List the projects that `report --to` can write to."""
    from gpudoctor.services.reporting import known_projects

    rows = [
        {
            "project": each.project,
            "read": each.read,
            "forms": ", ".join(part.file for part in each.form if part.file),
            "aliases": list(each.aliases),
        }
        for each in known_projects()
    ]
    return _show("trackers", rows, ("project", "read", "forms"), form, output)


@command.command("facts")
@_FORMAT
@_OUTPUT
def facts(form: str, output: str | None) -> int:
    """List the facts of checks and policies, with their types."""
    from gpudoctor.facts import vocabulary

    rows = [
        {"fact": spec.name, "kind": spec.kind, "item": spec.item or None, "fields": dict(spec.fields), "meaning": spec.meaning}
        for _, spec in sorted(vocabulary.specs().items())
    ]
    return _show("facts", rows, ("fact", "kind", "meaning"), form, output)


@command.command("devices")
@_FORMAT
@_OUTPUT
@click.option("--capture", metavar="PATH", help="List the devices of a recorded machine.")
def devices(form: str, output: str | None, capture: str | None) -> int:
    """List the GPUs and accelerators of a machine."""
    from gpudoctor.services import checking

    if capture is not None:
        from gpudoctor.system.memory_limit import limited_memory

        click.get_current_context().with_resource(limited_memory())
    try:
        report = checking.check(checking.CheckRequest(capture=capture, quick=True))
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    rows = [row for row in report.facts.get("gpus") or [] if isinstance(row, dict)]
    return _show(
        "devices",
        rows,
        ("address", "vendor", "name", "driver", "node"),
        form,
        output,
        none="No GPU was seen; gpudoctor check says where it looked.",
    )


@command.command("recipes")
@_FORMAT
@_OUTPUT
@click.option("--verify-online", is_flag=True, help="Check that every URL, key and version still exists; exits 1 if not.")
def recipes(form: str, output: str | None, verify_online: bool) -> int:
    """List what gpudoctor setup can install, and on which systems."""
    from gpudoctor.cli.show_recipe import blank
    from gpudoctor.services import checking, setup_planning

    if verify_online:
        return _verify_online(form, output)
    try:
        book = setup_planning.book()
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    rows = [
        {
            "name": recipe.name,
            "id": recipe.id,
            "platform": recipe.platform,
            "title": recipe.title,
            "steps": len(recipe.steps),
            "archived": recipe.archived,
        }
        for recipe in sorted(book.recipes, key=lambda recipe: (recipe.name, recipe.rank, recipe.id))
    ]
    if form == "text":
        rows = [{**row, "title": f"{blank(str(row['title']))}{' (archived)' if row['archived'] else ''}"} for row in rows]
    return _show("recipes", rows, ("name", "id", "steps", "platform", "title"), form, output)


def _verify_online(form: str, output: str | None) -> int:
    from msgspec import to_builtins

    from gpudoctor.cli.project import mirrors
    from gpudoctor.services import checking, setup_planning
    from gpudoctor.setup.verify_online import summary

    try:
        rows = setup_planning.verify_recipes(setup_planning.VerifyRequest(mirrors=mirrors()))
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    _show("rows", [to_builtins(row) for row in rows], ("status", "recipe", "what", "detail"), form, output)
    click.echo(summary(rows), err=True)
    if any(row.status == "problem" for row in rows):
        return FINDINGS
    return UNKNOWN if any(row.status == "unreached" for row in rows) else OK


@command.command("workloads")
@_FORMAT
@_OUTPUT
def workloads(form: str, output: str | None) -> int:
    """List the workloads of gpudoctor validate, with their units."""
    from gpudoctor.benchmark import workload_list

    rows = workload_list.rows()
    if form == "text":
        rows = [{**row, "tasks": "+".join(row["tasks"]), "quick": "quick" if row["quick"] else "-"} for row in rows]
    return _show("workloads", rows, ("workload", "tasks", "unit", "quick", "title"), form, output)


def _show(kind: str, rows: Sequence[dict[str, Any]], columns: Sequence[str], form: str, output: str | None, none: str = "None.") -> int:
    """Writes `rows` as JSON {kind: [...]}, or the named columns as text."""
    from gpudoctor.cli.output import deliver
    from gpudoctor.reporters.report.json_report import dumps
    from gpudoctor.reporters.shared.escape import visible

    if form == "json":
        deliver(dumps({kind: rows}), output)
        return OK
    cells = [[visible(str(row.get(column) if row.get(column) is not None else "-")) for column in columns] for row in rows]
    widths = [max((len(line[place]) for line in cells), default=0) for place in range(len(columns))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    deliver("\n".join(lines or [none]) + "\n", output)
    return OK


def _test(check_id: str, form: str, output: str | None, extra: Sequence[str]) -> int:
    from gpudoctor.cli.output import deliver
    from gpudoctor.reporters.report.json_report import dumps
    from gpudoctor.services import authoring

    tried = authoring.tried_examples(authoring.ExampleRequest(check=check_id, checks=extra))
    if form == "json":
        rows = [{"example": one.example, "expected": one.expected, "outcome": one.outcome, "holds": one.holds} for one in tried]
        deliver(dumps({"check": check_id, "examples": rows}), output)
    else:
        lines = [
            f"{'ok  ' if one.holds else 'FAIL'}  {one.example}: {one.outcome}" + ("" if one.holds else f", expected {one.expected}")
            for one in tried
        ]
        deliver("\n".join(lines or ["no examples: add [[example]] tables, one that is a problem and one that is ok"]) + "\n", output)
    return OK if tried and all(one.holds for one in tried) else FINDINGS
