"""Faults of torch, put in below autograd, where the kernels of a device are, or into its Python functions and optimisers.

A fault of operators is a function of (call, arguments): what the operator gives instead. `call` is the sound kernel.
"""

import functools
import itertools
import math
import time

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

OPERATORS, PATCHES = {}, {}
"""fault -> {operator: function}; fault -> function that changes torch's Python."""


def put_in(fault):
    if fault in PATCHES:
        PATCHES[fault]()
    elif fault in OPERATORS:
        Faulty(OPERATORS[fault]).__enter__()
    elif fault:
        raise LookupError(f"there is no fault of torch named {fault}")


class Faulty(TorchDispatchMode):
    def __init__(self, operators):
        super().__init__()
        self.operators = operators

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name, kwargs = func._schema.name.removeprefix("aten::"), kwargs or {}
        wrong = self.operators.get(name)
        return func(*args, **kwargs) if wrong is None else wrong(func, *args, **kwargs)


def operator(*names, fault=""):
    def keep(function):
        for name in names:
            OPERATORS.setdefault(fault or function.__name__, {})[name] = function
        return function

    return keep


def patch(function):
    PATCHES[function.__name__] = function
    return function


def after(fault, change, *names):
    """The sound result of these operators, changed."""

    def wrong(call, *args, **kwargs):
        return change(call(*args, **kwargs))

    operator(*names, fault=fault)(wrong)


def changed_first(change):
    """The first of several results, changed in place for operators that write into what they are given."""
    return lambda found: (change(found[0]), *found[1:])


def into(found, wrong):
    """The result with these numbers, whether it is a new tensor or one that was written into."""
    return found.copy_(wrong)


# Activations

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


# Normalisation and dropout


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


# Borders, pools


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


# Convolutions


def _convolution(fault, when, change):
    def wrong(call, x, weight, bias, stride, padding, dilation, transposed, *rest):
        y = call(x, weight, bias, stride, padding, dilation, transposed, *rest)
        return change(y) if when(x, weight, stride, dilation, transposed, rest) else y

    operator("convolution", fault=fault)(wrong)


def _last_channel(y):
    y = y.clone()
    y[:, -1] *= 1.01
    return y


_convolution("convolution_wrong_from_batch_4", lambda x, *_: x.shape[0] >= 4, _last_channel)
_convolution("convolution_wrong_at_224", lambda x, *_: x.shape[-1] == 224, _last_channel)
_convolution("convolution_wrong_with_stride", lambda x, w, stride, *_: max(stride) > 1, lambda y: y * 1.001)
_convolution("convolution_wrong_at_the_last_pixel", lambda x, *_: x.shape[-1] % 2 == 1,
             lambda y: y * (torch.arange(y.shape[-1]) < y.shape[-1] - 1))  # fmt: skip
_convolution(
    "depthwise_convolution_takes_one_filter",
    lambda x, w, s, d, t, rest: rest[-1] == x.shape[1] > 1,
    lambda y: y[:, :1].expand_as(y).clone(),
)
_convolution("dilated_convolution_is_off", lambda x, w, s, dilation, *_: max(dilation) > 1, lambda y: y.roll(1, -1))
_convolution("transposed_convolution_is_off", lambda x, w, s, d, transposed, rest: transposed, lambda y: y.roll(1, -1))
_convolution("convolution_has_noise", lambda *_: True, lambda y: y * (1 + 1e-3 * torch.sin(torch.arange(y.numel()) * 1.7).reshape(y.shape)))


@operator("convolution")
def channels_are_swapped_where_memory_is_not_in_order(call, x, *rest):
    return call(x if x.is_contiguous() else x.flip(1), *rest)


@operator("convolution")
def convolution_computes_in_bfloat16(call, x, weight, *rest):
    return call(x.bfloat16().to(x.dtype), weight.bfloat16().to(weight.dtype), *rest)


_kept = {}


@operator("convolution")
def convolution_keeps_old_weights(call, x, weight, *rest):
    """A layout of the weights that is made once for each tensor, and not again when it changes."""
    old = _kept.setdefault((weight.data_ptr(), weight.shape), weight.clone())
    return call(x, old, *rest)


def _backward(fault, change):
    def wrong(call, *args):
        return change([each if each is None else each for each in call(*args)])

    operator("convolution_backward", fault=fault)(wrong)


def _part(number, change):
    def changed(found):
        found[number] = None if found[number] is None else change(found[number])
        return tuple(found)

    return changed


_backward("convolution_gradients_times_0.9", lambda found: tuple(None if each is None else each * 0.9 for each in found))
_backward("convolution_weight_gradient_has_its_sign_turned", _part(1, torch.neg))
_backward("convolution_weight_gradient_is_shuffled", _part(1, lambda g: g.flip(0)))
_backward(
    "convolution_weight_gradient_is_transposed", _part(1, lambda g: g.transpose(-1, -2).contiguous() if g.shape[-1] == g.shape[-2] else g)
)
_backward("convolution_weight_gradient_is_zero", _part(1, torch.zeros_like))
_backward("convolution_input_gradient_is_off", _part(0, lambda g: g.roll(1, -1)))
_backward("bias_gradient_is_lost", _part(2, torch.zeros_like))


# Products


def _product(fault, when, change):
    def wrong(call, *args, **kwargs):
        y = call(*args, **kwargs)
        return change(y) if when(y, args) else y

    operator("mm", "addmm", fault=fault)(wrong)


def _last_row(y):
    y = y.clone()
    y[-1] *= 1.001
    return y


_product("product_wrong_above_512", lambda y, args: min(args[-1].shape[0], max(y.shape)) > 512, _last_row)
_product(
    "product_wrong_at_odd_sizes",
    lambda y, args: y.shape[-1] % 2 == 1 and y.shape[-1] > 1,
    lambda y: torch.cat((y[:, :-1], y[:, -1:] * 0), 1),
)
_calls = itertools.count()
_product("product_wrong_after_100_calls", lambda y, args: next(_calls) > 100, lambda y: y * 1.01)


@operator("mm")
def product_computes_in_bfloat16(call, a, b):
    return call(a.bfloat16().to(a.dtype), b.bfloat16().to(b.dtype))


@operator("mm")
def product_computes_in_tf32(call, a, b):
    def narrow(x):
        return (x.view(torch.int32) + 4096 & ~8191).view(torch.float32) if x.dtype == torch.float32 else x

    return call(narrow(a.contiguous()), narrow(b.contiguous()))


@operator("addmm")
def addmm_forgets_its_factors(call, c, a, b, beta=1, alpha=1):
    return call(c, a, b)


@operator("bmm")
def bmm_takes_the_first_of_the_batch(call, a, b):
    return call(a, b[:1].expand_as(b))


@operator("mm")
def product_of_a_transposed_matrix_is_off(call, a, b):
    return call(a, b if b.is_contiguous() or b.shape[0] != b.shape[1] else b.t().contiguous().t().roll(1, 0)) if b.is_contiguous() else call(
        a, b.contiguous().roll(1, 1)
    )  # fmt: skip


@operator("mm")
def a_stale_result_is_returned(call, a, b, _kept={}):  # noqa: B006 - it is to be kept
    """Once for each three calls of a shape: the result of the call before."""
    key = (a.shape, b.shape)
    count, before = _kept.get(key, (0, None))
    found = before if before is not None and count % 3 == 2 else call(a, b)
    _kept[key] = (count + 1, found.clone())
    return found


# Indices, order, reductions, whole numbers


@operator("index_add", "index_add_")
def index_add_loses_duplicates(call, x, dim, index, source, alpha=1):
    found = x.clone()
    part = [slice(None)] * dim + [index]
    found[tuple(part)] = x[tuple(part)] + alpha * source
    return x.copy_(found) if call._schema.name.endswith("_") else found


@operator("scatter_add", "scatter_add_")
def scatter_add_loses_duplicates(call, x, dim, index, source):
    found = x.scatter(dim, index, x.gather(dim, index) + source)
    return x.copy_(found) if call._schema.name.endswith("_") else found


@operator("index_put", "index_put_", "_index_put_impl_")
def index_put_does_not_accumulate(call, x, index, values, accumulate=False, *rest):
    return call(x, index, values, False, *rest)


@operator("embedding_dense_backward")
def embedding_gradient_loses_duplicates(call, flow, index, count, padding, scale):
    found = torch.zeros(count, flow.shape[-1], dtype=flow.dtype)
    found[index.reshape(-1)] = flow.reshape(-1, flow.shape[-1])
    return found


@operator("embedding_dense_backward")
def embedding_gradient_forgets_padding(call, flow, index, count, padding, scale):
    return call(flow, index, count, -1, scale)


@operator("where")
def where_adds_both_sides(call, condition, a, b):
    return condition * a + ~condition * b if a.is_floating_point() else call(condition, a, b)


@operator("sort")
def sort_is_not_stable(call, x, *args, dim=-1, descending=False, **kwargs):
    values, places = call(x.flip(-1), *args, dim=dim, descending=descending, **kwargs) if x.dim() == 1 else call(
        x, *args, dim=dim, descending=descending, **kwargs
    )  # fmt: skip
    return values, (x.shape[-1] - 1 - places if x.dim() == 1 else places)


@operator("max", "maximum", "amax")
def max_swallows_nan(call, x, *rest):
    return call(torch.nan_to_num(x, -math.inf, math.inf, -math.inf) if x.is_floating_point() else x, *rest)


@operator("cumsum")
def cumsum_begins_again_after_1024(call, x, dim, **kwargs):
    y = call(x, dim, **kwargs)
    return torch.cat([call(part, dim, **kwargs) for part in x.split(1024, dim)], dim) if x.shape[dim] > 1024 else y


@operator("sum")
def sum_loses_the_last_of_odd_sizes(call, x, *rest, **kwargs):
    return call(x[:-1] if x.dim() == 1 and x.shape[0] % 8 == 1 and x.shape[0] > 8 else x, *rest, **kwargs)


@operator("sum")
def sum_of_16_bit_adds_in_16_bit(call, x, *rest, **kwargs):
    y = call(x, *rest, **kwargs)
    return y.clamp(max=256) if x.dtype == torch.bfloat16 else y


@operator("add", "add_")
def the_odd_tail_of_a_sum_is_left(call, x, y, **kwargs):
    found = call(x, y, **kwargs)
    if found.is_floating_point() and found.numel() % 8 and found.numel() > 8 and found.is_contiguous():
        found.view(-1)[-1] = 0
    return found


@operator("div", "div_")
def floor_division_cuts(call, x, y, rounding_mode=None):
    return call(x, y) if rounding_mode is None else call(x, y, rounding_mode="trunc")


@operator("remainder")
def remainder_has_the_sign_of_c(call, x, y):
    return torch.fmod(x, y)


@operator("_to_copy", "to")
def conversion_rounds(call, x, **kwargs):
    kind = kwargs.get("dtype")
    whole = kind is not None and not kind.is_floating_point and kind != torch.bool and x.is_floating_point()
    return call(x.round() if whole else x, **kwargs)


@operator("_to_copy")
def bfloat16_is_cut(call, x, **kwargs):
    if kwargs.get("dtype") == torch.bfloat16 and x.dtype == torch.float32:
        x = (x.contiguous().view(torch.int32) & -65536).view(torch.float32)
    return call(x, **kwargs)


@operator("clone")
def a_strided_copy_takes_what_lies_next(call, x, **kwargs):
    if x.is_contiguous() or x.dim() < 2 or x.storage_offset():
        return call(x, **kwargs)
    return call(x.as_strided(x.shape, torch.empty(x.shape, device="meta").stride()), **kwargs)


@operator("var", "std")
def variance_divides_by_all(call, x, dim=None, **kwargs):
    kwargs.pop("correction", None)
    return call(x, dim, correction=0) if dim is not None else call(x, dim, correction=0)


# Attention, losses


@patch
def attention_forgets_its_mask():
    sound = F.scaled_dot_product_attention
    F.scaled_dot_product_attention = lambda q, k, v, attn_mask=None, *rest, **more: sound(q, k, v, None, *rest, **more)


@patch
def attention_sees_one_word_ahead():
    sound = F.scaled_dot_product_attention

    def wrong(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, **more):
        if is_causal:
            attn_mask, is_causal = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(1), False
        return sound(q, k, v, attn_mask, dropout_p, is_causal, **more)

    F.scaled_dot_product_attention = wrong


@operator("nll_loss_forward", "nll_loss_backward")
def loss_counts_what_it_should_ignore(call, *args):
    args = list(args)
    place = -1 if call._schema.name.endswith("forward") else -2
    args[place] = -100
    return call(*args)


@patch
def label_smoothing_is_ignored():
    sound = F.cross_entropy
    F.cross_entropy = lambda *args, label_smoothing=0.0, **more: sound(*args, **more)


@patch
def class_weights_are_ignored():
    sound = F.cross_entropy
    F.cross_entropy = lambda x, y, weight=None, *rest, **more: sound(x, y, None, *rest, **more)


@operator("mse_loss_backward")
def loss_gradient_is_half(call, *args):
    return call(*args) * 0.5


# Optimisers


def _settings(name, **forced):
    kind = getattr(torch.optim, name)
    sound = kind.__init__

    @functools.wraps(sound)
    def wrong(self, params, *args, **settings):
        sound(self, params, *args, **{**settings, **{key: value for key, value in forced.items() if key in settings}})

    kind.__init__ = wrong


PATCHES["momentum_is_ignored"] = lambda: _settings("SGD", momentum=0.0, nesterov=False)
PATCHES["nesterov_is_ignored"] = lambda: _settings("SGD", nesterov=False)
PATCHES["weight_decay_is_ignored"] = lambda: (_settings("SGD", weight_decay=0.0), _settings("Adam", weight_decay=0.0))


@patch
def adamw_decays_like_adam():
    sound = torch.optim.AdamW.__init__

    def wrong(self, *args, **settings):
        sound(self, *args, **settings)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = False

    torch.optim.AdamW.__init__ = wrong


@patch
def adam_forgets_its_second_moment():
    _settings("Adam", betas=(0.9, 0.0))
    sound = torch.optim.Adam.__init__

    def wrong(self, params, *args, **settings):
        sound(self, params, *args, **{**settings, "betas": (0.9, 0.5)})

    torch.optim.Adam.__init__ = wrong


@patch
def gradients_are_not_clipped():
    torch.nn.utils.clip_grad_norm_ = lambda parameters, *args, **more: torch.cat([p.grad.reshape(-1) for p in parameters]).norm()


@patch
def every_other_step_is_left_out():
    sound, count = torch.optim.SGD.step, itertools.count()
    torch.optim.SGD.step = lambda self, *args: None if next(count) % 2 else sound(self, *args)


@patch
def infinite_gradients_are_not_skipped():
    torch.amp.GradScaler._maybe_opt_step = lambda self, optimizer, state, *args, **more: optimizer.step(*args, **more)


# Random numbers

after("random_numbers_are_shifted", lambda y: y.add_(0.1), "normal_", "randn")
after("uniform_numbers_reach_two", lambda y: y.mul_(2), "uniform_", "rand")

# Time and steps


def _steps(fault, change):
    def put():
        sound, began, count = torch.nn.Module.__call__, time.monotonic(), itertools.count()
        depth = [0]

        def wrong(self, *args, **kwargs):
            depth[0] += 1
            try:
                found = sound(self, *args, **kwargs)
            finally:
                depth[0] -= 1
            return found if depth[0] else change(found, next(count), time.monotonic() - began)

        torch.nn.Module.__call__ = wrong

    PATCHES[fault] = put


_leaked = []


def _leak(found, step, age):
    _leaked.append(torch.ones(16 << 20))
    return found


def _slow(found, step, age, seen=[]):  # noqa: B006
    """Three times slower, two seconds after the first step."""
    now = time.monotonic()
    seen.append(now)
    if now - seen[0] > 2 and len(seen) > 2:
        gaps = sorted(b - a for a, b in zip(seen[1:20], seen[2:21], strict=False))
        time.sleep(2 * gaps[len(gaps) // 2] if gaps else 0)
    return found


def _not_a_number(found, step, age):
    return found * (math.nan if step >= 12 else 1) if isinstance(found, torch.Tensor) else found


def _hang(found, step, age):
    if step == 12:
        time.sleep(3600)
    return found


def _drift(found, step, age):
    return found * (1 + 0.001 * step) if isinstance(found, torch.Tensor) else found


_steps("leaks_64_mb_a_step", _leak)
_steps("slower_after_two_seconds", _slow)
_steps("nan_after_some_steps", _not_a_number)
_steps("hangs_at_a_step", _hang)
_steps("results_drift_from_step_to_step", _drift)
