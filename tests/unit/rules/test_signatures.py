"""Signatures in a text: where they stand, what they demand, what they take."""

from __future__ import annotations

import itertools
import re

from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.model.signature import FAILURE, LISTING, Hit, Numbered, Signature
from gpudoctor.rules.signatures import LONG, MOST_WINDOWS, PIECE, SearchedText, anchor, decoded, letters, names_said
from gpudoctor.rules.synonyms import GROUPS


def text(*lines: str) -> SearchedText:
    return SearchedText([Numbered(number, line) for number, line in enumerate(lines, 1)])


def signature(*literals: str | tuple[str, ...], **more: object) -> Signature:
    return Signature(text=tuple((word,) if isinstance(word, str) else word for word in literals), **more)  # type: ignore[arg-type]


def hits(searched: SearchedText, wanted: Signature) -> list[Hit]:
    return list(searched.hits(wanted))


def test_all_literals_must_stand_on_one_line_whatever_their_case() -> None:
    wanted = signature("native api failed", ("-30", "-999"))
    (hit,) = hits(text("x", "RuntimeError: Native API FAILED. Native API returns: -30", "-30"), wanted)
    assert (hit.line, hit.quote) == (2, "RuntimeError: Native API FAILED. Native API returns: -30")
    assert hits(text("native api failed", "-30"), wanted) == []


def test_a_window_reaches_as_far_as_it_says_and_no_further() -> None:
    wanted = signature("the anchor of it", "other", within=3)
    assert [hit.line for hit in hits(text("other", "", "the anchor of it"), wanted)] == [3]
    assert hits(text("other", "", "", "the anchor of it"), wanted) == []


def test_what_must_not_be_there_and_what_may_be_anywhere() -> None:
    wanted = signature("could not find it", none_of=("harmless",), context=(("xpu", "ipex"),))
    assert hits(text("could not find it", "import ipex"), wanted)
    assert not hits(text("could not find it (harmless)", "import ipex"), wanted)
    assert not hits(text("could not find it"), wanted)


def test_a_line_counts_in_the_roles_that_are_asked_for() -> None:
    lines = [Numbered(1, "device is lost"), Numbered(2, "device is lost too")]
    searched = SearchedText(lines, lambda row: (FAILURE, LISTING)[row])
    assert [hit.line for hit in hits(searched, signature("device is lost"))] == [1]
    assert [(hit.line, hit.role) for hit in hits(searched, signature("device is lost", roles=(LISTING,)))] == [(2, LISTING)]
    near = signature("device is lost too", within=2)
    assert hits(searched, near) == [], "a neighbour without a word of the signature lends it no role"


def test_an_expression_decides_last_and_its_groups_are_facts() -> None:
    wanted = signature("found version", pattern=r"found version (?P<cuda_number>\d{4,5})")
    (hit,) = hits(text("driver is too old (found version 12080)", "found version unknown"), wanted)
    assert hit.captures == {"cuda_number": "12080", "cuda": "12.8", "cuda_wheel": "cu128"}
    assert names_said([wanted]) == {"said.cuda_number", "said.cuda", "said.cuda_wheel"}
    assert decoded({"x_number": "11040"})["x"] == "11.4" and decoded({"x_number": "1e9"}) == {"x_number": "1e9"}


def test_a_message_that_comes_a_million_times_is_looked_at_a_few_times() -> None:
    searched = text(*["out of memory again"] * 5000)
    assert len(hits(searched, signature("out of memory"))) == MOST_WINDOWS


def test_a_line_without_end_is_quoted_and_matched_in_part() -> None:
    line = "a" * 50_000 + " device is lost 77 " + "b" * 50_000
    (hit,) = hits(text(line), signature("device is lost", pattern=r"lost (?P<code>\d+)"))
    assert hit.captures == {"code": "77"} and len(hit.quote) < 260 and "device is lost" in hit.quote


def test_letters_that_change_their_length_do_not_shift_lines() -> None:
    assert [hit.line for hit in hits(text("İ" * 30, "ẞ", "Driver Too Old"), signature("driver too old"))] == [3]


@given(st.lists(st.text(max_size=40), max_size=12), st.text(alphabet="abc ", min_size=3, max_size=8))
def test_a_hit_stands_where_it_says(lines: list[str], literal: str) -> None:
    lines = [re.sub(r"[ \t]+", " ", " ".join(line.splitlines())) for line in lines]
    open_ended = f"*{literal}*"
    found = {hit.line for hit in hits(text(*lines), signature(open_ended))}
    assert found == {number for number, line in enumerate(lines, 1) if literal in line.encode("utf-8", "replace").lower().decode()}
    assert {hit.line for hit in hits(text(*lines), signature(literal))} <= found


def test_one_space_of_a_literal_stands_for_what_is_between_columns() -> None:
    row = "crw-------  1 root\troot   235,  0 kfd"
    (hit,) = hits(text("total 0", row), signature("root root", "235, 0 kfd"))
    assert (hit.line, hit.quote) == (2, row)
    assert not hits(text("rootroot 235,0 kfd", "root", "root 235, 0 kfd"), signature("root root"))


def test_a_group_of_everyday_words_stands_for_any_of_them_and_is_never_the_anchor() -> None:
    wanted = signature(("training", "inference"), ("slow enough", "words:slow"))
    assert [hit.line for hit in hits(text("Training is fine", "TRAINING TAKES FOREVER", "inference: slow enough"), wanted)] == [2, 3]
    assert anchor(wanted.text) == ("training", "inference")
    (hit,) = hits(text("training takes ages"), wanted)
    assert hit.strength == len("training") + 4, "everyday words add little"
    for words in GROUPS.values():
        assert len(set(words)) == len(words) and all(word == word.lower() and len(word) > 2 for word in words)


WORDS = ("words:slow", "slow", "gpu", "device lost", "lost\n", "ost", "error -30", "-30", "nobody says this", "x" * 90)


@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from(WORDS)), max_size=60), st.integers(1, 3))
def test_one_pass_for_all_literals_finds_what_a_search_for_each_finds(rows: list[tuple[int, str]], repeats: int) -> None:
    lines = [f"{'.' * indent}{word.strip()}{'-' * 300}" for indent, word in rows] * repeats
    lines += ["," * 400] * (max(0, LONG - sum(map(len, lines))) // 400 + 1)
    alone, together = text(*lines), text(*lines)
    together.look_for(WORDS)
    for first, second in itertools.combinations(WORDS, 2):
        for wanted in (signature((first, second)), signature(first, second, within=2), signature(first, context=((second,),))):
            assert hits(together, wanted) == hits(alone, wanted)


def test_a_literal_on_the_seam_of_two_passes_is_found() -> None:
    for shift in range(0, 24):
        searched = text("." * (PIECE - shift) + "device is lost", "." * 99)
        searched.look_for(["device is lost", "never said"])
        assert searched.holds("device is lost") and not searched.holds("never said")


def test_around_a_line_are_at_most_so_many_and_never_those_of_another_end() -> None:
    searched = text("a", "b", "c", "d", "e")
    assert searched.around(3, 1) == (["b"], "c", ["d"])
    assert searched.around(1, 2) == ([], "a", ["b", "c"])
    assert searched.around(5, 2) == (["c", "d"], "e", [])
    assert searched.around(2, 9) == (["a"], "b", ["c", "d", "e"])


def test_a_listing_that_denies_a_stack_is_no_context() -> None:
    wanted = signature("device is lost", context=(("xpu",),))
    assert not hits(text("device is lost", "Is XPU available: False"), wanted)
    assert hits(text("device is lost", "Is XPU available: True"), wanted)
    assert hits(text("device is lost", "Is XPU available: False", "import xpu"), wanted)
    assert not hits(text("device is lost", "ROCM used to build PyTorch: N/A"), signature("device is lost", context=(("rocm",),)))


def test_the_strength_is_the_letters_that_were_demanded() -> None:
    searched = text("device is lost in short", "xpu here")
    assert [hit.strength for hit in hits(searched, signature(("device is lost", "device")))] == [len("device is lost")]
    assert [hit.strength for hit in hits(searched, signature("device", "short"))] == [len("deviceshort")]
    assert [hit.strength for hit in hits(searched, signature("device", context=(("xpu here", "xpu"),)))] == [len("device") + len("xpu")]
    assert [hit.strength for hit in hits(searched, signature("device", pattern="lost"))] == [len("device") + 4]
    assert [hit.strength for hit in hits(searched, signature("*evice"))] == [len("evice")], "a star demands nothing"


def test_a_message_of_several_lines_has_the_role_of_any_line_with_its_words() -> None:
    lines = [Numbered(1, "the cause"), Numbered(2, "between"), Numbered(3, "device is lost")]
    for roles, role in (
        ((FAILURE, LISTING, LISTING), FAILURE),
        ((LISTING, FAILURE, LISTING), None),
        ((LISTING, LISTING, FAILURE), FAILURE),
    ):
        searched = SearchedText(lines, lambda row, roles=roles: roles[row])  # type: ignore[misc]
        found = hits(searched, signature("device is lost", "the cause", within=3))
        assert [hit.role for hit in found] == ([role] if role else [])


def test_of_several_wanted_roles_the_first_that_is_there_is_told() -> None:
    searched = SearchedText([Numbered(1, "a lost thing"), Numbered(2, "device")], lambda row: (LISTING, FAILURE)[row])
    wanted = {"within": 2, "roles": (FAILURE, LISTING)}
    assert [hit.role for hit in hits(searched, signature("lost", "device", **wanted))] == [FAILURE]


def test_a_hit_says_whose_words_it_found() -> None:
    searched = SearchedText([Numbered(-1, "device is lost", "dmesg")])
    (hit,) = hits(searched, signature("device is lost"))
    assert (hit.line, hit.source, hit.place) == (-1, "dmesg", "dmesg")


def test_an_expression_sees_all_lines_of_its_window_and_case_does_not_count() -> None:
    searched = text("Could NOT load:", "libze.so.1")
    (hit,) = hits(searched, signature("not load", within=2, pattern=r"load:\n(?P<library>LIB\S+)"))
    assert hit.captures == {"library": "libze.so.1"}
    assert not hits(searched, signature("not load", pattern=r"load:\n(?P<library>lib\S+)"))
    (hit,) = hits(text("not load x"), signature("not load", pattern=r"load (?P<a>x)(?P<b>y)?"))
    assert hit.captures == {"a": "x"}, "a group without a match is no capture"


def test_a_long_line_is_quoted_around_what_was_found_with_marks_where_it_is_cut() -> None:
    def quote(line: str) -> str:
        return hits(text(line), signature("device is lost"))[0].quote

    assert quote("  device is lost  ") == "device is lost"
    assert quote("device is lost " + "b" * 225) == "device is lost " + "b" * 225
    assert quote("device is lost " + "b" * 300) == "device is lost " + "b" * 225 + "…"
    assert quote("a" * 300 + " device is lost") == "…" + "a" * 225 + " device is lost"
    assert quote("a" * 300 + " device is lost " + "b" * 300) == "…" + "a" * 39 + " device is lost " + "b" * 185 + "…"


def test_the_anchor_is_the_longest_of_the_shortest_words() -> None:
    assert anchor([("a", "a very long one"), ("middle",)]) == ("middle",)
    assert anchor([("*middle*",), ("longer one",)]) == ("longer one",)
    assert anchor([("words:slow", "a very long one"), ("x",)]) == ("x",)


def test_letters_that_a_choice_demands() -> None:
    assert (letters(("abc", "abcdef")), letters(("*abcd*",)), letters(("words:slow",)), letters(("words:slow", "ab"))) == (3, 4, 4, 2)


def test_names_of_what_expressions_give() -> None:
    assert names_said([signature("a"), signature("b", pattern="(?P<x>b)"), signature("c", pattern="(?P<y_number>c)")]) == {
        "said.x", "said.y_number", "said.y", "said.y_wheel",
    }  # fmt: skip
    assert decoded({"cuda_number": "1234567"}) == {"cuda_number": "1234567"} and decoded({"n_number": "12010"})["n_wheel"] == "cu121"


def test_all_literals_of_a_choice_are_looked_for() -> None:
    searched = text("slow down")
    assert searched.holds_any(["fast", "slow"]) and not searched.holds_any(["fast"]) and not searched.holds_any([])
