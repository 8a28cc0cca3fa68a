"""Words that let a reader skip a text quickly: whatever its expressions match holds one of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.facts.text import naming, prose

SYSTEMS = {
    **dict(naming._SYSTEMS), "windows": naming._WINDOWS.pattern, "wsl": naming._WSL.pattern,
    "macos": r"\b(?:macOS|Mac OS X|OS X)\b[ \-]*(?P<version>\d{2}(?:\.\d+)*)?",
}  # fmt: skip
NAMES = {name: rf"(?:{pattern}) ?\d\.\d" for name, pattern in prose.PRODUCTS.items()}


def some_match(pattern: str) -> st.SearchStrategy[str]:
    return st.from_regex(re.compile(pattern, re.IGNORECASE | re.ASCII), fullmatch=True)


@pytest.mark.parametrize("name", sorted(NAMES))
@settings(max_examples=25)
@given(data=st.data())
def test_whatever_names_a_product_holds_one_of_its_words(name: str, data: st.DataObject) -> None:
    text = data.draw(some_match(NAMES[name]))
    assert any(word in text.lower() for word in prose.WORDS.get(name, (name,))), text


@pytest.mark.parametrize("name", sorted(SYSTEMS))
@settings(max_examples=25)
@given(data=st.data())
def test_whatever_names_a_system_holds_one_of_its_words(name: str, data: st.DataObject) -> None:
    text = data.draw(some_match(SYSTEMS[name]))
    assert any(word in text.lower() for word in naming.SYSTEM_WORDS), text


def test_words_belong_to_products() -> None:
    assert set(prose.WORDS) <= set(prose.PRODUCTS)
    assert all(word == word.lower() for words in (*prose.WORDS.values(), naming.SYSTEM_WORDS) for word in words)
