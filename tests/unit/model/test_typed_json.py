"""The reader of documents by their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

import pytest
from msgspec import Struct, field

from gpudoctor.model.typed_json import Limits, OneOf, TypedJsonError, read, shaped


class Cat(Struct, frozen=True, kw_only=True):
    name: str
    lives: Annotated[int, Limits(minimum=0, maximum=9)] = 9


class Fish(Struct, frozen=True, kw_only=True):
    water: str


class House(Struct, frozen=True, kw_only=True):
    pets: tuple[Cat | Fish, ...] = ()
    size: float | None = None
    names: Mapping[str, str] = field(default_factory=dict)


class _More(TypedDict, total=False):
    note: str


@shaped(OneOf("door", "window"), open=True)
class Room(_More):
    number: int
    beds: Sequence[str | Mapping[str, Any]]


def test_a_struct_is_built_with_tuples_and_defaults() -> None:
    given = {"pets": [{"name": "Tom"}, {"water": "salt"}], "size": 3, "of_a_later_version": 1}
    built = read(House, given)
    assert built == House(pets=(Cat(name="Tom"), Fish(water="salt")), size=3.0)
    assert type(built.size) is float and built.names == {}


def test_a_table_keeps_what_its_type_does_not_name() -> None:
    given = {"number": 1, "beds": ["a", {"b": 2}], "door": True, "further": [1]}
    assert read(Room, given) == given


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (House, [], "the document: expected a table, found a list"),
        (House, {"pets": [{"name": "Tom", "lives": 10}]}, "pets[0].lives: expected at most 9, found 10"),
        (House, {"pets": ["Tom"]}, "pets[0]: expected a table, found a text"),
        (House, {"pets": [{}]}, "pets[0].name: is missing; expected a text"),
        (House, {"size": "3"}, "size: expected a number or null, found a text"),
        (House, {"size": True}, "size: expected a number or null, found true"),
        (House, {"names": {"x" * 90: 1}}, f"names.{'x' * 40}: expected a text, found 1"),
        (Room, {"number": 1.0, "beds": [], "door": 1}, "number: expected a whole number, found 1.0"),
        (Room, {"number": 1, "beds": [None], "door": 1}, "beds[0]: expected a text or a table, found null"),
        (Room, {"number": 1, "beds": []}, "the document: expected one of the keys door, window"),
        (Room, {"number": 1, "beds": [], "door": 1, "note": 2}, "note: expected a text, found 2"),
    ],
)
def test_an_error_names_the_key_and_what_was_expected(kind: type, value: Any, said: str) -> None:
    with pytest.raises(TypedJsonError) as error:
        read(kind, value)
    assert str(error.value) == said


def test_a_text_of_a_report_is_quoted_only_where_its_value_matters() -> None:
    with pytest.raises(TypedJsonError) as error:
        read(Cat, {"name": "Tom", "lives": "the address of a person"})
    assert str(error.value) == "lives: expected a whole number, found a text"


def test_an_error_begins_with_the_place_of_the_value() -> None:
    with pytest.raises(TypedJsonError, match=r"^row\[3\]\.name: is missing"):
        read(Cat, {}, "row[3]")


def test_a_limit_that_nothing_checks_is_refused() -> None:
    with pytest.raises(TypeError, match="multipleOf"):
        Limits(multipleOf=2)
