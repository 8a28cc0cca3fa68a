"""YAML files as values that know their line, read by libyaml and bounded in depth and size before anything is built of them.

No value is made of a tag, so nothing of a file is ever called; words stay words (`no`, `3.10`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from gpudoctor.model.audit import FormatError

if TYPE_CHECKING:
    import yaml

DEEPEST = 60
"""Lists and mappings inside each other."""
MOST = 1_000_000
"""The largest number of values, each alias counted with all its values, since a few lines of nested aliases can have billions."""


class Value(Struct):
    """A value and its line. Exactly one of `text`, `items` and `entries` is set; an alias is the same object as its anchor."""

    line: int
    text: str | None = None
    quote: str = ""
    """The quotation mark of a text; '' where it has none."""
    items: list[Value] | None = None
    entries: dict[str, tuple[Value, Value]] | None = None
    """Key and value by the text of the key."""
    size: int = 1

    def get(self, key: str) -> Value | None:
        """None where there is no such key, or no mapping at all."""
        found = (self.entries or {}).get(key)
        return found[1] if found is not None else None

    def line_of_text(self, key: str = "") -> str:
        """The text, or the one below `key`, on one line; '' where there is none."""
        found = self.get(key) if key else self
        return " ".join((found.text or "").split()) if found is not None else ""


def read(text: str, file: str) -> Value:
    """The first document. Raises FormatError for invalid YAML, and for YAML that is nested or repeated beyond the limits."""
    import yaml  # imported late: other kinds of file do not need it

    try:
        found = _Builder(file).build(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except FormatError:
        raise
    except yaml.MarkedYAMLError as error:
        at_end = "end of stream" in str(
            error.problem
        )  # then the line to name is where the unfinished part begins, such as a quotation mark
        mark = (error.context_mark if at_end else None) or error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        if mark is not None and _is_tab(text, mark):
            raise FormatError(f"{file}:{line}: a tab as indentation; YAML wants spaces") from None
        reason = " ".join(filter(None, (error.context, error.problem)))
        if "nesting depth" in reason:  # libyaml's own limit, met while it looks ahead of the events (PyYAML 6.0.4)
            raise _too_deep(file, line) from None
        raise FormatError(f"{file}:{line}: no YAML that can be read ({reason})") from None
    except (yaml.YAMLError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise FormatError(f"{file}: no YAML that can be read ({reason})") from None
    return found if found is not None else Value(1, entries={})


def _too_deep(file: str, line: int) -> FormatError:
    return FormatError(f"{file}:{line}: nested more than {DEEPEST} levels deep")


def _is_tab(text: str, mark: yaml.Mark) -> bool:
    lines = text.split("\n")
    row = lines[mark.line] if mark.line < len(lines) else ""
    return row[: len(row) - len(row.lstrip())].find("\t") >= 0


class _Open(Struct):
    """A list or mapping that has not ended yet."""

    value: Value
    key: Value | None = None
    merged: list[Value] = field(default_factory=list)
    """What '<<' of a mapping names."""


class _Builder:
    """Values from the events of a parser, without recursion."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._open: list[_Open] = []
        self._anchors: dict[str, Value | None] = {}
        """None: has begun, and is not whole yet."""
        self._names: list[str | None] = []
        self._top: Value | None = None

    def build(self, events: Iterable[yaml.Event]) -> Value | None:
        import yaml

        for event in events:
            line = event.start_mark.line + 1 if event.start_mark is not None else 1
            if isinstance(event, yaml.ScalarEvent):
                quote = event.style if event.style in ("'", '"') else ""
                self._whole(Value(line, text=event.value, quote=quote), event.anchor)
            elif isinstance(event, yaml.SequenceStartEvent):
                self._begin(Value(line, items=[]), event.anchor)
            elif isinstance(event, yaml.MappingStartEvent):
                self._begin(Value(line, entries={}), event.anchor)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end()
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event.anchor or "", line)
            elif isinstance(event, yaml.DocumentEndEvent):
                return self._top
        return self._top

    def _begin(self, value: Value, anchor: str | None) -> None:
        if len(self._open) >= DEEPEST:
            raise _too_deep(self._file, value.line)
        if anchor is not None:
            self._anchors[anchor] = None
        self._open.append(_Open(value))
        self._names.append(anchor)

    def _end(self) -> None:
        done, anchor = self._open.pop(), self._names.pop()
        for other in done.merged:
            for key, pair in (other.entries or {}).items():
                if done.value.entries is not None:
                    done.value.entries.setdefault(key, pair)
        self._whole(done.value, anchor)

    def _alias(self, anchor: str, line: int) -> None:
        found = self._anchors.get(anchor)
        if found is None:
            why = "stands for something that it is part of" if anchor in self._anchors else "stands for nothing"
            raise FormatError(f"{self._file}:{line}: the alias '*{anchor[:60]}' {why}")
        self._whole(found, None)

    def _whole(self, value: Value, anchor: str | None) -> None:
        """Adds the finished value to the list or mapping that contains it."""
        if anchor is not None:
            self._anchors[anchor] = value
        if not self._open:
            self._top = value
            return
        inside = self._open[-1]
        inside.value.size += value.size
        if inside.value.size > MOST:
            raise FormatError(f"{self._file}:{value.line}: more than {MOST} values, aliases included; no file of dependencies has so many")
        if inside.value.items is not None:
            inside.value.items.append(value)
        elif inside.key is None:
            inside.key = value
        else:
            self._entry(inside, inside.key, value)
            inside.key = None

    @staticmethod
    def _entry(inside: _Open, key: Value, value: Value) -> None:
        if key.text == "<<" and not key.quote:
            inside.merged += [value] if value.items is None else value.items
        elif key.text is not None and inside.value.entries is not None:
            inside.value.entries[key.text] = (key, value)
