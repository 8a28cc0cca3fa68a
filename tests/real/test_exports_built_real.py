"""Exports as `setup` writes them for a recorded machine, really built: script and playbook in a bare Debian, the Dockerfile by buildah.

The recorded machine has neither the packages nor an environment; each export ends in its own verification.
"""

from __future__ import annotations

import contextlib
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from debian_root import DebianRoot, _tarball
from installed_doctor import CERTIFICATES, site_variables, trust_as_here
from layered_root import private_mounts

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from plan_cases_makers import BARE

pytestmark = pytest.mark.rotates("slow", member="built exports")

BUILDAH = ("ca-certificates", "buildah", "netavark", "crun", "python3")
"""Of Debian 13: older ones do not know heredocs in a Dockerfile."""
BASE = ("ca-certificates",)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("machines")
    BARE.expect().write(folder)
    return folder / BARE.name


def export(recorded: Path, name: str, form: str) -> str:
    argv = [sys.executable, "-m", "gpudoctor", "setup", name, "--capture", str(recorded), "--format", form]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def bare() -> Iterator[DebianRoot]:
    """Debian 12 with nothing but apt."""
    with DebianRoot.fresh(packages=BASE) as root:
        trust_as_here(root)
        yield root


@pytest.mark.parametrize(("name", "said"), [("openvino", "devices: CPU"), ("opencl", "Device #0")])
def test_the_script_stands_on_its_own(bare: DebianRoot, recorded: Path, name: str, said: str) -> None:
    bare.write("/root/setup.sh", export(recorded, name, "sh"))
    first = bare.run(["bash", "/root/setup.sh"], check=False, env=site_variables())
    assert first.returncode == 0 and said in first.stdout, first.stdout[-4000:]
    state = bare.state()
    again = bare.run(["bash", "/root/setup.sh"], env=site_variables())
    assert again.stdout.rstrip().endswith("Next: gpudoctor check --stack " + name), again.stdout
    # the verification alone leaves something: OpenVINO counts its imports, PoCL keeps its kernels
    left = [line for line in bare.state().differences(state) if not line.startswith(("file /root/intel/", "file /root/.cache/"))]
    assert left == []


def test_the_playbook_stands_on_its_own(bare: DebianRoot, recorded: Path) -> None:
    bare.bind_doctor()  # Ansible is among the packages of this test environment, of the same Python
    bare.run(["apt-get", "install", "-y", "--no-install-recommends", "python3", "python3-apt"])
    bare.write("/root/setup.yml", export(recorded, "openvino", "ansible"))
    env = {**site_variables(), "PYTHONPATH": "/opt/site-packages", "LC_ALL": "C.UTF-8"}
    argv = ["python3", "-m", "ansible", "playbook", "-i", "localhost,", "-c", "local", "/root/setup.yml"]
    first = bare.run(argv, check=False, env=env)
    assert first.returncode == 0, first.stdout[-4000:]
    assert "changed=0" in bare.run(argv, env=env).stdout
    code = "import openvino; print('devices:', *openvino.Core().available_devices)"
    assert "devices: CPU" in bare.out(["/opt/venv/bin/python", "-c", code])


@contextlib.contextmanager
def mounted(root: DebianRoot) -> Iterator[None]:
    """buildah makes the mount of / private, so / must be one."""
    subprocess.run(["mount", "--bind", str(root.path), str(root.path)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(root.path)], check=False)


@pytest.fixture(scope="module")
def builder() -> Iterator[DebianRoot]:
    """A root with buildah, and debian:12 in its storage, made of what debootstrap makes."""
    private_mounts()
    with DebianRoot.fresh(suite="trixie", packages=BUILDAH) as root, mounted(root):
        trust_as_here(root)
        shutil.copy(_tarball("bookworm", BASE), root.here("/var/tmp/base.tar"))
        buildah(root, "from", "--name", "base", "scratch")
        buildah(root, "add", "base", "/var/tmp/base.tar", "/")
        buildah(root, "copy", "base", CERTIFICATES, CERTIFICATES)  # the authorities of this site
        buildah(root, "commit", "--rm", "base", "docker.io/library/debian:12")
        root.here("/var/tmp/base.tar").unlink()
        yield root


def buildah(root: DebianRoot, verb: str, *arguments: str) -> str:
    """Without a container runtime, and with the network and the certificates of this machine."""
    isolated = ["--isolation", "chroot"] if verb in ("from", "run", "build") else []
    limits = []
    if verb in ("from", "build"):  # by itself it asks for more than this process may have
        for name, limit in (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC)):
            soft, hard = resource.getrlimit(limit)
            limits += ["--ulimit", f"{name}={soft}:{hard}"]
    argv = ["buildah", "--storage-driver", "vfs", verb, *isolated, *limits, *arguments]
    return root.out(argv, timeout=1500, env={"BUILDAH_ISOLATION": "chroot"})


@pytest.mark.parametrize(("name", "said"), [("openvino", "devices: CPU"), ("opencl", "Device #0")])
def test_the_dockerfile_builds_an_image_that_computes(builder: DebianRoot, recorded: Path, name: str, said: str) -> None:
    builder.write("/root/image/Dockerfile", export(recorded, name, "dockerfile"))
    given = [f"--env={key}={value}" for key, value in site_variables().items()]
    buildah(builder, "build", "--pull=never", "--network", "host", *given, "-t", name, "/root/image")
    (line,) = [line for line in builder.read("/root/image/Dockerfile").splitlines() if line.startswith("# to try the device: ")]
    buildah(builder, "from", "--pull=never", "--name", f"try-{name}", name)
    command = line.partition(" IMAGE ")[2]
    assert said in buildah(builder, "run", f"try-{name}", "--", "bash", "-c", command)
