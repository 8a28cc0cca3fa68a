"""`gpudoctor setup` really run from nothing: in a clean Debian root, and by an ordinary user on this machine. It ends in a computation.

Afterwards `--undo` leaves packages with their marks, /etc and the home folders exactly as they were, by listing and checksum.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from debian_root import _listing
from installed_doctor import DOCTOR, install, site_variables, wheel
from layered_root import Frozen, LayeredRoot, Workshop
from loopback_server import LoopbackServer
from torch_index import write_index

USER = 54321
"""Nobody's number on this machine."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def shop() -> Iterator[Workshop]:
    with Workshop() as shop:
        yield shop


@pytest.fixture(scope="module")
def base(shop: Workshop, built: Path) -> Frozen:
    return shop.base(lambda root: _prepare(root, built))


def _prepare(root: LayeredRoot, built: Path) -> None:
    install(root, built)
    root.write("/root/notes", "mine\n")
    root.run(["sh", "-c", "useradd -m anna; apt-mark hold tzdata; apt-get update"])


@pytest.fixture
def root(shop: Workshop, base: Frozen) -> Iterator[LayeredRoot]:
    with shop.lent(base, on_disk=True) as root:
        yield root


def doctor(root: LayeredRoot, *arguments: str) -> subprocess.CompletedProcess[str]:
    return root.run([DOCTOR, *arguments], check=False, env=site_variables(), timeout=1500)


def set_up_and_take_back(root: LayeredRoot, name: str, device: str, *options: str) -> str:
    """Runs it, looks at its end, undoes it, compares; returns what was printed."""
    start, lists = root.state(), set(root.apt_lists())
    done = doctor(root, "setup", name, "--yes", *options)
    text = " ".join(done.stdout.split())
    assert done.returncode == 0, done.stdout
    assert f"Done and verified: computed on {device}" in text and "equal to the CPU" in text, done.stdout
    assert root.state().differences(start), "nothing was set up"
    history = doctor(root, "setup", "--history").stdout
    assert history.startswith("1 ") and name in history and "done" in history, history
    undone = doctor(root, "setup", "--undo")
    assert undone.returncode == 0, undone.stdout
    assert root.state().differences(start) == []
    assert lists <= set(root.apt_lists())
    assert "undone" in doctor(root, "setup", "--history").stdout
    assert "nothing to undo" in doctor(root, "setup", "--undo").stdout
    return done.stdout


@pytest.mark.rotates("slow", member="a setup from nothing")
def test_opencl_with_pocl_from_the_debian_mirror(root: LayeredRoot) -> None:
    set_up_and_take_back(root, "opencl", "opencl")


@pytest.mark.rotates("slow", member="a setup from nothing")
def test_vulkan_with_lavapipe_from_the_debian_mirror(root: LayeredRoot) -> None:
    start = root.state()
    done = doctor(root, "setup", "vulkan", "--yes")
    assert done.returncode == 0 and "every rung of vulkan holds" in " ".join(done.stdout.split()), done.stdout
    undone = doctor(root, "setup", "--undo")
    assert undone.returncode == 0, undone.stdout
    assert root.state().differences(start) == []


@pytest.mark.rotates("slow", member="a setup from nothing")
def test_openvino(root: LayeredRoot) -> None:
    set_up_and_take_back(root, "openvino", "openvino:CPU")


@pytest.mark.rotates("slow", member="a setup from nothing")
def test_onnxruntime(root: LayeredRoot) -> None:
    set_up_and_take_back(root, "onnxruntime", "ort:CPUExecutionProvider")


@pytest.mark.rotates("slow", member="a setup from nothing")
def test_torch_on_the_processor_through_a_mirror(root: LayeredRoot, tmp_path: Path) -> None:
    write_index(tmp_path)
    with LoopbackServer(tmp_path) as server:
        said = set_up_and_take_back(root, "cpu", "cpu", "--mirror", f"pytorch={server.url}/whl")
        assert f"pytorch comes from {server.url}/whl" in said
        assert any("/torch-2.13.0" in path for path in server.asked)


@pytest.fixture(scope="module")
def stranger(built: Path) -> Iterator[Path]:
    """A folder with gpudoctor in it, which any user of this machine may use."""
    folder = Path(tempfile.mkdtemp(prefix="gpudoctor-stranger-"))
    folder.chmod(0o755)
    subprocess.run(["/usr/bin/python3", "-m", "venv", str(folder / "doctor")], check=True)
    subprocess.run([str(folder / "doctor/bin/python"), "-m", "pip", "install", "-q", str(built)], check=True)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.rotates("slow", member="a setup from nothing")
@pytest.mark.parametrize(("name", "device"), [("openvino", "openvino:CPU"), ("onnxruntime", "ort:CPUExecutionProvider")])
def test_an_ordinary_user_on_this_machine(stranger: Path, name: str, device: str) -> None:
    home = stranger / f"home-{name}"
    home.mkdir()
    (home / "notes").write_text("mine\n")
    for path in (home, home / "notes"):
        os.chown(path, USER, USER)
    variables = {**site_variables(), "PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8"}

    def doctor(*arguments: str) -> subprocess.CompletedProcess[str]:
        argv = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", str(stranger / "doctor/bin/gpudoctor"), *arguments]
        return subprocess.run(argv, env=variables, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1500)

    start = _state(home)
    done = doctor("setup", name, "--yes")
    text = " ".join(done.stdout.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Done and verified: computed on {device}" in text, done.stdout
    assert (home / "gpudoctor" / name / "bin" / "python").exists()
    undone = doctor("setup", "--undo")
    assert undone.returncode == 0, undone.stdout + undone.stderr
    assert _state(home) == start


def _state(home: Path) -> dict[str, str]:
    """The home folder and /etc. The journal of setup stays: it is the history."""
    journal = f"{home}/.local"
    return {path: what for path, what in _listing(Path("/"), (str(home), "/etc")) if not path.lstrip("/").startswith(journal.lstrip("/"))}
