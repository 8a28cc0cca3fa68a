"""The check of correctness that every backend shares: small networks, tolerances, and the comparison with the reference in numpy.

The error of a tensor is |got - right| by |right| (Euclidean norms): a wrong kernel moves all of it, rounding moves little.
Standard library at import; numpy where arrays are compared.
"""

import math

import calibration
import networks
from network_ir import parameters, shapes

# Outputs: machine epsilon times what tens of layers add to it. Gradients and losses pass through them twice. TF32 has float16's mantissa.
TOLERANCES = {"float64": 1e-9, "float32": 2e-3, "float16": 5e-2, "bfloat16": 1.5e-1}
FLOOR = 1e-3
"""A tensor whose gradient is below FLOOR of the largest one's norm is mathematically zero or near it (a bias before a normalisation): what
is left is rounding."""
STEPS = 3
SMALL = {"batch": 2, "height": 64, "width": 64, "classes": 10, "tokens": 16, "past": 16, "words": 8, "base": 64}
LARGER = {"alexnet": 96, "yolox_tiny": 64, "unet_sd15": 16, "unet_sd21": 16}
"""The side of the image for networks that compute nothing at a smaller one, or that would be too large at the usual one."""
REFERENCE = "compared with float64 in numpy"


def small(request, averages_to_any=True):
    """(the network of the request at batch 2 and reduced size, its number of classes or None).

    `averages_to_any`: the backend averages images to any size; where it does not, a network that would ask for it keeps its own size,
    at which there is nothing to average.
    """
    name = request["workload"]
    known = networks.NETWORKS[name].options
    options = {key: value for key, value in SMALL.items() if key in known}
    sides = [side for side in ("height", "width") if side in options]
    for side in sides:
        options[side] = LARGER.get(name, options[side])
    drawn = networks.draw(name, **options)
    if not averages_to_any and _averages(drawn):
        drawn = networks.draw(name, **dict(options, **{side: known[side] for side in sides}))
    return drawn, options.get("classes")


def _averages(network):
    """Whether the network averages images to another size than they have, other than to one number."""
    found = shapes(network)
    sizes = [(found[layer.inputs[0]][2:], found[layer.name][2:]) for layer in network.layers if layer.kind == "average_to"]
    return any(after not in (before, (1, 1)) for before, after in sizes)


def product(name, left, right, got, dtype, request):
    """The row of a matrix product of numpy arrays at its full size: what it makes of a few vectors, against float64 of its factors, which
    are multiplied by them one after the other (Freivalds)."""
    import numpy

    count = 4
    vectors = numpy.where(numpy.arange(count * right.shape[1]) * 0.6180339887498949 % 1.0 < 0.5, -1.0, 1.0).reshape(right.shape[1], count)

    def times(matrix, columns):
        return numpy.concatenate([part.astype(numpy.float64) @ columns for part in numpy.array_split(matrix, max(1, len(matrix) // 512))])

    wanted, found = times(left, times(right, vectors)), times(got, vectors)
    tolerance = calibration.tolerance(dtype, right.shape[0], 1.0, 1.0)
    shape = f"{left.shape[0]}x{right.shape[0]}x{right.shape[1]}"
    note = f"{shape}, all of it, by its product with {count} vectors in float64"
    row = calibration.row(name, [check(name, found, wanted, tolerance)], note, dtype, calibration.allowed(request))
    return dict(row, name=name, repeat_tolerance=tolerance)


def exactly(name, got, wanted, note="all of {} numbers the same as on the processor"):
    """The row of numpy arrays that have to be the same, number by number."""
    import numpy

    got, wanted = numpy.asarray(got).reshape(-1), numpy.asarray(wanted).reshape(-1)
    row = {
        "name": name,
        "max_relative_error": 0.0,
        "tolerance": 0.0,
        "note": note.format(got.size),
        "passed": True,
        "repeat_tolerance": 0.0,
        "compared_with": "the same work on the processor",
    }
    if got.size != wanted.size:
        return dict(row, max_relative_error=None, passed=False, note=f"{got.size} numbers instead of {wanted.size}")
    differs = numpy.flatnonzero(~(got == wanted))
    if differs.size:
        text = f"{differs.size} of {got.size} numbers differ, the first is number {int(differs[0])}"
        return dict(row, max_relative_error=None, passed=False, note=text)
    return row


SEEN = 1 << 16
"""The number of elements of a result, spread over all of it, that are looked at after a sample."""


def same(arrays):
    """A summary of arrays in a few numbers, {"same": [...]}: for each array its root mean square, and two sums with signs above it, so that
    none is near zero and a difference is relative to the whole. NaN and infinity show in them."""
    import numpy

    numbers = []
    for array in arrays:
        flat = numpy.asarray(array).reshape(-1)
        flat = flat[:: max(1, flat.size // SEEN)].astype(numpy.float64)
        size = float(numpy.sqrt(numpy.mean(flat * flat)))
        numbers.append(size)
        for factor in (0.6180339887498949, 0.4142135623730951):
            signs = numpy.where(numpy.arange(flat.size) * factor % 1.0 < 0.5, -1.0, 1.0)
            numbers.append(float(numpy.dot(flat, signs)) / math.sqrt(flat.size) + 8 * size)
    return {"same": numbers}


def same_of_list(values):
    """The same for a list of numbers, for backends that may be without numpy."""
    size = math.sqrt(sum(value * value for value in values) / len(values))
    steps = (0.6180339887498949, 0.4142135623730951)
    signed = [sum(value if place * step % 1.0 < 0.5 else -value for place, value in enumerate(values)) for step in steps]
    return {"same": [size] + [value / math.sqrt(len(values)) + 8 * size for value in signed]}


def classes_of(request):
    """The number of classes that the network of the request distinguishes; None where it is no classifier."""
    return request.get("options", {}).get("classes", networks.NETWORKS[request["workload"]].options.get("classes"))


def compared(name, got, right, tolerance, note=REFERENCE):
    """One row of two numpy arrays: NaN, Inf, emptiness and constants where there should be none fail whatever the numbers."""
    import numpy

    got, right = (numpy.asarray(each).astype(numpy.float64).reshape(-1) for each in (got, right))
    row = {"name": name, "tolerance": tolerance, "max_relative_error": None, "note": note}
    if got.size != right.size:
        row["note"] = f"{got.size} numbers instead of {right.size}"
    elif got.size == 0:
        row["note"] = "empty"
    elif not numpy.isfinite(got).all():
        row["note"] = "NaN" if numpy.isnan(got).any() else "infinite"
    elif got.size > 1 and got.max() == got.min() and right.max() != right.min():
        row["note"] = f"the same number everywhere ({got[0]:g})"
    else:
        row["max_relative_error"] = float(numpy.linalg.norm(got - right) / max(float(numpy.linalg.norm(right)), 1e-30))
    row["passed"] = row["max_relative_error"] is not None and row["max_relative_error"] <= tolerance
    return row


def compared_lists(name, got, right, tolerance):
    """The same for two lists of numbers, for backends that may be without numpy."""
    row = {"name": name, "tolerance": tolerance, "max_relative_error": None, "note": "compared with float64 in Python"}
    if len(got) != len(right) or not got:
        row["note"] = f"{len(got)} numbers instead of {len(right)}"
    elif not all(math.isfinite(value) for value in got):
        row["note"] = "NaN" if any(value != value for value in got) else "infinite"
    elif len(got) > 1 and min(got) == max(got) and min(right) != max(right):
        row["note"] = f"the same number everywhere ({got[0]:g})"
    else:
        off, size = (math.sqrt(sum(value * value for value in each)) for each in ([a - b for a, b in zip(got, right)], right))
        row["max_relative_error"] = off / max(size, 1e-30)
    row["passed"] = row["max_relative_error"] is not None and row["max_relative_error"] <= tolerance
    return row


def inference(request, network, measured, another, dtype):
    """Rows of the outputs of the measured network, its first items against float64 in numpy, the others by moving them in the batch.

    measured(inputs by name, None for the usual ones) gives its outputs as numpy arrays; another(network) those of another network, which
    stands for it where the reference of a single item would take too long.
    """
    import numpy
    import reference_numpy
    import weights

    little, _ = small(request)
    batch, many = network.inputs[0].shape[0], _fitting(request, network)
    if many:
        fewer = networks.draw(request["workload"], **dict(request.get("options", {}), batch=many)) if many < batch else network
        given = {name: value[:many] if value.shape[:1] == (batch,) else value for name, value in weights.inputs(network).items()}
        right, got = reference_numpy.evaluate(fewer, given=given), measured(None)
        note = f"{_items(many, batch)} at {_size(network)} against float64 of the whole network"
    else:
        right, got = reference_numpy.evaluate(little), another(little)
        many = batch = little.inputs[0].shape[0]
        note = f"batch {many} at {_size(little)}, for the measured size would take too long, against float64"
    if len(got) != len(right):
        raise ValueError(f"{len(got)} outputs instead of {len(right)}")
    off, off_tf32 = disturbances(little, dtype), disturbances(little, "TF32", 1)
    heads = [each[: len(wanted)] if many < batch else each for each, wanted in zip(got, right)]
    rows = [_outputs(heads, right, off, off_tf32, note, dtype, request)]
    if many < batch:
        turned = {
            name: numpy.roll(value, 1, 0) if value.shape[:1] == (batch,) else value for name, value in weights.inputs(network).items()
        }
        moved = [numpy.roll(each, -1, 0) for each in measured(turned)]
        text = f"each of {batch} items at the next place of the batch"
        rows.append(_outputs(moved, got, off, off_tf32, text, dtype, request, "items of output"))
    return rows


def _items(many, batch):
    return f"batch {many}" if many == batch else f"{many} of {batch} items"


def _size(network):
    shape = network.inputs[0].shape
    return "x".join(str(side) for side in shape[2:] or shape[1:] or shape)


def _outputs(got, right, off, off_tf32, note, dtype, request, name="output"):
    """The row of all outputs."""
    checks = []
    for number, (a, b) in enumerate(zip(got, right)):
        scale = off_tf32[number] / (calibration.TYPICAL * calibration.UNIT["TF32"] * math.sqrt(2))
        checks.append(check(f"{name} {number}", a, b, calibration.FACTOR * off[number], scale))
    found = calibration.row(name, checks, note, dtype, calibration.allowed(request))
    if ":" in found["name"]:
        found["name"] = found["name"].partition(": ")[2]
    elif len(checks) == 1:
        found["name"] = checks[0].name
    found["repeat_tolerance"] = max(each.tolerance for each in checks)
    return found


def check(name, got, right, tolerance, scale=1.0):
    """A calibration.Check of two numpy arrays."""
    import numpy

    row = compared(name, got, right, tolerance)
    if row["max_relative_error"] is None:
        return calibration.Check(name, math.inf, tolerance, note=row["note"])
    off = numpy.asarray(got).astype(numpy.float64).reshape(-1) - numpy.asarray(right).astype(numpy.float64).reshape(-1)
    wanted = numpy.asarray(right).astype(numpy.float64).reshape(-1)
    sizes = float(numpy.linalg.norm(off)) * float(numpy.linalg.norm(wanted))
    along = float(numpy.dot(off, wanted)) / sizes if sizes else 0.0
    return calibration.Check(name, row["max_relative_error"], tolerance, along, scale, 1, narrowable=True)


def disturbances(network, dtype, draws=2):
    """For each output the relative error that rounding in a type causes, found with noise of each layer's own size in the float64
    reference."""
    import numpy
    import reference_numpy

    levels, right, found = calibration.levels(network, shapes(network), dtype), reference_numpy.evaluate(network), None
    for draw in range(draws):
        got = reference_numpy.evaluate(network, levels=levels, seed=draw)
        errors = [float(numpy.linalg.norm(a - b) / max(float(numpy.linalg.norm(b)), 1e-30)) for a, b in zip(got, right)]
        found = errors if found is None else [max(pair) for pair in zip(found, errors)]
    return [max(error, calibration.UNIT[dtype]) for error in found]


SECONDS, PER_NUMBER = 2.0, 6e-9
"""The seconds that the reference may take, and the seconds that an idle processor takes to lay out one number for a convolution."""


def _fitting(request, network):
    """The number of items of the batch that numpy can compute in float64 within SECONDS."""
    import time

    import numpy
    from work_counts import flop_of
    from worker import within

    known, side, tried = shapes(network), 256, []
    square = numpy.ones((side, side))
    for _ in range(5):
        begin = time.perf_counter()
        numpy.matmul(square, square)
        tried.append(time.perf_counter() - begin)
    per_flop = max(min(tried), 1e-6) / (2 * side**3)
    flop = sum(flop_of(layer, known) for layer in network.layers)
    laid_out = sum(
        math.prod(known[layer.name][2:]) * known[layer.name][0] * known[layer.inputs[0]][1] * layer.settings["kernel"] ** 2
        for layer in network.layers if layer.kind == "conv"
    )  # fmt: skip
    slower = per_flop / 2.5e-11  # the factor by which this processor is slower than the one that PER_NUMBER was measured on
    batch = network.inputs[0].shape[0]
    parameter_seconds = 1e-8 * max(1.0, slower) * sum(math.prod(each.shape) for each in parameters(network, known))
    item = (2 * flop * per_flop + laid_out * PER_NUMBER * max(1.0, slower)) / batch
    left = within(request, SECONDS, 0.3)
    return max(1 if item + parameter_seconds < 3 * left else 0, min(batch, int((left - parameter_seconds) / item)))


def training(request, compute, dtype, reference):
    """Rows for the first loss, the gradients and the losses of a few steps.

    compute(network, classes, 'float64' or dtype, change, steps) gives ({parameter: gradient of the first step}, [losses]);
    change(name, array) gives the numpy array to take for a parameter or an input. `reference` says where float64 was computed. The first
    loss is compared with numpy's too, which shares nothing with the framework.
    """
    import reference_numpy
    import training_checks

    network, classes = small(request)
    return training_checks.rows(request, network, classes, compute, dtype, reference, reference_numpy.loss(network, classes))
