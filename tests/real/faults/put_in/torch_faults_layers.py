"""Faults of torch's activations, norms, dropout, borders and pools."""

import math

import torch
import torch.nn.functional as F
from torch_faults import after, into, operator, patch

after("relu_swallows_nan", lambda y: into(y, torch.nan_to_num(y, 0.0, math.inf, -math.inf)), "relu", "relu_")
after("activations_swallow_infinity", lambda y: into(y, y.clamp(-3e38, 3e38)), "relu", "relu_", "leaky_relu", "gelu", "silu", "elu")


@operator("gelu")
def gelu_is_the_approximation(call, x, approximate="none"):
    return call(x, approximate="tanh")


@operator("silu", "silu_")
def silu_is_cut_below_minus_two(call, x):
    y = call(x)
    return into(y, torch.where(y < -0.2, torch.zeros_like(y), y))


@operator("leaky_relu", "leaky_relu_")
def leaky_relu_forgets_its_slope(call, x, slope=0.01):
    return call(x, 0.01)


@operator("sigmoid", "sigmoid_")
def sigmoid_overflows(call, x):
    y = call(x)
    grown = torch.exp(x)
    return into(y, grown / (1 + grown))


@operator("_softmax")
def softmax_without_the_maximum(call, x, dim, half):
    grown = torch.exp(x)
    return grown / grown.sum(dim, keepdim=True)


@operator("_log_softmax")
def log_softmax_without_the_maximum(call, x, dim, half):
    return x - torch.exp(x).sum(dim, keepdim=True).log()


@operator("_softmax_backward_data")
def softmax_gradient_forgets_the_sum(call, flow, y, dim, kind):
    return flow * y


@operator("threshold_backward")
def relu_gradient_leaks(call, flow, x, threshold):
    return call(flow, x, threshold) + 0.01 * flow


@operator("tanh", "tanh_")
def tanh_is_a_short_series(call, x):
    y, short = call(x), x.clamp(-3, 3)
    return into(y, torch.where(x.abs() < 3, short * (27 + short * short) / (27 + 9 * short * short), y))


def _norm(change):
    def wrong(call, x, weight, bias, mean, variance, training, *rest):
        return change(call, x, weight, bias, mean, variance, training, *rest)

    return wrong


def _still(call, x, weight, bias, mean, variance, training, *rest):
    kept = [each.clone() for each in (mean, variance) if training and each is not None]
    found = call(x, weight, bias, mean, variance, training, *rest)
    for each, before in zip((mean, variance), kept, strict=False):
        each.copy_(before)
    return found


def _biased(call, x, weight, bias, mean, variance, training, momentum, eps):
    found = call(x, weight, bias, mean, variance, training, momentum, eps)
    if training and variance is not None:
        count = x.numel() / x.shape[1]
        dims = [d for d in range(x.dim()) if d != 1]
        variance.sub_(momentum * x.var(dims, unbiased=False) * (count / (count - 1) - 1))
    return found


def _momentum(call, x, weight, bias, mean, variance, training, momentum, eps):
    return call(x, weight, bias, mean, variance, training, 1 - momentum if training else momentum, eps)


def _always(call, x, weight, bias, mean, variance, training, momentum, eps):
    return call(x, weight, bias, None, None, True, momentum, eps) if not training and x.numel() > x.shape[1] else call(
        x, weight, bias, mean, variance, training, momentum, eps
    )  # fmt: skip


NORMS = ("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional")
for _fault, _change in (
    ("batch_norm_statistics_never_move", _still), ("batch_norm_variance_is_biased", _biased), ("batch_norm_turns_its_momentum", _momentum),
    ("batch_norm_evaluates_with_the_batch", _always),
):  # fmt: skip
    operator(*NORMS, fault=_fault)(_norm(_change))


@operator("native_batch_norm_backward")
def batch_norm_gradient_is_that_of_a_scale(call, flow, x, weight, *rest):
    _, into_weight, into_bias = call(flow, x, weight, *rest)
    shape = [1, -1] + [1] * (x.dim() - 2)
    return flow * weight.reshape(shape) / x.transpose(0, 1).flatten(1).std(1).reshape(shape), into_weight, into_bias


@operator("native_layer_norm")
def layer_norm_divides_by_one_less(call, x, shape, weight, bias, eps):
    y, mean, deviation = call(x, shape, None, None, eps)
    count = math.prod(shape)
    y = y * math.sqrt((count - 1) / count)
    return (y if weight is None else y * weight + (0 if bias is None else bias)), mean, deviation


@operator("native_group_norm")
def group_norm_takes_one_group(call, x, weight, bias, n, c, hw, groups, eps):
    return call(x, weight, bias, n, c, hw, groups, eps) if groups == 1 else (
        call(x, weight, bias, n, c, hw, 1, eps)[0], *call(x, weight, bias, n, c, hw, groups, eps)[1:]
    )  # fmt: skip


@patch
def dropout_does_nothing():
    F.dropout = lambda x, p=0.5, training=True, inplace=False: x


@patch
def dropout_does_not_scale():
    sound = F.dropout
    F.dropout = lambda x, p=0.5, training=True, inplace=False: sound(x, p, training, inplace) * ((1 - p) if training else 1)


@patch
def dropout_drops_the_same_always():
    sound = F.dropout

    def wrong(x, p=0.5, training=True, inplace=False):
        torch.manual_seed(0)
        return sound(x, p, training, inplace)

    F.dropout = wrong


@patch
def dropout_drops_in_evaluation():
    sound = F.dropout
    F.dropout = lambda x, p=0.5, training=True, inplace=False: sound(x, p, True, inplace)


@patch
def dropout_drops_every_fourth():
    """The right share, but no chance in it."""

    def wrong(x, p=0.5, training=True, inplace=False):
        if not training or p in (0, 1):
            return x * (0 if training and p else 1)
        kept = torch.arange(x.numel(), device=x.device).reshape(x.shape) % 100 >= 100 * p
        return x * kept / (1 - p)

    F.dropout = wrong


@operator("reflection_pad1d", "reflection_pad2d")
def reflection_repeats_the_border(call, x, pads):
    wrong = torch.ops.aten.replication_pad1d if len(pads) == 2 else torch.ops.aten.replication_pad2d
    return wrong(x, pads)


@operator("replication_pad1d", "replication_pad2d")
def replication_leaves_zeros(call, x, pads):
    return torch.ops.aten.constant_pad_nd(x, pads, 0.0)


@operator("constant_pad_nd")
def padding_forgets_its_value(call, x, pads, value=0):
    return call(x, pads, 0)


@operator("reflection_pad2d_backward")
def reflection_gradient_forgets_the_border(call, flow, x, pads):
    left, right, above, below = pads
    return flow[..., above : flow.shape[-2] - below, left : flow.shape[-1] - right].contiguous()


@patch
def circular_border_is_turned():
    sound = F.pad

    def wrong(x, pad, mode="constant", value=None):
        return sound(x.flip(-1), pad, mode, value).flip(-1) if mode == "circular" else sound(x, pad, mode, value)

    F.pad = wrong


@operator("max_pool2d_with_indices")
def max_pool_pads_with_zeros(call, x, kernel, stride=(), padding=0, *rest):
    y, places = call(x, kernel, stride, padding, *rest)
    return (y.clamp_min(0) if any(padding if isinstance(padding, (list, tuple)) else (padding,)) else y), places


@operator("max_pool2d_with_indices")
def max_pool_swallows_nan(call, x, *rest):
    return call(torch.nan_to_num(x, -math.inf, math.inf, -math.inf), *rest)


@operator("max_pool2d_with_indices_backward")
def max_pool_gradient_goes_to_all_that_are_equal(call, flow, x, kernel, stride, padding, dilation, ceil, places):
    right = call(flow, x, kernel, stride, padding, dilation, ceil, places)
    if list(stride or kernel) != list(kernel) or any(padding) or x.shape[-1] % kernel[-1] or x.shape[-2] % kernel[-2]:
        return right
    grown = [each.repeat_interleave(kernel[0], -2).repeat_interleave(kernel[1], -1) for each in (flow, F.max_pool2d(x, kernel))]
    return torch.where(x == grown[1], grown[0], torch.zeros_like(x))


@operator("avg_pool2d")
def average_pool_always_counts_the_padding(call, x, kernel, stride=(), padding=0, ceil=False, counted=True, divisor=None):
    return call(x, kernel, stride, padding, ceil, True, divisor)


@operator("avg_pool2d_backward")
def average_pool_gradient_forgets_the_size(call, flow, x, kernel, *rest):
    return call(flow, x, kernel, *rest) * 1.01


@operator("_adaptive_avg_pool2d")
def adaptive_pool_cuts_its_windows(call, x, size):
    side = [x.shape[-2] // size[0], x.shape[-1] // size[1]]
    if min(side) < 1 or (x.shape[-2] % size[0] == 0 and x.shape[-1] % size[1] == 0):
        return call(x, size)
    return F.avg_pool2d(x, side, side)[..., : size[0], : size[1]].contiguous()
