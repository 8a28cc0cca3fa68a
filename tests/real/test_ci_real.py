"""action.yml, the template for GitLab and the hook of pre-commit: their steps are run here as the engines would run them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from environments import build

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
GITLAB = yaml.safe_load((ROOT / "packaging" / "gitlab" / "gpudoctor.gitlab-ci.yml").read_text(encoding="utf-8"))
WRONG = "torch==2.8.0\nbitsandbytes\nflash-attn==2.8.0\n"


def run(argv: list[str], cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "GITHUB_"))}
    return subprocess.run(argv, cwd=cwd, env={**clean, **env}, capture_output=True, text=True, timeout=600)


def git(cwd: Path, *words: str) -> None:
    done = run(["git", "-c", "user.name=n", "-c", "user.email=e@localhost", *words], cwd)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout of a branch that adds requirements.txt; `main` of its origin has pyproject.toml alone."""
    origin, checkout = tmp_path / "origin.git", tmp_path / "checkout"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(origin))
    git(tmp_path, "clone", "-q", str(origin), str(checkout))
    git(checkout, "checkout", "-q", "-b", "main")
    (checkout / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "1"\ndependencies = ["bitsandbytes-windows"]\n')
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "one")
    git(checkout, "push", "-q", "origin", "main")
    git(checkout, "checkout", "-q", "-b", "change")
    (checkout / "sub dir").mkdir()
    (checkout / "sub dir" / "requirements.txt").write_text(WRONG)
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "two")
    return checkout


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """RUNNER_TEMP, in which the environment of the first step is the one of these tests."""
    place = tmp_path / "runner"
    (place / "gpudoctor" / "bin").mkdir(parents=True)
    (place / "gpudoctor" / "bin" / "gpudoctor").symlink_to(Path(sys.executable).with_name("gpudoctor"))
    return place


def step(name: str, project: Path, runner: Path, inputs: dict[str, str], **more: str) -> subprocess.CompletedProcess[str]:
    """One step of the action, as bash of a runner runs it."""
    (found,) = [each for each in ACTION["runs"]["steps"] if each["name"] == name]
    given = {key: str(value.get("default", "")) for key, value in ACTION["inputs"].items()} | inputs

    def expanded(text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: given[match[1]], text)

    env = {key: expanded(value) for key, value in found.get("env", {}).items()}
    assert "${{" not in found["run"], "an expression in a script could be a command"
    files = {"GITHUB_OUTPUT": str(runner / "output"), "GITHUB_STEP_SUMMARY": str(runner / "summary.md")}
    whole = {**env, **files, "RUNNER_TEMP": str(runner), "GITHUB_ACTION_PATH": str(ROOT), **more}
    return run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]], project, **whole)


def test_the_audit_step_annotates_the_files_that_the_change_touches(project: Path, runner: Path) -> None:
    done = step("Audit", project, runner, {"backend": "xpu"}, GITHUB_BASE_REF="main")
    assert done.returncode == 1, done.stderr
    errors = [line for line in done.stdout.splitlines() if line.startswith("::error ")]
    assert errors and all("file=sub dir/requirements.txt" in line for line in errors), done.stdout
    assert "pyproject.toml" not in done.stdout


def test_without_a_base_every_dependency_file_is_audited(project: Path, runner: Path) -> None:
    done = step("Audit", project, runner, {"backend": "xpu"})
    assert "pyproject.toml" in done.stdout and "sub dir/requirements.txt" in done.stdout


def test_a_change_of_other_files_needs_no_audit(project: Path, runner: Path) -> None:
    done = step("Audit", project, runner, {"audit": "uv.lock", "backend": "xpu"}, GITHUB_BASE_REF="main")
    assert (done.returncode, done.stdout) == (0, "gpudoctor: no dependency file is touched\n")


def test_the_check_step_fails_for_a_policy_and_leaves_a_report_and_a_summary(project: Path, runner: Path) -> None:
    (project / "policy.toml").write_text('[[device]]\ncount = 8\nname = "A100"\n')
    done = step("Check", project, runner, {"policy": "policy.toml"})
    assert done.returncode in (1, 4) and "::" in done.stdout, done.stdout + done.stderr
    outputs = dict(line.split("=", 1) for line in (runner / "output").read_text().splitlines())
    report: dict[str, Any] = json.loads(Path(outputs["report"]).read_text())
    assert report["schema"] == "gpudoctor.report/1"
    assert "A100" in (runner / "summary.md").read_text()


def test_the_device_step_is_one_line_and_a_status(project: Path, runner: Path) -> None:
    done = step("Device of the job", project, runner, {"device": "cuda:7"})
    assert done.returncode in (1, 4) and done.stdout.count("\n") == 1


@pytest.mark.rotates("an installed package")
def test_the_first_step_installs_what_the_others_start(project: Path, tmp_path: Path) -> None:
    place = tmp_path / "fresh"
    place.mkdir()
    clone = tmp_path / "action"
    git(tmp_path, "clone", "-q", "--no-local", str(ROOT), str(clone))
    done = step("Install gpudoctor", project, place, {}, GITHUB_ACTION_PATH=str(clone))
    assert done.returncode == 0, done.stderr
    assert run([str(place / "gpudoctor" / "bin" / "gpudoctor"), "--version"], project).stdout.startswith("gpudoctor ")


def gitlab(job: str, project: Path, **env: str) -> subprocess.CompletedProcess[str]:
    variables = {name: str(value) for name, value in GITLAB["variables"].items()}
    script = "set -e\n" + "\n".join(GITLAB[job]["script"])
    return run(["bash", "-c", script], project, **{**variables, "GPUDOCTOR": str(Path(sys.executable).with_name("gpudoctor")), **env})


def test_the_jobs_of_gitlab(project: Path) -> None:
    git(project, "mv", "sub dir/requirements.txt", "requirements.txt")
    assert gitlab("gpudoctor:audit", project, GPUDOCTOR_BACKEND="xpu").returncode == 1
    assert gitlab("gpudoctor:audit", project, GPUDOCTOR_PATTERNS="uv.lock").stdout == "no dependency file\n"
    done = gitlab("gpudoctor:check", project)
    assert done.returncode in (0, 1), done.stderr
    assert json.loads((project / "gpudoctor-report.json").read_text())["schema"] == "gpudoctor.report/1"
    assert "<testsuite" in (project / "gpudoctor.xml").read_text()


@pytest.mark.rotates("an installed package")
def test_the_hook_of_pre_commit(project: Path, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks"
    git(tmp_path, "clone", "-q", "--no-local", str(ROOT), str(hooks))
    program = str(build("pre-commit") / "bin" / "pre-commit")
    config = f"repos:\n- repo: {hooks}\n  rev: HEAD\n  hooks:\n  - id: gpudoctor-audit\n    args: [--backend, xpu]\n"
    (project / ".pre-commit-config.yaml").write_text(config.replace("HEAD", run(["git", "rev-parse", "HEAD"], hooks).stdout.strip()))
    done = run([program, "run", "--all-files"], project, PRE_COMMIT_HOME=str(tmp_path / "home"))
    assert done.returncode == 1 and "flash-attn" in done.stdout and "sub dir/requirements.txt" in done.stdout, done.stdout + done.stderr
