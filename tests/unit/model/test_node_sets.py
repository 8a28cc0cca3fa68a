"""Names of hosts, folded and expanded."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.model.node_sets import MOST_NAMES, NodeSetError, expand, fold, natural

NAMES = st.from_regex(r"[a-c]{0,2}(0{0,2}[0-9]{1,2}[-._]?[ab]?){0,3}[a-c]", fullmatch=True)


@pytest.mark.parametrize(
    ("hosts", "folded"),
    [
        (["gpu02", "gpu01", "gpu03", "gpu05"], "gpu[01-03,05]"),
        (["gpu9", "gpu10", "gpu8"], "gpu[8-10]"),
        (["gpu09", "gpu10", "gpu11"], "gpu[09-11]"),
        (["n1", "n01", "n001"], "n[1,01,001]"),
        (["r1n01", "r1n02", "r2n01", "r2n02"], "r1n[01-02],r2n[01-02]"),
        (["r1-gpu0.site", "r2-gpu0.site"], "r[1-2]-gpu0.site"),
        (["login", "gpu1", "login"], "gpu1,login"),
        ([], ""),
    ],
)
def test_folded(hosts: list[str], folded: str) -> None:
    assert fold(hosts) == folded


@given(st.lists(NAMES, max_size=40))
def test_expanding_gives_back_what_was_folded(hosts: list[str]) -> None:
    assert sorted(expand(fold(hosts)), key=natural) == sorted(set(hosts), key=natural)


@given(st.sets(st.integers(0, 400)), st.integers(1, 4))
def test_neighbours_are_one_range(numbers: set[int], width: int) -> None:
    runs = sum(number - 1 not in numbers for number in numbers)
    folded = fold(f"gpu{number:0{width}}" for number in numbers)
    assert folded.count(",") <= max(runs - 1, 0) + width  # a range ends where the padding does
    assert folded.count("[") == (len(numbers) > 1)


def test_expanded_in_the_order_of_the_text_and_once() -> None:
    assert expand("b2,a[08-11] b2 r[1-2]n[3,5]") == ["b2", "a08", "a09", "a10", "a11", "r1n3", "r1n5", "r2n3", "r2n5"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gpu[1-3", "a ']' is missing"),
        ("gpu1-3]", "']' is not expected"),
        ("gpu[1-[2]]", "'[' is not expected"),
        ("gpu[3-1]", "runs backwards"),
        ("gpu[a-b]", "expected a number or a range"),
        ("gpu[]", "expected a number or a range"),
        ("@gpu", "expected names of letters"),
        ("gpu;reboot", "expected names of letters"),
        ("gpu$(id)", "expected names of letters"),
        ("gpu[1-٣]", "expected a number or a range"),
        (f"{'a' * 200}[1-2]{'b' * 60}", "at most 253"),
        ("-oProxyCommand[1-2]", "beginning with a letter or digit"),
        ("gpu01,..", "beginning with a letter or digit"),
    ],
)
def test_what_is_no_node_set_is_refused(text: str, says: str) -> None:
    with pytest.raises(NodeSetError, match=says.replace("[", r"\[").replace("]", r"\]").replace("'", "'")):
        expand(text)


@pytest.mark.parametrize("text", ["gpu[0-99999999999999999]", "a[1-9999]b[1-9999]c[1-9999]", ",".join(["x[1-999999]"] * 3)])
def test_too_many_names_are_refused_before_they_are_made(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(NodeSetError, match=f"more than {MOST_NAMES} names"):
        expand(text)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("host", ["", "a b", "a\n", "a[1]", "é1", "x" * 254])
def test_what_is_no_name_is_not_folded(host: str) -> None:
    with pytest.raises(NodeSetError, match="expected the name of a host"):
        fold([host])


def test_time_is_linear_in_the_text() -> None:
    for text in ("[" * 50_000, "a," * 500_000, "a[1," * 20_000, "1" * 200_000):
        begin = time.process_time()
        try:
            expand(text)
        except NodeSetError:
            pass
        assert time.process_time() - begin < 5
