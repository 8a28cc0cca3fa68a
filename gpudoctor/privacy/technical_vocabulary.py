"""The words that probes and checks use: no name of a person or host may replace one of them in a redacted report."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib import resources

from gpudoctor.model.check import Catalogue
from gpudoctor.model.facts import Facts

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)*")
_PACKAGES = ("gpudoctor.facts.probes", "gpudoctor.facts.derive", "gpudoctor.target.payloads")


def technical_words(knowledge: Catalogue | None = None, facts: Facts | None = None) -> frozenset[str]:
    """The words of our probes, tables and checks, and the names of installed packages, in lower case."""
    words = set(_of_the_probes())
    if knowledge is not None:
        words |= _of_the_checks(knowledge)
    if facts is not None:
        for name in ("python.distributions", "packages"):
            installed = facts.value(name)
            words |= {str(each).lower() for each in installed} if isinstance(installed, dict) else set()
    return frozenset(words)


_OF_OTHERS = "other-programs.toml"
"""Programs that have nothing to do with ours; hosts are called like some of them."""


@cache
def _of_the_probes() -> frozenset[str]:
    """The words in the source code of our probes and in our tables, which name everything that a probe looks for."""
    texts = [
        file.read_text(encoding="utf-8")
        for package in _PACKAGES
        for file in resources.files(package).iterdir()
        if file.name.endswith(".py")
    ]
    texts += [
        file.read_text(encoding="utf-8")
        for file in resources.files("gpudoctor").joinpath("data").iterdir()
        if file.name.endswith(".toml") and file.name != _OF_OTHERS
    ]
    return frozenset(_words(texts))


@lru_cache(maxsize=1)
def _of_the_checks(knowledge: Catalogue) -> frozenset[str]:
    return frozenset(
        _words(
            text
            for check in knowledge.checks
            for text in (check.title, check.explanation, repr(check.applies), repr(check.problem), repr(check.suspect), check.advice.do)
        )
    )


def _words(texts: Iterable[str]) -> set[str]:
    """Compound words as a whole and in parts: compute-runtime, compute, runtime."""
    found: set[str] = set()
    for text in texts:
        for word in _WORD.findall(text.lower()):
            found.add(word)
            found.update(part for part in re.split(r"[-_.]", word) if len(part) > 2)
    return found
