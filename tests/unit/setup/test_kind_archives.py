"""download and unpack: nothing without its checksum, nothing outside its folder."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from stepping import carry_out, listing, look, machine, plan
from wheel_index import Wheel, WheelIndex

from gpudoctor.setup.steps._step import PlanError
from gpudoctor.system.unpacking import unpack
from gpudoctor.system.writable_host import ActFailed

WHEEL = Wheel("sdk", "1.0", padding=100_000)
DIGEST = hashlib.sha256(WHEEL.content()).hexdigest()


@pytest.mark.starts_processes("the downloads of a step are processes of their own")
def test_downloaded_checked_and_removed(tmp_path: Path) -> None:
    acting, home = machine(tmp_path), tmp_path / "home"
    home.mkdir()
    to = home / "cache" / "sdk.whl"
    with WheelIndex([WHEEL]) as index:
        seen = look("/e", {"vendor": index.at("files")})
        step = carry_out("download", seen, acting, address="vendor", path=WHEEL.filename, sha256=DIGEST, to=str(to))
        assert to.read_bytes() == WHEEL.content()
        step.recover(acting).apply(acting)
        assert step.undo(acting) == () and listing(home) == {}
        wrong = plan("download", seen, address="vendor", path=WHEEL.filename, sha256="0" * 64, to=str(to)).begin(acting)
        with pytest.raises(ActFailed):
            wrong.apply(acting)
        assert wrong.undo(acting) == () and listing(home) == {}


@pytest.mark.starts_processes("the downloads of a step are processes of their own")
def test_a_file_of_the_same_name_is_not_overwritten(tmp_path: Path) -> None:
    acting, to = machine(tmp_path), tmp_path / "sdk.whl"
    to.write_text("mine")
    seen = look("/e", {"vendor": "https://example.org"})
    step = plan("download", seen, address="vendor", path="sdk.whl", sha256=DIGEST, to=str(to)).begin(acting)
    with pytest.raises(ActFailed, match="is another file"):
        step.apply(acting)
    assert step.undo(acting) == () and to.read_text() == "mine"


@pytest.mark.starts_processes("the downloads of a step are processes of their own")
def test_from_a_bundle(tmp_path: Path) -> None:
    acting, to = machine(tmp_path, offline=True), tmp_path / "sdk.whl"
    seen = look("/e", {"vendor": "https://example.org"}, bundle=str(tmp_path / "bundle"))
    step = plan("download", seen, address="vendor", path=f"v1/{WHEEL.filename}", sha256=DIGEST, to=str(to)).begin(acting)
    with pytest.raises(ActFailed, match="not in the bundle"):
        step.apply(acting)
    WHEEL.write(tmp_path / "bundle" / "downloads")
    step.recover(acting).apply(acting)
    assert to.read_bytes() == WHEEL.content()


@pytest.mark.parametrize("change", [{"sha256": ""}, {"sha256": "abc"}, {"path": "../x"}, {"to": "x"}, {"address": "nowhere"}])
def test_a_download_is_pinned(change: dict[str, str]) -> None:
    given = {"address": "vendor", "path": "x.tar", "sha256": "0" * 64, "to": "/home/u/x.tar", **change}
    with pytest.raises(PlanError):
        plan("download", look("/e", {"vendor": "https://example.org"}), **given)


# unpack

Fill = Callable[[tarfile.TarFile], None]


def file(name: str, content: bytes = b"x", mode: int = 0o644) -> Fill:
    def add(tar: tarfile.TarFile) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(content), mode
        tar.addfile(info, io.BytesIO(content))

    return add


def special(name: str, kind: bytes, target: str = "") -> Fill:
    def add(tar: tarfile.TarFile) -> None:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, target
        tar.addfile(info)

    return add


def archive(path: Path, *members: Fill) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for add in members:
            add(tar)
    return path


def test_unpacked_and_taken_back(tmp_path: Path) -> None:
    acting = machine(tmp_path)
    (tmp_path / "home").mkdir()
    archive(
        tmp_path / "poplar-3.4.tar.gz", file("./sdk/enable.sh", b"#!/bin/sh\n", 0o4755), file("sdk/lib/libpoplar.so.3"),
        special("sdk/lib/libpoplar.so", tarfile.SYMTYPE, "libpoplar.so.3"), special("sdk/up", tarfile.SYMTYPE, "../sdk/lib"),
        special("sdk/same", tarfile.LNKTYPE, "sdk/enable.sh"),
    )  # fmt: skip
    to = tmp_path / "home" / "opt" / "poplar"
    step = carry_out("unpack", look("/e"), acting, archive=f"{tmp_path}/poplar-*.tar.gz", to=str(to))
    assert (to / "sdk" / "lib" / "libpoplar.so").read_bytes() == b"x"
    assert stat.S_IMODE((to / "sdk" / "enable.sh").stat().st_mode) == 0o755
    (to / "mine").write_text("x")
    (line,) = step.undo(acting)
    assert "holds what came since (mine)" in line
    (to / "mine").unlink()
    assert step.undo(acting) == () and listing(tmp_path / "home") == {}


@pytest.mark.parametrize("older", [False, True], ids=["with the filter of Python", "without it"])
@pytest.mark.parametrize(
    "members",
    [
        [file("/etc/passwd2")],
        [file("../outside")],
        [file("a/../../outside")],
        [special("link", tarfile.SYMTYPE, "/etc"), file("link/x")],
        [special("link", tarfile.SYMTYPE, "..")],
        [file("d/x"), special("d/b", tarfile.SYMTYPE, ".."), special("out", tarfile.SYMTYPE, "d/b/../../outside")],
        [file("d/x"), special("here", tarfile.SYMTYPE, "d"), file("here/y")],
        [special("hard", tarfile.LNKTYPE, "../../etc/passwd")],
        [special("dev", tarfile.CHRTYPE)],
        [special("fifo", tarfile.FIFOTYPE)],
        [file("twice"), file("twice")],
    ],
)
def test_an_archive_that_reaches_out_is_refused_whole(
    tmp_path: Path, members: list[Fill], older: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if older:
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    (tmp_path / "in").mkdir()
    bad = archive(tmp_path / "bad.tar.gz", file("good"), *members)
    with pytest.raises(ActFailed, match="cannot be unpacked"):
        unpack(str(bad), str(tmp_path / "in" / "to"))
    assert listing(tmp_path, without=("bad",)) == {"in": listing(tmp_path)["in"]}


@pytest.mark.skipif(not hasattr(tarfile, "data_filter"), reason="this Python has no filter for archives")
def test_what_python_itself_refuses_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later Python may know of dangers that are not ours."""

    def refuse(info: tarfile.TarInfo, folder: str) -> tarfile.TarInfo:
        if info.name == "odd":
            raise tarfile.OutsideDestinationError(info, folder)
        return info

    monkeypatch.setattr(tarfile, "data_filter", refuse)
    with pytest.raises(ActFailed, match=r"'odd' is not safe to unpack \(OutsideDestinationError\)"):
        unpack(str(archive(tmp_path / "bad.tar.gz", file("good"), file("odd"))), str(tmp_path / "to"))
    assert not (tmp_path / "to").exists()


def test_zip_archives_too(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.zip", tmp_path / "bad.zip"
    with zipfile.ZipFile(good, "w") as packed:
        packed.writestr("a/b.txt", "x")
        info = zipfile.ZipInfo("a/run")
        info.external_attr = 0o100755 << 16
        packed.writestr(info, "#!/bin/sh\n")
    unpack(str(good), str(tmp_path / "to"))
    assert (tmp_path / "to" / "a" / "b.txt").read_text() == "x" and os.access(tmp_path / "to" / "a" / "run", os.X_OK)
    with zipfile.ZipFile(bad, "w") as packed:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(info, "/etc")
    with pytest.raises(ActFailed, match="leads out"):
        unpack(str(bad), str(tmp_path / "other"))


def test_what_unpacks_to_too_much(tmp_path: Path) -> None:
    bomb = archive(tmp_path / "bomb.tar.gz", file("zeros", bytes(5_000_000)))
    with pytest.raises(ActFailed, match="more than is allowed"):
        unpack(str(bomb), str(tmp_path / "to"), most_bytes=1_000_000)
    many = archive(tmp_path / "many.tar.gz", *(file(str(number)) for number in range(30)))
    with pytest.raises(ActFailed, match="more than 20 files"):
        unpack(str(many), str(tmp_path / "to"), most_members=20)
    (tmp_path / "no.tar").write_text("no archive")
    with pytest.raises(ActFailed, match="cannot be unpacked"):
        unpack(str(tmp_path / "no.tar"), str(tmp_path / "to"))
    assert not (tmp_path / "to").exists()
