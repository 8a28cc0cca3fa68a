"""`fleet run --engine srun`, the health check and the prolog on a real Slurm: slurmctld, five slurmd, munged, all on this machine."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from debian_root import REPOSITORY
from fleet_hosts import fleet
from fleet_slurm import Slurm
from pyz_builder import clone, packed

from gpudoctor.model.fleet_row import FleetRow
from gpudoctor.system.fleet_store import FleetStore

pytestmark = [pytest.mark.real, pytest.mark.skipif(os.geteuid() != 0, reason="Slurm with network namespaces needs root")]
HOSTS = {
    "ctl": "absent",
    "n1": "machine h100-server-rdma",
    "n2": "machine arc-a770-whole-slot",
    "n3": "hang",
    "n4": "garbage",
    "n5": "crash",
}
HEALTH = "HealthCheckProgram=/usr/local/sbin/gpudoctor-health-check.sh\nHealthCheckInterval=5\nHealthCheckNodeState=ANY\n"
PROLOG = "Prolog=/usr/local/sbin/gpudoctor-prolog.sh\nPrologFlags=Alloc\n"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with fleet(tmp_path_factory.mktemp("slurm"), HOSTS, without_server=list(HOSTS)) as hosts:
        for script in ("gpudoctor-health-check.sh", "gpudoctor-prolog.sh"):
            hosts.root.write(f"/usr/local/sbin/{script}", (REPOSITORY / "packaging/fleet/slurm" / script).read_text(), 0o755)
        hosts.root.write("/etc/gpudoctor/fleet.conf", "ROWS=/shared/rows\n")
        cluster = Slurm(hosts, HEALTH + PROLOG)
        cluster.begin()
        yield cluster


def collect(slurm: Slurm, store: str, *words: str, nodes: str = "n[1-5]") -> tuple[str, dict[str, FleetRow]]:
    doctor = slurm.hosts.root.doctor_argv(["fleet", "run", "--store", store, *words])
    said = slurm.run(["salloc", "--quiet", f"--nodelist={nodes}", *doctor], check=False)
    return said, {row.host: row for row in FleetStore(slurm.hosts.root.here(store)).rows()}


def test_by_srun_inside_an_allocation(slurm: Slurm) -> None:
    said, rows = collect(slurm, "/root/store", "--timeout", "40", "--labels", "role=train")
    assert said.startswith("2 of 5 hosts answered.\n"), said + slurm.logs()
    assert sorted(rows) == ["n1", "n2", "n3", "n4", "n5"]
    assert (
        [card.vendor for card in rows["n1"].cards] == ["nvidia", "nvidia"] and rows["n2"].cards and rows["n2"].labels == {"role": "train"}
    )
    assert rows["n3"].failed == "no answer within 40 s"
    assert rows["n4"].failed == "no answer within 40 s; what it sent is no row"  # srun waits for n3, and says nothing of n4
    assert rows["n5"].failed == "exit status 3 without an answer: Traceback: something"


def test_hosts_outside_of_the_allocation_are_refused(slurm: Slurm) -> None:
    said, rows = collect(slurm, "/root/other", "--engine", "srun", "--hosts", "n1,n9", nodes="n[1-2]")
    assert "n9 is not in the allocation" in said and not rows


def test_the_zipapp_is_broadcast_run_and_removed(slurm: Slurm, tmp_path: Path) -> None:
    file = packed(clone(tmp_path / "clone"), tmp_path / "gpudoctor.pyz")
    root = slurm.hosts.root
    root.here("/root/gpudoctor.pyz").write_bytes(file.read_bytes())
    before = set(os.listdir(root.here("/tmp")))
    said, rows = collect(slurm, "/root/deployed", "--deploy", "/root/gpudoctor.pyz", "--timeout", "120", nodes="n1")
    assert said.startswith("1 of 1 host answered."), said
    assert rows["n1"].tool.startswith("gpudoctor ") and not rows["n1"].failed
    left = {name for name in set(os.listdir(root.here("/tmp"))) - before if name.startswith("gpudoctor-")}
    assert left == set() and not root.here("/root/.cache/gpudoctor/pyz").exists()


def test_the_health_check_leaves_rows_and_drains_a_node_with_an_error(slurm: Slurm) -> None:
    folder = slurm.hosts.root.here("/shared/rows")
    until = time.monotonic() + 90
    while time.monotonic() < until and not ((folder / "n1.json").exists() and (folder / "n2.json").exists()):
        time.sleep(1)
    rows = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
    assert {"n1", "n2"} <= set(rows) <= {"n1", "n2"}, slurm.logs()
    bad = {name for name, row in rows.items() if any(each["severity"] == "error" for each in row["findings"])}
    slurm.hosts.root.write("/etc/gpudoctor/fleet.conf", "ROWS=/shared/rows\nDRAIN=yes\n")
    time.sleep(20)
    reasons = slurm.run(["sinfo", "--noheader", "--Node", "--format", "%N %t %E"])
    for name in ("n1", "n2"):
        drained = f"{name} drain gpudoctor: errors" in " ".join(reasons.split()) or f"{name} drng gpudoctor" in reasons
        assert drained == (name in bad), reasons
    added = FleetStore(slurm.hosts.root.here("/root/dropped"))
    for path in folder.glob("*.json"):
        added.add(path.read_bytes())
    assert sorted(row.host for row in added.rows()) == ["n1", "n2"]
