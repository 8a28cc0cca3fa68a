"""What children say, and how they ended."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.facts.derive.import_failures import classify, failures
from gpudoctor.facts.probes.frameworks import parse_child, payload
from gpudoctor.model.facts import Unknown
from gpudoctor.system.host import PAYLOAD_MARK, Ran


def line(**said: object) -> str:
    return f"{PAYLOAD_MARK}{json.dumps(said)}\n"


def test_stages_are_joined() -> None:
    text = (
        line(stage="import")
        + "noise\n"
        + line(stage="imported", imported=True, version="2.8.0", build="cpu")
        + line(stage="devices", devices=[])
    )
    said = parse_child(Ran(("python",), rc=0, stdout=text + line(stage="done", libraries=[], notes=[])), "torch")
    assert isinstance(said, dict)
    assert said["imported"] is True and said["devices"] == [] and said["error"] is None


def test_killed_by_a_signal_while_importing() -> None:
    said = parse_child(Ran(("python",), stdout=line(stage="import"), signal=4), "torch")
    assert isinstance(said, dict)
    assert said["error"]["kind"] == "signal" and said["error"]["name"] == "SIGILL" and said["imported"] is False


def test_crash_after_import_keeps_the_version() -> None:
    text = line(stage="import") + line(stage="imported", imported=True, version="2.8.0")
    said = parse_child(Ran(("python",), stdout=text, signal=11), "torch")
    assert isinstance(said, dict)
    assert said["imported"] is True and said["version"] == "2.8.0" and "after its import" in said["error"]["message"]


def test_timeout() -> None:
    said = parse_child(Ran(("python",), stdout=line(stage="import"), timed_out=True, seconds=28.0), "torch")
    assert isinstance(said, dict) and said["error"]["kind"] == "timeout"


def test_not_started_is_unknown() -> None:
    assert isinstance(parse_child(Ran(("python",), not_recorded=True), "torch"), Unknown)
    assert isinstance(parse_child(Ran(("python",), missing=True), "torch"), Unknown)
    assert isinstance(parse_child(Ran(("python",), timed_out=True), "torch"), Unknown)


def test_busy_device_is_unknown() -> None:
    text = (
        line(stage="import")
        + line(stage="imported", imported=True)
        + line(stage="devices", devices_skipped="device busy")
        + line(stage="done")
    )
    said = parse_child(Ran(("python",), rc=0, stdout=text), "torch")
    assert isinstance(said, dict) and said["devices"] == Unknown("device busy")


def test_exit_of_the_framework_takes_its_words_from_stderr() -> None:
    failed = line(stage="import") + line(stage="failed", error={"kind": "exception", "name": "SystemExit", "message": "SystemExit: 127"})
    ran = Ran(("python",), rc=0, stdout=failed, stderr="ERROR! X needs to work with PyTorch 2.8.*, but 2.13 is found.\n")
    said = parse_child(ran, "intel_extension_for_pytorch")
    assert isinstance(said, dict) and classify(said["error"])[0] == "version-demand"


@pytest.mark.parametrize(
    ("message", "family", "what"),
    [
        ("ImportError: /x/libfoo.so: undefined symbol: _ZN5torch3jitE", "symbol", "_ZN5torch3jitE"),
        ("OSError: libmkl_sycl.so.3: cannot open shared object file: No such file or directory", "missing-library", "libmkl_sycl.so.3"),
        ("ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by x)", "glibcxx", "GLIBCXX_3.4.30"),
        ("ImportError: /lib/libc.so.6: version `GLIBC_2.34' not found", "glibc", "GLIBC_2.34"),
        ("AttributeError: _ARRAY_API not found", "numpy-abi", "_ARRAY_API not found"),
        ("ImportError: /x/libtorch_cpu.so: file too short", "damaged", "/x/libtorch_cpu.so"),
        ("ModuleNotFoundError: No module named 'torch.version'", "missing-part", "torch.version"),
        ("RuntimeError: something else", "exception", ""),
    ],
)
def test_families(message: str, family: str, what: str) -> None:
    assert classify({"kind": "exception", "name": "", "message": message}) == (family, what)


def test_remedy_fits_the_package_manager() -> None:
    said = {"torch": {"error": {"kind": "exception", "name": "ImportError", "message": "libGL.so.1: cannot open shared object file"}}}
    assert failures(said, "dnf", "python")[0]["remedy"].startswith("sudo dnf install mesa-libGL. ")
    assert failures({"torch": Unknown("not inspected"), "jax": {"error": None}}, "apt", "python") == []


@pytest.mark.starts_processes("the payload is run as the examined interpreter runs it")
def test_payload_says_its_stages_whatever_the_framework_prints(tmp_path: Path) -> None:
    (tmp_path / "jax.py").write_text(
        "import os\nprint('noise')\nos.write(1, b'more noise')\n__version__ = '0.9'\ndef devices(): return []\n"
    )
    argv = [sys.executable, payload("inspect_framework.py"), "jax"]
    ran = subprocess.run(argv, capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path)}, timeout=60)
    said = parse_child(Ran(tuple(argv), ran.returncode, ran.stdout, ran.stderr), "jax")
    assert isinstance(said, dict) and said["imported"] and said["version"] == "0.9" and "noise" not in ran.stdout
