"""What `check` and `validate` write for pipelines, read by the validators that those formats have."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import format_validators
import pytest

pytestmark = pytest.mark.rotates("slow", member="pipeline formats")

MACHINES = Path(__file__).parents[1] / "machines"
HOSTILE = "A\x1b[31m]]>&<\x00\ufffe\"'\\{}\u202e%0A::error::|\n"
POLICY = """
[[device]]
count = 8
name = "100% \\"A100\\", <b>"

[versions]
kernel = ">=5"

[[throughput]]
workload = "resnet50"
at_least = 1

[[demand]]
name = "a::b, c%"
that = { fact = "os.id", is = "plan9" }
"""


def gpudoctor(*words: str, at: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "gpudoctor", *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=300, cwd=at, env={**os.environ, **env})


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A machine whose names are made to break out of every format: an NVIDIA card by nvidia-smi, packages, a kernel."""
    from machine_builder import Machine

    machine = Machine("hostile").linux("ubuntu 22.04", f"5.15.0{HOSTILE.strip()}").nvidia(name=f"RTX {HOSTILE}".replace("\n", " "))
    machine.expected = {"errors": [], "also": [], "first_broken": "", "verdicts": {}}
    machine.files["/etc/os-release"] = machine.files["/etc/os-release"].replace("22.04.4 LTS", HOSTILE.strip().replace("\x00", ""))
    return machine.environment_of({"torch": f"2.7.1{HOSTILE}", "numpy": "2.1.0"}).write(tmp_path_factory.mktemp("machines"))


@pytest.fixture(scope="module")
def written(hostile: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[tuple[Path, int, dict[str, Any]]]]:
    """Each recorded machine in a format: (file, exit status, the same report as JSON)."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "policy.toml").write_text(POLICY)
    reports: dict[str, Any] = {}

    def write(form: str) -> list[tuple[Path, int, dict[str, Any]]]:
        found = []
        for machine in (*sorted(path for path in MACHINES.iterdir() if path.is_dir()), hostile):
            target = folder / f"{machine.name}.{form}"
            options = ["check", "--capture", str(machine), "--expect", "policy.toml"]
            done = gpudoctor(*options, "--format", form, "-o", str(target), at=folder)
            assert done.returncode in (0, 1, 4) and done.stderr == "", (machine.name, done.stderr)
            if machine.name not in reports:
                reports[machine.name] = json.loads(gpudoctor(*options, "--format", "json", at=folder).stdout)
            found.append((target, done.returncode, reports[machine.name]))
        return found

    return write


def test_junit_is_valid_and_fails_where_check_does(written: Any) -> None:
    files = written("junit")
    for (path, status, report), (tests, failures, errors) in zip(
        files, format_validators.junit([path for path, _, _ in files]), strict=True
    ):
        assert tests > 10
        assert (status != 0) == bool(failures or errors), path
        assert failures == report["summary"]["errors"], path


def test_sarif_is_valid_and_names_files_and_lines(written: Any) -> None:
    files = written("sarif")
    counts = format_validators.sarif([path for path, _, _ in files])
    for (path, _, report), count in zip(files, counts, strict=True):
        run = json.loads(path.read_text())["runs"][0]
        keys = [result.get("partialFingerprints", {}).get("gpudoctorFinding/v1") for result in run["results"]]
        assert set(filter(None, keys)) == {finding["key"] for finding in report["findings"]}
        assert count == len(report["findings"]) + len(report["undetermined"])
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
        demanded = next(result for result in run["results"] if "8 x 100" in result["message"]["text"])
        place = demanded["locations"][0]["physicalLocation"]
        assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("policy.toml", 2)


def test_prometheus_is_what_promtool_accepts(written: Any) -> None:
    for path, _, report in written("prometheus"):
        text = path.read_text()
        format_validators.promtool(text)
        assert f'gpudoctor_findings{{severity="error"}} {report["summary"]["errors"]}\n' in text
        assert 'gpudoctor_policy_demands{state="unmet"}' in text


def test_annotations_are_what_githubs_own_library_writes(written: Any) -> None:
    for path, _, report in written("github"):
        annotations = path.read_text().splitlines()
        assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in annotations)
        assert len(annotations) == len(report["findings"]) + len(report["undetermined"]) + len(report["incomplete"])
    line = next(line for line in annotations if "a%3A%3Ab" in line)
    title, message = "Policy not met: a::b, c%", _undone(line.split("::", 2)[2])
    assert format_validators.github("error", {"file": "policy.toml", "line": "13", "title": title}, message) == line + "\n"


def _undone(text: str) -> str:
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def test_what_validate_writes_is_valid_too(environment: Callable[[str], Path], tmp_path: Path) -> None:
    options = ["validate", "--python", str(environment("torch-cpu")), "--workload", "matmul,memory_bandwidth", "--duration", "0.2"]
    junit, metrics = tmp_path / "measured.xml", tmp_path / "measured.prom"
    done = gpudoctor(*options, "--device", "cpu", "--format", "prometheus", "-o", str(metrics), XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    format_validators.promtool(metrics.read_text())
    assert 'gpudoctor_measurement_throughput{workload="matmul"' in metrics.read_text()
    done = gpudoctor(*options, "--device", "cpu", "--format", "junit", "-o", str(junit), XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert format_validators.junit([junit])[0][1:] == (0, 0)
    assert 'name="matmul micro float32' in junit.read_text()


def test_a_policy_demands_what_validate_measured(environment: Callable[[str], Path], tmp_path: Path) -> None:
    target = ["--python", str(environment("torch-cpu"))]
    policy, state = tmp_path / "policy.toml", {"XDG_STATE_HOME": str(tmp_path), "GPUDOCTOR_HISTORY": "1"}
    done = gpudoctor("validate", *target, "--workload", "matmul", "--duration", "0.2", "--device", "cpu", **state)
    assert done.returncode == 0, done.stderr
    gpudoctor("check", *target, "--write-expect", str(policy), **state)
    assert '[[throughput]]\nworkload = "matmul"' in policy.read_text()
    assert 'torch = "==2.13.*"' in policy.read_text()
    assert _states(target, policy, state) == {"met"}
    policy.write_text(re.sub(r"at_least = \S+", "at_least = 1e9", policy.read_text()))
    assert _states(target, policy, state) == {"met", "unmet"}
    assert _states(target, policy, {**state, "XDG_STATE_HOME": str(tmp_path / "nothing measured")}) == {"met", "unknown"}


def _states(target: list[str], policy: Path, state: dict[str, str]) -> set[str]:
    done = gpudoctor("check", *target, "--expect", str(policy), "--format", "prometheus", "--budget", "90", **state)
    counts = dict(re.findall(r'gpudoctor_policy_demands\{state="(\w+)"\} (\d+)', done.stdout))
    assert done.returncode == (1 if counts["unmet"] != "0" else 4 if counts["unknown"] != "0" else 0), done.stderr
    return {name for name, count in counts.items() if count != "0"}
