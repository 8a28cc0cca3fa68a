"""Elements, reductions and shapes of ONNX against references in plain Python, and the list of all cases."""

import math
import operator
import struct

import numpy
from onnx_encoding import TYPES
from onnx_properties import Model, one
from onnx_property_layers import layers
from plain_checks import Check, Claim, Properties
from plain_reference import ANY, border, log_softmax, log_sum_exp, numbers, softmax, transposed

NAN, INF = math.nan, math.inf


def cases(keeps_nan=True):
    """`keeps_nan`: whether the runtime specifies that NaN stays NaN; activations of OpenVINO turn it into a number."""
    special = Properties("element")
    for kind in ACTIVATIONS:
        special(_activation(kind, keeps_nan), name=kind.lower() + "_of_special_numbers")
    return layers + special + elements + reductions + arrangements


elements = Properties("element")


def _sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


SPECIAL = [0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 0.125, 2.5, -2.5, 1.5, 6.0, 7.0, 10.0, -10.0, 64.0, -64.0, 80.0, -80.0, 1e30, -1e30,
           2.0**-10]  # fmt: skip
ACTIVATIONS = {
    # attributes, reference, result of infinity, result of NaN
    "Relu": ({}, lambda x: max(x, 0.0), (INF, 0.0), NAN),
    "LeakyRelu": ({"alpha": 0.125}, lambda x: x if x > 0 else x / 8, (INF, -INF), NAN),
    "Elu": ({"alpha": 1.0}, lambda x: x if x > 0 else math.expm1(x), (INF, -1.0), NAN),
    "Sigmoid": ({}, _sigmoid, (1.0, 0.0), NAN), "Tanh": ({}, math.tanh, (1.0, -1.0), NAN),
    "Softplus": ({}, lambda x: x if x > 30 else math.log1p(math.exp(x)), (INF, 0.0), NAN),
    "HardSigmoid": ({"alpha": 0.25, "beta": 0.5}, lambda x: min(max(x / 4 + 0.5, 0.0), 1.0), (1.0, 0.0), ANY),
    "Erf": ({}, math.erf, (1.0, -1.0), ANY), "Exp": ({}, lambda x: math.exp(x) if x < 88 else INF, (INF, 0.0), NAN),
    "Abs": ({}, abs, (INF, INF), NAN), "Neg": ({}, lambda x: -x, (-INF, INF), NAN),
    "Floor": ({}, lambda x: float(math.floor(x)), (INF, -INF), NAN), "Ceil": ({}, lambda x: float(math.ceil(x)), (INF, -INF), NAN),
    "Round": ({}, lambda x: float(round(x)), (INF, -INF), NAN), "Sqrt": ({}, lambda x: math.sqrt(x) if x >= 0 else NAN, (INF, NAN), NAN),
    "Sign": ({}, lambda x: float((x > 0) - (x < 0)), (1.0, -1.0), ANY),
}  # fmt: skip


def _activation(kind, keeps_nan):
    attributes, right, ends, broken = ACTIVATIONS[kind]

    def check(run):
        given = ([*SPECIAL, INF, -INF, NAN]) * 3
        wanted = ([right(x) for x in SPECIAL] + [*ends, broken if keeps_nan else ANY]) * 3
        yield one(run, kind, [("x", given)], wanted, kind, 64, 1.0 if kind in ("Elu", "Softplus", "Erf", "Tanh", "Sigmoid") else 0.0,
                  **attributes)  # fmt: skip

    return check


LOGITS = [[1000.0, 1000.0, -1000.0, 999.0, 0.0], [1e4, 0.0, -1e4, 5.0, 9999.0], [-1000.0, -1001.0, -1000.0, -1002.0, -1000.0], [0.0] * 5,
          [88.0, 89.0, 90.0, 87.0, -200.0]]  # fmt: skip


@elements
def softmax_of_large_numbers(run):
    columns = transposed(LOGITS)
    yield one(run, "Softmax", [("x", LOGITS)], [softmax(row) for row in LOGITS], "Softmax", 64, 1.0, axis=-1)
    yield one(run, "Softmax", [("x", columns)], transposed([softmax(row) for row in LOGITS]), "Softmax over rows", 64, 1.0, axis=0)
    yield one(run, "LogSoftmax", [("x", LOGITS)], [log_softmax(row) for row in LOGITS], "LogSoftmax", 64, 16.0, axis=-1)
    small = numbers((5, 17), 3)  # OpenVINO adds the exponentials without subtracting the largest
    yield one(run, "ReduceLogSumExp", [("x", small)], [log_sum_exp(row) for row in small], "ReduceLogSumExp", 64, axes=[1], keepdims=0)
    for count in (1, 17, 1025):
        row = [value * 40 for value in numbers((1, count), count)[0]]
        yield one(run, "Softmax", [("x", [row])], [softmax(row)], f"Softmax of {count}", 256, 1.0, axis=-1)


PAIRWISE = {"Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": operator.truediv, "Max": max, "Min": min}


@elements
def arithmetic_of_odd_sizes(run):
    for count in (1, 3, 17, 1025):
        a, b = numbers((count,), 1), [v + 3 for v in numbers((count,), 2)]
        for kind, call in PAIRWISE.items():
            yield one(run, kind, [("x", a), ("x", b)], [call(p, q) for p, q in zip(a, b)], f"{kind} of {count}", 4)
        yield one(run, "Pow", [("x", b), ("c", [2.5])], [q**2.5 for q in b], f"Pow of {count}", 32)
        yield one(
            run, "Greater", [("x", a), ("x", [v - 3 for v in b])], [p > q - 3 for p, q in zip(a, b)], f"Greater of {count}", 0, of="bool"
        )
        yield one(run, "Clip", [("x", a), ("c", -0.5), ("c", 0.75)], [min(max(p, -0.5), 0.75) for p in a], f"Clip of {count}", 0)
    a, b, c = numbers((4, 1, 5), 1), numbers((3, 1), 2), numbers((5,), 3)
    made = Model()
    made.give_back(made.add("Add", made.add("Mul", made.give(a), made.give(b)), made.give(c)), (4, 3, 5))
    wanted = [[[a[i][0][k] * b[j][0] + c[k] for k in range(5)] for j in range(3)] for i in range(4)]
    yield Check("broadcast", made.compute(run)[0][0], wanted, 4, 4.0)


@elements
def gelu_and_silu_of_nodes(run):
    given = [v * 4 for v in numbers((67,), 1)]
    made = Model()
    x = made.give(given)
    made.give_back(made.add("Mul", x, made.add("Sigmoid", x)), (67,))
    share = made.add("Add", made.add("Erf", made.add("Div", x, made.keep(math.sqrt(2)))), made.keep(1.0))
    made.give_back(made.add("Mul", made.add("Mul", x, share), made.keep(0.5)), (67,))
    silu, gelu = made.compute(run)[0]
    yield Check("silu", silu, [v * _sigmoid(v) for v in given], 64, 1.0)
    yield Check("gelu", gelu, [0.5 * v * math.erfc(-v / math.sqrt(2)) for v in given], 64, 8.0)


@elements
def whole_numbers(run):
    pairs = [(a, b) for a in (-7, -6, -1, 0, 1, 5, 7, 1000001) for b in (1, 2, 3, 7)]
    for kind in ("int32", "int64"):
        a, b = ([each[side] for each in pairs] for side in (0, 1))
        towards_zero = [int(math.copysign(abs(x) // y, x)) for x, y in pairs]
        yield one(run, "Div", [("x", a, kind), ("x", b, kind)], towards_zero, f"Div in {kind}", 0, of=kind)
        yield one(run, "Mul", [("x", a, kind), ("x", b, kind)], [x * y for x, y in pairs], f"Mul in {kind}", 0, of=kind)
        yield one(run, "Mod", [("x", a, kind), ("x", b, kind)], [x % y for x, y in pairs], f"Mod in {kind}", 0, of=kind)


@elements
def conversions(run):
    given = [0.0, 0.9, -0.9, 1.5, -1.5, 2.5, 126.99, -127.5, 3.999, -3.999, 100.0] * 4
    for kind in ("int32", "int64"):
        yield one(run, "Cast", [("x", given)], [int(v) for v in given], "Cast to " + kind, 0, of=kind, to=TYPES[kind][0])
    wide = [0, 1, -5, 16777215, 16777216, 123456]
    yield one(run, "Cast", [("x", wide, "int32")], [float(v) for v in wide], "Cast of int32", 0, to=1)
    fine = [1 + k * 2.0**-12 for k in range(70)] + [1 / 3, -math.pi, 1000.3, 65504.0]
    made = Model()
    made.give_back(made.add("Cast", made.add("Cast", made.give(fine), to=10), to=1), (len(fine),))
    exact = [struct.unpack("f", struct.pack("f", v))[0] for v in fine]
    got, rounded = made.compute(run)[0][0], [struct.unpack("e", struct.pack("e", v))[0] for v in exact]
    # a compiler may remove a conversion there and back
    yield Check("rounding to float16", got, exact if got.tolist() == exact else rounded, 0)


reductions = Properties("reduction")


@reductions
def sums_and_extremes(run):
    rows = numbers((7, 1025), 1)
    x = ("x", rows)
    for axis, lines in ((1, rows), (0, transposed(rows))):
        yield one(
            run, "ReduceSum", [x, ("c", [axis], "int64")], [math.fsum(v) for v in lines], f"ReduceSum over {axis}", 8, 64.0, keepdims=0
        )
        yield one(
            run, "ReduceMean", [x], [math.fsum(v) / len(v) for v in lines], f"ReduceMean over {axis}", 16, 1.0, axes=[axis], keepdims=0
        )
        yield one(run, "ReduceMax", [x], [max(v) for v in lines], f"ReduceMax over {axis}", 0, axes=[axis], keepdims=0)
        yield one(run, "ReduceMin", [x], [min(v) for v in lines], f"ReduceMin over {axis}", 0, axes=[axis], keepdims=0)
        yield one(
            run,
            "ReduceL2",
            [x],
            [math.sqrt(math.fsum(a * a for a in v)) for v in lines],
            f"ReduceL2 over {axis}",
            64,
            axes=[axis],
            keepdims=0,
        )
    count = 300001
    tenth = struct.unpack("f", struct.pack("f", 0.1))[0]
    made = Model()
    made.give_back(made.add("ReduceSum", made.give(numpy.full((2, count), 0.1, "float32")), made.keep([1], "int64"), keepdims=0), (2,))
    # The tolerance allows eight partial sums, each of which adds one number after another.
    yield Check(f"sum of {count}", made.compute(run)[0][0], [tenth * count] * 2, count / 8)
    for count in (1, 17, 1025):
        row, total, wanted = numbers((count,), 3), 0.0, []
        for value in row:
            total += value
            wanted.append(total)
        yield one(run, "CumSum", [("x", row), ("c", 0, "int64")], wanted, f"CumSum of {count}", 8, 64.0)


@reductions
def places_of_the_largest(run):
    row = [2.0, -1.0, 2.0, 0.0, 0.0, 5.0, -1.0, 2.0, -0.5]
    rows = [row, row[::-1], numbers((9,), 5)]
    first = [max(range(9), key=lambda i, r=r: (r[i], -i)) for r in rows]
    yield one(run, "ArgMax", [("x", rows)], first, "ArgMax", 0, of="int64", axis=1, keepdims=0)
    made = Model()
    values, places = made.add("TopK", made.give(rows), made.keep([4], "int64"), results=2, axis=1)
    made.give_back(values, (3, 4))
    made.give_back(places, (3, 4), "int64")
    got, at = made.compute(run)[0]
    yield Check("TopK", got, [sorted(r, reverse=True)[:4] for r in rows], 0)
    held = [[r[i] for i in found] for r, found in zip(rows, at.tolist())]
    yield Claim("the places of TopK are different and hold its values", held == got.tolist() and all(len(set(f)) == 4 for f in at.tolist()))


arrangements = Properties("shape")


@arrangements
def every_border(run):
    plane = numbers((5, 7), 1, 400)
    for mode, known in (("reflect", "reflect"), ("edge", "replicate"), ("constant", "constant")):
        for left, right, above, below in ((2, 3, 1, 4), (1, 0, 0, 2), (3, 3, 3, 3)):
            ys, xs = border(5, above, below, known), border(7, left, right, known)
            wanted = [[0.75 if y is None or x is None else plane[y][x] for x in xs] for y in ys]
            value = [("c", 0.75)] if mode == "constant" else []
            pads = ("c", [0, 0, above, left, 0, 0, below, right], "int64")
            yield one(run, "Pad", [("x", [[plane]]), pads, *value], [[wanted]], f"Pad, {mode}", 0, mode=mode)


@arrangements
def indices(run):
    table, places = numbers((5, 6), 1), [0, 2, 2, 1, 2, 4, 0, -1]
    yield one(run, "Gather", [("x", table), ("x", places, "int64")], [table[i] for i in places], "Gather", 0, axis=0)
    picks = [[(r * 5 + c * 7) % 6 for c in range(4)] for r in range(5)]
    right = [[row[i] for i in pick] for row, pick in zip(table, picks)]
    yield one(run, "GatherElements", [("x", table), ("x", picks, "int64")], right, "GatherElements", 0, axis=1)
    different, given, wanted = [[(r + 2 * c) % 6 for c in range(3)] for r in range(5)], numbers((5, 3), 2), [row[:] for row in table]
    for row, at, values in zip(wanted, different, given):
        for i, value in zip(at, values):
            row[i] = value
    yield one(run, "ScatterElements", [("x", table), ("x", different, "int64"), ("x", given)], wanted, "ScatterElements", 0, axis=1)
    mask = [[(r * 3 + c) % 4 == 1 for c in range(6)] for r in range(5)]
    other = numbers((5, 6), 4)
    chosen = [[a if t else b for a, b, t in zip(*each)] for each in zip(table, other, mask)]
    yield one(run, "Where", [("x", mask, "bool"), ("x", table), ("x", other)], chosen, "Where", 0)


@arrangements
def additions_to_repeated_places(run):
    table, places = numbers((5, 6), 1), [0, 2, 2, 1, 2, 4, 0]
    added = [row[:] for row in table]
    for place, row in zip(places, numbers((7, 6), 6)):
        added[place] = [a + b for a, b in zip(added[place], row)]
    given = [("x", table), ("x", [[i] * 6 for i in places], "int64"), ("x", numbers((7, 6), 6))]
    yield one(run, "ScatterElements", given, added, "ScatterElements that adds", 8, 8.0, opset=16, axis=0, reduction="add")


@arrangements
def shapes(run):
    cube = numbers((2, 3, 4), 1)
    x = ("x", cube)
    moved = [[[cube[a][b][c] for a in range(2)] for b in range(3)] for c in range(4)]
    yield one(run, "Transpose", [x], moved, "Transpose", 0, perm=[2, 1, 0])
    ends = [("c", [each], "int64") for each in (3, -5, 2, -2)]
    yield one(run, "Slice", [x, *ends], [[row[3:0:-2] for row in plane] for plane in cube], "Slice backwards", 0)
    yield one(run, "Concat", [x, x], [[row * 2 for row in plane] for plane in cube], "Concat", 0, axis=2)
    yield one(run, "Tile", [("x", cube[0]), ("c", [2, 2], "int64")], [row * 2 for row in cube[0]] * 2, "Tile", 0)
    yield one(run, "Expand", [("x", cube[:1]), ("c", [3, 3, 4], "int64")], [cube[0]] * 3, "Expand", 0)
    made = Model()
    flat = made.add("Reshape", made.add("Transpose", made.give(cube), perm=[2, 0, 1]), made.keep([4, 6], "int64"))
    made.give_back(made.add("Relu", flat), (4, 6))
    wanted = [[max(cube[a][b][c], 0.0) for a in range(2) for b in range(3)] for c in range(4)]
    yield Check("Reshape of a transposed tensor", made.compute(run)[0][0], wanted, 0)
    scales = ("c", [1.0, 1.0, 2.0, 3.0])
    grown = [[[[v for v in row for _ in range(3)] for row in plane for _ in (0, 1)] for plane in cube]]
    yield one(run, "Resize", [("x", [cube]), ("",), scales], grown, "Resize to the nearest", 0, mode="nearest",
              coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    halves = [("x", [[[[0.0, 1.0]]]]), ("",), ("c", [1.0, 1.0, 1.0, 2.0])]
    yield one(run, "Resize", halves, [[[[0.0, 0.25, 0.75, 1.0]]]], "Resize, linear", 8, 1.0, mode="linear",
              coordinate_transformation_mode="half_pixel")  # fmt: skip
    tiles = [[[[float(c)]] for c in range(4)]]
    yield one(run, "DepthToSpace", [("x", tiles)], [[[[0.0, 1.0], [2.0, 3.0]]]], "DepthToSpace", 0, blocksize=2)
