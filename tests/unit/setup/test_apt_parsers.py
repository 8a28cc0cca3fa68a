"""What apt and dpkg print, as they printed it in a Debian 12 root, and the choices made of it."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.setup.packages import apt, apt_sources
from gpudoctor.setup.packages.debian_versions import compare
from gpudoctor.system.writable_host import ActFailed

SIMULATION = """Reading package lists...
Building dependency tree...
Reading state information...
The following additional packages will be installed:
  provider
Inst libc6 [2.36-9+deb12u9] (2.36-9+deb12u10 Debian:12.10/stable [amd64]) [libc6:i386 ]
Inst middle [1] (2 stable [all]) []
Inst libfoo:i386 (1:1.0-1 stable [i386])
Inst small (1.0 stable [all])
Conf middle (2 stable [all])
Remv rival [1.0]
Purg old [1] [small:amd64 ]
Conf small (1.0 stable [all])
"""
POLICY = """virt:
  Installed: (none)
  Candidate: (none)
  Version table:
other:
  Installed: 1.0
  Candidate: 2.0
  Version table:
     2.0 500
        500 http://127.0.0.1:43407 stable/main amd64 Packages
 *** 1.0 500
        500 http://127.0.0.1:43407 stable/main amd64 Packages
        100 /var/lib/dpkg/status
"""


def test_a_simulation_tells_new_changed_and_removed() -> None:
    found = apt.parse_simulation(SIMULATION)
    assert found.new == ["libfoo:i386", "small"]
    assert found.changed == {"libc6": "2.36-9+deb12u9", "middle": "1"}
    assert found.removes == {"rival": "1.0", "old": "1"}
    assert found.installs["libc6"][1] == "2.36-9+deb12u10"


def test_a_package_that_is_removed_and_installed_again_is_changed() -> None:
    found = apt.parse_simulation("Remv a [1]\nInst a [1] (2 stable [all])\n")
    assert (found.changed, found.removes) == ({"a": "1"}, {})


def test_policy_tells_candidates_and_versions() -> None:
    assert apt.parse_policy(POLICY) == {"virt": ("", ()), "other": ("2.0", ("2.0", "1.0"))}


def test_listing_names_foreign_architectures_and_keeps_what_is_configuration_alone() -> None:
    text = "small\tall\t1.0\tinstall\thalf-installed\treinstreq\n"
    text += "lib\ti386\t2\tinstall\tinstalled\tok\nrc\tamd64\t3\tdeinstall\tconfig-files\tok\n"
    found = apt.parse_listing(text + "gone\tamd64\t\tunknown\tnot-installed\tok\ntorn line\n", "amd64")
    assert sorted(found) == ["lib:i386", "rc", "small"]
    assert (found["small"].present, found["small"].sound) == (True, False)
    assert not found["rc"].present and found["lib:i386"].sound


def test_providers_of_a_virtual_package() -> None:
    assert apt.parse_providers("Package: virt\nVersions: \nReverse Provides: \nb 1 (= )\na 2 (= )\na 1 (= )\n") == ["a", "b"]
    assert apt.provided("Package: p\nStatus: install ok installed\nProvides: virt (= 1), two\n\nPackage: q\nProvides: no\n") == {
        "virt": "p",
        "two": "p",
    }


@pytest.mark.parametrize("entry", ["", "-o", "aa bb", "Upper", "aa=", "aa|", "aa=1;rm", "aa>1", "aa=1 -y", "../x", "aa=*1", "aa*"])
def test_what_is_no_package_never_reaches_apt(entry: str) -> None:
    with pytest.raises(ValueError, match="is no Debian package"):
        apt.parse_wanted(entry)


def test_versions_that_a_recipe_wants() -> None:
    first, second, third = apt.parse_wanted("aa=1:2.*| bb>=24.35 |cc:i386")
    assert (first.matches("1:2.9-1"), first.matches("1:3"), first.argument()) == (True, False, "aa=1:2.*")
    assert (second.matches("24.35.1~22.04"), second.matches("24.9"), second.argument()) == (True, False, "bb")
    assert third.name == "cc:i386" and third.matches("anything")


def node(*needs: tuple[str, ...], gives: tuple[str, ...] = ()) -> apt.Node:
    return apt.Node(needs, frozenset(gives))


def test_what_others_need_stays_with_all_that_it_needs_itself() -> None:
    graph = {
        "mine": node(("loader",), ("either", "other"), gives=("mine",)),
        "loader": node(("base",), gives=("loader",)), "base": node(gives=("base",)), "either": node(gives=("either",)),
        "other": node(gives=("other",)), "driver": node(("loader",), gives=("driver",)), "icd": node(gives=("icd", "virt")),
    }  # fmt: skip
    assert apt.still_needed(graph, ["driver", "loader", "base", "icd", "either"]) == {"loader": "mine", "base": "loader"}
    assert apt.still_needed(graph, ["mine", "driver", "loader", "base"]) == {}


def test_the_graph_of_dpkg() -> None:
    text = "a\tamd64\tinstalled\tpre (>= 1), b:any | c (<< 2) [amd64], , d\tvirt (= 1), w\nx\tall\tconfig-files\t, y\t\n"
    assert apt.parse_graph(text, "amd64") == {"a": apt.Node((("pre",), ("b", "c"), ("d",)), frozenset({"a", "virt", "w"}))}


VERSIONS = [
    "1.0",
    "1.0~rc1",
    "1.0-1",
    "1:0.5",
    "1.0+b1",
    "1.0~~",
    "2.10-3",
    "2.9",
    "0",
    "1.0a",
    "1.0-1~bpo12+1",
    "24.39.31294.12-1~22.04",
    "1.00",
]


@pytest.mark.starts_processes("dpkg compares versions as we do")
def test_versions_are_ordered_as_dpkg_orders_them() -> None:
    for left in VERSIONS:
        for right in VERSIONS:
            order = compare(left, right)
            word = "lt" if order < 0 else "gt" if order > 0 else "eq"
            assert subprocess.run(["dpkg", "--compare-versions", left, word, right]).returncode == 0, (left, word, right)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_can_be_compared(left: str, right: str) -> None:
    assert compare(left, right) == -compare(right, left) or compare(left, right) * compare(right, left) < 0
    assert compare("9" * 5000, left + "1") is not None


@given(st.text(max_size=300))
def test_parsers_take_any_text(text: str) -> None:
    for parse in (apt.parse_simulation, apt.parse_policy, apt.parse_providers, apt.provided):
        parse(text)
    apt.parse_listing(text, "amd64")
    apt.parse_graph(text, "amd64")
    list(apt_sources.parse_sources("a.list", text))
    list(apt_sources.parse_sources("a.sources", text))


def test_sources_of_both_styles() -> None:
    one_line = "# deb http://no x y\n deb [arch=amd64 signed-by=/k] https://h/p/ stable main extra # c\ndeb-src http://h s m\n"
    assert list(apt_sources.parse_sources("f.list", one_line)) == [
        apt_sources.AptSource("f.list", "https://h/p/", "stable", ("main", "extra"))
    ]
    stanzas = "# c\nTypes: deb deb-src\nURIs: http://a\n http://b\nSuites: s t\nComponents: main\n\nTypes: deb\nURIs: http://c\nSuites: ./\nEnabled: no\n"  # noqa: E501
    found = list(apt_sources.parse_sources("f.sources", stanzas))
    assert [(one.url, one.suite) for one in found] == [("http://a", "s"), ("http://a", "t"), ("http://b", "s"), ("http://b", "t")]
    written = apt_sources.source_text("https://h/p", "noble", ["main"], ["amd64"], "/usr/share/keyrings/k.gpg")
    assert list(apt_sources.parse_sources("f.sources", written)) == [apt_sources.AptSource("f.sources", "https://h/p", "noble", ("main",))]


def test_lists_of_a_source_are_told_from_its_neighbours() -> None:
    names = [
        "127.0.0.1:43407_dists_stable_InRelease", "127.0.0.1:43407_dists_stable_main_binary-amd64_Packages", "127.0.0.1:43407_dists_stable-updates_InRelease",  # noqa: E501
        "repo.example_cuda_x86%5f64_InRelease", "repo.example_cuda_x86%5f64_Packages.lz4", "repo.example_cuda_x86%5f64_dists_stable_InRelease",  # noqa: E501
    ]  # fmt: skip
    assert apt_sources.own_lists(names, "http://user:word@127.0.0.1:43407/", "stable") == names[:2]
    assert apt_sources.own_lists(names, "https://repo.example/cuda/x86_64", "/") == names[3:5]


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("E: The repository 'http://h stable Release' is not signed.", "is not signed; it is refused"),
        ("W: GPG error: http://h: The following signatures couldn't be verified because the public key is not available: NO_PUBKEY AB", "pinned key"),  # noqa: E501
        ("Err:1 http://h stable InRelease\n  The following signatures were invalid: EXPKEYSIG AB Test", "expired"),
        ("E: Release file for http://h is not valid yet (invalid for another 2h)", "clock"),
        ("E: The repository 'http://h nosuch Release' does not have a Release file.", "has nothing for noble"),
        ("  Could not connect to 127.0.0.1:9 (127.0.0.1). - connect (111: Connection refused)\nE: The repository 'x' does not have a Release file.", "reached"),  # noqa: E501
        ("E: Failed to fetch http://h/Packages  File has unexpected size (3 != 4). Mirror sync in progress?", "fit together"),
        ("something new", "cannot be used"),
    ],
)  # fmt: skip
def test_a_refused_source_is_told_in_words(output: str, said: str) -> None:
    failed = apt_sources.refusal(output, "the vendor", "http://h", "noble")
    assert isinstance(failed, ActFailed) and said in str(failed) and failed.advice
