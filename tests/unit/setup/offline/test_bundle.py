"""Offline bundles: nothing of one is used that its manifest does not vouch for. tests/real/test_bundle_made.py lets pip make one."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.plan import Plan, PlannedStep
from gpudoctor.setup.offline.bundle import Bundle, BundleError, Entry, manifest_sha256, manifest_text, misfits, open_bundle, pinned
from gpudoctor.setup.offline.bundle_making import make_bundle
from gpudoctor.system.live_changes import ActingHost
from gpudoctor.system.local_host import LocalHost

BLANK = Bundle(
    folder="", plan="cpu", recipe="cpu", os_id="debian", os_version="12", architecture="x86_64", python="3.11", date="2026-11-20"
)


def write(folder: Path, files: dict[str, bytes], **other: Any) -> Path:
    entries = {}
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        entries[path] = Entry(sha256=hashlib.sha256(content).hexdigest(), size=len(content), source="https://pypi.org/simple")
    (folder / "manifest.json").write_text(manifest_text(replace(BLANK, files=entries, **other)))
    return folder


FILES = {
    "wheels/torch-2.8.0+cpu-cp311-cp311-linux_x86_64.whl": b"wheel",
    "repos/0/pool/main/libz/libze1_1%3a1.2~rc1_amd64.deb": b"deb",
    "keys/intel.gpg": b"k",
}


def test_what_was_written_is_what_is_read(tmp_path: Path) -> None:
    bundle = open_bundle(str(write(tmp_path, FILES)))
    assert bundle.folder == str(tmp_path) and sorted(bundle.files) == sorted(FILES)
    assert bundle.of("wheels") == ["wheels/torch-2.8.0+cpu-cp311-cp311-linux_x86_64.whl"]
    assert replace(bundle, folder="", files={}) == BLANK


def _add(path: str) -> Callable[[Path], object]:
    return lambda top: (top / path).write_bytes(b"more")


def _link(path: str, to: str) -> Callable[[Path], object]:
    def act(top: Path) -> None:
        (top / path).unlink(missing_ok=True)
        (top / path).symlink_to(to)

    return act


def _outside(top: Path) -> None:
    (top / "wheels").rename(top.parent / "outside")
    (top / "wheels").symlink_to(top.parent / "outside")


DAMAGES: list[tuple[str, Callable[[Path], object]]] = [
    ("is not in the manifest", _add("wheels/evil-1.0-py3-none-any.whl")),
    ("is not in the manifest", _add("keys/other.gpg")),
    ("size or checksum differ", lambda top: (top / "keys/intel.gpg").write_bytes(b"K")),
    ("size or checksum differ", lambda top: (top / "keys/intel.gpg").write_bytes(b"kk")),
    ("is missing", lambda top: (top / "keys/intel.gpg").unlink()),
    ("no plain file", _link("keys/intel.gpg", "/etc/hostname")),
    ("no plain file", _link("repos/0/pool/more.deb", "nowhere")),
    ("no plain file", _outside),
    ("no plain file", lambda top: os.mkfifo(top / "wheels/pipe")),
    ("which is written last", lambda top: (top / "manifest.json").unlink()),
    ("cannot be read", _link("manifest.json", "/etc/hostname")),
    ("is no manifest", lambda top: (top / "manifest.json").write_text("{")),
    ("is no manifest", lambda top: (top / "manifest.json").write_text("[" * 100_000)),
]


@pytest.mark.parametrize(("said", "damage"), DAMAGES)
def test_a_damaged_bundle_is_refused(tmp_path: Path, said: str, damage: Callable[[Path], object]) -> None:
    top = write(tmp_path / "bundle", FILES)
    damage(top)
    with pytest.raises(BundleError) as error:
        open_bundle(str(top))
    assert said in str(error.value) and error.value.advice


@pytest.mark.parametrize(
    ("said", "changes"),
    [
        ("not gpudoctor.bundle/2", {"format": "gpudoctor.bundle/1"}),
        ("os.id is not a text", {"os": []}),
        ("date is not a text", {"date": "x\ny"}),
        ("names no files", {"files": []}),
        ("does not lie in wheels", {"files": {"../outside": {"sha256": "0" * 64, "size": 1, "from": ""}}}),
        ("does not lie in wheels", {"files": {"wheels/../../x": {"sha256": "0" * 64, "size": 1, "from": ""}}}),
        ("does not lie in wheels", {"files": {"/etc/passwd": {"sha256": "0" * 64, "size": 1, "from": ""}}}),
        ("does not lie in wheels", {"files": {"wheels\\x": {"sha256": "0" * 64, "size": 1, "from": ""}}}),
        ("does not lie in wheels", {"files": {"repos/0/../x": {"sha256": "0" * 64, "size": 1, "from": ""}}}),
        ("is no repository", {"sources": [{"path": "repos/0", "suite": "x\nTrusted: yes", "components": [], "name": ""}]}),
        ("is no repository", {"sources": [{"path": "repos/../..", "suite": "x", "components": [], "name": ""}]}),
        ("is no repository", {"sources": [{"path": "repos/0", "suite": "x", "components": ["main trusted"], "name": ""}]}),
        ("is no repository", {"sources": [{"path": "repos/0", "suite": "../x", "components": [], "name": ""}]}),
        ("is no repository", {"sources": ["x"]}),
        ("does not lie in wheels", {"files": {"wheels/-r": {"sha256": "0" * 64, "size": 1, "from": ""}}}),
        ("needs sha256", {"files": {"wheels/x": {"sha256": "0" * 63, "size": 1, "from": ""}}}),
        ("needs sha256", {"files": {"wheels/x": {"sha256": "0" * 64, "size": True, "from": ""}}}),
        ("needs sha256", {"files": {"wheels/x": "0" * 64}}),
    ],
)
def test_a_manifest_is_not_believed(tmp_path: Path, said: str, changes: dict[str, Any]) -> None:
    write(tmp_path, {})
    table = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**table, **changes}))
    with pytest.raises(BundleError, match=said):
        open_bundle(str(tmp_path))


def test_a_bundle_for_another_machine_says_so(tmp_path: Path) -> None:
    bundle = open_bundle(str(write(tmp_path, FILES)))
    here = {"platform.machine": "x86_64", "os.id": "debian", "os.version": "12"}

    def why(facts: dict[str, str], name: str = "cpu", minor: str = "3.11") -> str:
        return "; ".join(misfits(bundle, Facts({key: Known(value) for key, value in facts.items()}), name, minor))

    assert why(here) == "" and why({**here, "platform.machine": "AMD64"}) == ""
    assert "is aarch64" in why({**here, "platform.machine": "aarch64"})
    assert "packages are for debian 12, and this is ubuntu 24.04" in why({**here, "os.id": "ubuntu", "os.version": "24.04"})
    assert "Python 3.11, and the environment has 3.12" in why(here, minor="3.12")
    assert "setup cpu, not for cuda" in why(here, name="cuda")


def test_wheels_of_a_bundle_are_taken_only_with_the_number_that_the_person_was_told(tmp_path: Path) -> None:
    """Whoever forges a wheel writes its checksum into the manifest as well."""
    folder = str(write(tmp_path, FILES))
    told = manifest_sha256(folder)
    assert pinned(folder, told) == pinned(folder, f"SHA256:{told.upper()}") == open_bundle(folder)
    with pytest.raises(BundleError, match="nothing but its own manifest vouches") as error:
        pinned(folder, "")
    assert "--bundle-sha256" in error.value.advice
    write(tmp_path, {**FILES, "wheels/torch-2.8.0+cpu-cp311-cp311-linux_x86_64.whl": b"a forged wheel"})
    assert open_bundle(folder)  # it is consistent in itself
    with pytest.raises(BundleError, match="was expected"):
        pinned(folder, told)
    with pytest.raises(BundleError, match="64 hexadecimal digits"):
        pinned(folder, "abc")
    without = str(write(tmp_path / "packages", {"keys/intel.gpg": b"k"}))
    assert pinned(without, "").of("keys")  # what else it holds is checked by signatures


def machine(folder: Path) -> ActingHost:
    (folder / "state").mkdir()
    return ActingHost(LocalHost(budget=600.0), log=folder / "state/log")


def test_packages_of_fedora_are_not_bundled(tmp_path: Path) -> None:
    step = PlannedStep(
        number=1, kind="dnf.install", title="the driver", why="", layer="user-driver", recipe="x", settings={"packages": ["x"]}
    )
    plan = Plan(name="cpu", recipe="cpu", title="", stack="", compute="", machine="", env="", steps=(step,), os_id="fedora")
    with pytest.raises(BundleError) as error:
        make_bundle(plan, {}, str(tmp_path / "bundle"), machine(tmp_path))
    assert "fedora" in str(error.value) and "--mirror" in error.value.advice
    assert not (tmp_path / "bundle").exists()
