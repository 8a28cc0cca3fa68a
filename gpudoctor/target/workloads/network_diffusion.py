"""One step of Stable Diffusion's UNet, 1.x and 2.1, layers named as in diffusers' UNet2DConditionModel.

Inputs: latents N x 4 x h x w (64 x 64 for a 512 x 512 image), timesteps N (float32), the text's context N x words x 768 or 1024.
With classifier-free guidance one iteration is a step at batch 2.
"""

from network_ir import GraphBuilder


def unet_sd15(batch, height, width, words, base):
    """`base` channels at the top; 320 in the real one, 64 for a small one with the same operators."""
    return _unet("unet_sd15", batch, height, width, words, base, 768, [8, 8, 8, 8], "conv")


def unet_sd21(batch, height, width, words, base):
    return _unet("unet_sd21", batch, height, width, words, base, 1024, [base * wider // 64 for wider in (1, 2, 4, 4)], "linear")


class _Parts:
    """What every block needs: the graph builder, the embedded time, the context, and the kind of projection of this version."""

    def __init__(self, d, projection, context):
        self.d, self.projection, self.context, self.time = d, projection, context, None


def _unet(name, batch, height, width, words, base, context_width, heads, projection):
    """Height and width of the latents must be multiples of 8, base of 64."""
    widths = (base, 2 * base, 4 * base, 4 * base)
    d = GraphBuilder(name)
    x = d.input("latents", (batch, 4, height, width))
    timestep = d.input("timestep", (batch,), "timestep")
    u = _Parts(d, projection, d.input("context", (batch, words, context_width)))
    time = d("linear", "time_embedding.linear_1", d("sinusoid", "time_proj", timestep, width=widths[0]), out=widths[3])
    time = d("linear", "time_embedding.linear_2", d("silu", "time_embedding.act", time), out=widths[3])
    u.time = d("silu", "time_embedding.silu", time)
    x = _conv(d, "conv_in", x, widths[0])
    kept = [x]
    for level, out in enumerate(widths):
        at = f"down_blocks.{level}"
        for place in range(2):
            x = _resnet(u, f"{at}.resnets.{place}", x, out)
            if level < 3:
                x = _transformer(u, f"{at}.attentions.{place}", x, heads[level])
            kept.append(x)
        if level < 3:
            x = _conv(d, at + ".downsamplers.0.conv", x, out, stride=2)
            kept.append(x)
    x = _resnet(u, "mid_block.resnets.0", x, widths[3])
    x = _resnet(u, "mid_block.resnets.1", _transformer(u, "mid_block.attentions.0", x, heads[3]), widths[3])
    for step, out in enumerate(reversed(widths)):
        at = f"up_blocks.{step}"
        for place in range(3):
            joined = d("concat", f"{at}.concat.{place}", x, kept.pop(), axis=1)
            x = _resnet(u, f"{at}.resnets.{place}", joined, out)
            if step:
                x = _transformer(u, f"{at}.attentions.{place}", x, heads[3 - step])
        if step < 3:
            x = _conv(d, at + ".upsamplers.0.conv", d("upsample", at + ".upsample", x), out)
    x = d("silu", "conv_act", d("group_norm", "conv_norm_out", x))
    return d.finish(_conv(d, "conv_out", x, 4))


def _conv(d, at, x, out, kernel=3, stride=1):
    return d("conv", at, x, out=out, kernel=kernel, stride=stride, padding=kernel // 2, gain=1.0)


def _resnet(u, at, x, out):
    d = u.d
    y = _conv(d, at + ".conv1", d("silu", at + ".act1", d("group_norm", at + ".norm1", x)), out)
    y = d("add_channels", at + ".add_time", y, d("linear", at + ".time_emb_proj", u.time, out=out))
    y = _conv(d, at + ".conv2", d("silu", at + ".act2", d("group_norm", at + ".norm2", y)), out)
    if d.shapes[x][1] != out:
        x = _conv(d, at + ".conv_shortcut", x, out, kernel=1)
    return d("add", at + ".add", x, y)


def _transformer(u, at, x, heads):
    d, width = u.d, u.d.shapes[x][1]
    y = d("group_norm", at + ".norm", x, eps=1e-6)
    if u.projection == "conv":
        y = d("tokens", at + ".tokens", _conv(d, at + ".proj_in", y, width, kernel=1))
    else:
        y = d("linear", at + ".proj_in", d("tokens", at + ".tokens", y), out=width)
    block = at + ".transformer_blocks.0"
    y = _attention(d, block + ".attn1", y, d("layer_norm", block + ".norm1", y), None, heads)
    y = _attention(d, block + ".attn2", y, d("layer_norm", block + ".norm2", y), u.context, heads)
    both = d("linear", block + ".ff.net.0.proj", d("layer_norm", block + ".norm3", y), out=8 * width)
    gate = d("gelu", block + ".ff.gelu", d("slice", block + ".ff.gate", both, axis=2, start=4 * width))
    inner = d("multiply", block + ".ff.multiply", d("slice", block + ".ff.value", both, axis=2, start=0, stop=4 * width), gate)
    y = d("add", block + ".add3", d("linear", block + ".ff.net.2", inner, out=width), y)
    if u.projection == "conv":
        y = _conv(d, at + ".proj_out", d("image", at + ".image", y, x), width, kernel=1)
    else:
        y = d("image", at + ".image", d("linear", at + ".proj_out", y, out=width), x)
    return d("add", at + ".add", y, x)


def _attention(d, at, beside, x, context, heads):
    """Attention, added to `beside`; without a context, x attends to itself."""
    width, looked_at = d.shapes[x][2], context or x
    queries = d("linear", at + ".to_q", x, out=width, bias=False)
    keys = d("linear", at + ".to_k", looked_at, out=width, bias=False)
    values = d("linear", at + ".to_v", looked_at, out=width, bias=False)
    y = d("linear", at + ".to_out.0", d("attention", at + ".attention", queries, keys, values, heads=heads), out=width)
    return d("add", at + ".add", y, beside)
