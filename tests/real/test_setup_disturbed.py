"""`gpudoctor setup` among people: two runs at once, Ctrl-C, no sudo, changes by hand in the meantime, environments that are not ours."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest
from debian_root import REPOSITORY
from setup_bench import Bench, Machine, bench_in

ENV = "/root/gpudoctor/torch-xpu"
ENDED = "Installed, not verified: no Intel GPU here"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench_in(tmp_path_factory.mktemp("mirrors")) as bench:
        yield bench


@pytest.fixture
def machine(bench: Bench) -> Iterator[Machine]:
    with bench.machine() as machine:
        yield machine


def wait_for(condition: Callable[[], object], process: subprocess.Popen[bytes], machine: Machine) -> None:
    until = time.monotonic() + 240
    while not condition():
        assert process.poll() is None and time.monotonic() < until, machine.log.read_text()
        time.sleep(0.02)


def a_wheel_is_on_its_way(machine: Machine) -> bool:
    return any(machine.root.here("/root/gpudoctor").glob("torch-xpu.gpudoctor-*.tmp/pip-*/torch-*.whl"))


@pytest.mark.rotates("a setup is disturbed")
def test_the_second_of_two_runs_says_so(machine: Machine) -> None:
    machine.mirrors.index.slow = {"torch": 30.0}
    first = machine.begin("torch-xpu", "--yes")
    wait_for(lambda: a_wheel_is_on_its_way(machine), first, machine)
    for arguments in (["ipex", "--yes"], ["--resume"], ["--undo"]):
        second = machine.setup(*arguments)
        assert second.returncode == 2, second.stdout
        assert f"another gpudoctor setup is at work (process {first.pid})" in " ".join(second.stdout.split()), second.stdout
    assert first.wait(timeout=240) == 1
    assert ENDED in machine.log.read_text()
    machine.undo()


@pytest.mark.rotates("a setup is disturbed")
def test_a_run_that_is_not_finished_keeps_the_next_one_out_and_there_is_nothing_to_resume_without_one(machine: Machine) -> None:
    nothing = machine.setup("--resume")
    assert (nothing.returncode, nothing.stdout.strip()) == (0, "there is nothing to resume")
    machine.mirrors.index.dies = {"torch": -1}
    assert machine.setup("torch-xpu", "--yes").returncode == 1
    machine.mirrors.heal()
    other = machine.setup("ipex", "--yes")
    assert other.returncode == 2, other.stdout
    assert "run 1 (torch-xpu) is not finished" in " ".join(other.stdout.split()), other.stdout
    machine.undo()


@pytest.mark.rotates("a setup is disturbed")
def test_ctrl_c_in_the_middle_of_pip_can_be_resumed(machine: Machine) -> None:
    machine.mirrors.index.slow = {"torch": 20.0}
    run = machine.begin("torch-xpu", "--yes")
    wait_for(lambda: a_wheel_is_on_its_way(machine), run, machine)
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=60) == 130, machine.log.read_text()
    said = machine.log.read_text()
    assert "Stopped." in said and "--resume" in said and "Traceback" not in said, said
    assert machine.root.processes() == []
    assert "interrupted" in machine.setup("--history").stdout
    machine.mirrors.heal()
    resumed = machine.setup("--resume")
    assert resumed.returncode == 1 and ENDED in resumed.stdout, resumed.stdout
    machine.undo()


@pytest.mark.rotates("a setup is disturbed")
def test_ctrl_c_in_the_middle_of_dpkg_waits_for_it(machine: Machine) -> None:
    run = machine.begin("torch-xpu", "--yes")
    wait_for(machine.root.here("/tmp/icd-postinst").exists, run, machine)
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=60) == 130, machine.log.read_text()
    assert machine.root.processes() == []
    broken = [name for name, what in machine.root.state().packages.items() if not what.endswith(" ii")]
    assert broken == []
    resumed = machine.setup("--resume")
    assert resumed.returncode == 1 and ENDED in resumed.stdout, resumed.stdout
    machine.undo()


@pytest.mark.rotates("a setup is disturbed")
def test_without_sudo_the_commands_are_told_and_done_by_hand(machine: Machine) -> None:
    """A person without rights, and an administrator who types what is told, word for word."""
    root = machine.root
    root.write("/home/anna/.config/gpudoctor/config.toml", machine.mirrors.config())
    root.run(["chown", "-R", "anna:anna", "/home/anna"])
    start = root.state()

    def as_anna(*arguments: str) -> subprocess.CompletedProcess[str]:
        argv = ["setpriv", "--reuid=anna", "--regid=anna", "--init-groups", *root.doctor_argv(["setup", *arguments])]
        return root.run(argv, check=False, env={"HOME": "/home/anna", "USER": "anna", "XDG_CACHE_HOME": "/tmp/anna"}, cwd="/home/anna")

    done = as_anna("torch-xpu", "--yes")
    told: list[str] = []
    for _ in range(40):
        if ENDED in done.stdout:
            break
        commands = [line.partition("$ ")[2] for line in done.stdout.splitlines() if line.strip().startswith("$ ")]
        assert done.returncode == 1 and "YOU" in done.stdout and commands, done.stdout
        assert not told or commands != told[-len(commands) :], f"told the same again: {done.stdout}"
        for command in commands:
            root.run(["sh", "-c", command])
        told += commands
        done = as_anna("--resume")
    assert ENDED in done.stdout, f"{told}\n{done.stdout}"
    assert root.here("/home/anna/gpudoctor/torch-xpu/bin/python").exists()
    undone = as_anna("--undo")
    for _ in range(40):
        commands = [line.partition("$ ")[2] for line in undone.stdout.splitlines() if line.strip().startswith("$ ")]
        if not commands:
            break
        for command in commands:
            root.run(["sh", "-c", command])
        undone = as_anna("--undo")
    assert undone.returncode == 0, undone.stdout
    left = [line for line in root.state().differences(start) if not line.startswith("file /home/anna/.local")]
    assert left == []


@pytest.mark.rotates("a setup is disturbed")
def test_what_a_person_changed_since_is_kept_and_shown(machine: Machine) -> None:
    root = machine.root
    assert ENDED in machine.setup("torch-xpu", "--yes").stdout
    source = "/etc/apt/sources.list.d/gpudoctor-kobuk-intel-graphics.sources"
    root.write(source, root.read(source) + "# mine\n")
    root.write("/etc/OpenCL/vendors/intel.icd", "/opt/my/libigdrcl.so\n")
    root.run(["sh", "-c", "apt-mark manual libigc2"])
    root.write(f"{ENV}/notes.txt", "mine\n")
    undone = machine.setup("--undo")
    text = " ".join(undone.stdout.split())
    assert undone.returncode == 1, undone.stdout
    for said in (source, "/etc/OpenCL/vendors/intel.icd", "libigc2", "notes.txt"):
        assert said in text.partition("Kept: ")[2], undone.stdout
    assert root.read(source).endswith("# mine\n")
    assert root.read("/etc/OpenCL/vendors/intel.icd") == "/opt/my/libigdrcl.so\n"
    assert root.read(f"{ENV}/notes.txt") == "mine\n"
    now = root.state()
    assert "libigc2" in now.manual
    assert not {"libze1:all", "intel-opencl-icd:all", "libigdgmm12:all"} & {
        name for name, what in now.packages.items() if what.endswith(" ii")
    }
    assert "anna" not in root.out(["getent", "group", "render"])
    assert "notes.txt" in machine.setup("--history").stdout


@pytest.mark.rotates("a setup is disturbed")
def test_an_environment_that_was_there_is_put_back_byte_for_byte(machine: Machine) -> None:
    """One of the person's, with another torch in it and a file of theirs; a second run over the first one, both taken back."""
    root, env = machine.root, "/root/work"
    root.run(["python3", "-m", "venv", env])
    index = machine.mirrors.index
    root.run([f"{env}/bin/python", "-m", "pip", "install", "-q", "--index-url", index.at("whl"), "torch==2.8.0+xpu", "psutil"])
    root.write(f"{env}/lib/python3.11/site-packages/mine.py", "x = 1\n")
    machine.start = root.state()
    done = machine.setup("torch-xpu", "--yes", "--env", env)
    assert ENDED in done.stdout, done.stdout
    assert "2.9.0" in root.out([f"{env}/bin/python", "-c", "import torch; print(torch.__version__)"])
    assert root.read(f"{env}/lib/python3.11/site-packages/mine.py") == "x = 1\n"
    machine.undo()


@pytest.mark.rotates("a setup is disturbed")
@pytest.mark.parametrize("what", ["the system's", "marked as managed", "a folder of something else"])
def test_nothing_is_ever_installed_into_a_python_that_is_not_an_environment(machine: Machine, what: str) -> None:
    root, env = (
        machine.root,
        {"the system's": "/usr", "marked as managed": "/root/managed", "a folder of something else": "/root/papers"}[what],
    )
    if what == "marked as managed":  # a Python of its own, as package managers other than the system's bring it
        root.run(["sh", "-c", f"mkdir -p {env}/bin {env}/lib/python3.11/site-packages; cp /usr/bin/python3.11 {env}/bin/python"])
        root.write(f"{env}/lib/python3.11/EXTERNALLY-MANAGED", "[externally-managed]\nError=no\n")
    if what == "a folder of something else":
        root.write(f"{env}/thesis.txt", "mine\n")
    machine.start = root.state()
    packages = sorted(path.name for path in root.here("/usr/lib/python3/dist-packages").iterdir())
    done = machine.setup("torch-xpu", "--yes", "--env", env)
    assert done.returncode == 1, done.stdout
    assert "Refused" in done.stdout and "--env" in done.stdout and not re.search(r"(?m)^1/", done.stdout), done.stdout
    assert machine.is_as_before()
    assert sorted(path.name for path in root.here("/usr/lib/python3/dist-packages").iterdir()) == packages
    assert not root.here("/usr/local/lib/python3.11/dist-packages/torch").exists()


@pytest.mark.rotates("a setup is disturbed")
def test_a_folder_that_was_filled_after_the_plan_is_left_alone(machine: Machine) -> None:
    """The plan was made, the run was cut off, and then somebody put their papers where the environment would be."""
    machine.mirrors.packages.dies_at = "intel-opencl-icd"
    assert "FAILED" in machine.setup("torch-xpu", "--yes").stdout
    machine.mirrors.heal()
    machine.root.write(f"{ENV}/thesis.txt", "mine\n")
    done = machine.setup("--resume")
    assert done.returncode == 1 and "filled since the plan was made" in " ".join(done.stdout.split()), done.stdout
    assert machine.root.read(f"{ENV}/thesis.txt") == "mine\n"
    again = machine.setup("--resume")
    assert again.returncode == 1 and machine.root.read(f"{ENV}/thesis.txt") == "mine\n", again.stdout
    machine.root.run(["rm", "-r", "/root/gpudoctor"])
    resumed = machine.setup("--resume")
    assert resumed.returncode == 1 and ENDED in resumed.stdout, resumed.stdout
    machine.undo()


@pytest.mark.rotates("a setup is disturbed")
@pytest.mark.parametrize("name", ["intel-driver", "ipex", "torch-xpu", "opencl"])
def test_in_wsl_no_kernel_and_no_display_driver_is_ever_planned(machine: Machine, name: str) -> None:
    """On a recorded WSL; and a recorded machine cannot be changed."""
    from gpudoctor.setup.wsl_safety import FORBIDDEN

    capture = "/opt/gpudoctor/tests/machines/wsl2-b580"
    assert (REPOSITORY / "tests/machines/wsl2-b580").is_dir()
    done = machine.setup(name, "--capture", capture, "--format", "json")
    plan = json.loads(done.stdout)
    plan = plan.get("plan", plan)
    packages = [name for step in plan["steps"] for entry in step["settings"].get("packages", ()) for name in re.split(r"[|=>]", entry)]
    assert plan["steps"] and not [name for name in packages if FORBIDDEN.fullmatch(name)]
    assert not [step for step in plan["steps"] if step["kind"] == "modprobe"]
    refused = machine.setup(name, "--capture", capture, "--yes")
    assert refused.returncode == 2 and "recorded machine" in refused.stdout
    assert machine.is_as_before()
