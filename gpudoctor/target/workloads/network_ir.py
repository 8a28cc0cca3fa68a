"""A network as plain data: its inputs, and a list of layers in the order in which they are computed.

A layer has one result, which carries the layer's name, and names what it reads. All shapes are static, the batch first,
images N x C x H x W, texts N x tokens x width. From the list alone follow the shape of every value (`shapes`) and every parameter
with its first values (`parameters`); what it costs is in work_counts.py. Builders: torch_networks.py, onnx_networks.py.
Standard library only, Python 3.8.
"""

import math
import struct
from collections import namedtuple

# kind: float (activations), timestep (float32 in every precision), index (0 <= value < limit), positions (limit, limit + 1, ...)
Input = namedtuple("Input", "name shape kind limit")
Layer = namedtuple("Layer", "name kind inputs settings")
# First values: centre + spread * u, u from -1 to 1 (weights.py). `trained` is false for running statistics.
Parameter = namedtuple("Parameter", "name shape centre spread trained")
Network = namedtuple("Network", "name inputs layers outputs")

REQUIRED = object()
# Every kind of layer with its settings. `gain` scales the first weights, so that activations neither die out nor overflow float16.
KINDS = {
    "conv": {"out": REQUIRED, "kernel": REQUIRED, "stride": 1, "padding": 0, "groups": 1, "bias": True, "gain": math.sqrt(2)},
    "linear": {"out": REQUIRED, "bias": True, "gain": 1.0},
    "tied_linear": {"out": REQUIRED, "table": REQUIRED},  # the weights of the embedding of that name, transposed
    "embedding": {"rows": REQUIRED, "width": REQUIRED},
    "batch_norm": {"eps": 1e-5, "momentum": 0.1, "gain": 1.0},
    "group_norm": {"groups": 32, "eps": 1e-5},
    "instance_norm": {"eps": 1e-5},
    "layer_norm": {"eps": 1e-5},
    "relu": {}, "relu6": {}, "silu": {}, "sigmoid": {}, "gelu": {}, "gelu_tanh": {},
    "add": {}, "multiply": {},
    "add_channels": {},  # N x C x H x W and N x C
    "add_rows": {},  # N x T x C and 1 x T x C
    "dropout": {"share": REQUIRED},
    "max_pool": {"kernel": REQUIRED, "stride": REQUIRED, "padding": 0},
    "average_to": {"height": 1, "width": 1},
    "reflect_pad": {"by": REQUIRED},
    "upsample": {"by": 2},  # nearest
    "concat": {"axis": REQUIRED},
    "slice": {"axis": REQUIRED, "start": REQUIRED, "stop": None},
    "every_second": {"row": REQUIRED, "column": REQUIRED},
    "flatten": {},  # merges all dimensions except the batch
    "tokens": {},  # N x C x H x W -> N x HW x C
    "image": {},  # N x HW x C and an image of that height and width -> N x C x H x W
    "attention": {"heads": REQUIRED, "causal": False, "dropout": 0.0},  # of queries N x T x C, keys and values N x S x C
    "sinusoid": {"width": REQUIRED},  # N timesteps -> N x width: cosines, then sines
}  # fmt: skip
NORMS = ("batch_norm", "group_norm", "instance_norm", "layer_norm")


class GraphBuilder:
    """Collects a network layer by layer; a layer that does not fit raises ValueError at once."""

    def __init__(self, name):
        self.name, self.inputs, self.layers, self.shapes = name, [], [], {}

    def input(self, name, shape, kind="float", limit=None):
        self.inputs.append(Input(name, tuple(shape), kind, limit))
        self.shapes[name] = tuple(shape)
        return name

    def __call__(self, kind, name, *inputs, **settings):
        """Adds one layer; returns its name, which is the name of its result."""
        known = KINDS[kind]
        full = dict(known, **settings)
        wrong = sorted(set(settings) - set(known)) + [key for key in known if full[key] is REQUIRED]
        if wrong or name in self.shapes:
            raise ValueError(
                "layer {} ({}): {}".format(name, kind, "missing or unknown: " + ", ".join(wrong) if wrong else "its name is taken")
            )
        layer = Layer(name, kind, tuple(inputs), full)
        self.shapes[name] = shape_of(layer, self.shapes)
        self.layers.append(layer)
        return name

    def finish(self, *outputs):
        return Network(self.name, tuple(self.inputs), tuple(self.layers), tuple(outputs))


def shape_of(layer, shapes):
    """The shape of a layer's result; ValueError, naming the layer, where its inputs do not fit."""
    given = [shapes[name] for name in layer.inputs]
    try:
        found = RULES.get(layer.kind, _same)(layer.settings, *given)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"layer {layer.name} ({layer.kind}) of {given}: {error}") from None
    if any(side < 1 for side in found):
        raise ValueError(f"layer {layer.name} ({layer.kind}) of {given}: nothing is left of it: {found}")
    return tuple(found)


def shapes(network):
    """{name: shape} of every input and layer."""
    found = {each.name: each.shape for each in network.inputs}
    for layer in network.layers:
        found[layer.name] = shape_of(layer, found)
    return found


def _same(_, first, *others):
    if any(other != first for other in others):
        raise ValueError("shapes differ")
    return first


def _conv(settings, image):
    batch, channels, height, width = image
    if channels % settings["groups"] or settings["out"] % settings["groups"]:
        raise ValueError("channels are no multiple of groups")
    return (batch, settings["out"], _slid(height, settings), _slid(width, settings))


def _slid(side, settings):
    return (side + 2 * settings["padding"] - settings["kernel"]) // settings["stride"] + 1


def _max_pool(settings, image):
    return (*image[:2], _slid(image[2], settings), _slid(image[3], settings))


def _group_norm(settings, image):
    if image[1] % settings["groups"]:
        raise ValueError("channels are no multiple of groups")
    return image


def _add_channels(_, image, vector):
    if vector != image[:2]:
        raise ValueError("shapes differ")
    return image


def _add_rows(_, tokens, rows):
    if rows != (1, *tokens[1:]):
        raise ValueError("shapes differ")
    return tokens


def _reflect_pad(settings, image):
    by = settings["by"]
    if min(image[2:]) <= by:
        raise ValueError("the image is smaller than its reflection")
    return (*image[:2], image[2] + 2 * by, image[3] + 2 * by)


def _concat(settings, *parts):
    axis = settings["axis"]
    if len({part[:axis] + part[axis + 1 :] for part in parts}) != 1:
        raise ValueError(f"shapes differ beside axis {axis}")
    return (*parts[0][:axis], sum(part[axis] for part in parts), *parts[0][axis + 1 :])


def _slice(settings, whole):
    axis = settings["axis"]
    return (*whole[:axis], len(range(whole[axis])[settings["start"] : settings["stop"]]), *whole[axis + 1 :])


def _every_second(settings, image):
    if image[2] % 2 or image[3] % 2:
        raise ValueError("height and width must be even")
    return (*image[:2], image[2] // 2, image[3] // 2)


def _image(_, tokens, like):
    if tokens[1] != like[2] * like[3]:
        raise ValueError("as many tokens as pixels are needed")
    return (tokens[0], tokens[2], *like[2:])


def _attention(settings, queries, keys, values):
    if keys != values or keys[0] != queries[0] or keys[2] != queries[2] or queries[2] % settings["heads"]:
        raise ValueError("queries, keys, values and heads do not fit")
    if settings["causal"] and queries[1] != keys[1]:
        raise ValueError("causal attention needs as many keys as queries")
    return queries


RULES = {
    "conv": _conv,
    "linear": lambda settings, x: (*x[:-1], settings["out"]),
    "tied_linear": lambda settings, x: (*x[:-1], settings["out"]),
    "embedding": lambda settings, x: (*x, settings["width"]),
    "group_norm": _group_norm,
    "add_channels": _add_channels,
    "add_rows": _add_rows,
    "max_pool": _max_pool,
    "average_to": lambda settings, x: (*x[:2], settings["height"], settings["width"]),
    "reflect_pad": _reflect_pad,
    "upsample": lambda settings, x: (*x[:2], x[2] * settings["by"], x[3] * settings["by"]),
    "concat": _concat,
    "slice": _slice,
    "every_second": _every_second,
    "flatten": lambda _, x: (x[0], math.prod(x[1:])),
    "tokens": lambda _, x: (x[0], x[2] * x[3], x[1]),
    "image": _image,
    "attention": _attention,
    "sinusoid": lambda settings, x: (x[0], settings["width"]),
}


def parameters(network, known=None):
    """[Parameter] in the order of the layers; tied weights appear once. `known`: the result of shapes(network), to save computing it."""
    known = shapes(network) if known is None else known
    return [parameter for layer in network.layers for parameter in parameters_of(layer, known)]


def parameters_of(layer, known):
    settings, name = layer.settings, layer.name
    if layer.kind in NORMS:
        return _norm_parameters(layer, known[layer.inputs[0]][2 if layer.kind == "layer_norm" else 1])
    if layer.kind == "embedding":
        return [_parameter(name + ".weight", (settings["rows"], settings["width"]), 0.0, 0.02 * math.sqrt(3))]
    if layer.kind == "conv":
        shape = (settings["out"], known[layer.inputs[0]][1] // settings["groups"], settings["kernel"], settings["kernel"])
    elif layer.kind == "linear":
        shape = (settings["out"], known[layer.inputs[0]][-1])
    else:
        return []
    # a uniform distribution of this width has the standard deviation gain / sqrt(inputs of one output)
    found = [_parameter(name + ".weight", shape, 0.0, settings["gain"] * math.sqrt(3.0 / math.prod(shape[1:])))]
    return found + ([_parameter(name + ".bias", shape[:1], 0.0, 0.05)] if settings["bias"] else [])


def _norm_parameters(layer, channels):
    """The parameters of a norm. They differ from one and zero, so that a kernel which omits scale, shift or statistics gives another
    result."""
    gain = layer.settings.get("gain", 1.0)
    found = [
        _parameter(layer.name + ".weight", (channels,), gain, 0.1 * gain),
        _parameter(layer.name + ".bias", (channels,), 0.0, 0.1 * gain),
    ]
    if layer.kind == "batch_norm":
        found += [
            _parameter(layer.name + ".running_mean", (channels,), 0.0, 0.1, False),
            _parameter(layer.name + ".running_var", (channels,), 1.0, 0.2, False),
        ]
    return found


def _parameter(name, shape, centre, spread, trained=True):
    return Parameter(name, shape, _single(centre), _single(spread), trained)


def _single(value):
    """The number rounded to float32, so that every backend multiplies by the same number."""
    return struct.unpack("f", struct.pack("f", value))[0]


def until(network, *outputs):
    """The same network with other outputs (names of layers) and without the layers that those do not need."""
    wanted, kept = set(outputs), []
    for layer in reversed(network.layers):
        if layer.name in wanted:
            kept.append(layer)
            wanted.update(layer.inputs)
    unknown = wanted - {layer.name for layer in kept} - {each.name for each in network.inputs}
    if unknown:
        raise ValueError("{} has no layer {}".format(network.name, ", ".join(sorted(unknown))))
    return Network(network.name, tuple(each for each in network.inputs if each.name in wanted), tuple(reversed(kept)), outputs)


def has_labels(network, classes):
    """Whether its loss is cross entropy (one output N x classes). The loss of any other network is the mean square of its outputs."""
    if not classes or len(network.outputs) != 1:
        return False
    return shapes(network)[network.outputs[0]] == (network.inputs[0].shape[0], classes)
