"""A folder is put back exactly, however it was changed, and however often that is begun again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from stepping import listing

from gpudoctor.system.snapshots import Trees
from gpudoctor.system.writable_host import ActFailed

TREES = Trees()


@pytest.fixture
def env(tmp_path: Path) -> Path:
    top = tmp_path / "env"
    for path, text in {
        "bin/activate": "a\n",
        "lib/torch/a.py": "1",
        "lib/torch/b.so": "2" * 1000,
        "lib/x.pth": "/src",
        "pyvenv.cfg": "c",
    }.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    (top / "lib64").symlink_to("lib")
    (top / "dangling").symlink_to("/nowhere/at/all")
    (top / "empty").mkdir(0o750)
    (top / "bin/activate").chmod(0o755)
    return top


def changed(env: Path) -> None:
    """As an installer does, and worse."""
    shutil.rmtree(env / "lib/torch")
    (env / "lib/torch").write_text("now a file")
    (env / "lib/new/deep").mkdir(parents=True)
    (env / "lib/new/deep/x.py").write_text("x")
    with (env / "lib/x.pth").open("a") as file:  # in place
        file.write("more")
    with (env / "bin/activate").open("a") as file:
        file.write("more")
    (env / "lib64").unlink()
    (env / "lib64").mkdir()
    (env / "empty").rmdir()
    (env / "pyvenv.cfg").chmod(0o600)


def test_put_back(env: Path) -> None:
    before, snapshot = listing(env), f"{env}.kept"
    TREES.snapshot_tree(str(env), snapshot)
    assert listing(Path(snapshot)) == before
    assert os.stat(f"{snapshot}/lib/torch/b.so").st_ino == (env / "lib/torch/b.so").stat().st_ino, "no second copy on the disk"
    changed(env)
    assert TREES.restore_tree(snapshot, str(env)) == ()
    assert listing(env) == before
    TREES.drop_snapshot(snapshot)
    TREES.drop_snapshot(snapshot)
    assert [path.name for path in env.parent.iterdir()] == ["env"]


def test_half_a_snapshot_is_none(env: Path) -> None:
    before, snapshot = listing(env), f"{env}.kept"
    Path(f"{snapshot}.part/bin").mkdir(parents=True)
    TREES.snapshot_tree(str(env), snapshot)
    assert listing(Path(snapshot)) == before
    Path(snapshot).rename(f"{snapshot}.gone")
    TREES.drop_snapshot(snapshot)
    assert not list(env.parent.glob("env.kept*"))


def test_one_that_is_there_is_not_taken_again(env: Path) -> None:
    snapshot = f"{env}.kept"
    TREES.snapshot_tree(str(env), snapshot)
    before = listing(Path(snapshot))
    changed(env)
    TREES.snapshot_tree(str(env), snapshot)
    assert listing(Path(snapshot)) == before


def test_a_restore_that_was_cut_off_is_begun_again(env: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, snapshot = listing(env), f"{env}.kept"
    TREES.snapshot_tree(str(env), snapshot)
    changed(env)
    after = TREES.list_tree(str(env))

    def dies(*paths: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", dies)
        with pytest.raises(KeyboardInterrupt):
            TREES.restore_tree(snapshot, str(env), after)
    assert list(env.rglob("*.gpudoctor-restored"))
    assert TREES.restore_tree(snapshot, str(env), after) == ()
    assert listing(env) == before


def test_what_changed_since_is_kept(env: Path) -> None:
    snapshot = f"{env}.kept"
    TREES.snapshot_tree(str(env), snapshot)
    (env / "lib/torch/a.py").unlink()
    (env / "lib/torch/a.py").write_text("ours")
    (env / "lib/torch/c.py").write_text("ours")
    after = TREES.list_tree(str(env))
    (env / "lib/torch/a.py").write_text("theirs, longer")
    (env / "mine").mkdir()
    (env / "mine/notes").write_text("mine")
    (env / "mine/__pycache__").mkdir()
    (env / "lib/torch/__pycache__").mkdir()
    (env / "lib/torch/__pycache__/a.pyc").write_text("compiled")
    assert TREES.restore_tree(snapshot, str(env), after) == ("lib/torch/a.py", "mine/notes")
    assert (env / "lib/torch/a.py").read_text() == "theirs, longer"
    assert not (env / "lib/torch/c.py").exists() and not (env / "lib/torch/__pycache__").exists()
    assert TREES.restore_tree(snapshot, str(env), after) == ("lib/torch/a.py", "mine/notes")


def test_links_are_not_followed(env: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/x").write_text("x")
    snapshot = f"{env}.kept"
    TREES.snapshot_tree(str(env), snapshot)
    (env / "link").symlink_to(tmp_path / "precious")
    shutil.rmtree(env / "lib")
    (env / "lib").symlink_to(tmp_path / "precious")
    TREES.restore_tree(snapshot, str(env))
    assert listing(tmp_path / "precious").keys() == {"x"} and not (env / "lib").is_symlink()


def test_no_place_to_keep_it(env: Path) -> None:
    with pytest.raises(ActFailed, match="cannot be kept"):
        TREES.snapshot_tree(str(env), "/proc/kept")
