"""The block subset of YAML that environment and lock files are written in, line by line: keys, dashes, plain and quoted scalars.

No parser of YAML is a dependency. What is not of this subset is refused where a list of packages is read, and passed over elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpudoctor.model.audit import FormatError

_KEY = re.compile(r"""(?P<q>["']?)(?P<key>[A-Za-z0-9_./<*-][^:"'\s]{0,200})(?P=q)\s*:(?:\s+(?P<value>.*))?$""")
DEEPEST = 60
"""Levels of indentation."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line: `path` are the keys above it; a list is no level of its own. `item`: it begins with a dash; `new`: with that, an entry."""

    line: int
    path: tuple[str, ...]
    item: bool
    key: str
    """Empty for a scalar in a list."""
    value: str
    quote: str = ""
    """That of a scalar in a list."""


def rows(text: str, file: str) -> Iterator[Row]:
    """Raises FormatError for tabs as indentation and for nesting beyond reason."""
    above: list[tuple[int, str]] = []
    block = -1
    for number, raw in enumerate(text.splitlines(), 1):
        stripped = raw.strip()
        if not stripped or stripped.startswith(("#", "%")) or stripped in ("---", "..."):
            continue
        indent = len(raw) - len(raw.lstrip(" "))
        if block >= 0 and indent > block:
            continue  # inside a text that | or > began
        block = -1
        if raw[indent] == "\t":
            raise FormatError(f"{file}:{number}: a tab as indentation; YAML wants spaces")
        item, body = False, stripped
        start = indent
        while body == "-" or body.startswith("- "):
            item = True
            rest = body[1:].lstrip()
            start += len(body) - len(rest)
            body = rest
        while above and (above[-1][0] >= start or (item and above[-1][0] > indent)):
            above.pop()
        if len(above) > DEEPEST:
            raise FormatError(f"{file}:{number}: nested more than {DEEPEST} levels deep")
        if not body:
            continue
        match = _KEY.match(body)
        path = tuple(key for _, key in above)
        if match is None:
            yield Row(number, path, item, "", scalar(body), body[0] if body[0] in "'\"" else "")
            continue
        value = scalar(match["value"] or "")
        yield Row(number, path, item, match["key"], value)
        if value[:1] in ("|", ">") and len(value) <= 3:
            block = start
        elif not value or value.startswith("&"):
            above.append((start, match["key"]))


def scalar(text: str) -> str:
    """Without quotes and comment."""
    text = text.strip()
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1)
        return text[1:end] if end > 0 else text
    return re.split(r"\s#", text, maxsplit=1)[0].strip()


def flow_list(value: str) -> list[str] | None:
    """The scalars of '[a, b]' on one line; None for anything else."""
    if not (value.startswith("[") and value.endswith("]")) or value.count("[") > 1 or "{" in value:
        return None
    return [scalar(part) for part in value[1:-1].split(",") if part.strip()]
