"""A signature in English: what a text must contain for its check to report a finding."""

from __future__ import annotations

from collections.abc import Callable

from gpudoctor.model.condition import ALWAYS, Combination, Condition, Leaf
from gpudoctor.model.signature import Literals, Signature
from gpudoctor.rules.operators import STATES
from gpudoctor.rules.synonyms import PREFIX

Quote = Callable[[str], str]


def message(signature: Signature, quoted: Quote = lambda literal: f"'{literal.strip()}'", expression: Quote = str) -> str:
    """One line: 'a' or 'b', together with 'c', on the same line. `quoted` and `expression` mark up literal text and regular expressions."""
    apart = "on the same line" if signature.within == 1 else f"within {signature.within} lines"
    words = _choices(signature.text, quoted)
    said = words[0] if len(words) == 1 else f"{', together with '.join(words)}, {apart}"
    if signature.none_of:
        said += f"; not where {' or '.join(map(quoted, signature.none_of))} stands there"
    if signature.context:
        said += f"; only where the text also holds {' and '.join(_choices(signature.context, quoted))}"
    return said + ("; and it matches " + expression(f"/{signature.pattern}/") if signature.pattern else "")


def is_always(condition: Condition | None) -> bool:
    """Whether the condition is always true: the check is decided by its message alone."""
    return condition is None or condition == ALWAYS


def parts_of(condition: Condition) -> tuple[str, tuple[Condition, ...]]:
    """The outermost list of a condition as a heading with its parts; without a list, one part and no heading."""
    if isinstance(condition, Combination) and condition.kind != "not" and len(condition.parts) > 1:
        return ("all of these hold" if condition.kind == "all" else "one of these holds"), condition.parts
    return "", (condition,)


def leaf_words(leaf: Leaf, sentence: str) -> str:
    """The part of `sentence`, the English of this leaf, that follows the name of the fact."""
    return STATES[leaf.operator] if leaf.operator in STATES else sentence[len(leaf.fact) :].strip()


def _choices(literals: Literals, quoted: Quote) -> list[str]:
    several = len(literals) > 1
    named = [(len(choice), " or ".join(_named(literal, quoted) for literal in choice)) for choice in literals]
    return [f"({words})" if several and count > 1 else words for count, words in named]


def _named(literal: str, quoted: Quote) -> str:
    return f"any words for {quoted(literal.removeprefix(PREFIX))}" if literal.startswith(PREFIX) else quoted(literal)
