"""Issue forms (YAML) and templates (Markdown) of a project: which one is for bugs, and how a report fills it in. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from gpudoctor.model.tracker_profile import FormAnswer, code_block

LARGEST = 100_000
"""Characters of a form or template; no project has larger ones."""
_BUG = re.compile(r"\bbugs?\b|bug[-_ ]|[-_]bug", re.IGNORECASE)
_TROUBLE = re.compile(r"issue|problem|crash|defect|failure|error", re.IGNORECASE)
_OTHER = re.compile(r"feature|question|doc|request|release|proposal|rfc|support|security|enhancement", re.IGNORECASE)
_PURPOSES = (
    ("python", re.compile(r"\bpython\b")),
    ("kernel", re.compile(r"\bkernel\b")),
    ("system", re.compile(r"\bos\b|operating system|distribution|\blinux\b|platform")),
    ("device", re.compile(r"\bgpus?\b|\bdevices?\b|hardware|graphics|accelerator|\bcard\b")),
    ("framework", re.compile(r"\b(pytorch|torch|tensorflow|framework|package|library|openvino|onnxruntime)\b")),
    ("environment", re.compile(r"environment|versions?\b|system info|collect_env|configuration|setup")),
    ("logs", re.compile(r"\blogs?\b|output|traceback|stack ?trace|error message|additional|anything else|context|diagnos|attach")),
    ("summary", re.compile(r"what happened|describe|description|\bbug\b|problem|issue|summary|actual|observed|current behaviou?r")),
)  # fmt: skip
"""What a field asks for, by the words of its label; of what it is called before what is said about it. The first that fits counts."""
_PERSON = re.compile(r"repro|expect|steps|workaround|minimal|how to|contact|agree|searched|checklist|regression|cause")
"""Fields that only the person can fill in."""
FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*\n", re.DOTALL)


class FormError(ValueError):
    """Raised for a form that cannot be read."""


class Field(Struct, frozen=True, kw_only=True):
    id: str
    type: str
    """input, textarea; dropdown and checkboxes are for the person alone: an address cannot fill them in."""
    label: str
    about: str
    required: bool
    rendered: bool = False
    """What is written there becomes a block of code by itself."""


class Form(Struct, frozen=True, kw_only=True):
    name: str
    file: str
    title: str
    fields: tuple[Field, ...]


class IssueTemplate(Struct, frozen=True, kw_only=True):
    name: str
    file: str
    title: str
    body: str


class Parts(Struct, frozen=True, kw_only=True):
    """The texts of a report for the fields of a form. `summary` and `whole` are Markdown, `environment` is plain text."""

    title: str
    summary: str
    environment: str
    whole: str
    short: Mapping[str, str] = field(default_factory=dict)
    """python, kernel, system, device, framework, environment: for a field of one line."""
    answers: Mapping[str, FormAnswer] = field(default_factory=dict)
    """What the profile of the project answers, by the id of the field, else by its label in lower case; it goes before any guess."""
    filled: str = ""
    """The whole form in Markdown, filled in by the profile; empty without one."""
    file: str = ""
    """The form or template that the profile names."""


def bug_first(names: Sequence[str]) -> list[str]:
    """File names of templates, those for bugs first; those that are not for problems come last."""

    def rank(name: str) -> tuple[int, str]:
        return (0 if _BUG.search(name) else 1 if _TROUBLE.search(name) else 3 if _OTHER.search(name) else 2, name.lower())

    usable = [name for name in names if name.lower().endswith((".yml", ".yaml", ".md"))]
    return sorted((name for name in usable if name.lower() not in ("config.yml", "config.yaml")), key=rank)


def parse_form(text: str, file: str) -> Form:
    """Parses a form of GitHub. Raises FormError."""
    import yaml

    try:
        table = yaml.safe_load(text[:LARGEST])
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise FormError(f"{file}: no YAML") from error
    body = table.get("body") if isinstance(table, dict) else None
    if not isinstance(body, list):
        raise FormError(f"{file}: no issue form: it has no body")
    fields = tuple(each for row in body[:200] if (each := _field(row)) is not None)
    return Form(name=_line(table.get("name")) or file, file=file, title=_line(table.get("title")), fields=fields)


def _field(row: Any) -> Field | None:
    if not isinstance(row, dict) or row.get("type") not in ("input", "textarea", "dropdown", "checkboxes"):
        return None
    attributes, validations = _table(row, "attributes"), _table(row, "validations")
    name = row.get("id")
    return Field(
        id=name if isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,100}", name) else "", type=row["type"],
        label=_line(attributes.get("label")), about=_line(attributes.get("description")), required=validations.get("required") is True,
        rendered=bool(attributes.get("render")),
    )  # fmt: skip


def parse_template(text: str, file: str) -> IssueTemplate:
    """Parses Markdown with or without front matter, of which only `name` and `title` are read, one line each."""
    text = text[:LARGEST].replace("\r\n", "\n")
    front = FRONT.match(text)
    values = dict(re.findall(r"^(name|title):[ \t]*(.*)$", front[1], re.MULTILINE)) if front else {}
    cleaned = {key: _line(value.strip().strip("'\"")) for key, value in values.items()}
    return IssueTemplate(
        name=cleaned.get("name") or file, file=file, title=cleaned.get("title", ""), body=text[front.end() :] if front else text
    )


def fill_form(form: Form, parts: Parts) -> tuple[dict[str, str], list[str]]:
    """(values by field id, labels of fields that the person must fill in). Each text of several lines is used once."""
    values: dict[str, str] = {}
    left: list[str] = []
    used: set[str] = set()
    for each in form.fields:
        known = parts.answers.get(each.id or each.label.lower())
        value = "" if known is None else known.value if each.rendered else known.markdown
        purpose = "" if known is not None else _purpose_of(each)
        if each.id and each.type == "input" and purpose:
            value = parts.short.get(purpose, "")
        elif each.id and each.type == "textarea" and purpose:
            long = _long(purpose)
            value = "" if long in used else _value(parts, long, each.rendered)
            used.add(long)
        if value and each.id:
            values[each.id] = value
        elif each.label and not value:
            left.append(each.label + (" (required)" if each.required else ""))
    return values, left


def fill_template(template: IssueTemplate, parts: Parts) -> str:
    """The project's template with the report below its headings; parts without a matching heading come at the end."""
    used: set[str] = set()
    lines: list[str] = []
    for line in template.body.split("\n"):
        lines.append(line)
        heading = re.match(r"(?:#{1,6}[ \t]+|\*\*)([^*\n]{2,120})", line)
        purpose = _purpose(heading[1]) if heading else ""
        if purpose:
            long = _long(purpose)
            if long not in used:
                used.add(long)
                lines += ["", _value(parts, long).rstrip(), ""]
    rest = [] if "whole" in used or {"summary", "environment"} <= used else ["", parts.whole.rstrip()]
    return "\n".join([*lines, *rest]).strip() + "\n"


def _purpose_of(field: Field) -> str:
    return _purpose(field.label) or _purpose(field.id.replace("-", " ").replace("_", " ")) or _purpose(field.about)


def _long(purpose: str) -> str:
    """The report's text for a field or heading of several lines."""
    return {"summary": "summary", "logs": "whole"}.get(purpose, "environment")


def _value(parts: Parts, name: str, rendered: bool = False) -> str:
    value = str(getattr(parts, name))
    if name != "environment" or rendered:
        return value
    return code_block(value)


def _purpose(text: str) -> str:
    lowered = text.lower()
    if not lowered or _PERSON.search(lowered):
        return ""
    return next((name for name, pattern in _PURPOSES if pattern.search(lowered)), "")


def _table(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = row.get(key)
    return value if isinstance(value, dict) else {}


def _line(value: Any) -> str:
    return " ".join(value.split())[:300] if isinstance(value, str) else ""
