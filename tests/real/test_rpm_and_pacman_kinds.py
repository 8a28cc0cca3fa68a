"""dnf and pacman themselves, as Debian packages them, in a root of Debian: the nearest thing to a Fedora and an Arch that is at hand."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from apt_repository import SigningKey
from debian_root import PACKAGES, DebianRoot
from loopback_server import LoopbackServer
from root_machine import RootHost, RootMachine

from gpudoctor.model.facts import Facts
from gpudoctor.model.recipe import Address
from gpudoctor.setup.steps import kind_named
from gpudoctor.setup.steps._step import Look
from gpudoctor.system.writable_host import ActFailed

pytestmark = pytest.mark.rotates("slow", member="dnf and pacman")

RPMS = (
    ("driver", "2", "Requires: loader middle >= 2"),
    ("loader", "1", ""),
    ("middle", "1", ""),
    ("middle", "2", ""),
    ("mine", "1", "Requires: loader"),
)
SPEC = (
    "Name: {0}\nVersion: {1}\nRelease: 1\nSummary: x\nLicense: x\nBuildArch: noarch\n{2}\n%description\nx\n"
    "%install\nmkdir -p %{{buildroot}}/etc\necho {1} > %{{buildroot}}/etc/{0}.conf\n%files\n/etc/{0}.conf\n"
)
ARCH = (("driver", "2-1", "loader"), ("loader", "1-1", ""), ("mine", "1-1", "loader"))


@pytest.fixture
def root() -> Iterator[DebianRoot]:
    with DebianRoot.fresh(packages=(*PACKAGES, "dnf", "rpm", "createrepo-c", "pacman-package-manager")) as made:
        yield made


def look(root: DebianRoot, addresses: Mapping[str, Address] | None = None) -> Look:
    return Look(facts=Facts(), host=RootHost(root), addresses=addresses or {}, env="", options={})  # type: ignore[arg-type]


@pytest.fixture
def rpms(root: DebianRoot) -> Path:
    for one in RPMS:
        root.write(f"/tmp/{one[0]}.spec", SPEC.format(*one))
        root.run(["rpmbuild", "-bb", "--define", "_rpmdir /srv/repo", f"/tmp/{one[0]}.spec"])
    root.run(["createrepo_c", "/srv/repo"])
    for folder in ("/etc/yum.repos.d", "/etc/pki"):
        root.here(folder).mkdir(exist_ok=True)
    return root.here("/srv/repo")


def etc(root: DebianRoot) -> dict[str, str]:
    """Of /etc alone: rpm of Debian keeps its database in the home folder."""
    return {path: what for path, what in root.state().files.items() if path.startswith("/etc")}


def test_a_dnf_repository_is_pinned_checks_packages_and_goes(root: DebianRoot, rpms: Path, tmp_path: Path) -> None:
    key = SigningKey(tmp_path / "gnupg")
    (rpms / "key.asc").write_text(key.armored)
    machine, kind, start = RootMachine(root), kind_named("dnf.repository"), etc(root)
    with LoopbackServer(rpms) as server:

        def planned(fingerprint: str) -> dict[str, Any]:
            address = Address(name="t", kind="dnf", url=server.url, key_url=f"{server.url}/key.asc", fingerprint=fingerprint)
            return dict(kind.plan({"repository": "t"}, look(root, {"t": address})).settings)

        wrong = planned("AB" * 20)
        with pytest.raises(ActFailed, match="expected the key ABAB"):
            kind.apply(wrong, kind.before(wrong, machine), machine)
        assert etc(root) == start
        settings = planned(key.fingerprint)
        before = kind.before(settings, machine)
        kind.apply(settings, before, machine)
        assert kind.missing(settings, machine) == ""
        install = kind_named("dnf.install")
        wanted = install.plan({"packages": ["loader"]}, look(root)).settings
        with pytest.raises(ActFailed) as refused:
            install.apply(wanted, install.before(wanted, machine), machine)
        assert "is not signed" in refused.value.tail
        assert kind.undo(settings, before, kind.after(settings, before, machine), machine) == ()
    assert etc(root) == start


def test_rpm_packages_come_and_go(root: DebianRoot, rpms: Path) -> None:
    root.write("/etc/yum.repos.d/l.repo", "[l]\nname=l\nbaseurl=file:///srv/repo\ngpgcheck=0\n")
    root.run(["dnf", "-y", "install", "middle-1-1"])

    def installed() -> list[str]:
        return sorted(root.out(["rpm", "-qa"]).split())

    machine, kind, start, files = RootMachine(root), kind_named("dnf.install"), installed(), etc(root)
    settings = kind.plan({"packages": ["no-such-package|driver"]}, look(root)).settings
    before = kind.before(settings, machine)
    kind.apply(settings, before, machine)
    assert (kind.missing(settings, machine), "middle-2-1.noarch" in installed()) == ("", True)
    assert kind.undo(settings, before, kind.after(settings, before, machine), machine) == ()
    assert (installed(), etc(root)) == (start, files)
    kind.apply(settings, before, machine)
    after = kind.after(settings, before, machine)
    root.run(["dnf", "-y", "install", "mine"])
    assert [line.split(":")[0] for line in kind.undo(settings, before, after, machine)] == ["loader-1-1.noarch stays"]
    assert installed() == ["loader-1-1.noarch", "middle-1-1.noarch", "mine-1-1.noarch"]


def _pack(target: Path, files: Mapping[str, str]) -> None:
    with tarfile.open(target, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))


def test_pacman_packages_come_and_go(root: DebianRoot) -> None:
    folder = root.here("/srv/pacman")
    folder.mkdir()
    database = {}
    for name, version, needs in ARCH:
        file = f"{name}-{version}-any.pkg.tar.gz"
        about = f"pkgname = {name}\npkgver = {version}\npkgdesc = x\nurl = x\nbuilddate = 1\npackager = x\nsize = 10\narch = any\n"
        _pack(folder / file, {".PKGINFO": about + (f"depend = {needs}\n" if needs else ""), f"etc/{name}.cfg": "x"})
        entry = {
            "FILENAME": file,
            "NAME": name,
            "VERSION": version,
            "CSIZE": str((folder / file).stat().st_size),
            "ARCH": "any",
            "DEPENDS": needs,
        }
        database[f"{name}-{version}/desc"] = "".join(f"%{key}%\n{value}\n\n" for key, value in entry.items() if value)
    _pack(folder / "l.db", database)
    root.write("/etc/pacman.conf", "[options]\nArchitecture = auto\nSigLevel = Never\n[l]\nServer = file:///srv/pacman\n")
    root.run(["pacman", "-Sy"])
    machine, kind, start = RootMachine(root), kind_named("pacman.install"), root.state()
    settings = kind.plan({"packages": ["driver"]}, look(root)).settings
    before = kind.before(settings, machine)
    root.write("/var/lib/pacman/db.lck", "")  # as a killed pacman leaves it
    kind.recover(settings, before, machine)
    kind.apply(settings, before, machine)
    assert kind.missing(settings, machine) == ""
    assert (root.out(["pacman", "-Qeq"]), root.out(["pacman", "-Qdq"])) == ("driver\n", "loader\n")
    assert kind.undo(settings, before, kind.after(settings, before, machine), machine) == ()
    assert root.state().differences(start) == []
    kind.apply(settings, before, machine)
    after = kind.after(settings, before, machine)
    root.run(["pacman", "-S", "--noconfirm", "mine"])
    assert [line.split(":")[0] for line in kind.undo(settings, before, after, machine)] == ["loader stays"]
    assert root.out(["pacman", "-Qq"]) == "loader\nmine\n"
