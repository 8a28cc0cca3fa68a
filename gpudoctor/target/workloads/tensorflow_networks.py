"""A layer list in TensorFlow 2, with plain functions of tf and tf.nn. Images are N x H x W x C inside, because TensorFlow
convolves no other order on the processor.

Inputs and outputs are as in the list (N x C x H x W). Running statistics are read in inference and left as they are in training.
"""

import math

import numpy
import tensorflow as tf
import weights
from network_ir import has_labels
from network_ir import parameters as listed
from onnx_operators import HIDDEN, window_shares

AXES = {0: 0, 1: 3, 2: 1, 3: 2}
"""The axis of N x H x W x C for each axis of N x C x H x W."""


def parameters(network, dtype):
    """{name: numpy array}; weights of convolutions H x W x in x out, those of linear layers in x out; dtype a tf one."""
    convolutions = {layer.name + ".weight" for layer in network.layers if layer.kind == "conv"}
    linear = {layer.name + ".weight" for layer in network.layers if layer.kind == "linear"}
    found = {}
    for each in listed(network):
        value = weights.values(each.name, each.shape, each.centre, each.spread)
        if each.name in convolutions:
            value = value.transpose(2, 3, 1, 0)
        elif each.name in linear:
            value = value.T
        found[each.name] = value.astype(dtype.as_numpy_dtype)
    return found


def inputs(network, dtype, values=None):
    """[numpy array] in the order of the network's inputs; timesteps in float32 or more, indices in int64. `values`: for the usual ones."""
    found = weights.inputs(network) if values is None else values
    kinds = {"float": dtype.as_numpy_dtype, "timestep": "float64" if dtype == tf.float64 else "float32"}
    return [found[each.name].astype(kinds.get(each.kind, "int64")) for each in network.inputs]


def trained_names(network):
    return [each.name for each in listed(network) if each.trained]


def is_grouped(network):
    """Whether the network has convolutions in groups other than one for each channel, of which TensorFlow has no gradient on the
    processor."""
    return any(layer.kind == "conv" and 1 < layer.settings["groups"] < layer.settings["out"] for layer in network.layers)


def labels(network, classes):
    """An int64 array of classes, or None where the loss is not cross entropy."""
    if not has_labels(network, classes):
        return None
    return numpy.asarray(weights.classes("labels", network.inputs[0].shape[0], classes), numpy.int64)


def outputs(network, values, given, training=False, dropout=False):
    """The outputs, in the network's order, of a list of inputs; `values` are the parameters by name, of one dtype."""
    layers, kept = TensorflowLayers(values, training, dropout), {}
    for each, value in zip(network.inputs, given):
        kept[each.name] = tf.transpose(value, [0, 2, 3, 1]) if len(value.shape) == 4 else value
    for layer in network.layers:
        kept[layer.name] = getattr(layers, layer.kind)(layer, *[kept[source] for source in layer.inputs])
    found = [kept[name] for name in network.outputs]
    return [tf.transpose(value, [0, 3, 1, 2]) if len(value.shape) == 4 else value for value in found]


def loss(network, values, given, labels, dropout=False):
    """The loss of a training step in float32 or float64; labels: None for the mean square of the outputs."""
    found = [wide(part) for part in outputs(network, values, given, training=True, dropout=dropout)]
    if labels is None:
        return tf.add_n([tf.reduce_mean(part * part) for part in found])
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=found[0]))


def wide(x):
    return tf.cast(x, tf.float32) if x.dtype in (tf.float16, tf.bfloat16) else x


class TensorflowLayers:
    """Each kind of layer as a method of its name."""

    def __init__(self, values, training, dropped):
        self.values, self.training, self.dropped = values, training, dropped
        self.precision = next(iter(values.values())).dtype

    def parameter(self, layer, what):
        return self.values[layer.name + "." + what]

    # products

    def conv(self, layer, x):
        s, weight = layer.settings, self.parameter(layer, "weight")
        if s["padding"]:
            x = tf.pad(x, [[0, 0], [s["padding"]] * 2, [s["padding"]] * 2, [0, 0]])
        strides = [1, s["stride"], s["stride"], 1]
        if s["groups"] > 1 and s["groups"] == x.shape[3] == s["out"]:
            found = tf.nn.depthwise_conv2d(x, tf.transpose(weight, [0, 1, 3, 2]), strides, "VALID")
        elif s["groups"] > 1 and self.training and x.dtype == tf.float64:  # the reference runs on the processor (see is_grouped)
            parts = zip(tf.split(x, s["groups"], 3), tf.split(weight, s["groups"], 3))
            found = tf.concat([tf.nn.conv2d(part, own, strides, "VALID") for part, own in parts], 3)
        else:
            found = tf.nn.conv2d(x, weight, strides, "VALID")  # TensorFlow derives the groups from the shapes
        return found + self.parameter(layer, "bias") if s["bias"] else found

    def linear(self, layer, x):
        found = tf.matmul(x, self.parameter(layer, "weight"))
        return found + self.parameter(layer, "bias") if layer.settings["bias"] else found

    def tied_linear(self, layer, x):
        return tf.matmul(x, self.values[layer.settings["table"] + ".weight"], transpose_b=True)

    def embedding(self, layer, index):
        return tf.gather(self.parameter(layer, "weight"), index)

    def attention(self, layer, queries, keys, values):
        heads, (batch, count, width) = layer.settings["heads"], queries.shape
        queries, keys, values = (
            tf.transpose(tf.reshape(x, [x.shape[0], x.shape[1], heads, width // heads]), [0, 2, 1, 3]) for x in (queries, keys, values)
        )
        scores = tf.matmul(queries * (1.0 / math.sqrt(width // heads)), keys, transpose_b=True)
        if layer.settings["causal"]:
            hidden = numpy.triu(numpy.full((count, keys.shape[2]), HIDDEN), 1)
            scores += tf.constant(hidden, scores.dtype)
        shares = tf.cast(tf.nn.softmax(wide(scores)), values.dtype)
        return tf.reshape(tf.transpose(tf.matmul(shares, values), [0, 2, 1, 3]), [batch, count, width])

    # norms

    def _normal(self, layer, x, axes):
        mean, variance = tf.nn.moments(wide(x), axes, keepdims=True)
        return self._scaled(layer, x, mean, variance)

    def _scaled(self, layer, x, mean, variance):
        weight, bias = (wide(self.parameter(layer, what)) for what in ("weight", "bias"))
        found = tf.nn.batch_normalization(wide(x), mean, variance, bias, weight, layer.settings["eps"])
        return tf.cast(found, x.dtype)

    def batch_norm(self, layer, x):
        names = ("weight", "bias", "running_mean", "running_var")
        weight, bias, mean, variance = (wide(self.parameter(layer, what)) for what in names)
        if x.dtype == tf.float64:  # the fused kernel does not support float64
            return self._normal(layer, x, [0, 1, 2]) if self.training else self._scaled(layer, x, mean, variance)
        known = {} if self.training else {"mean": mean, "variance": variance}
        found = tf.compat.v1.nn.fused_batch_norm(x, weight, bias, epsilon=layer.settings["eps"], is_training=self.training, **known)
        return found[0]

    def instance_norm(self, layer, x):
        return self._normal(layer, x, [1, 2])

    def layer_norm(self, layer, x):
        return self._normal(layer, x, [2])

    def group_norm(self, layer, x):
        batch, height, width, channels = x.shape
        groups = layer.settings["groups"]
        grouped = tf.reshape(wide(x), [batch, height * width, groups, channels // groups])
        mean, variance = tf.nn.moments(grouped, [1, 3], keepdims=True)
        normal = tf.reshape((grouped - mean) * tf.math.rsqrt(variance + layer.settings["eps"]), x.shape)
        return tf.cast(normal * wide(self.parameter(layer, "weight")) + wide(self.parameter(layer, "bias")), x.dtype)

    # one number after another

    def relu(self, layer, x):
        return tf.nn.relu(x)

    def relu6(self, layer, x):
        return tf.nn.relu6(x)

    def silu(self, layer, x):
        return x * tf.sigmoid(x)

    def sigmoid(self, layer, x):
        return tf.sigmoid(x)

    def gelu(self, layer, x):
        return tf.nn.gelu(x)

    def gelu_tanh(self, layer, x):
        return tf.nn.gelu(x, approximate=True)

    def add(self, layer, x, y):
        return x + y

    add_rows = add

    def multiply(self, layer, x, y):
        return x * y

    def add_channels(self, layer, x, vector):
        return x + vector[:, None, None, :]

    def dropout(self, layer, x):
        return tf.nn.dropout(x, layer.settings["share"]) if self.dropped else x

    # places

    def max_pool(self, layer, x):
        s = layer.settings
        if s["padding"]:
            x = tf.pad(x, [[0, 0], [s["padding"]] * 2, [s["padding"]] * 2, [0, 0]], constant_values=x.dtype.min)
        return tf.nn.max_pool2d(x, s["kernel"], s["stride"], "VALID")

    def average_to(self, layer, x):
        sides, wanted = tuple(x.shape[1:3]), (layer.settings["height"], layer.settings["width"])
        if sides == wanted:
            return x
        if wanted == (1, 1):
            return tf.reduce_mean(x, [1, 2], keepdims=True)
        rows, columns = (tf.constant(window_shares(side, many), x.dtype) for side, many in zip(sides, wanted))
        return tf.einsum("rh,nhwc,sw->nrsc", rows, x, columns)

    def reflect_pad(self, layer, x):
        by = layer.settings["by"]
        return tf.pad(x, [[0, 0], [by, by], [by, by], [0, 0]], mode="REFLECT")

    def upsample(self, layer, x):
        return tf.repeat(tf.repeat(x, layer.settings["by"], axis=1), layer.settings["by"], axis=2)

    def concat(self, layer, *parts):
        return tf.concat(parts, axis=self._axis(layer, parts[0]))

    def slice(self, layer, x):
        s = layer.settings
        return x[(slice(None),) * self._axis(layer, x) + (slice(s["start"], s["stop"]),)]

    def _axis(self, layer, x):
        axis = layer.settings["axis"]
        return AXES[axis] if len(x.shape) == 4 else axis

    def every_second(self, layer, x):
        return x[:, layer.settings["row"] :: 2, layer.settings["column"] :: 2, :]

    def flatten(self, layer, x):
        if len(x.shape) == 4 and x.shape[1] * x.shape[2] > 1:
            x = tf.transpose(x, [0, 3, 1, 2])
        return tf.reshape(x, [x.shape[0], -1])

    def tokens(self, layer, x):
        return tf.reshape(x, [x.shape[0], -1, x.shape[3]])

    def image(self, layer, x, like):
        return tf.reshape(x, [x.shape[0], like.shape[1], like.shape[2], x.shape[2]])

    def sinusoid(self, layer, timestep):
        half = layer.settings["width"] // 2
        angles = timestep[:, None] * tf.constant(numpy.exp(numpy.arange(half) * (-math.log(10000.0) / half))[None, :], timestep.dtype)
        return tf.cast(tf.concat([tf.cos(angles), tf.sin(angles)], axis=1), self.precision)
