"""Tolerances of results, from the unit roundoff of their type and the depth of their sums, relative to the norm of the reference.

A sum of `depth` products, computed in a type of roundoff u, is off by about u * sqrt(depth) times the root of the sum of the squared
products (`scale`), for roundings are as good as independent; rounding operands and result to a narrower type adds its roundoff once for
each. Where products cancel, `scale` is larger than the result, and so is what rounding does to it. Standard library only, Python 3.8.
"""

import math

UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "TF32": 2.0**-11, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""The largest relative error of rounding once to the nearest."""
TYPICAL = 0.41
"""Root mean square of that error in units of UNIT, over numbers whose logarithms are spread evenly: sqrt((1 - 1/4) / (6 ln 2)) is 0.42."""
ALGORITHM = 24.0
"""Added to sqrt(depth) for Winograd and Fourier transforms: F(4x4, 3x3) multiplies the errors of float32 by about this."""
FACTOR = 4.0
"""The tolerance is this many times the expected error. Norms of hundreds of roundings hardly scatter; the expectation itself may be off."""
NARROWER = ("TF32", "bfloat16")
"""The types in which devices compute float32 where a lower precision is allowed."""
ALIKE = 5.0
"""An error within this factor of the error that a narrower type would cause is ascribed to that type."""
PROPORTIONAL = 0.9
"""Rounding has no direction: an error that points along the result further than this is no rounding."""


def expected(dtype, depth, scale, norm):
    """The error that a sound device makes, of a result of this norm: (error, the part of it that narrow operands and results make)."""
    wide = "float32" if UNIT[dtype] > UNIT["float32"] else dtype
    narrow = 0.0 if wide == dtype else TYPICAL * UNIT[dtype] * math.sqrt(2 * scale**2 + norm**2)
    return math.sqrt((UNIT[wide] * (math.sqrt(depth) + ALGORITHM) * max(scale, norm)) ** 2 + narrow**2), narrow


def tolerance(dtype, depth, scale, norm):
    """The largest relative error that counts as right; `norm` must not be zero."""
    return FACTOR * expected(dtype, depth, scale, norm)[0] / norm


WIDESPREAD = 1 / 3
"""A device that computes in a narrower type does so in most products: where fewer are off than this, it is a fault of those."""


class Check:
    """One tensor against its reference. `error`: |got - right| by |right|; not finite where the tensor is not; `along`: how much of it
    points along the reference, -1 to 1; `narrowable`: whether devices may compute it in a narrower type (products)."""

    __slots__ = ("along", "depth", "error", "name", "narrowable", "note", "scale", "tolerance")

    def __init__(self, name, error, tolerance, along=0.0, scale=1.0, depth=1, narrowable=False, note=""):
        self.name, self.error, self.tolerance, self.along = name, error, tolerance, along
        self.scale, self.depth, self.narrowable, self.note = scale, depth, narrowable, note

    @property
    def share(self):
        """The error divided by the tolerance; infinite where the tensor holds NaN or infinity."""
        if self.note or not math.isfinite(self.error):
            return math.inf
        return self.error / self.tolerance if self.tolerance else (0.0 if not self.error else math.inf)


def computes_in(check):
    """The name of the narrower type that explains the error of a product in float32; '' where none does."""
    if not check.narrowable or not math.isfinite(check.error) or check.note or abs(check.along) > PROPORTIONAL:
        return ""
    apart = {}
    for name in NARROWER:
        wanted = TYPICAL * UNIT[name] * math.sqrt(2) * check.scale
        apart[name] = abs(math.log(max(check.error, 1e-30) / wanted))
    nearest = min(NARROWER, key=apart.get)
    return nearest if apart[nearest] <= math.log(ALIKE) else ""


def allowed(request):
    """The names of the narrower types in which the request allows float32 to be computed."""
    return ("TF32",) if request.get("settings", {}).get("tf32") else ()


COPIES = (
    "relu", "relu6", "max_pool", "concat", "slice", "every_second", "flatten", "tokens", "image", "reflect_pad", "upsample", "dropout",
    "embedding",
)  # fmt: skip
"""The kinds of layers that only choose and copy numbers, and so round nothing."""


def levels(network, shapes, dtype):
    """{layer: the relative error that its rounding makes in each number}, of a type in UNIT; `shapes` by name."""
    found = {}
    for layer in network.layers:
        first = shapes[layer.inputs[0]]
        if layer.kind in COPIES:
            continue
        depth = 1
        if layer.kind == "conv":
            depth = first[1] // layer.settings["groups"] * layer.settings["kernel"] ** 2
        elif layer.kind in ("linear", "tied_linear"):
            depth = first[-1]
        elif layer.kind == "attention":
            depth = shapes[layer.inputs[1]][1] + first[-1] // layer.settings["heads"]
        elif layer.kind.endswith("_norm"):
            depth = 1024
        found[layer.name] = expected(dtype, depth, 1.0, 1.0)[0]
    return found


def row(name, checks, note, dtype="float32", allowed=()):
    """One row for many checks, with the values of the worst of them. Where float32 was computed in a narrower type, the row names that
    type.

    `allowed`: narrower types that the request asked for; they count as right, and the row names them too.
    """
    worst = max(checks, key=lambda check: check.share)
    failed = [check for check in checks if not check.share <= 1]
    found = {"name": name, "max_relative_error": None, "tolerance": worst.tolerance, "note": note, "passed": not failed}
    if math.isfinite(worst.error):
        found["max_relative_error"] = worst.error
    if not failed:
        return found
    narrower = {computes_in(check) for check in failed} if dtype == "float32" else {""}
    if len(failed) < WIDESPREAD * sum(check.narrowable for check in checks):
        narrower.add("")
    if "" not in narrower:
        kind = max(narrower, key=NARROWER.index)
        found.update(computed_in=kind, note=f"computes in {kind}: error {worst.error:.0e}")
        if kind in allowed:
            found.update(passed=True, tolerance=max(worst.tolerance, worst.error))
        return found
    first = next((check for check in failed if not computes_in(check)), worst)
    if first.note or not math.isfinite(first.error):
        found.update(max_relative_error=None, note=f"{first.name}: {first.note or 'not a number'}")
    else:
        found.update(name=f"{name}: {first.name}", max_relative_error=first.error, tolerance=first.tolerance)
    return found
