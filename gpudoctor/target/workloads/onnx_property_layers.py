"""Layers of ONNX against references in plain Python; large ones against sums of whole numbers."""

import math

import numpy
from onnx_properties import Model, one
from plain_checks import Check, Claim, Precise, Properties
from plain_reference import (
    adaptive_windows,
    attention,
    average_pool,
    convolution,
    convolution_shape,
    fine_numbers,
    flattened,
    max_pool,
    normalised,
    numbers,
    product,
    shape_of,
    shaped,
    transposed,
    windows,
    zeros,
)

layers = Properties("layer")
WINOGRAD = 256.0


@layers
def convolution_in_every_form(run):
    for name, shape, weight, settings in (
        ("3x3", (2, 3, 7, 9), (4, 3, 3, 3), {"padding": 1}), ("1x1", (3, 5, 4, 5), (6, 5, 1, 1), {}),
        ("stride 2", (2, 3, 9, 8), (4, 3, 3, 3), {"padding": 1, "stride": 2}), 
        ("dilated", (1, 2, 9, 11), (3, 2, 3, 3), {"padding": 2, "dilation": 2}),
        ("grouped", (2, 6, 6, 5), (4, 3, 3, 3), {"padding": 1, "groups": 2}), 
        ("depthwise", (2, 9, 7, 6), (9, 1, 3, 3), {"padding": 1, "groups": 9}),
        ("batch of 5", (5, 2, 6, 6), (3, 2, 3, 3), {"padding": 1}), ("17 channels", (1, 17, 5, 5), (19, 17, 3, 3), {}),
    ):  # fmt: skip
        x, w, b = numbers(shape, 1), numbers(weight, 2), numbers(weight[:1], 3)
        sizes = {key: value for key, value in settings.items() if key != "groups"}
        y = convolution(x, w, zeros(convolution_shape(shape, weight, **sizes)), **settings)[0]
        right = [[[[v + b[o] for v in row] for row in plane] for o, plane in enumerate(image)] for image in y]
        attributes = {
            "kernel_shape": list(weight[2:]), "pads": [settings.get("padding", 0)] * 4, "strides": [settings.get("stride", 1)] * 2,
            "dilations": [settings.get("dilation", 1)] * 2, "group": settings.get("groups", 1),
        }  # fmt: skip
        yield one(run, "Conv", [("x", x), ("c", w), ("c", b)], right, "convolution " + name, WINOGRAD, "all", **attributes)
        made = Model()
        made.give_back(made.add("Relu", made.add("Conv", made.give(x), made.keep(w), made.keep(b), **attributes)), shape_of(right))
        wanted = [[[[max(v, 0.0) for v in row] for row in plane] for plane in image] for image in right]
        yield Check(f"convolution {name} and Relu", made.compute(run)[0][0], wanted, WINOGRAD, "all")


@layers
def transposed_convolution(run):
    x, w = numbers((2, 4, 4, 5), 1), numbers((4, 3, 3, 3), 2)
    right = convolution(zeros((2, 3, 8, 10)), w, x, 2, 1)[1]
    more = {"kernel_shape": [3, 3], "pads": [1] * 4, "strides": [2, 2], "output_padding": [1, 1]}
    yield one(run, "ConvTranspose", [("x", x), ("c", w)], right, "transposed convolution", WINOGRAD, "all", **more)


@layers
def convolution_of_a_large_image(run):
    """4 x 224 x 224 in whole numbers: each pixel of each output, by shifted additions of one filter that stands for all."""
    x, w = _wholes((4, 3, 224, 224), 7919), _wholes((8, 3, 3, 3), 31)
    mix = numpy.array([1.0, -2.0, 3.0, 1.0, 2.0, -1.0, 1.0, 3.0]).reshape(8, 1, 1)
    blended, wide = (w * mix[..., None]).sum(0), numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    wanted = sum(blended[c, a, b] * wide[:, c, a : a + 224, b : b + 224] for c in range(3) for a in range(3) for b in range(3))
    made = Model()
    given, kept = made.give(x.astype("float32")), made.keep(w.astype("float32"))
    made.give_back(made.add("Conv", given, kept, kernel_shape=[3, 3], pads=[1] * 4), (4, 8, 224, 224))
    off = float(numpy.abs((made.compute(run)[0][0].astype(float) * mix).sum(1) - wanted).max())
    yield Claim("each pixel of 4 x 224 x 224", off <= 0.05, f"off by {off:.3g}, where all numbers are whole")


def _wholes(shape, step):
    return (numpy.arange(math.prod(shape), dtype=numpy.int64) * step % 1000003 % 7 - 3).astype(float).reshape(shape)


@layers
def products(run):
    for rows, inner, columns in ((1, 1, 1), (3, 5, 2), (17, 33, 9), (1, 130, 31)):
        a, b, c = numbers((rows, inner), 1), numbers((inner, columns), 2), numbers((columns,), 3)
        right = product(a, b)
        yield one(run, "MatMul", [("x", a), ("c", b)], right, f"product {rows}x{inner}x{columns}", 8, "all")
        yield one(run, "MatMul", [("x", a), ("x", b)], right, f"product of two inputs {rows}x{inner}x{columns}", 8, "all")
        shifted = [[v + s for v, s in zip(row, c)] for row in right]
        yield one(run, "Gemm", [("x", a), ("c", transposed(b)), ("c", c)], shifted, "Gemm, transposed weight", 8, "all", transB=1)
        mixed = [[2 * v + 0.5 * s for v, s in zip(row, c)] for row in right]
        yield one(
            run, "Gemm", [("x", transposed(a)), ("x", b), ("x", c)], mixed, "Gemm with factors", 8, "all", transA=1, alpha=2.0, beta=0.5
        )
    left, right = numbers((3, 4, 5), 1), numbers((3, 5, 2), 2)
    yield one(run, "MatMul", [("x", left), ("x", right)], [product(p, q) for p, q in zip(left, right)], "product of batches", 8, "all")
    yield one(run, "MatMul", [("x", left), ("x", right[0])], [product(p, right[0]) for p in left], "product with one matrix", 8, "all")


@layers
def precision_of_products_and_convolutions(run):
    a, b = fine_numbers((9, 64), 1), fine_numbers((64, 7), 2)
    made = Model()
    made.give_back(made.add("MatMul", made.give(a), made.keep(b)), (9, 7))
    yield Precise("product", made.compute(run)[0][0], product(a, b), 64, "all")
    x, w = fine_numbers((2, 8, 7, 7), 1), fine_numbers((5, 8, 3, 3), 2)
    made = Model()
    made.give_back(made.add("Conv", made.give(x), made.keep(w), kernel_shape=[3, 3], pads=[1] * 4), (2, 5, 7, 7))
    yield Precise("convolution", made.compute(run)[0][0], convolution(x, w, zeros((2, 5, 7, 7)), padding=1)[0], WINOGRAD, "all")


@layers
def large_products(run):
    """Freivalds: C v = A (B v) in whole numbers; any wrong number of C changes its row."""
    for rows, inner, columns in ((1025, 513, 640), (130, 1100, 768)):
        a, b, mix = _wholes((rows, inner), 7919), _wholes((inner, columns), 104723), numpy.arange(columns) % 7 + 1
        made = Model()
        made.give_back(made.add("MatMul", made.give(a.astype("float32")), made.keep(b.astype("float32"))), (rows, columns))
        off = numpy.abs((made.compute(run)[0][0].astype(float) * mix).sum(1) - (a * (b * mix).sum(1)).sum(1))
        yield Claim(f"product {rows}x{inner}x{columns}", off.max() == 0, f"row {int(off.argmax())} is off by {float(off.max()):.3g}")


@layers
def pools(run):
    plane = [
        [v - 30.0 for v in row] for row in numbers((9, 11), 1, 400)
    ]  # all numbers are below zero, so that a padding of zeros would be the largest
    for kernel, stride, padding, dilation, ceil in ((3, 2, 1, 1, 0), (2, 2, 0, 1, 1), (3, 1, 1, 2, 0)):
        ys, xs = (windows(side, kernel, stride, padding, dilation, bool(ceil)) for side in (9, 11))
        more = {
            "kernel_shape": [kernel] * 2,
            "strides": [stride] * 2,
            "pads": [padding] * 4,
            "dilations": [dilation] * 2,
            "ceil_mode": ceil,
        }
        yield one(run, "MaxPool", [("x", [[plane]])], [[max_pool(plane, ys, xs)[0]]], f"MaxPool {more}", 0, **more)
    for counted in (0, 1):
        ys, xs = (windows(side, 3, 2, 1) for side in (9, 11))
        right = average_pool(plane, ys, xs, zeros((len(ys), len(xs))), (1, 1) if counted else None)[0]
        more = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4, "count_include_pad": counted}
        yield one(run, "AveragePool", [("x", [[plane]])], [[right]], f"AveragePool, count_include_pad {counted}", 8, 32.0, **more)
    right = average_pool(plane, adaptive_windows(9, 1), adaptive_windows(11, 1), zeros((1, 1)))[0]
    yield one(run, "GlobalAveragePool", [("x", [[plane]])], [[right]], "GlobalAveragePool", 16, 32.0)


@layers
def norms(run):
    shape = (2, 4, 3, 5)
    x, scale, shift, mean, spread = (numbers(shape, 1), *(numbers((4,), s) for s in (2, 3, 4)), [0.5, 1.0, 2.0, 4.0])
    right = [[[[(v - mean[c]) / math.sqrt(spread[c] + 1e-3) * scale[c] + shift[c] for v in row] for row in plane]
              for c, plane in enumerate(image)] for image in x]  # fmt: skip
    given = [("x", x), *(("c", each) for each in (scale, shift, mean, spread))]
    yield one(run, "BatchNormalization", given, right, "BatchNormalization", 16, 4.0, epsilon=1e-3)
    alone = [flattened(plane) for image in x for plane in image]
    normal = normalised(alone, [[scale[i % 4]] * 15 for i in range(8)], [[shift[i % 4]] * 15 for i in range(8)], alone, 1e-3)[0]
    right = shaped([v for row in normal for v in row], shape)
    yield one(run, "InstanceNormalization", [("x", x), ("c", scale), ("c", shift)], right, "InstanceNormalization", 32, 4.0, epsilon=1e-3)
    rows, weight, bias = numbers((6, 17), 1), numbers((17,), 3), numbers((17,), 4)
    right = normalised(rows, [weight] * 6, [bias] * 6, rows, 1e-5)[0]
    given = [("x", rows), ("c", weight), ("c", bias)]
    yield one(run, "LayerNormalization", given, right, "LayerNormalization", 32, 4.0, opset=17, axis=-1, epsilon=1e-5)


@layers
def attention_of_nodes(run):
    q, k, v = numbers((5, 8), 1), numbers((7, 8), 2), numbers((7, 8), 3)
    mask = [[0.0 if (i * 3 + j) % 4 else -10000.0 for j in range(7)] for i in range(5)]
    made = Model()
    small = made.add("Mul", made.give(q), made.keep([1 / math.sqrt(8)]))
    scores = made.add("MatMul", small, made.add("Transpose", made.give(k), perm=[1, 0]))
    shares = made.add("Softmax", made.add("Add", scores, made.give(mask)), axis=-1)
    made.give_back(made.add("MatMul", shares, made.give(v)), (5, 8))
    yield Check("attention", made.compute(run)[0][0], attention(q, k, v, mask, 1 / math.sqrt(8))[0], 64, 2.0)


@layers
def other_inputs_give_other_results(run):
    """The same model with other numbers, which shows results that are kept from an earlier call."""
    a, b = numbers((9, 17), 1), numbers((17, 5), 2)
    made = Model()
    name = made.give(a)
    made.give_back(made.add("Relu", made.add("MatMul", name, made.keep(b))), (9, 5))
    changes = [{name: numpy.array(numbers((9, 17), step), dtype="float32")} for step in (1, 5, 1, 6, 7)]
    for step, (got,) in zip((1, 5, 1, 6, 7), made.compute(run, changes)):
        right = [[max(v, 0.0) for v in row] for row in product(numbers((9, 17), step), b)]
        yield Check(f"call with input {step}", got, right, 8, "all")
