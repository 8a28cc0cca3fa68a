"""apt.repository, apt.install and apt.remove in a Debian root, with a signed repository on loopback: applied, killed anywhere, undone."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from apt_repository import AptRepository, Deb, SigningKey
from debian_root import DebianRoot, RootState
from loopback_server import LoopbackServer
from root_machine import Killed, RootHost, RootMachine

from gpudoctor.model.facts import Facts
from gpudoctor.model.plan import DONE, TODO
from gpudoctor.model.recipe import Address
from gpudoctor.setup.offline.bundle import Bundle, BundleSource, manifest_text
from gpudoctor.setup.steps import kind_named
from gpudoctor.setup.steps._step import Kind, Look
from gpudoctor.system.writable_host import ActFailed

MANY = {f"/usr/share/driver/{number}": "x" * 100 for number in range(3000)}
SLOW = "touch /tmp/{}; sleep 0.4"
DEBS = (
    Deb("driver", "2.0", depends="loader, icd, middle (>= 2)", recommends="tool", files=MANY, conffiles=("/etc/driver.conf",),
        scripts={"preinst": SLOW.format("preinst"), "postinst": SLOW.format("postinst"), "prerm": SLOW.format("prerm")}, padding=200_000),
    Deb("loader", "1.0", files={"/etc/loader.conf": "a\n"}, conffiles=("/etc/loader.conf",), scripts={"preinst": SLOW.format("loader")}),
    Deb("vendor-icd", "1.0", provides="icd"),
    Deb("tool", "1.0"),
    Deb("middle", "1.0", files={"/etc/middle.conf": "1\n"}, conffiles=("/etc/middle.conf",)),
    Deb("middle", "2.0", files={"/etc/middle.conf": "2\n", **{f"/usr/share/middle/{number}": "y" * 100 for number in range(3000)}},
        conffiles=("/etc/middle.conf",), scripts={"preinst": SLOW.format("middle"), "postinst": SLOW.format("middle-postinst")}),
    Deb("rival", "1.0", conflicts="driver"),
    Deb("mine", "1.0", depends="loader"),
)  # fmt: skip
DEBS = (replace(DEBS[0], files={**MANY, "/etc/driver.conf": "b\n"}), *DEBS[1:])


class Site:
    """A root, a repository that is served, and the steps of a run over both."""

    def __init__(self, root: DebianRoot, server: LoopbackServer, repository: AptRepository) -> None:
        self.root, self.server, self.repository = root, server, repository
        self.machine = RootMachine(root)

    def look(self, fingerprint: str = "", **options: Any) -> Look:
        address = Address(**self.repository.address(self.server.url, fingerprint=fingerprint))
        return Look(facts=Facts(), host=RootHost(self.root), addresses={"test": address}, env="/root/env", options=options)  # type: ignore[arg-type]

    def repository_settings(self, fingerprint: str = "") -> dict[str, Any]:
        given = {"repository": "test", "suite": "stable", "components": ["main"]}
        return dict(kind_named("apt.repository").plan(given, self.look(fingerprint)).settings)

    def add_repository(self) -> None:
        kind, settings = kind_named("apt.repository"), self.repository_settings()
        kind.apply(settings, kind.before(settings, self.machine), self.machine)

    def install_settings(self, *packages: str, **more: Any) -> dict[str, Any]:
        options = {name: more.pop(name) for name in ("bundle", "allow_removal") if name in more}
        return dict(kind_named("apt.install").plan({"packages": list(packages), **more}, self.look(**options)).settings)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> AptRepository:
    folder = tmp_path_factory.mktemp("repository")
    repository = AptRepository(folder / "repository", SigningKey(folder / "gnupg"))
    repository.add(*DEBS)
    repository.publish()
    return repository


@pytest.fixture
def site(built: AptRepository, tmp_path: Path) -> Iterator[Site]:
    copy = AptRepository(tmp_path / "repository", built.key)
    shutil.copytree(built.folder, copy.folder, dirs_exist_ok=True)
    with LoopbackServer(copy.folder) as server, DebianRoot.fresh() as root:
        yield Site(root, server, copy)


def carry_out(kind: Kind, settings: dict[str, Any], machine: RootMachine) -> tuple[dict[str, Any], dict[str, Any]]:
    before = kind.before(settings, machine)
    kind.apply(settings, before, machine)
    assert kind.missing(settings, machine) == ""
    return before, kind.after(settings, before, machine)


def test_a_repository_comes_and_goes_and_the_other_lists_stay(site: Site) -> None:
    kind, settings = kind_named("apt.repository"), site.repository_settings()
    start, lists = site.root.state(), site.root.apt_lists()
    before, after = carry_out(kind, settings, site.machine)
    assert "Candidate: 2.0" in site.root.out(["apt-cache", "policy", "driver"])
    assert set(lists) < set(site.root.apt_lists())
    assert kind.plan({"repository": "test", "suite": "stable", "components": ["main"]}, site.look()).state == DONE
    assert kind.undo(settings, before, after, site.machine) == ()
    assert (site.root.state().differences(start), site.root.apt_lists()) == ([], lists)
    assert not site.root.here(settings["keyring"]).exists()
    assert kind.undo(settings, before, after, site.machine) == ()
    site.root.run(["apt-get", "update", "-o", "APT::Update::Error-Mode=any"])


@pytest.mark.rotates("a repository that cannot be trusted")
@pytest.mark.parametrize("what", ["unsigned", "other key", "other fingerprint", "dies", "wrong suite", "nobody listens"])
def test_a_repository_that_cannot_be_trusted_or_reached_leaves_nothing(site: Site, tmp_path: Path, what: str) -> None:
    kind = kind_named("apt.repository")
    settings = site.repository_settings("0123456789ABCDEF0123456789ABCDEF01234567" if what == "other fingerprint" else "")
    if what == "unsigned":
        site.repository.publish(sign=False)
    elif what == "other key":
        site.repository.publish(key=SigningKey(tmp_path / "other"))
    elif what == "dies":
        site.server.dies_at = "Packages"
    elif what == "wrong suite":
        shutil.move(site.repository.folder / "dists/stable", site.repository.folder / "dists/other")
    elif what == "nobody listens":
        site.server.dies_at = "InRelease"
    start, lists = site.root.state(), site.root.apt_lists()
    before = kind.before(settings, site.machine)
    with pytest.raises(ActFailed) as refused:
        kind.apply(settings, before, site.machine)
    said = {
        "unsigned": "is not signed; it is refused", "other key": "is not signed by the pinned key", "dies": "cannot be reached",
        "other fingerprint": "expected the key 0123 4567 89AB CDEF 0123 4567 89AB CDEF 0123 4567, found",
        "wrong suite": "it has nothing for stable", "nobody listens": "cannot be reached",
    }  # fmt: skip
    assert said[what] in str(refused.value)
    assert (site.root.state().differences(start), site.root.apt_lists()) == ([], lists)
    assert os.listdir(site.root.here("/var/lib/apt/lists/partial")) == []
    if what in ("dies", "nobody listens"):  # and goes on once the network is back
        assert "--resume" in refused.value.advice
        site.server.heal()
        kind.recover(settings, before, site.machine)
        kind.apply(settings, before, site.machine)
        assert kind.missing(settings, site.machine) == ""


@pytest.mark.rotates("an apt step")
def test_a_source_that_a_person_changed_or_has_already_stays(site: Site) -> None:
    kind, settings = kind_named("apt.repository"), site.repository_settings()
    before, after = carry_out(kind, settings, site.machine)
    site.root.write(settings["sources"], settings["text"] + "Trusted: no\n")
    assert settings["sources"] in kind.undo(settings, before, after, site.machine)[0]
    assert site.root.here(settings["sources"]).exists() and site.root.here(settings["keyring"]).exists()
    site.root.here(settings["sources"]).unlink()
    site.root.write("/etc/apt/sources.list.d/own.list", f"deb [signed-by={settings['keyring']}] {site.server.url}/ stable main\n")
    drafted = kind.plan({"repository": "test", "suite": "stable", "components": ["main"]}, site.look())
    assert drafted.state == DONE and "own.list" in drafted.note


def ready(site: Site) -> RootState:
    """The repository is there, an old `middle` as a dependency of nothing, with a changed configuration file."""
    site.add_repository()
    site.root.run(["apt-get", "install", "-y", "middle=1.0"])
    site.root.run(["apt-mark", "auto", "middle"])
    site.root.write("/etc/middle.conf", "changed by a person\n")
    return site.root.state()


def test_packages_come_with_marks_and_go_without_a_trace(site: Site) -> None:
    start = ready(site)
    kind = kind_named("apt.install")
    settings = site.install_settings("no-such-package|driver", hold=True)
    before, after = carry_out(kind, settings, site.machine)
    end = site.root.state()
    assert {"loader", "vendor-icd", "middle"} <= end.auto and "driver" in end.manual and end.held == {"driver"}
    assert "tool:all" not in end.packages
    assert kind.undo(settings, before, after, site.machine) == ()
    assert site.root.state().differences(start) == []
    assert kind.undo(settings, before, after, site.machine) == ()


def _there(root: DebianRoot, path: str) -> Callable[[], bool]:
    return lambda: root.here(path).exists()


def _unpacking(root: DebianRoot, path: str, files: int) -> Callable[[], bool]:
    return lambda: root.here(path).is_dir() and len(os.listdir(root.here(path))) > files


MOMENTS: dict[str, Callable[[DebianRoot], Callable[[], bool]]] = {
    "the first package is about to be unpacked": lambda root: _there(root, "/tmp/loader"),
    "an upgrade is about to be unpacked": lambda root: _there(root, "/tmp/middle"),
    "an upgrade is being unpacked": lambda root: _unpacking(root, "/usr/share/middle", 5),
    "an upgrade is being configured": lambda root: _there(root, "/tmp/middle-postinst"),
    "a new package is about to be unpacked": lambda root: _there(root, "/tmp/preinst"),
    "a new package is being unpacked": lambda root: _unpacking(root, "/usr/share/driver", 5),
    "a new package is nearly unpacked": lambda root: _unpacking(root, "/usr/share/driver", 2900),
    "a new package is being configured": lambda root: _there(root, "/tmp/postinst"),
}


@pytest.mark.rotates("apt is killed")
@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_anywhere_then_resumed_or_undone(site: Site, moment: str) -> None:
    start = ready(site)
    kind, settings = kind_named("apt.install"), site.install_settings("driver", hold=True)
    before, after = carry_out(kind, settings, site.machine)
    end = site.root.state()
    kind.undo(settings, before, after, site.machine)
    for resumed in (True, False):
        site.root.run(["sh", "-c", "rm -f /tmp/*"])
        machine = RootMachine(site.root)
        before = kind.before(settings, machine)
        machine.kill_when = MOMENTS[moment](site.root)
        with pytest.raises(Killed):
            kind.apply(settings, before, machine)
        if resumed:
            kind.recover(settings, before, site.machine)
            kind.apply(settings, before, site.machine)
            assert site.root.state().differences(end) == []
        lines = kind.undo(settings, before, kind.after(settings, before, site.machine) if resumed else None, site.machine)
        assert (lines, site.root.state().differences(start)) == ((), [])


def killed_before_each_command(site: Site, act: Callable[[RootMachine], object]) -> int:
    """Tries `act` again and again, killed one command later each time, until it comes to its end. Returns how often it was killed."""
    for allowed in range(50):
        machine = RootMachine(site.root)
        machine.kill_before = lambda argv, machine=machine, allowed=allowed: len(machine.ran) >= allowed  # type: ignore[misc]
        try:
            act(machine)
        except Killed:
            continue
        return allowed
    raise AssertionError("it never came to its end")


@pytest.mark.rotates("apt is killed")
def test_killed_between_any_two_commands(site: Site) -> None:
    start = ready(site)
    kind, settings = kind_named("apt.install"), site.install_settings("driver", hold=True)
    before, after = carry_out(kind, settings, site.machine)
    end = site.root.state()
    assert killed_before_each_command(site, lambda machine: kind.undo(settings, before, after, machine)) > 1
    assert site.root.state().differences(start) == []
    before = kind.before(settings, site.machine)
    assert killed_before_each_command(site, lambda machine: kind.apply(settings, before, machine)) > 1
    assert site.root.state().differences(end) == []


@pytest.mark.rotates("apt is killed")
def test_undo_is_killed_and_goes_on(site: Site) -> None:
    start = ready(site)
    kind, settings = kind_named("apt.install"), site.install_settings("driver")
    for path in ("/tmp/prerm",):
        site.root.run(["sh", "-c", "rm -f /tmp/*"])
        before, after = carry_out(kind, settings, site.machine)
        machine = RootMachine(site.root)
        machine.kill_when = _there(site.root, path)
        with pytest.raises(Killed):
            kind.undo(settings, before, after, machine)
        assert kind.undo(settings, before, after, site.machine) == ()
        assert site.root.state().differences(start) == []


@pytest.mark.rotates("an apt step")
def test_what_a_person_did_since_is_kept(site: Site) -> None:
    ready(site)
    kind, settings = kind_named("apt.install"), site.install_settings("driver")
    before, after = carry_out(kind, settings, site.machine)
    site.root.run(["apt-get", "install", "-y", "mine"])  # stands on our loader
    site.root.run(["apt-mark", "manual", "vendor-icd"])
    site.root.write("/etc/driver.conf", "mine\n")
    lines = kind.undo(settings, before, after, site.machine)
    assert any("loader stays: mine needs it" in line for line in lines)
    assert any("vendor-icd stays: it was asked for since" in line for line in lines)
    assert any("/etc/driver.conf stays" in line for line in lines)
    state = site.root.state()
    assert state.packages["mine:all"] == "1.0 ii" and state.packages["loader:all"] == "1.0 ii" and state.packages["driver:all"] == "2.0 rc"
    assert site.root.read("/etc/driver.conf") == "mine\n"


@pytest.mark.rotates("an apt step")
def test_removals_are_named_and_stop_unless_allowed(site: Site) -> None:
    site.add_repository()
    site.root.run(["apt-get", "install", "-y", "rival"])
    start = site.root.state()
    kind, settings = kind_named("apt.install"), site.install_settings("driver")
    with pytest.raises(ActFailed, match="would remove rival"):
        kind.before(settings, site.machine)
    assert site.root.state().differences(start) == []
    settings = site.install_settings("driver", allow_removal=True)
    before, after = carry_out(kind, settings, site.machine)
    assert kind.undo(settings, before, after, site.machine) == ()
    assert site.root.state().differences(start) == []


@pytest.mark.rotates("an apt step")
def test_a_download_that_breaks_off_changes_nothing_and_can_be_resumed(site: Site) -> None:
    start = ready(site)
    kind, settings = kind_named("apt.install"), site.install_settings("driver")
    site.server.dies_at = "driver_2.0"
    before = kind.before(settings, site.machine)
    with pytest.raises(ActFailed) as failed:
        kind.apply(settings, before, site.machine)
    assert "--resume" in failed.value.advice
    assert site.root.state().differences(start) == []
    site.server.heal()
    kind.recover(settings, before, site.machine)
    kind.apply(settings, before, site.machine)
    assert kind.missing(settings, site.machine) == ""


def bundle_of(site: Site, folder: Path) -> str:
    """A bundle with the whole repository, at the same path outside the root, where the plan is made, and inside, where apt runs."""
    shutil.copytree(site.repository.folder, folder / "repos/1")
    (folder / "keys").mkdir()
    shutil.copy(site.repository.folder / "key.asc", folder / "keys/test.gpg")
    source = BundleSource(path="repos/1", suite="stable", components=("main",), name="test")
    made = Bundle(
        folder=str(folder), plan="cpu", recipe="cpu", os_id="debian", os_version="12", architecture="x86_64", python="", date="2026-11-01",
        sources=(source,),
    )  # fmt: skip
    (folder / "manifest.json").write_text(manifest_text(made))
    shutil.copytree(folder, site.root.here(str(folder)))
    return str(folder)


@pytest.mark.rotates("an apt step")
def test_a_bundle_needs_no_network(site: Site, tmp_path: Path) -> None:
    bundle = bundle_of(site, tmp_path / "bundle")
    start = site.root.state()
    kind = kind_named("apt.install")
    settings = site.install_settings("driver=2.*", bundle=bundle)
    machine = RootMachine(site.root, offline=True)
    before, after = carry_out(kind, settings, machine)
    assert {"loader", "vendor-icd", "middle"} <= site.root.state().auto
    assert kind.undo(settings, before, after, machine) == ()
    assert site.root.state().differences(start) == []
    assert site.server.asked == []


@pytest.mark.rotates("an apt step")
@pytest.mark.parametrize("what", ["a package", "an index"])
def test_a_bundle_with_a_changed_file_is_refused(site: Site, tmp_path: Path, what: str) -> None:
    bundle = bundle_of(site, tmp_path / "bundle")
    inside = site.root.here(f"{bundle}/repos/1")
    if what == "a package":
        changed = inside / "pool/loader_1.0_all.deb"
        changed.write_bytes(changed.read_bytes() + b"more")
    else:
        index = inside / "dists/stable/main/binary-amd64/Packages"
        index.write_bytes(index.read_bytes().replace(b"SHA256: ", b"SHA256: 0"))
        (inside / "dists/stable/main/binary-amd64/Packages.gz").write_bytes(gzip.compress(index.read_bytes(), mtime=0))
    start = site.root.state()
    kind, machine = kind_named("apt.install"), RootMachine(site.root, offline=True)
    settings = site.install_settings("driver=2.*", bundle=bundle)
    with pytest.raises(ActFailed):
        kind.apply(settings, kind.before(settings, machine), machine)
    assert site.root.state().differences(start) == []


@pytest.mark.rotates("an apt step")
def test_virtual_packages_versions_and_names_that_nobody_has(site: Site) -> None:
    site.add_repository()
    kind = kind_named("apt.install")
    before, _ = carry_out(kind, site.install_settings("icd"), site.machine)
    assert before["names"] == ["vendor-icd"] and "vendor-icd" in site.root.state().manual
    assert kind.before(site.install_settings("icd"), site.machine)["arguments"] == []
    with pytest.raises(ActFailed, match=r"no repository of this machine offers middle=3\.\* \(there is middle 2\.0, 1\.0\)"):
        kind.before(site.install_settings("middle=3.*"), site.machine)
    with pytest.raises(ActFailed, match="offers no-such-package or nor-this"):
        kind.before(site.install_settings("no-such-package|nor-this"), site.machine)
    assert kind.before(site.install_settings("middle>=1.5"), site.machine)["new"] == ["middle"]


@pytest.mark.rotates("an apt step")
def test_lists_that_are_missing_are_fetched_first(site: Site) -> None:
    site.add_repository()
    site.root.run(["sh", "-c", "rm -rf /var/lib/apt/lists/*"])
    kind, settings = kind_named("apt.install"), site.install_settings("tool")
    carry_out(kind, settings, site.machine)
    assert [argv for argv in site.machine.ran if argv[-1] == "update"]


@pytest.mark.rotates("an apt step")
def test_removed_packages_come_back_as_they_were(site: Site) -> None:
    site.add_repository()
    site.root.run(["apt-get", "install", "-y", "driver", "mine"])
    site.root.run(["apt-mark", "hold", "driver"])
    site.root.write("/etc/driver.conf", "changed by a person\n")
    start = site.root.state()
    kind = kind_named("apt.remove")
    drafted = kind.plan({"packages": ["driver", "not-there"]}, site.look())
    assert drafted.state == TODO
    before, after = carry_out(kind, dict(drafted.settings), site.machine)
    assert kind.undo(drafted.settings, before, after, site.machine) == ()
    assert site.root.state().differences(start) == []
    site.root.run(["apt-mark", "unhold", "driver"])
    with pytest.raises(ActFailed, match="would remove driver, mine too"):
        kind.before({"packages": ["loader"], "allow_removal": False}, site.machine)
    site.root.run(["apt-mark", "hold", "driver"])
    site.root.run(["sh", "-c", "rm -f /tmp/*"])
    before = kind.before(drafted.settings, site.machine)
    machine = RootMachine(site.root)
    machine.kill_when = _there(site.root, "/tmp/prerm")
    with pytest.raises(Killed):
        kind.apply(drafted.settings, before, machine)
    assert kind.undo(drafted.settings, before, None, site.machine) == ()
    assert site.root.state().differences(start) == []
