"""Facts, the list of all checks, how to write one, and the README's parts for users."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from check_pages import checks_list
from knowledge import Knowledge, by_topic
from markup import bullets, code, heading, label, prose

from gpudoctor.model.facts import FactSpec

FOR_DEVELOPERS = ("Develop", "Licence")
"""Parts of the README that users need not read."""
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


def guide_pages(readme: str) -> list[tuple[str, str, str]]:
    """(title, page name, Markdown) of each second-level part of the README that is for users."""
    found = [(title, content) for title, content in _parts(readme) if title not in FOR_DEVELOPERS]
    names = {title: _slug(title) for title, _ in found}
    anchors = {f"#{name}": f"{name}.md" for name in names.values()}
    known = {"checks/README.md": "writing-checks.md", **anchors}

    def moved(target: str) -> str:
        return target if target.startswith("docs/screenshots/") else known.get(target, "")

    pages = []
    for title, content in found:
        raised = _outside_fences(content, lambda text: re.sub(r"^###", "##", text, flags=re.MULTILINE))
        pages.append((title, names[title], links_rewritten(f"# {title}\n{raised}", moved)))
    return pages


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


def _parts(text: str) -> list[tuple[str, str]]:
    """Second-level headings, which may stand in blocks of code as comments do, with what follows each."""
    found: list[tuple[str, list[str]]] = []
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("## ") and not fenced:
            found.append((line[3:].strip(), []))
        elif found:
            found[-1][1].append(line)
    return [(title, "\n".join(lines)) for title, lines in found]


def _slug(title: str) -> str:
    """As GitHub makes anchors of headings."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def pictures(readme: str, root: Path) -> list[Path]:
    """Relative paths of those that the README shows and that are there."""
    named = {target for mark, _, target in _LINK.findall(readme) if mark and target.startswith("docs/screenshots/")}
    return [Path(target) for target in sorted(named) if ".." not in Path(target).parts and (root / target).is_file()]
