"""A real uv makes environments and fills them, whatever its own variables and configuration files say, and leaves nothing at home."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stepping import MINOR, PYTHON, Step, facts, listing, look, machine, plan
from wheel_index import Wheel, WheelIndex

from gpudoctor.facts.probes.interpreter import parse_pyvenv
from gpudoctor.model.plan import DONE, Command
from gpudoctor.setup.environment_snapshot import MANIFEST
from gpudoctor.setup.steps._step import Look, PlanError
from gpudoctor.system.live_changes import ActingHost
from gpudoctor.system.writable_host import ActFailed

pytestmark = pytest.mark.rotates("uv", by="home")

HERE = f"=={MINOR}.*"
NOWHERE = "http://127.0.0.1:9"
"""A port where nothing listens."""
SCRIPT = {"torchrun": "torch:main"}
TOML = """
index-url = "{nowhere}/toml"
python-downloads = "never"
managed-python = true
cache-dir = "{home}/toml-cache"
no-index = true
[pip]
index-url = "{nowhere}/pip-toml"
require-hashes = true
target = "{home}/target"
no-deps = true
"""


@pytest.fixture(scope="session")
def uv(environment: Callable[[str], Path]) -> str:
    return str(environment("uv") / "bin" / "uv")


@pytest.fixture(params=["nothing of uv's is set", "everything of uv's is set"], autouse=True)
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The person's; uv, who shall do what the recipe says, finds all that could tell it otherwise. At the end nothing is new there."""
    home, site = tmp_path / "person", tmp_path / "site"
    home.mkdir()
    for name in [name for name in os.environ if name.startswith(("UV_", "XDG_", "PIP_", "CONDA", "VIRTUAL_ENV"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    if request.param.startswith("everything"):
        said = TOML.format(nowhere=NOWHERE, home=home)
        for path in (home / ".config" / "uv" / "uv.toml", site / "uv" / "uv.toml", home / "given.toml"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(said)
        (home / "lines.txt").write_text("torch==1.0\nnumpy==0.1\n")
        variables = {
            "UV_INDEX_URL": f"{NOWHERE}/a", "UV_DEFAULT_INDEX": f"{NOWHERE}/b", "UV_INDEX": f"{NOWHERE}/c",
            "UV_FIND_LINKS": f"{NOWHERE}/d", "UV_EXTRA_INDEX_URL": f"{NOWHERE}/e", "UV_CACHE_DIR": f"{home}/cache",
            "UV_CONFIG_FILE": f"{home}/given.toml", "UV_PYTHON": "3.8", "UV_CONSTRAINT": f"{home}/lines.txt",
            "UV_OVERRIDE": f"{home}/lines.txt", "UV_PRERELEASE": "allow", "UV_REQUIRE_HASHES": "1", "UV_SYSTEM_PYTHON": "1",
            "UV_PYTHON_INSTALL_DIR": f"{home}/pythons", "UV_VENV_SEED": "1", "UV_VENV_CLEAR": "1", "UV_EXCLUDE_NEWER": "2001-01-01",
            "UV_OFFLINE": "1", "UV_MANAGED_PYTHON": "1", "UV_PYTHON_DOWNLOADS": "never", "UV_WORKING_DIR": str(home),
            "UV_LINK_MODE": "symlink", "UV_INDEX_STRATEGY": "first-index", "UV_NO_VERIFY_HASHES": "1",
            "UV_PROJECT_ENVIRONMENT": f"{home}/project", "UV_COMPILE_BYTECODE": "1", "VIRTUAL_ENV": f"{home}/venv",
            "CONDA_PREFIX": f"{home}/c",
        }  # fmt: skip
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("XDG_CONFIG_DIRS", str(site))
    there = listing(home)
    yield home
    assert listing(home) == there


@pytest.fixture
def acting(tmp_path: Path) -> ActingHost:
    return machine(tmp_path)


@pytest.fixture
def index() -> Iterator[WheelIndex]:
    wheels = [
        Wheel("torch", "2.8.0", requires=["numpy"], scripts=SCRIPT, files={"torch/__init__.py": "", "torch/new.py": ""}),
        Wheel("torch", "2.7.0", requires=["numpy"], scripts=SCRIPT, files={"torch/__init__.py": "", "torch/old.py": ""}),
        Wheel("torch", "2.9.0rc1"), Wheel("numpy", "2.1.0"), Wheel("numpy", "1.26.4"),
    ]  # fmt: skip
    with WheelIndex(wheels) as served:
        yield served


@pytest.fixture
def at(uv: str, tmp_path: Path) -> Callable[..., Look]:
    """What planning sees: uv is here, and the environment is tmp/work/env."""

    def seen(addresses: dict[str, str] | None = None, **values: Any) -> Look:
        return look(tmp_path / "work" / "env", addresses, known=facts(tools__uv=uv, **values))

    return seen


@pytest.fixture
def made(at: Callable[..., Look], acting: ActingHost, tmp_path: Path) -> Step:
    return plan("venv", at(), python=HERE).begin(acting).apply(acting)


@pytest.fixture
def theirs(made: Step, at: Callable[..., Look], acting: ActingHost, index: WheelIndex, tmp_path: Path) -> Path:
    """An environment of the person's, with an older torch."""
    top = tmp_path / "work" / "env"
    carry = plan("pip", at({"pypi": index.url}), packages=["torch==2.7.0"]).begin(acting).apply(acting)
    acting.drop_snapshot(carry.before["snapshot"])
    (top / MANIFEST).unlink()
    index.requests.clear()
    return top


def versions(env: Path) -> dict[str, str]:
    found = (env / "lib" / f"python{MINOR}" / "site-packages").glob("*.dist-info")
    return dict(path.name.removesuffix(".dist-info").split("-") for path in found)


def test_makes_an_environment_and_undo_leaves_nothing(
    made: Step, uv: str, at: Callable[..., Look], acting: ActingHost, tmp_path: Path
) -> None:
    env = tmp_path / "work" / "env"
    assert made.draft.acts == (Command(argv=(uv, "venv", "--no-cache", "--python", PYTHON, str(env))),)
    assert parse_pyvenv((env / "pyvenv.cfg").read_text())["version_info"].startswith(MINOR)
    assert os.path.realpath(env / "bin" / "python") == PYTHON
    assert versions(env) == {}
    assert plan("venv", at(), python=HERE).draft.state == DONE
    assert made.undo(acting) == ()
    assert sorted(path.name for path in tmp_path.iterdir()) in (["person", "state"], ["person", "site", "state"])


def test_an_empty_folder_is_filled_and_emptied_again(at: Callable[..., Look], acting: ActingHost, tmp_path: Path) -> None:
    env = tmp_path / "work" / "env"
    env.mkdir(parents=True, mode=0o750)
    start = listing(tmp_path / "work")
    step = plan("venv", at(), python=HERE).begin(acting).apply(acting)
    assert step.undo(acting) == ()
    assert listing(tmp_path / "work") == start


def test_cut_off_then_resumed(at: Callable[..., Look], acting: ActingHost, tmp_path: Path) -> None:
    env = tmp_path / "work" / "env"
    step = plan("venv", at(), python=HERE).begin(acting)
    (env / "bin").mkdir(parents=True)
    (env / "pyvenv.cfg").write_text("home = /nowhere\n")
    env.with_name("env.gpudoctor-making").touch()
    step.recover(acting).apply(acting)
    assert step.undo(acting) == ()
    assert not env.parent.exists()


def test_installs_into_our_environment(made: Step, at: Callable[..., Look], acting: ActingHost, index: WheelIndex, tmp_path: Path) -> None:
    env = tmp_path / "work" / "env"
    step = plan("pip", at({"pypi": index.url}), packages=["torch"]).begin(acting).apply(acting)
    assert versions(env) == {"torch": "2.8.0", "numpy": "2.1.0"}
    ran = subprocess.run(
        [env / "bin" / "python", "-c", "import torch.new, numpy; print(numpy.__version__)"], capture_output=True, text=True
    )
    assert ran.stdout == "2.1.0\n"
    assert plan("pip", at({"pypi": index.url}), packages=["torch"]).draft.state == DONE
    assert [path for path in env.rglob("*") if path.is_symlink() and "site-packages" in path.parts] == []
    assert step.undo(acting) == () and made.undo(acting) == ()
    assert not env.parent.exists()


def test_upgrade_in_an_environment_of_theirs_and_undo(theirs: Path, at: Callable[..., Look], acting: ActingHost, index: WheelIndex) -> None:
    start = listing(theirs.parent)
    step = plan("pip", at({"pypi": index.url}), packages=["torch==2.8.0", "numpy<2"]).begin(acting).apply(acting)
    assert versions(theirs) == {"torch": "2.8.0", "numpy": "1.26.4"}
    site = theirs / "lib" / f"python{MINOR}" / "site-packages"
    assert (site / "torch" / "new.py").exists() and not (site / "torch" / "old.py").exists()
    assert step.undo(acting) == ()
    assert listing(theirs.parent) == start


def test_what_they_installed_since_is_kept_and_named(
    theirs: Path, at: Callable[..., Look], acting: ActingHost, index: WheelIndex, uv: str
) -> None:
    index.add({"flask": "3.1.0"})
    step = plan("pip", at({"pypi": index.url}), packages=["torch==2.8.0"]).begin(acting).apply(acting)
    by_hand = [uv, "--no-config", "pip", "install", "--python", f"{theirs}/bin/python", "--no-cache", "--default-index", index.url, "flask"]
    subprocess.run(by_hand, check=True, capture_output=True, env={"PATH": os.environ["PATH"]})
    (line,) = step.undo(acting)
    assert "flask 3.1.0" in line
    assert versions(theirs) == {"torch": "2.7.0", "numpy": "2.1.0", "flask": "3.1.0"}
    advised = line.partition("; ")[2].removesuffix(" removes it").split()
    assert subprocess.run(advised, env={"PATH": os.environ["PATH"]}, capture_output=True).returncode == 0, advised
    assert "flask" not in versions(theirs)


def test_another_build_is_removed_first(theirs: Path, at: Callable[..., Look], acting: ActingHost, index: WheelIndex) -> None:
    start = listing(theirs.parent)
    index.add({"torch": "2.7.0+xpu"})
    step = plan("pip", at({"pytorch": index.url.removesuffix("simple")}), packages=["torch==2.7.0"], index="pytorch/xpu")
    remove = step.draft.acts[0]
    assert isinstance(remove, Command)
    subprocess.run([*remove.argv, "--dry-run"] if "uv" in remove.argv[0] else [*remove.argv, "--help"], check=True, capture_output=True,
                   env={"PATH": os.environ["PATH"]})  # fmt: skip
    step.begin(acting).apply(acting)
    assert versions(theirs)["torch"] == "2.7.0+xpu"
    assert step.undo(acting) == ()
    assert listing(theirs.parent) == start


def test_a_wrong_checksum_of_the_index(theirs: Path, at: Callable[..., Look], acting: ActingHost, index: WheelIndex) -> None:
    start = listing(theirs.parent)
    index.wrong_hash = {"torch"}
    step = plan("pip", at({"pypi": index.url}), packages=["torch==2.8.0"]).begin(acting)
    with pytest.raises(ActFailed, match=r"fetched as torch==2\.8\.0 has another checksum than promised \(expected") as failed:
        step.apply(acting)
    assert "was not installed" in failed.value.advice
    assert step.undo(acting) == ()
    assert listing(theirs.parent) == start


def test_a_version_that_is_not_there(theirs: Path, at: Callable[..., Look], acting: ActingHost, index: WheelIndex) -> None:
    start = listing(theirs.parent)
    step = plan("pip", at({"pypi": index.url}), packages=["torch==7.0"]).begin(acting)
    with pytest.raises(ActFailed, match=r"torch==7\.0") as failed:
        step.apply(acting)
    assert "--torch" in failed.value.advice
    assert step.undo(acting) == ()
    assert listing(theirs.parent) == start


def test_no_index_answers(theirs: Path, at: Callable[..., Look], acting: ActingHost) -> None:
    step = plan("pip", at({"pypi": f"{NOWHERE}/simple"}), packages=["torch==2.8.0"]).begin(acting)
    with pytest.raises(ActFailed, match="the package index cannot be reached") as failed:
        step.apply(acting)
    assert "--resume" in failed.value.advice
    assert versions(theirs)["torch"] == "2.7.0"


def test_a_download_that_is_cut_off_is_tried_again(theirs: Path, at: Callable[..., Look], acting: ActingHost, index: WheelIndex) -> None:
    index.add([Wheel("torch", "2.8.1", requires=["numpy"], padding=500_000)])
    index.dies = {"torch": 1}
    plan("pip", at({"pypi": index.url}), packages=["torch==2.8.1"]).begin(acting).apply(acting)
    assert versions(theirs)["torch"] == "2.8.1"


def test_a_mirror_without_tls(theirs: Path, at: Callable[..., Look], acting: ActingHost, index: WheelIndex, uv: str) -> None:
    """Planned for a host that is not this one, and then carried out on the loopback: there uv needs no permission."""
    seen = look(theirs, {"pypi": "http://mirror.example:8080/simple"}, known=facts(tools__uv=uv), insecure=["pypi"])
    step = plan("pip", seen, packages=["torch==2.8.0"])
    (act,) = step.draft.acts
    assert isinstance(act, Command) and act.argv[act.argv.index("--allow-insecure-host") + 1] == "mirror.example:8080"
    step.settings = {**step.settings, "index": index.url, "trusted": [f"127.0.0.1:{index.port}"]}
    step.begin(acting).apply(acting)
    assert versions(theirs)["torch"] == "2.8.0"
    with pytest.raises(PlanError, match="not fetched over https"):
        plan("pip", look(theirs, {"pypi": "http://mirror.example/simple"}, known=facts(tools__uv=uv)), packages=["torch==2.8.0"])


def test_each_package_comes_from_its_own_index(theirs: Path, at: Callable[..., Look], acting: ActingHost, index: WheelIndex) -> None:
    """The package that is named for the first index comes from there, whatever newer release the other one has."""
    with WheelIndex({"torch": "2.8.5"}) as second:
        mirrors = {"pypi": second.url, "first": index.url}
        step = plan("pip", at(mirrors), packages=["torch==2.8.*"], first_index="first", first=["torch"])
        step.begin(acting).apply(acting)
    assert versions(theirs)["torch"] == "2.8.0"


def test_no_dependencies_and_prereleases(
    made: Step, at: Callable[..., Look], acting: ActingHost, index: WheelIndex, tmp_path: Path
) -> None:
    plan("pip", at({"pypi": index.url}), packages=["torch==2.8.0"], no_deps=True).begin(acting).apply(acting)
    assert versions(tmp_path / "work" / "env") == {"torch": "2.8.0"}
    plan("pip", at({"pypi": index.url}), packages=["torch>2.8.0"], pre=True, no_deps=True).begin(acting).apply(acting)
    assert versions(tmp_path / "work" / "env") == {"torch": "2.9.0rc1"}


def test_constraints(made: Step, at: Callable[..., Look], acting: ActingHost, index: WheelIndex, tmp_path: Path) -> None:
    plan("pip", at({"pypi": index.url}), packages=["torch"], constraints=["numpy<2", "torch<2.8"]).begin(acting).apply(acting)
    assert versions(tmp_path / "work" / "env") == {"torch": "2.7.0", "numpy": "1.26.4"}


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("place", ["file", "address"])
def test_one_wheel_with_its_checksum(
    made: Step, at: Callable[..., Look], acting: ActingHost, index: WheelIndex, tmp_path: Path, place: str, right: bool
) -> None:
    wheel = Wheel("extension", "1.0", requires=["numpy"])
    digest = hashlib.sha256(wheel.content() if right else b"another").hexdigest()
    index.add([wheel])
    asked = str(wheel.write(tmp_path / "shelf of theirs")) if place == "file" else index.at(f"files/{wheel.filename}")
    step = plan("pip", at({"pypi": index.url}), packages=[asked], hashes={wheel.filename: digest}).begin(acting)
    if right:
        step.apply(acting)
        assert versions(tmp_path / "work" / "env") == {"extension": "1.0", "numpy": "2.1.0"}
        return
    with pytest.raises(ActFailed, match="has another checksum than promised"):
        step.apply(acting)
    assert versions(tmp_path / "work" / "env") == {}


def test_from_a_folder_of_wheels_alone(made: Step, uv: str, acting: ActingHost, tmp_path: Path) -> None:
    for wheel in (Wheel("torch", "2.8.0", requires=["numpy"]), Wheel("numpy", "2.1.0")):
        wheel.write(tmp_path / "bundle" / "wheels")
    env = tmp_path / "work" / "env"
    seen = look(env, {"pypi": NOWHERE}, known=facts(tools__uv=uv), bundle=str(tmp_path / "bundle"))
    plan("pip", seen, packages=["torch"]).begin(acting).apply(acting)
    assert versions(env) == {"torch": "2.8.0", "numpy": "2.1.0"}


def test_uv_is_gone_since_the_plan_was_made(uv: str, acting: ActingHost, index: WheelIndex, tmp_path: Path) -> None:
    """The environment that it made has no pip: it is put in."""
    copy = tmp_path / "copy" / "uv"
    copy.parent.mkdir()
    shutil.copy2(uv, copy)
    seen = look(tmp_path / "work" / "env", {"pypi": index.url}, known=facts(tools__uv=str(copy)))
    plan("venv", seen, python=HERE).begin(acting).apply(acting)
    step = plan("pip", seen, packages=["torch==2.8.0"]).begin(acting)
    copy.unlink()
    step.apply(acting)
    assert versions(tmp_path / "work" / "env").keys() >= {"torch", "numpy", "pip"}


def test_a_python_that_cannot_be_fetched(
    at: Callable[..., Look], acting: ActingHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_PYTHON_INSTALL_MIRROR", NOWHERE)
    env = tmp_path / "work" / "env"
    step = plan("venv", at(), python="==3.8.*")
    assert step.draft.changes[1] == f"uv downloads Python 3.8 into {env}.python"
    step.begin(acting)
    with pytest.raises(ActFailed) as failed:
        step.apply(acting)
    assert str(failed.value) == f"{env} could not be made: Python 3.8 could not be fetched from 127.0.0.1:9, which cannot be reached"
    for way in ("gpudoctor setup --resume", "--python-version", "UV_PYTHON_INSTALL_MIRROR"):
        assert way in failed.value.advice
    assert not env.parent.exists()
    assert step.undo(acting) == ()


def test_a_python_that_nobody_has(at: Callable[..., Look], acting: ActingHost, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"no Python ==2\.7"):
        plan("venv", at(), python="==2.7.*")
