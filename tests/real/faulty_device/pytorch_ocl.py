"""A device called `ocl` that is the processor behind a wrapper, for tests: a real device to torch, with tensors of its own.

It computes with the processor's operators where no record sees them: that is its 'own' arithmetic. FAULTY_DEVICE names faults, by comma:
conv-off (convolutions 1 % too large), conv-nan, conv-infinite, conv-constant, zero-gradient (of their weights),
silent-fallback (tanh is computed by the processor in the open),
loud-fallback (sigmoid, with the usual warning), refuses (cumsum), crash (erf ends the process), hang (sort).
"""

import os
import signal
import time
import warnings

import torch
from torch.utils import _pytree
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

FAULTS = os.environ.get("FAULTY_DEVICE", "").split(",")
_setup_privateuseone_for_python_backend("ocl")


RAW = {}
"""Storage to the tensor of the processor that it stands for: torch copies tensors where Python is not asked, and storages go along."""


class Held(torch.Tensor):
    @staticmethod
    def __new__(cls, raw):
        raw = raw.contiguous()
        made = torch._C._acc.create_empty_tensor(raw.shape, raw.dtype)
        made.__class__ = Held
        storage = made.untyped_storage()
        RAW[storage._cdata] = (raw, storage)
        return made

    def __init__(self, raw):
        """Everything is in __new__."""


def raw(x):
    """Views that torch made by itself share the storage and have shape, stride and offset of their own."""
    whole = RAW[x.untyped_storage()._cdata][0]
    return whole if whole.shape == x.shape and x.is_contiguous() else whole.as_strided(x.size(), x.stride(), x.storage_offset())


class Unseen:
    def __enter__(self):
        torch._C._autograd._enable_record_function(False)

    def __exit__(self, *_):
        torch._C._autograd._enable_record_function(True)


def opened(x):
    if isinstance(x, torch.device):
        return torch.device("cpu")
    return raw(x) if isinstance(x, torch.Tensor) and x.device.type == "ocl" else x


def computed(op, args, kwargs):
    """`op` on what the wrappers hold; what comes out is wrapped, or is one of the wrappers that went in."""
    held = [x for x in _pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor) and x.device.type == "ocl"]
    found = op(*_pytree.tree_map(opened, args), **_pytree.tree_map(opened, kwargs))

    def closed(x):
        same = [wrapper for wrapper in held if raw(wrapper) is x]
        return same[0] if same else Held(x) if isinstance(x, torch.Tensor) else x

    return _pytree.tree_map(closed, found)


def anything(op, *args, **kwargs):
    name = op._schema.name
    if name == "aten::tanh" and "silent-fallback" in FAULTS:
        return computed(op, args, kwargs)
    if name == "aten::sigmoid" and "loud-fallback" in FAULTS:
        warnings.warn(
            "The operator 'aten::sigmoid.out' is not currently supported on the ocl backend and will fall back to run", stacklevel=1
        )
    if name == "aten::cumsum" and "refuses" in FAULTS:
        raise NotImplementedError("Could not run 'aten::cumsum' with arguments from the 'ocl' backend.")
    if name == "aten::erf" and "crash" in FAULTS:
        os.kill(os.getpid(), signal.SIGSEGV)
    if name == "aten::sort" and "hang" in FAULTS:
        time.sleep(600)
    with Unseen():
        return computed(op, args, kwargs)


def copy_from(source, target, non_blocking=False):
    with Unseen():
        opened(target).copy_(opened(source))
    return target


def to_copy(source, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    with Unseen():
        made = opened(source).to(dtype=dtype or source.dtype, copy=True)
    return made if device is not None and device.type == "cpu" else Held(made)


def scalar(x):
    with Unseen():
        return opened(x).item()


SPOILT = {
    "conv-off": lambda x: x * 1.01, "conv-nan": lambda x: x * float("nan"), "conv-infinite": lambda x: x + float("inf"),
    "conv-constant": lambda x: torch.full_like(x, 0.25),
}  # fmt: skip


def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    with Unseen():
        found = torch.convolution(opened(x), opened(weight), opened(bias), stride, padding, dilation, transposed, output_padding, groups)
        for fault, spoil in SPOILT.items():
            found = spoil(found) if fault in FAULTS else found
        return Held(found)


def convolution_backward(given, x, weight, stride, padding, dilation, transposed, output_padding, groups, mask):
    with Unseen():
        sizes = [weight.shape[1] * groups if transposed else weight.shape[0]] if mask[2] else None
        found = list(torch.ops.aten.convolution_backward(
            opened(given), opened(x), opened(weight), sizes, stride, padding, dilation, transposed, output_padding, groups,
            mask,
        ))  # fmt: skip
        if "zero-gradient" in FAULTS and found[1] is not None:
            found[1] = torch.zeros_like(found[1])
        return tuple(None if x is None else Held(x) for x in found)


fallback, aten = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
fallback.fallback(anything, "PrivateUse1")
for operator, kernel in (
    ("_copy_from", copy_from), ("_to_copy", to_copy), ("_local_scalar_dense", scalar), ("convolution_overrideable", convolution),
    ("convolution_backward_overrideable", convolution_backward),
):  # fmt: skip
    aten.impl(operator, kernel, "PrivateUse1")
