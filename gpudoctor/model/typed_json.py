"""JSON documents described by types: the rules that a type can carry, and the one reader of foreign documents.

A document is a TypedDict, or a msgspec.Struct where the program works with objects. `docs/json_schemas.py` makes the published JSON Schemas
from the same types, so that what is written, what is read and what is published cannot differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from msgspec import Struct
from msgspec.structs import fields

_T = TypeVar("_T")
_Class = TypeVar("_Class", bound=type)
SHOWN = 40
"""Characters of a key, or of a wrong value, that an error quotes."""
NAMES: dict[Any, str] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null"}


class TypedJsonError(ValueError):
    """A document that is not of its type: `findings[0].severity: expected one of error, warning, info, found 'bad'`."""


class Limits:
    """What a value must satisfy beyond its type, in the words of JSON Schema: `Annotated[int, Limits(minimum=1)]`."""

    def __init__(self, **keywords: Any) -> None:
        if unknown := set(keywords) - set(_LIMITS):
            raise TypeError(f"no reader for {', '.join(sorted(unknown))}")
        self.keywords = keywords


class Never:
    """No object has all of these values at once."""

    def __init__(self, **values: Any) -> None:
        self.values = values


class Given:
    """Where the field `field` is `value`, one of `then` is given (neither null nor empty), and elsewhere one of `otherwise`."""

    def __init__(self, field: str, value: Any, *, then: tuple[str, ...], otherwise: tuple[str, ...]) -> None:
        self.field, self.value, self.then, self.otherwise = field, value, then, otherwise


class OneOf:
    """At least one of these keys is there."""

    def __init__(self, *keys: str) -> None:
        self.keys = keys


Rule = Never | Given | OneOf


class Shape:
    """What an object's type cannot say in its fields.

    `open`: the schema allows further keys. `optional`: fields of a Struct that a document may lack; those of a TypedDict are those of
    a base with total=False. `size`: JSON Schema's words for the number of keys.
    """

    def __init__(
        self, *rules: Rule, open: bool = False, optional: Collection[str] = (), size: Mapping[str, int] | None = None
    ) -> None:  # fmt: skip
        self.rules, self.open, self.optional, self.size = rules, open, optional, size or {}


_SHAPES: dict[Any, Shape] = {}


def shaped(
    *rules: Rule, open: bool = False, optional: Collection[str] = (), size: Mapping[str, int] | None = None
) -> Callable[[_Class], _Class]:  # fmt: skip
    """Decorates a Struct or a TypedDict with its Shape."""

    def keep(kind: _Class) -> _Class:
        _SHAPES[kind] = Shape(*rules, open=open, optional=optional, size=size)
        return kind

    return keep


def shape_of(kind: Any) -> Shape:
    """The shape that was given to a type, else the strict one."""
    return _SHAPES.get(kind, Shape())


def is_record(kind: Any) -> bool:
    """Whether a type is a Struct: an object of the program."""
    return isinstance(kind, type) and issubclass(kind, Struct)


@cache
def hints_of(kind: Any) -> dict[str, Any]:
    """The fields of an object's type with their annotations, limits included."""
    return get_type_hints(kind, include_extras=True)


def required_keys(kind: Any) -> list[str]:
    """The keys that a document of the type must have, in the order of its fields."""
    optional = shape_of(kind).optional if is_record(kind) else kind.__optional_keys__
    return [name for name in hints_of(kind) if name not in optional]


def read(kind: type[_T], value: Any, where: str = "") -> _T:
    """`value` (what json.loads gave) as `kind`: a TypedDict is the same tables, checked; a Struct is built, with tuples for lists.

    `where` is the path of `value` in its document. Keys that the type does not name are passed over, since a later version may have
    added them; a Struct takes its default for a key that is missing. Raises TypedJsonError, which names the key and what was expected.
    """
    return cast(_T, _read(kind, value, where))


def _read(kind: Any, value: Any, where: str) -> Any:
    origin = get_origin(kind)
    if origin is Annotated:
        inner, *limits = get_args(kind)
        found = _read(inner, value, where)
        for limit in limits:
            _check_limits(limit, value, where)
        return found
    if kind is Any or kind is object:
        return value
    if origin in (Union, UnionType):
        return _read_union(get_args(kind), value, where)
    if is_record(kind) or is_typeddict(kind):
        return _read_object(kind, value, where)
    if origin in (list, tuple, Sequence):
        if not isinstance(value, list):
            raise _wrong("a list", value, where)
        found = [_read(get_args(kind)[0], item, f"{where}[{number}]") for number, item in enumerate(value)]
        return tuple(found) if origin is tuple else found
    if origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise _wrong("a table", value, where)
        return {key: _read(get_args(kind)[1], item, _below(where, key)) for key, item in value.items()}
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise _wrong(NAMES.get(kind, str(kind)), value, where)
    return value


def _read_union(kinds: Sequence[Any], value: Any, where: str) -> Any:
    """Reads `value` as the member of the union that it resembles. An error concerns that member's content, or names all members."""
    alike = [kind for kind in kinds if _alike(kind, value)]
    if not alike:
        raise _wrong(" or ".join(dict.fromkeys(_name(kind) for kind in kinds)), value, where)
    complete = (kind for kind in alike if all(key in value for key in _demanded(kind)))
    return _read(next(complete, alike[0]) if len(alike) > 1 else alike[0], value, where)


def _alike(kind: Any, value: Any) -> bool:
    """Whether `value` is of the JSON type that `kind` stands for."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _alike(get_args(kind)[0], value)
    if origin in (list, tuple, Sequence):
        return isinstance(value, list)
    if origin in (dict, Mapping) or is_record(kind) or is_typeddict(kind):
        return isinstance(value, Mapping)
    return kind is Any or type(value) is kind or (kind is float and type(value) is int)


@cache
def _demanded(kind: Any) -> Sequence[str]:
    """The keys without which an object cannot be read: those without a default."""
    if is_record(kind):
        return [field.name for field in fields(kind) if field.required]
    return required_keys(kind) if is_typeddict(kind) else ()


def _name(kind: Any) -> str:
    origin = get_origin(kind)
    if origin is Annotated:
        return _name(get_args(kind)[0])
    if origin in (list, tuple, Sequence):
        return "a list"
    return NAMES.get(kind, "a table")


def _read_object(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise _wrong("a table", value, where)
    hints = hints_of(kind)
    found = {name: _read(hint, value[name], _below(where, name)) for name, hint in hints.items() if name in value}
    for name in _demanded(kind):
        if name not in value:
            raise TypedJsonError(f"{_below(where, name)}: is missing; expected {expected(hints[name])}")
    for rule in shape_of(kind).rules:
        if broken := _broken(rule, value):
            raise TypedJsonError(f"{where or 'the document'}: {broken}")
    return cast(Any, kind)(**found) if is_record(kind) else {**value, **found}


def _broken(rule: Rule, value: Mapping[str, Any]) -> str:
    """The rule that an object violates, in words; '' where it satisfies all."""
    if isinstance(rule, Never):
        same = all(value.get(name) == unwanted for name, unwanted in rule.values.items())
        return f"{' and '.join(f'{name} {unwanted}' for name, unwanted in rule.values.items())} exclude each other" if same else ""
    if isinstance(rule, OneOf):
        return "" if any(key in value for key in rule.keys) else f"expected one of the keys {', '.join(rule.keys)}"
    wanted = rule.then if value.get(rule.field) == rule.value else rule.otherwise
    given = any(value.get(name) not in (None, "") for name in wanted)
    return "" if given else f"expected {' or '.join(wanted)}, where {rule.field} is {str(value.get(rule.field))[:SHOWN]!r}"


_LIMITS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, limit: value >= limit,
    "maximum": lambda value, limit: value <= limit,
    "exclusiveMinimum": lambda value, limit: value > limit,
    "minLength": lambda value, limit: len(value) >= limit,
    "maxLength": lambda value, limit: len(value) <= limit,
    "minItems": lambda value, limit: len(value) >= limit,
    "pattern": lambda value, limit: re.search(limit, value) is not None,
    "enum": lambda value, limit: value in limit,
    "const": lambda value, limit: value == limit,
    "propertyNames": lambda value, limit: all(key in limit["enum"] for key in value),
    "default": lambda value, limit: True,
}
"""The words of JSON Schema that are understood, each with its test."""
_EXPECTED = {
    "minimum": "at least {}", "maximum": "at most {}", "exclusiveMinimum": "more than {}", "minLength": "at least {} characters",
    "maxLength": "at most {} characters", "minItems": "at least {} items", "pattern": "a text that matches {}", "const": "{}",
}  # fmt: skip


def _check_limits(limit: Any, value: Any, where: str) -> None:
    if not isinstance(limit, Limits):
        return
    for word, given in limit.keywords.items():
        if not _LIMITS[word](value, given):
            raise _wrong(_words(word, given), value, where, quoted=word in ("enum", "const", "pattern"))


def _words(word: str, given: Any) -> str:
    if word in ("enum", "propertyNames"):
        return f"one of {', '.join(map(str, given if word == 'enum' else given['enum']))}"
    return _EXPECTED[word].format(given)


def expected(kind: Any) -> str:
    """The words for a value of the type in an error."""
    if get_origin(kind) is Annotated:
        inner, *limits = get_args(kind)
        given = [item for limit in limits if isinstance(limit, Limits) for item in limit.keywords.items() if item[0] in ("enum", "const")]
        return _words(*given[0]) if given else expected(inner)
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(dict.fromkeys(expected(member) for member in get_args(kind)))
    return _name(kind)


def _below(where: str, key: Any) -> str:
    name = str(key)[:SHOWN]
    return f"{where}.{name}" if where else name


def _wrong(wanted: str, value: Any, where: str, *, quoted: bool = False) -> TypedJsonError:
    """The value for an error. `quoted`: texts are shown; otherwise not, since parts of an unredacted report must not leave the machine."""
    found = repr(value)[:SHOWN]
    if isinstance(value, bool) or value is None:
        found = {True: "true", False: "false", None: "null"}[value]
    elif isinstance(value, Mapping):
        found = "a table"
    elif isinstance(value, list):
        found = "a list"
    elif isinstance(value, str) and not quoted:
        found = "a text"
    return TypedJsonError(f"{where or 'the document'}: expected {wanted}, found {found}")
