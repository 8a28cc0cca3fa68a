"""What a parser may be shown: depth and length are told before it runs, in linear time, and strings do not hide anything."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.model import toml_text
from gpudoctor.model.bounds import DEEPEST, LONGEST_KEY, TooComplex, check_json, check_path, check_toml
from gpudoctor.model.facts import Facts, Known, Unknown
from gpudoctor.system import json_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOO_MUCH: list[tuple[Callable[[str], object], str, str]] = [
    (check_toml, "a" + ".a" * 60_000 + " = 1\n", "a key has 60001 parts"),
    (check_toml, "[" + "a." * 60_000 + "a]\n", "a key has 60001 parts"),
    (check_toml, "a = {" + '"b".' * 50 + "c = 1}", "a key has 51 parts"),
    (check_toml, "a = " + "[" * 40_000, "nested more than 100 deep"),
    (check_toml, "a = " + "{a = [" * 20_000, "nested more than 100 deep"),
    (check_toml, "\n".join(f"a{number}" + ".b" * 30 + " = 1" for number in range(3000)), "too many parts in all"),
    (check_toml, 'a = ["""x"""", ' + "[" * 101 + "]" * 101 + "]", "nested"),
    (check_toml, "a = ['''x''''', " + "[" * 101 + "]" * 101 + "]", "nested"),
    (check_toml, '# """ is no string\na = ' + "[" * 101 + "]" * 101, "nested"),
    (check_toml, 'a = "\\""\nb = ' + "[" * 101 + "]" * 101, "nested"),
    (check_json, "[" * 101 + "]" * 101, "nested"),
    (check_json, '{"a":' * 20_000, "nested"),
    (check_json, '["\\"", ' + "[" * 101 + "]" * 101 + "]", "nested"),
    (check_path, "/a" * 20_000, "at most 4096"),
    (check_path, "/a" * 200, "folders deep"),
]


@pytest.mark.timeout(10)
@pytest.mark.parametrize(("check", "text", "said"), TOO_MUCH)
def test_what_is_too_deep_or_too_long_never_reaches_a_parser(check: Callable[[str], object], text: str, said: str) -> None:
    with pytest.raises(TooComplex, match=said):
        check(text)


FINE = [
    "a = " + "[" * 90 + "]" * 90,
    f'a = "{"[" * 1000}"\nb = \'{"{" * 1000}\'\n# {"[" * 1000}\nc = """{"[" * 500}\n{"x." * 500}"""',
    "a" + ".a" * (LONGEST_KEY - 1) + " = 1",
    "a = [" + "1.5, " * 100_000 + "]",
    "".join(f'[[package]]\nname = "p{number}"\nurl = "https://a.b.c/{number}"\n' for number in range(3000)),
]


@pytest.mark.parametrize("text", FINE)
def test_what_people_write_is_read(text: str) -> None:
    assert toml_text.loads(text) == tomllib.loads(text)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ['"', "'", '"""', "'''", "\\", '"\\', "#", "[", "[]", "a", ".", '"\n', '"""\\"', "''''", "a.", "[{"])
def test_the_check_is_linear(piece: str) -> None:
    for check in (check_toml, check_json):
        try:
            check(piece * 1_000_000)
        except TooComplex:
            pass


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="a.=[]{}\"'\\\n#, 1", max_size=120))
def test_nothing_that_toml_takes_is_deeper_than_the_check_saw(text: str) -> None:
    """A text that the parser accepts has its strings where the check saw them: with a deep list behind it, it is refused."""
    try:
        tomllib.loads(text + "\nlast = 1")
    except ValueError:
        return
    with pytest.raises(TooComplex):
        check_toml(f"{text}\nlast = {'[' * (DEEPEST + 1)}{']' * (DEEPEST + 1)}")


def test_numbers_that_no_machine_counts_with_are_refused_or_unknown() -> None:
    with pytest.raises(ValueError, match="400 digits"):
        json_text.loads('{"seconds": ' + "9" * 400 + "}")
    facts = Facts()
    facts.set("memory.total_bytes", Known(10**400))
    facts.set("gpus", Known([{"name": "card", "memory_bytes": -(10**400)}]))
    assert isinstance(facts.get("memory.total_bytes"), Unknown)
    gpus = facts.value("gpus")
    assert gpus[0]["name"] == "card" and isinstance(gpus[0]["memory_bytes"], Unknown)
