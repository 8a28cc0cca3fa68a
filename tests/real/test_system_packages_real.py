"""The package for Debian, the image of the container, the recipe for conda, and the wheel run by uvx and pipx."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomllib
import yaml
from debian_root import DebianRoot
from environments import build
from installed_doctor import wheel
from packaging.utils import canonicalize_name
from podman_root import Podman, podman
from pyz_builder import clone, packed

from gpudoctor import __version__

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
BOOKWORM = "3.11"
BUILDER = ("python3", "ca-certificates", "debhelper", "man-db")


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pyz")
    return packed(clone(place / "clone"), place / "gpudoctor.pyz", BOOKWORM)


@pytest.mark.full_only("a Debian root with debhelper, and two minutes")
def test_the_debian_package_is_built_installed_run_and_removed(pyz: Path, tmp_path: Path) -> None:
    with DebianRoot.fresh(packages=BUILDER) as root:
        shutil.copytree(PACKAGING / "debian", root.here("/src"))
        shutil.copy(pyz, root.here("/gpudoctor.pyz"))
        root.run(["/src/build.sh", "/gpudoctor.pyz", "/out"])
        (made,) = root.here("/out").glob("*.deb")
        shutil.copy(made, tmp_path)
    with DebianRoot.fresh(packages=("python3", "ca-certificates")) as root:
        before = root.state()
        shutil.copy(tmp_path / made.name, root.here("/x.deb"))
        root.run(["apt-get", "install", "-y", "--no-install-recommends", "/x.deb"])
        assert root.out(["gpudoctor", "--version"]) == f"gpudoctor {__version__}\n"
        report = json.loads(root.out(["gpudoctor", "check", "--quick", "--fail-on", "never", "--format", "json"]))
        assert report["schema"] == "gpudoctor.report/1"
        assert root.run(["gpudoctor", "explain", "-"], stdin="CUDA error: no kernel image is available\n", check=False).returncode in (0, 1)
        for path in ("man/man1/gpudoctor-check.1.gz", "bash-completion/completions/gpudoctor", "zsh/vendor-completions/_gpudoctor"):
            assert root.here(f"/usr/share/{path}").exists(), path
        assert root.here("/usr/lib/gpudoctor/gpudoctor/__pycache__").is_dir()
        root.here("/root/click.py").write_text("raise SystemExit('of the folder')\n")
        assert root.out(["gpudoctor", "--version"], env={"PYTHONPATH": "/root"}) == f"gpudoctor {__version__}\n"
        root.here("/root/click.py").unlink()
        root.run(["apt-get", "purge", "-y", "gpudoctor"])
        assert not root.here("/usr/lib/gpudoctor").exists()
        assert [line for line in root.state().differences(before) if "gpudoctor" in line] == []


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podman]:
    with podman(tmp_path_factory.mktemp("podman")) as found:
        yield found


@pytest.mark.full_only("podman in a root of its own, and an image of Debian")
def test_the_container_is_built_and_looks_at_the_machine_without_root(pyz: Path, engine: Podman) -> None:
    """From an image of Debian with Python, which stands in for the official one of Python: that lies in a registry."""
    with DebianRoot.fresh(packages=("python3", "ca-certificates")) as base:
        packed_root = subprocess.Popen(["tar", "-C", str(base.path), "-cf", "-", "."], stdout=subprocess.PIPE)
        engine.run(["sh", "-c", "mkdir -p /build && cat >/base.tar"], stdin=packed_root.stdout)
    engine.run(["podman", "import", "-q", "/base.tar", "localhost/base:1"])
    for source in (pyz, PACKAGING / "container" / "Containerfile"):
        with open(source, "rb") as file:
            engine.run(["sh", "-c", f"cat >/build/{source.name}"], stdin=file)
    engine.run(["podman", "build", "-q", "--isolation=chroot", "--build-arg", "BASE=localhost/base:1", "-t", "gpudoctor", "/build"])
    assert engine.run(["podman", "run", "--rm", "gpudoctor", "--version"]).strip().endswith(f"gpudoctor {__version__}")
    said = engine.run(
        ["podman", "run", "--rm", "--read-only", "-v", "/:/host:ro", "gpudoctor", "check", "--root", "/host", "--format", "json"]
    )
    report = json.loads(said[said.index("{") :])
    assert report["facts"]["os"]["id"] == "debian"
    user = engine.run(["podman", "run", "--rm", "--entrypoint", "id", "gpudoctor", "-u"])
    assert user.strip().endswith("65532")


@pytest.mark.rotates("an installed package")
def test_the_recipe_for_conda_is_rendered() -> None:
    python = build("rattler-build") / "bin" / "python"
    code = (
        "import sys; from rattler_build import Stage0Recipe; "
        "recipe = Stage0Recipe.from_yaml(open(sys.argv[1]).read()); print(recipe.as_single_output().package.name)"
    )
    done = subprocess.run([str(python), "-c", code, str(PACKAGING / "conda" / "recipe.yaml")], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "${{ name }}"), done.stderr


def test_the_recipe_for_conda_has_the_dependencies_of_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {line.partition(";")[0].strip() for line in project["dependencies"]}
    recipe = yaml.safe_load((PACKAGING / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    names = {"msgspec-python": "msgspec", "ahocorasick_rs": "ahocorasick-rs"}  # as conda-forge calls them
    given = {names.get(line.split()[0], line.split()[0]) + line.split()[1] for line in recipe["requirements"]["run"]}
    assert given - {"python>=3.10"} == wanted
    assert recipe["context"]["version"] == __version__


def test_the_package_for_debian_has_this_version() -> None:
    first = (PACKAGING / "debian" / "changelog").read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith(f"gpudoctor ({__version__})")


@pytest.mark.rotates("an installed package")
@pytest.mark.parametrize("runner", ["uvx", "pipx"])
def test_the_wheel_is_run_without_an_installation(runner: str, tmp_path: Path) -> None:
    made = wheel(tmp_path)
    words = {"uvx": ["uvx", "--from", str(made), "gpudoctor"], "pipx": ["pipx", "run", "--spec", str(made), "gpudoctor"]}[runner]
    program = build("uv" if runner == "uvx" else "pipx") / "bin" / words[0]
    home = {
        "HOME": str(tmp_path / "home"),
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "PIPX_HOME": str(tmp_path / "pipx"),
        "UV_PYTHON_DOWNLOADS": "never",
    }
    argv = [str(program), *words[1:], "check", "--quick", "--fail-on", "never", "--format", "json"]
    done = subprocess.run(argv, cwd=tmp_path, env={**os.environ, **home}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schema"] == "gpudoctor.report/1"


@pytest.mark.full_only("builds gpudoctor.pyz for five Pythons, several minutes")
def test_the_files_of_a_release_have_checksums_and_a_list_of_what_is_in_them(tmp_path: Path) -> None:
    checkout, out = clone(tmp_path / "clone"), tmp_path / "dist"
    environment = {**os.environ, "PYTHON": str(build("release") / "bin" / "python"), "MACHINES": "x86_64"}
    done = subprocess.run(
        [str(checkout / "packaging/release/build.sh"), str(out)], env=environment, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=out, capture_output=True).returncode == 0
    summed = {line.split()[1] for line in (out / "SHA256SUMS").read_text().splitlines()}
    assert summed == {path.name for path in out.iterdir()} - {"SHA256SUMS"} and len(summed) == 4
    bom = json.loads((out / "gpudoctor.cdx.json").read_text())
    lock = json.loads((checkout / "packaging/pyz/lock.json").read_text())
    locked = {row["project_name"] for resolve in lock["locked_resolves"] for row in resolve["locked_requirements"]}
    listed = {str(canonicalize_name(part["name"])) for part in bom["components"]}
    assert bom["bomFormat"] == "CycloneDX" and listed <= locked and {"click", "msgspec", "rich"} < listed
