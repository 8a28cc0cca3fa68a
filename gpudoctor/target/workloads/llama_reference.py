"""The scores that the model of llama_model.py gives, in float64 with numpy; it shares no code with llama.cpp."""

import llama_model as model
import numpy


def scores(tokens, kind="float16"):
    """tokens x VOCABULARY: what follows each token."""
    held = {each.name: each for each in model.tensors(kind)}

    def weight(name):
        tensor = held[name + ".weight"]
        numbers = numpy.frombuffer(model.content(tensor), numpy.dtype("<" + model.TYPES[tensor.kind][0])).astype(numpy.float64)
        return numbers if tensor.rows == 1 else numbers.reshape(tensor.rows, tensor.columns)

    def product(name, x):
        return x @ weight(name).T

    x = weight("token_embd")[numpy.asarray(tokens)]
    for layer in range(model.LAYERS):
        at = f"blk.{layer}."
        y = _normed(x) * weight(at + "attn_norm")
        queries, keys = _turned(product(at + "attn_q", y), model.HEADS), _turned(product(at + "attn_k", y), model.KEY_HEADS)
        values = product(at + "attn_v", y).reshape(len(tokens), model.KEY_HEADS, model.HEAD)
        x = x + product(at + "attn_output", _attention(queries, keys, values))
        y = _normed(x) * weight(at + "ffn_norm")
        gate = product(at + "ffn_gate", y)
        x = x + product(at + "ffn_down", gate / (1.0 + numpy.exp(-gate)) * product(at + "ffn_up", y))
    return product("output", _normed(x) * weight("output_norm"))


def _normed(x):
    """Divided by its root mean square."""
    return x / numpy.sqrt((x * x).mean(axis=-1, keepdims=True) + model.EPSILON)


def _turned(x, heads):
    """tokens x heads x HEAD, each pair of neighbouring numbers turned by an angle that grows with the position of the token."""
    pairs = x.reshape(len(x), heads, model.HEAD // 2, 2)
    speeds = model.ROPE_BASE ** (-2.0 * numpy.arange(model.HEAD // 2) / model.HEAD)
    angles = numpy.arange(len(x))[:, None, None] * speeds
    cosine, sine = numpy.cos(angles), numpy.sin(angles)
    first, second = pairs[..., 0], pairs[..., 1]
    return numpy.stack((first * cosine - second * sine, first * sine + second * cosine), axis=-1).reshape(len(x), heads, model.HEAD)


def _attention(queries, keys, values):
    """Each token looks at itself and at those before it; neighbouring heads of queries share keys and values."""
    count, share = len(queries), model.HEADS // model.KEY_HEADS
    keys, values = numpy.repeat(keys, share, axis=1), numpy.repeat(values, share, axis=1)
    found = numpy.einsum("qhd,khd->hqk", queries, keys, optimize=True) / numpy.sqrt(model.HEAD)
    found = numpy.where(numpy.tril(numpy.ones((count, count), bool)), found, -numpy.inf)
    found = numpy.exp(found - found.max(axis=-1, keepdims=True))
    found /= found.sum(axis=-1, keepdims=True)
    return numpy.einsum("hqk,khd->qhd", found, values, optimize=True).reshape(count, model.WIDTH)
