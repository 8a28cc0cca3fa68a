"""all_reduce over several processes of this machine, by message size: torch.distributed with nccl (rccl on ROCm), xccl, or gloo.

The ranks find each other by a file, so that no port is opened for that. All carry out the same number of operations, which rank 0
decides: a rank that stopped by its own clock would leave the others waiting. The bandwidth is that of the bus, as nccl-tests define it
(barrier.bus_bytes).
At the end each two ranks send a message to each other and back, so that a link which is slower than the others has a name.
"""

import datetime
import importlib
import os
import pathlib
import sys
import time

import barrier
import timing
import torch
import torch_correctness
import weights
from worker import Skipped, say

LEAST, MOST = 10, 2000
"""The fewest and the most samples for one size of message."""
TRIPS = 7
"""Trips between the two ranks of a pair. The fastest says what the link can do: what disturbs a trip makes it slower only."""
CHECKED = 10007
"""The number of elements that are checked, an odd one, so that faults of chunks and alignment show."""


def run(device, dtype, request, about):
    worker_group = request["worker_group"]
    dist, backend = joined(device, worker_group)
    rank, size = worker_group["rank"], worker_group["size"]
    ring = Ring(dist, device, dtype, rank, size)
    say("correctness")
    outputs = ring.verify()
    say("first")
    first = timing.timed(lambda: ring.reduce(ring.numbers(1)), ring.sync, 1)
    say("ready", first_ms=first * 1e3)
    barrier.wait_for_start(worker_group["folder"])
    say("measure")
    sizes = request["options"]["sizes"]
    found = []
    for number, count in enumerate(sizes):
        found.append(ring.measured(count, request.get("duration", 3.0) / len(sizes)))
        say("progress", iterations=number + 1, median_ms=timing.median(found[-1]["samples_us"]) / 1e3)
    links = ring.links(request["options"].get("link_bytes", 0))
    result = dict(about, outputs=outputs, sizes=found, links=links, collective=backend, includes=[], memory_peak_bytes=device.memory_peak())
    dist.destroy_process_group()
    return result


def joined(device, worker_group):
    """(torch.distributed with all ranks in it, the name of its backend)."""
    dist = _distributed()
    rank, size = worker_group["rank"], worker_group["size"]
    if size < 2:
        raise Skipped(f"a collective wants two ranks at least; {device.name} alone is one")
    backend = backend_of(device)
    if backend != "gloo" and worker_group.get("same"):
        raise Skipped(f"{backend} wants a device for each rank, and two share {device.name}")
    if device.kind in ("cuda", "xpu"):
        device.module.set_device(device.torch_device)
    if backend == "gloo":
        _loopback()
    say("build")
    store = pathlib.Path(worker_group["folder"], "store").as_uri()
    patience = datetime.timedelta(seconds=worker_group.get("patience", 60))
    dist.init_process_group(backend, init_method=store, rank=rank, world_size=size, timeout=patience)
    return dist, backend


def _distributed():
    import torch.distributed as dist

    if not dist.is_available():
        raise Skipped(f"this build of torch {torch.__version__} has no torch.distributed")
    return dist


def backend_of(device):
    """torch's name of the library for these devices; RCCL has the name nccl."""
    import torch.distributed as dist

    if device.kind == "cpu":
        wanted, there = "gloo", getattr(dist, "is_gloo_available", lambda: True)()
    elif device.kind == "cuda":
        wanted, there = "nccl", dist.is_nccl_available()
    elif device.kind == "xpu":
        wanted, there = "xccl", getattr(dist, "is_xccl_available", lambda: False)()
        if not there:
            try:
                importlib.import_module("oneccl_bindings_for_pytorch")  # before torch 2.8 a package of its own has it, under its own name
            except ImportError:
                pass
            else:
                wanted, there = "ccl", True
    else:
        raise Skipped(f"torch.distributed has nothing for {device.kind}")
    if not there:
        raise Skipped(f"this build of torch {torch.__version__} has no {wanted}")
    return wanted


def _loopback():
    """Lets gloo use the loopback interface: it would look up the name of the machine, which need not resolve, and all ranks are local."""
    if sys.platform.startswith("linux") and os.path.exists("/sys/class/net/lo"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    elif sys.platform == "darwin":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0")


class Ring:
    def __init__(self, dist, device, dtype, rank, size):
        self.dist, self.device, self.dtype, self.rank, self.size = dist, device, dtype, rank, size

    def numbers(self, count):
        """`count` numbers from -1 to 1, the same for all ranks."""
        once = torch.tensor(list(weights.table()[: min(count, weights.LENGTH)]), dtype=torch.float32)
        return once.repeat(-(-count // len(once)))[:count].to(self.dtype).to(self.device.torch_device)

    def reduce(self, tensor):
        self.dist.all_reduce(tensor)
        return tensor

    def sync(self):
        self.device.sync()

    def verify(self):
        """Compares a sum that is known, because rank r holds r + 1 times the numbers."""
        mine = self.numbers(CHECKED)
        right = mine.double().cpu() * (self.size * (self.size + 1) // 2)
        found = self.reduce(mine * (self.rank + 1))
        self.sync()
        return [torch_correctness.compared("all_reduce", found, right, torch_correctness.sum_tolerance(self.dtype, self.size))]

    def measured(self, size_bytes, seconds):
        """The samples of one message size; each begins when all ranks are ready, and the numbers are scaled back in between."""
        tensor = self.numbers(max(1, size_bytes // torch.ones(1, dtype=self.dtype).element_size()))
        meeting = torch.zeros(1, device=self.device.torch_device)
        warm = timing.median([self._once(tensor, meeting, 1) for _ in range(3)])
        count, repeat = self._agreed(seconds, warm)
        samples, begin = [], time.perf_counter()
        for _ in range(count):
            samples.append(self._once(tensor, meeting, repeat))
        passed = time.perf_counter() - begin
        carried = tensor.numel() * tensor.element_size()
        kept, every = barrier.microseconds(samples)
        return {
            "bytes": carried, "samples_us": kept, "every": every, "iterations": count * repeat, "window_s": passed,
            "items_per_step": barrier.bus_bytes(carried, self.size),
        }  # fmt: skip

    def links(self, size_bytes):
        """What the lower rank of each pair timed: seconds of a message's way to the other and back. Nothing where no size was asked for."""
        if size_bytes <= 0:
            return []
        tensor = self.numbers(max(1, size_bytes // torch.ones(1, dtype=self.dtype).element_size()))
        meeting = torch.zeros(1, device=self.device.torch_device)
        found = []
        for pairs in barrier.rounds_of_pairs(self.size):
            self.reduce(meeting)
            self.sync()
            for first, second in pairs:
                if self.rank in (first, second):
                    trips, error = self._trips(tensor, first, second)
                    if self.rank == first:
                        carried = tensor.numel() * tensor.element_size()
                        found.append({"ranks": [first, second], "bytes": carried, "trip_s": trips, "error": error})
        self.reduce(meeting)
        self.sync()
        return found

    def _trips(self, tensor, first, second):
        """(the duration of each trip, ''), or ([], why there was none). The first trip connects the two and is not counted."""
        steps = ((self.dist.send, second), (self.dist.recv, second)) if self.rank == first else (
            (self.dist.recv, first), (self.dist.send, first))  # fmt: skip
        trips = []
        try:
            for _ in range(TRIPS + 1):
                self.sync()
                begin = time.perf_counter()
                for step, other in steps:
                    step(tensor, other)
                self.sync()
                trips.append(time.perf_counter() - begin)
        except (RuntimeError, ValueError, NotImplementedError) as error:
            return [], str(error)[:300]
        return trips[1:], ""

    def _once(self, tensor, meeting, repeat):
        self.reduce(meeting)
        self.sync()
        begin = time.perf_counter()
        for _ in range(repeat):
            self.reduce(tensor)
        self.sync()
        took = (time.perf_counter() - begin) / repeat
        tensor.mul_(float(self.size) ** -repeat)
        return took

    def _agreed(self, seconds, warm):
        """(number of samples, operations of each), decided by rank 0."""
        repeat = barrier.operations_of_a_sample(warm, self.size)
        count = min(max(int(seconds / max(warm * repeat, 1e-6)), LEAST), MOST)
        said = torch.tensor([count, repeat], dtype=torch.int64, device=self.device.torch_device)
        self.dist.broadcast(said, 0)
        return tuple(int(value) for value in said.tolist())
