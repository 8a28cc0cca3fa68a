"""Several processes at once: their devices, how a batch is divided, the ranks of a collective, and what comes of their answers."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.benchmark import replica_jobs, replicas, worker_group, workers
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import Job, MeasurementRequestError, ValidateOptions
from gpudoctor.benchmark.monitors.energy import Joules
from gpudoctor.benchmark.monitors.monitor import Watching
from gpudoctor.benchmark.monitors.several_devices import TeamWatching
from gpudoctor.benchmark.workers import WorkerAnswer
from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.measurement import FAILED, OK, SKIPPED
from gpudoctor.services import measurement_run
from gpudoctor.system.local_host import LocalHost

pytestmark = pytest.mark.starts_processes("replicas are processes of their own; these are small scripts")

CPU = MeasurementTarget(framework="torch", device="cpu", python="/p", backend="cpu")
CARDS = [MeasurementTarget(framework="torch", device=f"xpu:{number}", python="/p", backend="xpu") for number in range(3)]
OTHER = MeasurementTarget(framework="openvino", device="openvino:GPU.0", python="/p", backend="gpu")


def jobs(targets: list[MeasurementTarget], **asked: Any) -> list[Job]:
    return [job for _, planned in replica_jobs.plans(targets, ValidateOptions(**asked)) for job in planned]


def members(job: Job) -> list[dict[str, Any]]:
    return replica_jobs.members(job, "/meet")


# --- who does what


def test_replicas_alone_are_the_report_of_the_c2() -> None:
    found = jobs([CPU], replicas=2)
    assert [(job.workload.id, job.task, job.batch) for job in found] == [
        ("resnext101_32x4d", "inference", size) for size in (2, 4, 6, 8, 10, 12)
    ]
    assert all(job.preprocess and job.copies and job.replicas == 2 for job in found)
    assert {job.duration for job in jobs([CPU], replicas=2, full=True)} == {60.0}


def test_one_process_per_device_or_several_on_the_one_that_is_there() -> None:
    (pair,) = jobs(CARDS, replicas=2, batches=(4,))
    assert [peer.device for peer in pair.peers] == ["xpu:0", "xpu:1"] and pair.devices == "xpu:0,xpu:1"
    (five,) = jobs(CARDS, replicas=5, batches=(8,))
    assert [peer.device for peer in five.peers] == ["xpu:0", "xpu:1", "xpu:2", "xpu:0", "xpu:1"]
    (alone,) = jobs([CPU], replicas=3, batches=(4,))
    assert alone.devices == "cpu" and alone.words() == "resnext101_32x4d inference float32 batch 4 on cpu, 3 at once"
    assert replica_jobs.left_out(CARDS, ValidateOptions(replicas=2)) == ["xpu:2: 2 replicas are fewer than 3 devices"]
    assert len({job.target.framework for job in jobs([*CARDS, OTHER], replicas=2)}) == 2


def test_a_batch_is_divided_and_one_that_is_too_small_is_left_out_by_name() -> None:
    assert replica_jobs.parts(5, 2) == [3, 2] and replica_jobs.parts(12, 4) == [3, 3, 3, 3]
    (job,) = jobs([CPU], replicas=4, batches=(2, 6))
    asked = members(job)
    assert job.batch == 6 and [one["options"]["batch"] for one in asked] == [2, 2, 1, 1]
    told = replica_jobs.left_out([CPU], ValidateOptions(replicas=4, batches=(2, 6)))
    assert told == ["resnext101_32x4d at batch 2: fewer items than the 4 replicas"]
    assert replica_jobs.left_out([CPU], ValidateOptions(replicas=2, workloads=("gpt2_decode", "resnet18"))) == [
        "gpt2_decode at batch 1: fewer items than the 2 replicas; --batch 2 is the least"
    ]


def test_each_process_knows_its_place_and_what_is_right_is_judged_once_per_device() -> None:
    (job,) = jobs(CARDS[:2], replicas=3, batches=(6,))
    asked = members(job)
    assert [one["device"] for one in asked] == ["xpu:0", "xpu:1", "xpu:0"] and [one["verify"] for one in asked] == [True, True, False]
    assert [one["worker_group"]["rank"] for one in asked] == [0, 1, 2] and {one["worker_group"]["size"] for one in asked} == {3}
    assert [one["worker_group"]["same"] for one in asked] == [2, 0, 2]
    assert all(one["preprocess"] and one["copies"] for one in asked) and "job" not in asked[0]


def test_texts_are_not_prepared_and_a_network_that_is_named_keeps_its_batch() -> None:
    (text,) = jobs([CPU], replicas=1, workloads=("gpt2_decode",))
    assert text.copies and not text.preprocess and text.batch == 1 and text.replicas == 1
    (unet,) = jobs([CPU], replicas=2, workloads=("unet_sd15",))
    assert not unet.preprocess


def test_a_collective_has_a_rank_for_each_card_and_two_on_a_processor() -> None:
    (here,) = jobs([CPU], workloads=("all_reduce",))
    assert len(here.peers) == 2 and max(here.messages) == 32 << 20 and here.words().endswith("on cpu, 2 at once")
    assert [one["job"] for one in members(here)] == ["collective"] * 2 and members(here)[0]["options"]["sizes"] == list(here.messages)
    (cards,) = jobs(CARDS, workloads=("all_reduce",))
    assert cards.devices == "xpu:0,xpu:1,xpu:2" and max(cards.messages) == 256 << 20
    assert len(jobs([CPU], workloads=("all_reduce",), replicas=3)[0].peers) == 3
    full = [job for job in jobs([CPU], full=True) if job.messages]
    assert len(full) == 1 and not [job for job in jobs(CARDS[:1], full=True) if job.messages]
    assert not [job for job in jobs([CPU]) if job.messages], "--quick has none"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (ValidateOptions(replicas=2, tasks=("training",)), "--replicas measures inference"),
        (ValidateOptions(replicas=2, workloads=("matmul",)), "matmul has not"),
        (ValidateOptions(max_latency=5.0), "goes with --sweep-batch or --replicas"),
    ],
)  # fmt: skip
def test_what_replicas_cannot_do_is_refused(asked: ValidateOptions, said: str) -> None:
    with pytest.raises(MeasurementRequestError, match=said):
        replica_jobs.check(asked)


# --- what comes of their answers


def answer(*micros: float, rate: float = 1.0, status: str = OK, **more: Any) -> WorkerAnswer:
    seconds = sum(micros) / 1e6
    result = {
        "samples_us": list(micros), "iterations": len(micros), "window_s": seconds, "items_per_step": rate * seconds / len(micros),
        "memory_peak_bytes": 100, "first_ms": 5.0, "steady": True,
        "outputs": [{"name": "o", "max_relative_error": 1e-6, "tolerance": 1e-3, "passed": True}],
    }  # fmt: skip
    return WorkerAnswer(status=status, stage="measure", result=result, **more)


def test_a_batch_is_as_late_as_its_last_part_and_throughput_is_of_all() -> None:
    found = replicas.of_batches([answer(1000, 1000, 5000, rate=30.0), answer(2000, 500, 4000, 9000, rate=20.0)])
    assert found.answer.result["latency_ms"]["median"] == pytest.approx(2.0) and found.answer.result["iterations"] == 3
    assert found.rate == pytest.approx(50.0) and found.each == pytest.approx((30.0, 20.0))
    assert found.answer.result["memory_peak_bytes"] == 200 and len(found.answer.result["outputs"]) == 2


def test_the_replica_that_died_is_named_and_not_those_that_were_ended_for_it() -> None:
    ended = WorkerAnswer(status=FAILED, reason=f"measure: {worker_group.OTHER}")
    found = replicas.of_batches([ended, WorkerAnswer(status=FAILED, reason="measure: died of SIGKILL"), answer(1, 2)])
    assert found.answer.reason == "replica 2 of 3: measure: died of SIGKILL" and found.rate is None
    hung = WorkerAnswer(status=FAILED, reason=f"measure: {worker_group.OTHER}, {worker_group.SILENT_FOR}31 s")
    waited = replicas.of_messages([WorkerAnswer(status=FAILED, reason="measure: RuntimeError: timed out"), hung], (1024,))
    assert waited[0].answer.reason == "rank 1 of 2: measure: RuntimeError: timed out; rank 2 was silent for 31 s"
    skipped = replicas.of_batches([WorkerAnswer(status=SKIPPED, reason="no device"), ended])
    assert (skipped.answer.status, skipped.answer.reason) == (SKIPPED, "no device")


@pytest.mark.parametrize("told", [None, "1,2", [], [1], [1, "2"], [1, float("nan")], [1, -5], [True, True], [1] * 200_000])
def test_times_that_are_no_times_are_a_failure(told: Any) -> None:
    bad = answer(10, 20)
    bad = WorkerAnswer(status=OK, result={**bad.result, "samples_us": told})
    found = replicas.of_batches([answer(10, 20), bad])
    assert found.answer.status == FAILED and "no numbers" in found.answer.reason


def test_each_message_size_is_a_measurement_with_the_time_of_the_last_rank() -> None:
    def rank(*times: float) -> WorkerAnswer:
        sizes = [
            {"bytes": size, "samples_us": [time] * 8, "iterations": 8, "items_per_step": size * 1.0}
            for size, time in zip((1024, 8192), times, strict=True)
        ]
        return WorkerAnswer(status=OK, result={"sizes": sizes, "outputs": [], "collective": "gloo"})

    small, large = replicas.of_messages([rank(100, 200), rank(50, 400)], (1024, 8192))
    assert small.message == 1024 and small.rate == pytest.approx(1024 / 100e-6) and large.rate == pytest.approx(8192 / 400e-6)
    broken = WorkerAnswer(status=OK, result={"sizes": [{}]})
    assert [each.answer.status for each in replicas.of_messages([rank(1, 1), broken], (1024, 8192))] == [FAILED]


# --- how they are run

WORKER = """
import json, os, sys, time
asked = json.loads(sys.stdin.read())
def say(stage, **what):
    print("@gpudoctor " + json.dumps(dict(what, stage=stage)), flush=True)
worker_group = asked["worker_group"]
say("device", framework_version="1")
if asked.get("fails") == worker_group["rank"]:
    sys.exit(3)
time.sleep(0.3 * worker_group["rank"])
say("ready")
while not os.path.exists(os.path.join(worker_group["folder"], "start")):
    time.sleep(0.001)
began = time.time()
say("measure")
if asked.get("dies") == worker_group["rank"]:
    os.kill(os.getpid(), 9)
time.sleep(60 if asked.get("waits") else 0.2)
say("result", began=began)
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[WorkerAnswer]]:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    real = workers.ask
    monkeypatch.setattr(workers, "ask", lambda *given, **more: real(*given, worker=str(script), **more))

    def go(limit: float = 30.0, on_stage: Any = None, **more: Any) -> list[WorkerAnswer]:
        def requests(folder: str) -> list[Mapping[str, Any]]:
            return [{**more, "worker_group": {"rank": rank, "size": 3, "folder": folder}} for rank in range(3)]

        return worker_group.run(LocalHost(budget=0.0), sys.executable, requests, limit=limit, on_stage=on_stage)

    return go


def test_they_begin_together_when_the_last_is_ready(run: Callable[..., list[WorkerAnswer]]) -> None:
    heard: list[str] = []
    found = run(on_stage=lambda stage, table: heard.append(stage))
    began = [each.result["began"] for each in found]
    assert [each.status for each in found] == [OK] * 3 and max(began) - min(began) < 0.25
    assert heard.count("measure") == 1 and heard.count("result") == 3


@pytest.mark.parametrize(("how", "why"), [({"dies": 1, "waits": 1}, "died of SIGKILL"), ({"fails": 1}, "left with status 3")])
def test_where_one_ends_badly_the_others_are_ended_at_once(run: Callable[..., list[WorkerAnswer]], how: dict[str, int], why: str) -> None:
    began = time.monotonic()
    found = run(**how)
    assert time.monotonic() - began < 15 and why in found[1].reason
    assert all(worker_group.OTHER in found[rank].reason and not found[rank].out_of_memory for rank in (0, 2))
    assert replicas.failure(found) is not None and "replica 2 of 3" in str(replicas.failure(found))


def test_a_hang_is_a_failure_of_all_in_time(run: Callable[..., list[WorkerAnswer]]) -> None:
    found = run(limit=2.0, waits=1)
    assert all(each.status == FAILED and each.late for each in found)


def test_an_interruption_ends_them(run: Callable[..., list[WorkerAnswer]], monkeypatch: pytest.MonkeyPatch) -> None:
    real = threading.Thread.join

    def join(self: threading.Thread, timeout: float | None = None) -> None:
        real(self, timeout)
        if self.name.startswith("replica") and timeout == 0.1 and time.monotonic() - began > 1.5:
            raise KeyboardInterrupt

    began = time.monotonic()
    monkeypatch.setattr(threading.Thread, "join", join)
    with pytest.raises(KeyboardInterrupt):
        run(waits=1)
    assert time.monotonic() - began < 12
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("replica")]


def test_a_run_gives_a_measurement_of_all_and_one_per_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def together(host: Any, python: str, asked: Callable[[str], list[dict[str, Any]]], **_: Any) -> list[WorkerAnswer]:
        requests = asked("/meet")
        if requests[0].get("job") == "collective":
            asked_for = requests[0]["options"]["sizes"]
            sizes = [{"bytes": size, "samples_us": [100.0] * 20, "iterations": 20, "items_per_step": size} for size in asked_for]
            return [WorkerAnswer(status=OK, stage="measure", result={"sizes": sizes}) for _ in requests]
        return [answer(*([1000.0] * 30), rate=10.0 * one["options"]["batch"]) for one in requests]

    monkeypatch.setattr(worker_group, "run", together)
    made = measurement_run.Run(LocalHost(budget=0.0), Facts({"gpus": Known([])}), None)
    assert made.all([CPU], ValidateOptions(workloads=("resnext101_32x4d", "all_reduce"), replicas=2, batches=(4, 6)), None) == []
    first, second, *sizes = made.measurements
    assert (first.batch, first.replicas, first.throughput and first.throughput.value) == (4, 2, pytest.approx(40.0))
    assert second.batch == 6 and json.dumps(second.to_json())
    assert [each.input for each in sizes] == [(size // 4,) for size in (1024, 8192, 65536, 524288, 4194304, 33554432)]
    assert sizes[-1].throughput is not None and sizes[-1].throughput.unit == "GB/s" and sizes[-1].ceiling is None


# --- energy


def test_power_of_several_cards_is_added_and_told_of_a_minute_or_more() -> None:
    class Fixed:
        def __init__(self, watts: float | None, seconds: float) -> None:
            self.joules = None if watts is None else Joules(watts * seconds, seconds, "card", "hwmon")
            self.why_not = "no energy counter: none"

        def total(self) -> Joules | None:
            return self.joules

    def told(*watts: float | None, seconds: float) -> tuple[Joules | None, str]:
        made = TeamWatching(LocalHost(budget=0.0), Facts({"gpus": Known([])}), [CPU], [])
        made._all = [Watching(LocalHost(budget=0.0), [], Fixed(value, seconds)) for value in watts]  # type: ignore[arg-type]
        return made.total(60.0)

    joules, why = told(100.0, 150.0, seconds=60.5)
    assert joules is not None and joules.watts == pytest.approx(250.0) and why == ""
    assert told(100.0, seconds=5.0) == (None, "5 s are too short for it: --full, or --duration 60")
    assert told(100.0, None, seconds=61.0) == (None, "no energy counter: none")


def test_training_by_two_processes_divides_the_batch() -> None:
    """Each rank a part; the gradients are compared by the workers, so a processor is enough."""
    ((_, jobs),) = replica_jobs.plans([CPU], ValidateOptions(workloads=("ddp_training",), batches=(6,)))
    (job,) = jobs
    assert (job.task, job.batch, job.replicas, job.messages) == ("training", 6, 2, ())
    requests = replica_jobs.members(job, "/meet")
    assert [one["job"] for one in requests] == ["data_parallel"] * 2 and [one["options"]["batch"] for one in requests] == [3, 3]
    assert [one["worker_group"]["rank"] for one in requests] == [0, 1] and requests[0]["workload"] == "resnet18"
    assert not any(job.workload.id == "ddp_training" for _, jobs in replica_jobs.plans([CPU], ValidateOptions()) for job in jobs)
