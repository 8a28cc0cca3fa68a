"""The costs of a network, from its layer list alone: parameters, floating point operations, bytes. Standard library only.

Operations are counted where practice counts them: 2 for each multiply-add of convolutions, linear layers and attention products.
Element-wise layers, normalisation and the optimiser are left out: few operations, many bytes. Winograd and the like do fewer.
"""

import math
from collections import namedtuple

from network_ir import NORMS, parameters, parameters_of, shapes

# FLOP and bytes are of one step over the whole batch; `batch` is there to divide by.
# training_flop: forward and backward, without the gradients of the network's inputs.
# unfused_bytes: each layer reads its inputs and weights and writes its result, once, in inference.
# fused_bytes: the same where element-wise layers and batch normalisation are merged into what comes before them: the least to expect.
Work = namedtuple("Work", "batch parameters forward_flop training_flop weight_bytes input_bytes output_bytes unfused_bytes fused_bytes")

VIEWS = ("flatten", "tokens", "image", "slice", "every_second", "dropout")
MERGED = ("relu", "relu6", "silu", "sigmoid", "gelu", "gelu_tanh", "add", "multiply", "add_channels", "add_rows", "batch_norm")


def flop_of(layer, known):
    """The floating point operations of one forward pass of this layer."""
    result, first = math.prod(known[layer.name]), known[layer.inputs[0]]
    if layer.kind == "conv":
        return 2 * result * (first[1] // layer.settings["groups"]) * layer.settings["kernel"] ** 2
    if layer.kind in ("linear", "tied_linear"):
        return 2 * result * first[-1]
    if layer.kind == "attention":  # a kernel may skip masked products; they are counted in full
        return 2 * 2 * result * known[layer.inputs[1]][1]
    return 0


def work(network, width=4):
    """Work with `width` bytes per number of weights and activations (4: float32, 2: float16 and bfloat16)."""
    known = shapes(network)
    trained = [math.prod(each.shape) for each in parameters(network, known) if each.trained]
    forward = {layer.name: flop_of(layer, known) for layer in network.layers}
    inputs, outputs = [each.name for each in network.inputs], network.outputs
    return Work(
        batch=network.inputs[0].shape[0], parameters=sum(trained), forward_flop=sum(forward.values()),
        training_flop=sum(forward.values()) + _backward(network, forward), weight_bytes=sum(trained) * width,
        input_bytes=_bytes(inputs, known, width), output_bytes=_bytes(outputs, known, width),
        unfused_bytes=_moved(network, known, width, merged=False), fused_bytes=_moved(network, known, width, merged=True),
    )  # fmt: skip


def _bytes(names, known, width):
    return sum(math.prod(known[name]) for name in names) * width


def _backward(network, forward):
    """A product costs as much again for each of its two operands that has a gradient; network inputs have none."""
    with_gradient, total = set(), 0
    for layer in network.layers:
        weighted = layer.kind in ("conv", "linear", "tied_linear", "embedding") or layer.kind in NORMS
        reached = [name in with_gradient for name in layer.inputs]
        if layer.kind == "attention":
            queries, keys, values = reached
            total += forward[layer.name] // 2 * (queries + keys + values + (queries or keys)) if any(reached) else 0
        else:
            total += forward[layer.name] * (weighted + any(reached))
        if weighted or any(reached):
            with_gradient.add(layer.name)
    return total


def _moved(network, known, width, merged):
    """The bytes read and written in one forward pass."""
    readers = {}
    for layer in network.layers:
        for name in layer.inputs:
            readers.setdefault(name, []).append(layer)
    made = {layer.name for layer in network.layers if layer.kind not in VIEWS}

    def vanishes(name):
        """Whether the result is never in memory, because the only layer that reads it is merged with the one that computes it."""
        taken = readers.get(name, [])
        return merged and name in made and name not in network.outputs and len(taken) == 1 and taken[0].kind in MERGED

    elements = 0
    for layer in network.layers:
        if layer.kind in VIEWS:
            continue
        elements += 0 if vanishes(layer.name) else math.prod(known[layer.name])
        if layer.kind == "embedding":
            elements += math.prod(known[layer.name])
            continue
        seen = set()
        for name in layer.inputs:
            if name not in seen and not vanishes(name):
                seen.add(name)
                elements += math.prod(known[name])
        elements += sum(math.prod(each.shape) for each in parameters_of(layer, known))
        if layer.kind == "tied_linear":
            elements += layer.settings["out"] * known[layer.inputs[0]][-1]
    return elements * width
