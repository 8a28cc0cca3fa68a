"""GPT-2 small (124,439,808 parameters) with a cache of keys and values: reading a prompt, and making one token after it.

Cached keys and values are N x tokens x 768, the heads side by side. Only the last token's scores are computed, as generation does.
"""

from network_ir import GraphBuilder

LAYERS, WIDTH, HEADS, VOCABULARY, POSITIONS = 12, 768, 12, 50257, 1024


def gpt2_prefill(batch, tokens):
    """Outputs: scores N x 1 x 50257, then key and value of each layer, N x tokens x 768."""
    return _gpt2("gpt2_prefill", batch, tokens, 0)


def gpt2_decode(batch, past):
    """Inputs: one token, its position, key and value of each layer for `past` tokens. Outputs as of gpt2_prefill, one token longer."""
    return _gpt2("gpt2_decode", batch, 1, past)


def _gpt2(name, batch, tokens, past):
    if tokens + past > POSITIONS:
        raise ValueError(f"{name}: {tokens + past} tokens, but GPT-2 knows {POSITIONS} positions")
    d = GraphBuilder(name)
    words = d.input("tokens", (batch, tokens), "index", VOCABULARY)
    places = d.input("positions", (1, tokens), "positions", past)
    old = [(d.input(f"past.{number}.key", (batch, past, WIDTH)), d.input(f"past.{number}.value", (batch, past, WIDTH)))
           for number in range(LAYERS if past else 0)]  # fmt: skip
    # all texts of the batch share one row of positions
    x = d("embedding", "wte", words, rows=VOCABULARY, width=WIDTH)
    x = d("dropout", "drop", d("add_rows", "embedded", x, d("embedding", "wpe", places, rows=POSITIONS, width=WIDTH)), share=0.1)
    cache = []
    for number in range(LAYERS):
        x, key, value = _block(d, f"h.{number}", x, old[number] if past else None)
        cache += [key, value]
    last = d("layer_norm", "ln_f", d("slice", "last", x, axis=1, start=-1))
    return d.finish(d("tied_linear", "lm_head", last, out=VOCABULARY, table="wte"), *cache)


def _block(d, at, x, old):
    y = d("linear", at + ".attn.c_attn", d("layer_norm", at + ".ln_1", x), out=3 * WIDTH)
    queries, key, value = (
        d("slice", at + ".attn." + what, y, axis=2, start=place * WIDTH, stop=(place + 1) * WIDTH)
        for place, what in enumerate(("query", "new_key", "new_value"))
    )
    if old:
        key = d("concat", at + ".attn.key", old[0], key, axis=1)
        value = d("concat", at + ".attn.value", old[1], value, axis=1)
    y = d("attention", at + ".attn.attention", queries, key, value, heads=HEADS, causal=not old, dropout=0.1)
    x = d("add", at + ".add1", x, d("dropout", at + ".drop1", _branch_end(d, at + ".attn.c_proj", y), share=0.1))
    y = d("gelu_tanh", at + ".mlp.act", d("linear", at + ".mlp.c_fc", d("layer_norm", at + ".ln_2", x), out=4 * WIDTH))
    x = d("add", at + ".add2", x, d("dropout", at + ".drop2", _branch_end(d, at + ".mlp.c_proj", y), share=0.1))
    return x, key, value


def _branch_end(d, at, x):
    return d("linear", at, x, out=WIDTH, gain=0.5)
