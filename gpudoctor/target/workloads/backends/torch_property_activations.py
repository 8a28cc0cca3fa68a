"""Activations at NaN, infinity, large and tiny numbers, and their slopes, softmax of large numbers: against Python's arithmetic."""

import math

import torch
import torch.nn.functional as F
from plain_checks import LARGEST, SMALLEST, Check, Properties
from plain_reference import ANY, log_softmax, log_sum_exp, numbers, softmax
from torch_properties import gradients

NAN, INF = math.nan, math.inf
HALVES = ("float32", "bfloat16", "float16")


def cases():
    return activations


activations = Properties("activation")


def _guarded(function):
    """An exponential that overflows in Python is infinite."""

    def call(x):
        try:
            return function(x)
        except OverflowError:
            return INF

    return call


def _sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


def _gelu_tanh(x):
    return 0.5 * x * (1 + math.tanh(max(-30.0, min(30.0, math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))))


SELU, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
ACTIVATIONS = {
    # torch's function, the reference, whether minus infinity gives zero times infinity, roundings by the size of the argument
    "relu": (F.relu, lambda x: max(x, 0.0), False),
    "relu6": (F.relu6, lambda x: min(max(x, 0.0), 6.0), False),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.125), lambda x: x if x > 0 else 0.125 * x, False),
    "elu": (F.elu, lambda x: x if x > 0 else math.expm1(x), False),
    "selu": (F.selu, lambda x: SELU_SCALE * (x if x > 0 else SELU * math.expm1(x)), False),
    "gelu": (F.gelu, lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2)), True),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), _gelu_tanh, True),
    "silu": (F.silu, lambda x: x * _sigmoid(x), True),
    "mish": (F.mish, lambda x: x * math.tanh(math.log1p(math.exp(x)) if x < 30 else x), True),
    "sigmoid": (torch.sigmoid, _sigmoid, False),
    "tanh": (torch.tanh, math.tanh, False),
    "softplus": (F.softplus, lambda x: x if x > 20 else math.log1p(math.exp(x)), False),
    "hardswish": (F.hardswish, lambda x: x * min(max(x / 6 + 0.5, 0.0), 1.0), True),
    "hardsigmoid": (F.hardsigmoid, lambda x: min(max(x / 6 + 0.5, 0.0), 1.0), False),
    "exp": (torch.exp, _guarded(math.exp), False),
    "expm1": (torch.expm1, _guarded(math.expm1), False),
    "abs": (torch.abs, abs, False),
    "sqrt": (lambda x: torch.sqrt(x.abs()), lambda x: math.sqrt(abs(x)), False),
    "log": (lambda x: torch.log(x.abs()), lambda x: math.log(abs(x)) if x else -INF, False),
    "erf": (torch.erf, math.erf, False),
    "sin": (lambda x: torch.sin(x.clamp(-8, 8)), lambda x: math.sin(max(-8.0, min(8.0, x))), False),
    "cos": (lambda x: torch.cos(x.clamp(-8, 8)), lambda x: math.cos(max(-8.0, min(8.0, x))), False),
    "clamp": (lambda x: x.clamp(-0.5, 0.5), lambda x: max(-0.5, min(0.5, x)), False),
    "floor": (torch.floor, lambda x: float(math.floor(x)) if math.isfinite(x) else x, False),
    "round": (torch.round, lambda x: float(round(x)) if math.isfinite(x) else x, False),
    "sign": (torch.sign, lambda x: math.copysign(1.0, x) if x else 0.0, False),
}
NAN_IS_LOST = ("sign", "hardsigmoid")
"""Activations for which torch does not specify the result of NaN."""
ROUGH = ("exp", "expm1", "gelu", "gelu_tanh", "mish")
"""Activations with larger errors: exp() magnifies that of its argument; erf() is approximated to 1.5e-7, not to its last digit."""


def _special(kind):
    """Numbers at which activations have been wrong, so many of each that vectors of any width, and the rest behind the last vector, meet
    them."""
    top, tiny = LARGEST[kind] / 16, SMALLEST[kind] / 4  # hardswish multiplies by six before it divides
    plain = [0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 0.125, -0.125, 2.5, -2.5, 1.5, 6.0, 7.0, 10.0, -10.0, 20.5, 64.0, -64.0, 88.0, -88.0]
    return [*plain, top, -top, tiny, -tiny, INF, -INF, NAN, 2.0 ** (-10)]


def _activation(name):
    call, right, product = ACTIVATIONS[name]

    def run(place):
        given = _special(place.name) * 3
        wanted = []
        for x in given:
            if 0 < abs(x) < SMALLEST[place.name] and name in ("floor", "sign"):
                wanted.append(ANY)  # a device may treat this subnormal number as zero
            elif x != x:
                wanted.append(ANY if name in NAN_IS_LOST else NAN)
            elif abs(x) == INF:
                wanted.append(ANY if product and (x < 0 or name == "gelu") else right(x))
            else:
                wanted.append(right(x))
        largest = LARGEST[place.name] * 1.99
        wanted = [value if value is ANY or not abs(value) > largest else math.copysign(INF, value) for value in wanted]
        limit = 64 if name in ROUGH else 8
        scale = 1.0 if name in ("sin", "cos", "log", "softplus", "elu", "selu", "gelu", "gelu_tanh", "mish", "silu", "hardswish",
                                "hardsigmoid", "expm1") else 0.0  # fmt: skip
        yield Check(name, call(place(given)), wanted, limit, scale)
        inverted = place([given, given[::-1]]).t()  # the same values, read through strides
        yield Check(name + " of a transposed tensor", call(inverted), [list(each) for each in zip(wanted, wanted[::-1])], limit, scale)

    return run


for _name in ACTIVATIONS:
    _types = HALVES if _name in ("relu", "gelu", "silu", "tanh") else ("float32",)
    activations(_activation(_name), dtypes=_types, name=_name + "_of_special_numbers")

SLOPES = {
    "relu": lambda x: float(x > 0), "leaky_relu": lambda x: 1.0 if x > 0 else 0.125, "sigmoid": lambda x: _sigmoid(x) * (1 - _sigmoid(x)),
    "relu6": lambda x: float(0 < x < 6), "elu": lambda x: 1.0 if x > 0 else math.exp(x), "tanh": lambda x: 1 - math.tanh(x) ** 2,
    "silu": lambda x: _sigmoid(x) * (1 + x * (1 - _sigmoid(x))),
    "gelu": lambda x: 0.5 * math.erfc(-x / math.sqrt(2)) + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "softplus": _sigmoid, "hardswish": lambda x: 0.0 if x < -3 else 1.0 if x > 3 else x / 3 + 0.5,
    "exp": math.exp, "sin": math.cos, "abs": lambda x: float((x > 0) - (x < 0)), "clamp": lambda x: float(-0.5 <= x <= 0.5),
}  # fmt: skip


@activations
def slopes_of_activations(place):
    for name, slope in SLOPES.items():
        given = [x for x in numbers((67,), 3) if not (name in ("relu6", "abs") and x == 0)]
        x, weights = place(given, grad=True), numbers((len(given),), 5)
        (got,) = gradients(ACTIVATIONS[name][0](x), place(weights), [x])
        yield Check("gradient of " + name, got, [slope(value) * weight for value, weight in zip(given, weights)], 16, 2.0, backward=True)


@activations
def prelu_and_glu(place):
    x, slope = place(numbers((2, 3, 5)), grad=True), place([0.25, 0.5, -0.125], grad=True)
    given, flow = numbers((2, 3, 5)), numbers((2, 3, 5), 4)
    steep = [0.25, 0.5, -0.125]
    wanted = [[[v if v > 0 else v * steep[c] for v in row] for c, row in enumerate(item)] for item in given]
    got = F.prelu(x, slope)
    yield Check("prelu", got, wanted, 2)
    into = [math.fsum(given[n][c][i] * flow[n][c][i] for n in range(2) for i in range(5) if given[n][c][i] < 0) for c in range(3)]
    yield Check("gradient of the slopes", gradients(got, place(flow), [slope])[0], into, 16, "all", backward=True)
    halves = numbers((3, 8), 2)
    yield Check("glu", F.glu(place(halves)), [[a * _sigmoid(b) for a, b in zip(row[:4], row[4:])] for row in halves], 8)


LOGITS = [
    [1000.0, 1000.0, -1000.0, 999.0, 0.0], [1e4, 0.0, -1e4, 5.0, 9999.0], [-1000.0, -1001.0, -1000.0, -1002.0, -1000.0], [0.0] * 5,
    [-INF, 0.0, 1.0, -INF, 2.0], [NAN, 0.0, 1.0, 2.0, 3.0], [88.0, 89.0, 90.0, 87.0, -200.0],
]  # fmt: skip


@activations
def softmax_of_large_numbers(place):
    x = place(LOGITS)
    units = 16
    yield Check("softmax", F.softmax(x, 1), [softmax(row) for row in LOGITS], units, 1.0)
    yield Check("log_softmax", F.log_softmax(x, 1), [log_softmax(row) for row in LOGITS], units, 16.0)
    kept = [row for row in LOGITS if row[0] == row[0]]
    yield Check("logsumexp", torch.logsumexp(place(kept), 1), [log_sum_exp(row) for row in kept], units)
    yield Check("softmax over rows", F.softmax(x.t(), 0).t(), [softmax(row) for row in LOGITS], units, 1.0)
    for count in (1, 17, 1025):
        row = [value * 40 for value in numbers((count,), count)]
        yield Check(f"softmax of {count}", F.softmax(place(row), 0), softmax(row), 4 * units, 1.0)
        yield Check(f"log_softmax of {count}", F.log_softmax(place(row), 0), log_softmax(row), units, 160.0)


@activations(dtypes=("bfloat16", "float16"))
def softmax_in_16_bit(place):
    rows = [[value * 8 for value in row] for row in numbers((4, 65), 1)]
    yield Check("softmax", F.softmax(place(rows), 1), [softmax(row) for row in rows], 4, 0.25)


@activations
def slopes_of_softmax(place):
    rows, flow = numbers((3, 17), 1), numbers((3, 17), 2)
    for name, call in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
        x = place(rows, grad=True)
        wanted = []
        for row, into in zip(rows, flow):
            shares = softmax(row)
            if name == "softmax":
                level = math.fsum(s * f for s, f in zip(shares, into))
                wanted.append([s * (f - level) for s, f in zip(shares, into)])
            else:
                wanted.append([f - s * math.fsum(into) for s, f in zip(shares, into)])
        yield Check("gradient of " + name, gradients(call(x, 1), place(flow), [x])[0], wanted, 32, "all", backward=True)
