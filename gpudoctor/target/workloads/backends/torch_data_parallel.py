"""Training by several processes (DistributedDataParallel): each has a part of the batch, and all have the same gradients.

The reference is the result of one process for the joined batch. Normalisations use their stored statistics in that comparison, so that a
part of a batch is computed as in the whole. The ranks exchange their gradients by files too, so that a fault of the library that adds
them up cannot hide itself.
"""

import copy
import hashlib
import os
import time

import barrier
import networks
import timing
import torch
import torch_collective
import torch_networks
from network_ir import has_labels
from torch_training import Trainer, loss
from worker import Skipped, say

EACH, SMALL = 2, {"height": 64, "width": 64, "classes": 10}
"""The items of each rank, and the sizes of the network, in the comparison."""
TOLERANCE = 1e-2
"""The tolerance of each tensor: sums in another order, and a ReLU at its kink that falls to the other side. A gradient that was not
averaged, was added up twice, or is that of one rank alone is off by a third or more."""
STEADY = 3
LEAST, MOST = 5, 2000
"""The fewest and the most steps of a measurement. Rank 0 decides the number: a rank that stopped by its own clock would leave the others
waiting."""


def run(device, dtype, request, about):
    worker_group = request["worker_group"]
    if not hasattr(torch.nn.parallel, "DistributedDataParallel"):
        raise Skipped(f"this build of torch {torch.__version__} has no DistributedDataParallel")
    dist, backend = torch_collective.joined(device, worker_group)
    ranks = Ranks(dist, device, request, worker_group)
    say("correctness")
    outputs = ranks.verify()
    say("first")
    step, sync, items = ranks.training(dtype)
    first = timing.timed(step, sync, 1)
    warm = timing.median([timing.timed(step, sync, 1) for _ in range(STEADY)])
    say("ready", first_ms=first * 1e3, warm_ms=warm * 1e3)
    barrier.wait_for_start(worker_group["folder"])
    count = ranks.agreed(min(max(int(request.get("duration", 3.0) / max(warm, 1e-6)), LEAST), MOST))
    say("measure")
    begin, samples = time.perf_counter(), []
    for _ in range(count):
        samples.append(timing.timed(step, sync, 1))
        say("progress", iterations=len(samples), median_ms=samples[-1] * 1e3, step_ms=samples[-1] * 1e3, next_within=ranks.patience)
    seconds = time.perf_counter() - begin
    say("progress")
    kept, every = barrier.microseconds(samples)
    result = dict(
        about, outputs=outputs, collective=backend, includes=["compute"], samples_us=kept, every=every, iterations=count, window_s=seconds,
        items_per_step=items, unit="images/s", first_ms=first * 1e3, steady=True, memory_peak_bytes=device.memory_peak(),
    )  # fmt: skip
    dist.destroy_process_group()
    return result


class Ranks:
    def __init__(self, dist, device, request, worker_group):
        self.dist, self.device, self.request = dist, device, request
        self.rank, self.size, self.folder = worker_group["rank"], worker_group["size"], worker_group["folder"]
        self.patience = worker_group.get("patience", 60)

    def parallel(self, model):
        indices = [self.device.index] if self.device.kind in ("cuda", "xpu") else None
        return torch.nn.parallel.DistributedDataParallel(model, device_ids=indices)

    def verify(self):
        network, labels = self._joined_batch()
        model = torch_networks.build(network, self.device.torch_device, torch.float32, dropout=False).eval()
        whole = torch_networks.inputs(network)
        reference = copy.deepcopy(model).to("cpu").double() if self.rank == 0 else None
        part = slice(self.rank * EACH, (self.rank + 1) * EACH)
        parallel = self.parallel(model)
        loss(
            parallel(*(x[part].to(self.device.torch_device) for x in whole)),
            None if labels is None else labels[part].to(self.device.torch_device),
        ).backward()
        got = {name: p.grad.detach().to("cpu") for name, p in model.named_parameters() if p.grad is not None}
        rows = [self._equal("gradients", got)]
        torch.optim.SGD(model.parameters(), lr=1e-2).step()
        rows.append(self._equal("parameters", {name: p.detach().to("cpu") for name, p in model.named_parameters()}))
        if reference is None:
            return rows
        loss(reference(*(x.double() for x in whole)), labels, widen=False).backward()
        return [*rows, beside_one(got, {name: p.grad for name, p in reference.named_parameters() if p.grad is not None})]

    def _joined_batch(self):
        name = self.request["workload"]
        known = networks.NETWORKS[name].options
        sizes = {option: size for option, size in SMALL.items() if option in known}
        network = networks.draw(name, **dict(sizes, batch=EACH * self.size))
        classes = sizes.get("classes")
        labels = torch_networks.labels(EACH * self.size, classes, "cpu") if has_labels(network, classes) else None
        return network, labels

    def _equal(self, what, tensors):
        """Compares the tensors of all ranks bit by bit, by files."""
        mine = {name: hashlib.sha256(x.contiguous().numpy().tobytes()).hexdigest() for name, x in sorted(tensors.items())}
        path = os.path.join(self.folder, what)
        with open(f"{path}.{self.rank}.part", "w", encoding="ascii") as file:
            file.write("\n".join(f"{digest} {name}" for name, digest in mine.items()))
        os.replace(f"{path}.{self.rank}.part", f"{path}.{self.rank}")
        row = {
            "name": f"{what} of all ranks",
            "tolerance": 0.0,
            "max_relative_error": 0.0,
            "passed": True,
            "note": "the same bits on each rank",
            "compared_with": "the other ranks",
        }
        for other in range(self.size):
            lines = _read(f"{path}.{other}", self.patience).splitlines()
            theirs = {line.partition(" ")[2]: line.partition(" ")[0] for line in lines}
            unlike = [name for name in mine if theirs.get(name) != mine[name]]
            if unlike or len(theirs) != len(mine):
                note = f"rank {self.rank} and rank {other} differ in {len(unlike)} of {len(mine)} tensors"
                row.update(passed=False, note=note + (f", such as {unlike[0]}" if unlike else ""))
                break
        return row

    def training(self, dtype):
        """(a step, the function that waits for it, items of this rank)."""
        name, options = self.request["workload"], self.request.get("options", {})
        network = networks.draw(name, **options)
        model = torch_networks.build(network, self.device.torch_device, torch.float32, dropout=True).train()
        trainer = Trainer(self.parallel(model), network, self.device, dtype, self.request)
        classes = options.get("classes", networks.NETWORKS[name].options.get("classes"))
        inputs, items = torch_networks.inputs(network, self.device.torch_device), network.inputs[0].shape[0]
        labels = torch_networks.labels(items, classes, self.device.torch_device) if has_labels(network, classes) else None
        self.device.reset_peak()
        return lambda: trainer.step(inputs, labels), self.device.sync, items

    def agreed(self, count):
        said = torch.tensor([count], dtype=torch.int64, device=self.device.torch_device)
        self.dist.broadcast(said, 0)
        return int(said.item())


def beside_one(got, right):
    """The gradients of several processes against those of one, tensor by tensor; the row is that of the worst."""
    largest = max(float(x.norm()) for x in right.values())
    row = {"name": "gradients beside one process", "tolerance": TOLERANCE, "max_relative_error": 0.0, "passed": True}
    row["note"] = "against float64 of one process on the joined batch"
    if set(got) != set(right):
        row.update(passed=False, max_relative_error=None, note=f"{len(set(right) - set(got))} of {len(right)} tensors got no gradient")
        return row
    for name, wanted in right.items():
        off = float((got[name].double() - wanted).norm()) / max(float(wanted.norm()), 1e-3 * largest, 1e-30)
        if not off <= row["max_relative_error"]:
            row.update(max_relative_error=off if off == off else None, note=f"{name}, against float64 of one process on the joined batch")
    row["passed"] = row["max_relative_error"] is not None and row["max_relative_error"] <= TOLERANCE
    return row


def _read(path, patience):
    """The content of a file of another rank, as soon as it is complete."""
    begin = time.monotonic()
    while not os.path.exists(path):
        if time.monotonic() - begin > patience:
            raise RuntimeError(f"rank {path.rpartition('.')[2]} said nothing for {patience:.0f} s")
        time.sleep(0.01)
    with open(path, encoding="ascii") as file:
        return file.read()
