"""Operators of networks: convolutions, products, norms, activations, pools, padding, losses, embeddings, attention, recurrent layers."""

import torch
import torch.nn.functional as F
from torch_operator_inputs import SINGLE, WIDE, I, M, P, T, Table


def cases():
    return (
        _convolutions()
        + _products()
        + _norms()
        + _activations()
        + _pools()
        + _padding()
        + _losses()
        + _attention()
        + _recurrent()
        + _mixed()
    )


def _convolutions():
    t = Table("convolution")
    x, w = T(2, 8, 12, 12), T(16, 8, 3, 3)
    t.add("conv2d", lambda x, w, b: F.conv2d(x, w, b, padding=1), x, w, T(16))
    t.add("conv2d_stride2", lambda x, w: F.conv2d(x, w, stride=2, padding=1), x, w)
    t.add("conv2d_dilated", lambda x, w: F.conv2d(x, w, padding=2, dilation=2), x, w)
    t.add("conv2d_1x1", lambda x, w: F.conv2d(x, w), x, T(16, 8, 1, 1))
    t.add("conv2d_7x7_stride2", lambda x, w: F.conv2d(x, w, stride=2, padding=3), T(2, 3, 28, 28), T(8, 3, 7, 7))
    t.add("conv2d_grouped", lambda x, w: F.conv2d(x, w, padding=1, groups=4), x, T(16, 2, 3, 3))
    t.add("conv2d_depthwise", lambda x, w: F.conv2d(x, w, padding=1, groups=8), x, T(8, 1, 3, 3))
    t.add("conv2d_depthwise_stride2", lambda x, w: F.conv2d(x, w, stride=2, padding=1, groups=8), x, T(8, 1, 3, 3))
    t.add("conv2d_channels_last", lambda x, w: F.conv2d(x.contiguous(memory_format=torch.channels_last), w, padding=1), x, w)
    t.add("conv1d", lambda x, w: F.conv1d(x, w, padding=2), T(2, 8, 32), T(16, 8, 5))
    t.add("conv3d", lambda x, w: F.conv3d(x, w, padding=1), T(2, 4, 6, 6, 6), T(8, 4, 3, 3, 3))
    t.add("conv_transpose1d", lambda x, w: F.conv_transpose1d(x, w, stride=2, padding=1), T(2, 8, 16), T(8, 4, 4))
    t.add("conv_transpose2d", lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1), x, T(8, 4, 3, 3))
    t.add("conv_transpose3d", lambda x, w: F.conv_transpose3d(x, w, stride=2), T(1, 4, 4, 4, 4), T(4, 3, 2, 2, 2))
    t.add("unfold", lambda x: F.unfold(x, 3, padding=1), x)
    t.add("fold", lambda x: F.fold(x, (12, 12), 3, padding=1), T(2, 72, 144))
    return t


def _products():
    t = Table("product")
    t.add("linear", lambda x, w, b: F.linear(x, w, b), T(8, 64), T(32, 64), T(32))
    t.add("matmul", torch.matmul, T(48, 64), T(64, 40))
    t.add("matmul_vector", torch.matmul, T(48, 64), T(64))
    t.add("bmm", torch.bmm, T(4, 16, 24), T(4, 24, 20))
    t.add("addmm", lambda b, x, w: torch.addmm(b, x, w, beta=0.5, alpha=2.0), T(40), T(48, 64), T(64, 40))
    t.add("baddbmm", torch.baddbmm, T(4, 16, 20), T(4, 16, 24), T(4, 24, 20))
    t.add("einsum", lambda q, k: torch.einsum("bhid,bhjd->bhij", q, k), T(2, 4, 10, 16), T(2, 4, 12, 16))
    t.add("outer", torch.outer, T(20), T(30))
    return t


def _norms():
    t = Table("norm")
    x = T(4, 8, 6, 6)
    t.add("batch_norm_training", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), x, P(8), T(8), slack=4.0)
    t.add("batch_norm_inference", lambda x, m, v, w, b: F.batch_norm(x, m.detach(), v.detach(), w, b), x, T(8), P(8), P(8), T(8), slack=4.0)
    t.add("layer_norm", lambda x, w, b: F.layer_norm(x, (32,), w, b), T(6, 32), P(32), T(32), slack=4.0)
    t.add("group_norm", lambda x, w, b: F.group_norm(x, 4, w, b), x, P(8), T(8), slack=4.0)
    t.add("instance_norm", lambda x: F.instance_norm(x), x, slack=4.0)
    t.add("local_response_norm", lambda x: F.local_response_norm(x, 5), x, slack=2.0)
    t.add("normalize", lambda x: F.normalize(x, dim=1), T(6, 32), slack=2.0)
    t.add("rms_norm", lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w, T(6, 32), P(32), slack=4.0)
    return t


def _activations():
    t = Table("activation")
    x = T(4, 8, 10)
    for name in ("relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish", "softplus", "hardswish", "hardsigmoid"):
        t.add(name, lambda x, name=name: getattr(F, name)(x * 3), x, slack=2.0)
    t.add("gelu_tanh", lambda x: F.gelu(x * 3, approximate="tanh"), x, slack=2.0)
    t.add("sigmoid", torch.sigmoid, x)
    t.add("tanh", torch.tanh, x)
    t.add("prelu", F.prelu, x, P(8))
    t.add("glu", lambda x: F.glu(x, dim=1), x, slack=2.0)
    t.add("softmax", lambda x: F.softmax(x * 4, dim=-1), T(6, 50), slack=4.0)
    t.add("log_softmax", lambda x: F.log_softmax(x * 4, dim=-1), T(6, 50), slack=4.0)
    return t


def _pools():
    t = Table("pool")
    x = T(2, 6, 13, 13)
    t.add("max_pool2d", lambda x: F.max_pool2d(x, 3, stride=2, padding=1), x)
    t.plain("max_pool2d_ceil", lambda x: F.max_pool2d(x, 2, stride=2, ceil_mode=True), x)
    t.add("avg_pool2d", lambda x: F.avg_pool2d(x, 3, stride=2, padding=1), x)
    t.add("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (5, 5)), x)
    t.add("adaptive_avg_pool2d_1", lambda x: F.adaptive_avg_pool2d(x, 1), x)
    t.add("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (4, 4)), x)
    t.add("max_pool1d", lambda x: F.max_pool1d(x, 3, stride=2), T(2, 6, 31))
    t.add("avg_pool1d", lambda x: F.avg_pool1d(x, 3, stride=2), T(2, 6, 31))
    t.add("max_pool3d", lambda x: F.max_pool3d(x, 2), T(1, 3, 6, 6, 6))
    t.add("avg_pool3d", lambda x: F.avg_pool3d(x, 2), T(1, 3, 6, 6, 6))
    return t


def _padding():
    t = Table("padding and resizing")
    x = T(2, 4, 9, 9)
    t.add("zero_pad2d", lambda x: F.pad(x, (1, 2, 3, 0)), x)
    for mode in ("reflect", "replicate", "circular"):
        t.add(mode + "_pad2d", lambda x, mode=mode: F.pad(x, (3, 3, 2, 2), mode=mode), x)
    t.add("reflect_pad1d", lambda x: F.pad(x, (4, 4), mode="reflect"), T(2, 4, 20))
    for mode in ("nearest", "bilinear", "bicubic"):
        corner = {} if mode == "nearest" else {"align_corners": False}
        t.add("interpolate_" + mode, lambda x, m=mode, c=corner: F.interpolate(x, scale_factor=2, mode=m, **c), x, slack=2.0)
    t.add("interpolate_aligned", lambda x: F.interpolate(x, size=(15, 6), mode="bilinear", align_corners=True), x, slack=4.0)
    t.add("interpolate_linear", lambda x: F.interpolate(x, scale_factor=2, mode="linear", align_corners=False), T(2, 4, 9), slack=2.0)
    t.add(
        "interpolate_trilinear",
        lambda x: F.interpolate(x, scale_factor=2, mode="trilinear", align_corners=False),
        T(1, 2, 4, 4, 4),
        slack=2.0,
    )
    t.add("grid_sample", lambda x, g: F.grid_sample(x, g * 0.7, align_corners=False), x, T(2, 5, 5, 2), dtypes=WIDE, slack=10.0)
    t.add("affine_grid", lambda m: F.affine_grid(m, (2, 3, 5, 5), align_corners=False), T(2, 2, 3), dtypes=WIDE)
    t.add("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), x)
    return t


def _losses():
    t = Table("loss")
    x, y = T(8, 10), I(10, 8)
    t.add("cross_entropy", lambda x, y: F.cross_entropy(x * 3, y), x, y, slack=2.0)
    t.add("cross_entropy_smoothed", lambda x, y: F.cross_entropy(x * 3, y, label_smoothing=0.1), x, y, slack=2.0)
    t.add("nll_loss_2d", lambda x, y: F.nll_loss(x, y), T(2, 5, 6, 6), I(5, 2, 6, 6), slack=4.0)
    t.add("mse_loss", lambda x, y: F.mse_loss(x, y.detach()), x, P(8, 10), slack=2.0)
    t.add("l1_loss", lambda x, y: F.l1_loss(x, y.detach()), x, P(8, 10), slack=2.0)
    t.add("smooth_l1_loss", lambda x, y: F.smooth_l1_loss(x, y.detach()), x, P(8, 10), slack=2.0)
    t.add("bce_with_logits", lambda x, y: F.binary_cross_entropy_with_logits(x, torch.sigmoid(y.detach())), x, P(8, 10), slack=2.0)
    t.add("kl_div", lambda x, y: F.kl_div(F.log_softmax(x, 1), F.softmax(y.detach(), 1), reduction="batchmean"), x, P(8, 10), slack=50.0)
    t.add("ctc_loss", _ctc, T(12, 2, 6), dtypes=WIDE, slack=4.0)
    return t


def _ctc(x):
    targets = torch.tensor([[1, 2, 3], [2, 2, 4]], device=x.device)
    lengths = torch.tensor([12, 12]), torch.tensor([3, 3])
    return F.ctc_loss(F.log_softmax(x, 2), targets, *lengths)


def _attention():
    t = Table("embedding and attention")
    q = T(2, 4, 12, 16)
    t.add("embedding", lambda i, w: F.embedding(i, w), I(20, 3, 7), T(20, 16))
    t.add("embedding_bag", lambda i, w: F.embedding_bag(i, w, mode="mean"), I(20, 3, 7), T(20, 16))
    t.add("scaled_dot_product_attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), q, q, q, slack=4.0)
    t.add("attention_causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), q, q, q, slack=4.0)
    t.add("attention_masked", _masked, q, M(12, 12), slack=4.0)
    t.add("attention_plain", lambda q, k, v: torch.softmax(q @ k.transpose(-2, -1) / 4.0, -1) @ v, q, q, q, slack=4.0)
    return t


def _masked(q, mask):
    return F.scaled_dot_product_attention(q, q, q, attn_mask=mask | torch.eye(12, dtype=torch.bool, device=mask.device))


def _recurrent():
    t = Table("recurrent")
    for name, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1)):
        weights = T(gates * 12, 8), T(gates * 12, 12), T(gates * 12), T(gates * 12)
        t.add(name, lambda x, h, *w, n=name: _recur(n, x, h, *w), T(5, 3, 8), T(1, 3, 12), *weights, dtypes=WIDE, slack=8.0)
    return t


def _recur(name, x, state, *weights):
    start = (state, state) if name == "lstm" else state
    return getattr(torch, name)(x, start, list(weights), True, 1, 0.0, False, False, False)[0]


def _mixed():
    """Operators under autocast, with inputs in float32 and the computation in 16 bit."""
    t = Table("mixed precision")
    t.add("autocast_linear", lambda x, w: F.linear(x, w).float(), T(8, 64), T(32, 64), dtypes=SINGLE, autocast=True)
    t.add("autocast_conv2d", lambda x, w: F.conv2d(x, w, padding=1).float(), T(2, 8, 12, 12), T(16, 8, 3, 3), dtypes=SINGLE, autocast=True)
    t.add("autocast_matmul_softmax", lambda a, b: F.softmax(a @ b, -1).float(), T(8, 16), T(16, 8), dtypes=SINGLE, autocast=True)
    return t
