"""Operators of torch judged by what they must give: results worked out in plain Python, or properties that hold for any correct device.

float64 of the same torch is no reference where the processor itself is examined, so none is used here. Each case takes a `Place`, computes
there and yields its checks; the tolerance of each is counted in units of rounding of its type.
"""

import math

import torch
from plain_reference import ANY, flattened, shape_of
from torch_operator_inputs import SINGLE

UNIT = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-9, torch.float16: 2.0**-11, torch.float64: 2.0**-53}
"""Half the distance of neighbouring numbers by their size: what one rounding costs at most."""
SMALLEST = {torch.float32: 2.0**-126, torch.bfloat16: 2.0**-126, torch.float16: 2.0**-14, torch.float64: 2.0**-1022}
"""The smallest normal number: a device may take what lies below it for zero."""
LARGEST = {torch.float32: 2.0**127, torch.bfloat16: 2.0**127, torch.float16: 2.0**15, torch.float64: 2.0**1023}


class Place:
    """Where a case computes, and in which type. `place(numbers)` is a tensor there."""

    def __init__(self, device, dtype):
        self.device, self.where, self.kind, self.name = device, device.torch_device, getattr(torch, dtype), dtype

    def __call__(self, nested, kind=None, grad=False):
        made = torch.tensor(nested, dtype=kind or self.kind).to(self.where)
        return made.requires_grad_() if grad else made

    def whole(self, nested):
        return self(nested, torch.int64)

    def truth(self, nested):
        return self(nested, torch.bool)


class Check:
    """A tensor, and what it must hold. `units`: roundings that are allowed; `scale`: the size of what was added up for each number
    (0: only the number's own size counts; 'all': the largest number of the result)."""

    def __init__(self, what, got, wanted, units=4.0, scale=0.0, backward=False):
        self.what, self.got, self.wanted, self.units, self.scale, self.backward = what, got, wanted, units, scale, backward

    def judged(self, unit_of=None):
        """(error, tolerance, what is wrong or '')."""
        got = self.got.detach().to("cpu")
        shape = shape_of(self.wanted)
        if tuple(got.shape) != shape:
            return None, None, f"{self.what}: shape {list(got.shape)} instead of {list(shape)}"
        kind = unit_of or got.dtype
        unit, smallest = UNIT.get(kind, 0.0), SMALLEST.get(kind, 0.0)
        found, wanted = flattened(got.tolist()), flattened(self.wanted)
        finite = [abs(value) for value in wanted if value is not ANY and math.isfinite(value)]
        scale = max(finite, default=0.0) if self.scale == "all" else self.scale
        worst, tolerance = 0.0, self.units * unit
        for place, (a, b) in enumerate(zip(found, wanted)):
            if b is ANY or a == b or (a != a and b != b):
                continue
            off = abs(a - b) if math.isfinite(a) and math.isfinite(b) else math.inf
            error = 0.0 if off <= smallest else off / max(abs(b), scale, smallest)
            if not error <= tolerance:
                return min(error, 1e30), tolerance, f"{self.what}: {a:.6g} instead of {b:.6g} at {_place(place, shape)}"
            worst = max(worst, error)
        return worst, tolerance, ""


class Claim:
    """What must hold without a number to compare; `said` is what is wrong where it does not."""

    def __init__(self, what, holds, said="", backward=False):
        self.what, self.holds, self.said, self.backward = what, bool(holds), said, backward

    def judged(self, unit_of=None):
        return None, None, "" if self.holds else self.what + (": " + self.said if self.said else " does not hold")


class Property:
    """A case of the operators' suite that brings its own reference; `run(place)` yields checks and claims."""

    def __init__(self, name, group, run, dtypes=SINGLE):
        self.name, self.group, self.run, self.dtypes = name, group, run, dtypes


class Properties(list):
    """Cases in their order; a decorator adds one, named as its function."""

    def __init__(self, group):
        super().__init__()
        self.group = group

    def __call__(self, function=None, dtypes=SINGLE):
        if function is None:
            return lambda given: self(given, dtypes)
        self.append(Property(function.__name__.strip("_"), self.group, function, dtypes))
        return function


def rows(case, dtype, device):
    """The rows of one property: forward, and backward where it has checks of gradients. An error is for the caller."""
    verdicts = {}
    for check in case.run(Place(device, dtype)):
        direction = "backward" if check.backward else "forward"
        error, tolerance, said = check.judged()
        before = verdicts.get(direction)
        if before is None or (said and not before[2]) or (not before[2] and _share(error, tolerance) > _share(*before[:2])):
            verdicts[direction] = (error, tolerance, said)
    for direction, (error, tolerance, said) in verdicts.items():
        yield {
            "operator": case.name, "group": case.group, "dtype": dtype, "direction": direction, "verdict": "wrong" if said else "native",
            "max_relative_error": error, "tolerance": tolerance, "note": said,
        }  # fmt: skip


def _share(error, tolerance):
    return -1.0 if error is None else error / tolerance if tolerance else 0.0


def _place(number, shape):
    found = []
    for side in reversed(shape):
        found.append(number % side)
        number //= side
    return list(reversed(found))


def gradients(outputs, given, inputs):
    """Gradients of the inputs for these gradients of the output."""
    return torch.autograd.grad(outputs, inputs, given)
