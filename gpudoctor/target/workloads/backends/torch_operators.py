"""Operators that real models use, one by one on a device: forward and backward against float64 on the processor, or against references
that share nothing with torch (torch_properties.py). The set `quick` holds the latter and the random numbers, which take little time.

Each gets a verdict: native, cpu-fallback (computed on the processor), wrong, missing (the backend refuses), skipped (this torch has no such
operator, or memory is full). A crash ends the process; the last line `operator` names the operator that crashed.
"""

import faulthandler
import sys
import warnings

import plain_checks
import torch
import torch_operator_layers
import torch_operator_tensors
import torch_property_activations
import torch_property_convolutions
import torch_property_large
import torch_property_layers
import torch_property_tensors
import torch_property_training
import torch_property_values
from correctness import FLOOR
from plain_checks import LONGEST, Property, failed, judgement, short
from torch_fallback import Watch
from torch_properties import Place
from worker import Skipped, say

TOLERANCES = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 2.5e-2}
"""The tolerance of |got - right| / |right| by type. One operator rounds little more than its result: four units in the last place, and more
for long sums."""
GRADIENT = 4.0
PROPERTIES = (
    torch_property_convolutions, torch_property_layers, torch_property_activations, torch_property_values, torch_property_tensors,
    torch_property_training,
)  # fmt: skip
DTYPES = ("float32", "float16", "bfloat16", "float64", "int64", "int32", "int8", "uint8", "bool")
QUICK_DTYPES = ("float32", "float16", "bfloat16", "int64")


def run(device, request):
    """The rows of all requested cases. `request`: set (quick, large, or all but the large), dtypes (list), only (names, or groups), cases
    (keys 'name/dtype'), limit (seconds)."""
    chosen = select(request)
    say("operators", cases=[key for key, _, _ in chosen])
    watch, rows = Watch(device), []
    limit = float(request.get("limit") or LONGEST * (5 if request.get("set") == "large" else 1))
    refused = {}
    for key, case, dtype in chosen:
        say("operator", key=key, group=case.group)
        faulthandler.dump_traceback_later(limit, exit=True, file=sys.stderr)
        if dtype not in refused:
            refused[dtype] = _refusal(device, dtype)
        judge = of_property if isinstance(case, Property) else one
        for row in judge(case, dtype, device, watch, refused[dtype]):
            say("verdict", **row)
            rows.append(row)
        faulthandler.cancel_dump_traceback_later()
    return rows


def select(request):
    """The cases to run, as (key, case, dtype), in their order."""
    quick = request.get("set") == "quick"
    dtypes = request.get("dtypes") or (QUICK_DTYPES if quick else DTYPES)
    only, keys = request.get("only"), request.get("cases")
    chosen = []
    for case in cases_of(request.get("set")):
        if only and case.name not in only and case.group not in only:
            continue
        for dtype in case.dtypes:
            key = case.name + "/" + dtype
            if quick and case.group == "random numbers" and dtype not in ("float32", "int64"):
                continue
            if dtype in dtypes and (keys is None or key in keys):
                chosen.append((key, case, dtype))
    return chosen


def cases_of(name):
    """The cases of a set. Those with the most imports come last, so that a run that is cut off has the others."""
    if name == "large":
        return torch_property_large.cases()
    properties = [case for module in PROPERTIES for case in module.cases()]
    if name == "quick":
        drawn = [case for case in torch_operator_tensors.cases() if case.group == "random numbers"]
        return drawn + properties
    return torch_operator_layers.cases() + torch_operator_tensors.cases() + properties


def of_property(case, dtype, device, watch, refusal=""):
    """The rows of a case that brings its own reference."""
    head = {"operator": case.name, "group": case.group, "dtype": dtype, "direction": "forward"}
    if refusal:
        yield dict(head, **judgement("missing", None, None, refusal))
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield from plain_checks.rows(case, dtype, Place(device, dtype))
    except Exception as error:
        yield dict(head, **failed(error))


def _refusal(device, dtype):
    try:
        device.supports(getattr(torch, dtype))
    except Skipped as reason:
        return str(reason)
    return ""


def one(case, dtype, device, watch, refusal=""):
    """The rows of one case, each as soon as it is known: forward, and backward where there is one."""
    head = {"operator": case.name, "group": case.group, "dtype": dtype}
    directions = ("forward", "backward") if case.backward else ("forward",)
    try:
        source = [make(given, dtype, number) for number, given in enumerate(case.inputs)]
        right = None if case.judge else _computed(case, [_leaf(x.double() if x.is_floating_point() else x) for x in source])
    except Exception as error:
        refusal, verdict = "no reference: " + short(error), "skipped"
    else:
        verdict = "missing"
    if refusal:
        for way in directions:
            yield dict(head, direction=way, **judgement(verdict, None, None, refusal))
        return
    tolerance = TOLERANCES["bfloat16"] * 2 if case.autocast else TOLERANCES.get(dtype, 0.0) * case.slack
    try:
        inputs = [_leaf(x.to(device.torch_device)) for x in source]

        def forward():
            if not case.autocast:
                return case.call(*inputs)
            with device.precision(torch.bfloat16):
                return case.call(*inputs)

        outputs = _parts(watch(forward))
        device.sync(outputs[-1])
        row = _judged(case, outputs, right, tolerance, watch.why)
    except Exception as error:
        outputs, row = None, failed(error)
    yield dict(head, direction="forward", **row)
    if not case.backward:
        return
    if outputs is None:
        yield dict(head, direction="backward", **dict(row, note="forward: " + row["note"]))
        return
    try:
        leaves = [x for x in inputs if x.requires_grad]
        through, weights = _weighed(outputs)
        got = watch(lambda: _gradients(through, weights, leaves))
        device.sync(got[-1] if got else None)
        wanted = _gradients(*_weighed(right), [x for x in right.leaves if x.requires_grad])
        row = _compared(got, wanted, tolerance * GRADIENT, watch.why)
    except Exception as error:
        row = failed(error)
    yield dict(head, direction="backward", **row)


class Outputs(list):
    leaves = ()


def _computed(case, inputs):
    found = Outputs(_parts(case.call(*inputs)))
    found.leaves = inputs
    return found


def _parts(found):
    return list(found) if isinstance(found, (tuple, list)) else [found]


def make(given, dtype, number):
    """A tensor on the processor in its type, the same numbers on every machine."""
    count = 1
    for side in given.shape:
        count *= side
    spread = torch.remainder(torch.arange(count, dtype=torch.float64) * 0.754877666246693 + 0.569840290998 * (number + 1), 1.0).reshape(
        given.shape
    )
    if given.kind == "index":
        return (spread * given.below).long().clamp_(max=given.below - 1)
    if given.kind == "mask":
        return spread < 0.4
    kind = getattr(torch, dtype)
    if not kind.is_floating_point:
        return (spread * 11 - (0 if dtype in ("uint8", "bool") else 5)).floor().to(kind)
    return (spread + 0.5 if given.kind == "positive" else spread * 2 - 1).to(kind)


def _leaf(x):
    """A copy, for which gradients are asked where it can have them."""
    return x.detach().clone().requires_grad_(x.is_floating_point())


def _weighed(outputs):
    """The outputs that have gradients, and a different weight for each of their numbers, because with equal weights a softmax has no
    gradient."""
    through, weights = [x for x in outputs if x.requires_grad], []
    for x in through:
        spread = torch.remainder(torch.arange(x.numel(), dtype=torch.float64) * 0.618033988749895 + 0.3, 1.0).reshape(x.shape)
        weights.append((spread * 2 - 1).to(x.dtype).to(x.device))
    return through, weights


def _gradients(through, weights, leaves):
    return [g for g in torch.autograd.grad(through, leaves, weights, allow_unused=True) if g is not None]


def _judged(case, outputs, right, tolerance, fallback):
    if case.judge is None:
        return _compared(outputs, right, tolerance, fallback)
    said = case.judge([x.detach().to("cpu") for x in outputs])
    return judgement("wrong" if said else "cpu-fallback" if fallback else "native", None, None, said or fallback)


def _compared(got, right, tolerance, fallback):
    """The verdict of a list of tensors against the references: that of the worst. The error of a tensor that is zero but for rounding is
    relative to the largest of the others."""
    worst, said = 0.0, ""
    floor = FLOOR * max([float(b.detach().double().norm()) for b in right], default=0.0)
    if len(got) != len(right):
        return judgement("wrong", None, tolerance, f"{len(got)} tensors instead of {len(right)}")
    for a, b in zip(got, right):
        a, b = a.detach().to("cpu"), b.detach()
        if a.shape != b.shape:
            return judgement("wrong", None, tolerance, f"shape {list(a.shape)} instead of {list(b.shape)}")
        a, b = a.double().reshape(-1), b.double().reshape(-1)
        if not bool(torch.isfinite(a).all()) and bool(torch.isfinite(b).all()):
            return judgement("wrong", None, tolerance, "NaN" if bool(torch.isnan(a).any()) else "infinite")
        size = max(float(b.norm()), floor)
        if b.numel() and float(b.norm()) > floor and float(a.abs().max()) == 0:
            said = "all zero"
        worst = max(worst, float((a - b).norm()) / size if size else float(a.norm()))
    return judgement("wrong" if worst > tolerance else "cpu-fallback" if fallback else "native", worst, tolerance, said or fallback)
