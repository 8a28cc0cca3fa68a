"""update-checks: a signed catalogue is verified, tried and used; anything else leaves what was in use."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import publish_checks
import pytest

from gpudoctor.cli import run
from gpudoctor.knowledge import loader, paths, updated_checks
from gpudoctor.knowledge.loader import compile_folder

CHECK = """
id = "{id}"
title = "The flux capacitor refused"
severity = "warning"
layer = "framework"
stacks = []
explanation = "The capacitor lacks flux."
ask = "Does the log name the capacitor?"
review_by = 2030-01-01

[advice]
do = "Refill the flux capacitor."

[[signature]]
text = ["{words}"]

[verified]
on = 2026-11-23
how = "reported"
against = "flux 1"

[[source]]
ref = "flux/capacitor#1"
says = "the message means that it is empty"
read = 2026-11-23
supports = ["cause"]
"""
MACHINE = Path(__file__).parents[2] / "machines" / "rtx4090-healthy"
Capture = pytest.CaptureFixture[str]


def folder_of(path: Path, words: str, name: str = "flux-empty") -> Path:
    """A catalogue of one check that knows these words, and of our stacks."""
    shutil.copytree(publish_checks.CHECKS / "stacks", path / "stacks", dirs_exist_ok=True)
    (path / "any" / "flux").mkdir(parents=True, exist_ok=True)
    (path / "any" / "flux" / f"{name}.toml").write_text(CHECK.format(id=name, words=words))
    return path


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """gpudoctor as a wheel installs it, with one check of its own; gives the folder of the test."""
    own = tmp_path / "catalogue"
    own.write_bytes(compile_folder(folder_of(tmp_path / "own", "flux is at an end")))
    monkeypatch.setattr(paths, "COMPILED", str(own))
    monkeypatch.setattr(paths, "checkout_checks", lambda: None)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    loader._of_wheel.cache_clear()
    yield tmp_path
    loader._of_wheel.cache_clear()


def published(place: Path, words: str, **how: object) -> Path:
    """A repository with one more version, whose one check has these words; the .zip of it."""
    checks = folder_of(place / f"checks-{len(words)}", words)
    return publish_checks.publish(place / "repository", place / "keys", checks, **how)  # type: ignore[arg-type]


def names_flux(words: str, capsys: Capture, place: Path) -> bool:
    """Whether `explain` knows the message."""
    loader._of_wheel.cache_clear()
    (place / "log.txt").write_text(f"RuntimeError: {words}\n")
    run(["explain", str(place / "log.txt"), "--format", "json"])
    return "flux-empty" in capsys.readouterr().out


def test_a_trusted_catalogue_is_used_until_it_is_removed(installed: Path, capsys: Capture) -> None:
    archive = published(installed, "no flux is left")
    assert names_flux("flux is at an end", capsys, installed) and not names_flux("no flux is left", capsys, installed)
    assert run(["update-checks", str(archive)]) == 2
    assert "no publisher is trusted yet" in capsys.readouterr().err and not names_flux("no flux is left", capsys, installed)
    assert run(["update-checks", str(archive), "--trust", str(installed / "repository" / "root.json")]) == 0
    assert "1 checks of " in capsys.readouterr().out
    assert names_flux("no flux is left", capsys, installed) and not names_flux("flux is at an end", capsys, installed)
    assert run(["update-checks"]) == 0 and str(archive) in capsys.readouterr().out
    run(["check", "--capture", str(MACHINE)])
    assert "Checks: the update of 20" in capsys.readouterr().out
    assert run(["update-checks", "--remove"]) == 0
    assert names_flux("flux is at an end", capsys, installed) and not names_flux("no flux is left", capsys, installed)


def trusting(place: Path, capsys: Capture) -> Path:
    """After one update: the .zip of version 1."""
    first = published(place, "the first flux").rename(place / "first.zip")
    assert run(["update-checks", str(first), "--trust", str(place / "repository" / "root.json")]) == 0
    capsys.readouterr()
    return first


def test_a_newer_version_needs_no_trust_again_and_an_older_one_is_refused(installed: Path, capsys: Capture) -> None:
    first = trusting(installed, capsys)
    second = published(installed, "a second kind of flux")
    assert run(["update-checks", str(second)]) == 0 and names_flux("a second kind of flux", capsys, installed)
    assert run(["update-checks", str(first)]) == 2
    assert "older than what was verified before" in capsys.readouterr().err
    assert run(["update-checks", "--remove"]) == 0 and run(["update-checks", str(first)]) == 2, "removing does not forget"


def test_what_has_expired_is_refused(installed: Path, capsys: Capture) -> None:
    trusting(installed, capsys)
    assert run(["update-checks", str(published(installed, "an expired flux", days=-1))]) == 2
    assert "has expired" in capsys.readouterr().err and names_flux("the first flux", capsys, installed)


def test_another_publisher_is_refused(installed: Path, capsys: Capture) -> None:
    trusting(installed, capsys)
    stranger = installed / "stranger"
    archive = published(stranger, "a strange flux")
    for more in ([], ["--trust", str(stranger / "repository" / "root.json")]):
        assert run(["update-checks", str(archive), *more]) == 2
        assert "cannot be verified" in capsys.readouterr().err
    assert names_flux("the first flux", capsys, installed) and not names_flux("a strange flux", capsys, installed)


def test_a_root_with_which_nothing_was_verified_is_not_trusted(installed: Path, capsys: Capture) -> None:
    archive = published(installed, "flux by its publisher")
    published(installed / "stranger", "a strange flux")
    (installed / "garbage.json").write_text("{}")
    for wrong in (installed / "garbage.json", installed / "stranger" / "repository" / "root.json"):
        assert run(["update-checks", str(archive), "--trust", str(wrong)]) == 2
        assert "cannot be verified" in capsys.readouterr().err
    assert run(["update-checks", str(archive), "--trust", str(installed / "repository" / "root.json")]) == 0
    assert names_flux("flux by its publisher", capsys, installed)


@pytest.mark.parametrize("part", ["targets/", "targets.json", "snapshot.json", "timestamp.json"])
def test_a_changed_file_is_refused(installed: Path, part: str, capsys: Capture) -> None:
    trusting(installed, capsys)
    archive = published(installed, "flux of the second time")
    with zipfile.ZipFile(archive) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    changed = next(name for name in files if part in name)
    files[changed] = files[changed].replace(b"2", b"3", 1)
    with zipfile.ZipFile(archive, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    assert run(["update-checks", str(archive)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "Traceback" not in error and names_flux("the first flux", capsys, installed)


def test_checks_that_this_program_cannot_read_are_refused(installed: Path, capsys: Capture) -> None:
    trusting(installed, capsys)
    checks = folder_of(installed / "newer", "flux from the future")
    path = checks / "any" / "flux" / "flux-empty.toml"
    path.write_text('fluxometer = "a key that a later release knows"\n' + path.read_text())
    archive = publish_checks.publish(installed / "repository", installed / "keys", checks)
    assert run(["update-checks", str(archive)]) == 2
    assert "update gpudoctor itself" in capsys.readouterr().err and names_flux("the first flux", capsys, installed)


def test_the_checks_of_a_newer_program_go_before_an_older_update(installed: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    trusting(installed, capsys)
    monkeypatch.setattr(updated_checks, "__version__", "99.0")
    assert names_flux("flux is at an end", capsys, installed)
    assert run(["update-checks"]) == 0 and "has newer checks" in capsys.readouterr().out
    assert run(["update-checks", str(published(installed, "flux of old", release="98.1"))]) == 2
    assert "made with gpudoctor 98.1" in capsys.readouterr().err


def test_a_folder_of_the_web_is_a_source_and_an_open_line_is_none(installed: Path, capsys: Capture) -> None:
    published(installed, "flux of the web")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(installed / "repository"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        assert run(["update-checks", address, "--trust", str(installed / "repository" / "root.json")]) == 0
        server.shutdown()
    capsys.readouterr()
    assert names_flux("flux of the web", capsys, installed)
    for source, said in (("http://example.org/checks", "expected an https address"), ("https://a:b@example.org/", "has a user")):
        assert run(["update-checks", source]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("files", "said"),
    [({}, "no metadata/timestamp.json"), ({"metadata/timestamp.json": "{}"}, "cannot be verified"),
     ({"metadata/timestamp.json": "[" * 100_000}, "cannot be read")],
)  # fmt: skip
def test_an_archive_of_something_else_is_named(installed: Path, files: dict[str, str], said: str, capsys: Capture) -> None:
    trusting(installed, capsys)
    archive = installed / "other.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    assert run(["update-checks", str(archive)]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"file": "../../etc/passwd", "version": "1", "made": "x", "gpudoctor": "99", "source": "x"}']
)
def test_a_damaged_record_leaves_the_checks_of_the_program(installed: Path, content: str, capsys: Capture) -> None:
    folder = Path(updated_checks.updates_folder())
    folder.mkdir(parents=True)
    (folder / updated_checks.RECORD).write_text(content)
    assert names_flux("flux is at an end", capsys, installed)


def test_a_checkout_uses_its_own_folder(capsys: Capture) -> None:
    assert run(["update-checks", "some.zip"]) == 2
    assert "runs from a checkout" in capsys.readouterr().err


def test_the_private_keys_are_made_once_and_for_their_owner_alone(tmp_path: Path) -> None:
    archive = published(tmp_path, "flux")
    key = tmp_path / "keys" / "root.pem"
    before = key.read_bytes()
    published(tmp_path, "flux two")
    assert key.read_bytes() == before and key.stat().st_mode & 0o077 == 0
    with zipfile.ZipFile(archive) as packed:
        assert not [name for name in packed.namelist() if "pem" in name]
        assert json.loads(packed.read("metadata/timestamp.json"))["signed"]["version"] == 2
