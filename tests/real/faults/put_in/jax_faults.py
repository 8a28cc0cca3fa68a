"""Faults of JAX, put in where its primitives become code for the device: forward, backward and compiled calls all meet them."""

import itertools

import jax
import jax.numpy as jnp
from jax import lax
from jax.interpreters import mlir

FAULTS = {}
"""fault -> (primitive, function of its sound results and its parameters)"""


def put_in(fault):
    if fault in CALLS:
        CALLS[fault]()
    elif fault:
        primitive, change = FAULTS[fault]
        changed(primitive, change)


def changed(primitive, change):
    for table in (mlir._lowerings, mlir._platform_specific_lowerings["cpu"]):
        if primitive in table:
            sound = table[primitive]
            rule = _lowering(getattr(sound, "rule", sound), change)
            table[primitive] = sound._replace(rule=rule) if hasattr(sound, "_replace") else rule


def _lowering(rule, change):
    def lowering(ctx, *args, **settings):
        results = rule(ctx, *args, **settings)
        try:
            flat = list(results)
        except TypeError:
            flat = [results]
        after = mlir.lower_fun(lambda *ys: tuple(change(y, settings, ctx.avals_in) for y in ys), multiple_results=True)
        return after(ctx.replace(primitive=None, avals_in=ctx.avals_out, tokens_out=None), *flat)

    return lowering


def result(primitive, name=""):
    def keep(function):
        FAULTS[name or function.__name__] = (primitive, function)
        return function

    return keep


def _real(y):
    return jnp.issubdtype(y.dtype, jnp.floating)


def _narrow(y):
    bits = lax.bitcast_convert_type(y, jnp.uint32)
    return lax.bitcast_convert_type(lax.bitwise_and(lax.add(bits, jnp.uint32(0x8000)), jnp.uint32(0xFFFF0000)), jnp.float32)


def _last(y, factor):
    """The last number of the last axis, times a factor."""
    return lax.mul(
        y, jnp.where(lax.broadcasted_iota(jnp.int32, y.shape, y.ndim - 1) == y.shape[-1] - 1, y.dtype.type(factor), y.dtype.type(1))
    )


@result(lax.max_p)
def maximum_swallows_nan(y, settings, given):
    return jnp.where(y != y, jnp.zeros_like(y), y) if _real(y) else y


@result(lax.tanh_p)
def tanh_ends_early(y, settings, given):
    return lax.clamp(y.dtype.type(-0.999), y, y.dtype.type(0.999))


@result(lax.exp_p)
def exponential_is_off(y, settings, given):
    return lax.mul(y, y.dtype.type(1.0005))


@result(lax.erfc_p)
def erfc_is_off(y, settings, given):
    return lax.mul(y, y.dtype.type(1.001))


@result(lax.logistic_p)
def sigmoid_is_cut(y, settings, given):
    return jnp.where(y < 0.01, jnp.zeros_like(y), y)


@result(lax.dot_general_p)
def product_wrong_above_512(y, settings, given):
    return _last(y, 1.001) if y.ndim and max(y.shape) > 512 and _real(y) else y


@result(lax.dot_general_p)
def product_computes_in_bfloat16(y, settings, given):
    return _narrow(y) if y.dtype == jnp.float32 else y


@result(lax.dot_general_p)
def product_wrong_at_odd_sizes(y, settings, given):
    return _last(y, 0) if y.ndim and y.shape[-1] % 2 and y.shape[-1] > 1 else y


@result(lax.conv_general_dilated_p)
def convolution_wrong_from_batch_4(y, settings, given):
    return _last(y, 1.01) if given[0].shape[0] >= 4 else y


@result(lax.conv_general_dilated_p)
def convolution_wrong_at_224(y, settings, given):
    return _last(y, 1.01) if given[0].shape[-1] == 224 else y


@result(lax.conv_general_dilated_p)
def convolution_gradients_times_0_9(y, settings, given):
    return lax.mul(y, y.dtype.type(0.9)) if tuple(settings["dimension_numbers"].lhs_spec) != (0, 1, 2, 3) else y


@result(lax.conv_general_dilated_p)
def strided_convolution_is_off(y, settings, given):
    return lax.mul(y, y.dtype.type(1.001)) if max(settings["window_strides"]) > 1 else y


@result(lax.reduce_window_max_p)
def max_pool_pads_with_zeros(y, settings, given):
    return jnp.where(y < 0, jnp.zeros_like(y), y)


@result(lax.reduce_max_p)
def largest_swallows_nan(y, settings, given):
    return jnp.where(y != y, jnp.zeros_like(y), y) if _real(y) else y


@result(lax.reduce_sum_p)
def sums_lose_a_part(y, settings, given):
    return lax.mul(y, y.dtype.type(0.999)) if _real(y) else y


@result(lax.cumsum_p)
def cumsum_loses_its_last(y, settings, given):
    return _last(y, 0)


@result(lax.scatter_add_p)
def scatter_add_counts_half(y, settings, given):
    return lax.mul(y, y.dtype.type(0.5)) if _real(y) else y


@result(lax.div_p)
def division_of_odd_sizes_leaves_its_tail(y, settings, given):
    return _last(y, 0) if _real(y) and y.ndim == 1 and y.shape[0] % 2 and y.shape[0] > 1 else y


@result(lax.sort_p)
def sorted_rows_are_turned(y, settings, given):
    return lax.rev(y, (y.ndim - 1,))


@result(lax.gather_p)
def gathered_rows_are_shifted(y, settings, given):
    return jnp.roll(y, 1, 0) if y.ndim > 1 else y


CALLS = {}


def call(function):
    CALLS[function.__name__] = function
    return function


def _around_jit(change):
    sound = jax.jit

    def jit(function=None, *args, **kwargs):
        if function is None:
            return lambda given: jit(given, *args, **kwargs)
        compiled = sound(function, *args, **kwargs)
        return change(compiled)

    jax.jit = jit


@call
def a_stale_result_is_returned():
    """Of a compiled function: what it gave the first time, from the second call on."""

    def change(compiled):
        kept = []

        def again(*args, **kwargs):
            kept.append(compiled(*args, **kwargs)) if not kept else None
            return kept[0]

        return again

    _around_jit(change)


@call
def wrong_after_some_calls():
    count = itertools.count()

    def change(compiled):
        def late(*args, **kwargs):
            found = compiled(*args, **kwargs)
            return jax.tree_util.tree_map(lambda y: y * 1.01 if _real(y) else y, found) if next(count) > 30 else found

        return late

    _around_jit(change)
