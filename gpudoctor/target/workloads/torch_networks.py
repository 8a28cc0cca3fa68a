"""A layer list as a torch.nn.Module, for torch 1.8 and newer; torch.nn and torch.nn.functional only.

build(network) gives a module with the weights of weights.py; inputs(network) gives its inputs. Layers with parameters are children of the
module, named as their layer with '_' for '.', so that tools which walk modules (optimisers, ipex.optimize, quantisers, hooks) find them;
everything else is a function. The module takes any batch and image size that the layers allow, in any memory format.
"""

import array
import functools
import math

import torch
import torch.nn.functional as F
import weights
from network_ir import parameters_of, shapes
from torch import nn

# A ReLU right behind one of these may work in place, because none of them needs its own result for its gradient; torchvision does so too.
BEFORE_IN_PLACE = ("conv", "linear", "batch_norm", "add")


def child_name(layer_name):
    return layer_name.replace(".", "_")


class ListedNetwork(nn.Module):
    """Computes the layers in their order and lets go of each value after its last use."""

    def __init__(self, network, children, steps):
        super().__init__()
        self.network_name, self.input_names, self.output_names = network.name, [each.name for each in network.inputs], list(network.outputs)
        for name, child in children.items():
            self.add_module(name, child)
        self.steps = steps

    def forward(self, *inputs):
        """Inputs in the order of the network's; one output as a tensor, several as a tuple."""
        return self.compute(inputs)

    def compute(self, inputs):
        values = dict(zip(self.input_names, inputs))
        for name, child, function, sources, done in self.steps:
            given = [values[source] for source in sources]
            for source in done:
                del values[source]
            values[name] = getattr(self, child)(*given) if function is None else function(*given)
        found = [values[name] for name in self.output_names]
        return found[0] if len(found) == 1 else tuple(found)


class ImageNetwork(ListedNetwork):
    """A network with one named input, because torch.fx, and with it ipex.optimize, cannot trace `*inputs`."""

    def forward(self, image):
        return self.compute((image,))


def build(network, device="cpu", dtype=torch.float32, dropout=True, fused_attention=True, first_values=True):
    """The module, in training mode. dropout=False leaves it out (to compare with a reference in training mode); first_values=False leaves
    the weights uninitialised. Each tensor goes to its device before the next is made: the peak on the host is one tensor."""
    known, children = shapes(network), {}
    with torch.no_grad():
        for layer in network.layers:
            child = _child(layer, known, dropout, fused_attention)
            if child is not None:
                if first_values:
                    _fill(child, parameters_of(layer, known))
                children[child_name(layer.name)] = child.to(device=device, dtype=dtype)
    for layer in network.layers:
        if layer.kind == "tied_linear":
            children[child_name(layer.name)].weight = children[child_name(layer.settings["table"])].weight
    kind = ImageNetwork if len(network.inputs) == 1 else ListedNetwork
    return kind(network, children, _steps(network, children))


def inputs(network, device="cpu", dtype=torch.float32):
    """The tensors for forward(), on the device, in `dtype`; inputs of kind timestep stay float32."""
    found = []
    for which in network.inputs:
        if which.kind in ("index", "positions"):
            made = torch.tensor(weights.whole_numbers(which), dtype=torch.int64).reshape(which.shape)
        else:
            made = values(which.name, which.shape, *weights.number_range(which))
            made = made if which.kind == "timestep" else made.to(dtype)
        found.append(made.to(device))
    return found


def labels(count, classes, device="cpu"):
    """An int64 tensor of `count` classes for a classifier's loss."""
    return torch.tensor(weights.classes("labels", count, classes), dtype=torch.int64).to(device)


@functools.lru_cache(maxsize=None)
def _table():
    return torch.tensor(array.array("f", weights.table()).tolist(), dtype=torch.float32)


def values(name, shape, centre=0.0, spread=1.0):
    """weights.values as a float32 tensor on the CPU; works where torch has no numpy."""
    count, begin = math.prod(shape), weights.start(name)
    turned = _table()[begin : begin + min(count, weights.LENGTH)] * spread
    if centre:
        turned.add_(centre)
    if count <= weights.LENGTH:
        return turned.view(shape)
    found = torch.empty(count)
    whole = count // weights.LENGTH * weights.LENGTH
    found[:whole].view(-1, weights.LENGTH).copy_(turned)
    found[whole:].copy_(turned[: count - whole])
    return found.view(shape)


def _fill(child, wanted):
    for parameter in wanted:
        made = values(parameter.name, parameter.shape, parameter.centre, parameter.spread)
        getattr(child, parameter.name.rpartition(".")[2]).copy_(made)


def _steps(network, children):
    """[(result, child or '', function or None, sources, sources that no later layer reads)]"""
    readers = dict.fromkeys(network.outputs, "")
    for layer in network.layers:
        for source in layer.inputs:
            readers.setdefault(source, layer.name)
            readers[source] = layer.name if readers[source] else ""
    count = {}
    for layer in network.layers:
        for source in layer.inputs:
            count[source] = count.get(source, 0) + 1
    kinds, steps = {layer.name: layer.kind for layer in network.layers}, []
    for layer in network.layers:
        name, done = child_name(layer.name), [source for source in dict.fromkeys(layer.inputs) if readers[source] == layer.name]
        if name in children:
            steps.append((layer.name, name, None, layer.inputs, done))
            continue
        settings = {key: value for key, value in layer.settings.items() if key not in ("gain", "dropout", "share")}
        if layer.kind in ("relu", "relu6"):
            source = layer.inputs[0]
            settings["inplace"] = bool(done) and count[source] == 1 and kinds.get(source) in BEFORE_IN_PLACE
        function = FUNCTIONS[layer.kind]
        steps.append((layer.name, "", functools.partial(function, **settings) if settings else function, layer.inputs, done))
    return steps


class Sinusoid(nn.Module):
    """Timesteps -> cosines, then sines, of falling frequencies; computed in float32, given in the precision of the network."""

    def __init__(self, width):
        super().__init__()
        self.half = width // 2
        self.register_buffer("precision", torch.zeros(1), persistent=False)

    def forward(self, timestep):
        places = torch.arange(self.half, dtype=torch.float32, device=timestep.device)
        angles = timestep.float()[:, None] * torch.exp(places * (-math.log(10000.0) / self.half))[None, :]
        return torch.cat([torch.cos(angles), torch.sin(angles)], dim=1).to(self.precision.dtype)


class Attention(nn.Module):
    """softmax(Q K' / sqrt(d)) V for each head. `fused` asks for torch's own kernel where there is one (2.0 and newer)."""

    def __init__(self, heads, causal, dropout, fused):
        super().__init__()
        self.heads, self.causal, self.dropout = heads, causal, dropout
        self.fused = fused and hasattr(F, "scaled_dot_product_attention")

    def forward(self, queries, keys, values):
        queries, keys, values = (x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2) for x in (queries, keys, values))
        share = self.dropout if self.training else 0.0
        if self.fused:
            found = F.scaled_dot_product_attention(queries, keys, values, dropout_p=share, is_causal=self.causal)
        else:
            scores = torch.matmul(queries * (1.0 / math.sqrt(queries.shape[3])), keys.transpose(2, 3))
            if self.causal:
                hidden = torch.ones(scores.shape[2:], dtype=torch.bool, device=scores.device).triu(1)
                scores = scores.masked_fill(hidden, -1e4)
            found = torch.matmul(F.dropout(F.softmax(scores, dim=-1), share, share > 0), values)
        return found.transpose(1, 2).reshape(found.shape[0], found.shape[2], -1)


class _NoFirstValues:
    """Mixed into a module's class while it is made: torch's own first values take minutes for large networks and would be overwritten."""

    def reset_parameters(self):
        if hasattr(self, "reset_running_stats"):
            self.reset_running_stats()


def _made(kind, *given, **more):
    module = type(kind.__name__, (_NoFirstValues, kind), {})(*given, **more)
    module.__class__ = kind  # tools test for exactly this class
    return module


def _child(layer, known, dropout, fused):
    s, kind = layer.settings, layer.kind
    first = known[layer.inputs[0]]
    if kind == "conv":
        return _made(nn.Conv2d, first[1], s["out"], s["kernel"], s["stride"], s["padding"], groups=s["groups"], bias=s["bias"])
    if kind in ("linear", "tied_linear"):
        return _made(nn.Linear, first[-1], s["out"], bias=s.get("bias", False))
    if kind == "embedding":
        return _made(nn.Embedding, s["rows"], s["width"])
    if kind == "batch_norm":
        return _made(nn.BatchNorm2d, first[1], eps=s["eps"], momentum=s["momentum"])
    if kind == "group_norm":
        return _made(nn.GroupNorm, s["groups"], first[1], eps=s["eps"])
    if kind == "instance_norm":
        return _made(nn.InstanceNorm2d, first[1], eps=s["eps"], affine=True)
    if kind == "layer_norm":
        return _made(nn.LayerNorm, first[2], eps=s["eps"])
    if kind == "dropout":
        return nn.Dropout(s["share"]) if dropout else nn.Identity()
    if kind == "attention":
        return Attention(s["heads"], s["causal"], s["dropout"] if dropout else 0.0, fused)
    return Sinusoid(s["width"]) if kind == "sinusoid" else None


def _gelu_tanh(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def _gelu_tanh_of(release):
    """GELU by tanh: torch's own from release 1.12 on, before that by its formula."""
    numbers = tuple(int(part) for part in release.split(".")[:2])
    return functools.partial(F.gelu, approximate="tanh") if numbers >= (1, 12) else _gelu_tanh


def _slice(x, axis, start, stop):
    return x[(slice(None),) * axis + (slice(start, stop),)]


def _tokens(x):
    return x.permute(0, 2, 3, 1).reshape(x.shape[0], -1, x.shape[1])


def _image(x, like):
    return x.reshape(x.shape[0], like.shape[2], like.shape[3], x.shape[2]).permute(0, 3, 1, 2)


FUNCTIONS = {
    "relu": F.relu,
    "relu6": F.relu6,
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "gelu": F.gelu,
    "gelu_tanh": _gelu_tanh_of(torch.__version__),
    "add": torch.add,
    "add_rows": torch.add,
    "multiply": torch.mul,
    "add_channels": lambda x, vector: x + vector[:, :, None, None],
    "max_pool": lambda x, kernel, stride, padding: F.max_pool2d(x, kernel, stride, padding),
    "average_to": lambda x, height, width: F.adaptive_avg_pool2d(x, (height, width)),
    "reflect_pad": lambda x, by: F.pad(x, (by, by, by, by), mode="reflect"),
    "upsample": lambda x, by: F.interpolate(x, scale_factor=float(by), mode="nearest"),
    "concat": lambda *parts, axis: torch.cat(parts, dim=axis),
    "slice": _slice,
    "every_second": lambda x, row, column: x[:, :, row::2, column::2],
    "flatten": lambda x: torch.flatten(x, 1),
    "tokens": _tokens,
    "image": _image,
}
