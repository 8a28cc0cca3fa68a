"""Faults of torch's convolutions and matrix products, forward and backward."""

import itertools

import torch
from torch_faults import operator


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
        return change(list(call(*args)))

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
    return call(a, b if b.is_contiguous() else b.contiguous().roll(1, 1))


@operator("mm")
def a_stale_result_is_returned(call, a, b, _kept={}):  # noqa: B006 - it is to be kept
    """Once for each three calls of a shape: the result of the call before."""
    key = (a.shape, b.shape)
    count, before = _kept.get(key, (0, None))
    found = before if before is not None and count % 3 == 2 else call(a, b)
    _kept[key] = (count + 1, found.clone())
    return found
