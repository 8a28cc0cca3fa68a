"""The files of packaging/fleet say what the code reads."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

FOLDER = Path(__file__).resolve().parents[2] / "packaging" / "fleet"


@pytest.mark.parametrize("name", ["job.yaml", "daemonset.yaml"])
def test_manifests_name_the_node_and_grant_little(name: str) -> None:
    manifest = yaml.safe_load((FOLDER / "kubernetes" / name).read_text())
    pod = manifest["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert manifest["spec"]["template"]["metadata"]["labels"] == manifest["metadata"]["labels"]
    assert {"name": "GPUDOCTOR_HOST", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}} in container["env"]
    assert "check --root /host --format row" in container["command"][-1]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert all(mount["readOnly"] for mount in container["volumeMounts"]) and pod["automountServiceAccountToken"] is False


def test_the_role_takes_the_exit_statuses_that_come_with_a_row() -> None:
    tasks = yaml.safe_load((FOLDER / "ansible/roles/gpudoctor_row/tasks/main.yml").read_text())
    examine = next(task for task in tasks if "ansible.builtin.command" in task)
    assert "not in [0, 1, 4]" in examine["failed_when"] and "GPUDOCTOR_HOST" in examine["environment"]
    unit = (FOLDER / "systemd" / "gpudoctor-row.service").read_text()
    assert "SuccessExitStatus=1 4" in unit and "--format row" in unit
