"""Facts, the list of all checks, how to write one, and the pages of docs/guide."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from check_pages import checks_list
from knowledge import Knowledge, by_topic
from markup import bullets, code, heading, label, prose

from gpudoctor.model.facts import FactSpec

GUIDE = (
    "install",
    "check",
    "explain",
    "audit",
    "guard",
    "setup",
    "validate",
    "report",
    "pipelines",
    "fleet",
    "diff",
    "assistants",
    "verified",
)
"""Pages of docs/guide in the order of the site."""
PICTURES = "../screenshots/"
_LINK = re.compile(r"(!?)\[([^\[\]]*)\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^(```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)


def facts_page(facts: Mapping[str, FactSpec]) -> str:
    parts = [
        heading(1, "Facts"),
        "What checks, recipes and policies may ask of a machine. A fact is known, absent (somebody looked, and it is not there) or "
        "unknown, with the reason.",
    ]
    groups: dict[str, list[FactSpec]] = {}
    for name in sorted(facts):
        groups.setdefault(name.split(".")[0], []).append(facts[name])
    for group, specs in groups.items():
        parts.append(heading(2, prose(group)))
        for spec in specs:
            item = f" of {code(spec.item)}" if spec.item else ""
            parts.append(f"({label('fact', spec.name)})=\n**{code(spec.name)}** {prose(spec.kind)}{item}: {prose(spec.meaning)}")
            parts += [bullets(f"{code(f'{spec.item or spec.name}.{field}')} {prose(kind)}" for field, kind in spec.fields.items())]
    return "\n\n".join(part for part in parts if part) + "\n"


def checks_page(known: Knowledge) -> str:
    parts = [
        heading(1, "All checks"),
        f"{len(known.checks)}, by topic. An error does not work, a warning may not, an info is worth knowing.",
    ]
    for topic, checks in by_topic(sorted(known.checks, key=lambda check: check.id)).items():
        parts += [heading(2, prose(topic)), checks_list(checks)]
    return "\n\n".join(parts) + "\n"


def writing_page(text: str, pages: Mapping[str, str]) -> str:
    """checks/README.md."""
    return links_rewritten(text, lambda target: pages.get(target, ""))


def guide_pages(texts: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """(title, page name, Markdown) of each page of docs/guide, given as name without .md: text; in the order of GUIDE, then by name."""
    known = {"../../checks/README.md": "../writing-checks.md", **{f"{name}.md": f"{name}.md" for name in texts}}

    def moved(target: str) -> str:
        return target if target.startswith(PICTURES) else known.get(target, "")

    order = sorted(texts, key=lambda name: (GUIDE.index(name) if name in GUIDE else len(GUIDE), name))
    return [(_title(texts[name], name), f"guide/{name}", links_rewritten(texts[name], moved)) for name in order]


def _title(text: str, name: str) -> str:
    return next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), name)


def links_rewritten(text: str, moved: Callable[[str], str]) -> str:
    """Links into the repository lead to `moved(target)`, or are their own words where that is empty; addresses stay."""

    def link(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if target.startswith("https://"):
            return found[0]
        there = moved(target)
        return f"{picture}[{words}]({there})" if there else words

    return _outside_fences(text, lambda part: _LINK.sub(link, part))


def _outside_fences(text: str, change: Callable[[str], str]) -> str:
    return "".join(part if part.startswith("```") else change(part) for part in _FENCE.split(text))


def pictures(texts: Iterable[str], root: Path) -> list[Path]:
    """Relative paths of the screenshots that pages of docs/guide show and that are there."""
    shown = (target for text in texts for mark, _, target in _LINK.findall(text) if mark)
    named = {target.removeprefix("../") for target in shown if target.startswith(PICTURES)}
    found = [Path("docs") / target for target in sorted(named)]
    return [path for path in found if ".." not in path.parts and (root / path).is_file()]
