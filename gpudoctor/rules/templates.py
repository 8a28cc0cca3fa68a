"""Fills {fact.name} in texts. Values are data and are never interpreted as templates."""

from __future__ import annotations

import re
import shlex

from gpudoctor.model.facts import Absent, Facts, Known
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.rules.evaluate import shown

_FIELD = lazy(r"\{([a-z_][A-Za-z0-9_.\-]*)(?:\|([^{}]*))?\}")


SENTENCES = (".remedy",)
"""Facts whose values are sentences from our own tables; they are not cut."""


def fields_of(template: str) -> set[str]:
    """The names of the facts in a template, each once."""
    return {name for name, _ in _FIELD.findall(template)}


def fields_in_order(template: str) -> list[str]:
    return [name for name, _ in _FIELD.findall(template)]


def fill(template: str, facts: Facts) -> str:
    """Unknown facts read 'unknown' and absent ones 'none'; a text behind a bar replaces both: {nvidia.in_use|in use}. Values of names
    with _bytes are written in GiB or MiB."""

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
    """The parts between commas whose fields are all known; other parts are left out. An empty value reads what stands behind its bar, as
    an unknown one does."""

    def says(name: str) -> bool:
        return facts.value(name) not in (None, "", [], {}, ())

    parts = [part for part in template.split(", ") if all(says(name) or bar for name, bar in _FIELD.findall(part))]
    filled = [fill(_FIELD.sub(lambda field: field[0] if says(field[1]) else field[2], part), facts) for part in parts]
    return ", ".join(text for text in filled if text)


_PLAIN = lazy(r"[A-Za-z0-9_./~][A-Za-z0-9_.+:/@,=~%\[\]-]{0,400}")
"""Characters that every shell reads as one word, and no program as an option."""
_PATH = lazy(r"(?:/|~/|[A-Za-z]:[\\/])[^\x00-\x1f\x7f\"'`$;&|<>]{0,399}[^\x00-\x1f\x7f\"'`$;&|<>\\]")
_PLACES = (".path", ".file", ".library", ".broken_icd", ".executable", ".prefix", ".root", ".node", ".libcuda", ".pip")
"""Facts that contain paths. All others are names, versions or requirements, in which a slash or an at sign would lead to another place."""
_INDEX = lazy(r"(?:.*[._])?index(?:\.\w+)?")
_ADDRESS = lazy(r"https://[A-Za-z0-9_.+:/,=~%-]{1,400}")
WORDS_OF_OURS = (".command", "_command", ".packages", ".pip", ".install", ".install.index", "_names", ".headers", ".initramfs")
"""Facts of our own tables that contain several words, options among them."""


def fill_command(template: str, facts: Facts) -> str | None:
    """A command with its fields filled in; None where a fact is unknown or is no plain word: the content of a text is never run by a
    shell."""
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


def refused_value(template: str, facts: Facts) -> str | None:
    """The first value that keeps a command from being shown although it is known: it is no plain word. None where there is none."""
    for found in _FIELD.finditer(template):
        value = fill(found[0], facts)
        if isinstance(facts.get(found[1]), Known) and _one_word(found[1], value, quoted=True) is None:
            return value  # quotes decide how a value is written, and never whether it is
    return None


def _one_word(name: str, value: str, *, quoted: bool) -> str | None:
    """The value as one word of a command; several plain words where our own tables contain them."""
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
    """A template without a machine: each field reads as <kernel.release>, without its alternative text."""
    return _FIELD.sub(r"<\1>", template)


def size(number: int) -> str:
    """Bytes in powers of two: '16 GiB', without decimals from 10 on."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if number >= factor:
            amount = number / factor
            return f"{amount:.0f} {unit}" if amount >= 10 or amount == int(amount) else f"{amount:.1f} {unit}"
    return f"{number} B"
