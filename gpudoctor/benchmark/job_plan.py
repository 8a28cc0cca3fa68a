"""Turns the options of `validate` into jobs for workers, the most informative first, and estimates the time of each. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gpudoctor.benchmark import flop_model
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.workload_list import BY_ID, OWN, SMALL, TASKS, WORKLOADS, Options, Workload, items_per_step
from gpudoctor.rules.conditions import did_you_mean

if TYPE_CHECKING:
    from gpudoctor.benchmark.own_model import OwnModel

DTYPES = ("float32", "float16", "bfloat16", "float64")
COMPILES = ("none", "default", "reduce-overhead", "max-autotune")
OPTIMIZERS = ("sgd", "adam")
MOST_REPLICAS = 64
QUICK_BUDGET = 60.0
"""Seconds for the whole run, the examination of the machine included."""
ABILITIES = {
    "openvino": ("inference", "micro"),
    "onnxruntime": ("inference", "micro"),
    "popart": ("inference", "micro"),
    "opencl": ("micro",),
    "wgpu": ("micro",),
    "llama-cpp": ("inference",),
    "llama-bench": ("inference",),
}
"""Frameworks that do not everything."""


_OF_TORCH = ("torch", "ipex", "torch-directml", "torch-opencl")
JUDGED_BY = {"operators": (*_OF_TORCH, "onnxruntime", "openvino", "jax", "opencl"), "large_tensors": _OF_TORCH}
"""Frameworks whose workers give a verdict on single operators."""


class MeasurementRequestError(ValueError):
    """Options that cannot be measured. The message is one line that also says what can."""


class ValidateOptions(Struct, frozen=True, kw_only=True):
    """The options of `validate`. With no workload named and without `full`, it is --quick."""

    workloads: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    batches: tuple[int, ...] = ()
    dtypes: tuple[str, ...] = ()
    duration: float | None = None
    full: bool = False
    quick: bool = False
    compile: str = "none"
    optimizer: str = "sgd"
    copies: bool = False
    """Whether copies to the device and back are timed."""
    preprocess: bool = False
    """Whether the preparation of images is timed, and with it the copies."""
    replicas: int | None = None
    """The number of processes at once; None: one process, measured alone."""
    max_latency: float | None = None
    """The latency in milliseconds that the batch for replicas must keep; None: no batch is chosen."""
    dataset: str = ""
    model: OwnModel | None = None
    """Measured instead of the workloads."""

    @property
    def within_budget(self) -> bool:
        return self.quick or not (self.full or self.workloads or self.replicas or self.model)


class Job(Struct, frozen=True, kw_only=True):
    """One measurement that a worker is to make."""

    target: MeasurementTarget
    workload: Workload
    task: str
    dtype: str
    options: Options = field(default_factory=dict)
    duration: float = 3.0
    warm_up: float = 10.0
    compile: str = "none"
    optimizer: str = "sgd"
    copies: bool = False
    preprocess: bool = False
    dataset: str = ""
    peers: tuple[MeasurementTarget, ...] = ()
    """The targets of several processes that run at once, `target` being the first; () for a single process."""
    messages: tuple[int, ...] = ()
    """Bytes: the sizes of a collective's messages."""
    place: float = 0.0
    """The position in the order of --quick; the lowest comes first."""
    process: int = 1
    """Of several that measure the same, one after another: results are checked against references in the first."""

    @property
    def replicas(self) -> int | None:
        return len(self.peers) or None

    @property
    def batch(self) -> int | None:
        return self.options.get("batch")

    @property
    def network(self) -> bool:
        return self.task != "micro"

    @property
    def per_item(self) -> float:
        """Units of the workload in one item of the worker (an image of the batch, one byte ...)."""
        return items_per_step(self.workload, self.options) / (self.batch or 1) if self.network else 1.0

    def cost(self) -> flop_model.StepCost | None:
        return flop_model.step(self.workload.name, self.task, self.options, self.dtype) if self.network else None

    def request(self) -> dict[str, Any]:
        """The request to the worker, as gpudoctor/target/workloads/worker.py reads it."""
        options: dict[str, Any] = dict(self.options)
        if self.dataset and self.workload.id == "files":
            options["folder"] = self.dataset
        program = {"program": self.target.program} if self.target.program else {}
        return {
            **program, "framework": self.target.framework, "device": self.target.device, "workload": self.workload.name, "task": self.task,
            "dtype": self.dtype, "options": options, "optimizer": self.optimizer, "compile": self.compile, "duration": self.duration,
            "warm_up": self.warm_up, "copies": self.copies, "preprocess": self.preprocess, "verify": self.process == 1,
            **self.workload.settings,
        }  # fmt: skip

    @property
    def devices(self) -> str:
        """The devices in the form of --device, each once: 'xpu:0,xpu:1'."""
        return ",".join(dict.fromkeys(peer.device for peer in self.peers)) or self.target.device

    def words(self) -> str:
        """'resnet50 training float32 batch 4 on cpu'."""
        size = (
            f" {self.options['width']}x{self.options['height']}"
            if self.workload.variants
            and "width" in self.options
            and len({(each.get("width"), each.get("height")) for each in self.workload.variants}) == 1
            and "width" in self.workload.variants[0]
            else ""
        )
        batch = f" batch {self.batch}" if self.network and self.batch else ""
        several = f", {len(self.peers)} at once" if self.peers else f", process {self.process}" if self.process > 1 else ""
        return f"{self.workload.id} {self.task} {self.dtype}{batch}{size} on {self.devices}{several}"


def check(asked: ValidateOptions) -> None:
    """Validates the options. Raises MeasurementRequestError."""
    for name in asked.workloads:
        if name not in BY_ID:
            raise MeasurementRequestError(
                f"--workload {name}: no such workload{did_you_mean(name, BY_ID)}; gpudoctor list workloads names them"
            )
    choices = (
        ("task", asked.tasks, TASKS), ("dtype", asked.dtypes, DTYPES), ("compile", (asked.compile,), COMPILES),
        ("optimizer", (asked.optimizer,), OPTIMIZERS),
    )  # fmt: skip
    for option, given, known in choices:
        for name in given:
            if name not in known:
                raise MeasurementRequestError(
                    f"--{option} {name}: there is no such choice{did_you_mean(name, known)}; one of {', '.join(known)}"
                )
    if asked.quick and asked.full:
        raise MeasurementRequestError("--quick and --full exclude each other; give one of them")
    if any(size < 1 for size in asked.batches):
        raise MeasurementRequestError("--batch: a batch holds at least one; expected such as 2,4,6")
    if asked.duration is not None and not 0.1 <= asked.duration <= 86400:
        raise MeasurementRequestError(f"--duration {asked.duration:g}: expected seconds from 0.1 to 86400")
    if asked.replicas is not None and not 1 <= asked.replicas <= MOST_REPLICAS:
        raise MeasurementRequestError(f"--replicas {asked.replicas}: expected a number of processes from 1 to {MOST_REPLICAS}")
    if "files" in asked.workloads and not asked.dataset:
        raise MeasurementRequestError("--workload files reads a folder; add --dataset DIR")
    named = [BY_ID[name] for name in asked.workloads]
    if named and asked.tasks and not any(set(each.tasks) & set(asked.tasks) for each in named):
        has = "; ".join(f"{each.id} has {' and '.join(each.tasks)}" for each in named)
        raise MeasurementRequestError(f"--task {','.join(asked.tasks)}: nothing to measure, {has}")


def plan(target: MeasurementTarget, asked: ValidateOptions) -> list[Job]:
    """The jobs for this target, the most informative first. `asked` must have passed `check`."""
    named = [BY_ID[name] for name in dict.fromkeys(asked.workloads)]
    if named:
        pairs = [(workload, task) for workload in named for task in workload.tasks]
    elif asked.full:
        pairs = [(workload, task) for workload in WORKLOADS for task in workload.tasks]
    else:
        ranked = [(place, workload.id, task) for workload in WORKLOADS for task, place in workload.quick.items()]
        pairs = [(BY_ID[name], task) for _, name, task in sorted(ranked)]
    able = ABILITIES.get(target.framework, TASKS)
    jobs: list[Job] = []
    for workload, task in pairs:
        if (task in able or workload in named) and (not asked.tasks or task in asked.tasks) and _sensible(workload, target, asked):
            jobs += _jobs(target, workload, task, asked)
    return jobs


def _sensible(workload: Workload, target: MeasurementTarget, asked: ValidateOptions) -> bool:
    """Whether the workload is to be measured: one that is not named is left out where it has no meaning on this target. Workloads of
    several processes are planned in replica_jobs."""
    if workload.together or target.framework not in JUDGED_BY.get(workload.id, (target.framework,)):
        return False
    if workload.frameworks and target.framework not in workload.frameworks:
        return False
    if workload.id in asked.workloads:
        return True
    if workload.id not in OWN.get(target.framework, (workload.id,)):
        return False
    if workload.id == "files":
        return bool(asked.dataset)
    return not (target.on_processor and workload.id in ("host_to_device", "device_to_host"))


def _jobs(target: MeasurementTarget, workload: Workload, task: str, asked: ValidateOptions) -> Iterator[Job]:
    quick = asked.within_budget
    brief = 1.0 if task == "micro" else 2.0
    duration = asked.duration if asked.duration is not None else brief if quick else 10.0 if asked.full else 3.0
    warm_up = 1.5 if quick else 20.0 if asked.full else 10.0
    place = workload.quick.get(task, 0)
    for options in _conditions(target, workload, task, asked):
        for number, dtype in enumerate(_dtypes(target, workload, task, asked)):
            yield Job(
                place=place if task == "micro" or not number else max(place, SMALL) + 0.5,
                target=target, workload=workload, task=task, dtype=dtype, options=options, duration=duration, warm_up=warm_up,
                compile=asked.compile if task != "micro" else "none", optimizer=asked.optimizer, copies=asked.copies,
                preprocess=asked.preprocess and task != "micro", dataset=asked.dataset,
            )  # fmt: skip


def _conditions(target: MeasurementTarget, workload: Workload, task: str, asked: ValidateOptions) -> Iterable[Options]:
    if task == "micro":
        return [{}]
    usual = dict(workload.options)
    if asked.within_budget and target.on_processor:
        usual.update(workload.processor)
    if asked.batches:
        return [{**usual, "batch": size} for size in asked.batches]
    return [usual, *({**usual, **variant} for variant in workload.variants)] if asked.full else [usual]


NARROW = {"cuda": "float16", "rocm": "float16", "xpu": "bfloat16", "mps": "float16", "gpu": "float16", "npu": "float16"}
"""By backend: what people train and infer in there, mixed with float32 where the framework mixes. float16 is fast on each NVIDIA card since
Volta, bfloat16 since Ampere; OpenVINO's own default on a GPU is float16."""


def _dtypes(target: MeasurementTarget, workload: Workload, task: str, asked: ValidateOptions) -> Sequence[str]:
    if asked.dtypes:
        return asked.dtypes if workload.id != "files" else asked.dtypes[:1]
    if target.framework == "wgpu":
        return workload.dtypes[:1]
    if target.on_processor and workload.processor_dtype:
        return (workload.processor_dtype,)
    if target.on_processor and workload.dtypes[0] == "float16":
        return ("float32",)  # processors emulate float16 in another type
    if target.on_processor:
        return workload.dtypes if asked.full and workload.id == "matmul" else workload.dtypes[:1]
    if workload.id == "matmul":
        return workload.dtypes
    usual = workload.dtypes if asked.full else workload.dtypes[:1]
    narrow = NARROW.get(target.backend)
    beside = task != "micro" and narrow is not None and not asked.workloads and narrow not in usual and "float32" in usual
    return (*usual, narrow) if beside and narrow is not None else usual


# Estimates of time

CEILING = 0.5
"""Seconds that the worker of a matrix product on a processor needs for those of other libraries."""
OPERATORS = 4.0
"""Seconds that the quick set of operators takes."""
STARTUP = {"torch": 2.5, "ipex": 5.0, "tensorflow": 6.0, "jax": 2.5, "openvino": 1.5, "onnxruntime": 1.0, "opencl": 1.0, "llama-cpp": 1.0,
           "llama-bench": 0.5}  # fmt: skip
"""Seconds until a worker of this framework has begun, on an idle machine."""
USUAL_SPEED = {True: 50e9, False: 5e12}
"""FLOP/s of a processor (True) and of an accelerator (False), until a matrix product was measured."""
EFFICIENCY = {True: 0.4, False: 0.25}
"""The share of a matrix product's speed that networks reach; half of it in training."""
COMPILING = {"torch-opencl": 600.0}
"""Seconds for compiling, where each layer's kernels are programs of their own: mobilenet_v2's took four minutes on two busy cores."""
SLOWEST = 20.0
"""The largest ratio to the estimate: a machine that needs more is busy with something else."""
PER_PARAMETER = 6e-8
"""Seconds for each parameter: weights are made, copied, and made once more for the reference."""


def seconds(job: Job, flops: float | None = None) -> float:
    """The estimated seconds of the whole worker. `flops`: FLOP/s of a matrix product on this target, if known."""
    return startup(job) + _work(job, flops)


def startup(job: Job) -> float:
    return STARTUP.get(job.target.framework, 4.0)


def _work(job: Job, flops: float | None) -> float:
    """The seconds that a worker needs once it has begun: warm-up, the first step and the samples, estimated."""
    step = job.cost()
    if job.workload.unit == "operators":
        return OPERATORS
    if step is None:
        return min(job.warm_up, 0.7) + job.duration + 0.3 + (CEILING if job.target.on_processor and job.workload.id == "matmul" else 0.0)
    speed = (flops or USUAL_SPEED[job.target.on_processor]) * EFFICIENCY[job.target.on_processor] / (2 if job.task == "training" else 1)
    one = step.flop / speed
    warm = one + min(max(job.warm_up, one), 11 * one)
    timed = max(2 * one, job.duration + one / 2)
    reference = 0.2 * step.flop / step.batch / speed * (30 if job.task == "training" else 12) if job.process == 1 else 0.0
    compiling = 0.0 if job.compile == "none" else 40.0
    return step.parameters * PER_PARAMETER + reference + warm + timed + compiling


def hang_limit(job: Job, flops: float | None = None) -> float:
    """Seconds after which a worker counts as hung: drivers that compile their kernels at first use need minutes."""
    patience = COMPILING.get(job.target.framework, 60.0 if job.target.on_processor else 300.0)
    return patience + 6 * seconds(job, flops) + 2 * (job.duration + job.warm_up)


class Budget(Struct):
    """Expected seconds of jobs: by the estimates above, until finished workers have shown how long a start, a matrix product and a network
    take on this machine under its present load."""

    flops: Mapping[str, float] = field(default_factory=dict)
    startups: Mapping[str, float] = field(default_factory=dict)
    paces: Mapping[str, float] = field(default_factory=dict)
    """Ratio of the measured time of networks to the estimate, by target."""

    def expected(self, job: Job) -> float:
        return self.startups.get(_key(job.target), startup(job)) + self.work(job)

    def work(self, job: Job) -> float:
        """Once its worker has begun."""
        key = _key(job.target)
        return _work(job, self.flops.get(key)) * (self.paces.get(key, 1.0) if job.network else 1.0)

    def together(self, jobs: Sequence[Job]) -> float:
        """The expected seconds of jobs that share a process."""
        start = self.startups.get(_key(jobs[0].target), startup(jobs[0])) if jobs else 0.0
        return sum(self.expected(job) for job in jobs) - start * (len(jobs) - 1)

    def guess(self, target: MeasurementTarget, flops: float) -> None:
        """What a matrix product may reach there, until one was measured."""
        self.flops = {_key(target): flops, **self.flops}

    def fits(self, job: Job, left: float | None) -> bool:
        return left is None or self.expected(job) <= left

    def learn(self, job: Job, took: float, flops: float | None = None, begun: float | None = None) -> None:
        """Updates the estimates. `took`: seconds of the whole worker; `flops`: FLOP/s of a float32 matrix product; `begun`: seconds until
        it had its device."""
        key = _key(job.target)
        if job.network:
            start = begun if begun is not None else self.startups.get(key, startup(job))
            pace = max(took - start, 0.1) / _work(job, self.flops.get(key))
            before = self.paces.get(key)
            pace = pace if before is None else 0.5 * before + 0.5 * pace
            self.paces = {**self.paces, key: min(max(pace, 0.3), SLOWEST)}
        if begun is not None:
            self.startups = {**self.startups, key: begun}
        if flops is not None and job.workload.id == "matmul" and job.dtype == "float32":
            self.flops = {**self.flops, key: flops}


def _key(target: MeasurementTarget) -> str:
    return f"{target.framework} {target.device}"
