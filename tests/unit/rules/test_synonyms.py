"""The ways to say a thing are found by their letters alone: none of them may stand inside ordinary words."""

from __future__ import annotations

import pytest

from gpudoctor.rules.synonyms import GROUPS

ORDINARY = "changed exchange changing case studies skilled people, see docs/items and site-packages/itsdangerous, channels changes"


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_ordinary_words_hold_no_way_to_say_it(group: str) -> None:
    assert [word for word in GROUPS[group] if word in ORDINARY] == []


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("hangs", "it hangs"), ("hangs", "training will hang at step 3"), ("hangs", "a hanging process"), ("dies", "the worker dies"),
        ("dies", "it was killed"), ("slow", "12.5s/it]"), ("slow", "now 40 s/it"),
    ],
)  # fmt: skip
def test_people_are_understood(group: str, said: str) -> None:
    assert any(word in said for word in GROUPS[group])
