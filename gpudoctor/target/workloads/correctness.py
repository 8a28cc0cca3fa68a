"""What correctness is judged by on every backend: small networks, tolerances, and the comparison with the reference in numpy.

The error of a tensor is |got - right| by |right| (Euclidean norms): a wrong kernel moves all of it, rounding moves little.
Standard library at import; numpy where arrays are compared.
"""

import math

import networks
from network_ir import shapes

# Outputs: machine epsilon times what tens of layers add to it. Gradients and losses pass through them twice. TF32 has float16's mantissa.
TOLERANCES = {"float64": 1e-9, "float32": 2e-3, "float16": 5e-2, "bfloat16": 1.5e-1}
GRADIENT_FACTOR = 3.0
FINE = 1e-2
"""Tolerances below are those of types that round little: there each tensor of the gradients is judged by itself too."""
UNSTEADY = {"mobilenet_v2": 8.0}
"""What the tolerance of gradients is multiplied by in other types. Its small version normalises over eight numbers in many layers: rounding
weights and input to bfloat16, with all arithmetic in float64, moves its gradients by 104 % (float16: 39 %), those of resnet50 by 19 %."""
FLOOR, DEAD = 1e-3, 1e-2
"""A tensor whose gradient is below FLOOR of the largest one's norm is mathematically zero or near it (a bias before a normalisation): what
is left is rounding. One above it whose norm comes out below DEAD of what it should be is lost."""
STEPS = 4
SMALL = {"batch": 2, "height": 64, "width": 64, "classes": 10, "tokens": 16, "past": 16, "words": 8, "base": 64}
LARGER = {"alexnet": 96, "yolox_tiny": 64, "unet_sd15": 16, "unet_sd21": 16}
"""Sides: those below which a network has nothing left to compute, or that keep it small."""
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
    """Whether it averages images to another size than they have, and not to one number."""
    found = shapes(network)
    sizes = [(found[layer.inputs[0]][2:], found[layer.name][2:]) for layer in network.layers if layer.kind == "average_to"]
    return any(after not in (before, (1, 1)) for before, after in sizes)


def classes_of(request):
    """How many classes the network of the request tells apart; None where it has none."""
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
    """The same of two lists of numbers, where there may be no numpy."""
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


def gradient_tolerance(request, dtype):
    """How far gradients may be off; `dtype` is named as in a request: float32, float16, bfloat16."""
    steadiness = 1.0 if TOLERANCES[dtype] < FINE else UNSTEADY.get(request["workload"], 1.0)
    return TOLERANCES[dtype] * GRADIENT_FACTOR * steadiness


def wrong_tensor(rows, tolerance):
    """What is wrong with one of the gradients, which their sum may hide; '' where nothing is.

    `rows`: (name, |got - right|, |right|, |got|).
    """
    largest = max((right for _, _, right, _ in rows), default=0.0)
    for name, _, right, got in rows:
        if right > FLOOR * largest and not got > DEAD * right:
            return "the gradient of {} is {}, and it should not be".format(name, "zero" if not got else "next to zero")
    if tolerance < FINE * GRADIENT_FACTOR:
        for name, off, right, _ in rows:
            error = off / max(right, FLOOR * largest, 1e-30)
            if not error <= tolerance:
                return f"the gradient of {name} is off by {error:.2g}"
    return ""


def inference(request, compute, dtype):
    """Rows for each output. compute(network) gives the outputs of that small network as numpy arrays, in the network's order."""
    import reference_numpy

    network, _ = small(request)
    right, got = reference_numpy.evaluate(network), compute(network)
    if len(got) != len(right):
        raise ValueError(f"{len(got)} outputs instead of {len(right)}")
    return [compared(f"output {number}", a, b, TOLERANCES[dtype]) for number, (a, b) in enumerate(zip(got, right))]


def training(request, compute, dtype, reference):
    """Rows for the first loss, the gradients and the losses of a few steps.

    compute(network, classes, 'float64' or dtype) gives ({parameter: gradient of the first step}, [losses]); `reference` says where float64
    was computed. The first loss is compared with numpy's too, which shares nothing with the framework.
    """
    import numpy
    import reference_numpy

    network, classes = small(request)
    right, right_losses = compute(network, classes, "float64")
    got, losses = compute(network, classes, dtype)
    tolerance, steady = gradient_tolerance(request, dtype), TOLERANCES[dtype] * GRADIENT_FACTOR
    first = reference_numpy.loss(network, classes)
    missing = sorted(set(right) - set(got))
    norms = [_norms(name, got[name], right[name]) for name in right if name in got]
    joined = [numpy.concatenate([one[name].reshape(-1) for name in right if name in got]) for one in (got, right)]
    rows = [
        compared("first loss", losses[:1], [first], steady),
        compared("gradients", joined[0], joined[1], tolerance, reference),
        compared("losses", losses, right_losses, steady, reference),
    ]
    if missing:
        rows[1].update(passed=False, note=f"{len(missing)} of {len(right)} tensors got no gradient")
    elif not numpy.any(joined[0]):
        rows[1].update(passed=False, note="all gradients are zero")
    elif rows[1]["max_relative_error"] is not None and (broken := wrong_tensor(norms, tolerance)):
        rows[1].update(passed=False, note=broken)
    if right_losses[-1] < right_losses[0] and not losses[-1] < losses[0]:
        text = "the loss falls on the processor ({:.4g} to {:.4g}) and not here"
        rows[2].update(passed=False, note=text.format(right_losses[0], right_losses[-1]))
    return rows


def _norms(name, got, right):
    import numpy

    got, right = (numpy.asarray(each).astype(numpy.float64).reshape(-1) for each in (got, right))
    return (name, *(float(numpy.linalg.norm(each)) for each in (got - right, right, got)))
