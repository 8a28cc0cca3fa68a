"""Cases with their own references, and the judgement of what a device computed, the same for every framework. Standard library only."""

import faulthandler
import math
import sys

from plain_reference import ANY, flattened, shape_of
from worker import is_memory, say

UNIT = {"float32": 2.0**-24, "bfloat16": 2.0**-9, "float16": 2.0**-11, "float64": 2.0**-53}
"""Half the distance of neighbouring numbers relative to their size: the largest relative error of one rounding."""
SMALLEST = {"float32": 2.0**-126, "bfloat16": 2.0**-126, "float16": 2.0**-14, "float64": 2.0**-1022}
"""The smallest normal number of each type: a device may treat smaller numbers as zero."""
LARGEST = {"float32": 2.0**127, "bfloat16": 2.0**127, "float16": 2.0**15, "float64": 2.0**1023}
LONGEST = 60.0
"""The seconds that one case may take, compilation included, before the process is ended."""


class Listed:
    """Numbers in Python with their shape and type, as arrays of frameworks have them."""

    def __init__(self, numbers, dtype, shape=None):
        self.numbers, self.dtype, self.shape = list(numbers), dtype, shape or (len(numbers),)

    def tolist(self):
        return self.numbers


class Check:
    """An array or a tensor, and what it must hold. `units`: roundings that are allowed; `scale`: the size of what was added up for each
    number (0: only the number's own size counts; 'all': the largest number of the result)."""

    def __init__(self, what, got, wanted, units=4.0, scale=0.0, backward=False, smallest=0.0):
        self.what, self.got, self.wanted, self.units, self.scale, self.backward = what, got, wanted, units, scale, backward
        self.smallest = smallest

    def judged(self):
        """(error, tolerance, what is wrong or '')."""
        got = self.got.detach().to("cpu") if hasattr(self.got, "detach") else self.got
        shape, kind = shape_of(self.wanted), str(got.dtype).replace("torch.", "")
        if tuple(got.shape) != shape:
            return None, None, f"{self.what}: shape {list(got.shape)} instead of {list(shape)}"
        smallest = max(SMALLEST.get(kind, 0.0), self.smallest)
        found, wanted = flattened(got.tolist()), flattened(self.wanted)
        finite = [abs(value) for value in wanted if value is not ANY and math.isfinite(value)]
        scale = max(finite, default=0.0) if self.scale == "all" else self.scale
        worst, tolerance, said = 0.0, self.units * UNIT.get(kind, 0.0), ""
        for place, (a, b) in enumerate(zip(found, wanted)):
            if b is ANY or a == b or (a != a and b != b):
                continue
            off = abs(a - b) if math.isfinite(a) and math.isfinite(b) else math.inf
            size = max(abs(b), scale, smallest)
            error = 0.0 if off <= smallest else off / size if math.isfinite(b) and size else math.inf
            if error > max(worst, tolerance):
                said = f"{self.what}: {a:.6g} instead of {b:.6g} at {_place(place, shape)}"
            worst = max(worst, error)
        return worst if math.isfinite(worst) else None, tolerance, said


class Precise(Check):
    """Sums of products of numbers that use all bits of their type; a wrong result names the narrower type that would explain the error."""

    def judged(self):
        error, tolerance, said = super().judged()
        if said and error is not None and error < 0.05:
            narrow = "bfloat16" if error > 2.0**-10 else "TF32 or float16" if error > 2.0**-14 else ""
            said += f"; as if it were computed in {narrow}" if narrow else ""
        return error, tolerance, said


class Claim:
    """A condition that must hold, without numbers to compare; `said` describes the fault where it does not."""

    def __init__(self, what, holds, said="", backward=False):
        self.what, self.holds, self.said, self.backward = what, bool(holds), said, backward

    def judged(self):
        return None, None, "" if self.holds else self.what + (": " + self.said if self.said else " does not hold")


class Property:
    """A case: `run(place)` yields checks and claims, `place` being how its framework computes on a device in a type."""

    def __init__(self, name, group, run, dtypes=("float32",)):
        self.name, self.group, self.run, self.dtypes = name, group, run, dtypes


class Properties(list):
    """A list of cases in their order; used as a decorator it adds a case that is named as the function."""

    def __init__(self, group):
        super().__init__()
        self.group = group

    def __call__(self, function=None, dtypes=("float32",), name=""):
        if function is None:
            return lambda given: self(given, dtypes, name)
        self.append(Property(name or function.__name__.strip("_"), self.group, function, dtypes))
        return function


def rows(case, dtype, place):
    """Yields the rows of one case: forward, and backward where it has checks of gradients. Errors of the framework are raised."""
    verdicts = {}
    try:
        for check in case.run(place):
            direction = "backward" if check.backward else "forward"
            error, tolerance, said = check.judged()
            before = verdicts.get(direction)
            if before is None or (said and not before[2]) or (not before[2] and _share(error, tolerance) > _share(*before[:2])):
                verdicts[direction] = (error, tolerance, said)
    except Exception:
        if not any(said for _, _, said in verdicts.values()):
            raise  # where a check has found a fault, that fault says more than the error
    for direction, (error, tolerance, said) in verdicts.items():
        head = {"operator": case.name, "group": case.group, "dtype": dtype, "direction": direction}
        yield dict(head, **judgement("wrong" if said else "native", error, tolerance, said))


def run(cases, request, place):
    """The rows of all cases that were requested, each printed as soon as it is known. `request`: dtypes (list), only (names, or groups),
    cases (keys), limit (seconds)."""
    dtypes, only, keys = (request.get(name) for name in ("dtypes", "only", "cases"))
    chosen = [
        (case.name + "/" + dtype, case, dtype)
        for case in cases
        for dtype in case.dtypes
        if (not dtypes or dtype in dtypes) and (not only or case.name in only or case.group in only)
    ]
    chosen = [each for each in chosen if keys is None or each[0] in keys]
    say("operators", cases=[key for key, _, _ in chosen])
    found = []
    for key, case, dtype in chosen:
        say("operator", key=key, group=case.group)
        faulthandler.dump_traceback_later(float(request.get("limit") or LONGEST), exit=True, file=sys.stderr)
        try:
            judged = list(rows(case, dtype, place))
        except Exception as error:
            judged = [dict({"operator": case.name, "group": case.group, "dtype": dtype, "direction": "forward"}, **failed(error))]
        faulthandler.cancel_dump_traceback_later()
        for each in judged:
            say("verdict", **each)
        found += judged
    return found


def judgement(verdict, error, tolerance, note):
    return {"verdict": verdict, "max_relative_error": error, "tolerance": tolerance, "note": note}


def failed(error):
    text = short(error)
    full = is_memory(type(error).__name__, text) or isinstance(error, MemoryError)
    return judgement("skipped" if full else "missing", None, None, text)


def short(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (type(error).__name__ + (": " + lines[0] if lines else ""))[:300]


def _share(error, tolerance):
    return -1.0 if error is None else error / tolerance if tolerance else 0.0


def _place(number, shape):
    found = []
    for side in reversed(shape):
        found.append(number % side)
        number //= side
    return list(reversed(found))
