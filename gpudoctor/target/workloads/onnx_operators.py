"""For each kind of layer the ONNX operators that compute it, none newer than operator set 11 but LayerNormalization (17).

Each function takes the graph (onnx_networks.py) and the layer, and adds nodes whose last result is named as the layer.
"""

import math

HIDDEN = -1e4  # added to a score that must not count: exp() of it is 0, and float16 holds it


def _plain(kind):
    def add(graph, layer):
        graph.add(kind, layer.name, *layer.inputs)

    return add


def _conv(graph, layer):
    s = layer.settings
    given = [layer.inputs[0], graph.weight(layer, "weight")] + ([graph.weight(layer, "bias")] if s["bias"] else [])
    graph.add("Conv", layer.name, *given, kernel_shape=[s["kernel"]] * 2, strides=[s["stride"]] * 2, pads=[s["padding"]] * 4,
              group=s["groups"], dilations=[1, 1])  # fmt: skip


def _linear(graph, layer):
    x, bias = layer.inputs[0], layer.settings["bias"]
    if len(graph.shapes[x]) == 2:
        given = [x, graph.weight(layer, "weight")] + ([graph.weight(layer, "bias")] if bias else [])
        graph.add("Gemm", layer.name, *given, transB=1)
        return
    product = graph.add("MatMul", layer.name + "/product" if bias else layer.name, x, graph.weight(layer, "weight", turned=True))
    if bias:
        graph.add("Add", layer.name, product, graph.weight(layer, "bias"))


def _tied_linear(graph, layer):
    """Gemm can read the table transposed; a transposed copy would cost as much memory again."""
    x, shape = layer.inputs[0], graph.shapes[layer.name]
    flat = graph.add("Reshape", layer.name + "/flat", x, graph.constant([-1, graph.shapes[x][-1]]))
    product = graph.add("Gemm", layer.name + "/product", flat, graph.weight(graph.tables[layer.settings["table"]], "weight"), transB=1)
    graph.add("Reshape", layer.name, product, graph.constant(shape))


def _embedding(graph, layer):
    graph.add("Gather", layer.name, graph.weight(layer, "weight"), layer.inputs[0], axis=0)


def _batch_norm(graph, layer):
    given = [graph.weight(layer, what) for what in ("weight", "bias", "running_mean", "running_var")]
    graph.add("BatchNormalization", layer.name, layer.inputs[0], *given, epsilon=layer.settings["eps"])


def _instance_norm(graph, layer):
    given = [graph.weight(layer, what) for what in ("weight", "bias")]
    graph.add("InstanceNormalization", layer.name, layer.inputs[0], *given, epsilon=layer.settings["eps"])


def _group_norm(graph, layer):
    """Computes each group as one channel of an instance norm, because GroupNormalization exists only from operator set 18 on."""
    name, x, groups = layer.name, layer.inputs[0], layer.settings["groups"]
    shape = graph.shapes[x]
    grouped = graph.add("Reshape", name + "/grouped", x, graph.constant([shape[0], groups, -1]))
    ones, zeros = graph.constant([1.0] * groups), graph.constant([0.0] * groups)
    normal = graph.add("InstanceNormalization", name + "/normal", grouped, ones, zeros, epsilon=layer.settings["eps"])
    normal = graph.add("Reshape", name + "/channels", normal, graph.constant(shape))
    scaled = graph.add("Mul", name + "/scaled", normal, graph.weight(layer, "weight", shape=(shape[1], 1, 1)))
    graph.add("Add", name, scaled, graph.weight(layer, "bias", shape=(shape[1], 1, 1)))


def _layer_norm(graph, layer):
    name, x, eps = layer.name, layer.inputs[0], layer.settings["eps"]
    weight, bias = graph.weight(layer, "weight"), graph.weight(layer, "bias")
    if graph.opset >= 17:
        graph.add("LayerNormalization", name, x, weight, bias, axis=-1, epsilon=eps)
        return
    mean = graph.add("ReduceMean", name + "/mean", x, axes=[-1], keepdims=1)
    centred = graph.add("Sub", name + "/centred", x, mean)
    square = graph.add("Mul", name + "/square", centred, centred)
    variance = graph.add("ReduceMean", name + "/variance", square, axes=[-1], keepdims=1)
    deviation = graph.add("Sqrt", name + "/deviation", graph.add("Add", name + "/above_zero", variance, graph.constant([eps], ())))
    scaled = graph.add("Mul", name + "/scaled", graph.add("Div", name + "/normal", centred, deviation), weight)
    graph.add("Add", name, scaled, bias)


def _relu6(graph, layer):
    graph.add("Clip", layer.name, layer.inputs[0], graph.constant([0.0], ()), graph.constant([6.0], ()))


def _silu(graph, layer):
    graph.add("Mul", layer.name, layer.inputs[0], graph.add("Sigmoid", layer.name + "/sigmoid", layer.inputs[0]))


def _gelu(graph, layer):
    name, x = layer.name, layer.inputs[0]
    inner = graph.add("Erf", name + "/erf", graph.add("Div", name + "/inner", x, graph.constant([math.sqrt(2.0)], ())))
    share = graph.add("Add", name + "/share", inner, graph.constant([1.0], ()))
    graph.add("Mul", name, graph.add("Mul", name + "/product", x, share), graph.constant([0.5], ()))


def _gelu_tanh(graph, layer):
    """0.5 x (1 + tanh(x sqrt(2/pi) (1 + 0.044715 x^2)))"""
    name, x = layer.name, layer.inputs[0]
    square = graph.add("Mul", name + "/square", x, x)
    factor = graph.add("Mul", name + "/small", square, graph.constant([0.044715 * math.sqrt(2.0 / math.pi)], ()))
    factor = graph.add("Add", name + "/factor", factor, graph.constant([math.sqrt(2.0 / math.pi)], ()))
    inner = graph.add("Tanh", name + "/tanh", graph.add("Mul", name + "/inner", x, factor))
    share = graph.add("Add", name + "/share", inner, graph.constant([1.0], ()))
    graph.add("Mul", name, graph.add("Mul", name + "/product", x, share), graph.constant([0.5], ()))


def _add_channels(graph, layer):
    image, vector = layer.inputs
    tall = graph.add("Reshape", layer.name + "/tall", vector, graph.constant(graph.shapes[vector] + (1, 1)))
    graph.add("Add", layer.name, image, tall)


def _max_pool(graph, layer):
    s = layer.settings
    graph.add("MaxPool", layer.name, layer.inputs[0], kernel_shape=[s["kernel"]] * 2, strides=[s["stride"]] * 2, pads=[s["padding"]] * 4)


def _average_to(graph, layer):
    """Averages windows of one size where they divide the image; else multiplies by a matrix of shares for rows and one for columns."""
    name, x = layer.name, layer.inputs[0]
    sides, wanted = graph.shapes[x][2:], (layer.settings["height"], layer.settings["width"])
    if wanted == (1, 1):
        graph.add("GlobalAveragePool", name, x)
    elif sides == wanted:
        graph.add("Identity", name, x)
    elif not sides[0] % wanted[0] and not sides[1] % wanted[1]:
        window = [sides[0] // wanted[0], sides[1] // wanted[1]]
        graph.add("AveragePool", name, x, kernel_shape=window, strides=window)
    else:
        rows = [share for row in window_shares(sides[0], wanted[0]) for share in row]
        columns = [share for column in zip(*window_shares(sides[1], wanted[1])) for share in column]
        narrow = graph.add("MatMul", name + "/columns", x, graph.constant(columns, (sides[1], wanted[1])))
        graph.add("MatMul", name, graph.constant(rows, (wanted[0], sides[0])), narrow)


def window_shares(side, wanted):
    """For each of the `wanted` windows the share of each of `side` rows in its average: from floor(i s/w) to ceil((i + 1) s/w)."""
    bounds = [(place * side // wanted, -(-(place + 1) * side // wanted)) for place in range(wanted)]
    return [[1.0 / (stop - start) if start <= row < stop else 0.0 for row in range(side)] for start, stop in bounds]


def _reflect_pad(graph, layer):
    by = layer.settings["by"]
    graph.add("Pad", layer.name, layer.inputs[0], graph.constant([0, 0, by, by, 0, 0, by, by]), mode="reflect")


def _upsample(graph, layer):
    by = float(layer.settings["by"])
    scales = graph.constant([1.0, 1.0, by, by], kind="float32")
    # without values for the region: an empty name, which operator set 11 does not allow yet
    region = "" if graph.opset >= 13 else graph.constant([], (0,), kind="float32")
    graph.add("Resize", layer.name, layer.inputs[0], region, scales, mode="nearest", coordinate_transformation_mode="asymmetric",
              nearest_mode="floor")  # fmt: skip


def _concat(graph, layer):
    graph.add("Concat", layer.name, *layer.inputs, axis=layer.settings["axis"])


def _slice(graph, layer):
    s, side = layer.settings, graph.shapes[layer.inputs[0]][layer.settings["axis"]]
    kept = range(side)[s["start"] : s["stop"]]
    graph.add("Slice", layer.name, layer.inputs[0], graph.constant([kept[0]]), graph.constant([kept[-1] + 1]), graph.constant([s["axis"]]))


def _every_second(graph, layer):
    s, sides = layer.settings, graph.shapes[layer.inputs[0]][2:]
    graph.add("Slice", layer.name, layer.inputs[0], graph.constant([s["row"], s["column"]]), graph.constant(sides), graph.constant([2, 3]),
              graph.constant([2, 2]))  # fmt: skip


def _flatten(graph, layer):
    graph.add("Flatten", layer.name, layer.inputs[0], axis=1)


def _tokens(graph, layer):
    turned = graph.add("Transpose", layer.name + "/turned", layer.inputs[0], perm=[0, 2, 3, 1])
    graph.add("Reshape", layer.name, turned, graph.constant(graph.shapes[layer.name]))


def _image(graph, layer):
    batch, channels, height, width = graph.shapes[layer.name]
    square = graph.add("Reshape", layer.name + "/square", layer.inputs[0], graph.constant([batch, height, width, channels]))
    graph.add("Transpose", layer.name, square, perm=[0, 3, 1, 2])


def _attention(graph, layer):
    name, heads = layer.name, layer.settings["heads"]
    batch, count, width = graph.shapes[layer.inputs[0]]
    seen = graph.shapes[layer.inputs[1]][1]

    def split(what, value, length, perm):
        apart = graph.add("Reshape", f"{name}/{what}/heads", value, graph.constant([batch, length, heads, width // heads]))
        return graph.add("Transpose", f"{name}/{what}", apart, perm=perm)

    queries, keys, values = layer.inputs
    small = graph.add("Mul", name + "/small", queries, graph.constant([1.0 / math.sqrt(width // heads)], ()))
    scores = graph.add("MatMul", name + "/scores", split("queries", small, count, [0, 2, 1, 3]), split("keys", keys, seen, [0, 2, 3, 1]))
    if layer.settings["causal"]:
        hidden = [HIDDEN if later > row else 0.0 for row in range(count) for later in range(seen)]
        scores = graph.add("Add", name + "/masked", scores, graph.constant(hidden, (1, 1, count, seen)))
    shares = graph.add("Softmax", name + "/shares", scores, axis=-1 if graph.opset >= 13 else 3)
    found = graph.add("MatMul", name + "/found", shares, split("values", values, seen, [0, 2, 1, 3]))
    joined = graph.add("Transpose", name + "/joined", found, perm=[0, 2, 1, 3])
    graph.add("Reshape", name, joined, graph.constant([batch, count, width]))


def _sinusoid(graph, layer):
    """Computed in float32, because float16 cannot distinguish neighbouring angles near a thousand radians."""
    name, half = layer.name, layer.settings["width"] // 2
    frequencies = graph.constant([math.exp(-math.log(10000.0) * place / half) for place in range(half)], (1, half), "float32")
    tall = graph.add("Reshape", name + "/tall", layer.inputs[0], graph.constant([graph.shapes[name][0], 1]))
    angles = graph.add("Mul", name + "/angles", tall, frequencies)
    sines = [graph.add("Cos", name + "/cosines", angles), graph.add("Sin", name + "/sines", angles)]
    if graph.dtype == "float32":
        graph.add("Concat", name, *sines, axis=1)
    else:
        graph.add("Cast", name, graph.add("Concat", name + "/wide", *sines, axis=1), to=10)


OPERATORS = {
    "conv": _conv, "linear": _linear, "tied_linear": _tied_linear, "embedding": _embedding, "batch_norm": _batch_norm,
    "group_norm": _group_norm, "instance_norm": _instance_norm, "layer_norm": _layer_norm, "relu": _plain("Relu"), "relu6": _relu6,
    "silu": _silu, "sigmoid": _plain("Sigmoid"), "gelu": _gelu, "gelu_tanh": _gelu_tanh, "add": _plain("Add"), "add_rows": _plain("Add"),
    "multiply": _plain("Mul"), "add_channels": _add_channels, "dropout": _plain("Identity"), "max_pool": _max_pool,
    "average_to": _average_to, "reflect_pad": _reflect_pad, "upsample": _upsample, "concat": _concat, "slice": _slice,
    "every_second": _every_second, "flatten": _flatten, "tokens": _tokens, "image": _image, "attention": _attention, "sinusoid": _sinusoid,
}  # fmt: skip
