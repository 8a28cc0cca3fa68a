"""Results of operators in plain Python, in double precision: the reference where the kernels of a framework must not be their own.

Standard library only. Tensors are nested lists. The inputs are exact in every type: multiples of 1/8 between -2 and 2.
"""

import math
import struct

ANY = object()
"""Stands for a result that no specification fixes, such as silu of minus infinity."""


def numbers(shape, shift=0, levels=33):
    """A nested list of multiples of 1/8 around zero (33 levels: -2 to 2), the same on every machine, with many that are equal."""
    count = math.prod(shape)
    spread = [((place + 1) * 0.7548776662466927 + (shift + 1) * 0.5698402909980532) % 1.0 for place in range(count)]
    return shaped([(int(value * levels) - levels // 2) / 8.0 for value in spread], shape)


def fine_numbers(shape, shift=0):
    """Numbers between -1 and 1 that need all the bits of float32, as float32 has them."""
    flat = [((place + 1) * 0.7548776662466927 + (shift + 1) * 0.5698402909980532) % 1.0 * 2 - 1 for place in range(math.prod(shape))]
    return shaped(list(struct.unpack(f"{len(flat)}f", struct.pack(f"{len(flat)}f", *flat))), shape)


def shaped(flat, shape):
    """The flat list as a nested one."""
    if not shape:
        return flat[0]
    for side in reversed(shape[1:]):
        flat = [flat[start : start + side] for start in range(0, len(flat), side)] if side else [[] for _ in range(math.prod(shape[:-1]))]
    return flat


def shape_of(nested):
    shape = []
    while isinstance(nested, (list, tuple)):
        shape.append(len(nested))
        if not nested:
            break
        nested = nested[0]
    return tuple(shape)


def flattened(nested):
    if not isinstance(nested, (list, tuple)):
        return [nested]
    if nested and not isinstance(nested[0], (list, tuple)):
        return list(nested)
    return [value for part in nested for value in flattened(part)]


def zeros(shape):
    return shaped([0.0] * math.prod(shape), shape)


def pair(value):
    return tuple(value) if isinstance(value, (list, tuple)) else (value, value)


def product(left, right):
    columns = list(zip(*right))
    return [[math.fsum(a * b for a, b in zip(row, column)) for column in columns] for row in left]


def transposed(matrix):
    return [list(column) for column in zip(*matrix)]


def mapped(function, nested):
    return [mapped(function, part) for part in nested] if isinstance(nested, (list, tuple)) else function(nested)


# Convolution


def convolution_shape(shape, weight, stride=1, padding=0, dilation=1):
    """Shape of the output for an input and a weight of these shapes."""
    sides = [
        (side + 2 * p - d * (k - 1) - 1) // s + 1
        for side, k, s, p, d in zip(shape[2:], weight[2:], pair(stride), pair(padding), pair(dilation))
    ]
    return (shape[0], weight[0], *sides)


def convolution(x, w, given, stride=1, padding=0, dilation=1, groups=1):
    """(output without bias, gradient of x, gradient of w) of a two-dimensional convolution; `given` is the gradient of its output.

    The gradient of x is the transposed convolution of `given`, and the output is that one's gradient.
    """
    (sy, sx), (py, px), (dy, dx) = pair(stride), pair(padding), pair(dilation)
    shape, weight = shape_of(x), shape_of(w)
    of_group, height, width = weight[0] // groups, shape[2], shape[3]
    y, into_x, into_w = zeros(shape_of(given)), zeros(shape), zeros(weight)
    for n, image in enumerate(x):
        for o, filters in enumerate(w):
            result, flow = y[n][o], given[n][o]
            for i, kernel in enumerate(filters):
                channel = o // of_group * weight[1] + i
                plane, back = image[channel], into_x[n][channel]
                for a, values in enumerate(kernel):
                    for b, value in enumerate(values):
                        total = 0.0
                        first, last = max(0, -((b * dx - px) // sx)), (width - 1 + px - b * dx) // sx
                        for row, (out, into) in enumerate(zip(result, flow)):
                            place = row * sy - py + a * dy
                            if 0 <= place < height:
                                line, spread = plane[place], back[place]
                                for column in range(first, min(last + 1, len(out))):
                                    at = column * sx - px + b * dx
                                    out[column] += value * line[at]
                                    spread[at] += value * into[column]
                                    total += line[at] * into[column]
                        into_w[o][i][a][b] += total
    return y, into_x, into_w


# Windows and borders


def windows(side, kernel, stride, padding=0, dilation=1, ceil=False):
    """For each window along one side, its places; those in the padding are negative or beyond the side."""
    reach = dilation * (kernel - 1) + 1
    count = (side + 2 * padding - reach + (stride - 1 if ceil else 0)) // stride + 1
    if ceil and (count - 1) * stride >= side + padding:
        count -= 1  # no window begins in the padding after the last element
    return [[start * stride - padding + step * dilation for step in range(kernel)] for start in range(count)]


def max_pool(plane, rows, columns):
    """(the largest of each window, its first place as row * width + column) of one plane; NaN is larger than everything."""
    height, width = len(plane), len(plane[0])
    values, places = [], []
    for ys in rows:
        for xs in columns:
            inside = [(plane[y][x], y * width + x) for y in ys if 0 <= y < height for x in xs if 0 <= x < width]
            best = next(((v, p) for v, p in inside if v != v), None) or max(inside, key=lambda each: (each[0], -each[1]))
            values.append(best[0])
            places.append(best[1])
    return shaped(values, (len(rows), len(columns))), shaped(places, (len(rows), len(columns)))


def average_pool(plane, rows, columns, given, padding=None, divisor=None):
    """(averages, gradient of the plane). `padding`: (rows, columns) of padding that count too; None counts what lies inside."""
    height, width = len(plane), len(plane[0])
    found, back = zeros((len(rows), len(columns))), zeros((height, width))
    for r, ys in enumerate(rows):
        for q, xs in enumerate(columns):
            inside = [(y, x) for y in ys if 0 <= y < height for x in xs if 0 <= x < width]
            count = divisor or len(inside)
            if padding is not None and not divisor:
                count = sum(y < height + padding[0] for y in ys) * sum(x < width + padding[1] for x in xs)
            found[r][q] = sum(plane[y][x] for y, x in inside) / count
            for y, x in inside:
                back[y][x] += given[r][q] / count
    return found, back


def adaptive_windows(side, wanted):
    return [list(range(place * side // wanted, -(-(place + 1) * side // wanted))) for place in range(wanted)]


def border(side, before, after, mode):
    """For each place of a padded side the place that it shows; None is the constant."""
    found = []
    for place in range(-before, side + after):
        if mode == "reflect":
            place = -place if place < 0 else 2 * (side - 1) - place if place >= side else place
        elif mode == "replicate":
            place = min(max(place, 0), side - 1)
        elif mode == "circular":
            place %= side
        elif not 0 <= place < side:
            place = None
        found.append(place)
    return found


# Normalisation, softmax, losses


def normalised(rows, weight, bias, given, eps):
    """(outputs, gradients of the rows, mean, variance) where each row is normalised by itself; weight, bias, given in the rows' shape."""
    outputs, back, means, variances = [], [], [], []
    for row, scale, shift, flow in zip(rows, weight, bias, given):
        count = len(row)
        mean = math.fsum(row) / count
        variance = math.fsum((value - mean) ** 2 for value in row) / count
        deviation = math.sqrt(variance + eps)
        normal = [(value - mean) / deviation for value in row]
        into = [f * s for f, s in zip(flow, scale)]
        level, slope = math.fsum(into) / count, math.fsum(f * n for f, n in zip(into, normal)) / count
        outputs.append([n * s + b for n, s, b in zip(normal, scale, shift)])
        back.append([(f - level - n * slope) / deviation for f, n in zip(into, normal)])
        means.append(mean)
        variances.append(variance)
    return outputs, back, means, variances


def log_softmax(row):
    if any(value != value for value in row):
        return [math.nan] * len(row)
    top = max(row)
    total = math.log(math.fsum(math.exp(value - top) for value in row))
    return [value - top - total for value in row]


def softmax(row):
    return [math.exp(value) if value == value else math.nan for value in log_softmax(row)]


def log_sum_exp(row):
    top = max(row)
    return top + math.log(math.fsum(math.exp(value - top) for value in row))


def cross_entropy(rows, labels, weight=None, ignored=-100, smoothing=0.0):
    """(loss of each row, its weight) as torch defines them; the mean is the sum of the losses by the sum of the weights."""
    classes = len(rows[0])
    weight = weight or [1.0] * classes
    losses, shares = [], []
    for row, label in zip(rows, labels):
        if label == ignored:
            losses.append(0.0)
            shares.append(0.0)
            continue
        logs = log_softmax(row)
        plain, spread = -logs[label] * weight[label], -math.fsum(w * value for w, value in zip(weight, logs)) / classes
        losses.append((1 - smoothing) * plain + smoothing * spread)
        shares.append(weight[label])
    return losses, shares


def attention(queries, keys, values, mask, scale):
    """One head: mask[i][j] is added to the score of query i and key j."""
    scores = [[math.fsum(a * b for a, b in zip(q, k)) * scale + mask[i][j] for j, k in enumerate(keys)] for i, q in enumerate(queries)]
    shares = [softmax(row) for row in scores]
    return product(shares, values), shares
