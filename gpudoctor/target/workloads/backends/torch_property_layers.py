"""Pools, borders, norms and attention, forward and backward, against references in plain Python."""

import math

import torch
import torch.nn.functional as F
from plain_checks import Check, Claim, Properties
from plain_reference import (
    adaptive_windows,
    attention,
    average_pool,
    border,
    max_pool,
    normalised,
    numbers,
    product,
    shape_of,
    transposed,
    windows,
    zeros,
)
from torch_properties import gradients


def cases():
    return pools + borders + norms + attentions + strides


pools = Properties("pool")
TIES = [[float(v % 3) for v in row] for row in [[1, 2, 2, 0, 1, 1], [2, 0, 2, 2, 1, 1], [0, 0, 1, 1, 2, 0], [0, 0, 1, 1, 0, 2]]]


@pools
def max_pool_windows(place):
    plane = numbers((9, 11), 1, 400)
    plane = [[v - 30.0 for v in row] for row in plane]  # all numbers are below zero, so that a padding of zeros would be the largest
    for kernel, stride, padding, dilation, ceil in ((3, 2, 1, 1, False), (2, 2, 0, 1, True), (3, 1, 1, 2, False), (3, 3, 1, 1, True)):
        ys, xs = (windows(side, kernel, stride, padding, dilation, ceil) for side in (9, 11))
        right, places = max_pool(plane, ys, xs)
        x = place([[plane]], grad=True)
        got = F.max_pool2d(x, kernel, stride, padding, dilation, ceil)
        yield Check("max_pool2d", got, [[right]], 0)
        flow, back = numbers((len(ys), len(xs)), 2), zeros((9, 11))
        for row, into in zip(places, flow):
            for at, value in zip(row, into):
                back[at // 11][at % 11] += value
        yield Check("gradient of max_pool2d", gradients(got, place([[flow]]), [x])[0], [[back]], 0, backward=True)
    broken = [row[:] for row in plane]
    broken[4][5] = math.nan
    ys, xs = (windows(side, 3, 2, 1) for side in (9, 11))
    yield Check("max_pool2d with NaN", F.max_pool2d(place([[broken]]), 3, 2, 1), [[max_pool(broken, ys, xs)[0]]], 0)
    lowest = [[-math.inf] * 4] * 4
    yield Check("max_pool2d of minus infinity", F.max_pool2d(place([[lowest]]), 2), [[[[-math.inf] * 2] * 2]], 0)


@pools
def max_pool_of_equal_numbers(place):
    """One of several equal numbers gets the whole gradient: the one that the indices name."""
    x = place([[TIES]], grad=True)
    got, places = F.max_pool2d(x, 2, return_indices=True)
    flow = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    (back,) = gradients(got, place([[flow]]), [x])
    found, named = back.cpu()[0, 0].tolist(), places.cpu()[0, 0].tolist()
    wanted = zeros((4, 6))
    for row, into in zip(named, flow):
        for at, value in zip(row, into):
            wanted[at // 6][at % 6] = value
    yield Check("max_pool2d", got, [[[[2.0, 2.0, 1.0], [0.0, 1.0, 2.0]]]], 0)
    yield Claim("the gradient goes to the place that the index names", found == wanted, f"{found}", backward=True)
    (plain,) = gradients(F.max_pool2d(x, 2), place([[flow]]), [x])
    windows_of = [[sorted(found[2 * r + i][2 * c + j] for i in (0, 1) for j in (0, 1)) for c in range(3)] for r in range(2)]
    alone = [[sorted(plain.cpu()[0, 0].tolist()[2 * r + i][2 * c + j] for i in (0, 1) for j in (0, 1)) for c in range(3)] for r in range(2)]
    yield Claim("one place of each window gets it all", windows_of == alone == [[[0, 0, 0, f] for f in row] for row in flow], backward=True)


@pools
def average_pool_windows(place):
    plane = numbers((8, 11), 3)
    for kernel, stride, padding, ceil, counted, divisor in (
        (3, 2, 1, False, True, None), (3, 2, 1, False, False, None), (2, 2, 0, True, True, None), (3, 2, 1, True, False, None),
        (3, 3, 1, False, True, 5),
    ):  # fmt: skip
        ys, xs = (windows(side, kernel, stride, padding, 1, ceil) for side in (8, 11))
        flow = numbers((len(ys), len(xs)), 5)
        right, back = average_pool(plane, ys, xs, flow, (padding, padding) if counted else None, divisor)
        x = place([[plane]], grad=True)
        got = F.avg_pool2d(x, kernel, stride, padding, ceil, counted, divisor)
        name = f"avg_pool2d, ceil_mode {ceil}, count_include_pad {counted}"
        yield Check(name, got, [[right]], 8, 2.0)
        yield Check("gradient of " + name, gradients(got, place([[flow]]), [x])[0], [[back]], 16, 2.0, backward=True)
    for wanted in ((3, 4), (1, 1), (8, 11), (5, 2)):
        ys, xs = adaptive_windows(8, wanted[0]), adaptive_windows(11, wanted[1])
        flow = numbers(wanted, 5)
        right, back = average_pool(plane, ys, xs, flow)
        x = place([[plane]], grad=True)
        got = F.adaptive_avg_pool2d(x, wanted)
        yield Check(f"adaptive_avg_pool2d to {wanted}", got, [[right]], 16, 2.0)
        yield Check("gradient of adaptive_avg_pool2d", gradients(got, place([[flow]]), [x])[0], [[back]], 16, 2.0, backward=True)
        yield Check("adaptive_max_pool2d", F.adaptive_max_pool2d(place([[plane]]), wanted), [[max_pool(plane, ys, xs)[0]]], 0)


borders = Properties("padding")


@borders
def every_border(place):
    plane = numbers((5, 7), 1, 400)
    for mode in ("reflect", "replicate", "circular", "constant"):
        for left, right, above, below in ((2, 3, 1, 4), (1, 0, 0, 2), (3, 3, 3, 3)):
            ys, xs = border(5, above, below, mode), border(7, left, right, mode)
            wanted = [[0.75 if y is None or x is None else plane[y][x] for x in xs] for y in ys]
            flow, back = numbers(shape_of(wanted), 2), zeros((5, 7))
            for y, row in zip(ys, flow):
                for x, value in zip(xs, row):
                    if y is not None and x is not None:
                        back[y][x] += value
            x = place([[plane]], grad=True)
            more = {"value": 0.75} if mode == "constant" else {}
            got = F.pad(x, (left, right, above, below), mode=mode, **more)
            yield Check(f"{mode} border", got, [[wanted]], 0)
            yield Check(f"gradient of a {mode} border", gradients(got, place([[flow]]), [x])[0], [[back]], 16, "all", backward=True)
        row = numbers((17,), 4)
        wanted = [0.75 if i is None else row[i] for i in border(17, 5, 3, mode)]
        yield Check(f"{mode} border in one dimension", F.pad(place([[row]]), (5, 3), mode=mode, **more), [[wanted]], 0)
    yield Check("a negative border", F.pad(place(plane), (-1, 2, -2, 0)), [[*row[1:], 0.0, 0.0] for row in plane[2:]], 0)


norms = Properties("norm")


def _channels(x):
    """The numbers of each channel as a row, in the order of a nested list by image, row and column."""
    return [[value for image in x for row in image[c] for value in row] for c in range(len(x[0]))]


def _images(rows, shape):
    batch, channels, height, width = shape
    flat = [[rows[c][n * height * width + r * width : n * height * width + (r + 1) * width] for r in range(height)]
            for n in range(batch) for c in range(channels)]  # fmt: skip
    return [flat[n * channels : (n + 1) * channels] for n in range(batch)]


@norms
def batch_norm_in_training(place):
    """Its output, its gradients, its running statistics after two steps, and what it gives afterwards in evaluation."""
    shape, momentum, eps = (3, 4, 3, 5), 0.25, 1e-3
    layer = torch.nn.BatchNorm2d(4, eps=eps, momentum=momentum)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([1.0, 0.5, -2.0, 1.5]))
        layer.bias.copy_(torch.tensor([0.0, 1.0, -0.5, 0.25]))
        layer.running_mean.copy_(torch.tensor([0.5, -0.5, 0.0, 1.0]))
    layer = layer.to(place.where).train()
    mean, variance = [0.5, -0.5, 0.0, 1.0], [1.0] * 4
    scale, shift = ([[value] * 45 for value in each] for each in ([1.0, 0.5, -2.0, 1.5], [0.0, 1.0, -0.5, 0.25]))
    for step in range(2):
        given, flow = numbers(shape, step), numbers(shape, step + 5)
        given = [[[[v * (c + 1) + c for v in row] for row in plane] for c, plane in enumerate(image)] for image in given]
        x = place(given, grad=True)
        got = layer(x.contiguous(memory_format=torch.channels_last) if step else x)
        right, back, means, variances = normalised(_channels(given), scale, shift, _channels(flow), eps)
        yield Check("batch norm in training", got, _images(right, shape), 32, 2.0)
        into = gradients(got, place(flow), [x, layer.weight, layer.bias])
        yield Check("gradient of the input", into[0], _images(back, shape), 64, 2.0, backward=True)
        slopes = [math.fsum((o - b) / s * f for o, b, s, f in zip(*rows)) for rows in zip(right, shift, scale, _channels(flow))]
        yield Check("gradient of the weight", into[1], slopes, 64, "all", backward=True)
        yield Check("gradient of the bias", into[2], [math.fsum(row) for row in _channels(flow)], 64, "all", backward=True)
        mean = [(1 - momentum) * old + momentum * new for old, new in zip(mean, means)]
        variance = [(1 - momentum) * old + momentum * new * 45 / 44 for old, new in zip(variance, variances)]
        yield Check("running mean", layer.running_mean, mean, 16, 1.0)
        yield Check("running variance", layer.running_var, variance, 16)
    yield Claim("num_batches_tracked", int(layer.num_batches_tracked) == 2, f"{int(layer.num_batches_tracked)} instead of 2")
    layer.eval()
    after = layer(place(given))
    wanted = [[(v - m) / math.sqrt(s + eps) * a[0] + b[0] for v in row]
              for row, m, s, a, b in zip(_channels(given), mean, variance, scale, shift)]  # fmt: skip
    yield Check("batch norm in evaluation", after, _images(wanted, shape), 32, 4.0)
    yield Check("running mean after evaluation", layer.running_mean, mean, 16, 1.0)
    averaged = torch.nn.BatchNorm1d(3, momentum=None).to(place.where)
    for step in range(3):
        averaged(place(numbers((6, 3), step)))
    columns = [[math.fsum(column) / 6 for column in zip(*numbers((6, 3), step))] for step in range(3)]
    yield Check("running mean as an average", averaged.running_mean, [math.fsum(each) / 3 for each in zip(*columns)], 16, 1.0)


@norms
def layer_and_group_norm(place):
    rows, flow, eps = numbers((6, 17), 1), numbers((6, 17), 2), 1e-5
    weight, bias = numbers((17,), 3), numbers((17,), 4)
    right, back, *_ = normalised(rows, [weight] * 6, [bias] * 6, flow, eps)
    leaves = [place(each, grad=True) for each in (rows, weight, bias)]
    got = F.layer_norm(leaves[0], (17,), leaves[1], leaves[2], eps)
    yield Check("layer_norm", got, right, 32, 2.0)
    plain = normalised(rows, [[1.0] * 17] * 6, [[0.0] * 17] * 6, flow, eps)[0]
    slopes = [math.fsum(plain[r][i] * flow[r][i] for r in range(6)) for i in range(17)]
    wanted = back, slopes, [math.fsum(column) for column in zip(*flow)]
    for what, into, each in zip(("the input", "the weight", "the bias"), gradients(got, place(flow), leaves), wanted):
        yield Check("gradient of " + what, into, each, 64, 2.0, backward=True)
    shape = (2, 6, 3, 2)
    images, gain, level = numbers(shape, 5), numbers((6,), 6), numbers((6,), 7)
    groups = [[v for c in range(3) for row in image[g * 3 + c] for v in row] for image in images for g in range(2)]
    spread = [[values[g * 3 + i // 6] for i in range(18)] for values in (gain, level) for _ in range(2) for g in range(2)]
    normal = normalised(groups, spread[:4], spread[4:], groups, eps)[0]
    flat = [value for row in normal for value in row]
    found = F.group_norm(place(images), 2, place(gain), place(level), eps)
    yield Check("group_norm", found.reshape(-1), flat, 32, 2.0)
    alone = [[v for row in plane for v in row] for image in images for plane in image]
    normal = normalised(alone, [[1.0] * 6] * 12, [[0.0] * 6] * 12, alone, eps)[0]
    yield Check("instance_norm", F.instance_norm(place(images), eps=eps).reshape(12, 6), normal, 32, 2.0)


attentions = Properties("attention")


@attentions
def attention_with_masks(place):
    q, k, v = numbers((1, 2, 5, 8), 1), numbers((1, 2, 7, 8), 2), numbers((1, 2, 7, 8), 3)
    seen = [[(i * 3 + j) % 4 != 0 for j in range(7)] for i in range(5)]
    added = [[value / 2 for value in row] for row in numbers((5, 7), 6)]
    hidden = [[0.0 if each else -math.inf for each in row] for row in seen]
    causal = [[0.0 if j <= i else -math.inf for j in range(7)] for i in range(5)]
    given = [place(each) for each in (q, k, v)]
    for name, mask, settings in (
        ("no mask", [[0.0] * 7] * 5, {}), ("a mask of truths", hidden, {"attn_mask": place.truth(seen)}),
        ("a mask of numbers", added, {"attn_mask": place(added)}), ("causal", causal, {"is_causal": True}),
    ):  # fmt: skip
        right = [[attention(*heads, mask, 1 / math.sqrt(8))[0] for heads in zip(q[0], k[0], v[0])]]
        yield Check("attention, " + name, F.scaled_dot_product_attention(*given, **settings), right, 32, 2.0)


@attentions
def slopes_of_attention(place):
    q, k, v, flow = (numbers((9, 8), shift) for shift in range(4))
    scale = 1 / math.sqrt(8)
    causal = [[0.0 if j <= i else -math.inf for j in range(9)] for i in range(9)]
    right, shares = attention(q, k, v, causal, scale)
    leaves = [place([[each]], grad=True) for each in (q, k, v)]
    got = F.scaled_dot_product_attention(*leaves, is_causal=True)
    yield Check("attention", got, [[right]], 32, 2.0)
    of_shares = product(flow, transposed(v))
    level = [math.fsum(a * b for a, b in zip(*rows)) for rows in zip(shares, of_shares)]
    of_scores = [[s * (f - total) * scale for s, f in zip(*rows)] for *rows, total in zip(shares, of_shares, level)]
    wanted = product(of_scores, k), product(transposed(of_scores), q), product(transposed(shares), flow)
    for what, into, each in zip(("queries", "keys", "values"), gradients(got, place([[flow]]), leaves), wanted):
        yield Check("gradient of the " + what, into, [[each]], 64, "all", backward=True)


strides = Properties("shape")


@strides
def layers_of_strided_inputs(place):
    """The same numbers in another memory layout give the same result."""
    given = numbers((3, 5, 6, 7), 1)
    plain = place(given)
    every = {
        "permuted": plain.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2),
        "every second": place([[[[v for value in row for v in (value, 9.0)] for row in p] for p in i] for i in given])[..., ::2],
        "within a larger one": F.pad(plain, (1, 2, 3, 1), value=7.0)[:, :, 3:9, 1:8],
    }
    layers = {
        "relu": F.relu, "batch norm": lambda x: F.batch_norm(x, None, None, training=True), "softmax": lambda x: F.softmax(x, 1),
        "max pool": lambda x: F.max_pool2d(x, 2), "average pool": lambda x: F.adaptive_avg_pool2d(x, 3), "sum": lambda x: x.sum((0, 2)),
        "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False), "argmax": lambda x: x.argmax(1),
        "product": lambda x: torch.matmul(x, plain.transpose(2, 3)), "group norm": lambda x: F.group_norm(x, 1),
        "sorted": lambda x: x.sort(3)[0],
        "to 64 bit": lambda x: x.to(torch.int64), "linear": lambda x: F.linear(x, plain[0, 0]), "copy": lambda x: x.clone() + 0,
    }  # fmt: skip
    for layer, call in layers.items():
        right = call(plain).cpu().tolist()
        for name, x in every.items():
            yield Check(f"{layer} of a tensor that is {name}", call(x), right, 16, 4.0)
