"""Whether torch computes right results on a device, with the model and the inputs that are measured.

Each layer is compared with float64 of its own inputs (torch_layers.py); the whole network, as it is measured, with its layers one by one;
then the loss, the step of the optimiser and the learning of a small task (torch_steps.py). Where the measured batch would take too long,
its first items are compared, and the others by moving them to another place in the batch.
"""

import contextlib
import math
import time

import calibration
import correctness
import network_ir
import torch
import torch_networks
from calibration import Check
from torch_layers import Layers, cpu
from worker import is_memory, within

TOLERANCES = {getattr(torch, name): value for name, value in correctness.TOLERANCES.items()}
"""For outputs of networks of which nothing is known."""
SECONDS = {"inference": 2.0, "training": 5.0}
"""The seconds that the comparison of layers may take."""
PER_NUMBER = {"inference": 8.0, "training": 30.0}
"""The cost of the comparison for each number of a result, in units of widening one number to float64; measured on resnet18."""
PER_PARAMETER = {"inference": 6.0, "training": 25.0}
DRAWS = 3
UNDECIDED = 3
"""A tensor of the whole step is wrong only with this many inputs: a ReLU at its kink depends on the input, and a fault does not."""
PARTS = 4
"""The tolerance of the whole network is this many times the error that noise in each layer causes."""


def name_of(dtype):
    return str(dtype).replace("torch.", "")


def sum_tolerance(dtype, depth):
    """The tolerance of sums of `depth` numbers that may be rounded after each addition."""
    return calibration.tolerance(name_of(dtype), depth, 1.0, 1.0) * math.sqrt(depth)


def _sizes(network):
    """(numbers in the results of all layers for one item, number of parameters)."""
    shapes = network_ir.shapes(network)
    numbers = sum(math.prod(shapes[layer.name]) for layer in network.layers) / network.inputs[0].shape[0]
    return numbers, sum(math.prod(each.shape) for each in network_ir.parameters(network, shapes))


def fitting(network, task, request, small_one):
    """The number of items of the batch that can be compared layer by layer within SECONDS; 0 where the small network has to stand for
    it."""
    batch, (numbers, parameters) = network.inputs[0].shape[0], _sizes(network)
    probe = torch.ones(1 << 20)
    probe.double().sum()
    begin = time.perf_counter()
    for _ in range(4):
        probe.double().sum()
    each = (time.perf_counter() - begin) / (4 << 20)
    item, fixed = numbers * PER_NUMBER[task] * each, parameters * PER_PARAMETER[task] * each
    many = min(batch, int((within(request, SECONDS[task] * 2, 0.3) - fixed) / item))
    if many >= 1:
        return many
    numbers, parameters = _sizes(small_one)
    reduced_cost = numbers * small_one.inputs[0].shape[0] * PER_NUMBER[task] * each + parameters * PER_PARAMETER[task] * each
    return 0 if reduced_cost < (item + fixed) / 2 else 1


class Subject:
    """What is compared: a network with its model (layers can be called one by one) and inputs on a device."""

    def __init__(self, network, model, inputs, request, device, dtype):
        self.network, self.model, self.inputs, self.request, self.device, self.dtype = network, model, inputs, request, device, dtype
        self.batch = network.inputs[0].shape[0]
        self.place = ""

    def layers(self, noise=None, limit=None):
        mixed = self.request["task"] == "training"
        context = (lambda: self.device.precision(self.dtype)) if mixed else contextlib.nullcontext
        return Layers(self.network, self.model, name_of(self.dtype), context, noise, limit)

    def items(self, many):
        return [x[:many] if x.dim() and x.shape[0] == self.batch else x for x in self.inputs]

    def described(self, many):
        """'batch 4 at 224x224'."""
        shape = self.network.inputs[0].shape
        size = "x".join(str(side) for side in shape[2:] or shape[1:])
        of = "" if many == self.batch else f" of {self.batch}"
        return f"batch {many}{of}" + (f" at {size}" if size else "") + self.place


def chosen(subject, task, build):
    """(Subject, number of its items to compare): the measured network, or a small one where that would take too long."""
    network, _ = correctness.small(subject.request, averages_to_any=subject.device.kind != "ocl")
    many = fitting(subject.network, task, subject.request, network)
    return (subject, many) if many else (reduced(subject, network, build), network.inputs[0].shape[0])


def reduced(subject, network, build):
    kind = torch.float32 if subject.request["task"] == "training" else subject.dtype
    inputs = torch_networks.inputs(network, subject.device.torch_device, kind)
    found = Subject(network, build(network), inputs, subject.request, subject.device, subject.dtype)
    found.place = ", for all would take too long at the measured size"
    return found


def less_where_memory_is_full(many, compute):
    """(items, compute(items)): half of them, and half again, where memory does not hold more."""
    while True:
        try:
            return many, compute(many)
        except RuntimeError as error:
            if many <= 1 or not is_memory(type(error).__name__, str(error)):
                raise
        many //= 2


def layers_row(name, checks, subject, many, what="each against float64 of its own input"):
    dtype = name_of(subject.dtype)
    note = f"{len(checks)} tensors at {subject.described(many)}, {what}"
    return calibration.row(name, checks, note, dtype, calibration.allowed(subject.request))


def inference(subject, measured, build):
    """`measured(inputs)` gives the outputs as the clock will see them; `build(network)` another model for the device."""
    tried, many = chosen(subject, "inference", build)

    def one_by_one(count):
        layers = tried.layers()
        with torch.no_grad():
            return layers, layers.forward(tried.items(count), training=False)

    many, (layers, right) = less_where_memory_is_full(many, one_by_one)
    rows = [layers_row("layers", layers.forwards, tried, many)]
    if layers.dropouts and not all(check.share <= 1 for check in layers.dropouts):
        rows.append(layers_row("dropout", layers.dropouts, tried, many))
    if not rows[0]["passed"] and "precision" not in rows[0]:
        return rows
    levels = {check.name: check.tolerance / calibration.FACTOR for check in layers.forwards}
    with torch.no_grad():
        off = _disturbed(tried, many, right, levels)
        if tried is not subject:
            many, (layers, right) = less_where_memory_is_full(1, lambda count: _some_layers(subject, count))
            rows.append(
                layers_row("layers at the measured size", layers.forwards, subject, many, "one of each kind and shape while time was left")
            )
        got = measured(subject.inputs)
        whole = got if many == subject.batch else [part[:many] for part in got]
        rows += _outputs(whole, right, off, f"the network as measured against its layers one by one, {subject.described(many)}")
        if many < subject.batch:
            moved = measured([x.roll(1, 0) if x.dim() and x.shape[0] == subject.batch else x for x in subject.inputs])
            moved = [part.roll(-1, 0) for part in moved]
            rows += _outputs(moved, got, off, f"each of {subject.batch} items at the next place of the batch", "items of output ")
    return rows


def _some_layers(subject, count):
    layers = subject.layers(limit=SECONDS["inference"])
    return layers, layers.forward(subject.items(count), training=False)


def _outputs(got, right, tolerances, note, name="output "):
    """The row of the output with the largest error in proportion to its tolerance."""
    rows = [compared(f"{name}{number}", a, b, tolerance) for number, (a, b, tolerance) in enumerate(zip(got, right, tolerances))]
    worst = max(rows, key=lambda row: (not row["passed"], (row["max_relative_error"] or 0.0) / row["tolerance"]))
    worst["note"] = worst["note"] or note
    worst["repeat_tolerance"] = max(tolerances)
    return [worst]


def _disturbed(subject, many, right, levels):
    """The tolerance of each output: PARTS times the error that noise of each layer's own size causes."""
    found = [0.0] * len(right)
    for draw in range(DRAWS):
        outputs = subject.layers(noise_of(levels, draw)).forward(subject.items(many), training=False, check=False)
        for number, (a, b) in enumerate(zip(outputs, right)):
            found[number] = max(found[number], relative(a, b))
    return [PARTS * max(value, calibration.UNIT[name_of(subject.dtype)]) for value in found]


def noise_of(levels, seed):
    """noise(name, tensor): normal, relative to each number, of the level of that layer."""
    generator = torch.Generator().manual_seed(seed)

    def noisy(name, x):
        if not x.is_floating_point():
            return x
        level = levels.get(name, 0.0)
        return x * (1 + level * torch.randn(x.shape, generator=generator)).to(device=x.device, dtype=x.dtype) if level else x

    return noisy


def relative(got, right):
    got, right = cpu(got).double().reshape(-1), cpu(right).double().reshape(-1)
    return float((got - right).norm() / right.norm().clamp_min(1e-30))


def compared(name, got, right, tolerance):
    """One row: NaN, Inf, emptiness and constants where there should be none fail whatever the numbers."""
    got = got.detach().to("cpu").double().reshape(-1)
    right = right.detach().to("cpu").double().reshape(-1)
    row = {"name": name, "tolerance": tolerance, "max_relative_error": None, "note": ""}
    if got.numel() != right.numel():
        row["note"] = f"{got.numel()} numbers instead of {right.numel()}"
    elif got.numel() == 0:
        row["note"] = "empty"
    elif not bool(torch.isfinite(got).all()):
        row["note"] = "NaN" if bool(torch.isnan(got).any()) else "infinite"
    elif got.numel() > 1 and float(got.max()) == float(got.min()) and float(right.max()) != float(right.min()):
        row["note"] = f"the same number everywhere ({float(got[0]):g})"
    else:
        row["max_relative_error"] = float((got - right).norm() / right.norm().clamp_min(1e-30))
    row["passed"] = row["max_relative_error"] is not None and row["max_relative_error"] <= tolerance
    return row


def training(subject, trainer, labels, build, make_trainer):
    """Rows for one step in all its parts. `trainer`: of the measured model; make_trainer(network, model) gives one of another."""
    import torch_steps

    tried, many = chosen(subject, "training", build)
    rows = []
    if tried is not subject:
        rows = _some_gradients(subject, trainer, labels)
        trainer = make_trainer(tried.network, tried.model)
        labels = None if labels is None else torch_networks.labels(tried.batch, 10, subject.device.torch_device)
    scale = 1.0 if trainer.scaler is None else float(trainer.scaler.get_scale())

    def one_by_one(count):
        layers = tried.layers()
        outputs = layers.forward(tried.items(count), training=True)
        losses, of_outputs = torch_steps.loss(trainer, outputs, None if labels is None else labels[:count], scale)
        layers.backward(of_outputs)
        return layers, losses

    many, (layers, losses) = less_where_memory_is_full(many, one_by_one)
    rows += [
        layers_row("layers", layers.forwards, tried, many),
        layers_row("gradients", layers.gradients, tried, many, "each against float64 of what its layer was given"),
        layers_row("loss", losses, tried, many, "the loss and its gradient against float64"),
    ]
    if layers.statistics:
        rows.append(layers_row("running statistics", layers.statistics, tried, many, "after one step"))
    if layers.dropouts:
        rows.append(layers_row("dropout", layers.dropouts, tried, many, "the share that is dropped, the scale of the rest"))
    levels = {check.name: check.tolerance / calibration.FACTOR for check in layers.forwards}
    known = layers.parameter_gradients if many == tried.batch and not layers.dropouts else None
    rows += torch_steps.whole(tried, trainer, labels, levels, scale, known)
    rows += torch_steps.learning(subject.device, subject.dtype, subject.request)
    return rows


def _some_gradients(subject, trainer, labels):
    """Rows of the layers of a network that is too large to be compared in all of them."""
    import torch_steps

    scale = 1.0 if trainer.scaler is None else float(trainer.scaler.get_scale())

    def tried(count):
        layers = subject.layers(limit=SECONDS["training"])
        outputs = layers.forward(subject.items(count), training=True)
        _, of_outputs = torch_steps.loss(trainer, outputs, None if labels is None else labels[:count], scale)
        layers.seconds = 0.0
        layers.backward(of_outputs)
        return layers

    many, layers = less_where_memory_is_full(min(2, subject.batch), tried)
    what = "one of each kind and shape while time was left"
    return [
        layers_row("layers at the measured size", layers.forwards, subject, many, what),
        layers_row("gradients at the measured size", layers.gradients, subject, many, what),
    ]


def matmul(left, right, found, dtype, request):
    """Checks a product at its measured size (Freivalds): the product times a few vectors, against both factors times them in float64."""
    left, right, found = (cpu(x) for x in (left, right, found))
    count = 4
    numbers = torch.arange(count * right.shape[1], dtype=torch.float64)
    vectors = torch.where(torch.remainder(numbers * 0.6180339887498949, 1.0) < 0.5, -1.0, 1.0).double().reshape(right.shape[1], count)
    wanted = _times(left, _times(right, vectors))
    got, norm = _times(found, vectors), float(wanted.norm())
    name, depth = name_of(dtype), right.shape[0]
    if not bool(torch.isfinite(got).all()):
        check = Check("product", math.inf, 1.0, note="NaN" if bool(torch.isnan(got).any()) else "infinite")
    else:
        error = float((got - wanted).norm()) / norm
        along = float(torch.dot((got - wanted).reshape(-1), wanted.reshape(-1))) / (norm * norm * error) if error else 0.0
        check = Check("product", error, calibration.tolerance(name, depth, norm, norm), along, 1.0, depth, narrowable=True)
    note = f"{left.shape[0]}x{right.shape[0]}x{right.shape[1]}, all of it, by its product with {count} vectors in float64"
    row = calibration.row("matmul", [check], note, name, calibration.allowed(request))
    row["repeat_tolerance"] = check.tolerance
    return [row]


def _times(matrix, vectors):
    """The matrix times the vectors in float64, some rows at a time."""
    return torch.cat([torch.matmul(part.double(), vectors) for part in matrix.split(512)])


def matrix(side, shift, dtype):
    """A square matrix of numbers from -1 to 1, the same on every machine."""
    numbers = torch.arange(side * side, dtype=torch.float64)
    return (torch.remainder(numbers * 0.754877666 + shift * 0.569840296, 1.0) * 2 - 1).reshape(side, side).to(dtype)


def same(tensors):
    """A summary of tensors in a few numbers, {"same": [...]}: for each tensor its root mean square, and two sums with signs above it, so
    that none is near zero and a difference is relative to the whole. NaN and infinity show in them."""
    numbers = []
    for x in tensors:
        flat = cpu(x).reshape(-1).double()
        size = math.sqrt(float(flat.pow(2).mean()))
        places = torch.arange(flat.numel(), dtype=torch.float64)
        numbers.append(size)
        for factor in (0.6180339887498949, 0.4142135623730951):
            signed = torch.where(torch.remainder(places * factor, 1.0) < 0.5, -flat, flat)
            numbers.append(float(signed.sum()) / math.sqrt(flat.numel()) + 8 * size)
    return {"same": numbers}
