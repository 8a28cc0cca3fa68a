"""Compiled operators of JAX, forward and backward, with references in plain Python."""

import math
import struct

import jax
import jax.numpy as jnp
import numpy
from jax import lax
from plain_checks import LARGEST, SMALLEST, Check, Claim, Precise, Properties
from plain_reference import (
    ANY,
    attention,
    border,
    convolution,
    convolution_shape,
    cross_entropy,
    fine_numbers,
    log_softmax,
    log_sum_exp,
    max_pool,
    normalised,
    numbers,
    product,
    shape_of,
    softmax,
    transposed,
    windows,
    zeros,
)

NAN, INF = math.nan, math.inf
WINOGRAD = 256.0


def cases():
    return elements + layers + tensors + random


class Place:
    """`place(call, *arguments)` compiles and computes on the device; lists become arrays of float32."""

    def __init__(self, device):
        self.device = device

    def put(self, given, kind="float32"):
        if isinstance(given, (list, tuple, float)):
            given = numpy.array(given, dtype=kind)
        return jax.device_put(given, self.device)

    def __call__(self, call, *given):
        found = jax.jit(call)(*[self.put(each) for each in given])
        return [numpy.asarray(each) for each in found] if isinstance(found, (tuple, list)) else numpy.asarray(found)

    def slopes(self, call, flow, *given):
        """(the result, its gradients) for this gradient of the result."""

        def both(flow, *given):
            result, back = jax.vjp(call, *given)
            return (result, *back(flow))

        found = self(both, flow, *given)
        return found[0], found[1:]


elements = Properties("element")


def _sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


ACTIVATIONS = {
    # the call, the reference, its derivative, and the result for minus infinity
    "relu": (jax.nn.relu, lambda x: max(x, 0.0), lambda x: float(x > 0), 0.0),
    "leaky_relu": (lambda x: jax.nn.leaky_relu(x, 0.125), lambda x: x if x > 0 else x / 8, lambda x: 1.0 if x >= 0 else 0.125, -INF),
    "silu": (jax.nn.silu, lambda x: x * _sigmoid(x), lambda x: _sigmoid(x) * (1 + x * (1 - _sigmoid(x))), ANY),
    "gelu": (lambda x: jax.nn.gelu(x, approximate=False), lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2)),
             lambda x: 0.5 * math.erfc(-x / math.sqrt(2)) + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi), ANY),
    "sigmoid": (jax.nn.sigmoid, _sigmoid, lambda x: _sigmoid(x) * (1 - _sigmoid(x)), 0.0),
    "tanh": (jnp.tanh, math.tanh, lambda x: 1 - math.tanh(x) ** 2, -1.0),
    "exp": (jnp.exp, lambda x: math.exp(x) if x < 88.7 else INF, math.exp, 0.0),
    "elu": (jax.nn.elu, lambda x: x if x > 0 else math.expm1(x), lambda x: 1.0 if x > 0 else math.exp(x), -1.0),
    "softplus": (jax.nn.softplus, lambda x: x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x)), _sigmoid, 0.0),
    "abs": (jnp.abs, abs, lambda x: math.copysign(1.0, x), INF), "floor": (jnp.floor, lambda x: float(math.floor(x)), lambda x: 0.0, -INF),
    "round": (jnp.round, lambda x: float(round(x)), lambda x: 0.0, -INF),
}  # fmt: skip


def _activation(name):
    call, right, slope, end = ACTIVATIONS[name]

    def check(place):
        top, tiny = LARGEST["float32"] / 16, SMALLEST["float32"] / 4
        given = [0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 2.5, -2.5, 6.0, 10.0, -10.0, 64.0, -64.0, 88.0, -88.0, top, -top, tiny, -tiny]
        wanted = [right(x) for x in given] + [right(80.0) if name in ("sigmoid", "tanh") else INF, end, NAN]
        if name == "gelu":
            wanted[-3] = ANY
        if name == "floor":
            wanted[18] = wanted[19] = ANY  # a device may treat these subnormal numbers as zero
        scale = 0.0 if name in ("relu", "leaky_relu", "abs", "floor", "round", "exp") else 1.0
        special = ([*given, INF, -INF, NAN]) * 3
        x, flow = [v + 0.0625 for v in numbers((67,), 3)], numbers((67,), 5)
        got, (back,) = place.slopes(call, [0.0] * len(special) + flow, special + x)
        yield Check(name, got[: len(special)], wanted * 3, 64, scale)
        yield Check("gradient of " + name, back[len(special) :], [slope(v) * f for v, f in zip(x, flow)], 32, 2.0, backward=True)

    return check


for _name in ACTIVATIONS:
    elements(_activation(_name), name=_name + "_of_special_numbers")

LOGITS = [[1000.0, 1000.0, -1000.0, 999.0, 0.0], [1e4, 0.0, -1e4, 5.0, 9999.0], [-1000.0, -1001.0, -1000.0, -1002.0, -1000.0], [0.0] * 5,
          [-INF, 0.0, 1.0, -INF, 2.0], [88.0, 89.0, 90.0, 87.0, -200.0]]  # fmt: skip


@elements
def softmax_of_large_numbers(place):
    soft, logs, total = place(lambda x: (jax.nn.softmax(x), jax.nn.log_softmax(x), jax.nn.logsumexp(x, 1)), LOGITS)
    yield Check("softmax", soft, [softmax(row) for row in LOGITS], 64, 1.0)
    yield Check("log_softmax", logs, [log_softmax(row) for row in LOGITS], 64, 16.0)
    yield Check("logsumexp", total, [log_sum_exp(row) for row in LOGITS], 64)
    row = [value * 40 for value in numbers((1025,), 1)]
    yield Check("softmax of 1025", place(jax.nn.softmax, row), softmax(row), 256, 1.0)
    rows, labels = [[v * 3 for v in each] for each in numbers((6, 5), 1)], numpy.array([0, 4, 2, 2, 1, 3])

    def loss(x):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1))

    value, (back,) = place.slopes(loss, numpy.float32(1), rows)
    yield Check("cross entropy", value, math.fsum(cross_entropy(rows, labels.tolist())[0]) / 6, 32, 4.0)
    wanted = [[(s - (c == label)) / 6 for c, s in enumerate(softmax(r))] for r, label in zip(rows, labels.tolist())]
    yield Check("gradient of cross entropy", back, wanted, 32, 1.0, backward=True)


@elements
def arithmetic_of_odd_sizes(place):
    for count in (1, 1025):
        a, b = numbers((count,), 1), [v + 3 for v in numbers((count,), 2)]
        got = place(lambda x, y: (x + y, x - y, x * y, x / y, jnp.maximum(x, y), y**2.5, jnp.cumsum(x), x > y - 3), a, b)
        total, sums = 0.0, []
        for value in a:
            total += value
            sums.append(total)
        right = ([p + q for p, q in zip(a, b)], [p - q for p, q in zip(a, b)], [p * q for p, q in zip(a, b)], [p / q for p, q in zip(a, b)],
                 [max(p, q) for p, q in zip(a, b)], [q**2.5 for q in b], sums, [p > q - 3 for p, q in zip(a, b)])  # fmt: skip
        for what, found, wanted in zip(
            ("sum", "difference", "product", "quotient", "maximum", "power", "cumsum", "comparison"), got, right
        ):
            yield Check(f"{what} of {count}", found, wanted, 32 if what == "power" else 4)


@elements
def whole_numbers_and_conversions(place):
    pairs = [(a, b) for a in (-7, -6, -1, 0, 1, 5, 7, 1000001) for b in (-3, -2, 1, 2, 3)]
    a, b = (numpy.array([each[side] for each in pairs], dtype="int32") for side in (0, 1))
    floor, remainder, wide = place(lambda x, y: (x // y, x % y, x * 100000), a, b)
    yield Check("floor division", floor, [x // y for x, y in pairs], 0)
    yield Check("remainder", remainder, [x % y for x, y in pairs], 0)
    yield Check("overflow", wide, [(x * 100000 + 2**31) % 2**32 - 2**31 for x, _ in pairs], 0)
    given = [0.0, 0.9, -0.9, 1.5, -1.5, 2.5, 126.99, -127.5, 3.999, -3.999, 100.0] * 4
    yield Check("to int32", place(lambda x: x.astype(jnp.int32), given), [int(v) for v in given], 0)
    fine = [struct.unpack("f", struct.pack("f", v))[0] for v in [1 + k * 2.0**-12 for k in range(70)] + [1 / 3, -math.pi, 1000.3]]
    half = place(lambda x: x.astype(jnp.float16), fine).astype("float32")
    yield Check("to float16", half, [struct.unpack("e", struct.pack("e", v))[0] for v in fine], 0)
    brain = place(lambda x: x.astype(jnp.bfloat16), fine).astype("float32")
    yield Check("to bfloat16", brain, [_brain(v) for v in fine], 0)


def _brain(value):
    step = 2.0 ** (math.frexp(value)[1] - 8)
    return round(value / step) * step


layers = Properties("layer")


@layers
def convolution_in_every_form(place):
    for name, shape, weight, settings in (
        ("3x3", (2, 3, 7, 9), (4, 3, 3, 3), {"padding": 1}), ("stride 2", (2, 3, 9, 8), (4, 3, 3, 3), {"padding": 1, "stride": 2}),
        ("dilated", (1, 2, 9, 11), (3, 2, 3, 3), {"padding": 2, "dilation": 2}), 
        ("depthwise", (2, 9, 7, 6), (9, 1, 3, 3), {"padding": 1, "groups": 9}),
        ("batch of 5", (5, 2, 6, 6), (3, 2, 1, 1), {}),
    ):  # fmt: skip
        x, w = numbers(shape, 1), numbers(weight, 2)
        flow = numbers(convolution_shape(shape, weight, **{k: v for k, v in settings.items() if k != "groups"}), 4)
        y, *back = convolution(x, w, flow, **settings)
        p, s, d, g = (settings.get(key, usual) for key, usual in (("padding", 0), ("stride", 1), ("dilation", 1), ("groups", 1)))

        def call(x, w, p=p, s=s, d=d, g=g):
            return lax.conv_general_dilated(x, w, (s, s), ((p, p), (p, p)), rhs_dilation=(d, d), feature_group_count=g)

        got, slopes = place.slopes(call, flow, x, w)
        yield Check("convolution " + name, got, y, WINOGRAD, "all")
        for what, found, right in zip(("input", "weight"), slopes, back):
            yield Check(f"gradient of the {what}, {name}", found, right, WINOGRAD, "all", backward=True)


@layers
def convolution_of_a_large_image(place):
    """4 x 224 x 224 in whole numbers: each pixel of each output, by shifted additions of one filter that stands for all."""
    x, w = _wholes((4, 3, 224, 224), 7919), _wholes((8, 3, 3, 3), 31)
    mix = numpy.array([1.0, -2.0, 3.0, 1.0, 2.0, -1.0, 1.0, 3.0]).reshape(8, 1, 1)
    blended, wide = (w * mix[..., None]).sum(0), numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    wanted = sum(blended[c, a, b] * wide[:, c, a : a + 224, b : b + 224] for c in range(3) for a in range(3) for b in range(3))
    got = place(lambda x, w: lax.conv(x, w, (1, 1), "SAME"), x.astype("float32"), w.astype("float32"))
    off = float(numpy.abs((got.astype(float) * mix).sum(1) - wanted).max())
    yield Claim("each pixel of 4 x 224 x 224", off <= 0.05, f"off by {off:.3g}, where all numbers are whole")


def _wholes(shape, step):
    return (numpy.arange(math.prod(shape), dtype=numpy.int64) * step % 1000003 % 7 - 3).astype(float).reshape(shape)


@layers
def products(place):
    for rows, inner, columns in ((1, 1, 1), (3, 5, 2), (17, 33, 9)):
        a, b, flow = numbers((rows, inner), 1), numbers((inner, columns), 2), numbers((rows, columns), 3)
        got, (left, right) = place.slopes(jnp.matmul, flow, a, b)
        yield Check(f"product {rows}x{inner}x{columns}", got, product(a, b), 8, "all")
        yield Check("gradient of the left matrix", left, product(flow, transposed(b)), 8, "all", backward=True)
        yield Check("gradient of the right matrix", right, product(transposed(a), flow), 8, "all", backward=True)
        yield Check("product of transposed", place(lambda x, y: x.T @ y.T, transposed(a), transposed(b)), product(a, b), 8, "all")
    a, b = fine_numbers((9, 64), 1), fine_numbers((64, 7), 2)
    yield Precise("product of numbers with all their bits", place(jnp.matmul, a, b), product(a, b), 64, "all")
    x, w = fine_numbers((2, 8, 7, 7), 1), fine_numbers((5, 8, 3, 3), 2)
    right = convolution(x, w, zeros((2, 5, 7, 7)), padding=1)[0]
    got = place(lambda x, w: lax.conv(x, w, (1, 1), "SAME"), x, w)
    yield Precise("convolution of numbers with all their bits", got, right, WINOGRAD, "all")
    for rows, inner, columns in ((1025, 513, 640), (130, 1100, 768)):
        a, b, mix = _wholes((rows, inner), 7919), _wholes((inner, columns), 104723), numpy.arange(columns) % 7 + 1
        got = place(jnp.matmul, a.astype("float32"), b.astype("float32")).astype(float)
        off = numpy.abs((got * mix).sum(1) - (a * (b * mix).sum(1)).sum(1))
        yield Claim(f"product {rows}x{inner}x{columns}", off.max() == 0, f"row {int(off.argmax())} is off by {float(off.max()):.3g}")


@layers
def pools_norms_and_attention(place):
    plane, flow = [[v - 30.0 for v in row] for row in numbers((9, 11), 1, 400)], numbers((5, 6), 2)
    ys, xs = (windows(side, 3, 2, 1) for side in (9, 11))
    right, places = max_pool(plane, ys, xs)

    def largest(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (3, 3), (2, 2), ((1, 1), (1, 1)))

    got, (back,) = place.slopes(largest, flow, plane)
    wanted = zeros((9, 11))
    for row, into in zip(places, flow):
        for at, value in zip(row, into):
            wanted[at // 11][at % 11] += value
    yield Check("max pool", got, right, 0)
    yield Check("gradient of max pool", back, wanted, 4, 2.0, backward=True)
    rows, flow = numbers((6, 17), 1), numbers((6, 17), 2)
    normal, slopes, means, spread = normalised(rows, [[1.0] * 17] * 6, [[0.0] * 17] * 6, flow, 1e-5)
    got, (back,) = place.slopes(lambda x: jax.nn.standardize(x, axis=-1, epsilon=1e-5), flow, rows)
    yield Check("standardize", got, normal, 64, 2.0)
    yield Check("gradient of standardize", back, slopes, 128, 2.0, backward=True)
    mean, variance = place(lambda x: (x.mean(1), x.var(1)), rows)
    yield Check("mean", mean, means, 16, 1.0)
    yield Check("variance", variance, spread, 16)
    q, k, v = numbers((5, 8), 1), numbers((7, 8), 2), numbers((7, 8), 3)
    mask = [[0.0 if (i * 3 + j) % 4 else -INF for j in range(7)] for i in range(5)]
    found = place(lambda q, k, v, m: jax.nn.softmax(q @ k.T / math.sqrt(8) + m) @ v, q, k, v, mask)
    yield Check("attention", found, attention(q, k, v, mask, 1 / math.sqrt(8))[0], 64, 2.0)


tensors = Properties("tensor")
REPEATED = [0, 2, 2, 1, 2, 4, 0, 2]


@tensors
def additions_to_repeated_places(place):
    base, rows, index = numbers((5, 6), 1), numbers((8, 6), 2), numpy.array(REPEATED, dtype="int32")
    wanted, back = [row[:] for row in base], zeros((5, 6))
    for i, row in zip(REPEATED, rows):
        wanted[i] = [a + b for a, b in zip(wanted[i], row)]
        back[i] = [a + b for a, b in zip(back[i], row)]
    yield Check("at[].add", place(lambda x, i, y: x.at[i].add(y), base, index, rows), wanted, 8, 8.0)
    got, (slopes,) = place.slopes(lambda x: x[index], rows, base)
    yield Check("a list of indices", got, [base[i] for i in REPEATED], 0)
    yield Check("its gradient", slopes, back, 8, 8.0, backward=True)
    many = numpy.array([int(value * 8) % 7 for value in numbers((3001,), 5)], dtype="int32")
    counts = place(lambda i: jax.ops.segment_sum(jnp.ones(3001), i, num_segments=7), many)
    yield Check("segment_sum of 3001", counts, [float((many == value).sum()) for value in range(7)], 0)


@tensors
def every_border(place):
    plane = numbers((5, 7), 1, 400)
    for mode, known in (("reflect", "reflect"), ("edge", "replicate"), ("wrap", "circular"), ("constant", "constant")):
        ys, xs = border(5, 1, 4, known), border(7, 2, 3, known)
        wanted = [[0.0 if y is None or x is None else plane[y][x] for x in xs] for y in ys]
        flow, back = numbers(shape_of(wanted), 2), zeros((5, 7))
        for y, row in zip(ys, flow):
            for x, value in zip(xs, row):
                if y is not None and x is not None:
                    back[y][x] += value
        got, (slopes,) = place.slopes(lambda x, mode=mode: jnp.pad(x, ((1, 4), (2, 3)), mode=mode), flow, plane)
        yield Check(mode + " border", got, wanted, 0)
        yield Check(f"gradient of a {mode} border", slopes, back, 16, 16.0, backward=True)


@tensors
def order_and_selection(place):
    rows = numbers((9, 33), 4)
    got, least, at, index = place(lambda x: (jnp.sort(x, 1), x.min(0), x.argmax(1), jnp.argsort(x, 1)), rows)
    yield Check("sort", got, [sorted(row) for row in rows], 0)
    yield Check("min of columns", least, [min(column) for column in zip(*rows)], 0)
    yield Check("argmax", at, [row.index(max(row)) for row in rows], 0)
    yield Check("argsort keeps the order of equals", index, [sorted(range(33), key=lambda i, r=row: r[i]) for row in rows], 0)
    values, places = place(lambda x: lax.top_k(x, 4), rows)
    yield Check("top_k", values, [sorted(row, reverse=True)[:4] for row in rows], 0)
    held = [[row[i] for i in found] for row, found in zip(rows, places.tolist())]
    yield Claim("the places of top_k hold its values", held == values.tolist())
    broken = [1.0, NAN, 3.0, 2.0] * 9
    yield Check("max with NaN", place(jnp.max, broken), NAN, 0)
    yield Check("where ignores the other side", place(lambda x: jnp.where(x == x, x, 7.0), broken), [1.0, 7.0, 3.0, 2.0] * 9, 0)
    tenth = struct.unpack("f", struct.pack("f", 0.1))[0]
    yield Check("sum of 300001", place(jnp.sum, numpy.full(300001, 0.1, "float32")), tenth * 300001, 300001 / 8)
    yield Check("sums of rows", place(lambda x: x.sum(1), rows), [math.fsum(row) for row in rows], 8, 64.0)
    yield Check("sums of columns", place(lambda x: x.sum(0), rows), [math.fsum(column) for column in zip(*rows)], 8, 64.0)
    cube = numbers((2, 3, 4), 1)
    moved = [[[cube[a][b][c] for a in range(2)] for b in range(3)] for c in range(4)]
    yield Check("transpose", place(lambda x: jnp.transpose(x, (2, 1, 0)) + 0, cube), moved, 0)
    yield Check("strides backwards", place(lambda x: x[:, ::2, ::-2] + 0, cube), [[row[::-2] for row in plane[::2]] for plane in cube], 0)


@tensors
def calls_with_other_numbers(place):
    """The same compiled call with other numbers, which shows results that are kept from an earlier call."""
    call = jax.jit(lambda x, y: jax.nn.relu(x @ y))
    b = numbers((17, 5), 2)
    for step in (1, 5, 1, 6, 7, 8):
        a = numbers((9, 17), step)
        got = numpy.asarray(call(place.put(a), place.put(b)))
        yield Check(f"call with input {step}", got, [[max(v, 0.0) for v in row] for row in product(a, b)], 8, "all")
    for count in (1, 3, 17, 1025, 65537):
        host = numpy.arange(count, dtype="float32")
        yield Claim(f"copy of {count} there and back", bool((numpy.asarray(place.put(host) + 0) == host).all()))
    wide = numpy.arange(153, dtype="float32").reshape(17, 9)
    yield Check("a transposed array to the device", numpy.asarray(place.put(wide.T[:, ::2]) + 0), wide.T[:, ::2].tolist(), 0)


random = Properties("random numbers")


@random
def seeds_and_moments(place):
    key = jax.random.PRNGKey(7)
    call = jax.jit(lambda k: jax.random.normal(k, (20001,)))
    normal, again, other = (numpy.asarray(call(place.put(each))) for each in (key, key, jax.random.PRNGKey(8)))
    uniform = place(lambda k: jax.random.uniform(k, (20001,)), key)
    yield Claim("mean and deviation of normal numbers", abs(normal.mean()) < 0.04 and abs(normal.std() - 1) < 0.03)
    yield Claim("mean and range of uniform numbers", abs(uniform.mean() - 0.5) < 0.012 and uniform.min() >= 0 and uniform.max() < 1)
    yield Claim("the same key gives the same numbers", bool((normal == again).all()))
    yield Claim("another key gives others", bool((normal != other).any()))
    kept = (uniform < 0.25).mean()
    yield Claim("a quarter of the numbers", abs(kept - 0.25) < 5 * math.sqrt(0.1875 / 20001), f"{kept:.1%}")
