"""Exports with checksums, resolved by a real uv: they install what is in their list, and stop where a file is another one."""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from debian_root import DebianRoot
from installed_doctor import site_variables, trust_as_here

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from plan_cases_makers import BARE

pytestmark = pytest.mark.rotates("slow", member="locked exports")

MACHINES = Path(__file__).parents[1] / "machines"


@pytest.fixture
def export(environment: Callable[[str], Path]) -> Callable[..., str]:
    def made(name: str, capture: Path, *options: str) -> str:
        argv = [sys.executable, "-m", "gpudoctor", "setup", name, "--capture", str(capture), "--format", "sh", "--online", *options]
        env = {**os.environ, "PATH": f"{environment('uv')}/bin:{os.environ['PATH']}"}
        done = subprocess.run(argv, capture_output=True, text=True, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return made


def test_the_locked_script_computes_and_takes_no_other_file(export: Callable[..., str], tmp_path: Path) -> None:
    BARE.expect().write(tmp_path)
    script = export("openvino", tmp_path / BARE.name)
    assert len(re.findall(r"^[a-z0-9-]+==\S+ --hash=sha256:[0-9a-f]{64}$", script, re.M)) >= 2
    with DebianRoot.fresh(packages=("ca-certificates",)) as root:
        trust_as_here(root)
        other = re.sub(r"(openvino==\S+ --hash=sha256:)(.)", lambda found: f"{found[1]}{'0' if found[2] != '0' else '1'}", script, count=1)
        root.write("/root/other.sh", other)
        refused = root.run(["bash", "/root/other.sh"], check=False, env=site_variables())
        assert refused.returncode != 0 and "DO NOT MATCH" in refused.stdout, refused.stdout[-3000:]
        root.write("/root/setup.sh", script)
        done = root.run(["bash", "/root/setup.sh"], check=False, env=site_variables())
        assert done.returncode == 0 and "devices: CPU" in done.stdout, done.stdout[-4000:]


def wheel(folder: Path, name: str, version: str) -> str:
    """A small wheel, on a page as PyTorch's index writes it: the checksum behind the address."""
    info = f"{name}-{version}.dist-info"
    page = folder / "xpu" / name
    page.mkdir(parents=True)
    path = page / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (page / "index.html").write_text(f'<!DOCTYPE html><a href="{path.name.replace("+", "%2B")}#sha256={digest}">{path.name}</a>')
    return digest


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_checksums_of_pytorchs_index_are_taken(export: Callable[..., str], served: str, tmp_path: Path) -> None:
    digests = {name: wheel(tmp_path, name, f"{version}+xpu") for name, version in (("torch", "2.15.0"), ("torchvision", "0.29.2"))}
    script = export("torch-xpu", MACHINES / "arc-a770-whole-slot", "--mirror", f"pytorch={served}")
    assert f"torch==2.15.0+xpu --hash=sha256:{digests['torch']}\n" in script
    assert f"torchvision==0.29.2+xpu --hash=sha256:{digests['torchvision']}\n" in script
