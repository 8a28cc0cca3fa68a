"""Workers that segfault, hang, flood, lie, are killed, or leave children: each is one answer with its reason, and nothing is left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.flop_model import FOLDER, WORKER
from gpudoctor.benchmark.job_plan import ValidateOptions, plan
from gpudoctor.benchmark.monitors.monitor import Seen
from gpudoctor.benchmark.results import MeasuredDevice, judged, measurement
from gpudoctor.benchmark.workers import WorkerAnswer, ask
from gpudoctor.model.measurement import FAILED, OK, SKIPPED
from gpudoctor.system.framework_child import Caches
from gpudoctor.system.host import Text
from gpudoctor.system.local_host import LocalHost

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="signals, /proc and memory limits"),
    pytest.mark.starts_processes("workers are processes of their own; these are small scripts"),
]
TARGET = MeasurementTarget(framework="torch", device="cpu", python=sys.executable, backend="cpu", name="A Processor", version="2.13")
JOB = plan(TARGET, ValidateOptions(workloads=("resnet18",), tasks=("inference",)))[0]
GOOD: dict[str, Any] = {
    "framework_version": "2.13", "device": "cpu", "device_name": "cpu", "iterations": 40, "items_per_step": 16, "includes": ["compute"],
    "latency_ms": {"median": 20.0, "p50": 20.0, "p95": 21.0, "p99": 22.0, "mean": 20.1, "stdev": 0.2, "ci95_percent": 0.5}, "steady": True,
    "outputs": [{"name": "output 0", "max_relative_error": 1e-6, "tolerance": 2e-3, "note": "", "passed": True}], "first_ms": 90.0,
}  # fmt: skip


def run(folder: Path, body: str, host: LocalHost | None = None, limit: float = 20.0, **more: Any) -> WorkerAnswer:
    """A worker of these lines: `say(stage, **table)` is there."""
    script = folder / "worker.py"
    before = (
        "import json, os, signal, sys, time\nrequest = json.loads(sys.stdin.read())\n"
        "def say(stage, **table):\n    print('@gpudoctor ' + json.dumps(dict(table, stage=stage)), flush=True)\nsay('import')\n"
    )
    script.write_text(before + textwrap.dedent(body))
    return ask(host or LocalHost(), sys.executable, {"framework": "torch"}, limit=limit, worker=str(script), **more)


def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def told(answer: WorkerAnswer, seen: Seen = Seen(), no_energy: str = "") -> Any:  # noqa: B008
    return measurement(JOB, answer, seen, None, no_energy, MeasuredDevice(), {})


def test_a_result_is_heard_stage_by_stage(tmp_path: Path) -> None:
    heard: list[str] = []
    answer = run(
        tmp_path,
        f"say('device', threads=2)\nsay('measure')\nsay('progress')\nsay('result', **{GOOD!r})",
        on_stage=lambda stage, _: heard.append(stage),
    )
    assert heard == ["import", "device", "measure", "progress", "result"]
    assert (answer.status, answer.stage, answer.device) == (OK, "measure", {"threads": 2})
    said = told(answer)
    assert said.throughput.value == pytest.approx(800.0) and said.throughput.unit == "images/s" and said.status == OK
    assert said.correctness.passed and said.device_name == "A Processor" and said.noisy is None and said.first_ms == 90.0


def test_lines_are_heard_while_it_runs(tmp_path: Path) -> None:
    began, times = time.monotonic(), []
    run(tmp_path, "time.sleep(1)\nsay('skipped', reason='x')", on_stage=lambda *_: times.append(time.monotonic() - began))
    assert times[1] - times[0] > 0.8


def test_the_request_arrives(tmp_path: Path) -> None:
    assert run(tmp_path, "say('skipped', reason='got ' + request['framework'])").reason == "got torch"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("say('correctness'); os.kill(os.getpid(), signal.SIGSEGV)", "correctness: died of SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "import: died of SIGKILL"),
        ("os.abort()", "import: died of SIGABRT"),
        ("say('build'); os._exit(3)", "build: left with status 3"),
        ("say('build')", "build: it ended without a result"),
        ("print('@gpudoctor {broken'); print('@gpudoctor [1]'); print(b'\\xff')", "import: it ended without a result"),
        ("say('result-of-mine', x=1)", "import: it ended without a result"),
        ("sys.stderr.write('RuntimeError: no kernel image\\n'); sys.exit(1)", "it printed: RuntimeError: no kernel image"),
        ("say('failed', error='ValueError: x\\x1b[31m' + 'y' * 5000)", r"import: ValueError: x \[31my{200}"),
        ("say('failed')", "import: an error without a message"),
        ("say('measure')\nwhile True: print('x' * 1000)", "measure: it printed without end"),
        ("say('measure')\nwhile True: sys.stderr.write('x' * 1000)", "measure: it printed without end"),
        ("say('first'); time.sleep(100)", r"first: no end after \d s"),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass", r"import: no end after \d s"),
    ],
)  # fmt: skip
def test_each_way_to_fail_has_its_reason_and_stage(tmp_path: Path, body: str, reason: str) -> None:
    began = time.monotonic()
    answer = run(tmp_path, body, limit=2.0 if "no end" in reason else 30.0)
    assert answer.status == FAILED and re.search(reason, answer.reason), answer.reason
    assert time.monotonic() - began < 25
    said = told(answer)
    assert said.status == FAILED and said.reason == answer.reason and said.stage == answer.stage and said.throughput is None


def test_a_step_that_hangs_is_ended_long_before_the_limit(tmp_path: Path) -> None:
    body = "say('measure')\nsay('progress', next_within=1.0, step_ms=300.0)\nwhile True: pass"
    answer = run(tmp_path, body, limit=60.0)
    assert answer.status == FAILED and not answer.late and not answer.out_of_memory and answer.seconds < 20
    assert answer.reason == "measure: no answer for 1 s; the step before took 0.3 s"


def test_a_hang_at_the_end_of_the_time_is_no_lateness(tmp_path: Path) -> None:
    answer = run(tmp_path, "say('measure')\nsay('progress', next_within=2.0, step_ms=1.0)\ntime.sleep(100)", limit=1.0)
    assert not answer.late and answer.reason == "measure: no answer for 2 s; the step before took 1 ms"


def test_a_worker_that_only_sleeps_where_it_should_compute_is_ended(tmp_path: Path) -> None:
    answer = run(tmp_path, "say('correctness')\ntime.sleep(100)", limit=60.0, idle=1.5)
    assert not answer.late and re.search(r"correctness: no answer for \d s, and it took no processor time for 2 s", answer.reason), answer


def test_a_crash_after_the_result_does_not_take_it_back(tmp_path: Path) -> None:
    assert run(tmp_path, f"say('result', **{GOOD!r})\nos.kill(os.getpid(), signal.SIGSEGV)").status == OK


def test_what_is_skipped_says_why(tmp_path: Path) -> None:
    answer = run(tmp_path, "say('skipped', reason='no float16 on cpu')")
    assert (answer.status, answer.reason) == (SKIPPED, "no float16 on cpu")
    assert told(answer).status == SKIPPED


def test_an_interpreter_that_is_missing(tmp_path: Path) -> None:
    answer = ask(LocalHost(), str(tmp_path / "python"), {}, limit=5.0)
    assert answer.status == FAILED and "is missing" in answer.reason


def test_children_and_temporary_files_are_gone(tmp_path: Path) -> None:
    body = f"""
    import subprocess, tempfile
    open(os.path.join(tempfile.gettempdir(), "left"), "w").write("x" * 1000)
    child = subprocess.Popen(["sleep", "1000"])
    escaped = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    open({str(tmp_path / "told")!r}, "w").write(f"{{child.pid}} {{escaped.pid}} {{tempfile.gettempdir()}}")
    say("skipped", reason="done")
    """
    answer = run(tmp_path, body)
    assert answer.status == SKIPPED
    child, escaped, folder = (tmp_path / "told").read_text().split()
    assert gone(int(child)) and gone(int(escaped)) and not os.path.exists(folder)


def test_a_daemon_that_forked_twice_and_holds_the_pipe_is_gone(tmp_path: Path) -> None:
    """It has a session of its own, another parent, a deaf ear for SIGTERM, and standard output still open."""
    body = f"""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            open({str(tmp_path / "daemon")!r}, "w").write(str(os.getpid()))
            time.sleep(1000)
        os._exit(0)
    while not os.path.exists({str(tmp_path / "daemon")!r}) or not open({str(tmp_path / "daemon")!r}).read():
        time.sleep(0.01)
    say("skipped", reason="done")
    """
    began = time.monotonic()
    answer = run(tmp_path, body)
    assert (answer.status, answer.reason) == (SKIPPED, "done") and time.monotonic() - began < 10
    assert gone(int((tmp_path / "daemon").read_text()))


def test_a_daemon_that_cleared_its_environment_is_gone(tmp_path: Path) -> None:
    """Nothing on it tells whose it is, and it has a session of its own; another child of this process is not touched."""
    other = subprocess.Popen(["sleep", "1000"])
    body = f"""
    import subprocess
    quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    daemon = subprocess.Popen(["/bin/sleep", "1000"], env={{}}, start_new_session=True, **quiet)
    open({str(tmp_path / "daemon")!r}, "w").write(str(daemon.pid))
    say("skipped", reason="done")
    """
    try:
        assert run(tmp_path, body).reason == "done"
        assert gone(int((tmp_path / "daemon").read_text()))
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_worker_that_forked_and_crashed_leaves_nobody(tmp_path: Path) -> None:
    body = f"""
    children = [os.fork() for _ in range(3)]
    if 0 in children:
        open(os.path.join({str(tmp_path)!r}, "child%d" % os.getpid()), "w").close()
        time.sleep(1000)
    while len([name for name in os.listdir({str(tmp_path)!r}) if name.startswith("child")]) < 7:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGSEGV)
    """
    answer = run(tmp_path, body)
    assert answer.reason == "import: died of SIGSEGV"
    pids = [int(path.name[5:]) for path in tmp_path.glob("child*")]
    assert len(pids) == 7 and all(gone(pid) for pid in pids)


def test_a_fork_that_says_a_result_too_does_not_change_the_first(tmp_path: Path) -> None:
    answer = run(tmp_path, "if os.fork(): os.wait()\nsay('result', pid=os.getpid(), who='child' if os.getppid() > 1 else '')")
    assert answer.status == OK and len(answer.result) == 2


def test_compiled_kernels_stay_where_the_person_wants_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLPRIM_CACHE_DIR", "/mine")
    monkeypatch.setenv("SYCL_CACHE_DIR", "/mine")
    with Caches() as caches:
        answer = run(tmp_path, "say('result', found=[os.environ['DLPRIM_CACHE_DIR'], os.environ['SYCL_CACHE_DIR']])", caches=caches)
        assert answer.result["found"] == ["/mine", caches.variables["SYCL_CACHE_DIR"]]


def test_files_of_a_worker_that_is_killed_are_gone_too(tmp_path: Path) -> None:
    body = f"""
    import tempfile
    folder = tempfile.mkdtemp()
    open(os.path.join(folder, "big"), "wb").write(b"x" * 5_000_000)
    os.chmod(folder, 0o500)
    open({str(tmp_path / "told")!r}, "w").write(tempfile.gettempdir())
    os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run(tmp_path, body).reason == "import: died of SIGKILL"
    assert not os.path.exists((tmp_path / "told").read_text())


def test_caches_are_shared_by_the_workers_of_a_run_and_removed_after_it(tmp_path: Path) -> None:
    with Caches() as caches:
        run(tmp_path, "open(os.environ['SYCL_CACHE_DIR'] + '/kernel', 'w').write('x')", caches=caches)
        answer = run(tmp_path, "say('skipped', reason=open(os.environ['SYCL_CACHE_DIR'] + '/kernel').read())", caches=caches)
        assert answer.reason == "x"
    assert not os.path.exists(caches.path)


def test_the_kernel_takes_the_worker_first_and_it_is_not_niced(tmp_path: Path) -> None:
    body = "time.sleep(0.2)\nsay('skipped', reason=open('/proc/self/oom_score_adj').read().strip() + ' ' + str(os.nice(0)))"
    assert run(tmp_path, body).reason == f"1000 {os.nice(0)}"


class Short(LocalHost):
    """A machine whose memory is nearly full as soon as `full` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.full = False

    def main_memory(self) -> tuple[int, int]:
        return (40_000 if self.full else 900_000) * 1024, 1_000_000 * 1024


def test_a_worker_that_eats_the_memory_is_ended_before_the_machine_is(tmp_path: Path) -> None:
    host = Short()

    def on_stage(stage: str, _: Mapping[str, Any]) -> None:
        host.full = host.full or stage == "first"

    answer = run(tmp_path, "say('first'); time.sleep(60)", host=host, on_stage=on_stage)
    assert answer.status == FAILED and answer.out_of_memory and answer.seconds < 10
    assert answer.reason.startswith("first: ended because main memory was nearly full (39 MiB of 1.0 GiB left)")


def test_more_than_it_may_have_is_refused_to_the_worker_itself(tmp_path: Path) -> None:
    body = """
    time.sleep(0.3)
    try:
        big = bytearray(3 << 30)
    except MemoryError:
        say("failed", error="MemoryError", memory=True)
    """
    answer = run(tmp_path, body, address_space=1 << 30)
    assert answer.status == FAILED and answer.out_of_memory


class Reaped(LocalHost):
    """A kernel that counts one process killed for memory while the worker runs."""

    def __init__(self) -> None:
        super().__init__()
        self.kills = 4

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        if path == "/proc/vmstat":
            self.kills += 1
            return Text(f"pgfault 1\noom_kill {self.kills}\n")
        return super().read(path, limit=limit)


def test_a_worker_that_the_kernel_killed_for_memory_says_so(tmp_path: Path) -> None:
    answer = run(tmp_path, "say('first'); os.kill(os.getpid(), signal.SIGKILL)", host=Reaped())
    assert (answer.status, answer.reason, answer.out_of_memory) == (FAILED, "first: killed by the kernel: main memory was full", True)


def test_killed_from_outside_while_it_measures(tmp_path: Path) -> None:
    pids: list[int] = []
    threading.Timer(1.0, lambda: os.kill(pids[0], signal.SIGKILL)).start()
    answer = run(tmp_path, "say('measure'); time.sleep(60)", on_start=pids.append)
    assert (answer.status, answer.reason) == (FAILED, "measure: died of SIGKILL")


# --- numbers that are none


@pytest.mark.parametrize(
    "latency", [None, {}, {"median": float("nan")}, {"median": -1}, {"median": "20"}, {"median": True}, [1], {"median": 10**400}]
)
def test_times_that_are_no_numbers_fail(latency: Any) -> None:
    said = told(WorkerAnswer(status=OK, stage="measure", result={**GOOD, "latency_ms": latency}))
    assert (said.status, said.reason, said.stage) == (FAILED, "measure: the worker's times are no numbers", "measure")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"max_relative_error": float("nan")}, "output 0"), ({"max_relative_error": None, "note": "NaN", "passed": False}, "output 0: NaN"),
        ({"max_relative_error": 0.01, "passed": False}, "differs by 0.01 from float64 on the processor, 0.002 is allowed"),
        ({"max_relative_error": 0.01, "passed": True}, "differs by 0.01"), ({"tolerance": float("inf")}, "output 0"),
        ({"passed": False, "note": "all gradients are zero"}, "all gradients are zero"), ({"passed": "yes"}, "output 0"),
    ],
)  # fmt: skip
def test_a_wrong_result_fails_whatever_its_speed(row: dict[str, Any], reason: str) -> None:
    outputs = [GOOD["outputs"][0], {**GOOD["outputs"][0], **row}]
    said = told(WorkerAnswer(status=OK, stage="measure", result={**GOOD, "outputs": outputs}))
    assert said.status == FAILED and said.reason.startswith("wrong result: ") and reason in said.reason
    assert said.correctness and not said.correctness.passed and said.correctness.computed_in is None


ROUNDED = {"max_relative_error": 3e-4, "tolerance": 1e-5, "passed": False, "computed_in": "TF32", "note": "computes in TF32: error 3e-04"}


def test_a_narrower_type_is_named_and_is_not_called_wrong() -> None:
    outputs = [GOOD["outputs"][0], {**GOOD["outputs"][0], **ROUNDED}]
    found = told(WorkerAnswer(status=OK, stage="measure", result={**GOOD, "outputs": outputs}))
    assert found.status == FAILED and found.correctness and found.correctness.computed_in == "TF32"
    assert found.reason == "narrower precision: output 0 computes in TF32: error 3e-04, where 1e-05 is allowed"


@pytest.mark.parametrize("order", [1, -1])
def test_a_wrong_result_beside_a_narrower_type_is_what_is_said(order: int) -> None:
    wrong = {**GOOD["outputs"][0], "name": "gradients", "max_relative_error": 0.5, "passed": False}
    outputs = [{**GOOD["outputs"][0], **ROUNDED}, wrong][::order]
    found = told(WorkerAnswer(status=OK, stage="measure", result={**GOOD, "outputs": outputs}))
    assert found.reason and found.reason.startswith("wrong result: gradients differs by 0.5")
    assert found.correctness and found.correctness.computed_in is None and not found.correctness.passed and found.throughput is None


def test_the_row_nearest_to_its_tolerance_is_shown() -> None:
    rows = [
        {"name": str(place), "max_relative_error": error, "tolerance": 1e-3, "passed": True}
        for place, error in enumerate((1e-6, 9e-4, 1e-5))
    ]
    found, wrong = judged(rows)
    assert found is not None and found.max_relative_error == 9e-4 and found.passed and wrong == ""
    assert judged([]) == (None, "") and judged(None) == (None, "")
    assert judged(["x"])[1]


def test_what_may_not_differ_at_all_is_right_when_it_does_not() -> None:
    """Copies are held against the bytes that were sent: their tolerance is 0."""
    row = {"name": "host_to_device", "max_relative_error": 0.0, "tolerance": 0.0, "note": "copied there and back", "passed": True}
    found, wrong = judged([row])
    assert found is not None and found.passed and wrong == ""
    found, wrong = judged([{**row, "max_relative_error": 1e-9}])
    assert found is not None and not found.passed and wrong.startswith("host_to_device differs by 1e-09")


def test_noise_is_told_with_its_cause() -> None:
    wide = {**GOOD, "latency_ms": {**GOOD["latency_ms"], "ci95_percent": 12.0}, "steady": False}
    said = told(WorkerAnswer(status=OK, result=wide), Seen(others="other processes took 40 % of the processor"), "needs root")
    assert said.noisy == (
        "other processes took 40 % of the processor; the median is known within 12 % only; not steady when the warm-up was over"
    )
    assert said.notes == ("energy not known: needs root",)


def test_jobs_that_share_a_worker_have_an_answer_each_and_a_crash_is_that_of_the_job_at_work(tmp_path: Path) -> None:
    answers: list[WorkerAnswer] = []
    last = run(
        tmp_path,
        f"""
        say('job', number=0); say('device', threads=2); say('measure'); say('result', **{GOOD!r})
        say('job', number=1); say('build'); say('skipped', reason='no such thing')
        say('job', number=2); say('build')
        os.kill(os.getpid(), signal.SIGSEGV)
        """,
        on_answer=answers.append,
    )
    assert [(one.status, one.stage, one.reason) for one in answers] == [(OK, "measure", ""), (SKIPPED, "build", "no such thing")]
    assert told(answers[0]).throughput.value == pytest.approx(800.0)
    assert (last.status, last.stage, last.reason) == (FAILED, "build", "build: died of SIGSEGV")


def test_the_real_worker_does_its_jobs_in_turn_and_ends_at_the_first_that_fails(tmp_path: Path) -> None:
    request = {"framework": "torch", "device": "cpu", "workload": "launch", "task": "micro"}
    (tmp_path / "torch_backend.py").write_text(
        textwrap.dedent("""
        from worker import Skipped
        class Session:
            def about(self): return {"device": "cpu"}
            def operators(self, request):
                if request["workload"] == "skip": raise Skipped("not here")
                if request["workload"] == "fail": raise RuntimeError("broken")
                return [request["workload"]]
        def open_session(request): return Session()
        """)
    )
    source = Path(WORKER).read_text().replace('[FOLDER, os.path.join(FOLDER, "backends")]', f"[{str(tmp_path)!r}, {FOLDER!r}]")
    (tmp_path / "worker.py").write_text(source)
    jobs = [{**request, "job": "operators", "workload": name} for name in ("one", "skip", "two", "fail", "never")]
    answers: list[WorkerAnswer] = []
    last = ask(
        LocalHost(), sys.executable, {"framework": "torch", "jobs": jobs}, limit=20.0, worker=str(tmp_path / "worker.py"),
        on_answer=answers.append,
    )  # fmt: skip
    assert [one.status for one in answers] == [OK, SKIPPED, OK] and answers[2].result["operators"] == ["two"]
    assert (last.status, last.reason) == (FAILED, "device: RuntimeError: broken")
