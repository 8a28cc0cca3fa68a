"""Packages of an offline bundle: apt takes what their repository has signed, and nothing that somebody else has put there.

apt looks at a bundle with lists and sources of its own; nothing is installed here, it is only asked what it would do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from apt_repository import AptRepository, Deb, SigningKey
from msgspec.structs import replace

from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.plan import Plan, PlannedStep
from gpudoctor.model.recipe import Address
from gpudoctor.setup.offline import apt_bundle
from gpudoctor.setup.offline.bundle import MANIFEST, Bundle, BundleSource, Entry, manifest_text, open_bundle
from gpudoctor.setup.offline.bundle_making import make_bundle
from gpudoctor.setup.packages import apt_choice, apt_state
from gpudoctor.setup.steps import kind_named
from gpudoctor.setup.steps._step import Look, PlanError
from gpudoctor.system.hashed_tree import plain_files, sha256
from gpudoctor.system.live_changes import ActingHost
from gpudoctor.system.local_host import LocalHost
from gpudoctor.system.null_host import NoHost
from gpudoctor.system.writable_host import ActFailed

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or not all(map(shutil.which, ("apt-get", "gpg", "dpkg-scanpackages"))),
    reason="needs root, apt, dpkg-dev and gpg",
)
WANTED = "gpudoctor-test-ze1"


@pytest.fixture(scope="module")
def signing(tmp_path_factory: pytest.TempPathFactory) -> SigningKey:
    return SigningKey(tmp_path_factory.mktemp("k") / "g")


@pytest.fixture
def repository(tmp_path: Path, signing: SigningKey) -> AptRepository:
    made = AptRepository(tmp_path / "repository", signing)
    made.add(Deb(WANTED, "1.2", depends="gpudoctor-test-igc"), Deb("gpudoctor-test-igc", "3"))
    made.publish()
    return made


@pytest.fixture
def bundle(tmp_path: Path, repository: AptRepository, signing: SigningKey) -> Path:
    """As a machine with a network would have made it."""
    folder = tmp_path / "bundle"
    shutil.copytree(repository.folder, folder / "repos/0")
    (folder / "repos/0/key.asc").unlink()
    (folder / "keys").mkdir()
    (folder / "keys/vendor.gpg").write_text(signing.armored)
    seal(folder)
    return folder


def seal(folder: Path) -> None:
    """A manifest that fits whatever lies there now, as a forger writes one."""
    (folder / MANIFEST).unlink(missing_ok=True)
    files = {path: Entry(sha256=sha256(f"{folder}/{path}"), size=size) for path, size in plain_files(str(folder))}
    made = Bundle(
        folder=str(folder), plan="x", recipe="x", os_id="debian", os_version="12", architecture="x86_64", python="", date="2026-11-20",
        files=files, sources=(BundleSource(path="repos/0", suite="stable", components=("main",), name="vendor"),),
    )  # fmt: skip
    (folder / MANIFEST).write_text(manifest_text(made))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ActingHost]:
    monkeypatch.setattr(apt_bundle, "FOLDER", str(tmp_path / "apt"))
    (tmp_path / "state").mkdir()
    yield ActingHost(LocalHost(budget=600.0), log=tmp_path / "state/log", offline=True)


def look(folder: Path, fingerprint: str) -> Look:
    addresses = {"vendor": Address(name="vendor", kind="apt", url="https://vendor.example", key_url="https://x", fingerprint=fingerprint)}
    return Look(facts=Facts(), host=NoHost(), addresses=addresses, env="", options={"bundle": str(folder)})


def simulated(folder: Path, fingerprint: str, machine: ActingHost) -> set[str]:
    """What apt would install of it."""
    assert open_bundle(str(folder))  # its own manifest fits each time
    settings = {"bundle": str(folder), "sources": apt_bundle.sources(look(folder, fingerprint))}
    inside = apt_bundle.opened(machine, settings)
    choice = apt_choice.choose(inside, [WANTED], apt_state.listing(machine))
    downloaded = inside.run(("apt-get", "-q", "-y", "install", "--download-only", *choice.arguments), check=False)
    if downloaded.rc != 0:
        raise ActFailed(downloaded.output)
    return set(apt_state.simulate(inside, "install", *choice.arguments).installs)


def test_what_the_repository_signed_is_installed(bundle: Path, signing: SigningKey, machine: ActingHost) -> None:
    assert simulated(bundle, signing.fingerprint, machine) == {WANTED, "gpudoctor-test-igc"}
    apt_bundle.closed(machine)
    assert not Path(apt_bundle.FOLDER).exists()


def _forged_package(folder: Path) -> None:
    Deb(WANTED, "1.2", scripts={"postinst": "touch /tmp/evil"}).build(folder / "repos/0/pool")


def _forged_list(folder: Path) -> None:
    _forged_package(folder)
    binary = folder / "repos/0/dists/stable/main/binary-amd64"
    listed = subprocess.run(["dpkg-scanpackages", "--multiversion", "pool"], cwd=folder / "repos/0", capture_output=True, check=True).stdout
    (binary / "Packages").write_bytes(listed)
    (binary / "Packages.gz").unlink()


def _own_repository(folder: Path) -> None:
    """All of it made anew, and signed by the forger, who brings the key along."""
    key = SigningKey(folder.parent / "forger")
    shutil.rmtree(folder / "repos/0")
    forged = AptRepository(folder / "repos/0", key)
    forged.add(Deb(WANTED, "1.2", scripts={"postinst": "touch /tmp/evil"}))
    forged.publish()
    (folder / "keys/vendor.gpg").write_text(key.armored)


def _own_signature(folder: Path) -> None:
    """The vendor's key is left in place."""
    kept = (folder / "keys/vendor.gpg").read_text()
    _own_repository(folder)
    (folder / "keys/vendor.gpg").write_text(kept)


def _both_keys(folder: Path) -> None:
    kept = (folder / "keys/vendor.gpg").read_text()
    _own_repository(folder)
    (folder / "keys/vendor.gpg").write_text(kept + (folder / "keys/vendor.gpg").read_text())


def _unsigned(folder: Path) -> None:
    _forged_list(folder)
    for name in ("InRelease", "Release.gpg"):
        (folder / "repos/0/dists/stable" / name).unlink()


FORGERIES: list[tuple[str, Callable[[Path], None]]] = [
    ("", _forged_package), ("refused", _forged_list), ("expected the key", _own_repository),
    ("not signed by the pinned key", _own_signature), ("not signed by the pinned key", _both_keys), ("refused", _unsigned),
]  # fmt: skip


@pytest.mark.parametrize(("said", "forge"), FORGERIES, ids=lambda value: getattr(value, "__name__", None))
def test_a_forged_bundle_is_refused(
    bundle: Path, signing: SigningKey, machine: ActingHost, said: str, forge: Callable[[Path], None]
) -> None:
    forge(bundle)
    seal(bundle)
    with pytest.raises(ActFailed, match=said):
        simulated(bundle, signing.fingerprint, machine)


def test_a_repository_without_a_pinned_key_is_refused(bundle: Path, signing: SigningKey) -> None:
    made = open_bundle(str(bundle))
    (bundle / MANIFEST).write_text(manifest_text(replace(made, sources=(replace(made.sources[0], name="forger"),))))
    with pytest.raises(PlanError, match="no pinned key"):
        apt_bundle.sources(look(bundle, signing.fingerprint))
    (bundle / MANIFEST).write_text(manifest_text(replace(made, sources=())))
    with pytest.raises(PlanError, match="no packages"):
        apt_bundle.sources(look(bundle, signing.fingerprint))


def test_one_that_claims_to_be_of_the_distribution_needs_its_signature(bundle: Path, signing: SigningKey, machine: ActingHost) -> None:
    made = open_bundle(str(bundle))
    (bundle / MANIFEST).write_text(manifest_text(replace(made, sources=(replace(made.sources[0], name=""),))))
    with pytest.raises(ActFailed, match="not signed by the pinned key"):
        simulated(bundle, signing.fingerprint, machine)


def test_a_bundle_that_was_made_here_is_taken(tmp_path: Path, repository: AptRepository, signing: SigningKey, machine: ActingHost) -> None:
    """Made by apt from a repository on loopback, with the machine's own sources beside it."""
    from loopback_server import LoopbackServer

    with LoopbackServer(repository.folder) as server:
        addresses = {"vendor": Address(**repository.address(server.url, "vendor"))}
        facts = Facts({"platform.machine": Known("x86_64")})
        wanted = Look(facts=facts, host=LocalHost(budget=60.0), addresses=addresses, env="", options={"insecure": ["vendor"]})
        steps = (
            ("apt.repository", {"repository": "vendor", "suite": "stable", "components": ["main"]}),
            ("apt.install", {"packages": [WANTED]}),
        )
        planned = tuple(
            PlannedStep(
                number=number, kind=kind, title=kind, why="", layer="user-driver", recipe="r",
                settings=kind_named(kind).plan(given, wanted).settings,
            )
            for number, (kind, given) in enumerate(steps, 1)
        )  # fmt: skip
        told = {"name": "x", "recipe": "x", "os_id": "debian", "os_version": "12"}
        plan = Plan(title="", stack="", compute="", machine="", env="", steps=planned, **told)
        online = ActingHost(LocalHost(budget=600.0), log=tmp_path / "state/online")
        try:
            made = make_bundle(plan, addresses, str(tmp_path / "made"), online)
        except ActFailed as failed:
            if "apt must reach every source" in failed.advice:
                pytest.skip("the sources of this machine cannot be reached")
            raise
    assert [source.name for source in made.sources] == ["vendor"] and len(made.of("keys")) == 1
    assert {path.rpartition("/")[2] for path in made.of("repos")} >= {"InRelease", "Packages", f"{WANTED}_1.2_all.deb"}
    assert simulated(Path(made.folder), signing.fingerprint, machine) == {WANTED, "gpudoctor-test-igc"}
