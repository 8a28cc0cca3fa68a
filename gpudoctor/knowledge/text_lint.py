"""Rules for the texts of a check: titles, explanations, advice, sources, dates and the names of examples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

from gpudoctor.knowledge.command_lint import wrong_commands
from gpudoctor.model.check import Check, Step
from gpudoctor.rules.literals import bare
from gpudoctor.rules.templates import readable

LONGEST_TITLE, LONGEST_DO, LONGEST_WHY, LONGEST_OTHERWISE = 110, 160, 360, 300
HALF_A_YEAR, TWO_YEARS = 190, 740
"""The number of days after which a check must be reviewed: one that names versions or addresses, and any other."""
_CURE = re.compile(
    r"^(?:Install|Update|Upgrade|Use|Set|Unset|Remove|Disable|Enable|Check|Run|Try|Make|Add|Reinstall|Downgrade|Restart"
    r"|Load|Choose)\b(?! of\b)"
)
_TWO_SENTENCES = re.compile(r"[.!?]\s+[A-Z][a-z]")
UNPLAIN = re.compile(
    r"\banew\b|\bmend(?:s|ed|ing)?\b|\btold\b|\bcan(?:not| not) be told\b|(?<!\bat )\brun times?\b"
    r"|\bnought\b|\blets expect\b|\blike this one\b"
    r"|\bas demanded\b|\bfrom which level\b|\bwithout a word\b|\bnobody (?:knows|tells)\b|\bwhole or not at all\b"
    r"|\blogs? in anew\b|\bis not here\b|\b(?:you|this user|this user or container) may not (?:open|read)\b",
    re.IGNORECASE,
)
"""Phrases that are not plain English: docs/guide/style.md."""
_STAMP = re.compile(
    r"(?:said|something else|nothing of it|as it is printed|as a person says it|another wording|said in a text|told"
    r"|example)(?: \d+)?",
    re.IGNORECASE,
)
_AGES = re.compile(r"\d+\.\d+|https?://|\bnot supported\b|\bno support\b|\bnewest\b|\blatest\b", re.IGNORECASE)
_INDEX = re.compile(r"\bwhl/(?:cu|rocm)\d")


def wrong_texts(check: Check) -> Iterator[str]:
    """The mistakes in the texts of one check, as `key: message`."""
    yield from _title(check)
    given: Mapping[str, Any] = {"do": check.advice.do, "steps": check.advice.steps, "otherwise": check.advice.otherwise}
    advices = [("advice", given), *((f"variant[{number}]", variant.replaces) for number, variant in enumerate(check.variants))]
    for where, advice in advices:
        for line in _advice(advice):
            yield f"{where}: {line}"
    if len(readable(check.explanation)) > LONGEST_WHY:
        yield f"explanation: has {len(check.explanation)} letters; say why in one or two sentences, at most {LONGEST_WHY}"
    texts = (("title", check.title), ("explanation", check.explanation), *_sentences(advices), *_notes(check))
    for name, text in texts:
        if found := UNPLAIN.search(text):
            yield f"{name}: '{found[0]}' is not how a technical writer says it"
    yield from _sources(check)
    yield from _life(check)
    yield from _examples(check)


def _sentences(advices: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, str]]:
    for where, advice in advices:
        yield from ((f"{where}.do", text) for text in (advice.get("do"),) if text)
        yield from ((f"{where}.otherwise", text) for text in advice.get("otherwise", ()))


def _notes(check: Check) -> Iterator[tuple[str, str]]:
    """What is written for authors: the notes on sources, and the names of examples."""
    yield from ((f"source {source.ref}", source.says) for source in check.sources)
    yield from ((f"example {example.name!r}", example.name) for example in check.examples)


def _title(check: Check) -> Iterator[str]:
    if len(readable(check.title)) > LONGEST_TITLE:
        yield f"title: has {len(check.title)} letters; name the trouble in at most {LONGEST_TITLE}"
    if _CURE.match(check.title):
        yield "title: names a cure; name the trouble"
    if check.title.endswith("."):
        yield "title: ends with a full stop"


def _advice(advice: Mapping[str, Any]) -> Iterator[str]:
    do = str(advice.get("do") or "")
    steps: tuple[Step, ...] = advice.get("steps") or ()
    otherwise: tuple[str, ...] = advice.get("otherwise") or ()
    if len(readable(do)) > LONGEST_DO:
        yield f"do: has {len(do)} letters; one sentence of at most {LONGEST_DO}, and the rest in steps or otherwise"
    if _TWO_SENTENCES.search(do):
        yield "do: says more than one sentence; put the rest into steps or otherwise"
    for text in otherwise:
        if len(text) > LONGEST_OTHERWISE:
            yield f"otherwise: an entry of {len(text)} letters; one cure each, at most {LONGEST_OTHERWISE}"
    for text in (do, *otherwise):
        if _INDEX.search(text):
            yield "names an index that a table knows: {index.cuda} or {index.rocm}"
    yield from wrong_commands(steps, " ".join((do, *otherwise)))


def _sources(check: Check) -> Iterator[str]:
    for source in check.sources:
        if not source.supports:
            yield f"source {source.ref}: `supports` names none of symptom, cause, fix"
    proves = {word for source in check.sources for word in source.supports}
    if check.severity == "error" and check.at_most == "certain" and not proves & {"cause", "fix"}:
        yield "source: an error that may be certain needs a source for its cause or fix, else at_most = 'likely'"


def _life(check: Check) -> Iterator[str]:
    if check.verified is None:
        yield "verified: is missing; { on, how, against }"
        return
    try:
        on, due = date.fromisoformat(check.verified.on), date.fromisoformat(check.review_by)
    except ValueError:
        yield "review_by: expected a date, YYYY-MM-DD, and the same in verified.on"
        return
    steps = " ".join(step.run for step in check.advice.steps)
    longest = HALF_A_YEAR if _AGES.search(" ".join((check.title, check.explanation, check.advice.do, steps))) else TWO_YEARS
    if (due - on).days > longest:
        yield f"review_by: {(due - on).days} days after it was verified; at most {longest} where versions, addresses or refusals are named"


def _examples(check: Check) -> Iterator[str]:
    for example in check.examples:
        if _STAMP.fullmatch(example.name):
            yield f"example '{example.name}': the name says nothing; say what it shows"
    if not check.signatures:
        return
    words = (word for signature in check.signatures for choice in signature.text for word in choice)
    literals = [bare(word) for word in words if not word.startswith("words:")]
    misses = [example for example in check.examples if example.text and example.expect != "problem"]
    if literals and not any(word in example.text.lower() for example in misses for word in literals):
        yield "example: no near miss; one text that shares words of a signature and is no problem"
