"""`setup torch-xpu` and `setup ipex` from nothing to their end against mirrors on loopback, and what happens when a mirror lies or dies.

There is no Intel GPU here: the right end is 'installed, not verified', and the exit status 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from apt_repository import SigningKey
from setup_bench import Bench, Machine, bench_in
from vendor_mirrors import CONFIG


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench_in(tmp_path_factory.mktemp("mirrors")) as bench:
        yield bench


@pytest.fixture
def machine(bench: Bench) -> Iterator[Machine]:
    with bench.machine() as machine:
        yield machine


@pytest.mark.rotates("a setup from mirrors")
@pytest.mark.parametrize(
    ("name", "distributions"),
    [
        ("torch-xpu", {"torch": "2.9.0+xpu", "torchvision": "0.24.0+xpu"}),
        ("ipex", {"torch": "2.8.0+xpu", "torchvision": "0.23.0+xpu", "intel-extension-for-pytorch": "2.8.10+xpu"}),
    ],
)
def test_it_ends_installed_and_not_verified_and_undo_gives_the_start_state(
    machine: Machine, name: str, distributions: dict[str, str]
) -> None:
    done = machine.setup(name, "--yes")
    text = " ".join(done.stdout.split())
    assert done.returncode == 1, done.stdout
    assert "Installed, not verified: no Intel GPU here" in text
    assert f"the first rung of {name} that is not ok: device (no Intel GPU on this machine)" in text, text
    root = machine.root
    listed = json.loads(root.out([f"/root/gpudoctor/{name}/bin/python", "-m", "pip", "list", "--format=json"]))
    assert {row["name"].lower().replace("_", "-"): row["version"] for row in listed}.items() >= distributions.items()
    now = root.state()
    assert {"libze1", "intel-opencl-icd", "libze-intel-gpu1", "clinfo"} <= now.manual
    assert {"libigc2", "libigdgmm12"} <= now.auto
    assert "anna" in root.out(["getent", "group", "render"])
    history = machine.setup("--history").stdout
    assert name in history and "unverified" in history
    machine.undo()
    assert "undone" in machine.setup("--history").stdout


@pytest.mark.rotates("a setup from mirrors")
def test_a_wrong_fingerprint_is_refused_and_nothing_stays(machine: Machine) -> None:
    machine.root.write(CONFIG, machine.mirrors.config("0123456789ABCDEF0123456789ABCDEF01234567"))
    machine.start = machine.root.state()
    done = machine.setup("torch-xpu", "--yes")
    text = " ".join(done.stdout.split())
    assert done.returncode == 1, done.stdout
    assert "cannot start" in text and "expected the key 0123 4567 89AB" in text and "Nothing was changed." in text, done.stdout
    assert machine.is_as_before()
    assert not machine.root.here("/root/gpudoctor").exists()
    assert "nothing to undo" in machine.setup("--undo").stdout


@pytest.mark.rotates("a setup from mirrors")
@pytest.mark.parametrize("how", ["unsigned", "signed by another key"])
def test_a_repository_that_the_pinned_key_did_not_sign_is_refused(machine: Machine, tmp_path: Path, how: str) -> None:
    if how == "unsigned":
        machine.mirrors.repository.publish(sign=False)
    else:
        machine.mirrors.repository.publish(key=SigningKey(tmp_path / "other"))
    done = machine.setup("torch-xpu", "--yes")
    assert done.returncode == 1, done.stdout
    assert "sign" in done.stdout.partition("FAILED")[2] or "sign" in done.stdout.partition("cannot start")[2], done.stdout
    assert machine.is_as_before()
    machine.mirrors.repository.publish()
    machine.undo()


@pytest.mark.rotates("a setup from mirrors")
def test_a_wheel_with_another_checksum_is_refused_and_the_run_goes_on_when_the_index_is_mended(machine: Machine) -> None:
    machine.mirrors.index.wrong_hash = {"torch"}
    done = machine.setup("torch-xpu", "--yes")
    assert done.returncode == 1, done.stdout
    assert "checksum" in done.stdout or "hash" in done.stdout.lower(), done.stdout
    env = machine.root.here("/root/gpudoctor/torch-xpu")
    assert not list(env.glob("lib/python3*/site-packages/torch*"))
    machine.mirrors.heal()
    resumed = machine.setup("--resume")
    assert resumed.returncode == 1 and "Installed, not verified" in resumed.stdout, resumed.stdout
    machine.undo()


@pytest.mark.rotates("a setup from mirrors")
@pytest.mark.parametrize("dies_at", ["Packages", "intel-opencl-icd"])
def test_a_repository_that_dies_in_the_middle_loses_nothing(machine: Machine, dies_at: str) -> None:
    machine.mirrors.packages.dies_at = dies_at
    done = machine.setup("torch-xpu", "--yes")
    assert done.returncode == 1, done.stdout
    # preflight may have asked for the index first: then nothing was begun at all
    begun = "FAILED" in done.stdout
    assert begun or "cannot start" in done.stdout, done.stdout
    assert "libze1" not in {name.partition(":")[0] for name in machine.root.state().packages}
    machine.mirrors.packages.heal()
    resumed = machine.setup("--resume") if begun else machine.setup("torch-xpu", "--yes")
    assert resumed.returncode == 1 and "Installed, not verified" in resumed.stdout, resumed.stdout
    machine.undo()


@pytest.mark.rotates("a setup from mirrors")
def test_a_repository_that_dies_can_be_undone_at_once(machine: Machine) -> None:
    machine.mirrors.packages.dies_at = "intel-opencl-icd"
    assert machine.setup("torch-xpu", "--yes").returncode == 1
    machine.undo()


@pytest.mark.rotates("a setup from mirrors")
def test_an_index_that_dies_for_a_while_is_asked_again_and_one_that_stays_dead_stops_the_run(machine: Machine) -> None:
    machine.mirrors.index.dies = {"torch": 1}
    done = machine.setup("torch-xpu", "--yes")
    assert "Installed, not verified" in done.stdout, done.stdout
    machine.undo()
    machine.mirrors.index.dies = {"torch": -1}
    done = machine.setup("torch-xpu", "--yes")
    assert done.returncode == 1 and "FAILED" in done.stdout, done.stdout
    machine.mirrors.heal()
    resumed = machine.setup("--resume")
    assert resumed.returncode == 1 and "Installed, not verified" in resumed.stdout, resumed.stdout
    machine.undo()
