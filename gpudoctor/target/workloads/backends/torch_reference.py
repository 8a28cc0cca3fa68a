"""The result of each kind of layer in float64 on the processor, from copies, products, sums and comparisons alone.

torch.nn.functional is not used, so that no fault of it is in the reference too. Autograd makes the gradients where it can.
"""

import math

import torch
from onnx_operators import window_shares

HIDDEN = -1e30


def relu(s, p, x):
    return torch.where(x > 0, x, x * 0)


def relu6(s, p, x):
    return torch.where(x > 0, torch.where(x < 6, x, x * 0 + 6), x * 0)


def sigmoid(s, p, x):
    return 1 / (1 + torch.exp(-x))


def silu(s, p, x):
    return x / (1 + torch.exp(-x))


def gelu(s, p, x):
    return 0.5 * x * (1 + torch.erf(x * math.sqrt(0.5)))


def gelu_tanh(s, p, x):
    wide = torch.exp(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x).clamp(-20, 20))
    return 0.5 * x * (1 + (wide - 1) / (wide + 1))


def add(s, p, x, y):
    return x + y


def multiply(s, p, x, y):
    return x * y


def add_channels(s, p, x, vector):
    return x + vector[:, :, None, None]


def padded(x, by, value=0.0):
    """The images with a border of `value` around height and width."""
    if not by:
        return x
    wide = x.new_full((*x.shape[:-2], x.shape[-2] + 2 * by, x.shape[-1] + 2 * by), value)
    wide[..., by:-by, by:-by] = x
    return wide


def max_pool(s, p, x):
    """It has no gradient by autograd, because any of several equal numbers may get it (see pooled_gradient)."""
    kernel, stride = s["kernel"], s["stride"]
    wide, found = padded(x, s["padding"], -math.inf), None
    rows, columns = ((side - kernel) // stride + 1 for side in wide.shape[-2:])
    for row in range(kernel):
        for column in range(kernel):
            part = wide[..., row : row + stride * (rows - 1) + 1 : stride, column : column + stride * (columns - 1) + 1 : stride]
            found = part if found is None else torch.maximum(found, part)
    return found


def average_to(s, p, x):
    rows, columns = (
        torch.tensor(window_shares(side, many), dtype=x.dtype) for side, many in zip(x.shape[2:], (s["height"], s["width"]))
    )  # fmt: skip
    return torch.matmul(rows, torch.matmul(x, columns.t()))


def reflect_pad(s, p, x):
    for axis in (2, 3):
        side, by = x.shape[axis], s["by"]
        places = [abs(place) if place < side else 2 * (side - 1) - place for place in range(-by, side + by)]
        x = torch.cat([x.narrow(axis, place, 1) for place in places], axis)
    return x


def upsample(s, p, x):
    by = s["by"]
    n, c, h, w = x.shape
    return x[:, :, :, None, :, None].expand(n, c, h, by, w, by).reshape(n, c, h * by, w * by)


def concat(s, p, *parts):
    shape = list(parts[0].shape)
    shape[s["axis"]] = sum(part.shape[s["axis"]] for part in parts)
    found, begin = parts[0].new_zeros(shape), 0
    for part in parts:
        found.narrow(s["axis"], begin, part.shape[s["axis"]]).copy_(part)
        begin += part.shape[s["axis"]]
    return found


def slice_(s, p, x):
    return x[(slice(None),) * s["axis"] + (slice(s["start"], s["stop"]),)]


def every_second(s, p, x):
    return x[:, :, s["row"] :: 2, s["column"] :: 2]


def flatten(s, p, x):
    return x.reshape(x.shape[0], -1)


def tokens(s, p, x):
    return x.permute(0, 2, 3, 1).reshape(x.shape[0], -1, x.shape[1])


def image(s, p, x, like):
    return x.reshape(x.shape[0], like.shape[2], like.shape[3], x.shape[2]).permute(0, 3, 1, 2)


def embedding(s, p, index):
    return p["weight"][index]


def tied_linear(s, p, x):
    return torch.matmul(x, p["weight"].t())


def attention(s, p, queries, keys, values):
    heads = s["heads"]
    queries, keys, values = (x.reshape(x.shape[0], x.shape[1], heads, -1).permute(0, 2, 1, 3) for x in (queries, keys, values))
    scores = torch.matmul(queries, keys.permute(0, 1, 3, 2)) / math.sqrt(queries.shape[3])
    if s["causal"]:
        later = torch.arange(scores.shape[3])[None, :] > torch.arange(scores.shape[2])[:, None]
        scores = torch.where(later, torch.full_like(scores, HIDDEN), scores)
    shares = torch.exp(scores - scores.detach().amax(-1, keepdim=True))
    found = torch.matmul(shares / shares.sum(-1, keepdim=True), values).permute(0, 2, 1, 3)
    return found.reshape(found.shape[0], found.shape[1], -1)


def sinusoid(s, p, timestep):
    half = s["width"] // 2
    angles = timestep[:, None] * torch.exp(torch.arange(half, dtype=torch.float64) * (-math.log(10000.0) / half))[None, :]
    return torch.cat([torch.cos(angles), torch.sin(angles)], 1)


def _normal(x, axes, eps):
    off = x - x.mean(axes, keepdim=True)
    return off / torch.sqrt((off * off).mean(axes, keepdim=True) + eps)


def _by_channel(p, normal):
    return normal * p["weight"][:, None, None] + p["bias"][:, None, None]


def batch_norm(s, p, x):
    """`p` holds running statistics where they are used instead of those of the batch."""
    if "running_mean" in p:
        mean, variance = (p[name][:, None, None] for name in ("running_mean", "running_var"))
        return _by_channel(p, (x - mean) / torch.sqrt(variance + s["eps"]))
    return _by_channel(p, _normal(x, (0, 2, 3), s["eps"]))


def group_norm(s, p, x):
    return _by_channel(p, _normal(x.reshape(x.shape[0], s["groups"], -1), (2,), s["eps"]).reshape(x.shape))


def instance_norm(s, p, x):
    return _by_channel(p, _normal(x, (2, 3), s["eps"]))


def layer_norm(s, p, x):
    return _normal(x, (-1,), s["eps"]) * p["weight"] + p["bias"]


FORMULAS = {
    "relu": relu, "relu6": relu6, "sigmoid": sigmoid, "silu": silu, "gelu": gelu, "gelu_tanh": gelu_tanh, "add": add, "add_rows": add,
    "multiply": multiply, "add_channels": add_channels, "max_pool": max_pool, "average_to": average_to, "reflect_pad": reflect_pad,
    "upsample": upsample, "concat": concat, "slice": slice_, "every_second": every_second, "flatten": flatten, "tokens": tokens,
    "image": image, "embedding": embedding, "tied_linear": tied_linear, "attention": attention, "sinusoid": sinusoid,
    "batch_norm": batch_norm, "group_norm": group_norm, "instance_norm": instance_norm, "layer_norm": layer_norm,
}  # fmt: skip
"""kind: function of (settings, parameters by name, inputs)."""


def signs(count, shift):
    """`count` numbers of +1 and -1 without a random generator, of mean near zero."""
    numbers = torch.arange(count, dtype=torch.float64)
    return torch.where(torch.remainder(numbers * 0.6180339887498949 * (1 + shift) + 0.137 * shift, 1.0) < 0.5, -1.0, 1.0).double()
