"""A layer list in JAX: jax.numpy and jax.lax only, images N x C x H x W (XLA chooses their layout in memory).

parameters(network) gives the arrays of weights.py by name; outputs(network, ...) computes. Running statistics are read in inference and
left as they are in training.
"""

import zlib

import jax
import jax.numpy as jnp
import numpy
import weights
from array_layers import Layers
from jax import lax
from network_ir import has_labels
from network_ir import parameters as listed


class JaxLayers(Layers):
    def __init__(self, weight, precision, training=False, key=None):
        super().__init__(jnp, weight, training)
        self.precision, self.key = precision, key

    def convolved(self, x, weight, settings):
        by = settings["padding"]
        return lax.conv_general_dilated(
            x, weight, (settings["stride"],) * 2, ((by, by), (by, by)), dimension_numbers=("NCHW", "OIHW", "NCHW"),
            feature_group_count=settings["groups"],
        )  # fmt: skip

    def largest(self, x, settings):
        by, kernel, stride = settings["padding"], settings["kernel"], settings["stride"]
        least = numpy.asarray(-numpy.inf, x.dtype)
        return lax.reduce_window(x, least, lax.max, (1, 1, kernel, kernel), (1, 1, stride, stride), ((0, 0), (0, 0), (by, by), (by, by)))

    def erf(self, x):
        return lax.erf(x)

    def sigmoid(self, layer, x):
        return jax.nn.sigmoid(x)

    def silu(self, layer, x):
        return jax.nn.silu(x)

    def dropout(self, layer, x):
        if not self.training or self.key is None:
            return x
        share = layer.settings["share"]
        kept = jax.random.bernoulli(jax.random.fold_in(self.key, zlib.crc32(layer.name.encode())), 1 - share, x.shape)
        return jnp.where(kept, x / (1 - share), jnp.zeros((), x.dtype))


def parameters(network, dtype):
    """{name: numpy array}; running statistics too."""
    return {each.name: weights.values(each.name, each.shape, each.centre, each.spread).astype(dtype) for each in listed(network)}


def inputs(network, dtype, values=None):
    """{name: numpy array}: images in dtype, timesteps in float32 or more, indices in int32. `values`: by name, for the usual ones."""
    found = {}
    for each in network.inputs:
        value = weights.inputs(network._replace(inputs=(each,)))[each.name] if values is None else values[each.name]
        wide = "float64" if jnp.dtype(dtype) == jnp.float64 else "float32"
        found[each.name] = value.astype({"float": dtype, "timestep": wide}.get(each.kind, "int32"))
    return found


def outputs(network, values, given, precision, training=False, key=None):
    """The outputs, in the network's order; `values` are the parameters by name."""
    return JaxLayers(values.__getitem__, precision, training, key).compute(network, given)


def loss(network, values, given, labels, precision, key=None):
    """The loss of a training step; float32 weights are rounded to `precision` for the computation. labels: None for the mean square."""
    rounded = {name: value.astype(precision) for name, value in values.items()}
    found = [part.astype("float32") if part.dtype.itemsize < 4 else part for part in outputs(network, rounded, given, precision, True, key)]
    if labels is None:
        return sum((part**2).mean() for part in found)
    return -jnp.take_along_axis(jax.nn.log_softmax(found[0]), labels[:, None], axis=1).mean()


def labels(network, classes):
    """An int32 array of classes, or None where the loss is not cross entropy."""
    if not has_labels(network, classes):
        return None
    return numpy.asarray(weights.classes("labels", network.inputs[0].shape[0], classes), numpy.int32)


def trained_names(network):
    return [each.name for each in listed(network) if each.trained]


# One step of an optimiser over {name: array}: (values, state), the settings of torch_training.optimizer.


def first_state(name, values):
    zeros = {key: jnp.zeros_like(value) for key, value in values.items()}
    return (zeros,) if name == "sgd" else (zeros, zeros, jnp.zeros((), jnp.int32))


def stepped(name, values, gradients, state):
    tree = jax.tree_util.tree_map
    if name == "sgd":
        (momentum,) = state
        momentum = tree(lambda m, g: 0.9 * m + g, momentum, gradients)
        return tree(lambda v, m: v - 1e-3 * m, values, momentum), (momentum,)
    first, second, count = state
    count = count + 1
    first = tree(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = tree(lambda m, g: 0.999 * m + 0.001 * g * g, second, gradients)

    def moved(value, m, v):
        one, two = (1 - beta ** count.astype(value.dtype) for beta in (0.9, 0.999))
        return value - 1e-4 * (m / one) / (jnp.sqrt(v / two) + 1e-8)

    return tree(moved, values, first, second), (first, second, count)
