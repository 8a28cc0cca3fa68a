"""`fleet run` on real hosts: network namespaces with sshd, reached by ClusterShell and by Ansible."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from debian_root import REPOSITORY
from fleet_hosts import Fleet, fleet
from pyz_builder import clone, packed

from gpudoctor.model.fleet_row import FleetRow
from gpudoctor.system.fleet_store import FleetStore

pytestmark = [pytest.mark.real, pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces and a Debian root need root")]
DOCTOR = [sys.executable, "-m", "gpudoctor"]
HOSTS = {
    "gpu01": "machine h100-server-rdma",
    "gpu02": "machine arc-a770-whole-slot",
    "gpu03": "hang",
    "gpu04": "machine ipu-healthy",
    "gpu05": "die",
    "gpu06": "garbage",
    "gpu07": "flood",
    "gpu08": "impostor",
    "gpu09": "old",
    "gpu10": "absent",
    "gpu11": "crash",
}
GOOD = ("gpu01", "gpu02")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp("fleet"), HOSTS, without_server=["gpu04"]) as running:
        yield running


def collect(*words: str, env: Mapping[str, str], store: Path, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    argv = [*DOCTOR, "fleet", "run", "--store", str(store), *words]
    return subprocess.run(
        argv, env={**env, "PYTHONPATH": f"{REPOSITORY}:/opt/site-packages"}, capture_output=True, text=True, timeout=timeout
    )


def kept(store: Path) -> dict[str, FleetRow]:
    return {row.host: row for row in FleetStore(store).rows()}


def test_by_clustershell_each_fault_has_its_reason_and_stops_no_other(hosts: Fleet, tmp_path: Path) -> None:
    began = time.monotonic()
    done = collect(
        "--hosts", "@gpu", "--timeout", "40", "--labels", "role=train", "--expect-hosts", "gpu[01-12]", env=hosts.env, store=tmp_path
    )
    assert done.returncode == 4, done.stdout + done.stderr
    assert done.stdout.startswith("2 of 12 hosts answered.\n"), done.stdout
    assert done.stderr == ""
    rows = kept(tmp_path)
    assert sorted(rows) == [*sorted(HOSTS), "gpu12"]
    assert len({row.run for row in rows.values()}) == 1
    assert {name for name, row in rows.items() if not row.failed} == set(GOOD)
    assert len(rows["gpu01"].cards) == 2 and rows["gpu02"].cards and rows["gpu01"].labels == {"role": "train"}
    reasons = {name: row.failed for name, row in rows.items() if row.failed}
    assert reasons["gpu03"] == "no answer within 40 s"
    assert reasons["gpu04"] == "ssh: connection refused"
    assert reasons["gpu05"] in ("ssh: the connection was closed", "its answer broke off in the middle")
    assert reasons["gpu06"] == "its answer is no row"
    assert reasons["gpu07"] == "its answer has more than 65536 bytes"
    assert reasons["gpu08"] == "it answered as gpu01"
    assert reasons["gpu09"] == "it answered for another run, 2020-01-01"
    assert reasons["gpu10"].startswith("the command is not there (sh: 1: gpudoctor: not found)")
    assert reasons["gpu11"] == "exit status 3 without an answer: Traceback: something"
    assert reasons["gpu12"] == "it was expected, and the engine knows no such host"
    assert time.monotonic() - began < 120  # one that hangs holds nobody up for longer than its own time
    assert {place.partition(",")[0] for place in FleetStore(tmp_path).refused()} >= {"gpu06", "gpu08", "gpu09"}
    assert "\x1b" not in done.stdout and "owned" not in done.stdout


def test_through_a_gateway_of_clustershell(hosts: Fleet, tmp_path: Path) -> None:
    """Tree mode: this machine speaks with gpu01 alone, and gpu01 with the others. A long answer of one of them does not end the channel."""
    env = hosts.tree("gpu01", "gpu[02-03,05-07,10-11]")
    hosts.behave({"gpu06": "long"})
    done = collect("--hosts", "gpu[01-03,05-07,10-11]", "--timeout", "40", env=env, store=tmp_path)
    hosts.behave({"gpu06": HOSTS["gpu06"]})
    assert done.returncode == 4, done.stdout + done.stderr
    rows = kept(tmp_path)
    assert {name for name, row in rows.items() if not row.failed} == set(GOOD), done.stdout + done.stderr
    reasons = {name: row.failed for name, row in rows.items() if row.failed}
    assert reasons["gpu03"] == "no answer within 40 s"
    assert reasons["gpu05"] in ("ssh: the connection was closed", "its answer broke off in the middle")
    assert reasons["gpu06"] == "its answer is no row"
    assert reasons["gpu07"] == "no answer within 40 s"  # the gateway keeps what comes without a line feed
    assert reasons["gpu10"].startswith("the command is not there (sh: 1: gpudoctor: not found)")
    assert reasons["gpu11"] == "exit status 3 without an answer: Traceback: something"
    assert not of_config(hosts), "ssh still runs"


def test_all_good_is_status_0_and_silent_in_a_pipe(hosts: Fleet, tmp_path: Path) -> None:
    done = collect("--hosts", "gpu[01-02]", env=hosts.env, store=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert done.stdout == f"2 of 2 hosts answered.\n\nNext: gpudoctor fleet show --store {tmp_path}\n"


def test_ctrl_c_keeps_the_rows_and_leaves_no_ssh(hosts: Fleet, tmp_path: Path) -> None:
    argv = [*DOCTOR, "fleet", "run", "--store", str(tmp_path), "--hosts", "gpu[01-03]", "--timeout", "200"]
    env = {**hosts.env, "PYTHONPATH": str(REPOSITORY)}
    process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 90
    while len(list(tmp_path.glob("rows/*/*.json"))) < 2 and time.monotonic() < until:
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=20)
    assert process.returncode == 130, errors
    assert "the rows of 2 hosts were kept; 1 had not answered" in errors and output == ""
    assert sorted(kept(tmp_path)) == list(GOOD)
    assert not of_config(hosts), "ssh still runs"


def of_config(hosts: Fleet) -> list[str]:
    """The command lines of ssh that use the configuration of these hosts."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"ssh") and str(hosts.folder / "config").encode() in words:
            found.append(repr(words))
    return found


def quick_collector(store: Path, hosts: str, work: Path) -> list[str]:
    """A collector whose hosts answer at once: the site's `ssh` is a program that prints a row after a moment."""
    (work / "clustershell" / "groups.d").mkdir(parents=True, exist_ok=True)
    ssh = work / "ssh"
    if not ssh.exists():
        ssh.write_text(
            "#!/bin/sh\n"
            'for word in $(echo "$*"); do case $word in\n'
            "GPUDOCTOR_FLEET_RUN=*) run=${word#*=};; GPUDOCTOR_HOST=*) host=${word#*=};; esac; done\n"
            "sleep 0.0$(( $$ % 10 ))\n"
            'printf \'{"schema":"gpudoctor.row/1","host":"%s","run":"%s",\' "$host" "$run"\n'
            'echo \'"created":"2026-11-23T00:00:00Z","tool":"test"}\'\n'
        )
        ssh.chmod(0o755)
    return [*DOCTOR, "fleet", "run", "--store", str(store), "--hosts", hosts]


def test_a_collector_killed_at_any_moment_leaves_a_store_that_goes_on(tmp_path: Path) -> None:
    store, seen, total = tmp_path / "store", 0, 0
    argv = quick_collector(store, "n[001-080]", tmp_path)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(REPOSITORY)}
    assert subprocess.run(argv, env=env, capture_output=True, timeout=120).returncode == 0
    for number in range(12):
        process = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        if number < 3:
            time.sleep(0.2 * number)  # while it begins
        else:
            wanted = len(list(store.glob("rows/*/*.json"))) + 8 * (number - 3) + 1  # while rows arrive
            while process.poll() is None and len(list(store.glob("rows/*/*.json"))) < wanted:
                time.sleep(0.002)
        process.kill()
        process.wait()
        rows = list(FleetStore(store).every())
        files = [path for path in store.glob("rows/*/*.json") if not path.name.startswith(".")]
        assert len(rows) == len(files) >= seen  # each file is a whole row, and none went away
        seen = len(rows)
        total += seen > 80
    assert total, "no kill came while rows were written"
    assert subprocess.run(argv, env=env, capture_output=True, timeout=120).returncode == 0
    assert len(kept(store)) == 80 and FleetStore(store).runs()[0].hosts == 80


def test_two_collectors_at_once_lose_nothing(tmp_path: Path) -> None:
    store = tmp_path / "store"
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(REPOSITORY)}
    both = [quick_collector(store, nodes, tmp_path) for nodes in ("a[001-100]", "b[001-100]", "a[001-100]")]
    processes = [subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True) for argv in both]
    while any(process.poll() is None for process in processes):
        FleetStore(store).runs() if (store / "rows").is_dir() else None  # a reader meanwhile
        time.sleep(0.05)
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(list(FleetStore(store).every())) == 300
    assert sorted(info.hosts for info in FleetStore(store).runs()) == [100, 100, 100]
    json.loads(next(store.glob("rows/*/*.json")).read_text())


def test_the_role_of_ansible_takes_the_rows_of_the_same_hosts(hosts: Fleet, tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    (tmp_path / "inventory").write_text("".join(f"{name}\n" for name in ("gpu01", "gpu02", "gpu04", "gpu11")))
    env = {
        **hosts.env, "ANSIBLE_HOST_KEY_CHECKING": "False", "ANSIBLE_HOME": str(tmp_path / "ansible"), "ANSIBLE_LOCALHOST_WARNING": "False",
        "PATH": f"{Path(sys.executable).parent}:{hosts.env['PATH']}", "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3",
        "ANSIBLE_SSH_EXECUTABLE": str(hosts.folder / "bin" / "ssh"), "LC_ALL": "C.UTF-8",
    }  # fmt: skip
    book = REPOSITORY / "packaging/fleet/ansible/collect.yml"
    given = ["-e", f"gpudoctor_rows={rows}", "-e", "gpudoctor_row_labels=role=train", "-e", "gpudoctor_row_timeout=60"]
    done = subprocess.run(
        ["ansible-playbook", "-i", str(tmp_path / "inventory"), *given, str(book)], env=env, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode in (2, 4), done.stdout + done.stderr  # one cannot be reached, and one crashes
    assert sorted(path.name for path in rows.iterdir()) == ["gpu01.json", "gpu02.json"], done.stdout + done.stderr
    added = subprocess.run(
        [*DOCTOR, "fleet", "add", "--store", str(tmp_path / "store"), str(rows)], capture_output=True, text=True, timeout=60
    )
    assert added.returncode == 0, added.stderr
    found = kept(tmp_path / "store")
    assert sorted(found) == list(GOOD) and found["gpu01"].labels == {"role": "train"} and found["gpu02"].cards


def test_the_zipapp_is_copied_run_and_removed(hosts: Fleet, tmp_path: Path) -> None:
    file = packed(clone(tmp_path / "clone"), tmp_path / "gpudoctor.pyz")
    before = set(os.listdir(hosts.root.here("/tmp")))
    done = collect("--hosts", "gpu03,gpu10", "--deploy", str(file), "--timeout", "150", env=hosts.env, store=tmp_path / "store")
    assert done.returncode == 0, done.stdout + done.stderr  # gpudoctor of these hosts, which hangs and is absent, was not called
    assert sorted(kept(tmp_path / "store")) == ["gpu03", "gpu10"]
    assert not {name for name in set(os.listdir(hosts.root.here("/tmp"))) - before if name.startswith("gpudoctor-")}
    assert not hosts.root.here("/root/.cache/gpudoctor/pyz").exists()
