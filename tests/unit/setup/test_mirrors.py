"""Mirrors: other addresses, the same signing keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpudoctor.cli import BadInput
from gpudoctor.cli.project import mirrors
from gpudoctor.model.recipe import Address
from gpudoctor.setup.mirrors import MirrorError, apply_mirrors, given_mirrors, mirror_notes, unauthenticated

KEY, OTHER = "A" * 40, "B" * 40
BOOK = {
    "pypi": Address(name="pypi", kind="python-index", url="https://pypi.org/simple"),
    "pytorch": Address(name="pytorch", kind="python-index", url="https://download.pytorch.org/whl"),
    "inside": Address(
        name="inside", kind="apt", url="https://repo.example/apt", key_url="https://repo.example/apt/keys/main.asc", fingerprint=KEY
    ),
    "beside": Address(
        name="beside", kind="apt", url="https://repo.example/apt", key_url="https://repo.example/apt-keys/a", fingerprint=KEY
    ),
    "sdk": Address(name="sdk", kind="download", url="https://files.example"),
}


def test_the_key_stays_pinned_and_moves_only_with_its_repository() -> None:
    after = apply_mirrors(BOOK, {"inside": "http://127.0.0.1:80/deb/", "beside": "http://mirror/deb"}, {})
    assert after["inside"].url == "http://127.0.0.1:80/deb"
    assert after["inside"].key_url == "http://127.0.0.1:80/deb/keys/main.asc"
    assert after["beside"].key_url == BOOK["beside"].key_url  # 'apt-keys' is not below 'apt'
    assert {after["inside"].fingerprint, after["beside"].fingerprint} == {KEY}
    assert after["pypi"] is BOOK["pypi"]


def test_a_folder_below_a_python_index_is_below_its_mirror() -> None:
    after = apply_mirrors(BOOK, {"pytorch": "https://mirror.example/torch/whl/"}, {})
    assert f"{after['pytorch'].url}/xpu" == "https://mirror.example/torch/whl/xpu"


def test_the_configuration_may_name_its_own_key_and_the_command_line_counts_more() -> None:
    spelt = " ".join("b" * 4 for _ in range(10))
    config = {"inside": {"url": "https://m/a", "key_url": "https://m/key", "fingerprint": spelt}, "pypi": "https://m/simple"}
    after = apply_mirrors(BOOK, {}, config)
    assert (after["inside"].key_url, after["inside"].fingerprint) == ("https://m/key", OTHER)
    assert after["pypi"].url == "https://m/simple"
    given = apply_mirrors(BOOK, {"inside": "https://n/a"}, config)["inside"]
    assert (given.url, given.fingerprint) == ("https://n/a", KEY)  # the key of one mirror is not that of another
    told = mirror_notes(BOOK, after)
    assert any(OTHER in line and KEY in line for line in told) and any("https://m/simple" in line for line in told)


@pytest.mark.parametrize(
    ("given", "config", "said"),
    [
        ({"pytroch": "https://m"}, {}, "did you mean 'pytorch'"),
        ({"nothing": "https://m"}, {}, "there are beside, inside, pypi, pytorch, sdk"),
        ({"pypi": "ftp://m/simple"}, {}, "is no address"),
        ({"pypi": "https://"}, {}, "is no address"),
        ({"pypi": "https://[::1/simple"}, {}, "is no address"),
        ({"pypi": "https://m:99999/"}, {}, "is no address"),
        ({"pypi": "https://m/a b"}, {}, "is no address"),
        ({"inside": "https://m/a\nTrusted: yes"}, {}, "is no address"),
        ({"pypi": "https://user:secret@m/simple"}, {}, ".netrc"),
        ({"pypi": "https://m/simple?x=1"}, {}, "holds ? or #"),
        ({}, {"pypi": 3}, "expected an address in quotes"),
        ({}, {"inside": {"key_url": "https://m"}}, "url is missing"),
        ({}, {"inside": {"url": "https://m", "fingerprnt": KEY}}, "did you mean 'fingerprint'"),
        ({}, {"inside": {"url": "https://m", "fingerprint": KEY[1:]}}, "40 hexadecimal digits"),
        ({}, {"inside": {"url": "https://m", "fingerprint": ""}}, "40 hexadecimal digits"),
        ({}, {"pypi": {"url": "https://m", "fingerprint": KEY}}, "leave it out"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_way_out(given: dict[str, str], config: dict[str, Any], said: str) -> None:
    with pytest.raises(MirrorError) as error:
        apply_mirrors(BOOK, given, config)
    assert said in str(error.value)


def test_the_password_of_a_refused_address_is_not_repeated() -> None:
    with pytest.raises(MirrorError) as error:
        apply_mirrors(BOOK, {"pypi": "https://user:secret@m/simple"}, {})
    assert "secret" not in str(error.value)


def test_words_of_the_command_line() -> None:
    assert given_mirrors(("a=https://x", "b=http://y?z=1", "a=https://z")) == {"a": "https://z", "b": "http://y?z=1"}
    for word in ("pypi", "=https://x", "pypi="):
        with pytest.raises(MirrorError, match="expected NAME=URL"):
            given_mirrors((word,))


def test_the_person_counts_more_than_the_site_and_a_downloaded_project_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, user, site = tmp_path / "project", tmp_path / "config/gpudoctor", tmp_path / "site.toml"
    project.mkdir()
    user.mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("gpudoctor.cli.project.SITE", str(site))
    assert mirrors() == {}
    site.write_text('[mirrors]\npypi = "https://site/simple"\nsdk = "https://site/sdk"\n')
    (user / "config.toml").write_text('[mirrors.pypi]\nurl = "https://user/simple"\n')
    (project / "gpudoctor.toml").write_text('[mirrors]\npypi = "https://evil/simple"\n')
    assert mirrors() == {"pypi": {"url": "https://user/simple"}, "sdk": "https://site/sdk"}
    (user / "config.toml").write_text('[ignore]\nx = "not here"\n')
    with pytest.raises(BadInput, match="unknown key 'ignore'"):
        mirrors()
    (user / "config.toml").write_text("mirrors = 1\n")
    with pytest.raises(BadInput, match="NAME ="):
        mirrors()


def test_http_of_what_nothing_signs_is_called_unauthenticated() -> None:
    before = {
        "pypi": Address(name="pypi", kind="python-index", url="https://pypi.org/simple"),
        "files": Address(name="files", kind="download", url="https://files.example"),
        "intel": Address(name="intel", kind="apt", url="https://repo.example", key_url="https://repo.example/k", fingerprint="A" * 40),
    }
    given = {"pypi": "http://mirror.example/simple", "files": "http://127.0.0.1:8000", "intel": "http://mirror.example/intel"}
    (said,) = unauthenticated(before, apply_mirrors(before, given, {}))
    assert said.startswith("pypi comes from http://mirror.example/simple over http, unauthenticated")
    assert unauthenticated(before, before) == ()
    assert unauthenticated(before, apply_mirrors(before, {"pypi": "https://mirror.example/simple"}, {})) == ()
