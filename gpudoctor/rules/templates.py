"""Fills {fact.name} in texts. Values are data: what they hold is never read as a template again."""

from __future__ import annotations

import re
import shlex

from gpudoctor.model.facts import Absent, Facts, Known
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.rules.evaluate import shown

_FIELD = lazy(r"\{([a-z_][A-Za-z0-9_.\-]*)(?:\|([^{}]*))?\}")


SENTENCES = (".remedy",)
"""Facts that tables of ours spell out as sentences: they are not cut in the middle of a word."""


def fields_of(template: str) -> set[str]:
    return {name for name, _ in _FIELD.findall(template)}


def fields_in_order(template: str) -> list[str]:
    return [name for name, _ in _FIELD.findall(template)]


def fill(template: str, facts: Facts) -> str:
    """Unknown facts read 'unknown', absent ones 'none', both of them what stands behind a bar: {nvidia.in_use|in use}.

    Names with _bytes read as GiB or MiB.
    """

    def value(found: re.Match[str]) -> str:
        fact = facts.get(found[1])
        if isinstance(fact, Known):
            if found[1].endswith("_bytes") and isinstance(fact.value, int):
                return size(fact.value)
            return shown(fact.value, 600).rstrip(".") if found[1].endswith(SENTENCES) else shown(fact.value)
        if found[2] is not None:
            return str(found[2])
        return "none" if isinstance(fact, Absent) else "unknown"

    return _FIELD.sub(value, template)


def fill_known(template: str, facts: Facts) -> str:
    """The parts between commas of which every field is known: a detail says what was seen and passes over the rest.

    An empty value reads what stands behind its bar, as an unknown one does.
    """

    def says(name: str) -> bool:
        return facts.value(name) not in (None, "", [], {}, ())

    parts = [part for part in template.split(", ") if all(says(name) or bar for name, bar in _FIELD.findall(part))]
    filled = [fill(_FIELD.sub(lambda field: field[0] if says(field[1]) else field[2], part), facts) for part in parts]
    return ", ".join(text for text in filled if text)


_PLAIN = lazy(r"[A-Za-z0-9_./~][A-Za-z0-9_.+:/@,=~%\[\]-]{0,400}")
"""What every shell takes as one word and nobody as an option."""
_PATH = lazy(r"(?:/|~/|[A-Za-z]:[\\/])[^\x00-\x1f\x7f\"'`$;&|<>]{0,399}[^\x00-\x1f\x7f\"'`$;&|<>\\]")
_PLACES = (".path", ".file", ".library", ".broken_icd", ".executable", ".prefix", ".root", ".node", ".libcuda", ".pip")
"""Facts that hold paths. Any other is a name, a version or a requirement, in which a slash or an at sign would lead elsewhere."""
_INDEX = lazy(r"(?:.*[._])?index(?:\.\w+)?")
_ADDRESS = lazy(r"https://[A-Za-z0-9_.+:/,=~%-]{1,400}")
WORDS_OF_OURS = (".command", "_command", ".packages", ".pip", ".install", ".install.index", "_names", ".headers", ".initramfs")
"""Facts that tables of ours spell out as several words, options among them."""


def fill_command(template: str, facts: Facts) -> str | None:
    """A command with its fields filled in; None where a fact is unknown, or is no plain word: what a text says is never run as shell."""
    words: list[str] = []
    end = 0
    for found in _FIELD.finditer(template):
        fact = facts.get(found[1])
        value = fill(found[0], facts)
        if not isinstance(fact, Known) and found[2] is None:
            return None
        word = _one_word(found[1], value, quoted=template[found.start() - 1 : found.start()] in ("'", '"'))
        if word is None:
            return None
        words += [template[end : found.start()], word]
        end = found.end()
    return "".join((*words, template[end:]))


def _one_word(name: str, value: str, *, quoted: bool) -> str | None:
    """The value as one word of a command; several plain words where a table of ours says them."""
    if _INDEX.fullmatch(name) and _ADDRESS.fullmatch(value):
        return value
    if _PLAIN.fullmatch(value) and "://" not in value and (name.endswith(_PLACES) or not re.search("[/@]", value)):
        return value
    if name.endswith(WORDS_OF_OURS) and all(_PLAIN.fullmatch(part.lstrip("-").strip("'\"")) for part in value.split(" ")):
        return value
    if name.endswith(_PLACES) and _PATH.fullmatch(value):
        return value if quoted else f'"{value}"' if value[1:2] == ":" else shlex.quote(value)
    return None


def readable(template: str) -> str:
    """A template without a machine: <kernel.release> stands where the fact would, words of its own left out."""
    return _FIELD.sub(r"<\1>", template)


def size(number: int) -> str:
    """16 GB reads '16 GiB' here: powers of two, no decimals from 10 on."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if number >= factor:
            amount = number / factor
            return f"{amount:.0f} {unit}" if amount >= 10 or amount == int(amount) else f"{amount:.1f} {unit}"
    return f"{number} B"
