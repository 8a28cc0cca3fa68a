"""Builds gpudoctor.pyz: one file that runs with any CPython from 3.10 to 3.14 on Linux, without an installation.

    python packaging/pyz/build.py -o dist/gpudoctor.pyz
    python packaging/pyz/build.py --machine aarch64 -o dist/gpudoctor-aarch64.pyz
    python packaging/pyz/build.py --lock          # takes the newest dependencies into lock.json

pex packs the wheel of this checkout and the locked dependencies, each with its compiled parts for every Python. At its first start the file
unpacks itself into ~/.cache/gpudoctor/pyz, or into a temporary folder where there is no home to write to; from then on it starts as
fast as an installed gpudoctor. The same checkout and lock give the same bytes: the wheel has no time but SOURCE_DATE_EPOCH, and pex none.

Needs pex (pip install '.[release]') and, for dependencies that are not in its cache, the package index.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = Path(__file__).resolve().with_name("lock.json")
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
EPOCH = "315532800"  # 1980-01-01, the oldest time that a zip archive can hold
UNPACKED = "~/.cache/gpudoctor/pyz"


def wheel(folder: Path) -> Path:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", EPOCH)}
    words = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--disable-pip-version-check",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(words, check=True, env=environment)
    return next(folder.glob("gpudoctor-*.whl"))


def build(output: Path, machine: str, pythons: list[str]) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    platforms = []
    for python in pythons:
        tag = "cp" + python.replace(".", "")
        platforms += ["--platform", f"manylinux2014_{machine}-cp-{tag[2:]}-{tag}"]
    with tempfile.TemporaryDirectory() as folder:
        # /usr/bin/python3 runs it where there is one; else the PATH is searched, also for another Python where that one is too old.
        subprocess.run(
            [
                sys.executable, "-m", "pex", "--project", str(wheel(Path(folder))), "--lock", str(LOCK), *platforms, "--no-build",
                "--console-script", "gpudoctor", "--venv", "--sh-boot", "--python-shebang", "#!/usr/bin/python3", "--include-tools",
                "--runtime-pex-root", UNPACKED, "--no-emit-warnings", "--output-file", str(output),
            ],
            check=True,
        )  # fmt: skip


def lock() -> None:
    if sys.version_info < (3, 11):
        raise SystemExit("packaging/pyz/build.py --lock: needs Python 3.11 or newer, which can read pyproject.toml")
    import tomllib

    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    command = [sys.executable, "-m", "pex.cli", "lock", "create", "--style", "universal", "--target-system", "linux"]
    command += ["--interpreter-constraint", f">={PYTHONS[0]},<3.{int(PYTHONS[-1].partition('.')[2]) + 1}", "--indent", "2"]
    subprocess.run([*command, "--output", str(LOCK), *dependencies], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist" / "gpudoctor.pyz")
    parser.add_argument("--machine", choices=MACHINES, default=MACHINES[0])
    parser.add_argument("--python", action="append", choices=PYTHONS, help="only for this Python; may be given again")
    parser.add_argument("--lock", action="store_true", help="write lock.json and build nothing")
    given = parser.parse_args()
    if given.lock:
        lock()
    else:
        build(given.output, given.machine, given.python or list(PYTHONS))


if __name__ == "__main__":
    main()
