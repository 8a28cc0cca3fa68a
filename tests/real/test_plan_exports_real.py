"""Exports held against the linters that reviewers use, and really run: harmless acts with hostile texts, twice, cut short and refused."""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hostile_plans import SNIPPETS
from hostile_plans import plans as hostile
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from plans import ALL, ARC, step

from gpudoctor.model.plan import Command, FileChange, Plan, PlannedStep, Word
from gpudoctor.reporters.plan import plan_ansible, plan_dockerfile, plan_shell
from gpudoctor.reporters.shared.shell_text import Unwritable

MADE = {"version": "0.1.0", "date": "2026-11-20"}
TOOLS = Path(sys.executable).parent
UTF8 = {**os.environ, "LC_ALL": "C.UTF-8"}
EVIL = [*(snippet for snippet in SNIPPETS), "a b", "", *("x" + snippet + "y" for snippet in SNIPPETS)]
CONTENTS = ["", "plain\n", "no end", "\n\n", *(f"{snippet}\n" for snippet in SNIPPETS), "".join(SNIPPETS), "\n".join(SNIPPETS) + "\n"]
FEW = ["", "no end", "{{ 7 * 7 }}\n", "#jinja2: x\n", "".join(SNIPPETS), "\n".join(SNIPPETS) + "\n"]
"""For playbooks: each file takes a second or two."""
relaxed = settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=60)
lint = subprocess.CompletedProcess[str]


def tool(name: str, *arguments: str, **more: object) -> lint:
    assert (TOOLS / name).exists(), f"{name} is missing: pip install -e .[dev]"
    given = {"capture_output": True, "text": True, "env": UTF8, "timeout": 300, **more}
    return subprocess.run([str(TOOLS / name), *arguments], **given)  # type: ignore[call-overload, no-any-return]


# Linters


@pytest.mark.rotates("linters of an example")
@pytest.mark.parametrize("name", sorted(ALL))
def test_the_linters_have_nothing_to_say_of_the_examples(name: str, tmp_path: Path) -> None:
    plan = ALL[name]
    script, recipe, playbook = tmp_path / "p.sh", tmp_path / "Dockerfile", tmp_path / "p.yml"
    script.write_text(plan_shell.render(plan, **MADE), "utf-8")
    recipe.write_text(plan_dockerfile.render(plan, **MADE), "utf-8")
    playbook.write_text(plan_ansible.render(plan, **MADE), "utf-8")
    assert tool("shellcheck", str(script)).stdout == ""
    assert tool("hadolint", str(recipe)).stdout == ""
    assert ansible(playbook, tmp_path, "--syntax-check").returncode == 0


def linted(playbooks: Path, environment: Callable[[str], Path]) -> str:
    """What ansible-lint says of the playbooks of a folder."""
    tools = environment("ansible-lint") / "bin"
    env = {**UTF8, "PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(playbooks), "ANSIBLE_HOME": str(playbooks / "ansible")}
    names = sorted(path.name for path in playbooks.glob("*.yml"))
    argv = [str(tools / "ansible-lint"), "--offline", "--nocolor", "--profile", "production", *names]
    done = subprocess.run(argv, cwd=playbooks, env=env, capture_output=True, text=True, timeout=600)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.rotates("a playbook")
def test_ansible_lint_has_nothing_to_say_of_the_examples(environment: Callable[[str], Path], tmp_path: Path) -> None:
    for name, plan in ALL.items():
        (tmp_path / f"{re.sub('[^a-z0-9]', '_', name)}.yml").write_text(plan_ansible.render(plan, **MADE), "utf-8")
    assert linted(tmp_path, environment) == ""


@pytest.mark.rotates("linters of a real plan")
@pytest.mark.parametrize(("stack", "machine"), [
    ("openvino", "arc-a770-whole-slot"), ("torch-xpu", "arc-a750-old-kernel"), ("cuda", "rtx4090-healthy"), ("rocm", "rx6800-healthy"),
])  # fmt: skip
def test_the_linters_have_nothing_to_say_of_real_plans(
    stack: str, machine: str, environment: Callable[[str], Path], tmp_path: Path
) -> None:
    capture = Path(__file__).parents[1] / "machines" / machine
    for form, name in (("sh", "p.sh"), ("dockerfile", "Dockerfile"), ("ansible", "p.yml")):
        argv = [sys.executable, "-m", "gpudoctor", "setup", stack, "--capture", str(capture), "--format", form, "-o", str(tmp_path / name)]
        subprocess.run(argv, check=True, timeout=120)
    assert tool("shellcheck", "-S", "style", str(tmp_path / "p.sh")).stdout == ""
    assert tool("hadolint", "--no-color", str(tmp_path / "Dockerfile")).stdout == ""
    assert linted(tmp_path, environment) == ""


@pytest.mark.rotates("linters of anything")
@relaxed
@given(hostile)
def test_shellcheck_has_nothing_to_say_of_any_script(plan: Plan) -> None:
    # From a file: standard input would be read in the locale of the test run.
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"gpudoctor-plan-{os.getpid()}.sh"
    path.write_text(plan_shell.render(plan, **MADE), "utf-8")
    try:
        assert tool("shellcheck", "-S", "style", str(path)).stdout == ""
        assert subprocess.run(["bash", "-n", str(path)], capture_output=True).stderr == b""
    finally:
        path.unlink()


@pytest.mark.rotates("linters of anything")
@relaxed
@given(hostile)
def test_hadolint_has_nothing_to_say_of_any_dockerfile(plan: Plan) -> None:
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"gpudoctor-plan-{os.getpid()}.Dockerfile"
    path.write_text(plan_dockerfile.render(plan, **MADE), "utf-8")
    try:
        assert tool("hadolint", "--no-color", str(path)).stdout == ""
    finally:
        path.unlink()


# Real runs

RECORD = "import json, os, sys; open(sys.argv[1], 'w').write(json.dumps([sys.argv[2:], os.environ.get('EVIL')]))"


def harmless(place: Path, contents: list[str] = CONTENTS, *, root: bool = False) -> Plan:
    """Files with hostile names and contents, a program that records its hostile arguments, and a Python environment."""
    arguments = [snippet for snippet in EVIL if "\0" not in snippet]
    record = Command(argv=(sys.executable, "-c", RECORD, str(place / "seen.json"), *arguments), env={"EVIL": "".join(SNIPPETS)}, root=root)
    files = [
        FileChange(path=f"{place}/files/{number} ' \" `x` é\\ {{{{ y }}}}", content=content, mode=0o640, root=root)
        for number, content in enumerate(contents)
    ]
    steps = (
        step(1, "file", "Files $(touch owned)", *files, root=root),
        step(2, "apt.install", "`touch owned`", record, root=root),
        step(
            3,
            "venv",
            "Env",
            Command(argv=(sys.executable, "-m", "venv", "--without-pip", f"{place}/a venv")),
            settings={"path": f"{place}/a venv"},
        ),
        step(4, "file", "It's $HOME {{ x }}", FileChange(path=f"{place}/last", content="x\n")),
    )
    return replace(ARC, steps=steps, env=f"{place}/a venv", stack="", compute="", archived="")


def holds(place: Path, contents: list[str] = CONTENTS) -> None:
    """The machine is as the acts of `harmless` say."""
    for number, content in enumerate(contents):
        (path,) = (place / "files").glob(f"{number} *")
        assert path.read_bytes() == content.encode(), content
        assert path.stat().st_mode & 0o777 == 0o640
    assert len(list((place / "files").iterdir())) == len(contents)
    arguments, variable = json.loads((place / "seen.json").read_text("utf-8"))
    assert arguments == [snippet for snippet in EVIL if "\0" not in snippet]
    assert variable == "".join(SNIPPETS)
    assert (place / "a venv/bin/python").exists()
    assert not list(place.rglob("owned"))


def bash(plan: Plan, place: Path, **env: str) -> lint:
    script = place / "plan.sh"
    script.write_text(plan_shell.render(plan, **MADE), "utf-8")
    home = {**UTF8, "HOME": str(place), "XDG_STATE_HOME": str(place / "state"), **env}
    return subprocess.run(["bash", str(script)], cwd=place, env=home, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("root", [False, True])
def test_a_script_does_what_its_acts_say_and_the_second_time_nothing(tmp_path: Path, root: bool) -> None:
    plan = harmless(tmp_path, root=root)
    ran = bash(plan, tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "== 4/4 It's $HOME {{ x }}\n" in ran.stdout
    holds(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "files").iterdir()}
    marker = (tmp_path / "a venv/pyvenv.cfg").stat().st_mtime_ns
    assert bash(plan, tmp_path).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "files").iterdir()} == before
    assert (tmp_path / "a venv/pyvenv.cfg").stat().st_mtime_ns == marker


def test_a_script_stops_at_the_first_failure(tmp_path: Path) -> None:
    plan = harmless(tmp_path)
    ran = bash(replace(plan, steps=(step(1, "pip", "Fails", Command(argv=("false",))), *plan.steps)), tmp_path)
    assert ran.returncode == 1 and not (tmp_path / "files").exists()


def test_a_script_waits_for_the_person_and_for_the_restart(tmp_path: Path) -> None:
    ready = tmp_path / "it's there"
    plan = replace(
        harmless(tmp_path),
        steps=(
            step(1, "person", "Fetch it", Word(text="Log in\nat $(portal)."), settings={"ready_path": str(ready)}),
            step(2, "person", "Ask", Word(text="Ask for it.")),
            step(3, "modprobe", "Option", FileChange(path=str(tmp_path / "x.conf"), content="x\n"), restart="reboot"),
            step(4, "edit", "Edit", Word(text="/etc/x: 'y' becomes a comment"), Command(argv=("touch", str(tmp_path / "edited")))),
            step(5, "file", "Last", FileChange(path=str(tmp_path / "last"), content="y\n")),
        ),
    )
    first = bash(plan, tmp_path)
    assert (first.returncode, first.stderr) == (3, "Fetch it. Log in at $(portal).\nThen run this script again.\n")
    ready.touch()
    assert bash(plan, tmp_path).stderr.startswith("Ask. Ask for it.\n")
    for _ in range(2):  # the kernel is still the same one
        waits = bash(plan, tmp_path)
        assert (waits.returncode, waits.stderr) == (3, "Reboot the machine.\nThen run this script again.\n")
    assert (tmp_path / "x.conf").exists() and not (tmp_path / "last").exists()
    (boot,) = (tmp_path / "state/gpudoctor").glob("script-*/3")
    boot.write_text("another boot\n")
    edit = bash(plan, tmp_path)
    assert (edit.returncode, edit.stderr) == (3, "/etc/x: 'y' becomes a comment.\nThen run this script again.\n")
    assert not (tmp_path / "edited").exists()
    assert bash(plan, tmp_path).returncode == 0 and (tmp_path / "last").exists()


def test_a_refused_script_and_one_without_root_rights_do_nothing(tmp_path: Path) -> None:
    ran = bash(ALL["refused"], tmp_path)
    assert ran.returncode == 1 and "No kernel or display driver is installed in WSL" in ran.stderr
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "id").write_text("#!/bin/sh\necho 1000\n")
    (tools / "id").chmod(0o755)
    # No sudo on this PATH: everything else is.
    for name in ("mktemp", "rm", "cat", "cmp", "chmod", "mkdir", "install", "dirname", "bash"):
        (tools / name).symlink_to(next(path for path in (Path("/bin") / name, Path("/usr/bin") / name) if path.exists()))
    ran = bash(harmless(tmp_path, root=True), tmp_path, PATH=str(tools))
    assert ran.returncode == 1 and "This needs root rights" in ran.stderr and not (tmp_path / "files").exists()


# Fetched keys and files


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address of it on loopback."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, bytes]]:
    """Two real keys with a subkey each: the primary fingerprint, and the key as bytes."""
    home = tmp_path_factory.mktemp("gnupg")
    home.chmod(0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--passphrase", ""]
    made = []
    for name in ("one", "two"):
        subprocess.run([*gpg, "--quick-generate-key", f"{name}@example.org", "rsa2048", "sign"], check=True, capture_output=True)
        listed = subprocess.run([*gpg, "--list-keys", "--with-colons", name], check=True, capture_output=True, text=True).stdout
        (primary,) = re.findall(r"^fpr:::::::::([0-9A-F]{40}):", listed, re.M)
        subprocess.run([*gpg, "--quick-add-key", primary, "rsa2048", "encr"], check=True, capture_output=True)
        made.append((primary, subprocess.run([*gpg, "--export", primary], check=True, capture_output=True).stdout))
    return made


def subkey(key: bytes) -> str:
    listed = subprocess.run(["gpg", "--show-keys", "--with-colons"], input=key, check=True, capture_output=True).stdout.decode()
    return re.findall(r"^fpr:::::::::([0-9A-F]{40}):", listed, re.M)[1]


def armoured(key: bytes) -> bytes:
    return subprocess.run(["gpg", "--enarmor"], input=key, check=True, capture_output=True).stdout.replace(
        b"ARMORED FILE", b"PUBLIC KEY BLOCK"
    )


def by_script(plan: Plan, place: Path) -> tuple[int, str]:
    ran = bash(plan, place)
    return ran.returncode, ran.stdout + ran.stderr


def by_dockerfile(plan: Plan, place: Path) -> tuple[int, str]:
    """Its RUN and COPY, carried out here: each by the SHELL of the file, stopped at the first failure."""
    lines = plan_dockerfile.render(plan, **MADE).split("\n")
    shell = next(json.loads(line.removeprefix("SHELL ")) for line in lines if line.startswith("SHELL "))
    said = ""
    while lines:
        line = lines.pop(0)
        if not line.startswith(("RUN ", "COPY ")) or line.startswith("RUN apt-get"):
            continue  # the packages of a bare image: this machine has them
        body = ""
        if quoted := re.search(r"<<'(\w+)'", line):
            while (content := lines.pop(0)) != quoted[1]:
                body += content + "\n"
        if line.startswith("COPY "):
            mode, path = re.fullmatch(r"COPY --chmod=(\d+) <<'\w+' (\S+)", line).groups()  # type: ignore[union-attr]
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(body, "utf-8")
            Path(path).chmod(int(mode, 8))
            continue
        while line.endswith("\\"):
            line = line[:-1] + lines.pop(0)
        ran = subprocess.run([*shell, body or line.removeprefix("RUN ")], cwd=place, env=UTF8, capture_output=True, text=True, timeout=120)
        said += ran.stdout + ran.stderr
        if ran.returncode:
            return ran.returncode, said
    return 0, said


def ansible(playbook: Path, place: Path, *options: str) -> lint:
    env = {**UTF8, "ANSIBLE_HOME": str(place / "ansible"), "ANSIBLE_LOCALHOST_WARNING": "false", "ANSIBLE_NOCOLOR": "1"}
    env["ANSIBLE_PYTHON_INTERPRETER"] = sys.executable
    return tool("ansible-playbook", "-i", "localhost,", "-c", "local", *options, str(playbook), env=env, cwd=place)


def by_playbook(plan: Plan, place: Path) -> tuple[int, str]:
    playbook = place / "plan.yml"
    playbook.write_text(plan_ansible.render(plan, **MADE), "utf-8")
    ran = ansible(playbook, place)
    return ran.returncode, ran.stdout + ran.stderr


WAYS: dict[str, Callable[[Plan, Path], tuple[int, str]]] = {"sh": by_script, "dockerfile": by_dockerfile, "ansible": by_playbook}


def fetching(*changes: FileChange) -> Plan:
    return replace(ARC, steps=(step(1, "download", "Fetched", *changes),), env="", stack="", compute="", variables={})


@pytest.mark.rotates("a pinned key")
@pytest.mark.parametrize("form", ["armoured", "binary", "with another one"])
@pytest.mark.parametrize("way", sorted(WAYS))
def test_the_pinned_key_alone_is_installed_as_apt_reads_it(
    way: str, form: str, served: tuple[Path, str], keys: list[tuple[str, bytes]], tmp_path: Path
) -> None:
    folder, url = served
    (primary, key), (_, other) = keys
    (folder / "key").write_bytes({"armoured": armoured(key), "binary": key, "with another one": other + key}[form])
    target = tmp_path / "keyrings/a.gpg"
    rc, said = WAYS[way](
        fetching(FileChange(path=str(target), fetched_from=f"{url}/key", fingerprint=primary.lower(), root=True)), tmp_path
    )
    assert rc == 0, said
    assert target.read_bytes() == key and target.stat().st_mode & 0o777 == 0o644


@pytest.mark.rotates("a key that is refused")
@pytest.mark.parametrize("what", ["another key", "its fingerprint is that of a subkey", "no key"])
@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_key_with_another_fingerprint_is_refused(
    way: str, what: str, served: tuple[Path, str], keys: list[tuple[str, bytes]], tmp_path: Path
) -> None:
    folder, url = served
    (primary, key), (_, other) = keys
    (folder / "key").write_bytes(b"<html>login</html>" if what == "no key" else other if what == "another key" else key)
    if what == "its fingerprint is that of a subkey":
        primary = subkey(key)
    target = tmp_path / "keyrings/a.gpg"
    rc, said = WAYS[way](fetching(FileChange(path=str(target), fetched_from=f"{url}/key", fingerprint=primary, root=True)), tmp_path)
    assert rc != 0 and not target.exists(), said


@pytest.mark.rotates("a download with a checksum")
@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_download_is_kept_only_with_its_checksum(way: str, right: bool, served: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = served
    (folder / "data").write_bytes(b"\0data")
    digest = hashlib.sha256(b"\0data" if right else b"other").hexdigest()
    target = tmp_path / "in a/folder/data"
    rc, said = WAYS[way](fetching(FileChange(path=str(target), fetched_from=f"{url}/data", sha256=digest, mode=0o600)), tmp_path)
    assert (rc == 0) == right, said
    assert target.exists() == right
    if right and way != "dockerfile":
        (folder / "data").unlink()  # it is there: nothing is fetched again
        assert WAYS[way](fetching(FileChange(path=str(target), fetched_from=f"{url}/data", sha256=digest, mode=0o600)), tmp_path)[0] == 0


# Dockerfile and playbook


def test_the_runs_of_a_dockerfile_do_what_the_acts_say(tmp_path: Path) -> None:
    rc, said = by_dockerfile(harmless(tmp_path), tmp_path)
    assert rc == 0, said
    holds(tmp_path)


def tally(said: str) -> dict[str, int]:
    (line,) = re.findall(r"^localhost +: (.+)$", said, re.M)
    return {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", line)}


@pytest.mark.rotates("a playbook")
def test_a_playbook_does_what_its_acts_say_and_the_second_time_nothing(tmp_path: Path) -> None:
    plan = harmless(tmp_path, FEW)
    rc, said = by_playbook(plan, tmp_path)
    assert rc == 0, said
    holds(tmp_path, FEW)
    assert "It's $HOME { { x } }" in said
    rc, said = by_playbook(plan, tmp_path)
    assert rc == 0, said
    assert tally(said)["changed"] == 1  # the recording program: nobody can know what it does
    holds(tmp_path, FEW)


@pytest.mark.rotates("a playbook")
def test_a_playbook_knows_what_pip_changed_and_when_a_follow_up_is_needed(tmp_path: Path) -> None:
    wheel = tmp_path / "wheels"
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(wheel), "colorama==0.4.6"], check=True, timeout=120
    )
    env, ran = tmp_path / "env", tmp_path / "ran"
    follow = Command(argv=(sys.executable, "-c", f"open({str(ran)!r}, 'a').write('x')"))
    steps: tuple[PlannedStep, ...] = (
        step(1, "venv", "Env", Command(argv=(sys.executable, "-m", "venv", str(env))), settings={"path": str(env)}),
        step(
            2,
            "pip",
            "Pip",
            Command(argv=(f"{env}/bin/python", "-m", "pip", "install", "--no-index", "--find-links", str(wheel), "colorama")),
        ),
        step(3, "udev.rule", "Rule", FileChange(path=f"{tmp_path}/70.rules", content="x\n"), follow, layer="device-node"),
        step(4, "modprobe", "Option", Command(argv=("mkdir", "-p", f"{tmp_path}/made/deep"))),
    )
    plan = replace(harmless(tmp_path), steps=steps)
    first = by_playbook(plan, tmp_path)
    assert first[0] == 0 and tally(first[1])["changed"] >= 4, first[1]
    second = by_playbook(plan, tmp_path)
    assert second[0] == 0 and tally(second[1])["changed"] == 0, second[1]
    assert ran.read_text() == "x" and list(env.glob("lib/*/site-packages/colorama"))


@pytest.mark.rotates("a playbook")
def test_a_playbook_stops_for_the_person_and_for_the_reboot(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    steps = (
        step(1, "person", "Fetch {{ it }}", Word(text="Log in."), settings={"ready_path": str(ready)}),
        step(2, "person", "Ask", Word(text="Ask {{ whom }}.")),
        step(3, "modprobe", "Option", FileChange(path=f"{tmp_path}/x.conf", content="x\n"), restart="reboot"),
        step(4, "file", "Last", FileChange(path=f"{tmp_path}/last", content="y\n")),
    )
    playbook = tmp_path / "plan.yml"
    playbook.write_text(plan_ansible.render(replace(harmless(tmp_path), steps=steps), **MADE), "utf-8")
    assert "Log in. Then run this playbook again." in ansible(playbook, tmp_path).stdout
    ready.touch()
    assert "Ask {{ whom }}. Then run this playbook again, with -e by_hand=2" in ansible(playbook, tmp_path).stdout
    third = ansible(playbook, tmp_path, "-e", "by_hand=2")
    assert third.returncode != 0 and "Reboot the machine." in third.stdout and not (tmp_path / "last").exists()
    assert ansible(playbook, tmp_path, "-e", "by_hand=2").returncode == 0 and (tmp_path / "last").exists()


@pytest.mark.rotates("a playbook")
@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=5)
@given(hostile)
def test_any_playbook_passes_the_syntax_check(tmp_path_factory: pytest.TempPathFactory, plan: Plan) -> None:
    place = tmp_path_factory.mktemp("playbook")
    try:
        (place / "p.yml").write_text(plan_ansible.render(plan, **MADE), "utf-8")
    except Unwritable:
        return
    ran = ansible(place / "p.yml", place, "--syntax-check")
    assert ran.returncode == 0, ran.stderr
