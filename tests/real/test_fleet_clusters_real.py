"""`fleet run` on the workers of a real Dask cluster and a real Ray cluster, each in the environment of the cluster."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from debian_root import REPOSITORY
from loopback_sshd import free_port

from gpudoctor.model.fleet_row import FleetRow
from gpudoctor.system.fleet_store import FleetStore

pytestmark = pytest.mark.real


def collect(
    environment: Path, store: Path, *words: str, env: dict[str, str]
) -> tuple[subprocess.CompletedProcess[str], dict[str, FleetRow]]:
    argv = [str(environment / "bin" / "python"), "-m", "gpudoctor", "fleet", "run", "--store", str(store), *words]
    done = subprocess.run(argv, env={**env, "PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True, timeout=240)
    return done, {row.host: row for row in FleetStore(store).rows()}


@contextlib.contextmanager
def running(*commands: tuple[list[str], dict[str, str]]) -> Iterator[None]:
    processes: list[subprocess.Popen[bytes]] = []
    quiet = subprocess.DEVNULL
    try:
        for argv, env in commands:
            processes.append(subprocess.Popen(argv, env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=quiet, stderr=quiet))
            time.sleep(2)
        yield
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def test_dask_workers_answer_and_one_without_gpudoctor_says_so(environment: Callable[[str], Path], tmp_path: Path) -> None:
    place = environment("dask")
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    known = {**bare, "PYTHONPATH": str(REPOSITORY)}
    dask = str(place / "bin" / "dask")

    def worker(host: str) -> list[str]:
        local = str(tmp_path / host)
        return [dask, "worker", address, "--host", host, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--local-directory", local]

    scheduler = [dask, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    with running((scheduler, bare), (worker("127.0.0.2"), known), (worker("127.0.0.3"), known), (worker("127.0.0.4"), bare)):
        _wait_for_workers(place, address, 3)
        done, rows = collect(place, tmp_path / "store", "--engine", "dask", "--scheduler", address, "--timeout", "60", env=bare)
        assert done.returncode == 4, done.stdout + done.stderr
        assert sorted(rows) == ["127.0.0.2", "127.0.0.3", "127.0.0.4"]
        assert not rows["127.0.0.2"].failed and not rows["127.0.0.3"].failed
        assert rows["127.0.0.2"].values["python.version"].startswith("3.")
        assert rows["127.0.0.4"].failed == "gpudoctor is not installed in the environment of the worker"
        done, _ = collect(place, tmp_path / "store", "--hosts", address, "--engine", "dask", "--timeout", "60", env=bare)
        assert done.returncode == 4 and done.stdout.startswith("2 of 3 hosts answered."), done.stdout + done.stderr
        done, _ = collect(place, tmp_path / "store", "--engine", "dask", "--scheduler", address, "--hosts", "127.0.0.9", env=bare)
        assert done.returncode == 2 and "no worker runs on 127.0.0.9" in done.stderr
    done, _ = collect(place, tmp_path / "store", "--engine", "dask", "--scheduler", address, env=bare)
    assert done.returncode == 2 and "no scheduler of Dask answers there" in done.stderr, done.stderr


def _wait_for_workers(place: Path, address: str, number: int) -> None:
    code = f"from distributed import Client; Client({address!r}, timeout=20).wait_for_workers({number}, timeout=40)"
    subprocess.run([str(place / "bin" / "python"), "-c", code], check=True, timeout=90, capture_output=True)


def test_a_ray_task_for_each_node(environment: Callable[[str], Path], tmp_path: Path) -> None:
    place = environment("ray")
    env = {**os.environ, "RAY_TMPDIR": "/tmp/gpudoctor-ray", "RAY_DISABLE_IMPORT_WARNING": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    ray, port = str(place / "bin" / "ray"), free_port()
    known = {**env, "PYTHONPATH": str(REPOSITORY)}
    common = ["--num-cpus", "1", "--disable-usage-stats", "--object-store-memory", "80000000"]
    head = [ray, "start", "--head", "--port", str(port), "--node-ip-address", "127.0.0.2", "--include-dashboard", "false", *common]
    second = [ray, "start", "--address", f"127.0.0.2:{port}", "--node-ip-address", "127.0.0.3", *common]
    try:
        for argv in (head, second):
            begun = subprocess.run(argv, env=known, capture_output=True, text=True, timeout=120)
            assert begun.returncode == 0, begun.stdout + begun.stderr
        address = f"127.0.0.2:{port}"
        done, rows = collect(place, tmp_path / "store", "--engine", "ray", "--scheduler", address, "--timeout", "90", env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        assert sorted(rows) == ["127.0.0.2", "127.0.0.3"] and not any(row.failed for row in rows.values())
    finally:
        subprocess.run([ray, "stop", "--force"], env=env, capture_output=True, timeout=60)
        shutil.rmtree(env["RAY_TMPDIR"], ignore_errors=True)
