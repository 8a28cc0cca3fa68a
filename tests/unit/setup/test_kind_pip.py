"""pip into real environments, from an index on loopback that can break."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from stepping import MINOR, Step, carry_out, facts, listing, look, machine, plan
from wheel_index import Wheel, WheelIndex

from gpudoctor.model.plan import DONE, Command
from gpudoctor.setup.environment_snapshot import write_manifest
from gpudoctor.setup.packages import pip_lock
from gpudoctor.setup.packages.pip_reports import installed_from
from gpudoctor.setup.steps._step import PlanError
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


def test_into_an_environment_of_ours(env: Path, acting: ActingHost, index: WheelIndex) -> None:
    step = xpu(env, index, "torch==2.8.0", fresh=True).begin(acting).apply(acting)
    assert installed(env, acting) == {"torch": "2.8.0+xpu", "numpy": "2.1.0"}
    assert index.requests[0] == "/whl/xpu/torch/"
    assert os.access(env / "bin" / "torchrun", os.X_OK)
    assert sorted(path.name for path in env.parent.iterdir()) == ["env", "state"]
    assert step.undo(acting) == ()  # the venv step deletes it as a whole


def test_the_list_of_what_is_ours_grows(tmp_path: Path, acting: ActingHost, index: WheelIndex) -> None:
    env = tmp_path / "env"
    made = carry_out("venv", look(env), acting, python=f"=={MINOR}.*")
    xpu(env, index, "torch", fresh=True).begin(acting).apply(acting)
    assert made.undo(acting) == ()
    assert not env.exists()


def test_done_already(theirs: Path, index: WheelIndex) -> None:
    assert xpu(theirs, index, "torch==2.7.0", "numpy<2").draft.state == DONE
    assert xpu(theirs, index, "torch==2.8.0").draft.state != DONE
    assert xpu(theirs, index, "torch==2.7.0", "absent; python_version < '3'").draft.state == DONE


def test_done_already_by_the_facts_of_a_recording() -> None:
    known = facts(
        python__prefix="/home/u/env",
        python__version="3.11.4",
        python__kind="venv",
        python__distributions={"torch": "2.8.0+xpu", "numpy": "2"},
    )
    seen = look("/home/u/env", {"pytorch": "https://download.pytorch.org/whl"}, known=known)
    assert plan("pip", seen, packages=["torch>=2.8"], index="pytorch/xpu").draft.state == DONE
    other = plan("pip", seen, packages=["torch>=2.8"], index="pytorch/cu128")
    assert "replaces torch 2.8.0+xpu there; gpudoctor setup --undo puts back exactly what was" in other.draft.changes
    assert other.draft.acts == (
        Command(argv=("/home/u/env/bin/python", "-m", "pip", "uninstall", "--yes", "torch")),
        Command(
            argv=("/home/u/env/bin/python", "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--no-cache-dir",
                  "--index-url", "https://download.pytorch.org/whl/cu128", "torch>=2.8"),
        ),
    )  # fmt: skip


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


def test_another_build_is_replaced_although_its_version_fits(theirs: Path, acting: ActingHost, index: WheelIndex) -> None:
    index.add([Wheel("torch", "2.7.0+cpu", requires=["numpy>=1"])])
    before = listing(theirs)
    step = plan("pip", look(theirs, {"pytorch": index.at("whl")}), packages=["torch==2.7.0"], index="pytorch/cpu")
    del index.files["torch-2.7.0+xpu-py3-none-any.whl"]
    step.begin(acting).apply(acting)
    assert installed(theirs, acting)["torch"] == "2.7.0+cpu"
    step.undo(acting)
    assert listing(theirs) == before


def test_what_a_person_changed_since_is_kept_and_named(theirs: Path, acting: ActingHost, index: WheelIndex) -> None:
    index.add({"flask": "3.1.0"})
    step = xpu(theirs, index, "torch==2.8.0").begin(acting).apply(acting)
    pip(acting, theirs, index, "install", "flask")
    (theirs / "notes.txt").write_text("mine")
    (line,) = step.undo(acting)
    assert "flask 3.1.0, notes.txt" in line and "pip uninstall flask" in line
    assert installed(theirs, acting) == {"torch": "2.7.0+xpu", "numpy": "1.26.4", "flask": "3.1.0"}


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


def test_done_but_the_journal_does_not_know(env: Path, acting: ActingHost, index: WheelIndex) -> None:
    step = xpu(env, index, "torch==2.8.0", fresh=True).begin(acting).apply(acting)
    after = listing(env, without=(".gpudoctor-files",))
    step.recover(acting).apply(acting)
    assert listing(env, without=(".gpudoctor-files",)) == after


def test_a_wrong_checksum_is_refused(theirs: Path, acting: ActingHost, index: WheelIndex) -> None:
    before = listing(theirs)
    index.wrong_hash = {"torch"}
    with pytest.raises(ActFailed, match="another checksum than promised") as failed:
        xpu(theirs, index, "torch==2.8.0").begin(acting).apply(acting)
    assert "torch" in str(failed.value) and "not installed" in failed.value.advice
    assert index.requests.count("/files/torch-2.8.0+xpu-py3-none-any.whl") == 2, "the same wrong bytes twice are no accident"
    assert listing(theirs) == before


def test_an_index_that_dies_once_is_survived(env: Path, acting: ActingHost, index: WheelIndex) -> None:
    index.add([Wheel("torch", "2.9.0+xpu", padding=400_000)])
    index.dies = {"torch": 1}
    xpu(env, index, "torch==2.9.0", fresh=True).begin(acting).apply(acting)
    assert installed(env, acting)["torch"] == "2.9.0+xpu"


def test_an_index_that_is_not_there(env: Path, acting: ActingHost) -> None:
    seen = look(env, {"pypi": "http://127.0.0.1:9/simple"})
    step = plan("pip", seen, packages=["torch"]).begin(acting)
    with pytest.raises(ActFailed, match="cannot be reached"):
        step.apply(acting)


def test_no_such_release(env: Path, acting: ActingHost, index: WheelIndex) -> None:
    with pytest.raises(ActFailed, match=r"no release of torch==9\.9 is offered") as failed:
        xpu(env, index, "torch==9.9").begin(acting).apply(acting)
    assert "--torch" in failed.value.advice


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


def test_an_address_needs_a_checksum_and_https(env: Path, index: WheelIndex) -> None:
    for text, said in (
        ("torch @ https://example.org/torch-2.8.0-py3-none-any.whl", "has no SHA-256"),
        (f"http://example.org/torch-2.8.0-py3-none-any.whl#sha256={'0' * 64}", "not fetched over https"),
        ("torch=2.8", "no requirement"),
        ("/nowhere/poptorch-*.whl", "no file in /nowhere"),
    ):
        with pytest.raises(PlanError, match=said):
            xpu(env, index, text)


def test_plain_http_only_for_a_mirror_that_was_asked_for(env: Path) -> None:
    addresses = {"pypi": "http://mirror.site/simple"}
    with pytest.raises(PlanError, match="not fetched over https"):
        plan("pip", look(env, addresses), packages=["torch"])
    step = plan("pip", look(env, addresses, insecure=["pypi"]), packages=["torch"])
    (act,) = step.draft.acts
    assert isinstance(act, Command) and act.argv[-3:] == ("--trusted-host", "mirror.site", "torch")


def test_a_bundle_needs_no_network(env: Path, tmp_path: Path) -> None:
    offline = machine(tmp_path, offline=True)
    for wheel in STACK:
        wheel.write(tmp_path / "bundle" / "wheels")
    seen = look(env, {"pytorch": "https://download.pytorch.org/whl"}, bundle=str(tmp_path / "bundle"))
    carry_out("pip", seen, offline, packages=["torch==2.8.0+xpu"], index="pytorch/xpu")
    assert installed(env, offline)["torch"] == "2.8.0+xpu"
    with pytest.raises(ActFailed, match="--offline was given"):
        carry_out("pip", look(env, {"pypi": "https://pypi.org/simple"}), offline, packages=["flask"])


def test_never_into_the_system(tmp_path: Path, acting: ActingHost, index: WheelIndex) -> None:
    with pytest.raises(PlanError, match="no environment of its own"):
        xpu(Path("/usr"), index, "torch")
    step = xpu(tmp_path / "absent", index, "torch").begin(acting)
    (tmp_path / "absent").mkdir()
    with pytest.raises(ActFailed, match="no environment of its own"):
        step.apply(acting)


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


def test_a_package_without_a_checksum_is_said() -> None:
    row = {"metadata": {"name": "torch", "version": "2.8.0+xpu"}, "download_info": {"url": "https://h/t.whl", "archive_info": {}}}
    with pytest.raises(pip_lock.NoChecksum, match="torch"):
        pip_lock.lock([row])
    hashed = {**row, "download_info": {"url": "https://h/t.whl", "archive_info": {"hashes": {"sha256": "a" * 64}}}}
    assert pip_lock.lock([hashed]) == f"torch==2.8.0+xpu --hash=sha256:{'a' * 64}\n"
    assert pip_lock.lock([{**hashed, "is_direct": True}]) == f"torch @ https://h/t.whl --hash=sha256:{'a' * 64}\n"


@pytest.mark.parametrize("name", ["x --index-url https://evil.example", "-r /etc/passwd", "a\nb==1"])
def test_no_name_becomes_a_line_of_its_own(name: str) -> None:
    archive = {"url": "https://h/t.whl", "archive_info": {"hashes": {"sha256": "a" * 64}}}
    with pytest.raises(pip_lock.NoChecksum):
        pip_lock.lock([{"metadata": {"name": name, "version": "1"}, "download_info": archive}])


def test_an_index_for_nothing_is_a_mistake_of_the_recipe(env: Path, index: WheelIndex) -> None:
    with pytest.raises(PlanError, match="belong together"):
        plan("pip", look(env, {"ipex": index.url, "pypi": index.url}), packages=["torch"], first_index="ipex")


def test_what_pip_says_is_not_believed_to_be_what_it_should_be(tmp_path: Path, acting: ActingHost) -> None:
    download = {"url": "https://u:p@h/x.whl?token=t", "archive_info": 3}
    rows = [5, {"metadata": []}, {"metadata": {"name": "x", "version": "1"}, "download_info": download}]
    for number, text in enumerate(("[", "[]", '{"install": 5}', json.dumps({"install": rows}))):
        (tmp_path / f"{number}.json").write_text(text)
    assert installed_from(str(tmp_path), acting) == [{"name": "x", "version": "1", "sha256": "", "from": "https://h/x.whl"}]
