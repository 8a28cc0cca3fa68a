"""Convolutions and matrix products, forward and backward, against plain Python; large ones against sums of whole numbers."""

import math

import torch
import torch.nn.functional as F
from plain_checks import Check, Claim, Precise, Properties
from plain_reference import convolution, convolution_shape, fine_numbers, numbers, product, transposed, zeros
from torch_properties import gradients


def cases():
    return convolutions + products


convolutions = Properties("convolution")
WINOGRAD = 256.0
"""Roundings by the largest number of the result: F(4x4, 3x3) loses about two digits (Lavin and Gray, 2015), long sums lose one."""
CONVOLUTIONS = (
    # each: the name, the input, the weight and the settings
    ("3x3", (2, 3, 7, 9), (4, 3, 3, 3), {"padding": 1}),
    ("1x1", (3, 5, 4, 5), (6, 5, 1, 1), {}),
    ("stride_2", (2, 3, 9, 8), (4, 3, 3, 3), {"padding": 1, "stride": 2}),
    ("dilated", (1, 2, 9, 11), (3, 2, 3, 3), {"padding": 2, "dilation": 2}),
    ("grouped", (2, 6, 6, 5), (4, 3, 3, 3), {"padding": 1, "groups": 2}),
    ("depthwise", (2, 9, 7, 6), (9, 1, 3, 3), {"padding": 1, "groups": 9}),
    ("uneven", (1, 2, 8, 7), (3, 2, 5, 2), {"padding": (2, 0), "stride": (3, 1)}),
    ("batch_of_5", (5, 2, 6, 6), (3, 2, 3, 3), {"padding": 1}),
    ("17_channels", (1, 17, 5, 5), (19, 17, 3, 3), {}),
)


def _convolution(name, shape, weight, settings, dtype_units=WINOGRAD):
    def run(place):
        x, w, b = numbers(shape, 1), numbers(weight, 2), numbers(weight[:1], 3)
        sizes = {key: value for key, value in settings.items() if key != "groups"}
        flow = numbers(convolution_shape(shape, weight, **sizes), 4)
        y, into_x, into_w = convolution(x, w, flow, **settings)
        shifted = [[[[v + b[o] for v in row] for row in plane] for o, plane in enumerate(image)] for image in y]
        level = [math.fsum(v for image in flow for row in image[o] for v in row) for o in range(weight[0])]
        leaves = [place(each, grad=True) for each in (x, w, b)]
        got = F.conv2d(*leaves, **settings)
        yield Check("convolution", got, shifted, dtype_units, "all")
        names = ("the input", "the weight", "the bias")
        for what, back, right in zip(names, gradients(got, place(flow), leaves), (into_x, into_w, level)):
            yield Check("gradient of " + what, back, right, dtype_units, "all", backward=True)
        inner = x if name != "depthwise" else None
        if inner is not None:
            turned = place(x).permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
            yield Check("convolution of a permuted input", F.conv2d(turned, *leaves[1:], **settings), shifted, dtype_units, "all")

    return run


for _name, *_rest in CONVOLUTIONS:
    convolutions(_convolution(_name, *_rest), name="convolution_" + _name)


def _half(place):
    """Convolutions in 16 bit with their gradients, whose sums are computed in float32 and rounded once."""
    yield from _convolution("half", (2, 4, 6, 7), (5, 4, 3, 3), {"padding": 1}, 6.0)(place)


convolutions(_half, dtypes=("bfloat16", "float16"), name="convolution_in_16_bit")


@convolutions
def transposed_convolution(place):
    for shape, weight, stride, padding, extra, groups in (
        ((2, 4, 4, 5), (4, 3, 3, 3), 2, 1, 1, 1), ((1, 3, 5, 4), (3, 2, 4, 4), 2, 1, 0, 1), ((2, 4, 3, 3), (4, 2, 2, 2), 2, 0, 0, 2),
    ):  # fmt: skip
        x, w = numbers(shape, 1), numbers(weight, 2)
        sides = [(side - 1) * stride - 2 * padding + kernel + extra for side, kernel in zip(shape[2:], weight[2:])]
        flow = numbers((shape[0], weight[1] * groups, *sides), 3)
        into_x, y, into_w = convolution(flow, w, x, stride, padding, 1, groups)
        leaves = [place(each, grad=True) for each in (x, w)]
        got = F.conv_transpose2d(*leaves, stride=stride, padding=padding, output_padding=extra, groups=groups)
        yield Check("transposed convolution", got, y, WINOGRAD, "all")
        for what, back, right in zip(("the input", "the weight"), gradients(got, place(flow), leaves), (into_x, into_w)):
            yield Check("gradient of " + what, back, right, WINOGRAD, "all", backward=True)


@convolutions
def convolution_in_one_and_three_dimensions(place):
    x, w = numbers((2, 3, 17), 1), numbers((4, 3, 5), 2)
    flow = numbers((2, 4, 9), 3)
    lifted = [[[[row] for row in image] for image in each] for each in (x, w, flow)]
    parts = convolution(*lifted, stride=(1, 2), padding=(0, 2))
    leaves = [place(each, grad=True) for each in (x, w)]
    got = F.conv1d(*leaves, stride=2, padding=2)
    flat = [[[plane[0] for plane in image] for image in part] for part in parts]
    yield Check("conv1d", got, flat[0], WINOGRAD, "all")
    for back, right in zip(gradients(got, place(flow), leaves), flat[1:]):
        yield Check("gradient of conv1d", back, right, WINOGRAD, "all", backward=True)
    kernel = numbers((2, 1, 3, 3, 3), 5)
    impulse = zeros((1, 1, 5, 5, 5))
    impulse[0][0][2][2][2] = 1.0
    mirrored = [[[[row[::-1] for row in plane[::-1]] for plane in kernel[o][0][::-1]]] for o in range(2)]
    found = F.conv3d(place(impulse), place(kernel))[0]
    yield Check("conv3d of one number", found, [each[0] for each in mirrored], WINOGRAD, "all")


@convolutions
def convolution_of_a_large_image(place):
    """4 x 224 x 224 in whole numbers: each pixel of each output, by shifted additions of one filter that stands for all."""
    x, w = _wholes((4, 3, 224, 224), 7919), _wholes((8, 3, 3, 3), 31)
    mix = torch.tensor([1.0, -2.0, 3.0, 1.0, 2.0, -1.0, 1.0, 3.0], dtype=torch.float64)
    blended = (w * mix.reshape(8, 1, 1, 1)).sum(0)
    wide = F.pad(x, (1, 1, 1, 1))
    parts = [(c, a, b, wide[:, c, a : a + 224, b : b + 224]) for c in range(3) for a in range(3) for b in range(3)]
    wanted = sum(part * float(blended[c, a, b]) for c, a, b, part in parts)
    leaves = [each.to(place.kind).to(place.where).requires_grad_() for each in (x, w)]
    got = F.conv2d(*leaves, padding=1)
    found = got.detach().cpu().to(torch.float64)
    off = float(((found * mix.reshape(8, 1, 1)).sum(1) - wanted).abs().max())
    yield Claim("each pixel of 4 x 224 x 224", off <= 0.05, f"off by {off:.3g}, where all numbers are whole")
    rough = _wholes((224, 224), 104723)
    flow = (rough * mix.reshape(8, 1, 1)).expand(4, 8, 224, 224)
    into_x, into_w = (each.cpu().to(torch.float64) for each in gradients(got, flow.to(place.kind).to(place.where), leaves))
    right = torch.stack([(part * rough).sum() for _, _, _, part in parts]).reshape(3, 3, 3)
    off = float((into_w - right * mix.reshape(8, 1, 1, 1)).abs().max() / right.abs().max())
    yield Claim("the gradient of its weight", off <= 1e-4, f"off by {off:.3g} of the largest", backward=True)
    edged = F.pad(rough, (1, 1, 1, 1))
    back = sum(blended[:, a, b].reshape(3, 1, 1) * edged[2 - a : 226 - a, 2 - b : 226 - b] for a in range(3) for b in range(3))
    off = float((into_x - back).abs().max())
    yield Claim("the gradient of its input", off <= 0.05, f"off by {off:.3g}, where all numbers are whole", backward=True)


@convolutions
def a_changed_weight_is_used(place):
    """In-place changes of weights must reach the copies in other layouts that a library keeps between calls."""
    x, w = place(numbers((2, 3, 6, 6), 1)), place(numbers((4, 3, 3, 3), 2))
    first = F.conv2d(x, w).detach().cpu().clone()
    w.mul_(2)
    x.mul_(-1)
    yield Check("convolution after a change", F.conv2d(x, w), (first * -2).tolist(), WINOGRAD, "all")
    matrix, other = place(numbers((33, 17), 1)), place(numbers((17, 9), 2))
    before = torch.matmul(matrix, other).detach().cpu().clone()
    other.add_(1)
    level = [[math.fsum(row)] * 9 for row in numbers((33, 17), 1)]
    wanted = [[a + b for a, b in zip(*rows)] for rows in zip(before.tolist(), level)]
    yield Check("product after a change", torch.matmul(matrix, other), wanted, 16, "all")


@convolutions
def precision_of_convolution(place):
    x, w, flow = fine_numbers((2, 8, 7, 7), 1), fine_numbers((5, 8, 3, 3), 2), fine_numbers((2, 5, 7, 7), 3)
    leaves = [place(each, grad=True) for each in (x, w)]
    right = convolution(x, w, flow, padding=1)
    got = F.conv2d(*leaves, padding=1)
    yield Precise("convolution", got, right[0], WINOGRAD, "all")
    for what, back, wanted in zip(("the input", "the weight"), gradients(got, place(flow), leaves), right[1:]):
        yield Precise("gradient of " + what, back, wanted, WINOGRAD, "all", backward=True)


products = Properties("product")
SIDES = ((1, 1, 1), (3, 5, 2), (17, 33, 9), (1, 130, 31))


@products
def products_of_odd_sizes(place):
    for rows, inner, columns in SIDES:
        a, b = numbers((rows, inner), 1), numbers((inner, columns), 2)
        right = product(a, b)
        x, y = place(a), place(b)
        turned = place(transposed(a)).t(), place(transposed(b)).t()
        for name, left, other in (
            ("plain", x, y),
            ("left transposed", turned[0], y),
            ("right transposed", x, turned[1]),
            ("both", *turned),
        ):
            yield Check(f"product {rows}x{inner}x{columns}, {name}", torch.matmul(left, other), right, 4, "all")
        yield Check("product with a vector", torch.mv(x, y[:, 0].contiguous()), [row[0] for row in right], 4, "all")


@products
def large_products(place):
    """Freivalds: C v = A (B v) in whole numbers, whatever C's size; any wrong number of C changes its row."""
    for rows, inner, columns in ((1025, 513, 640), (130, 1100, 768)):
        a, b = _wholes((rows, inner), 7919), _wholes((inner, columns), 104723)
        mix = torch.arange(columns, dtype=torch.float64) % 7 + 1
        right = (a * (b * mix).sum(1)).sum(1)
        left, other = (each.to(place.kind).to(place.where) for each in (a, b))
        off = ((torch.matmul(left, other).cpu().to(torch.float64) * mix).sum(1) - right).abs()
        yield Claim(f"product {rows}x{inner}x{columns}", float(off.max()) == 0, f"row {int(off.argmax())} is off by {float(off.max()):.3g}")


def _wholes(shape, step):
    """Whole numbers from -3 to 3, in double."""
    count = math.prod(shape)
    return torch.remainder(torch.arange(count, dtype=torch.float64) * step, 1000003.0).remainder(7.0).sub(3.0).reshape(shape)


@products
def precision_of_products(place):
    a, b, flow = fine_numbers((9, 64), 1), fine_numbers((64, 7), 2), fine_numbers((9, 7), 3)
    right, leaves = product(a, b), [place(each, grad=True) for each in (a, b)]
    got = torch.matmul(*leaves)
    yield Precise("product", got, right, 64, "all")
    yield Precise("linear", F.linear(leaves[0], leaves[1].t()), right, 64, "all")
    yield Precise("bmm", torch.bmm(leaves[0][None], leaves[1][None]), [right], 64, "all")
    wanted = product(flow, transposed(b)), product(transposed(a), flow)
    for what, back, each in zip(("left", "right"), gradients(got, place(flow), leaves), wanted):
        yield Precise(f"gradient of the {what} matrix", back, each, 64, "all", backward=True)


@products
def repeated_products_stay_the_same(place):
    x, y = place(numbers((8, 9), 1)), place(numbers((9, 8), 2))
    first = torch.matmul(x, y).cpu().tolist()
    image, weight = place(numbers((1, 2, 5, 5), 1)), place(numbers((3, 2, 3, 3), 2))
    before = F.conv2d(image, weight).cpu().tolist()
    for call in range(1, 151):
        got = torch.matmul(x, y)
        seen = F.conv2d(image, weight)
        if call % 50 == 0:
            yield Claim(f"product {call} of the same matrices", got.cpu().tolist() == first, "is another")
            yield Claim(f"convolution {call} of the same image", seen.cpu().tolist() == before, "is another")


@products
def products_with_more(place):
    a, b, c = numbers((5, 7), 1), numbers((7, 6), 2), numbers((5, 6), 3)
    plain = product(a, b)
    x, y, z = place(a), place(b), place(c)
    yield Check(
        "addmm", torch.addmm(z, x, y, beta=0.5, alpha=2.0), [[0.5 * p + 2 * q for p, q in zip(*rows)] for rows in zip(c, plain)], 8, "all"
    )
    broken = place([[math.nan] * 6] * 5)
    yield Check("addmm with beta 0 ignores what it adds to", torch.addmm(broken, x, y, beta=0), plain, 8, "all")
    row = numbers((6,), 4)
    yield Check("addmm with a row", torch.addmm(place(row), x, y), [[p + q for p, q in zip(each, row)] for each in plain], 8, "all")
    left, right = numbers((3, 4, 5), 1), numbers((3, 5, 2), 2)
    yield Check("bmm", torch.bmm(place(left), place(right)), [product(p, q) for p, q in zip(left, right)], 8, "all")
    flipped = place([transposed(each) for each in left]).transpose(1, 2)
    yield Check("bmm of transposed", torch.bmm(flipped, place(right)), [product(p, q) for p, q in zip(left, right)], 8, "all")
    shared = torch.matmul(place(left), place(right[0]).expand(3, 5, 2))
    yield Check("product with an expanded matrix", shared, [product(p, right[0]) for p in left], 8, "all")
    q, k = numbers((2, 3, 4, 5), 1), numbers((2, 3, 6, 5), 2)
    yield Check("einsum", torch.einsum("bhid,bhjd->bhij", place(q), place(k)),
                [[product(m, transposed(n)) for m, n in zip(*heads)] for heads in zip(q, k)], 8, "all")  # fmt: skip
    yield Check("outer", torch.outer(place(row), place(row[:3])), [[p * q for q in row[:3]] for p in row], 2)


@products
def linear_and_its_gradients(place):
    for rows, inner, columns in ((4, 17, 5), (1, 1, 3), (33, 8, 16)):
        x, w, b, flow = numbers((rows, inner), 1), numbers((columns, inner), 2), numbers((columns,), 3), numbers((rows, columns), 4)
        leaves = [place(each, grad=True) for each in (x, w, b)]
        got = F.linear(*leaves)
        yield Check("linear", got, [[v + s for v, s in zip(row, b)] for row in product(x, transposed(w))], 8, "all")
        right = (product(flow, w), product(transposed(flow), x), [math.fsum(column) for column in zip(*flow)])
        for what, back, wanted in zip(("the input", "the weight", "the bias"), gradients(got, place(flow), leaves), right):
            yield Check("gradient of " + what, back, wanted, 8, "all", backward=True)
        turned = place(transposed(x)).t()
        yield Check("linear of a transposed input", F.linear(turned, leaves[1]), product(x, transposed(w)), 8, "all")


@products(dtypes=("bfloat16", "float16"))
def products_in_16_bit(place):
    a, b = numbers((9, 65), 1), numbers((65, 17), 2)
    right = product(a, b)
    leaves = [place(each, grad=True) for each in (a, b)]
    got = torch.matmul(*leaves)
    yield Check("product", got, right, 2, "all")
    flow = numbers((9, 17), 3)
    wanted = product(flow, transposed(b)), product(transposed(a), flow)
    for what, back, each in zip(("left", "right"), gradients(got, place(flow), leaves), wanted):
        yield Check(f"gradient of the {what} matrix", back, each, 2, "all", backward=True)
