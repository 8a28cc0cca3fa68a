"""The closed table of operators: each with its function, the kinds of value that it takes, and its English phrase.

A function gets the fact's value and the test's value and answers True, False, or None for 'cannot tell'.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from msgspec import Struct

from gpudoctor.rules.versions import compare_dotted, dotted, in_release

Test = Callable[[Any, Any], bool | None]


class Operator(Struct, frozen=True):
    """A test of a fact's value, the types of value that it takes, and its English phrase."""

    test: Test
    takes: tuple[type, ...]
    phrase: str


def plain(value: Any) -> Any:
    """The version or versions of a distribution, which is given as a version, a table with a version, or a list of either; any other
    value is returned as it is."""
    if isinstance(value, (str, bool)):  # nearly all values; the test for a Mapping costs far more
        return value
    if isinstance(value, Mapping) and "version" in value:
        return value["version"]
    if isinstance(value, list) and value and all(isinstance(item, Mapping) and "version" in item for item in value):
        return [item["version"] for item in value]
    return value


def _each(test: Test, value: Any, wanted: Any) -> bool | None:
    """The operator for lists: true where any element satisfies it; None where none does and one could not be judged."""
    value = plain(value)
    if not isinstance(value, (list, tuple)):
        return test(value, wanted)
    answers = [test(item, wanted) for item in value]
    return True if True in answers else None if None in answers else False


def _is(value: Any, wanted: Any) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return bool(value == wanted)


def _contains(value: Any, wanted: Any) -> bool | None:
    value = plain(value) if not isinstance(value, Mapping) else value
    if isinstance(value, (str, list, tuple, Mapping)):
        return wanted in value
    return None


LONGEST = 4_000
"""The largest number of characters of a value that a regular expression is applied to."""


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """The compiled regular expression, which ignores case."""
    return re.compile(pattern, re.IGNORECASE)


def _matches(value: Any, wanted: Any) -> bool | None:
    if isinstance(value, Mapping):
        return any(compiled(wanted).search(str(key)) for key in value)
    return compiled(wanted).search(str(value)[:LONGEST]) is not None


def _order(holds: Callable[[int], bool], value: Any, wanted: Any) -> bool | None:
    left, right = dotted(str(value)), dotted(str(wanted))
    return None if left is None or right is None else holds(compare_dotted(left, right))


def _number(holds: Callable[[float, float], bool], value: Any, wanted: Any) -> bool | None:
    numbers = [n for n in (value, wanted) if isinstance(n, (int, float)) and not isinstance(n, bool)]
    return holds(*numbers) if len(numbers) == 2 else None


TEXT, ANY, NUMBER = (str,), (str, int, float, bool), (int, float)
OPERATORS: Mapping[str, Operator] = {
    "is": Operator(partial(_each, _is), ANY, "is {value}"),
    "in": Operator(partial(_each, lambda value, wanted: value in wanted), (list,), "is one of {value}"),
    "contains": Operator(_contains, (str, int), "contains {value}"),
    "matches": Operator(partial(_each, _matches), TEXT, "matches /{value}/"),
    "version": Operator(partial(_each, in_release), TEXT, "is {value}"),
    "older_than": Operator(partial(_each, partial(_order, lambda order: order < 0)), TEXT, "is older than {value}"),
    "at_least": Operator(partial(_each, partial(_order, lambda order: order >= 0)), TEXT, "is {value} or newer"),
    "less_than": Operator(partial(_number, lambda left, right: left < right), NUMBER, "is less than {value}"),
    "greater_than": Operator(partial(_number, lambda left, right: left > right), NUMBER, "is greater than {value}"),
}
STATES = {"known": "is known", "absent": "is absent", "unknown": "is not known", "present": "is there"}
WITH_FACT = ("is", "in", "contains", "older_than", "at_least", "less_than", "greater_than", "version")
