"""Faults of torch's indices, order, reductions, whole numbers, conversions and random numbers."""

import math

import torch
from torch_faults import after, operator


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
    return call(x, dim, correction=0)


after("random_numbers_are_shifted", lambda y: y.add_(0.1), "normal_", "randn")
after("uniform_numbers_reach_two", lambda y: y.mul_(2), "uniform_", "rand")
