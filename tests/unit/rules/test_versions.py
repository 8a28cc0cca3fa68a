import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpudoctor.rules.versions import compare_dotted, dotted, dotted_of_digits, in_release


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("5.19.0-35-generic", (5, 19, 0)),
        ("5.15.153.1-microsoft-standard-WSL2", (5, 15, 153, 1)),
        ("570.124.06", (570, 124, 6)),
        ("1:1.0.14062.11-1", (1, 0, 14062, 11)),
        ("v6.4", (6, 4)),
        ("unknown", None),
        ("", None),
        ("1" * 100, None),
        ("1" * 80, (int("1" * 80),)),
        ("1" * 81, None),
        (" V2.1 ", (2, 1)),
        (6.2, None),
    ],
)
def test_dotted_reads_the_leading_integers(text, parts):
    assert dotted(text) == parts


def test_missing_places_count_as_nought():
    assert compare_dotted((6, 2), (6, 2, 0)) == 0
    assert compare_dotted((6, 2), (6, 10)) == -1
    assert compare_dotted((6, 2, 1), (6, 2)) == 1


@pytest.mark.parametrize(
    ("version", "specifier", "inside"),
    [
        ("2.8.0.dev20250601+xpu", ">=2.8", True),
        ("2.1.0a0+29c30b1", ">=2.1", True),
        ("1.13.0a0+git6c9b55e", ">=1.13,<2", True),
        ("2.8.0+cu128", "==2.8.*", True),
        ("2.7.1", ">=2.8", False),
        ("not a version", ">=1", None),
        ("570.124.06-0ubuntu1", ">=570.100", True),
        ("570.124.06-0ubuntu1", ">=571", False),
        (2.8, ">=2.8", True),
        ("1!2.8", ">=2.9", True),  # an epoch comes before all
        ("1!2.8", "<1!2.8", False),
        ("1!2.8-odd", "==2.8.*", False),
        ("570.124.06-0ubuntu1", "~=570.100", True),
        ("570.124.06-0ubuntu1", "~=571.1", False),
        ("570.124.06-0ubuntu1", "==570.124.*", True),
    ],
)
def test_builds_and_nightlies_count_by_their_release(version, specifier, inside):
    assert in_release(version, specifier) is inside


def test_a_specifier_that_is_none_is_named():
    with pytest.raises(ValueError, match="'about 2' is no version specifier"):
        in_release("2.8", "about 2")


@pytest.mark.parametrize(("digits", "version"), [("126", "12.6"), ("102", "10.2"), ("80", "8.0")])
def test_the_digits_of_a_build_are_a_version(digits, version):
    assert dotted_of_digits(digits) == version


RELEASES = st.lists(st.integers(0, 12), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
BUILDS = st.sampled_from(["", "a0+29c30b1", ".dev20250101+xpu", "rc1", ".post2", "+cu128"])
COMPARISONS = st.builds(str.__add__, st.sampled_from([">=", "<=", "==", "!=", ">", "<", ">= "]), RELEASES)


@given(RELEASES, BUILDS, st.lists(COMPARISONS, min_size=1, max_size=3))
def test_comparisons_agree_with_packaging(release: str, build: str, comparisons: list[str]) -> None:
    specifier = ",".join(comparisons)
    whole = Version(release + build)
    assert in_release(release + build, specifier) is SpecifierSet(specifier).contains(Version(whole.base_version), prereleases=True)
