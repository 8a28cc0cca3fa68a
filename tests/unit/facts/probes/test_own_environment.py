"""The environment of gpudoctor itself is not the patient, unless there is no other or a framework lies in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.facts.probes.interpreter import find_target
from gpudoctor.system.local_host import LocalHost


def environment(folder: Path, *packages: str) -> Path:
    site = folder / "lib/python3.11/site-packages"
    (folder / "bin").mkdir(parents=True)
    site.mkdir(parents=True)
    for name in ("pip", *packages):
        (site / name).mkdir()
    for name in ("python", "python3"):
        (folder / "bin" / name).write_text("#!/bin/sh\n")
        (folder / "bin" / name).chmod(0o755)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
    return folder


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalHost:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    found = LocalHost(quick=True)
    found.own_environment = str(tmp_path / "own")
    return found


def test_the_next_python_on_path_is_taken(host: LocalHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = environment(tmp_path / "own"), environment(tmp_path / "other", "torch")
    monkeypatch.setenv("PATH", f"{own}/bin:{other}/bin")
    assert find_target(host).prefix == str(other)


def test_an_activated_one_of_ours_is_passed_over(host: LocalHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = environment(tmp_path / "own"), environment(tmp_path / "other")
    monkeypatch.setenv("VIRTUAL_ENV", str(own))
    monkeypatch.setenv("PATH", f"{own}/bin:{other}/bin")
    assert find_target(host).prefix == str(other)


def test_without_another_it_is_taken_and_called_ours(host: LocalHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = environment(tmp_path / "own")
    monkeypatch.setenv("PATH", f"{own}/bin")
    target = find_target(host)
    assert target.prefix == str(own) and "gpudoctor's own environment" in target.why


def test_with_a_framework_in_it_it_is_the_patient(host: LocalHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = environment(tmp_path / "own", "torch"), environment(tmp_path / "other")
    monkeypatch.setenv("PATH", f"{own}/bin:{other}/bin")
    assert find_target(host).prefix == str(own)
