"""Computes a layer list with an array library that has the functions of numpy: numpy (reference_numpy.py) and jax.numpy (jax_networks.py).

Images are N x C x H x W. What such libraries do not share (convolution, windows, erf, dropout) a subclass adds.
"""

import math

from onnx_operators import HIDDEN, window_shares


class Layers:
    """`weight(name)` gives a parameter; `training` takes statistics from the batch. 16-bit numbers are widened for long sums."""

    def __init__(self, xp, weight, training=False):
        self.xp, self.weight, self.training = xp, weight, training

    def compute(self, network, given):
        """The outputs, in the network's order, of inputs by name."""
        values, last = dict(given), {source: layer.name for layer in network.layers for source in layer.inputs}
        for layer in network.layers:
            values[layer.name] = self.disturbed(layer, getattr(self, layer.kind)(layer, *[values[source] for source in layer.inputs]))
            for source in set(layer.inputs):
                if last[source] == layer.name and source not in network.outputs:
                    del values[source]
        return [values[name] for name in network.outputs]

    def disturbed(self, layer, x):
        """The result of a layer as the next layers read it; a subclass adds noise here."""
        return x

    def parameter(self, layer, what):
        return self.weight(layer.name + "." + what)

    def wide(self, x):
        return x.astype("float32") if x.dtype.itemsize < 4 else x

    # products

    def conv(self, layer, x):
        found = self.convolved(x, self.parameter(layer, "weight"), layer.settings)
        return found + self.parameter(layer, "bias")[:, None, None] if layer.settings["bias"] else found

    def linear(self, layer, x):
        found = self.xp.matmul(x, self.parameter(layer, "weight").T)
        return found + self.parameter(layer, "bias") if layer.settings["bias"] else found

    def tied_linear(self, layer, x):
        return self.xp.matmul(x, self.weight(layer.settings["table"] + ".weight").T)

    def embedding(self, layer, index):
        return self.parameter(layer, "weight")[index]

    def attention(self, layer, queries, keys, values):
        heads = layer.settings["heads"]
        queries, keys, values = (x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3) for x in (queries, keys, values))
        scores = self.xp.matmul(queries * (1.0 / math.sqrt(queries.shape[3])), keys.transpose(0, 1, 3, 2))
        if layer.settings["causal"]:
            later = self.xp.arange(scores.shape[3])[None, :] > self.xp.arange(scores.shape[2])[:, None]
            scores = self.xp.where(later, self.xp.asarray(HIDDEN, dtype=scores.dtype), scores)
        scores = self.wide(scores)
        shares = self.xp.exp(scores - scores.max(axis=-1, keepdims=True))
        shares = (shares / shares.sum(axis=-1, keepdims=True)).astype(values.dtype)
        found = self.xp.matmul(shares, values).transpose(0, 2, 1, 3)
        return found.reshape(found.shape[0], found.shape[1], -1)

    # norms

    def _scaled(self, layer, x, normal):
        """Weight and bias of each channel."""
        tall = (-1,) + (1,) * (x.ndim - 2)
        scaled = normal * self.wide(self.parameter(layer, "weight")).reshape(tall) + self.wide(self.parameter(layer, "bias")).reshape(tall)
        return scaled.astype(x.dtype)

    def _normal(self, x, axes, eps):
        mean = x.mean(axis=axes, keepdims=True)
        return (x - mean) / self.xp.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + eps)

    def batch_norm(self, layer, x):
        eps = layer.settings["eps"]
        if self.training:
            return self._scaled(layer, x, self._normal(self.wide(x), (0, 2, 3), eps))
        mean, variance = (self.wide(self.parameter(layer, what))[:, None, None] for what in ("running_mean", "running_var"))
        return self._scaled(layer, x, (self.wide(x) - mean) / self.xp.sqrt(variance + eps))

    def group_norm(self, layer, x):
        grouped = self.wide(x).reshape(x.shape[0], layer.settings["groups"], -1)
        return self._scaled(layer, x, self._normal(grouped, (2,), layer.settings["eps"]).reshape(x.shape))

    def instance_norm(self, layer, x):
        return self._scaled(layer, x, self._normal(self.wide(x), (2, 3), layer.settings["eps"]))

    def layer_norm(self, layer, x):
        normal = self._normal(self.wide(x), (-1,), layer.settings["eps"])
        return (normal * self.wide(self.parameter(layer, "weight")) + self.wide(self.parameter(layer, "bias"))).astype(x.dtype)

    # one number after another

    def relu(self, layer, x):
        return self.xp.maximum(x, 0)

    def relu6(self, layer, x):
        return self.xp.clip(x, 0, 6)

    def sigmoid(self, layer, x):
        return 1 / (1 + self.xp.exp(-x))

    def silu(self, layer, x):
        return x / (1 + self.xp.exp(-x))

    def gelu(self, layer, x):
        return x * 0.5 * (1 + self.erf(x / math.sqrt(2.0)))

    def gelu_tanh(self, layer, x):
        return 0.5 * x * (1 + self.xp.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))

    def add(self, layer, x, y):
        return x + y

    add_rows = add

    def multiply(self, layer, x, y):
        return x * y

    def add_channels(self, layer, x, vector):
        return x + vector[:, :, None, None]

    def dropout(self, layer, x):
        return x

    # places

    def max_pool(self, layer, x):
        return self.largest(x, layer.settings)

    def average_to(self, layer, x):
        sides, wanted = x.shape[2:], (layer.settings["height"], layer.settings["width"])
        if sides == wanted:
            return x
        if wanted == (1, 1):
            return self.wide(x).mean(axis=(2, 3), keepdims=True).astype(x.dtype)
        rows, columns = (self.xp.asarray(window_shares(side, many), dtype=x.dtype) for side, many in zip(sides, wanted))
        return self.xp.matmul(rows, self.xp.matmul(x, columns.T))

    def reflect_pad(self, layer, x):
        by = layer.settings["by"]
        return self.xp.pad(x, ((0, 0), (0, 0), (by, by), (by, by)), mode="reflect")

    def upsample(self, layer, x):
        return x.repeat(layer.settings["by"], axis=2).repeat(layer.settings["by"], axis=3)

    def concat(self, layer, *parts):
        return self.xp.concatenate(parts, axis=layer.settings["axis"])

    def slice(self, layer, x):
        s = layer.settings
        return x[(slice(None),) * s["axis"] + (slice(s["start"], s["stop"]),)]

    def every_second(self, layer, x):
        return x[:, :, layer.settings["row"] :: 2, layer.settings["column"] :: 2]

    def flatten(self, layer, x):
        return x.reshape(x.shape[0], -1)

    def tokens(self, layer, x):
        return x.transpose(0, 2, 3, 1).reshape(x.shape[0], -1, x.shape[1])

    def image(self, layer, x, like):
        return x.reshape(x.shape[0], like.shape[2], like.shape[3], x.shape[2]).transpose(0, 3, 1, 2)

    def sinusoid(self, layer, timestep):
        half = layer.settings["width"] // 2
        angles = timestep[:, None] * self.xp.exp(self.xp.arange(half) * (-math.log(10000.0) / half)).astype(timestep.dtype)[None, :]
        return self.xp.concatenate([self.xp.cos(angles), self.xp.sin(angles)], axis=1).astype(self.precision)
