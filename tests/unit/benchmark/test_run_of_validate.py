"""The run of `validate`: one bad worker is one measurement, time is shared, what does not fit is named, and the report holds it all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpudoctor.benchmark import workers
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import ValidateOptions, plan
from gpudoctor.benchmark.workers import WorkerAnswer
from gpudoctor.facts.collect import Gathered
from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.measurement import FAILED, OK, SKIPPED, Conditions, Measurement
from gpudoctor.reporters.report import json_report
from gpudoctor.reporters.shared.schema import complaints
from gpudoctor.services import checking, measurement_run, validating
from gpudoctor.system.local_host import LocalHost

CPU = MeasurementTarget(framework="torch", device="cpu", python="/p", backend="cpu", version="2.13")
XPU = MeasurementTarget(framework="torch", device="xpu:0", python="/p", backend="xpu")
OPENVINO = MeasurementTarget(framework="openvino", device="openvino:CPU", python="/p", backend="cpu")
ORT = MeasurementTarget(framework="onnxruntime", device="ort:CPUExecutionProvider", python="/p", backend="cpu")
GOOD = {"items_per_step": 2 * 1024**3, "latency_ms": {"median": 20.0, "ci95_percent": 1.0}, "iterations": 100, "steady": True,
        "operators": [{"operator": "relu", "group": "g", "dtype": "float32", "direction": "forward", "verdict": "native"}]}  # fmt: skip


class Clock:
    """Seconds that pass as workers take them."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`play(answers, seconds)`: each job takes so long and gives the answer of its workload, else a good one; a failure ends its worker.
    Returns what was asked of the first process of each row: the names of a worker's jobs, and its limit; `play.further` has the names of
    the jobs of each further one."""
    asked: list[tuple[str, float]] = []
    further: list[str] = []
    clock = Clock()
    monkeypatch.setattr(measurement_run, "time", clock)

    def set_up(answers: Mapping[str, WorkerAnswer], seconds: float) -> list[tuple[str, float]]:
        def ask(host: Any, python: str, request: Mapping[str, Any], *, limit: float, **more: Any) -> WorkerAnswer:
            jobs = request.get("jobs", [request])
            names = " ".join(job["workload"] for job in jobs)
            if jobs[0]["verify"]:
                asked.append((names, limit))
            else:
                further.append(names)
            begun = clock.now
            for number, job in enumerate(jobs):
                if "jobs" in request:
                    more["on_stage"]("job", {"number": number})
                left = begun + limit - clock.now
                clock.now += min(seconds, left)
                if seconds > left:
                    return WorkerAnswer(status=FAILED, stage="correctness", reason="correctness: no end", late=True, seconds=limit)
                answer = answers.get(job["workload"], WorkerAnswer(status=OK, stage="measure", result=GOOD, seconds=seconds))
                if answer.status == FAILED or number == len(jobs) - 1:
                    return answer
                more["on_answer"](answer)
            raise AssertionError("no jobs")

        monkeypatch.setattr(workers, "ask", ask)
        return asked

    set_up.further = further  # type: ignore[attr-defined]
    return set_up


def run(targets: list[MeasurementTarget], asked: ValidateOptions, seconds: float | None) -> tuple[list[Measurement], list[str]]:
    made = measurement_run.Run(LocalHost(budget=0.0), Facts({"gpus": Known([])}), None)
    left_out = made.all(targets, asked, seconds)
    return made.measurements, left_out


def test_a_crash_costs_one_measurement_and_the_others_go_on_in_a_new_process(play: Any) -> None:
    asked = play({"launch": WorkerAnswer(status=FAILED, stage="measure", reason="measure: died of SIGSEGV")}, 3.0)
    found, left_out = run([CPU], ValidateOptions(workloads=("matmul", "launch", "memory_bandwidth")), None)
    assert [(each.workload, each.status) for each in found] == [("matmul", OK), ("launch", FAILED), ("memory_bandwidth", OK)]
    assert found[1].reason == "measure: died of SIGSEGV" and found[1].stage == "measure" and left_out == []
    assert [names for names, _ in asked] == ["matmul launch memory_bandwidth", "memory_bandwidth"]


def test_a_worker_that_cannot_import_its_framework_is_started_twice(play: Any) -> None:
    broken = WorkerAnswer(status=FAILED, stage="import", reason="import: ImportError: libtorch.so")
    asked = play({"matmul": broken, "launch": broken}, 3.0)
    found, _ = run([CPU], ValidateOptions(workloads=("matmul", "launch", "memory_bandwidth", "operators")), None)
    assert [each.reason for each in found] == ["import: ImportError: libtorch.so"] * 4 and len(asked) == 2


def test_an_accident_while_a_framework_is_imported_costs_one_measurement(play: Any) -> None:
    play({"matmul": WorkerAnswer(status=FAILED, stage="import", reason="import: died of SIGKILL")}, 3.0)
    found, _ = run([CPU], ValidateOptions(workloads=("matmul", "launch")), None)
    assert [each.status for each in found] == [FAILED, OK]


def test_a_worker_that_begins_more_jobs_than_it_got_is_not_believed(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*_: Any, on_stage: Any, on_answer: Any, **__: Any) -> WorkerAnswer:
        good = WorkerAnswer(status=OK, stage="measure", result=GOOD)
        for number in range(5):
            on_stage("job", {"number": number})
            on_answer(good)
        return good

    monkeypatch.setattr(workers, "ask", ask)
    found, _ = run([CPU], ValidateOptions(workloads=("matmul", "launch")), None)
    assert [each.workload for each in found] == ["matmul", "launch"]


def test_each_framework_trains_and_infers_before_anything_else_is_measured(play: Any) -> None:
    asked = play({}, 1.0)
    found, _ = run([CPU, OPENVINO, ORT], ValidateOptions(), 50.0)
    first = [(each.framework, each.workload, each.task) for each in found[:5]]
    assert first == [
        ("torch", "resnet18", "inference"), ("openvino", "resnet18", "inference"), ("onnxruntime", "resnet18", "inference"),
        ("torch", "resnet18", "training"), ("torch", "operators", "micro"),
    ]  # fmt: skip
    assert {each.status for each in found} == {OK}
    assert sum("matmul" in names for names, _ in asked) == 3, "the small measurements of a device share a process"


def test_a_slow_machine_gives_each_framework_its_share(play: Any) -> None:
    play({}, 8.0)
    found, _ = run([CPU, OPENVINO, ORT], ValidateOptions(), 50.0)
    done = [(each.framework, each.task) for each in found if each.status == OK]
    assert done[:4] == [("torch", "inference"), ("openvino", "inference"), ("onnxruntime", "inference"), ("torch", "training")]


def test_what_does_not_fit_is_named_with_what_it_would_take(play: Any) -> None:
    play({}, 4.0)
    found, left_out = run([CPU], ValidateOptions(), 20.0)
    assert 2 <= sum(each.status == OK for each in found) <= 5 and left_out == []
    skipped = {f"{each.workload} {each.task}": each for each in found if each.status == SKIPPED}
    assert str(skipped["resnet50 training"].reason).startswith("out of time; --full measures all")
    assert skipped["resnet50 training"].notes[0].startswith("would take about ")
    assert len(found) == len(plan(CPU, ValidateOptions()))


def test_a_worker_is_stopped_when_the_minute_is_over_and_that_is_no_failure(play: Any) -> None:
    asked = play({}, 300.0)
    found, left_out = run([CPU], ValidateOptions(), 50.0)
    assert [names for names, _ in asked] == ["resnet18", "operators matmul memory_bandwidth launch"], "its training takes longer than that"
    assert sum(limit for _, limit in asked) == pytest.approx(50.0)
    assert found[0].status == SKIPPED and str(found[0].reason).endswith("it was stopped at 'correctness'")
    assert left_out == [] and all(str(each.reason).startswith("out of time") for each in found)


def test_a_hang_without_a_minute_is_a_failure(play: Any) -> None:
    play({}, 1e6)
    (found,), _ = run([CPU], ValidateOptions(workloads=("matmul",)), None)
    assert found.status == FAILED


def test_an_interrupted_run_keeps_what_was_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(host: Any, python: str, request: Mapping[str, Any], *, on_stage: Any, on_answer: Any, **_: Any) -> WorkerAnswer:
        for number in range(3):
            on_stage("job", {"number": number})
            if number == 2:
                raise KeyboardInterrupt
            on_answer(WorkerAnswer(status=OK, stage="measure", result=GOOD))
        raise AssertionError("interrupted before")

    monkeypatch.setattr(workers, "ask", ask)
    made = measurement_run.Run(LocalHost(budget=0.0), Facts({"gpus": Known([])}), None)
    wanted = ValidateOptions(workloads=("matmul", "launch", "memory_bandwidth", "resnet18"))
    _, interrupted = made.until_interrupted([CPU], wanted, None)
    assert interrupted and [(each.workload, each.status) for each in made.measurements] == [
        ("matmul", OK), ("launch", OK), ("memory_bandwidth", SKIPPED), ("resnet18", SKIPPED), ("resnet18", SKIPPED),
    ]  # fmt: skip
    assert {each.reason for each in made.measurements if each.status == SKIPPED} == {"the run was interrupted before"}


def test_an_interrupt_before_anything_is_finished_is_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*_: Any, **__: Any) -> WorkerAnswer:
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "ask", ask)
    with pytest.raises(KeyboardInterrupt):
        measurement_run.Run(LocalHost(budget=0.0), Facts({"gpus": Known([])}), None).until_interrupted([CPU], ValidateOptions(), None)


@pytest.mark.parametrize(("quiet", "seconds", "again"), [(True, None, True), (False, None, False), (True, 9.0, False)])
def test_what_others_disturbed_is_measured_again_once_where_it_is_quiet_and_time_is_left(
    monkeypatch: pytest.MonkeyPatch, quiet: bool, seconds: float | None, again: bool
) -> None:
    asked: list[str] = []
    clock = Clock()
    monkeypatch.setattr(measurement_run, "time", clock)

    def in_turn(self: Any, jobs: Any, caches: Any, limit: float | None = None, variables: Any = None) -> None:
        for job in jobs:
            clock.now += 4.0
            if job.process == 1:
                asked.append(job.workload.id)
            others = "other processes took 40 % of the processor" if len(asked) == 1 else ""
            made = Measurement(
                workload=job.workload.id, task="micro", framework="torch", backend="cpu", device="cpu", dtype="float32",
                noisy=others or None, conditions=Conditions(others=others, others_share=0.4 if others else 0.0),
            )  # fmt: skip
            self._alone.append(measurement_run.Row(len(self.measurements), job, 4.0, [made]))
            self.measurements.append(made)

    monkeypatch.setattr(measurement_run.Run, "in_turn", in_turn)
    monkeypatch.setattr(measurement_run, "is_quiet", lambda host: quiet)
    found, _ = run([CPU], ValidateOptions(workloads=("matmul", "launch")), seconds)
    assert asked[:1] == ["matmul"] and (asked[-1] == "matmul" and len(asked) == 3) == again
    assert [each.workload for each in found] == ["matmul", "launch"] and (found[0].noisy is None) == again
    assert any("the first time, other processes took 40 %" in note for note in found[0].notes) == again


def test_each_row_is_measured_in_several_processes_when_all_have_had_their_first(play: Any) -> None:
    """Spread over the run, so that what takes minutes to pass is among them; the small ones of a device share each of theirs."""
    asked = play({}, 2.0)
    found, _ = run([CPU], ValidateOptions(workloads=("matmul", "resnet18", "launch"), tasks=("micro", "inference")), None)
    assert [names for names, _ in asked] == ["matmul launch", "resnet18"] and play.further == ["matmul launch", "resnet18"] * 4
    assert [each.workload for each in found] == ["matmul", "launch", "resnet18"]
    assert all(each.latency_ms is not None and each.latency_ms.processes == (20.0,) * 5 for each in found)


def test_a_row_whose_processes_take_long_keeps_its_one(play: Any) -> None:
    play({}, 20.0)
    (found,), _ = run([CPU], ValidateOptions(workloads=("matmul",)), None)
    assert play.further == [] and found.latency_ms is not None and found.latency_ms.processes == ()


def test_a_minute_goes_to_further_processes_when_each_row_has_one(play: Any) -> None:
    play({}, 1.0)
    found, _ = run([CPU], ValidateOptions(), 20.0)
    assert {each.status for each in found} == {OK}
    assert play.further[:2] == ["resnet18", "resnet18"], "the first that are shown"
    counts = [len(each.latency_ms.processes) for each in found if each.latency_ms is not None and each.workload != "operators"]
    assert counts == sorted(counts, reverse=True) and 2 <= counts[0] < 5


def test_a_fault_of_a_later_process_is_the_fault_of_its_row(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    play({}, 1.0)
    good = workers.ask

    def ask(host: Any, python: str, request: Mapping[str, Any], **more: Any) -> WorkerAnswer:
        if not request.get("verify", True):
            return WorkerAnswer(status=FAILED, stage="measure", reason="measure: no answer for 12 s")
        return good(host, python, request, **more)

    monkeypatch.setattr(workers, "ask", ask)
    (found,), _ = run([CPU], ValidateOptions(workloads=("matmul",)), None)
    assert (found.status, found.reason) == (FAILED, "measure: no answer for 12 s")
    assert "in process 2; those before it found nothing wrong" in found.notes


def test_an_environment_that_goes_away_costs_further_processes_and_no_row(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    play({}, 1.0)
    good, gone = workers.ask, 0

    def ask(host: Any, python: str, request: Mapping[str, Any], **more: Any) -> WorkerAnswer:
        nonlocal gone
        if not request.get("verify", True):
            gone += 1
            return WorkerAnswer(status=FAILED, reason="the interpreter /p is missing")
        return good(host, python, request, **more)

    monkeypatch.setattr(workers, "ask", ask)
    (found,), _ = run([CPU], ValidateOptions(workloads=("matmul",)), None)
    assert found.status == OK and "no further process: the interpreter /p is missing" in found.notes and gone == 1


def test_devices_share_the_time(play: Any) -> None:
    play({}, 5.0)
    found, _ = run([XPU, CPU], ValidateOptions(), 50.0)
    done = [each.device for each in found if each.status == OK]
    assert set(done) == {"xpu:0", "cpu"} and 40.0 <= 5.0 * len(done) <= 50.0


def test_the_report_holds_measurements_and_their_facts(play: Any) -> None:
    play({"launch": WorkerAnswer(status=FAILED, stage="build", reason="build: x\x1b[0m")}, 1.0)
    found, _ = run([CPU], ValidateOptions(workloads=("matmul", "launch", "operators")), None)
    report = validating.judged(Gathered(Facts({"gpus": Known([])})), found, checking.catalogue(), checking.CheckRequest(), "live")
    document = json.loads(json_report.render(report))
    assert complaints(document) == [] and [each["workload"] for each in document["measurements"]] == ["matmul", "launch", "operators"]
    assert document["facts"]["measured"]["failed"] == ["launch micro float32 on cpu"]
    assert document["facts"]["measurements"][0]["unit"] == "TFLOP/s"
