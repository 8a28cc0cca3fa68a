"""Computes a layer list in float64 with numpy alone: the reference of every backend. For small networks; the tests compare it with
torch."""

import math

import numpy
import weights
from array_layers import Layers
from network_ir import has_labels, parameters


class Reference(Layers):
    precision = numpy.float64

    def __init__(self, network, training=False):
        super().__init__(numpy, self._made, training)
        self.known = {each.name: each for each in parameters(network)}

    def _made(self, name):
        """The parameter in float64, from the float32 numbers of all backends; made at each use, so that a large network needs little
        memory."""
        found = self.known[name]
        return weights.values(found.name, found.shape, found.centre, found.spread).astype(numpy.float64)

    def convolved(self, x, weight, settings):
        """As a product of the windows, laid out in rows, with the weights; N x groups x places x (numbers of a window)."""
        padding, kernel, groups = settings["padding"], settings["kernel"], settings["groups"]
        x = numpy.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
        seen = self._windows(x, kernel, settings["stride"])
        batch, channels, height, width = seen.shape[:4]
        seen = seen.reshape(batch, groups, channels // groups, height * width, kernel * kernel)
        rows = seen.transpose(0, 1, 3, 2, 4).reshape(batch, groups, height * width, -1)
        columns = weight.reshape(groups, weight.shape[0] // groups, -1).transpose(0, 2, 1)
        return numpy.matmul(rows, columns).transpose(0, 1, 3, 2).reshape(batch, -1, height, width)

    def largest(self, x, settings):
        by = settings["padding"]
        x = numpy.pad(x, ((0, 0), (0, 0), (by, by), (by, by)), constant_values=-numpy.inf)
        return self._windows(x, settings["kernel"], settings["stride"]).max(axis=(4, 5))

    def _windows(self, x, kernel, stride):
        """N x C x height x width x kernel x kernel."""
        return numpy.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), axis=(2, 3))[:, :, ::stride, ::stride]

    def erf(self, x):
        return numpy.vectorize(math.erf, otypes=[numpy.float64])(x)


class Disturbed(Reference):
    """Adds noise to the result of each layer, relative to each number and of the layer's own level, which shows the effect of rounding."""

    def __init__(self, network, levels, seed):
        super().__init__(network)
        self.levels, self.random = levels, numpy.random.RandomState(seed)

    def disturbed(self, layer, x):
        level = self.levels.get(layer.name, 0.0)
        return x * (1 + level * self.random.standard_normal(x.shape)) if level else x


def evaluate(network, training=False, given=None, levels=None, seed=0):
    """The outputs, float64 arrays in the network's order. training=True: norms take the statistics of the batch; nothing is dropped out.

    `given`: arrays by name, for the usual inputs. `levels`: with noise of these levels, by layer."""
    given = weights.inputs(network) if given is None else given
    given = {name: value if value.dtype.kind in "iu" else value.astype(numpy.float64) for name, value in given.items()}
    made = Reference(network, training) if levels is None else Disturbed(network, levels, seed)
    return made.compute(network, given)


def loss(network, classes):
    """The first loss of a training: cross entropy, or the mean square of all outputs."""
    found = evaluate(network, training=True)
    if not has_labels(network, classes):
        return sum(float((part**2).mean()) for part in found)
    scores = found[0] - found[0].max(axis=1, keepdims=True)
    chosen = scores[numpy.arange(len(scores)), weights.classes("labels", len(scores), classes)]
    return float((numpy.log(numpy.exp(scores).sum(axis=1)) - chosen).mean())
