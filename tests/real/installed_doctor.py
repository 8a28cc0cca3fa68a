"""gpudoctor as a stranger installs it: the wheel of this checkout in an environment of its own, from the real package index."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from debian_root import REPOSITORY, DebianRoot

CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
DOCTOR = "/opt/doctor/bin/gpudoctor"


def wheel(folder: Path) -> Path:
    """Built from a clean clone: what is committed, nothing else."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "-q", "--no-local", str(REPOSITORY), str(clone)], check=True)
    argv = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder / "wheel"), str(clone)]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return next((folder / "wheel").glob("*.whl"))


def site_variables() -> dict[str, str]:
    """What this site says of its proxy and its certificates; files that it names are copied by `trust_as_here`."""
    names = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "https_proxy", "no_proxy")
    return {name: os.environ[name] for name in names if name in os.environ}


def trust_as_here(root: DebianRoot) -> None:
    """Where this site has an authority of its own (a proxy), the root knows it too."""
    for path in {CERTIFICATES, *(value for value in site_variables().values() if os.path.isfile(value))}:
        if os.path.exists(path):
            root.here(path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root.here(path))


def install(root: DebianRoot, built: Path) -> None:
    """Into /opt/doctor, away from what is compared."""
    trust_as_here(root)
    target = root.here(f"/opt/{built.name}")
    shutil.copy(built, target)
    root.run(["python3", "-m", "venv", "/opt/doctor"])
    root.run(["/opt/doctor/bin/python", "-m", "pip", "install", "-q", "--no-cache-dir", f"/opt/{built.name}"], env=site_variables())
    target.unlink()
