"""A language model of the llama architecture with random weights, and the GGUF file (version 3) that llama.cpp reads it from.

Needs neither numpy nor the `gguf` package: `llama-bench` may stand on a machine without either. The format is described in docs/gguf.md of
ggml-org/ggml, the names of the tensors in src/llama-arch.cpp of ggml-org/llama.cpp. Standard library only, Python 3.8.
"""

import array
import functools
import math
import os
import struct

import weights

LAYERS, WIDTH, HEADS, KEY_HEADS, HIDDEN, CONTEXT = 12, 768, 12, 4, 2048, 2048
HEAD = WIDTH // HEADS
VOCABULARY = 259
"""Three control tokens and one token for each byte."""
EPSILON, ROPE_BASE = 1e-5, 10000.0
BRANCH = 0.5
"""Of the last product of each branch: what twelve layers add to the sum of all branches stays of the same size."""
TYPES = {"float32": ("f", 4, 0), "float16": ("e", 2, 1)}
"""In struct, bytes, in GGUF."""
ALIGNMENT = 32
UNSIGNED, NUMBER, TEXT, LIST, WHOLE = 4, 6, 8, 9, 5
UNKNOWN_TOKEN, CONTROL_TOKEN, BYTE_TOKEN = 2, 3, 6


class Tensor:
    """`rows` of `columns` numbers; a vector has one row. `kind`: float32 or float16; `spread`: uniform from -spread to spread; `centre`."""

    def __init__(self, name, rows, columns, kind, spread, centre=0.0):
        self.name, self.rows, self.columns, self.kind, self.spread, self.centre = name, rows, columns, kind, spread, centre

    @property
    def size(self):
        return self.rows * self.columns * TYPES[self.kind][1]


def tensors(kind):
    """All tensors in the order of the file. Norms are float32, as in the files that people use."""

    def product(name, rows, columns, gain=1.0):
        return Tensor(name + ".weight", rows, columns, kind, gain * math.sqrt(3.0 / columns))

    def norm(name):
        return Tensor(name + ".weight", 1, WIDTH, "float32", 0.25, 1.0)

    found = [Tensor("token_embd.weight", VOCABULARY, WIDTH, kind, math.sqrt(3.0))]
    keys = KEY_HEADS * HEAD
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        found += [
            norm(at + "attn_norm"), product(at + "attn_q", WIDTH, WIDTH), product(at + "attn_k", keys, WIDTH),
            product(at + "attn_v", keys, WIDTH), product(at + "attn_output", WIDTH, WIDTH, BRANCH),
            norm(at + "ffn_norm"), product(at + "ffn_gate", HIDDEN, WIDTH), product(at + "ffn_up", HIDDEN, WIDTH),
            product(at + "ffn_down", WIDTH, HIDDEN, BRANCH),
        ]  # fmt: skip
    return [*found, norm("output_norm"), product("output", VOCABULARY, WIDTH)]


def parameters():
    return sum(each.rows * each.columns for each in tensors("float16"))


def work(tokens, past, width):
    """(FLOP, bytes to and from memory at the least) of a step that reads `tokens` behind `past` others. `width`: bytes of a weight.
    Keys and values are float16, as llama.cpp keeps them. Only the last token has scores; few rows of the table of tokens are read."""
    table = VOCABULARY * WIDTH
    products = tokens * (parameters() - 2 * table) + table
    attention = LAYERS * WIDTH * tokens * (past + (tokens + 1) / 2.0)
    cached = 2 * 2 * LAYERS * KEY_HEADS * HEAD * (past + tokens)
    return 2 * products + 4 * attention, width * (parameters() - table) + cached


@functools.lru_cache(maxsize=16)
def _packed(kind, spread, centre):
    """The table of `weights` in a type, as the file holds it."""
    numbers = array.array("f", weights.values("", (weights.LENGTH,), centre, spread))
    return struct.pack(f"<{len(numbers)}{TYPES[kind][0]}", *numbers)


def content(tensor):
    """The bytes of a tensor: the table again and again, from a place on that the name gives."""
    table, width = _packed(tensor.kind, tensor.spread, tensor.centre), TYPES[tensor.kind][1]
    begin = weights.start(tensor.name) * width
    turned = table[begin:] + table[:begin]
    return (turned * -(-tensor.size // len(turned)))[: tensor.size]


def write(path, kind="float16"):
    """The whole file; the bytes that it has."""
    every = tensors(kind)
    with open(path, "wb") as file:
        file.write(_header(every))
        _pad(file)
        for tensor in every:
            file.write(content(tensor))
            _pad(file)
        return file.tell()


def prompt(count):
    """Tokens of bytes, without any control token."""
    return [3 + token for token in weights.classes("prompt", count, VOCABULARY - 3)]


def _header(every):
    metadata = _metadata(every[0].kind)
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(every), len(metadata)), *metadata]
    offset = 0
    for tensor in every:
        shape = [tensor.columns] if tensor.rows == 1 else [tensor.columns, tensor.rows]
        parts += [_text(tensor.name), struct.pack(f"<I{len(shape)}Q", len(shape), *shape)]
        parts.append(struct.pack("<IQ", TYPES[tensor.kind][2], offset))
        offset += -(-tensor.size // ALIGNMENT) * ALIGNMENT
    return b"".join(parts)


def _metadata(kind):
    names = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [UNKNOWN_TOKEN, CONTROL_TOKEN, CONTROL_TOKEN] + [BYTE_TOKEN] * 256

    def entry(key, form, value):
        return _text(key) + struct.pack("<I", form) + value

    def whole(key, value):
        return entry(key, UNSIGNED, struct.pack("<I", value))

    def number(key, value):
        return entry(key, NUMBER, struct.pack("<f", value))

    def of_tokens(key, form, values):
        return entry(key, LIST, struct.pack("<IQ", form, len(names)) + b"".join(values))

    return [
        entry("general.architecture", TEXT, _text("llama")), entry("general.name", TEXT, _text("gpudoctor, random weights")),
        whole("general.file_type", TYPES[kind][2]), whole("llama.block_count", LAYERS), whole("llama.context_length", CONTEXT),
        whole("llama.embedding_length", WIDTH), whole("llama.feed_forward_length", HIDDEN), whole("llama.attention.head_count", HEADS),
        whole("llama.attention.head_count_kv", KEY_HEADS), number("llama.attention.layer_norm_rms_epsilon", EPSILON),
        whole("llama.rope.dimension_count", HEAD), number("llama.rope.freq_base", ROPE_BASE), whole("llama.vocab_size", VOCABULARY),
        entry("tokenizer.ggml.model", TEXT, _text("llama")), of_tokens("tokenizer.ggml.tokens", TEXT, map(_text, names)),
        of_tokens("tokenizer.ggml.scores", NUMBER, [struct.pack("<f", -float(place)) for place in range(len(names))]),
        of_tokens("tokenizer.ggml.token_type", WHOLE, [struct.pack("<i", each) for each in kinds]),
        whole("tokenizer.ggml.unknown_token_id", 0), whole("tokenizer.ggml.bos_token_id", 1), whole("tokenizer.ggml.eos_token_id", 2),
    ]  # fmt: skip


def _text(text):
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _pad(file):
    file.write(b"\0" * (-file.tell() % ALIGNMENT))


def kept(folder, kind):
    """The path of the file in a folder, written where it is not there yet."""
    path = os.path.join(folder, f"gpudoctor-{kind}.gguf")
    if not os.path.exists(path):
        write(path + ".part", kind)
        os.replace(path + ".part", path)
    return path
