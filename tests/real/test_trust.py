"""What is started without being asked to: nothing that another user could have put there. As root with files of other users."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.system.local_host import LocalHost, find_program
from gpudoctor.system.trust import COMMITTED, ELSEWHERE, distrust, distrust_environment, phrase

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other owners")
AS_ROOT = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="gives files to other users")
SITE = "lib/python3.11/site-packages"
SOMEBODY, OTHER = 61_234, 61_235


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder below /tmp whose parents belong to root and to nobody else."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="gpudoctor-trust-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def environment(folder: Path, ran: Path) -> Path:
    """An environment whose interpreter leaves a trace where it is run; it says that it holds torch."""
    site = folder / "lib/python3.11/site-packages"
    (site / "torch-2.8.0.dist-info").mkdir(parents=True)
    (site / "torch-2.8.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0\n")
    (folder / "bin").mkdir()
    (folder / "bin/python").write_text(f"#!/bin/sh\nid -u >> {ran}\n")
    (folder / "bin/python").chmod(0o755)
    (folder / "bin/activate").write_text(f'VIRTUAL_ENV="{folder}"\nexport VIRTUAL_ENV\n')
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.2\n")
    return folder


def give(path: Path, uid: int) -> None:
    for top, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.lchown(os.path.join(top, name), uid, uid)
    os.lchown(path, uid, uid)


def check(folder: Path, *words: str, **variables: str) -> tuple[dict[str, object], str]:
    """The command as root, in a folder: (report, standard error)."""
    state = str(folder / ".state")
    places = {"HOME": state, "XDG_STATE_HOME": state, "XDG_CACHE_HOME": state, "PATH": "/usr/bin:/bin", **variables}
    code = "import sys; from gpudoctor import cli; sys.exit(cli.run(sys.argv[1:]))"
    argv = [sys.executable, "-c", code, "check", "--format", "json", *words]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=90, env=places, check=False)
    return json.loads(done.stdout), done.stderr


def unlooked(report: dict[str, object]) -> str:
    return " ".join(report["not_looked_at"])  # type: ignore[arg-type]


@AS_ROOT
@pytest.mark.timeout(120)
@pytest.mark.rotates("an environment of another user")
class TestOfAnotherUser:
    def test_the_environment_in_this_folder_is_not_run(self, place: Path) -> None:
        ran = place / "ran"
        give(environment(place / ".venv", ran), SOMEBODY)
        report, _ = check(place)
        assert not ran.exists()
        assert f"gpudoctor check --python {place}/.venv" in unlooked(report) and "another user owns" in unlooked(report)
        assert report["facts"]["python"]["why"] == "python3 on PATH"  # type: ignore[index]

    def test_it_is_run_where_it_is_asked_for_by_name(self, place: Path) -> None:
        ran = place / "ran"
        give(environment(place / ".venv", ran), SOMEBODY)
        check(place, "--python", ".venv")
        assert ran.exists()

    @pytest.mark.parametrize("part", ["bin", "bin/python", "pyvenv.cfg", SITE, f"{SITE}/x.pth"])
    def test_one_part_of_it_is_enough(self, place: Path, part: str) -> None:
        ran = place / "ran"
        root = environment(place / "env", ran)
        (root / "lib/python3.11/site-packages/x.pth").write_text("import os\n")
        check(place, VIRTUAL_ENV=str(root))
        assert ran.exists()  # all of it is root's
        ran.unlink()
        os.chown(root / part, SOMEBODY, SOMEBODY)
        report, _ = check(place, VIRTUAL_ENV=str(root))
        assert not ran.exists() and f"--python {root}" in unlooked(report)
        assert report["facts"]["python"]["distributions"]["torch"] == "2.8.0"  # type: ignore[index]

    def test_a_folder_above_it_that_others_own_is_enough(self, place: Path) -> None:
        ran = place / "ran"
        (place / "shared").mkdir()
        root = environment(place / "shared/env", ran)
        os.chown(place / "shared", SOMEBODY, SOMEBODY)
        report, _ = check(place, VIRTUAL_ENV=str(root))
        assert not ran.exists() and f"another user owns {place}/shared or can change it" in unlooked(report)

    def test_an_archive_of_modules_counts_too(self, place: Path) -> None:
        ran = place / "ran"
        root = environment(place / "env", ran)
        (place / "modules.zip").write_bytes(b"PK")
        os.chown(place / "modules.zip", SOMEBODY, SOMEBODY)
        report, _ = check(place, VIRTUAL_ENV=str(root), PYTHONPATH=str(place / "modules.zip"))
        assert not ran.exists() and "modules.zip" in unlooked(report)

    def test_setup_makes_no_environment_with_such_a_python(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from gpudoctor.facts.probes import interpreters
        from gpudoctor.model.facts import Facts

        python = place / ".pyenv/versions/3.11.9/bin/python3.11"
        python.parent.mkdir(parents=True)
        python.write_text("#!/bin/sh\n")
        (place / ".local/bin").mkdir(parents=True)
        (place / ".local/bin/uv").write_text("#!/bin/sh\n")
        monkeypatch.setenv("HOME", str(place))
        found = dict(interpreters.collect(LocalHost(), Facts()))
        assert str(python) in [one["path"] for one in found["python.interpreters"].value]  # type: ignore[union-attr]
        assert found["tools.uv"].value == str(place / ".local/bin/uv")  # type: ignore[union-attr]
        give(place, SOMEBODY)
        found = dict(interpreters.collect(LocalHost(), Facts()))
        assert str(python) not in [one["path"] for one in found["python.interpreters"].value]  # type: ignore[union-attr]
        assert found["python.interpreters_left_out"].value == [str(python)]  # type: ignore[union-attr]
        assert found["tools.uv"].source == "PATH" and not hasattr(found["tools.uv"], "value")

    def test_what_was_not_run_replays(self, place: Path) -> None:
        """A recording of such a look says the same of it, without the other user's name."""
        ran = place / "ran"
        give(environment(place / ".venv", ran), SOMEBODY)
        code = "import sys; from gpudoctor import cli; sys.exit(cli.run(sys.argv[1:]))"
        variables = {"HOME": str(place), "XDG_STATE_HOME": str(place), "XDG_CACHE_HOME": str(place), "PATH": "/usr/bin:/bin"}
        argv = [sys.executable, "-c", code, "capture", "-o", "there.tar.gz"]
        subprocess.run(argv, cwd=place, env=variables, check=True, capture_output=True, timeout=90)
        report, _ = check(place, "--capture", "there.tar.gz")
        assert not ran.exists() and "another user owns" in unlooked(report)

    def test_root_runs_no_program_of_a_folder_that_is_not_roots(self, place: Path) -> None:
        tools = place / "tools"
        tools.mkdir()
        for name in ("nvidia-smi", "id", "clinfo", "lsmod", "python3"):
            (tools / name).write_text(f"#!/bin/sh\nid -u >> {place}/ran\n")
            (tools / name).chmod(0o755)
        give(tools, SOMEBODY)
        report, _ = check(place, PATH=f"{tools}:/usr/bin:/bin")
        assert not (place / "ran").exists()
        assert f"{tools} is not used by root" in unlooked(report)
        assert report["facts"]["python"]["executable"] != f"{tools}/python3"  # type: ignore[index]
        assert find_program("lsmod", str(tools)) is None

    def test_nobody_runs_what_a_third_user_owns(self, place: Path) -> None:
        """Neither root's nor one's own: also for a user without any rights."""
        ran = place / "ran"
        ran.write_text("")
        ran.chmod(0o666)
        root = environment(place / "env", ran)
        give(root, OTHER)
        os.chown(place, SOMEBODY, SOMEBODY)
        code = "import os, sys; from gpudoctor.system.trust import distrust; os.setuid(int(sys.argv[1])); print(distrust(sys.argv[2]))"
        for owner, said in ((OTHER, "owner "), (SOMEBODY, "\n"), (0, "\n")):
            give(root, owner)
            argv = [sys.executable, "-c", code, str(SOMEBODY), str(root / "bin/python")]
            assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout.startswith(said)


def test_what_everybody_can_write_is_not_run(place: Path) -> None:
    program = place / "bin" / "tool"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert distrust(str(program)) == "" and distrust("/usr/bin/env") == ""
    program.chmod(0o757)
    assert distrust(str(program)) == f"owner {len(program.parts) - 1}"
    program.chmod(0o755)
    program.parent.chmod(0o777)
    assert phrase(str(program), distrust(str(program))) == f"since another user owns {program.parent} or can change it"
    program.parent.chmod(0o1777)  # as /tmp: only the owner of a file replaces it
    assert distrust(str(program)) == ""


def test_links_are_followed_to_what_they_lead_to(place: Path) -> None:
    (place / "open").mkdir()
    (place / "open/tool").write_text("")
    (place / "open").chmod(0o777)
    (place / "link").symlink_to("open/../open/tool")
    assert distrust(str(place / "link")) == "owner 0"
    (place / "round").symlink_to("round")
    assert distrust(str(place / "round")) != ""
    assert distrust(str(place / "nothing/there")) == ""


class TestEnvironmentsThatLieHere:
    def test_one_that_was_made_here_is_taken(self, place: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place / ".venv")], check=True)
        assert distrust_environment(str(place / ".venv")) == ""

    def test_one_that_came_with_the_files_is_not(self, place: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place / "elsewhere")], check=True)
        (place / "elsewhere").rename(place / ".venv")
        assert distrust_environment(str(place / ".venv")) == ELSEWHERE
        (place / ".venv/bin/activate").write_text('VIRTUAL_ENV="$PWD/.venv"\nVIRTUAL_ENV=.venv\n')
        assert distrust_environment(str(place / ".venv")) == ELSEWHERE

    @pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
    @pytest.mark.parametrize("version", ["2", "4"])
    @pytest.mark.parametrize("below", ["", "project/deep/"])
    def test_one_that_a_repository_brought_is_not(self, place: Path, version: str, below: str) -> None:
        folder = place / f"{below}.venv"
        folder.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        (place / "code.py").write_text("")
        git = ["git", "-C", str(place), "-c", "index.version=" + version, "-c", "core.excludesFile=/dev/null"]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "add", "code.py"], check=True)
        assert distrust_environment(str(folder)) == ""
        subprocess.run([*git, "add", "-f", str(folder)], check=True)
        subprocess.run([*git, "update-index", "--index-version", version], check=True)
        assert distrust_environment(str(folder)) == COMMITTED

    def test_a_check_in_such_a_folder_runs_nothing_of_it(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from gpudoctor.facts.probes.interpreter import find_target

        environment(place / "elsewhere", place / "ran").rename(place / ".venv")
        for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.chdir(place)
        target = find_target(LocalHost())
        assert target.why == "python3 on PATH" and "was not made where it lies now" in target.passed_over
        assert not (place / "ran").exists()
