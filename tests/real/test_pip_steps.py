"""pip into real environments, from an index on loopback that can break."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from stepping import MINOR, Step, carry_out, listing, look, machine, plan
from wheel_index import Wheel, WheelIndex

from gpudoctor.model.plan import DONE, Command
from gpudoctor.setup.environment_snapshot import write_manifest
from gpudoctor.setup.target_environment import at
from gpudoctor.system.live_changes import ActingHost
from gpudoctor.system.writable_host import ActFailed

STACK = [
    Wheel("torch", "2.8.0+xpu", requires=["numpy>=1"], scripts={"torchrun": "torch:main"}),
    Wheel("torch", "2.7.0+xpu", requires=["numpy>=1"]),
    Wheel("numpy", "1.26.4"),
    Wheel("numpy", "2.1.0"),
]


@pytest.fixture
def index() -> Iterator[WheelIndex]:
    with WheelIndex(STACK) as served:
        yield served


@pytest.fixture
def acting(tmp_path: Path) -> ActingHost:
    return machine(tmp_path)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("made")
    carry_out("venv", look(top / "env"), machine(top), python=f"=={MINOR}.*")
    return top / "env"


@pytest.fixture
def env(tmp_path: Path, made: Path, acting: ActingHost) -> Path:
    """As our venv step made it; a copy, since pip takes seconds to unpack."""
    shutil.copytree(made, tmp_path / "env", symlinks=True)
    write_manifest(str(tmp_path / "env"), acting)
    return tmp_path / "env"


@pytest.fixture
def theirs(env: Path, acting: ActingHost, index: WheelIndex) -> Path:
    """An environment in use, with an older stack that works."""
    pip(acting, env, index, "install", "torch==2.7.0+xpu", "numpy==1.26.4")
    (env / "lib" / f"python{MINOR}" / "site-packages" / "mine.pth").write_text("/home/me/src\n")
    return env


def pip(acting: ActingHost, env: Path, index: WheelIndex, action: str, *words: str) -> None:
    where = ["--index-url", index.url] if action == "install" else ["-y"]
    acting.run([f"{env}/bin/python", "-m", "pip", "--isolated", action, "-q", *where, *words], env={"PIP_CONFIG_FILE": "/dev/null"})


def xpu(env: Path, index: WheelIndex, *packages: str, fresh: bool = False, **given: object) -> Step:
    seen = look(env, {"pytorch": index.at("whl"), "pypi": index.url})
    if fresh:
        seen = look(Path(f"{env}-not-yet"), {"pytorch": index.at("whl"), "pypi": index.url})
    step = plan("pip", seen, packages=list(packages), index="pytorch/xpu", **given)
    if fresh:  # planned before the environment was there
        step.settings = {**step.settings, "env": str(env), "python": f"{env}/bin/python"}
    return step


def installed(env: Path, acting: ActingHost) -> dict[str, str]:
    return {name: version for name, version in at(acting.look, str(env)).distributions.items() if name not in ("pip", "setuptools")}


@pytest.mark.rotates("a step of pip")
def test_into_an_environment_of_ours(env: Path, acting: ActingHost, index: WheelIndex) -> None:
    step = xpu(env, index, "torch==2.8.0", fresh=True).begin(acting).apply(acting)
    assert installed(env, acting) == {"torch": "2.8.0+xpu", "numpy": "2.1.0"}
    assert index.requests[0] == "/whl/xpu/torch/"
    assert os.access(env / "bin" / "torchrun", os.X_OK)
    assert sorted(path.name for path in env.parent.iterdir()) == ["env", "state"]
    assert step.undo(acting) == ()  # the venv step deletes it as a whole


@pytest.mark.rotates("a step of pip")
def test_the_list_of_what_is_ours_grows(tmp_path: Path, acting: ActingHost, index: WheelIndex) -> None:
    env = tmp_path / "env"
    made = carry_out("venv", look(env), acting, python=f"=={MINOR}.*")
    xpu(env, index, "torch", fresh=True).begin(acting).apply(acting)
    assert made.undo(acting) == ()
    assert not env.exists()


@pytest.mark.rotates("a step of pip")
def test_done_already(theirs: Path, index: WheelIndex) -> None:
    assert xpu(theirs, index, "torch==2.7.0", "numpy<2").draft.state == DONE
    assert xpu(theirs, index, "torch==2.8.0").draft.state != DONE
    assert xpu(theirs, index, "torch==2.7.0", "absent; python_version < '3'").draft.state == DONE


@pytest.mark.rotates("a step of pip")
def test_a_stack_in_use_comes_back_as_it_was(theirs: Path, acting: ActingHost, index: WheelIndex) -> None:
    before = listing(theirs)
    step = xpu(theirs, index, "torch==2.8.0", "numpy>=2")
    assert any(line.startswith("replaces torch 2.7.0+xpu, numpy 1.26.4 there") for line in step.draft.changes)
    step.begin(acting).apply(acting)
    assert installed(theirs, acting) == {"torch": "2.8.0+xpu", "numpy": "2.1.0"}
    assert step.undo(acting) == ()
    assert listing(theirs) == before
    assert sorted(path.name for path in theirs.parent.iterdir()) == ["env", "state"]
    assert step.undo(acting) == ()


@pytest.mark.rotates("a step of pip")
def test_another_build_is_replaced_although_its_version_fits(theirs: Path, acting: ActingHost, index: WheelIndex) -> None:
    index.add([Wheel("torch", "2.7.0+cpu", requires=["numpy>=1"])])
    before = listing(theirs)
    step = plan("pip", look(theirs, {"pytorch": index.at("whl")}), packages=["torch==2.7.0"], index="pytorch/cpu")
    del index.files["torch-2.7.0+xpu-py3-none-any.whl"]
    step.begin(acting).apply(acting)
    assert installed(theirs, acting)["torch"] == "2.7.0+cpu"
    step.undo(acting)
    assert listing(theirs) == before


@pytest.mark.rotates("a step of pip")
def test_what_a_person_changed_since_is_kept_and_named(theirs: Path, acting: ActingHost, index: WheelIndex) -> None:
    index.add({"flask": "3.1.0"})
    step = xpu(theirs, index, "torch==2.8.0").begin(acting).apply(acting)
    pip(acting, theirs, index, "install", "flask")
    (theirs / "notes.txt").write_text("mine")
    (line,) = step.undo(acting)
    assert "flask 3.1.0, notes.txt" in line and "pip uninstall flask" in line
    assert installed(theirs, acting) == {"torch": "2.7.0+xpu", "numpy": "1.26.4", "flask": "3.1.0"}


@pytest.mark.rotates("a step of pip")
@pytest.mark.parametrize("fresh", [True, False])
def test_cut_off_in_the_middle(theirs: Path, acting: ActingHost, index: WheelIndex, fresh: bool) -> None:
    before = listing(theirs)
    step = xpu(theirs, index, "torch==2.8.0", fresh=fresh).begin(acting)
    acting.snapshot_tree(str(theirs), step.before["snapshot"])
    acting.make_folder(step.before["temporary"])
    site = theirs / "lib" / f"python{MINOR}" / "site-packages"
    (site / "torch").rename(site / "~orch")
    (site / "torch-2.8.0+xpu.dist-info").mkdir()
    (site / "numpy" / "__init__.py").unlink()
    step.recover(acting)
    assert listing(theirs) == before
    step.apply(acting)
    assert installed(theirs, acting)["torch"] == "2.8.0+xpu"
    if not fresh:
        step.after = None
        assert step.undo(acting) == ()
        assert listing(theirs) == before


@pytest.mark.rotates("a step of pip")
def test_done_but_the_journal_does_not_know(env: Path, acting: ActingHost, index: WheelIndex) -> None:
    step = xpu(env, index, "torch==2.8.0", fresh=True).begin(acting).apply(acting)
    after = listing(env, without=(".gpudoctor-files",))
    step.recover(acting).apply(acting)
    assert listing(env, without=(".gpudoctor-files",)) == after


@pytest.mark.rotates("a step of pip")
def test_a_wrong_checksum_is_refused(theirs: Path, acting: ActingHost, index: WheelIndex) -> None:
    before = listing(theirs)
    index.wrong_hash = {"torch"}
    with pytest.raises(ActFailed, match="another checksum than promised") as failed:
        xpu(theirs, index, "torch==2.8.0").begin(acting).apply(acting)
    assert "torch" in str(failed.value) and "not installed" in failed.value.advice
    assert index.requests.count("/files/torch-2.8.0+xpu-py3-none-any.whl") == 2, "the same wrong bytes twice are no accident"
    assert listing(theirs) == before


@pytest.mark.rotates("a step of pip")
def test_an_index_that_dies_once_is_survived(env: Path, acting: ActingHost, index: WheelIndex) -> None:
    index.add([Wheel("torch", "2.9.0+xpu", padding=400_000)])
    index.dies = {"torch": 1}
    xpu(env, index, "torch==2.9.0", fresh=True).begin(acting).apply(acting)
    assert installed(env, acting)["torch"] == "2.9.0+xpu"


@pytest.mark.rotates("a step of pip")
def test_an_index_that_is_not_there(env: Path, acting: ActingHost) -> None:
    seen = look(env, {"pypi": "http://127.0.0.1:9/simple"})
    step = plan("pip", seen, packages=["torch"]).begin(acting)
    with pytest.raises(ActFailed, match="cannot be reached"):
        step.apply(acting)


@pytest.mark.rotates("a step of pip")
def test_no_such_release(env: Path, acting: ActingHost, index: WheelIndex) -> None:
    with pytest.raises(ActFailed, match=r"no release of torch==9\.9 is offered") as failed:
        xpu(env, index, "torch==9.9").begin(acting).apply(acting)
    assert "--torch" in failed.value.advice


@pytest.mark.rotates("a step of pip")
def test_the_persons_settings_do_not_leak_in(
    env: Path, acting: ActingHost, index: WheelIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".config" / "pip").mkdir(parents=True)
    (home / ".config" / "pip" / "pip.conf").write_text("[global]\nindex-url = http://127.0.0.1:9/evil\n")
    before = listing(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # pip asks rustc for its version, and rustup's writes into the home folder
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/other")
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shadow"))
    Wheel("numpy", "9").write(tmp_path / "links")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    xpu(env, index, "torch", fresh=True).begin(acting).apply(acting)
    assert installed(env, acting) == {"torch": "2.8.0+xpu", "numpy": "2.1.0"}
    assert listing(home) == before


@pytest.mark.rotates("a step of pip")
def test_constraints_options_and_hashes(env: Path, acting: ActingHost, index: WheelIndex, tmp_path: Path) -> None:
    file = Wheel("poptorch", "3.4.0", requires=["absent"]).write(tmp_path / "sdk")
    xpu(env, index, "torch", constraints=["numpy<2"]).begin(acting).apply(acting)
    assert installed(env, acting)["numpy"] == "1.26.4"
    xpu(env, index, f"{tmp_path}/sdk/poptorch-*.whl", no_deps=True).begin(acting).apply(acting)
    assert installed(env, acting)["poptorch"] == "3.4.0"
    file.write_bytes(file.read_bytes() + b"x")
    step = xpu(env, index, f"{file}", "numpy>=2", no_deps=True, hashes={file.name: "0" * 64})
    with pytest.raises(ActFailed, match="another checksum than promised"):
        step.begin(acting).apply(acting)


@pytest.mark.rotates("a step of pip")
def test_a_bundle_needs_no_network(env: Path, tmp_path: Path) -> None:
    offline = machine(tmp_path, offline=True)
    for wheel in STACK:
        wheel.write(tmp_path / "bundle" / "wheels")
    seen = look(env, {"pytorch": "https://download.pytorch.org/whl"}, bundle=str(tmp_path / "bundle"))
    carry_out("pip", seen, offline, packages=["torch==2.8.0+xpu"], index="pytorch/xpu")
    assert installed(env, offline)["torch"] == "2.8.0+xpu"
    with pytest.raises(ActFailed, match="--offline was given"):
        carry_out("pip", look(env, {"pypi": "https://pypi.org/simple"}), offline, packages=["flask"])


@pytest.mark.rotates("a step of pip")
def test_each_package_comes_from_one_index_and_the_journal_says_from_which(env: Path, acting: ActingHost) -> None:
    """An archived index whose owner changed offers a newer release of everything; it is asked for its own packages alone."""
    vendor = [
        Wheel("torch", "2.1.0.post3", requires=["helper"]), Wheel("ipex", "2.1.40+xpu", requires=["torch", "numpy"]),
        Wheel("helper", "99"), Wheel("numpy", "99"),
    ]  # fmt: skip
    with WheelIndex(vendor) as archived, WheelIndex({"helper": "1.0", "numpy": "1.26.4", "torch": "2.9.0"}) as index:
        seen = look(env, {"ipex": archived.url, "pypi": index.url})
        given = {"packages": ["torch==2.1.0.post3", "ipex==2.1.40+xpu", "numpy<2"], "first_index": "ipex", "first": ["torch", "ipex"]}
        step = plan("pip", seen, **given)
        words = [act.argv for act in step.draft.acts if isinstance(act, Command)]
        assert len(words) == 2 and all(argv.count("--index-url") == 1 and "--extra-index-url" not in argv for argv in words)
        step.begin(acting).apply(acting)
        assert not any("numpy" in path or "helper" in path for path in archived.requests)
    assert installed(env, acting) == {"torch": "2.1.0.post3", "ipex": "2.1.40+xpu", "helper": "1.0", "numpy": "1.26.4"}
    origins = {row["name"]: row for row in step.after["origins"]}
    assert set(origins) == {"torch", "ipex", "helper", "numpy"}
    assert origins["torch"]["from"].startswith(archived.url.rpartition("/")[0]) and origins["numpy"]["from"].startswith("http://127.0.0.1")
    assert all(re.fullmatch("[0-9a-f]{64}", row["sha256"]) for row in origins.values())


@pytest.mark.rotates("a step of pip")
def test_nothing_is_installed_but_what_was_resolved_with_its_checksum(
    env: Path, acting: ActingHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []
    run = acting.run
    monkeypatch.setattr(acting, "run", lambda argv, **more: (ran.append(list(argv)), run(argv, **more))[1])
    with WheelIndex({"torch": "2.8.0", "numpy": "1.26.4"}) as index:
        index.add([Wheel("vision", "1.0", requires=["torch", "numpy"])])
        plan("pip", look(env, {"pypi": index.url}), packages=["vision"]).begin(acting).apply(acting)
    resolving, installing = [argv for argv in ran if "install" in argv]
    assert "--dry-run" in resolving and "--require-hashes" not in resolving
    assert {"--require-hashes", "--no-deps", "--requirement"} <= set(installing) and "vision" not in installing


@pytest.mark.rotates("a step of pip")
def test_an_index_that_changes_its_mind_between_is_refused(env: Path, acting: ActingHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """It serves another wheel under the same name, with a checksum that fits it, once everything is resolved."""
    with WheelIndex({"numpy": "1.26.4"}) as index:
        run = acting.run

        def swapping(argv: list[str], **more: object) -> object:
            done = run(argv, **more)  # type: ignore[arg-type]
            if "--dry-run" in argv:
                index.add([Wheel("numpy", "1.26.4", files={"numpy/__init__.py": "import os\n"})])
            return done

        monkeypatch.setattr(acting, "run", swapping)
        step = plan("pip", look(env, {"pypi": index.url}), packages=["numpy"]).begin(acting)
        with pytest.raises(ActFailed, match="another checksum"):
            step.apply(acting)
    assert "numpy" not in installed(env, acting)
