"""Jobs of several processes at once: replicas of a network that share a batch, and the ranks of a collective. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import Job, MeasurementRequestError, ValidateOptions
from gpudoctor.benchmark.own_model import plan
from gpudoctor.benchmark.workload_list import BY_ID, MESSAGES, WORKLOADS, Options

DEFAULT = "resnext101_32x4d"
"""Measured with replicas where nothing is named: the report of Graphcore's C2 card, batches 2 to 12."""
DURATION = 5.0
ENERGY_SECONDS = 60.0
"""The shortest measurement in seconds that has a throughput per watt: counters of boards are slow, and so is the temperature."""
COLLECTIVES = ("torch", "ipex")
"""Frameworks whose ranks can meet."""
PATIENCE = {True: 30.0, False: 120.0}
"""Seconds that a rank waits for another, on a processor (True) and on cards (False); then it fails, and the others are ended."""
LINK_MESSAGE = {True: 4 << 20, False: 64 << 20}
"""Bytes of the message between two ranks, on a processor and on cards: large enough that its bandwidth is that of the link."""
MOST_ON_PROCESSOR = 32 << 20
"""Bytes of the largest message between processes of one processor: larger ones would measure its memory."""


def check(asked: ValidateOptions) -> None:
    """Raises MeasurementRequestError for options that replicas cannot fulfil."""
    together = [name for name in asked.workloads if BY_ID[name].together]
    if asked.replicas is None:
        if asked.max_latency is not None:
            raise MeasurementRequestError("--max-latency: goes with --sweep-batch or --replicas, which measure the batches to pick from")
        return
    if asked.tasks and "inference" not in asked.tasks and not together:
        raise MeasurementRequestError(f"--replicas measures inference; --task {','.join(asked.tasks)} leaves nothing to do")
    for name in asked.workloads:
        if name not in together and "inference" not in BY_ID[name].tasks:
            raise MeasurementRequestError(
                f"--replicas measures inference, which {name} has not; gpudoctor list workloads names those that have it"
            )


def plans(targets: Sequence[MeasurementTarget], asked: ValidateOptions) -> list[tuple[MeasurementTarget, list[Job]]]:
    """The jobs of each target. Devices of one framework and kind form one team where several are wanted."""
    teams = list(_by_kind(targets))
    if asked.replicas is None:
        found = [(target, plan(target, asked)) for target in targets]
        for devices in teams:
            place = next(number for number, (target, _) in enumerate(found) if target == devices[0])
            found[place] = (found[place][0], [*found[place][1], *_collectives(devices, asked)])
        return found
    return [(devices[0], [*_replicas(devices, asked), *_collectives(devices, asked)]) for devices in teams]


def _by_kind(targets: Sequence[MeasurementTarget]) -> Iterable[list[MeasurementTarget]]:
    groups: dict[tuple[str, str, str], list[MeasurementTarget]] = {}
    for target in targets:
        groups.setdefault((target.framework, target.backend, target.python), []).append(target)
    return groups.values()


def _replicas(devices: Sequence[MeasurementTarget], asked: ValidateOptions) -> Iterable[Job]:
    """Processes distributed over the devices in turn; with fewer processes than devices, the last devices are left out."""
    assert asked.replicas is not None
    peers = tuple(devices[number % len(devices)] for number in range(asked.replicas))
    duration = asked.duration if asked.duration is not None else ENERGY_SECONDS if asked.full else DURATION
    for name, batches in _batches(asked):
        wanted = replace(asked, workloads=(name,), tasks=("inference",), batches=batches, copies=True, preprocess=True)
        for job in plan(devices[0], wanted):
            images = "height" in job.options and job.workload.unit == "images/s"  # texts and latents need no preprocessing
            if (job.batch or 0) >= asked.replicas:
                yield replace(job, peers=peers, duration=duration, preprocess=images)


def _batches(asked: ValidateOptions) -> list[tuple[str, tuple[int, ...]]]:
    """(network, batches) for replicas: the networks and batches that were named, else the default network and each workload's batches."""
    if not asked.workloads:
        known = (BY_ID[DEFAULT].options, *BY_ID[DEFAULT].variants)
        return [(DEFAULT, asked.batches or tuple(each["batch"] for each in known))]
    networks = [name for name in dict.fromkeys(asked.workloads) if not BY_ID[name].together]
    return [(name, asked.batches or (BY_ID[name].options["batch"],)) for name in networks]


def left_out(targets: Sequence[MeasurementTarget], asked: ValidateOptions) -> list[str]:
    """One line for each requested measurement that cannot be divided between replicas."""
    if asked.replicas is None:
        return []
    found = []
    for name, sizes in _batches(asked):
        if small := [str(size) for size in sizes if size < asked.replicas]:
            advice = "" if len(small) < len(sizes) else f"; --batch {asked.replicas} is the least"
            found.append(f"{name} at batch {', '.join(small)}: fewer items than the {asked.replicas} replicas{advice}")
    for devices in _by_kind(targets):
        if len(devices) > asked.replicas:
            names = ", ".join(target.device for target in devices[asked.replicas :])
            found.append(f"{names}: {asked.replicas} replicas are fewer than {len(devices)} devices")
    return found


def _collectives(devices: Sequence[MeasurementTarget], asked: ValidateOptions) -> Iterable[Job]:
    """Jobs of collectives, for several devices, for several processes of a processor, and wherever one is named: its worker reports
    then why it is impossible."""
    first = devices[0]
    ranks = asked.replicas or (2 if first.on_processor else len(devices))
    for workload in WORKLOADS:
        named = workload.id in asked.workloads
        meant = named or (asked.full and not asked.workloads and asked.replicas is None and (ranks > 1 or first.on_processor))
        task = workload.tasks[0]
        if not workload.together or not meant or (asked.tasks and task not in asked.tasks):
            continue
        if first.framework not in COLLECTIVES and not named:
            continue
        peers = tuple(devices[number % len(devices)] for number in range(ranks))
        messages = tuple(size for size in MESSAGES if not first.on_processor or size <= MOST_ON_PROCESSOR) if task == "micro" else ()
        usual = {**workload.options, **(workload.processor if first.on_processor else {})} if task != "micro" else {}
        batches = asked.batches if "batch" in usual else ()
        duration = asked.duration if asked.duration is not None else 10.0 if asked.full else 3.0
        for dtype in asked.dtypes or workload.dtypes[:1]:
            for batch in batches or (usual.get("batch", 0),):
                options = {**usual, "batch": max(batch, ranks)} if usual else {}
                yield Job(
                    target=first, workload=workload, task=task, dtype=dtype, duration=duration, peers=peers, messages=messages,
                    options=options, optimizer=asked.optimizer,
                )  # fmt: skip


def members(job: Job, folder: str) -> list[dict[str, Any]]:
    """A request for each process of `job`. `folder`: through which they find each other.

    The batch is divided as evenly as possible. Correctness on a device is judged once, by its first process.
    """
    found: list[dict[str, Any]] = []
    size, request = len(job.peers), job.request()
    seen: set[str] = set()
    for rank, (peer, batch) in enumerate(zip(job.peers, parts(job.batch or 0, size), strict=True)):
        alike = sum(other.device == peer.device for other in job.peers)
        options: Options = {**request["options"], "batch": batch} if job.network else {}
        one = {
            **request, "device": peer.device, "options": {**options, **_messages(job)} if job.messages else options,
            "verify": peer.device not in seen,
            "worker_group": {
                "rank": rank, "size": size, "folder": folder, "same": alike if alike > 1 else 0,
                "patience": PATIENCE[job.target.on_processor],
            },
        }  # fmt: skip
        if job.workload.together:
            one["job"] = "collective" if job.messages else "data_parallel"
        seen.add(peer.device)
        found.append(one)
    return found


def _messages(job: Job) -> dict[str, Any]:
    """The sizes of a collective's messages, and that of the message between each two of its ranks."""
    return {"sizes": list(job.messages), "link_bytes": min(max(job.messages), LINK_MESSAGE[job.target.on_processor])}


def parts(batch: int, size: int) -> list[int]:
    """The sizes of the parts of a batch: 3 and 2 for 5 over 2."""
    return [batch // size + (rank < batch % size) for rank in range(size)]
