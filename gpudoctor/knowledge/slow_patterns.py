"""The worst-case time of a regular expression, measured on texts that are built from its own parse tree to make it slow.

A backtracking matcher is slow where a repeat can give back characters that the next one takes. Each repeat is therefore fed with characters
that it accepts, behind a text that leads to it and before a text that never matches, together with its neighbours, and repeatedly from the
beginning of the expression.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from gpudoctor.rules.signatures import LONGEST_WINDOW

_PARSER: Any = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_LETTERS = "a0 _.:-/\tA=\"'(\n,;\\[é"
_TAILS = ("", "\0", "\n!")
_SHORTEST, _TELLING = 25, 400
"""The number of letters of the first trial, and the number from which the growth of the time is reliable."""
_SMALL_STEP = 1.3
_HOPELESS = 4.0
"""A time that grows with this power of the length cannot be measured to the end."""
SUSPECT_SECONDS = 0.02
"""CPU seconds for one window above which an expression is compared with a reference that is known to be too slow."""
_TOO_SLOW = ("[a-z]+ [0-9]", "a")
"""The reference: each letter begins a match that ends where the text does. A window takes some 20 million steps, 30 to 60 ms."""
_SHARE = 0.8
"""The share of the reference's time, measured at the same moment, that counts as too slow: machines differ in speed and load."""
_BEYOND_DOUBT = 3.0
_NEIGHBOURS = 3
_LETTERS_TRIED = 6

_KINDS: dict[str, Callable[[str], bool]] = {
    "DIGIT": str.isdigit, "SPACE": str.isspace, "WORD": lambda letter: letter.isalnum() or letter == "_",
}  # fmt: skip

Use = Callable[["re.Pattern[str]", str], object]


class Attack(NamedTuple):
    """A text of any length: `body` repeated between `head` and `tail`."""

    head: str
    body: str
    tail: str

    def text(self, length: int) -> str:
        times = (length - len(self.head) - len(self.tail)) // len(self.body)
        return self.head + self.body * max(1, times) + self.tail


class Cost(NamedTuple):
    """CPU seconds for the slowest text that was found, and the attack that it was made from."""

    seconds: float
    attack: Attack | None


@lru_cache(maxsize=1024)
def slow_pattern(pattern: str, length: int = LONGEST_WINDOW) -> str | None:
    """Why an expression could take more than linear time: by its form, else by the slowest text of `length` letters that was found;
    None where it cannot."""
    fault = _by_form(_PARSER.parse(pattern), False)
    if fault is None:
        cost = worst(pattern, re.IGNORECASE, length, max(SUSPECT_SECONDS, _known_seconds()))
        if cost.attack and cost.seconds >= SUSPECT_SECONDS and is_too_slow(pattern, re.IGNORECASE, length, cost.attack):
            head, body, _ = cost.attack
            fault = (
                f"takes too long, {cost.seconds * 1000:.0f} ms, for {length} letters of {head + body!r}, {body!r}, {body!r} …: "
                "give repeats that may eat the same letters a bound, such as {1,60}"
            )
    return fault


def is_too_slow(pattern: str, flags: int, length: int, attack: Attack, use: Use = re.Pattern.search) -> bool:
    """Whether the text costs about as much as the reference does now, in two of three comparisons, since the machine may be busy in
    either."""
    compiled = re.compile(pattern, flags)

    def is_slower() -> bool:
        limit = _SHARE * _seconds_of_the_known()
        return _measured(compiled, attack, length, limit, limit, use) >= limit

    first, second = is_slower(), is_slower()
    return first if first == second else is_slower()


def _seconds_of_the_known() -> float:
    """The time of the reference at this moment."""
    expression, letter = _TOO_SLOW
    known = re.compile(expression)
    return min(_seconds(known, letter * LONGEST_WINDOW, re.Pattern.search) for _ in range(3))


_known_seconds = lru_cache(maxsize=1)(_seconds_of_the_known)
"""The time of the reference, measured once: the limit of the search for a slower text."""


def _by_form(tree: Any, repeated: bool) -> str | None:
    """Forms that are always refused: an unbounded repeat inside another, a wide counted gap, a reference back to a group."""
    for operation, argument in tree:
        name = str(operation)
        below = repeated
        if name in _REPEATS:
            unbounded = argument[1] is _PARSER.MAXREPEAT
            if not unbounded and argument[1] > 200:
                return f"counts up to {argument[1]}: at most 200"
            if unbounded and repeated:
                return "repeats a repeat without bound: rewrite it without the nesting"
            below = repeated or unbounded
        elif name in ("GROUPREF", "GROUPREF_EXISTS"):
            return "refers back to a group: no linear-time matcher can"
        fault = next((found for inner in _inside(name, argument) if (found := _by_form(inner, below))), None)
        if fault:
            return fault
    return None


def worst(pattern: str, flags: int, length: int, suspect: float, use: Use = re.Pattern.search) -> Cost:
    """CPU seconds for the slowest text of `length` letters that was found.

    Texts below `suspect` are measured roughly only. The search ends with a text that takes far more, so that the comparison does not depend
    on a busy moment of the machine.
    """
    compiled = re.compile(pattern, flags)
    enough = _BEYOND_DOUBT * suspect
    cost = Cost(0.0, None)
    for attack in attacks(pattern, flags):
        seconds = _measured(compiled, attack, length, suspect, enough, use)
        if seconds > cost.seconds:
            cost = Cost(seconds, attack)
        if cost.seconds >= enough:
            break
    return cost


def attacks(pattern: str, flags: int = 0) -> list[Attack]:
    tree = _PARSER.parse(pattern, flags)
    letters = list(dict.fromkeys([*_literals(tree), *_LETTERS]))[:40]
    found = dict.fromkeys(_of_sequence(list(tree), "", letters))
    for letter in letters:  # the whole expression, over and over, and without its end
        whole = _sample(list(tree), letter)
        for body in (whole, whole[:-1], letter):
            if body:
                found |= dict.fromkeys(Attack("", body, tail) for tail in _TAILS)
    return list(found)


def _measured(compiled: re.Pattern[str], attack: Attack, length: int, suspect: float, enough: float, use: Use) -> float:
    """The time expected for the full length: the text is doubled until it takes `enough`, or until the growth is clear. A text that
    cannot reach `suspect` is not measured further. Where the time grows steeply, the text grows in small steps: that of an exponential
    expression, doubled, would take seconds instead of milliseconds."""
    before, shorter, at = 0.0, _SHORTEST, _SHORTEST
    while True:
        at = min(at, length)
        seconds = _seconds(compiled, attack.text(at), use)
        doubtful = enough <= seconds < _BEYOND_DOUBT * enough or (
            before and seconds > before * (at / shorter) ** _HOPELESS and seconds < enough
        )
        if doubtful:  # A second run shows whether the machine was busy.
            seconds = min(seconds, _seconds(compiled, attack.text(at), use))
        if seconds >= enough or at == length:
            return seconds
        power = math.log(seconds / before, at / shorter) if before else 1.0
        if power > _HOPELESS and seconds >= enough / 4:
            return float(seconds * (length / at) ** power)
        if at >= _TELLING and seconds * (length / at) ** max(2.2, power + 0.3) < suspect:
            return seconds
        steep = (not before or power > _HOPELESS) and seconds > enough / 10_000  # shorter times are below the clock's resolution
        before, shorter, at = seconds, at, math.ceil(at * (_SMALL_STEP if steep else 2))


def _seconds(compiled: re.Pattern[str], text: str, use: Use) -> float:
    began = time.thread_time()
    use(compiled, text)
    return max(time.thread_time() - began, 1e-9)


def _of_sequence(items: Sequence[Any], head: str, letters: Sequence[str]) -> Iterator[Attack]:
    """The attacks on a sequence of items. `head` leads to the first of them."""
    repeats = [number for number, (operation, argument) in enumerate(items) if str(operation) in _REPEATS and argument[1] > 1]
    for number, (operation, argument) in enumerate(items):
        before = head + _sample(items[:number], "")
        if number in repeats:
            following = [other for other in repeats if other > number][:_NEIGHBOURS]
            eaten = _first_of((_sample(list(argument[2]), letter) for letter in letters), _LETTERS_TRIED)
            both = (_sample(items[number : other + 1], letter) for other in following for letter in letters)
            for body in [*eaten, *_first_of(both, _NEIGHBOURS * _LETTERS_TRIED)]:
                if body:
                    yield from (Attack(before, body, tail) for tail in _TAILS)
                    yield Attack("", before + body, "")
        for inner in _inside(str(operation), argument):
            yield from _of_sequence(list(inner), before, letters)


def _first_of(samples: Iterator[str], most: int) -> list[str]:
    """The first `most` different ones; no more are made than needed."""
    found: dict[str, None] = {}
    for sample in samples:
        found[sample] = None
        if len(found) == most:
            break
    return list(found)


def _inside(operation: str, argument: Any) -> Sequence[Any]:
    if operation in _REPEATS:
        return (argument[2],)
    if operation == "SUBPATTERN":
        return (argument[-1],)
    if operation == "BRANCH":
        return tuple(argument[1])
    if operation in ("ASSERT", "ASSERT_NOT"):
        return (argument[1],)
    return (argument,) if operation == "ATOMIC_GROUP" else ()


def _sample(items: Sequence[Any], letter: str) -> str:
    """A text that the items match, or nearly match, with `letter` wherever it is allowed."""
    parts = []
    for operation, argument in items:
        name = str(operation)
        if name in _REPEATS:
            low, high, inner = argument
            parts.append(_sample(list(inner), letter) * max(low, min(1, high)))
        elif name == "BRANCH":
            choices = [_sample(list(branch), letter) for branch in argument[1]]
            parts.append(next((choice for choice in choices if letter and letter in choice), choices[0]))
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            parts.append(_sample(list(argument[-1] if name == "SUBPATTERN" else argument), letter))
        elif name in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            parts.append(_letter(name, argument, letter))
    return "".join(parts)


def _letter(name: str, argument: Any, wanted: str) -> str:
    if name == "LITERAL":
        return chr(argument)
    return _accepted(name, tuple(argument) if name == "IN" else argument, wanted)


@lru_cache(maxsize=8192)
def _accepted(name: str, argument: Any, wanted: str) -> str:
    """The wanted letter where the item accepts it, else another one."""
    return next((each for each in (wanted, *_LETTERS) if each and _accepts(name, argument, each)), _first(name, argument))


def _accepts(name: str, argument: Any, letter: str) -> bool:
    if name == "ANY":
        return letter != "\n"
    if name == "NOT_LITERAL":
        return bool(ord(letter) != argument)
    negated = any(str(operation) == "NEGATE" for operation, _ in argument)
    return negated != any(_in_set(str(operation), inner, letter) for operation, inner in argument)


def _in_set(operation: str, argument: Any, letter: str) -> bool:
    if operation == "LITERAL":
        return bool(ord(letter) == argument)
    if operation == "RANGE":
        return bool(argument[0] <= ord(letter) <= argument[1])
    if operation != "CATEGORY":
        return False
    category = str(argument)
    return _KINDS[category.rpartition("_")[2]](letter) != ("_NOT_" in category)


def _first(name: str, argument: Any) -> str:
    """A letter of a set that contains none of the usual ones."""
    for operation, inner in argument if name == "IN" else ():
        if str(operation) in ("LITERAL", "RANGE"):
            return chr(inner if str(operation) == "LITERAL" else inner[0])
    return "a"


def _literals(tree: Any) -> Iterator[str]:
    for operation, argument in tree:
        name = str(operation)
        if name == "LITERAL":
            yield chr(argument)
        elif name == "IN":
            yield from (chr(inner) for kind, inner in argument if str(kind) == "LITERAL")
        for inner in _inside(name, argument):
            yield from _literals(inner)
